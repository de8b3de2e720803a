#!/usr/bin/env python3
"""Whether frames with waves (docs/design/waves.md) are ever slower than without: both in turns, over bundles.

    tests/perf/waves_paired.py --mts build/release/bin/mts --device opencl:0 app.mtsb other.mtsb

Tasks of different priorities have no waves, so the side without gives the first task a higher one: the same kernels, a
launch for each layer. Prints launches, memory and the least of the turns' 5th percentiles of each side. Fails where
waves take more than --most times the time without.
"""

import argparse
import json
import subprocess
import sys


def bench(arguments, bundle, more):
    command = [arguments.mts, "bench", bundle, "--strategies", "compact", "--device", arguments.device, "--warmup", "3",
               "--runs", str(arguments.runs), "--no-probe", "--json", *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["results"][0]


def tasks_of(arguments, bundle):
    facts = subprocess.run([arguments.mts, "inspect", bundle, "--json"], check=True, capture_output=True, text=True)
    return json.loads(facts.stdout)["tasks"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundles", nargs="+")
    parser.add_argument("--mts", default="build/release/bin/mts")
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--most", type=float, default=1.03, help="with / without (default: %(default)s)")
    arguments = parser.parse_args()
    slower = 0
    print(f"{'bundle':<32} {'launches':>13} {'peak MB':>15} {'with':>8} {'without':>8} {'ratio':>6}")
    for bundle in arguments.bundles:
        tasks = tasks_of(arguments, bundle)
        if len(tasks) < 2:
            print(f"{bundle:<32} has one task, which cannot have a priority above others: left out")
            continue
        sides = {True: [], False: ["--priority", f"{tasks[0]['name']}=1"]}
        rows = {True: [], False: []}
        for turn in range(arguments.turns):
            for waves in (True, False) if turn % 2 == 0 else (False, True):  # neither side is always the later one
                rows[waves].append(bench(arguments, bundle, sides[waves]))
        least = {waves: min(row["latency_ms"]["p5"] for row in of) for waves, of in rows.items()}
        launches = [rows[waves][0]["launches"] for waves in (True, False)]
        peaks = [rows[waves][0]["bytes"]["peak"] / 1e6 for waves in (True, False)]
        ratio = least[True] / least[False]
        slower += ratio > arguments.most
        print(f"{bundle:<32} {launches[0]:>6}/{launches[1]:<6} {peaks[0]:>7.1f}/{peaks[1]:<7.1f} {least[True]:>8.2f} "
              f"{least[False]:>8.2f} {ratio:>6.2f}", flush=True)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
