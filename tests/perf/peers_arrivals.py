#!/usr/bin/env python3
"""Measures mts and other runtimes under one schedule of arrivals: latency from arrival to answer, queue, saturation.

    tests/perf/peers_arrivals.py x.mtsb --peers onnxruntime --loads 0.5,0.8,0.9 -o results.json

The same trace of Poisson arrivals, scaled to the same rates, goes to `mts bench --arrivals trace` and to each peer. A
request is one run of all tasks. First each says what it can do at most, with all requests there at once; rates are
parts of what each of them can do, and each is offered all of them. One takes the machine at a time. Outputs are
compared before anything is timed.
"""

import argparse
import json
import os
import pathlib
import random
import tempfile

import arrivals
import peers


class Rival(peers.Peer):
    def offer(self, times):
        """(arrived, ended) of each request, and milliseconds of the processor each."""
        self.process.send_signal(peers.signal.SIGCONT)
        self.process.stdin.write(json.dumps({"arrivals": times, "models": list(range(self.count))}) + "\n")
        self.process.stdin.flush()
        answer = self.answer()
        self.stop()
        return answer

    def most(self, count):
        """Requests a second with all of them there at once."""
        self.offer([0.0] * 3)
        return arrivals.summarise(self.offer([0.0] * count)["requests"])["throughput_per_s"]


def start(arguments, models, count, folder, expected):
    rivals = []
    for name in arguments.peers.split(","):
        peers.convert(models.models, folder, name)
        for mode in arguments.modes.split(";") if arguments.modes else peers.peer.RUNTIMES[name].modes:
            peers.note(f"loading {name}, {mode}")
            one = Rival(name, mode, models, count, folder)
            one.stop()
            apart = one.difference(expected)
            if apart > peers.TOLERANCE:
                raise SystemExit(f"{name} ({mode}) differs by {apart:.3g} from mts")
            one.worst = apart
            rivals.append(one)
    return rivals


def bench(arguments, rates, trace):
    command = [arguments.mts, "bench", arguments.bundle, "--strategies", "compact", "--arrivals", "trace", "--trace",
               str(trace), "--inputs", "copied", "--in-flight", str(arguments.in_flight), "--json"]
    command += ["--rate", ",".join(f"{rate:.6g}" for rate in rates)]
    return json.loads(peers.run(command + arguments.device))


def measure(arguments, models, folder):
    """What mts bench prints, with a row for each peer."""
    count = len(models.models)
    trace = folder / "trace.txt"
    times = arrivals.poisson(arguments.requests, random.Random(arguments.seed))
    trace.write_text("".join(f"{time!r}\n" for time in times))
    rivals = start(arguments, models, count, folder, models.expected(count))
    most = [bench(arguments, [1e6], trace)["results"][0]["saturation_per_s"]]
    most += [one.most(arguments.requests) for one in rivals]
    loads = [float(load) for load in arguments.loads.split(",")]
    rates = sorted({one * load for one in most for load in loads})
    found = bench(arguments, rates, trace)
    for one, saturation in zip(rivals, most[1:]):
        rows = []
        for rate in rates:
            answer = one.offer(arrivals.scale(times, rate))
            rows.append({"offered_per_s": rate, "load": rate / saturation, **arrivals.summarise(answer["requests"]),
                         "cpu_ms": answer["cpu_ms"] / len(times)})
        found["peers"].append({"name": one.name, "version": one.version, "mode": one.mode,
                               "saturation_per_s": saturation, "difference": one.worst, "rates": rows})
        one.finish()
    return found


def table(found):
    rows = [("mts", found["results"][0])] + [(f"{one['name']}, {one['mode']}", one) for one in found["peers"]]
    for name, one in rows:
        print(f"{name}: at most {one['saturation_per_s']:.1f} requests a second")
    print(f"{'offered':>8}  {'what':<36} {'load':>5} {'p50':>8} {'p90':>8} {'p99':>8} {'p99.9':>8} {'queue':>7} {'max':>5}")
    for index in range(len(rows[0][1]["rates"])):
        for name, one in rows:
            rate = one["rates"][index]
            ms, queue = rate["latency_ms"], rate["queue"]
            print(f"{rate['offered_per_s']:>8.2f}  {name:<36} {rate['load']:>5.2f} {ms['p50']:>8.1f} {ms['p90']:>8.1f} "
                  f"{ms['p99']:>8.1f} {ms['p99_9']:>8.1f} {queue['mean']:>7.2f} {queue['max']:>5.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("--mts", default="build/release/bin/mts", help="the program (default: %(default)s)")
    parser.add_argument("--peers", default="onnxruntime", help="default: %(default)s")
    parser.add_argument("--modes", help="of the peers, with ';' between them (default: all)")
    parser.add_argument("--device", help="of mts")
    parser.add_argument("--devices", help="of mts, several: opencl:0/0of2,opencl:0/1of2")
    parser.add_argument("--in-flight", type=int, default=1, help="requests that a session of mts holds")
    parser.add_argument("--loads", default="0.5,0.8,0.9", help="parts of what each can do (default: %(default)s)")
    parser.add_argument("--requests", type=int, default=200, help="for each rate (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", help="JSON file")
    arguments = parser.parse_args()
    arguments.frames = "separate"
    arguments.device = (["--devices", arguments.devices] if arguments.devices else
                        ["--device", arguments.device] if arguments.device else [])
    with tempfile.TemporaryDirectory(prefix="mts-arrivals-") as folder:
        count = len(json.loads(peers.run([arguments.mts, "inspect", arguments.bundle, "--json"]))["tasks"])
        models = peers.Models(arguments, pathlib.Path(folder), count)
        found = {"seed": arguments.seed, "cores": os.cpu_count(),
                 **measure(arguments, models, pathlib.Path(folder))}
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps(found, indent=1) + "\n")
    table(found)


if __name__ == "__main__":
    main()
