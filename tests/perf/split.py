#!/usr/bin/env python3
"""Measures what splitting a classifier does to accuracy, work and latency, on the CIFAR task 'object'.

    tests/perf/split.py --mts build/release/bin/mts --data ../shared/data/cifar -o docs/results/split.json

Everything is fitted on calib_5000.bin, whose labels nothing reads; accuracy is that on test_5000.bin. The file holds every
command with what it said; a table as docs/SPLIT.md shows it goes to standard output. What the file holds already is not measured
again; --only NAME,NAME measures these anew. Bundles are kept in --folder; --bench only measures the latency of those that lie
there, once nothing else runs on the machine.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

TASK = "object"

RETRAIN = ["--retrain", "60"]
TRUNK = {"0.53": ["--trunk", "0.53"], "0.77": ["--trunk", "0.77"],  # two, three of the network's four stages,
         "0.87": ["--trunk", "0.87"]}  # and half of the fourth

# name: options of mts split
ROWS = {
    "2-0": ["--groups", "2", "--ratio", "0"],
    "5-0": ["--groups", "5", "--ratio", "0"],
    "10-0": ["--groups", "10", "--ratio", "0"],
    "5-0.3": ["--groups", "5", "--ratio", "0.3"],
    "5-0.5": ["--groups", "5", "--ratio", "0.5"],
    "5-0.8": ["--groups", "5", "--ratio", "0.8"],
    "5-0.8-trunk-0.53": ["--groups", "5", "--ratio", "0.8", *TRUNK["0.53"]],
    "2-0.5-trunk-0.77": ["--groups", "2", "--ratio", "0.5", *TRUNK["0.77"]],
    "2-0.5-trunk-0.87": ["--groups", "2", "--ratio", "0.5", *TRUNK["0.87"]],
    "2-0.5-trunk-0.77-search": ["--groups", "2", "--ratio", "0.5", *TRUNK["0.77"], "--search"],
    "2-0.5-trunk-0.77-random-1": ["--groups", "2", "--ratio", "0.5", *TRUNK["0.77"], "--random", "--seed", "1"],
    "2-0.5-trunk-0.77-random-2": ["--groups", "2", "--ratio", "0.5", *TRUNK["0.77"], "--random", "--seed", "2"],
    "5-0.7-trunk-0.77": ["--groups", "5", "--ratio", "0.7", *TRUNK["0.77"]],
    "5-0.8-trunk-0.77": ["--groups", "5", "--ratio", "0.8", *TRUNK["0.77"]],
    "5-0.8-trunk-0.77-random-1": ["--groups", "5", "--ratio", "0.8", *TRUNK["0.77"], "--random", "--seed", "1"],
    "5-0.9-trunk-0.77": ["--groups", "5", "--ratio", "0.9", *TRUNK["0.77"]],
    "5-0.8-trunk-0.87": ["--groups", "5", "--ratio", "0.8", *TRUNK["0.87"]],
    "10-0.9-trunk-0.77": ["--groups", "10", "--ratio", "0.9", *TRUNK["0.77"]],
    "5-0.8-retrain": ["--groups", "5", "--ratio", "0.8", *RETRAIN],
    "5-0.8-trunk-0.53-retrain": ["--groups", "5", "--ratio", "0.8", *TRUNK["0.53"], *RETRAIN],
    "5-0.8-trunk-0.77-retrain": ["--groups", "5", "--ratio", "0.8", *TRUNK["0.77"], *RETRAIN],
    "2-0.5-trunk-0.77-retrain-38": ["--groups", "2", "--ratio", "0.5", *TRUNK["0.77"], "--retrain", "38"],
    "2-0.5-trunk-0.77-retrain-38-labels": ["--groups", "2", "--ratio", "0.5", *TRUNK["0.77"], "--retrain", "38", "--labels"],
    "5-0.9-trunk-0.77-retrain": ["--groups", "5", "--ratio", "0.9", *TRUNK["0.77"], *RETRAIN],
}


def run(words):
    """Runs a command and returns the JSON that it prints."""
    print(" ".join(words), file=sys.stderr, flush=True)
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


class Workshop:
    """Where bundles lie, and how commands are written down."""

    def __init__(self, mts, data, folder):
        self.mts, self.data, self.folder = mts, data, folder

    def said(self, words):
        text = " ".join(words)
        return text.replace(self.mts, "mts").replace(f"{self.folder}/", "").replace(f"{self.data}/", "")

    def bundle(self):
        """A bundle of the one task."""
        tasks = json.loads((self.data / "finetuned.json").read_text())["tasks"]
        task = next(task for task in tasks if task["name"] == TASK)
        model = self.data / task["model"]
        shutil.copy(model, self.folder / model.name)
        (self.folder / "object.json").write_text(json.dumps({"tasks": [dict(task, model=model.name)]}))
        path = self.folder / "object.mtsb"
        run([self.mts, "compile", "--config", str(self.folder / "object.json"), "-o", str(path), "--json"])
        return path

    def accuracy(self, bundle):
        words = [self.mts, "eval", str(bundle), "--data", str(self.data / "test_5000.bin"), "--json"]
        return self.said(words), {task["name"]: task["accuracy"] for task in run(words)["tasks"]}

    def latency(self, bundle, strategies):
        words = [self.mts, "bench", str(bundle), "--frames", "common", "--strategies", strategies, "--no-probe",
                 "--runs", "200", "--json"]
        report = run(words)
        results = {row["strategy"]: {key: row[key] for key in ("latency_ms", "bytes", "launches", "mul_adds")}
                   for row in report["results"]}
        return {"command": self.said(words), "device": report["device"], "load": report["load"], "results": results}

    def row(self, name, bundle, options):
        out = self.folder / f"split-{name}.mtsb"
        words = [self.mts, "split", str(bundle), "--task", TASK, *options, "--calib",
                 str(self.data / "calib_5000.bin"), "-o", str(out), "--json"]
        report = run(words)
        command, accuracies = self.accuracy(out)
        return {"split": self.said(words), "mul_adds": report["mul_adds_groups"], "change": report["change"],
                "weights_bytes": report["weights_bytes"], "eval": command, "accuracy": accuracies.pop(TASK),
                "subnets": accuracies, "bench": self.latency(out, "sequential,compact")}


def cells(accuracy, latencies):
    """Of a row of the table; multiply-adds are those that the stitched group does: equal layers count once."""
    compact = latencies["compact"]
    alone = f"{latencies['sequential']['latency_ms']['median']:.2f} ms" if "sequential" in latencies else ""
    return (f"{accuracy:.2f} % | {compact['mul_adds'] / 1e6:.1f} M | {compact['bytes']['weights'] / 1e6:.2f} MB | {alone} | "
            f"{compact['latency_ms']['median']:.2f} ms |")


def table(results):
    lines = ["| options | accuracy | multiply-adds | weights | one by one | stitched |", "|---|---|---|---|---|---|",
             "| the whole network | " + cells(results["whole"]["accuracy"], results["whole"]["bench"]["results"])]
    for name, row in results["rows"].items():
        lines.append(f"| `{' '.join(ROWS[name])}` | " + cells(row["accuracy"], row["bench"]["results"]))
    return "\n".join(lines)


def save(arguments, results):
    results["rows"] = {name: results["rows"][name] for name in ROWS if name in results["rows"]}
    arguments.output.write_text(json.dumps(results, indent=1) + "\n")


def measure(shop, arguments, results):
    only = [name for name in arguments.only.split(",") if name]
    bundle = shop.bundle()
    if "whole" not in results:
        command, accuracies = shop.accuracy(bundle)
        latency = shop.latency(bundle, "compact")
        results["whole"] = {"eval": command, "accuracy": accuracies[TASK], "bench": latency,
                            "mul_adds": latency["results"]["compact"]["mul_adds"]}
    for name, options in ROWS.items():
        if name in only if only else name not in results["rows"]:
            results["rows"][name] = shop.row(name, bundle, options)
            save(arguments, results)


def bench(shop, arguments, results):
    results["whole"]["bench"] = shop.latency(shop.folder / "object.mtsb", "compact")
    for name, row in results["rows"].items():
        bundle = shop.folder / f"split-{name}.mtsb"
        if bundle.exists():
            row["bench"] = shop.latency(bundle, "sequential,compact")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mts", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--bench", action="store_true")
    arguments = parser.parse_args()
    results = json.loads(arguments.output.read_text()) if arguments.output.exists() else {"rows": {}}
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.folder or pathlib.Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        shop = Workshop(arguments.mts, arguments.data, folder)
        (bench if arguments.bench else measure)(shop, arguments, results)
        save(arguments, results)
    print(table(results))


if __name__ == "__main__":
    main()
