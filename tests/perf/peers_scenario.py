#!/usr/bin/env python3
"""Measures other runtimes on the networks of a scenario file (docs/SCENARIOS.md), in turns with mts bench.

    tests/perf/peers_scenario.py tests/perf/scenarios/holistic.json --mts build/release/bin/mts -o results.json

Parts: each network alone, a frame (every network as often as an arrival has it), the rated workload, and where asked for
the highest load that is sustained. LiteRT runs the scenario's .tflite files; runtimes that read ONNX run what mts
exports, with the same weights. Outputs are compared before anything is timed. A peer has one interpreter for each network, and one process for everything, which
is stopped while others run; mts bench and the peers take turns, and the times of all turns count. In the rated part a
peer's loop runs one frame at a time, chosen as schedules `alone` and `fit` of mts bench choose it.
"""

import argparse
import json
import os
import pathlib
import tempfile

import numpy

import peer
import peers
import rated


class Networks:
    """The networks of a scenario: bundles, exported models, inputs and the outputs that mts computes for them."""

    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        path = pathlib.Path(arguments.scenario)
        self.rows = json.loads(path.read_text())["networks"]
        if arguments.networks:
            wanted = arguments.networks.split(",")
            self.rows = [row for row in self.rows if row["name"] in wanted]
            if len(self.rows) != len(wanted):
                raise SystemExit(f"--networks {arguments.networks}: {path} has not all of them")
        for row in self.rows:
            row["model"] = str(path.parent / row["model"])
        self.whole = self.compile("whole", [(name, row) for row in self.rows for name in self.tasks_of(row)])
        self.models, arrays, random = [], {}, numpy.random.default_rng(1)
        for row in self.rows:
            model = self.model(row)
            for entry, key in zip(model["inputs"], model["data"]):
                arrays[key] = random.uniform(0, 1, entry["shape"]).astype(numpy.float32)
            self.models.append(model)
        self.inputs = str(folder / "inputs.npz")
        numpy.savez(self.inputs, **arrays)
        self.expected = [self.answer(model, arrays) for model in self.models]
        # The second hand comes after all else, so that two workers do not wait for one interpreter.
        times = max(row.get("times", 1) for row in self.rows)
        self.frame = [index for time in range(times) for index, row in enumerate(self.rows)
                      if time < row.get("times", 1)]

    @staticmethod
    def tasks_of(row):
        times = row.get("times", 1)
        return [row["name"]] if times == 1 else [f"{row['name']}.{index}" for index in range(times)]

    def compile(self, stem, tasks):
        bundle = str(self.folder / f"{stem}.mtsb")
        command = [self.arguments.mts, "compile", "-o", bundle]
        for name, row in tasks:
            command += ["--task", f"{name}={row['model']}"]
            command += ["--shape", f"{name}={'x'.join(map(str, row['shape']))}"] if "shape" in row else []
        peers.run(command)
        return bundle

    def model(self, row):
        name = row["name"]
        bundle = self.compile(name, [(name, row)])
        fact = json.loads(peers.run([self.arguments.mts, "inspect", bundle, "--json"]))["tasks"][0]
        model = {"name": name, "bundle": bundle, "inputs": fact["inputs"], "mul_adds": fact["mul_adds"],
                 "outputs": [entry["name"] for entry in fact["outputs"]],
                 "data": [f"{name}:{entry['name']}" for entry in fact["inputs"]],
                 "onnx": str(self.folder / f"{name}.onnx")}
        peers.run([self.arguments.mts, "export", bundle, "--task", name, "-o", model["onnx"]])
        if row["model"].endswith(".tflite"):
            model["tflite"] = row["model"]
        return model

    def answer(self, model, arrays):
        saved = self.folder / "saved"
        command = [self.arguments.mts, "run", model["bundle"], "--save", str(saved)] + self.arguments.device
        for index, (entry, key) in enumerate(zip(model["inputs"], model["data"])):
            path = self.folder / f"input-{index}.npy"
            numpy.save(path, arrays[key])
            command += ["--raw", f"{model['name']}:{entry['name']}={path}"]
        peers.run(command)
        values = [numpy.load(saved / f"{model['name']}.{index}.npy").ravel() for index in range(len(model["outputs"]))]
        return numpy.concatenate(values).astype(numpy.float32)

    def bench(self, bundle, warm, runs):
        """Each strategy's row of mts bench, with the times of its runs."""
        command = [self.arguments.mts, "bench", bundle, "--strategies", self.arguments.strategies, "--warmup", str(warm),
                   "--runs", str(runs), "--samples", "--json", "--no-probe"]
        return json.loads(peers.run(command + self.arguments.device))

    def bench_rated(self, speed, ms, strategies, schedules, threads=0):
        path = self.folder / "scenario.json"
        path.write_text(json.dumps({"networks": [{k: v for k, v in row.items() if k != "model"} for row in self.rows]}))
        command = [self.arguments.mts, "bench", self.whole, "--scenario", str(path), "--speed", str(speed), "--seconds",
                   str(ms / 1e3), "--strategies", strategies, "--schedules", schedules, "--json"]
        command += ["--threads", str(threads)] if threads else []
        return json.loads(peers.run(command + self.arguments.device))


class Rival(peers.Peer):
    """A peer that measures single networks, frames, and turns of a rated workload."""

    def ask(self, order):
        self.process.send_signal(peers.signal.SIGCONT)
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        answer = self.answer()
        self.stop()
        return answer

    def measure(self, models, warm, runs):
        self.ask({"runs": warm, "models": models})
        return self.ask({"runs": runs, "models": models})


def start_rivals(networks, folder, names):
    rivals = []
    for name in names:
        if name == "litert" and not all("tflite" in model for model in networks.models):
            peers.note("litert is left out: the scenario has models that are not .tflite")
            continue
        for mode in peer.RUNTIMES[name].modes:
            peers.note(f"loading {name}, {mode}")
            try:
                peers.convert(networks.models, folder, name)
                one = Rival(name, mode, networks, len(networks.models), folder)
            except RuntimeError as reason:
                peers.note(f"left out: {reason}")
                continue
            one.stop()
            apart = one.differences(networks.expected)
            one.wrong = {index for index, by in enumerate(apart) if by > peers.TOLERANCE}
            for index in one.wrong:
                peers.note(f"left out: {networks.models[index]['name']} and all that has it, for {name} ({mode}): it "
                           f"differs by {apart[index]:.3g} from mts")
            one.worst = max((by for index, by in enumerate(apart) if index not in one.wrong), default=0.0)
            one.costs = {}
            rivals.append(one)
    return rivals


class Samples:
    """Times of all turns, by what was measured."""

    def __init__(self):
        self.times, self.cpu = {}, {}

    def add(self, key, times, cpu):
        self.times.setdefault(key, []).extend(times)
        self.cpu.setdefault(key, []).append(cpu / len(times))

    def row(self, key):
        return {"latency_ms": {**peers.latency(self.times[key]), "least": min(self.times[key])},
                "cpu_ms": sum(self.cpu[key]) / len(self.cpu[key])}


def measure(arguments, networks, rivals, bundle, models, runs):
    """mts and all peers in turns; a row for each."""
    samples, rows = Samples(), {}
    for _ in range(arguments.rounds):
        for row in networks.bench(bundle, arguments.warmup, runs)["results"]:
            key = f"mts {row['strategy']}"
            samples.add(key, row["samples_ms"], row["cpu_ms"] * len(row["samples_ms"]))
            rows[key] = {"name": "mts", "mode": row["strategy"], "peak_bytes": row["bytes"]["peak"],
                         "launches": row["launches"], "mul_adds": row["mul_adds"]}
        for one in rivals:
            key = f"{one.name} {one.mode}"
            answer = one.measure(models, arguments.warmup, runs)
            samples.add(key, answer["times"], answer["cpu_ms"])
            rows[key] = {"name": one.name, "version": one.version, "mode": one.mode}
    return [{**row, **samples.row(key)} for key, row in rows.items()]


def measure_each(arguments, networks, rivals):
    each = []
    for index, model in enumerate(networks.models):
        peers.note(f"{model['name']} alone")
        able = [one for one in rivals if index not in one.wrong]
        rows = measure(arguments, networks, able, model["bundle"], [index], arguments.runs)
        each.append({"network": model["name"], "mul_adds": model["mul_adds"], "rows": rows})
        for one in able:
            row = next(r for r in rows if (r["name"], r["mode"]) == (one.name, one.mode))
            one.costs[model["name"]] = row["latency_ms"]["least"]
    return each


def rated_networks(networks, costs, speed):
    """What rated.Network takes, of each network."""
    found = []
    for row in networks.rows:
        found.append({"name": row["name"], "rate": row["rate"] * speed, "deadline_ms": row.get("deadline_ms"),
                      "times": row.get("times", 1), "importance": row.get("importance", 0),
                      "cost_ms": costs.get(row["name"], 0.0)})
    return found


def cost_of(networks, one):
    """What each network takes alone, where the part `each` has not measured it."""
    for index, model in enumerate(networks.models):
        if model["name"] not in one.costs:
            one.costs[model["name"]] = min(one.measure([index], 2, 5)["times"])


def rated_rows(one, schedule, speed, kept, facts):
    found = [rated.Network(**row) for row in kept]
    for network in found:
        network.latencies, network.dropped = facts["networks"][network.name]
    return {"name": one.name, "version": one.version, "mode": one.mode, "schedule": schedule, "speed": speed,
            **rated.result_of(found), **{key: facts[key] for key in ("submissions", "wall_ms", "cpu_ms")}}


def measure_rated(arguments, networks, rivals, speed):
    """Turns of mts bench are whole ones; those of a peer add up."""
    ms = arguments.seconds * 1e3 / arguments.rounds
    ours, facts = [], {}
    for turn in range(arguments.rounds):
        peers.note(f"rated, speed {speed}, turn {turn + 1} of {arguments.rounds}")
        ours.append(networks.bench_rated(speed, ms, arguments.strategies, arguments.schedules))
        for one in rivals:
            cost_of(networks, one)
            for schedule in arguments.schedules.split(","):
                if schedule == "together":  # no peer runs several networks in one submission
                    continue
                order = {"ms": ms, "schedule": schedule, "networks": rated_networks(networks, one.costs, speed)}
                answer = one.ask(order)
                all_of = facts.setdefault((one, schedule), {"submissions": 0, "wall_ms": 0.0, "cpu_ms": 0.0,
                                                            "networks": {}})
                for key in ("submissions", "wall_ms", "cpu_ms"):
                    all_of[key] += answer[key]
                for name, part in answer["networks"].items():
                    latencies, dropped = all_of["networks"].get(name, ([], 0))
                    all_of["networks"][name] = (latencies + part["latencies"], dropped + part["dropped"])
    rows = [rated_rows(one, schedule, speed, rated_networks(networks, one.costs, speed), found)
            for (one, schedule), found in facts.items()]
    return {"speed": speed, "mts": ours, "peers": rows}


def measure_sustained(arguments, networks, rivals):
    """The highest speed at which each strategy and peer, with each schedule, still scores and is in time. Tries of all of
    them take turns, so that a disturbance of the machine meets them alike, and a speed has failed when two tries have."""
    ms = arguments.seconds * 1e3
    found = [{"name": "mts", "mode": strategy + (f", {threads} threads" if threads else ""), "schedule": schedule, "one": None,
              "strategy": strategy, "threads": threads, "search": rated.Search()}
             for strategy in arguments.strategies.split(",") for schedule in arguments.schedules.split(",")
             for threads in map(int, arguments.threads.split(","))]
    found += [{"name": one.name, "version": one.version, "mode": one.mode, "schedule": schedule, "one": one,
               "search": rated.Search()}
              for one in rivals for schedule in arguments.schedules.split(",") if schedule != "together"]
    while not all(row["search"].is_done() for row in found):
        for row in found:
            search, one = row["search"], row["one"]
            if search.is_done():
                continue
            if one is None:
                result = networks.bench_rated(search.next, ms, row["strategy"], row["schedule"],
                                              row["threads"])["results"][0]
            else:
                cost_of(networks, one)
                kept = rated_networks(networks, one.costs, search.next)
                facts = one.ask({"ms": ms, "schedule": row["schedule"], "networks": kept})
                facts["networks"] = {name: (part["latencies"], part["dropped"])
                                     for name, part in facts["networks"].items()}
                result = rated_rows(one, row["schedule"], search.next, kept, facts)
            held = rated.is_sustained(result, arguments.least_score)
            peers.note(f"{row['name']} {row['mode']}, {row['schedule']}: speed {search.next:.3f}, score "
                       f"{result['score']:.1f}: {'sustained' if held else 'not sustained'}")
            if held:
                row["at_held"] = result
            doubted = not held and row.get("doubted") != search.next
            row["doubted"] = search.next if doubted else None
            if not doubted:
                search.tell(held)
    for row in found:
        search = row.pop("search")
        row.pop("doubted", None)
        del row["one"]
        row["speed"], row["failed"] = search.held, min(search.failed, search.most)
    return found


def mean_of(turns, index, key):
    return sum(turn["results"][index][key] for turn in turns) / len(turns)


def table(answer):
    def line(what, row, base):
        times = row["latency_ms"]
        print(f"  {what:<48} {times['median']:>8.2f} {times['p5']:>8.2f} {times['p95']:>8.2f} {times['least']:>8.2f} "
              f"{row['cpu_ms']:>8.2f} {times['median'] / base:>6.2f}")

    def block(title, rows):
        print(f"\n{title}\n  {'':<48} {'median':>8} {'p5':>8} {'p95':>8} {'least':>8} {'CPU ms':>8} {'ratio':>6}")
        ours = [row for row in rows if row["name"] == "mts"]
        for row in rows:
            line(f"{row['name']} {row['mode']}", row, ours[-1]["latency_ms"]["median"])

    for entry in answer["each"]:
        block(f"{entry['network']}, {entry['mul_adds'] / 1e6:.0f} M multiply-adds", entry["rows"])
    if answer["frame"]:
        block(f"a frame of {answer['runs_of_a_frame']} runs", answer["frame"])
    for part in answer["rated"]:
        print(f"\nrated, speed {part['speed']}\n  {'':<48} {'score':>6} {'kept':>7} {'of':>6} {'late':>6} {'p50':>7} "
              f"{'p99':>7} {'CPU':>5}")
        turns = part["mts"]
        for index, row in enumerate(turns[0]["results"]):
            print(f"  mts {row['strategy'] + ', ' + row['schedule']:<44} {mean_of(turns, index, 'score'):>6.1f} "
                  f"{mean_of(turns, index, 'kept'):>7.0f} {row['due']:>6} {mean_of(turns, index, 'late'):>6.0f} "
                  f"{numpy.median([t['results'][index]['latency_ms']['p50'] for t in turns]):>7.2f} "
                  f"{numpy.median([t['results'][index]['latency_ms']['p99'] for t in turns]):>7.2f} "
                  f"{mean_of(turns, index, 'cpu_ms') / mean_of(turns, index, 'wall_ms'):>5.2f}")
        for row in part["peers"]:
            count = len(turns)
            print(f"  {row['name'] + ' ' + row['mode'] + ', ' + row['schedule']:<48} {row['score']:>6.1f} "
                  f"{row['kept'] / count:>7.0f} {row['due'] / count:>6.0f} {row['late'] / count:>6.0f} "
                  f"{row['latency_ms']['p50']:>7.2f} {row['latency_ms']['p99']:>7.2f} "
                  f"{row['cpu_ms'] / row['wall_ms']:>5.2f}")
    if answer["sustained"]:
        muls = answer["mul_adds_a_second"]
        print(f"\nhighest load sustained (speed 1: {muls / 1e9:.1f} G multiply-adds a second)\n  {'':<48} {'speed':>7} "
              f"{'G/s':>7}")
        for row in answer["sustained"]:
            print(f"  {row['name'] + ' ' + row['mode'] + ', ' + row['schedule']:<48} {row['speed']:>7.3f} "
                  f"{row['speed'] * muls / 1e9:>7.1f}")
        best = {ours: max((row["speed"] for row in answer["sustained"] if (row["name"] == "mts") == ours), default=0.0)
                for ours in (True, False)}
        if best[False] > 0:
            print(f"  ours / best peer: {best[True] / best[False]:.2f}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario")
    parser.add_argument("--networks", help="only these, separated by commas")
    parser.add_argument("--schedules", default="fit,together,alone", help="of the rated part")
    parser.add_argument("--parts", default="each,frame,rated", help="default: %(default)s; and sustained: the highest speed at "
                        "which the rated workload scores --least-score and each network's p99 is by its deadline")
    parser.add_argument("--least-score", type=float, default=95.0, help="of the part sustained (default: %(default)s)")
    parser.add_argument("--rated-peers", default="litert", help="of the rated part (default: %(default)s)")
    parser.add_argument("--threads", default="0", help="of mts in the part sustained, each tried; 0: as many as it takes "
                        "by itself (default: %(default)s)")
    parser.add_argument("--speeds", default="1,0.5,0.25", help="of the rated part (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each speed, over all turns; of each try of the part "
                        "sustained")
    peers.add_options(parser, "litert,onnxruntime,openvino,ncnn,mnn")
    arguments = parser.parse_args()
    peers.take_options(arguments)
    return arguments


def available(arguments):
    names = []
    for name in arguments.peers.split(","):
        reason = peers.missing(name) if name in peers.MODULES else "there is no such peer"
        if reason:
            peers.note(f"{name} is left out: {reason}")
        else:
            names.append(name)
    return names


def main():
    arguments = parse()
    parts = arguments.parts.split(",")
    answer = {"scenario": arguments.scenario, "load": [os.getloadavg()[0]], "runs": arguments.runs * arguments.rounds,
              "each": [], "frame": [], "rated": [], "sustained": []}
    with tempfile.TemporaryDirectory(prefix="mts-peers-") as name:
        folder = pathlib.Path(name)
        networks = Networks(arguments, folder)
        answer["runs_of_a_frame"] = len(networks.frame)
        answer["mul_adds_a_second"] = sum(row["rate"] * row.get("times", 1) * model["mul_adds"]
                                          for row, model in zip(networks.rows, networks.models))
        rivals = start_rivals(networks, folder, available(arguments))
        try:
            if "each" in parts:
                answer["each"] = measure_each(arguments, networks, rivals)
            able = [one for one in rivals if not one.wrong]
            if "frame" in parts:
                peers.note("a frame")
                answer["frame"] = measure(arguments, networks, able, networks.whole, networks.frame, arguments.runs)
            chosen = [one for one in able if one.name in arguments.rated_peers.split(",")]
            for speed in map(float, arguments.speeds.split(",") if "rated" in parts else []):
                answer["rated"].append(measure_rated(arguments, networks, chosen, speed))
            if "sustained" in parts:
                answer["sustained"] = measure_sustained(arguments, networks, chosen)
            answer["peers"] = [{"name": one.name, "version": one.version, "mode": one.mode, "difference": one.worst,
                                "peak_bytes": one.finish()} for one in rivals]
        finally:
            for one in rivals:
                one.kill()
    answer["load"].append(os.getloadavg()[0])
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps(answer, indent=1) + "\n")
    table(answer)


if __name__ == "__main__":
    main()
