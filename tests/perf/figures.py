#!/usr/bin/env python3
"""Measures what the MTS paper's figures 6 to 9 show, and the targets of this project, on one machine in one go.

    tests/perf/figures.py --mts build/release/bin/mts -o docs/results [--only 6ab,9a] [--quick]

Bundles come from 'mts synth' (random weights with the ratios of pruning and sharing of the figure), measurements from
'mts bench'; the JSON of each goes to figure-NAME.json beside its plot, figure-NAME.svg. At the end targets.md says for
each target what was measured, from the files that are there: --only leaves the others as they are.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

RESNET18 = ["--arch", "resnet18", "--prune", "0.9", "--share", "0.9", "--tasks", "32"]
VGG16 = ["--arch", "vgg16", "--prune", "0.9", "--share", "0.9", "--tasks", "32"]
STEPS = "4,8,16,32"


def ratio(synth, option, value):
    """The arguments with another value of one option."""
    at = synth.index(option) + 1
    return synth[:at] + [value] + synth[at + 1:]



# name: (what, arguments of mts synth, arguments of mts bench)
FIGURES = {
    "6ab": ("ResNet18, pruned and shared by 0.9", RESNET18,
            ["--tasks", STEPS, "--strategies", "sequential,netfuse,dense,dense+groups,compact,compact+groups"]),
    "6cd": ("VGG16, pruned and shared by 0.9", VGG16,
            ["--tasks", STEPS, "--strategies", "sequential,netfuse,dense+groups,compact", "--runs", "20"]),
    "7": ("ResNet50, unpruned, shared by 0.9", ["--arch", "resnet50", "--share", "0.9", "--tasks", "8"],
          ["--tasks", "4,8", "--strategies", "sequential,netfuse,compact", "--runs", "10", "--warmup", "3"]),
    "7-mts": ("ResNet50, unpruned, shared by 0.9, with the dense form",
              ["--arch", "resnet50", "--share", "0.9", "--tasks", "4"],
              ["--tasks", "4", "--strategies", "sequential,dense,compact", "--runs", "5", "--warmup", "2"]),
    "8-share-0.9": ("ResNet18, pruned by 0.9, shared by 0.9", RESNET18,
                    ["--tasks", "32", "--strategies", "sequential,compact"]),
    "8-share-0.8": ("ResNet18, pruned by 0.9, shared by 0.8", ratio(RESNET18, "--share", "0.8"),
                    ["--tasks", "32", "--strategies", "sequential,compact"]),
    "8-share-0.7": ("ResNet18, pruned by 0.9, shared by 0.7", ratio(RESNET18, "--share", "0.7"),
                    ["--tasks", "32", "--strategies", "sequential,compact"]),
    "8-share-0.6": ("ResNet18, pruned by 0.9, shared by 0.6", ratio(RESNET18, "--share", "0.6"),
                    ["--tasks", "32", "--strategies", "sequential,compact"]),
    "9a": ("VGG16, tasks pruned by 0.9 and 0.85 in turn", ratio(VGG16, "--prune", "0.9,0.85"),
           ["--tasks", STEPS, "--strategies", "sequential,netfuse,compact", "--runs", "20"]),
    "9b": ("ResNet18, pruned and shared by 0.9, batches of 1 to 3 in turn", RESNET18 + ["--batch", "1,2,3"],
           ["--tasks", STEPS, "--strategies", "sequential,netfuse,compact", "--runs", "30"]),
    "common-frame": ("ResNet18, pruned and shared by 0.9, one frame for all tasks", RESNET18,
                     ["--tasks", "8,32", "--strategies", "sequential,compact", "--inputs", "copied",
                      "--frames", "common"]),
    "separate-frames": ("ResNet18, pruned and shared by 0.9, a frame for each task", RESNET18,
                        ["--tasks", "8,32", "--strategies", "sequential,compact", "--inputs", "copied"]),
}


def note(text):
    print(text, file=sys.stderr, flush=True)


def run(command):
    note("+ " + " ".join(map(str, command)))
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{command[0]} {command[1]}: exit status {done.returncode}")
    return done.stdout


class Bench:
    def __init__(self, arguments, folder):
        self.mts = arguments.mts
        self.out = pathlib.Path(arguments.output)
        self.quick = ["--runs", "3", "--warmup", "1"] if arguments.quick else []
        self.folder = pathlib.Path(folder)
        self.bundles = {}

    def bundle(self, synth):
        """The same networks are made once."""
        key = " ".join(synth)
        if key not in self.bundles:
            self.bundles[key] = self.folder / f"{len(self.bundles)}.mtsb"
            run([self.mts, "synth", *synth, "--input", "224", "-o", self.bundles[key]])
        return self.bundles[key]

    def measure(self, name, what, synth, options):
        bundle = self.bundle(synth)
        target = self.out / f"figure-{name}.json"
        options = [*options, *(self.quick if "--runs" not in options else [])]
        run([self.mts, "bench", bundle, *options, "-o", target, "--plot", target.with_suffix(".svg"),
             "--json"])
        result = json.loads(target.read_text())
        result["figure"] = what
        result["bundle"] = "x.mtsb"
        result["commands"] = ["mts synth " + " ".join(synth) + " --input 224 -o x.mtsb",
                              "mts bench x.mtsb " + " ".join(options)]
        target.write_text(json.dumps(result, indent=1) + "\n")
        plot = target.with_suffix(".svg")
        plot.write_text(plot.read_text().replace(str(bundle), f"{what}"))
        return result

    def load(self, name):
        path = self.out / f"figure-{name}.json"
        return json.loads(path.read_text()) if path.exists() else None


def row(result, tasks, strategy):
    """strategy as on the command line: compact, or compact+groups."""
    for r in result["results"]:
        if r["tasks"] == tasks and r["strategy"] == strategy:
            return r
    return None


def ms(result, tasks, strategy):
    return row(result, tasks, strategy)["latency_ms"]["median"]


def peak(result, tasks, strategy):
    return row(result, tasks, strategy)["bytes"]["peak"]


def budgets(bench):
    """Plans under a budget: sequential's peak, and 60 % of what the plan without a budget takes."""
    free = bench.load("6ab")
    for tasks in (4, 8, 16, 32):
        for name, limit in (("sequential", peak(free, tasks, "sequential")),
                            ("60", int(0.6 * peak(free, tasks, "compact")))):
            bench.measure(f"budget-{name}-{tasks}", f"{tasks} ResNet18 within {limit} bytes", RESNET18,
                          ["--tasks", str(tasks), "--strategies", "compact,compact+budget,compact+groups+budget",
                           "--budget", str(limit)])


class Table:
    def __init__(self):
        self.rows = []

    def add(self, what, measured, target, met):
        self.rows.append((what, measured, target, "met" if met else "missed"))

    def ratio(self, what, value, least):
        self.add(what, f"{value:.2f}", f">= {least}", value >= least)


def targets_6(table, bench):
    r = bench.load("6ab")
    if not r:
        return
    best = min(ms(r, 32, "compact"), ms(r, 32, "compact+groups"))
    table.ratio("32 ResNet18: share of the multiply-add peak", row(r, 32, "compact")["share_of_peak"], 0.5)
    for tasks in (4, 8, 16, 32):
        table.ratio(f"{tasks} ResNet18: sequential / compact", ms(r, tasks, "sequential") / ms(r, tasks, "compact"), 1)
    table.ratio("32 ResNet18: dense without grouping / compact", ms(r, 32, "dense") / ms(r, 32, "compact"), 4)
    table.ratio("32 ResNet18: dense with grouping / compact", ms(r, 32, "dense+groups") / ms(r, 32, "compact"), 1.5)
    table.ratio("32 ResNet18: netfuse peak / compact peak", peak(r, 32, "netfuse") / peak(r, 32, "compact"), 4)
    slower = ms(r, 32, "compact") / best
    table.add("32 ResNet18: compact's default plan / the fastest plan", f"{slower:.3f}", "<= 1.05", slower <= 1.05)


def targets_budget(table, bench):
    for tasks in (4, 8, 16, 32):
        for name in ("sequential", "60"):
            r = bench.load(f"budget-{name}-{tasks}")
            if not r:
                continue
            limit = r["budget"]
            kept = max(peak(r, tasks, "compact+budget"), peak(r, tasks, "compact+groups+budget"))
            what = "sequential's peak" if name == "sequential" else "60 % of the unlimited plan's"
            table.add(f"{tasks} ResNet18 within {what}: bytes", f"{kept} of {limit}", "kept", kept <= limit)
            cost = ms(r, tasks, "compact+groups+budget") / ms(r, tasks, "compact")
            table.add(f"{tasks} ResNet18 within {what}: latency / unlimited", f"{cost:.2f}",
                      "<= 1.1" if name == "sequential" else "printed", cost <= 1.1 or name != "sequential")


def targets_frames(table, bench):
    common, separate = bench.load("common-frame"), bench.load("separate-frames")
    for tasks in (8, 32) if common and separate else ():
        table.ratio(f"{tasks} ResNet18: time with a frame each / with a common frame",
                    ms(separate, tasks, "compact") / ms(common, tasks, "compact"), 1)
        table.ratio(f"{tasks} ResNet18: peak bytes with a frame each / with a common frame",
                    peak(separate, tasks, "compact") / peak(common, tasks, "compact"), 1)


def targets_mixed(table, bench):
    for name, what, least in (("9a", "VGG16 of two widths", 1.3), ("9b", "ResNet18 with batches 1 to 3", 1.0)):
        r = bench.load(name)
        for tasks in (4, 8, 16, 32) if r else ():
            table.ratio(f"{tasks} {what}: netfuse / compact", ms(r, tasks, "netfuse") / ms(r, tasks, "compact"), least)


def targets_peers(table, bench):
    for path in sorted(bench.out.glob("peers-*.json")):
        r = json.loads(path.read_text())
        network = path.stem.partition("-")[2]
        tasks = r["results"][0]["tasks"]
        own = ms(r, tasks, "compact")
        fair = [p for p in r["peers"] if p["tasks"] == tasks]
        alone = min((p["latency_ms"]["median"], p["name"]) for p in fair if "workers" not in p["mode"])
        both = min((p["latency_ms"]["median"], p["name"]) for p in fair if "workers" in p["mode"])
        if network.startswith("resnet18-32"):
            table.ratio(f"{network}: best peer with all threads ({alone[1]}) / compact", alone[0] / own, 4)
            table.ratio(f"{network}: best peer with two workers ({both[1]}) / compact", both[0] / own, 1.5)
        else:
            best = min(alone, both)
            table.ratio(f"{network}: best peer ({best[1]}) / compact", best[0] / own, 1)


def write_targets(bench):
    table = Table()
    for add in (targets_6, targets_budget, targets_frames, targets_mixed, targets_peers):
        add(table, bench)
    lines = ["# Targets and what was measured", "",
             "Written by `tests/perf/figures.py` from the JSON files beside it; README.md has the commands.", "",
             "| what | measured | target | |", "|---|---|---|---|"]
    lines += [f"| {what} | {measured} | {target} | {met} |" for what, measured, target, met in table.rows]
    (bench.out / "targets.md").write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mts", default="build/release/bin/mts", help="the program (default: %(default)s)")
    parser.add_argument("--only", help="figures to measure, separated by commas; budgets is one (default: all)")
    parser.add_argument("--quick", action="store_true", help="few runs: to see whether it works, not to quote")
    parser.add_argument("-o", "--output", default="docs/results", help="folder (default: %(default)s)")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only is not None else [*FIGURES, "budgets"]
    unknown = [name for name in wanted if name and name not in FIGURES and name != "budgets"]
    if unknown:
        parser.error(f"no figure {', '.join(unknown)}; there are: {', '.join([*FIGURES, 'budgets'])}")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, folder)
        bench.out.mkdir(parents=True, exist_ok=True)
        for name in FIGURES:
            if name in wanted:
                bench.measure(name, *FIGURES[name])
        if "budgets" in wanted:
            budgets(bench)
        write_targets(bench)
    print((bench.out / "targets.md").read_text())


if __name__ == "__main__":
    main()
