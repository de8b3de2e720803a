#!/usr/bin/env python3
"""The four networks that NETFUSE merges, with private weights: T tasks and batches, beside the baselines of its Fig. 8.

    tests/perf/netfuse.py --build build/release --folder build/netfuse --tasks 4,8,16,32 --batches 1,2,4,8 -o netfuse.json
    tests/perf/netfuse.py --table netfuse.json        the tables of what was measured, in Markdown

Ways (bench_processes runs them in turns): one process that runs the networks one by one (sequential), merged (netfuse, compact)
or by the dense form (--dense), a process for each network, and hybrids of 2 and of 4 processes. On device cpu one process has
all threads, and several have one each. Networks are those of `mts synth` with a quarter of their channels and small inputs
unless --full: a processor of 2 cores does not run the full ones in time.
"""
import argparse
import json
import os
import pathlib
import subprocess
import time

NETWORKS = {"resnet50": 64, "resnext50": 64, "bert-base": 32, "xlnet-base": 32}  # input of the small variant
FULL = {"resnet50": 224, "resnext50": 224, "bert-base": 128, "xlnet-base": 128}


def ways(tasks, threads, dense):
    """{name: what bench_processes calls it}."""
    made = {"sequential": f"1x{tasks}:sequential:{threads}", "processes": f"{tasks}x1:sequential:1"}
    for processes in (2, 4):
        if tasks % processes == 0 and tasks > processes:
            made[f"hybrid {processes}"] = f"{processes}x{tasks // processes}:sequential:1"
    made["netfuse"] = f"1x{tasks}:netfuse:{threads}"
    made["compact"] = f"1x{tasks}:compact:{threads}"
    if dense:
        made["dense"] = f"1x{tasks}:dense:{threads}"
    return made


def make(options, network, batch, most):
    kind, prune = ("full", "0") if options.full else ("tiny", "0.95") if options.tiny else ("small", "0.75")
    bundle = options.folder / f"{network}-{most}-{batch}-{kind}.mtsb"
    if not bundle.exists():
        size = 32 if options.tiny else (FULL if options.full else NETWORKS)[network]
        subprocess.run([options.build / "bin/mts", "synth", "--arch", network, "--tasks", str(most), "--share", "0", "--prune",
                        prune, "--input", str(size), "--batch", str(batch), "-o", bundle],
                       check=True, stdout=subprocess.DEVNULL)
    return bundle


def measure(options, network, batch, tasks, bundle):
    words = ways(tasks, options.threads, options.dense)
    for names in [[name] for name in words] if options.each else [list(words)]:
        done = subprocess.run([options.build / "bin/bench_processes", bundle, options.device, str(options.runs),
                               *(f"{words[n]}:{options.precision}" for n in names)], check=True, capture_output=True, text=True)
        for name, row in zip(names, json.loads(done.stdout)["rows"]):
            yield {"network": network, "batch": batch, "tasks": tasks, "name": name, **row}


def table(rows, value, form="{:.1f}"):
    """A line for each network, batch and number of tasks, a column for each way."""
    names = list(dict.fromkeys(r["name"] for r in rows))
    lines = ["| network | batch | T | " + " | ".join(names) + " |", "|---" * (3 + len(names)) + "|"]
    cells = {(r["network"], r["batch"], r["tasks"], r["name"]): form.format(value(r)) for r in rows}
    for key in dict.fromkeys(k[:3] for k in cells):
        lines.append("| " + " | ".join([str(k) for k in key] + [cells.get((*key, n), "") for n in names]) + " |")
    return "\n".join(lines)


def show(rows):
    print("Medians of a frame of all tasks, ms:\n\n" + table(rows, lambda r: r["median_ms"]))
    print("\nBytes that the processes have of their own, MB:\n\n" + table(rows, lambda r: r["own_bytes"] / 1e6, "{:.0f}"))
    print("\nmts_session_create, ms, of the slowest process:\n\n" + table(rows, lambda r: r["create_ms"], "{:.0f}"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/netfuse"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of one process")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--tasks", default="4,8,16,32")
    parser.add_argument("--batches", default="1,2,4,8")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--dense", action="store_true", help="the dense form too, which has (T C)^2 weights where channels are stitched")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--tiny", action="store_true", help="a twentieth of the channels: to try the script")
    parser.add_argument("--remove", action="store_true", help="remove each bundle again: 32 full BERTs take 14 GB")
    parser.add_argument("--make", action="store_true", help="write the bundles only")
    parser.add_argument("--each", action="store_true", help="ways one after another instead of in turns: less memory")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no row of the table after that; call again to go on")
    parser.add_argument("--table", type=pathlib.Path, help="show what a file has, and measure nothing")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="rewritten after each row; what it has is not measured again")
    options = parser.parse_args()
    if options.table:
        show(json.loads(options.table.read_text())["rows"])
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.seconds
    results = {"load": os.getloadavg()[0], "full": options.full, "device": options.device, "rows": []}
    if options.output and options.output.exists():
        results = json.loads(options.output.read_text())
    known = {(r["network"], r["batch"], r["tasks"]) for r in results["rows"]}
    counts = [int(t) for t in options.tasks.split(",")]
    for network in options.networks.split(","):
        for batch in map(int, options.batches.split(",")):
            wanted = [t for t in counts if (network, batch, t) not in known]
            if not wanted:
                continue
            bundle = make(options, network, batch, max(counts))
            for tasks in [] if options.make else wanted:
                if time.monotonic() > end:
                    return
                for row in list(measure(options, network, batch, tasks, bundle)):
                    results["rows"].append(row)
                    print(json.dumps(row), flush=True)
                if options.output:
                    options.output.write_text(json.dumps(results, indent=1) + "\n")
            if options.remove:
                bundle.unlink()


if __name__ == "__main__":
    main()
