#!/usr/bin/env python3
"""The four networks that NETFUSE merges, with private weights, in all four strategies: latency and memory of T tasks.

    tests/perf/netfuse.py --mts build/release/bin/mts --folder build/netfuse --tasks 4,8 --batches 1 -o netfuse.json

Networks are those of `mts synth`, with half of their channels and small inputs unless --full: a processor of 2 cores
does not run the full ones in time. NETFUSE's baselines of Fig. 8 (a process for each model, hybrids) are not run.
"""
import argparse
import json
import os
import pathlib
import subprocess

NETWORKS = {"resnet50": 96, "resnext50": 96, "bert-base": 32, "xlnet-base": 32}  # input of the small variant
FULL = {"resnet50": 224, "resnext50": 224, "bert-base": 128, "xlnet-base": 128}
STRATEGIES = "sequential,netfuse,dense,compact"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mts", default="build/release/bin/mts")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/netfuse"))
    parser.add_argument("--tasks", default="4,8")
    parser.add_argument("--batches", default="1")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--make", action="store_true", help="write the bundles only")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = {"load": os.getloadavg()[0], "full": options.full, "rows": []}
    most = max(int(t) for t in options.tasks.split(","))
    for network in options.networks.split(","):
        for batch in options.batches.split(","):
            bundle = options.folder / f"{network}-{most}-{batch}-{'full' if options.full else 'small'}.mtsb"
            if not bundle.exists():
                size = (FULL if options.full else NETWORKS)[network]
                subprocess.run([options.mts, "synth", "--arch", network, "--tasks", str(most), "--share", "0", "--prune",
                                "0" if options.full else "0.5", "--input", str(size), "--batch", batch, "-o", bundle],
                               check=True, stdout=subprocess.DEVNULL)
            if options.make:
                continue
            done = subprocess.run([options.mts, "bench", bundle, "--device", "cpu", "--strategies", STRATEGIES, "--tasks",
                                   options.tasks, "--warmup", "1", "--runs", str(options.runs), "--no-probe", "--json"],
                                  check=True, capture_output=True, text=True)
            for row in json.loads(done.stdout)["results"]:
                made = {"network": network, "batch": int(batch), "tasks": row["tasks"], "strategy": row["strategy"],
                        "median_ms": row["latency_ms"]["median"], "p5_ms": row["latency_ms"]["p5"],
                        "peak_bytes": row["bytes"]["peak"], "launches": row["launches"]}
                results["rows"].append(made)
                print(json.dumps(made), flush=True)
            if options.output:
                options.output.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
