#!/usr/bin/env python3
"""Measures what pruning does to accuracy: criteria, ratios, with and without fitting, on the CIFAR tasks.

    tests/perf/prune.py --mts build/release/bin/mts --data ../shared/data/cifar -o docs/results/prune.json

Channels are weighed and weights fitted on calib_5000.bin, whose labels nothing reads; accuracy is that on test_5000.bin. The
file holds every command with the accuracy of each task, and a table of means as docs/PRUNE.md shows it goes to standard
output. --resume takes up where an earlier run stopped: what the file holds is not measured again.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

CRITERIA = ["l1", "apoz", "avg", "hybrid"]
RATIOS = ["0.3", "0.5"]


def run(words):
    """Runs a command and returns the JSON that it prints."""
    print(" ".join(words), file=sys.stderr, flush=True)
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


def said(words, arguments, folder):
    """A command as it is written down: without the places where things lie here."""
    text = " ".join(words)
    return text.replace(arguments.mts, "mts").replace(str(folder) + "/", "").replace(str(arguments.data) + "/", "")


def accuracy(arguments, folder, bundle):
    words = [arguments.mts, "eval", str(bundle), "--data", str(arguments.data / "test_5000.bin"), "--json"]
    tasks = {task["name"]: task["accuracy"] for task in run(words)["tasks"]}
    return said(words, arguments, folder), tasks


def mean(numbers):
    numbers = list(numbers)
    return round(sum(numbers) / len(numbers), 3)


def measure(arguments, folder, bundle, options):
    """One row: a pruned bundle and its accuracy."""
    out = folder / "pruned.mtsb"
    words = [arguments.mts, "prune", str(bundle), *options, "-o", str(out), "--json"]
    if "--no-refit" not in options or "l1" not in options:
        words += ["--calib", str(arguments.data / "calib_5000.bin")]
    report = run(words)
    command, tasks = accuracy(arguments, folder, out)
    return {"prune": said(words, arguments, folder), "eval": command, "accuracy": tasks, "mean": mean(tasks.values()),
            "channels": [report["channels"], report["channels_kept"]],
            "mul_adds": [report["mul_adds"], report["mul_adds_kept"]],
            "weights_bytes": [report["pruned_bytes"], report["pruned_bytes_kept"]]}


def rows():
    """Name and options of everything that is measured."""
    for ratio in RATIOS:
        for criterion in CRITERIA:
            for plain in (False, True):
                options = ["--ratio", ratio, "--criterion", criterion] + (["--no-refit"] if plain else [])
                yield f"{criterion}-{ratio}-{'plain' if plain else 'refit'}", options


def summarise(results):
    """What refit recovers of the loss, per criterion and ratio."""
    whole = results["original"]["mean"]
    table = []
    for ratio in RATIOS:
        for criterion in CRITERIA:
            plain = results["rows"].get(f"{criterion}-{ratio}-plain")
            refit = results["rows"].get(f"{criterion}-{ratio}-refit")
            if plain and refit:
                lost = whole - plain["mean"]
                table.append({"ratio": float(ratio), "criterion": criterion, "plain": plain["mean"],
                              "refit": refit["mean"], "recovered": round((refit["mean"] - plain["mean"]) / lost, 3)})
    return table


def show(results):
    print(f"| ratio | criterion | mean accuracy without refit | with refit | part of the loss recovered |")
    print("|---|---|---|---|---|")
    for row in results["summary"]:
        print(f"| {row['ratio']} | {row['criterion']} | {row['plain']:.2f} | {row['refit']:.2f} | {row['recovered']:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mts", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path)
    parser.add_argument("--config", default="finetuned.json")
    parser.add_argument("--resume", action="store_true", help="measure only what the file does not hold yet")
    arguments = parser.parse_args()
    results = {"rows": {}}
    if arguments.resume and arguments.output.exists():
        results = json.loads(arguments.output.read_text())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        bundle = folder / "original.mtsb"
        words = [arguments.mts, "compile", "--config", str(arguments.data / arguments.config), "-o", str(bundle), "--json"]
        run(words)
        if "original" not in results:
            command, tasks = accuracy(arguments, folder, bundle)
            results["original"] = {"compile": said(words, arguments, folder), "eval": command, "accuracy": tasks,
                                   "mean": mean(tasks.values())}
        for key, options in rows():
            if key not in results["rows"]:
                results["rows"][key] = measure(arguments, folder, bundle, options)
                results["summary"] = summarise(results)
                arguments.output.write_text(json.dumps(results, indent=1) + "\n")
    results["summary"] = summarise(results)
    arguments.output.write_text(json.dumps(results, indent=1) + "\n")
    show(results)


if __name__ == "__main__":
    main()
