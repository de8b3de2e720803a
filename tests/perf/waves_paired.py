#!/usr/bin/env python3
"""Whether frames with waves (docs/design/waves.md) are ever slower than without, or than one network after another: all in
turns, over bundles.

    tests/perf/waves_paired.py --mts build/release/bin/mts --devices cpu,opencl:0 -o paired.json app.mtsb other.mtsb

Tasks of different priorities have no waves, so the side without gives the first task a higher one: the same kernels, a
launch for each layer. Networks that are stitched are then one fewer, so that layers, slices and memory differ too: of those
compare with strategy sequential. Device `cpu` has lanes in their place, which priorities do not change: there strategy
sequential is all that is compared with. The slices (docs/design/slices.md) are those that the session chooses, and are in
the JSON. Prints launches, memory and the least of the turns' 5th percentiles of each side, and the median over
the turns of the ratio within a turn. Fails where both ratios are above --most: a load that comes and goes moves one of them.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys


def bench(arguments, device, bundle, more):
    command = [arguments.mts, "bench", bundle, "--device", device, "--warmup", "2", "--runs", str(arguments.runs),
               "--no-probe", "--json", *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["results"][0]


def tasks_of(arguments, bundle):
    facts = subprocess.run([arguments.mts, "inspect", bundle, "--json"], check=True, capture_output=True, text=True)
    return [task["name"] for task in json.loads(facts.stdout)["tasks"]]


def slices_of(arguments, device, bundle):
    """What layers of a slice touch at most, as the session with waves chooses it; 0: layers are whole."""
    plan = subprocess.run([arguments.mts, "inspect", bundle, "--plan", "--device", device, "--json"], check=True,
                          capture_output=True, text=True)
    return json.loads(plan.stdout)["slice_bytes"]


def sides_of(device, tasks):
    sides = {"waves": ["--strategies", "compact"], "sequential": ["--strategies", "sequential"]}
    if device != "cpu":
        sides["without"] = ["--strategies", "compact", "--priority", f"{tasks[0]}=1"]
    return sides


def measure(arguments, device, bundle, tasks):
    """Each side in every turn, from another one on in each; a row of the answer."""
    sides = sides_of(device, tasks)
    names, found = list(sides), {name: [] for name in sides}
    for turn in range(arguments.turns):
        at = turn % len(names)
        for name in names[at:] + names[:at]:
            found[name].append(bench(arguments, device, bundle, sides[name]))
    p5 = {name: [row["latency_ms"]["p5"] for row in rows] for name, rows in found.items()}
    row = {"bundle": pathlib.Path(bundle).stem, "device": device, "tasks": len(tasks), "slice_bytes": slices_of(arguments, device, bundle),
           "launches": {name: rows[0]["launches"] for name, rows in found.items()},
           "peak_bytes": {name: rows[0]["bytes"]["peak"] for name, rows in found.items()},
           "p5_ms": p5, "ratio": {}}
    for name in names[1:]:
        row["ratio"][name] = {"least": min(p5["waves"]) / min(p5[name]),
                              "within": statistics.median(a / b for a, b in zip(p5["waves"], p5[name]))}
    return row


def show(row):
    print(f"{row['bundle']:<16} {row['device']:<10}", end="")
    for name in ("waves", "without", "sequential"):
        if name in row["p5_ms"]:
            print(f" {row['launches'][name]:>5} {row['peak_bytes'][name] / 1e6:>7.1f} {min(row['p5_ms'][name]):>8.2f}", end="")
        else:
            print(f" {'':>22}", end="")
    for name, ratio in row["ratio"].items():
        print(f"  / {name} {ratio['least']:.2f} ({ratio['within']:.2f})", end="")
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", nargs="+")
    parser.add_argument("--mts", default="build/release/bin/mts")
    parser.add_argument("--devices", default="opencl:0")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--most", type=float, default=1.03, help="with / without (default: %(default)s)")
    parser.add_argument("-o", "--output", help="JSON file")
    arguments = parser.parse_args()
    rows = []
    print(f"{'bundle':<16} {'device':<10} {'waves: launches, MB, ms':>22} {'without':>22} {'sequential':>22}")
    for bundle in arguments.bundles:
        tasks = tasks_of(arguments, bundle)
        if len(tasks) < 2:
            print(f"{bundle} has one task, which cannot have a priority above others: left out")
            continue
        for device in arguments.devices.split(","):
            rows.append(measure(arguments, device, bundle, tasks))
            show(rows[-1])
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any(min(ratio.values()) > arguments.most for row in rows for ratio in row["ratio"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
