#!/usr/bin/env python3
"""Runs test programs on OpenCL drivers, one driver after the other, and writes the table of docs/results/drivers.md.

Responsible for which programs run where, for how long, and for the table. Not responsible for getting drivers
(toolchains/host drivers) nor for what the programs check. The rule, which the page prints:

- The first driver of LIST runs every program. The others run them in the order of the processor time that the first
  one took, shortest first, and start none once their programs have used the driver's share of processor time; what is
  left is "not reached". Wall time would depend on what else the machine does.
- A program is ended when it has used up its own processor time, and counts as "ended". One that makes no progress for
  five minutes is "stuck", which is a failure, as is an exit status other than 0 and 77.
- RULES names programs that a driver leaves out, with the reason: DRIVER, a pattern of the whole name, the reason.
- What each program did is kept in STATE as soon as it is known, so that a run may be made in pieces: --only NAME,...
  runs these drivers and leaves the others as STATE has them; --skip-done runs what has not passed nor was skipped, and
  what was ended only if its time is longer now. The share counts for each call anew. The page has all of STATE.

usage: drivers.py --build BUILD --programs REGEX --rules RULES [--page PAGE] [--share SECONDS] [--state STATE]
                  [--only NAME,...] [--skip-done] LIST
LIST has a line for each driver: name, title, and VARIABLE=VALUE ... or "! why it cannot be had", between tabs.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import textwrap
import threading
import time

PAUSE_S = 5  # the watcher itself was stopped as long: nothing is said of the program by that
NOT_RUN = {"device/kernel_texts"}  # a script that runs nothing on a device
BEGIN, END = "<!-- begin: toolchains/host drivers -->", "<!-- end -->"
ANSWER_S = 120  # of `mts devices`
STUCK_S = 300  # a busy machine may give a program nothing for a minute
KINDS = ("passed", "skipped", "failed", "stuck", "ended", "not reached", "left out")


def read_programs(build, wanted):
    """Name -> (command, environment, folder, cost) of each program."""
    text = subprocess.run(["ctest", "--show-only=json-v1", "-R", wanted], cwd=build, check=True,
                          stdout=subprocess.PIPE).stdout
    programs = {}
    for test in json.loads(text)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        if test["name"] in NOT_RUN or "command" not in test:
            continue
        environment = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
        programs[test["name"]] = (test["command"], environment, properties.get("WORKING_DIRECTORY", build),
                                  properties.get("COST", 0.0))
    return programs


def read_rules(path):
    rules = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                driver, pattern, reason = line.split(None, 2)
                rules.append((driver, pattern, reason.strip()))
    return rules


def read_drivers(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file if line.strip()]


def used_s(pid):
    """Processor time of a process, or None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


running = set()


def end_group(pid):
    """Ends a program with all that it started; it may be gone already."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_all(*_):
    """The command was ended: so are its programs."""
    for pid in list(running):
        end_group(pid)
    os._exit(1)


def watch(process, limit):
    """Waits for a process; returns its status, processor time, and "stuck", "ended" or None."""
    moved, seen, why, looked = time.monotonic(), 0.0, None, time.monotonic()
    running.add(process.pid)
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            running.discard(pid)
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime, why
        now, used = time.monotonic(), used_s(process.pid) or 0.0
        if used > seen + 0.05 or now - looked > PAUSE_S:
            seen, moved = used, now
        looked = now
        if why is None and (now - moved > STUCK_S or used > limit):
            why = "stuck" if now - moved > STUCK_S else "ended"
            end_group(process.pid)
        time.sleep(0.1)


def reason_of(log):
    """What a failed program said first."""
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
    for line in lines:
        if line.startswith("ERROR") or "[  ERROR" in line or "error:" in line:
            return line[:160]
    return lines[-1][:160] if lines else "no output"


def run_program(name, program, environment, limit, folder):
    command, own, directory, _ = program
    log = os.path.join(folder, name.replace("/", "_") + ".txt")
    with open(log, "wb") as out:
        process = subprocess.Popen(
            command, cwd=directory, env={**os.environ, **own, **environment}, stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.STDOUT, start_new_session=True)  # a group of its own, ended with all that it started
        status, used, why = watch(process, limit)
    if why:
        return why, used, f"after {used:.0f} s of processor time" if why == "ended" else "no progress for five minutes"
    if status in (0, 77):
        return ("passed" if status == 0 else "skipped"), used, ""
    said = f"signal {-status}: " if status < 0 else ""
    return "failed", used, said + reason_of(log)


def device_of(build, environment):
    """The driver's first device as `mts devices` prints it and None, or None and why there is none."""
    try:
        done = subprocess.run([os.path.join(build, "bin/mts"), "devices"], env={**os.environ, **environment},
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=ANSWER_S,
                              check=False)
    except subprocess.TimeoutExpired:
        return None, f"none: no answer in {ANSWER_S} s"
    for line in done.stdout.splitlines():
        if " opencl:0 " in line:
            return re.split(r" [kMG]B +", line, maxsplit=1)[-1].strip(), None
    return None, "none: the driver finds no device here"


class State:
    """What each driver's programs did, in a file that is written after each of them. A result has the kind, processor
    time and text of run_program, the day, and the commit that was built."""

    def __init__(self, path):
        self.path, self.drivers = path, {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.drivers = json.load(file)
        found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True, check=False)
        self.commit = found.stdout.strip() or "unknown"

    def begin(self, name, device, keep):
        """A driver's entry, with its earlier results if they are to be kept."""
        entry = self.drivers.setdefault(name, {"results": {}})
        entry["device"] = device
        if not keep:
            entry["results"] = {}
        return entry["results"]

    def add(self, name, program, result):
        self.drivers[name]["results"][program] = {
            "kind": result[0], "s": round(result[1], 2), "text": result[2], "day": str(datetime.date.today()),
            "commit": self.commit}
        self.write()

    def write(self):
        os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.drivers, file, indent=1, sort_keys=True)
        os.replace(self.path + ".new", self.path)

    def results(self, name):
        """Program -> (kind, processor time, text)."""
        return {p: (r["kind"], r["s"], r["text"]) for p, r in self.drivers.get(name, {}).get("results", {}).items()}

    def of_all(self, key):
        """Every value of `key` that a program which ran has."""
        return sorted({r[key] for d in self.drivers.values() for r in d["results"].values() if r["s"] > 0})


def is_done(result, limit):
    """Whether a program need not run again: see --skip-done."""
    return result["kind"] in ("passed", "skipped") or (result["kind"] == "ended" and result["s"] >= limit)


def run_driver(driver, programs, order, left_out, share, limit, options, state):
    """Runs a driver's programs, and puts what each did into the state."""
    name, environment = driver[0], dict(pair.split("=", 1) for pair in shlex.split(driver[2]))
    folder = os.path.join(os.path.dirname(os.path.abspath(options.state)), "logs", name)
    os.makedirs(folder, exist_ok=True)
    earlier, lock, spent = state.drivers[name]["results"], threading.Lock(), []
    for program in [p for p in earlier if p not in programs]:
        del earlier[program]
    for program, why in left_out.items():
        state.add(name, program, ("left out", 0.0, why))

    def one(program):
        if sum(spent) > share:
            with lock:
                if program not in earlier or earlier[program]["kind"] == "left out":
                    state.add(name, program, ("not reached", 0.0, ""))
            return
        result = run_program(program, programs[program], environment, limit, folder)
        with lock:
            spent.append(result[1])
            state.add(name, program, result)
        print(f"{name:10} {result[0]:8} {result[1]:6.1f} s  {program}  {result[2]}", flush=True)

    todo = [p for p in order if p not in left_out and not (p in earlier and is_done(earlier[p], limit))]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, todo))


def wrapped(text):
    return "\n".join(textwrap.wrap(text, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


def listed(results, kind):
    """The programs of a kind, those with the same text behind one another."""
    by_text = {}
    for program, (found, _, text) in sorted(results.items()):
        if found == kind:
            by_text.setdefault(text, []).append(f"`{program}`")
    return "; ".join(", ".join(names) + (f" ({text})" if text else "") for text, names in by_text.items())


def page_text(rows, options, state):
    """The table and what belongs to it. The first driver that ran is the one by which programs are ordered."""
    first = next((title for title, _, results in rows if results), "none")
    given = ["--share", str(options.share), "--limit", str(options.limit), "--jobs", str(options.jobs)]
    given += ["--only", options.only] if options.only else []
    given += ["--skip-done"] if options.skip_done else []
    command = shlex.join([
        "tests/opencl/drivers.py", "--build", os.path.relpath(options.build), "--programs", options.programs, "--rules",
        os.path.relpath(options.rules), *given, os.path.relpath(options.list)])
    rule = (f"{first} runs first, with six times the share of the others; these run the programs in the order of the "
            f"processor time that it took, shortest first, and start none once theirs have used the share "
            f"of it (not reached). A program is ended after the limit, on {first} after four times as many. "
            f"Run on {' and '.join(state.of_all('day'))}, built from {', '.join(state.of_all('commit'))}. The last "
            f"command, at a load of {os.getloadavg()[2]:.0f}:")
    lines = [wrapped(rule).replace("\n  ", "\n"), "", "    " + command, "",
             "| driver | device | passed | skipped | failed | ended | not reached | left out | processor time, s |",
             "|---|---|---|---|---|---|---|---|---|"]
    for title, device, results in rows:
        count = [sum(r[0] in kinds for r in results.values())
                 for kinds in (("passed",), ("skipped",), ("failed", "stuck"), ("ended",), ("not reached",), ("left out",))]
        used = sum(r[1] for r in results.values())
        lines.append(f"| {title} | {device} | " + " | ".join(map(str, count)) + f" | {used:.0f} |")
    lines.append("")
    for title, _, results in rows:
        for kind in ("failed", "stuck", "ended", "skipped", "not reached", "left out"):
            if any(r[0] == kind for r in results.values()):
                lines.append(wrapped(f"- {title}, {kind}: {listed(results, kind)}."))
    return "\n".join(lines)


def write_page(path, text):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page[:begin] + "\n\n" + text + "\n\n" + page[end:])


def order_of(programs, drivers, state):
    """Shortest first: by what they took on the first driver that has run them, else by what ctest expects."""
    times = next((found for found in map(state.results, (d[0] for d in drivers)) if found), {})
    return sorted(programs, key=lambda p: (times[p][1] if p in times else programs[p][3], p))


def row_of(driver, state):
    """(title, device or why there is none, results)"""
    if driver[2].startswith("!"):
        return driver[1], driver[2][1:].strip(), {}
    return driver[1], state.drivers.get(driver[0], {}).get("device", "not run"), state.results(driver[0])


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--rules", required=True)
    parser.add_argument("--programs", required=True, help="expression for their names, as ctest -R")
    parser.add_argument("--page")
    parser.add_argument("--share", type=int, default=600, help="seconds of processor time of a driver")
    parser.add_argument("--limit", type=int, default=120, help="seconds of processor time of a program")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--state", default="build/drivers/state.json")
    parser.add_argument("--only", help="names of drivers, with commas between")
    parser.add_argument("--skip-done", action="store_true")
    parser.add_argument("list")
    return parser.parse_args()


def main():
    options = read_options()
    programs, rules = read_programs(options.build, options.programs), read_rules(options.rules)
    drivers, state, start = read_drivers(options.list), State(options.state), time.monotonic()
    only = set(options.only.split(",")) if options.only else {d[0] for d in drivers}
    if only - {d[0] for d in drivers}:
        sys.exit(f"{options.list} has no driver {', '.join(sorted(only - {d[0] for d in drivers}))}")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # programs that crash write no core files
    signal.signal(signal.SIGTERM, end_all)
    signal.signal(signal.SIGINT, end_all)
    first = next((d[0] for d in drivers if not d[2].startswith("!")), None)
    for driver in drivers:
        if driver[0] not in only or driver[2].startswith("!"):
            continue
        device, why = device_of(options.build, dict(pair.split("=", 1) for pair in shlex.split(driver[2])))
        state.begin(driver[0], device or why, options.skip_done)
        if not device:
            continue
        print(f"== {driver[1]}: {device}", flush=True)
        left_out = {p: why for p in programs for name, pattern, why in rules
                    if name == driver[0] and re.fullmatch(pattern, p)}
        run_driver(driver, programs, order_of(programs, drivers, state), left_out,
                   options.share * (6 if driver[0] == first else 1), options.limit * (4 if driver[0] == first else 1),
                   options, state)
        if options.page:  # also what an interrupted command found
            write_page(options.page, page_text([row_of(d, state) for d in drivers], options, state))
    state.write()
    rows = [row_of(d, state) for d in drivers]
    if options.page:
        write_page(options.page, page_text(rows, options, state))
    total = {kind: sum(r[0] == kind for row in rows for r in row[2].values()) for kind in KINDS}
    bad = total["failed"] + total["stuck"] + sum(r[0] == "ended" for r in state.results(first).values())
    print(f"{total['passed']} passed, {bad} failed, {total['skipped']} skipped on {len(rows)} drivers; "
          f"{total['ended']} ended, {total['not reached']} not reached, {total['left out']} left out, in "
          f"{time.monotonic() - start:.0f} s")
    return 1 if bad or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
