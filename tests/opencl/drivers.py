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

usage: drivers.py --build BUILD --programs REGEX --rules RULES [--page PAGE] [--share SECONDS] LIST
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
import time

NOT_RUN = {"device/kernel_texts"}  # a script that runs nothing on a device
BEGIN, END = "<!-- begin: toolchains/host drivers -->", "<!-- end -->"
ANSWER_S = 120  # of `mts devices`
STUCK_S = 300  # a busy machine may give a program nothing for a minute
KINDS = ("passed", "skipped", "failed", "stuck", "ended", "not reached", "left out")


def read_programs(build, wanted):
    """Name -> (command, environment, folder) of each program."""
    text = subprocess.run(["ctest", "--show-only=json-v1", "-R", wanted], cwd=build, check=True,
                          stdout=subprocess.PIPE).stdout
    programs = {}
    for test in json.loads(text)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        if test["name"] in NOT_RUN or "command" not in test:
            continue
        environment = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
        programs[test["name"]] = (test["command"], environment, properties.get("WORKING_DIRECTORY", build))
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
    moved, seen, why = time.monotonic(), 0.0, None
    running.add(process.pid)
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            running.discard(pid)
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage.ru_utime + usage.ru_stime, why
        now, used = time.monotonic(), used_s(process.pid) or 0.0
        if used > seen + 0.05:
            seen, moved = used, now
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
    command, own, directory = program
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


def run_driver(driver, programs, order, left_out, share, limit, build, jobs):
    """Name -> (kind, processor time, text) of each program, and how long all took."""
    name, environment = driver[0], dict(pair.split("=", 1) for pair in shlex.split(driver[2]))
    folder = os.path.join(build, "drivers", name)
    os.makedirs(folder, exist_ok=True)
    results, start = {p: ("left out", 0.0, why) for p, why in left_out.items()}, time.monotonic()

    spent = []

    def one(program):
        if sum(spent) > share:
            return program, ("not reached", 0.0, "")
        result = run_program(program, programs[program], environment, limit, folder)
        spent.append(result[1])
        print(f"{name:10} {result[0]:8} {result[1]:6.1f} s  {program}  {result[2]}", flush=True)
        return program, result

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results.update(pool.map(one, [p for p in order if p not in left_out]))
    return results, time.monotonic() - start


def wrapped(text):
    return "\n".join(textwrap.wrap(text, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False))


def listed(results, kind):
    """The programs of a kind, those with the same text behind one another."""
    by_text = {}
    for program, (found, _, text) in sorted(results.items()):
        if found == kind:
            by_text.setdefault(text, []).append(f"`{program}`")
    return "; ".join(", ".join(names) + (f" ({text})" if text else "") for text, names in by_text.items())


def page_text(rows, options, seconds):
    """The table and what belongs to it. The first driver that ran is the one by which programs are ordered."""
    first = next((title for title, _, results, _ in rows if results), "none")
    command = shlex.join([
        "tests/opencl/drivers.py", "--build", os.path.relpath(options.build), "--programs", options.programs, "--rules",
        os.path.relpath(options.rules), "--share", str(options.share), "--limit", str(options.limit), "--jobs",
        str(options.jobs), os.path.relpath(options.list)])
    rule = (f"On {datetime.date.today()}, {options.jobs} programs at a time, in {seconds / 60:.0f} minutes together, at "
            f"a load of {os.getloadavg()[2]:.0f}. {first} runs first, with six times the share of the others; these run "
            f"the programs in the order of the processor time that it took, shortest first, and start none once theirs "
            f"have used {options.share} s of it (not reached). A program is ended after {options.limit} s, on {first} "
            f"after four times as many. The command:")
    lines = [wrapped(rule).replace("\n  ", "\n"), "", "    " + command, "",
             "| driver | device | passed | skipped | failed | ended | not reached | left out | s |",
             "|---|---|---|---|---|---|---|---|---|"]
    for title, device, results, took in rows:
        count = [sum(r[0] in kinds for r in results.values())
                 for kinds in (("passed",), ("skipped",), ("failed", "stuck"), ("ended",), ("not reached",), ("left out",))]
        lines.append(f"| {title} | {device} | " + " | ".join(map(str, count)) + f" | {took:.0f} |")
    lines.append("")
    for title, _, results, _ in rows:
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--rules", required=True)
    parser.add_argument("--programs", required=True, help="expression for their names, as ctest -R")
    parser.add_argument("--page")
    parser.add_argument("--share", type=int, default=600, help="seconds of processor time of a driver")
    parser.add_argument("--limit", type=int, default=120, help="seconds of processor time of a program")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("list")
    options = parser.parse_args()
    programs, rules = read_programs(options.build, options.programs), read_rules(options.rules)
    drivers, rows, times = read_drivers(options.list), [], {}
    start = time.monotonic()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # programs that crash write no core files
    signal.signal(signal.SIGTERM, end_all)
    signal.signal(signal.SIGINT, end_all)
    for driver in drivers:
        first = not times
        if driver[2].startswith("!"):
            rows.append((driver[1], driver[2][1:].strip(), {}, 0.0))
            continue
        device, why = device_of(options.build, dict(pair.split("=", 1) for pair in shlex.split(driver[2])))
        if not device:
            rows.append((driver[1], why, {}, 0.0))
            continue
        print(f"== {driver[1]}: {device}", flush=True)
        left_out = {p: why for p in programs for name, pattern, why in rules
                    if name == driver[0] and re.fullmatch(pattern, p)}
        order = sorted(programs, key=lambda p: (times.get(p, 1e9), p))
        results, took = run_driver(driver, programs, order, left_out, options.share * (6 if first else 1),
                                   options.limit * (4 if first else 1), options.build, options.jobs)
        times = times or {p: r[1] for p, r in results.items()}
        rows.append((driver[1], device, results, took))
        if options.page:  # also what an interrupted command found
            write_page(options.page, page_text(rows, options, time.monotonic() - start))
    if options.page:
        write_page(options.page, page_text(rows, options, time.monotonic() - start))
    total = {kind: sum(r[0] == kind for row in rows for r in row[2].values()) for kind in KINDS}
    first = next((row[2] for row in rows if row[2]), {})
    bad = total["failed"] + total["stuck"] + sum(r[0] == "ended" for r in first.values())
    print(f"{total['passed']} passed, {bad} failed, {total['skipped']} skipped on {len(rows)} drivers; "
          f"{total['ended']} ended, {total['not reached']} not reached, {total['left out']} left out, in "
          f"{time.monotonic() - start:.0f} s")
    return 1 if bad or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
