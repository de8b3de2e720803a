#!/usr/bin/env python3
"""Measures other runtimes on the models of a bundle, in turns with mts bench, and compares.

    tests/perf/peers.py x.mtsb --mts build/release/bin/mts --tasks 4,32 -o results.json

Every task is exported as ONNX ('mts export'), so that all run the same weights. Outputs are compared before anything is
timed. Each runtime and mode has a process of its own that is stopped while others run; mts bench and the peers take turns
several times, and the times of all turns count. Memory of a peer is VmHWM minus what the process had before it loaded
a model; that of mts is its own accounting of device memory.

Runtimes that are not installed are left out: pip install onnxruntime openvino ncnn pnnx MNN (pnnx only converts, and
does not need its dependencies: pip install --no-deps pnnx). LiteRT reads .tflite files only: peers_scenario.py measures it.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import numpy

import peer

TOLERANCE = 1e-3  # of the largest output: other runtimes sum in another order, some use Winograd's algorithm
LEAST = 1e-3  # a largest output below counts as this: the sigmoid of ONNX Runtime is wrong by 1e-7 where it is small
MODULES = {"onnxruntime": "onnxruntime", "openvino": "openvino", "ncnn": "ncnn", "mnn": "MNN",
           "litert": "ai_edge_litert"}


def note(text):
    print(text, file=sys.stderr, flush=True)


def run(command, **more):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if result.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {result.stderr.strip()[-800:]}")
    return result.stdout


def tool(name):
    """A program of this interpreter's environment, or of the path; None if there is none."""
    beside = pathlib.Path(sys.executable).parent / name
    return str(beside) if beside.exists() else shutil.which(name)


def pnnx_program():
    """The converter itself: its Python wrapper wants PyTorch, the program does not."""
    found = importlib.util.find_spec("pnnx")
    if not found:
        return None
    inside = pathlib.Path(found.submodule_search_locations[0]) / "pnnx"
    return str(inside) if inside.exists() else None


def missing(name):
    """Why a peer cannot be measured, or None."""
    if not importlib.util.find_spec(MODULES[name]):
        return f"pip install {MODULES[name].replace('_', '-')}"
    if name == "ncnn" and not pnnx_program():
        return "pip install --no-deps pnnx"
    if name == "mnn" and not tool("mnnconvert"):
        return "mnnconvert is not beside this Python"
    return None


def convert(models, folder, name):
    """Files of ONNX models for a runtime that has a format of its own."""
    for model in models:
        stem = re.sub(r"[^A-Za-z0-9]", "_", model["name"])
        if name == "mnn" and "mnn" not in model:
            model["mnn"] = str(folder / f"{stem}.mnn")
            run([tool("mnnconvert"), "-f", "ONNX", "--modelFile", model["onnx"], "--MNNModel", model["mnn"],
                 "--bizCode", "mts"])
        if name == "ncnn" and "ncnn_param" not in model:
            work = folder / f"ncnn_{stem}"
            work.mkdir(exist_ok=True)
            shutil.copy(model["onnx"], work / "model.onnx")
            shapes = ",".join(str(entry["shape"]).replace(" ", "") for entry in model["inputs"])
            run([pnnx_program(), "model.onnx", f"inputshape={shapes}", "fp16=0"], cwd=work)
            model["ncnn_param"] = str(work / "model.ncnn.param")
            model["ncnn_bin"] = str(work / "model.ncnn.bin")


class Models:
    """The first tasks of a bundle, exported and converted once, and data for them."""

    def __init__(self, arguments, folder, count):
        self.arguments = arguments
        self.folder = folder
        facts = json.loads(run([arguments.mts, "inspect", arguments.bundle, "--json"]))["tasks"]
        if count > len(facts):
            raise SystemExit(f"--tasks {count}: {arguments.bundle} has {len(facts)} tasks")
        self.models = []
        self.arrays = {}
        random = numpy.random.default_rng(1)
        for fact in facts[:count]:
            if any(entry["type"] != "float32" for entry in fact["inputs"]):
                raise SystemExit(f"task {fact['name']}: only float32 inputs are measured here")
            model = {"name": fact["name"], "inputs": fact["inputs"], "data": []}
            model["outputs"] = [entry["name"] for entry in fact["outputs"]]
            model["onnx"] = str(folder / f"{fact['name']}.onnx")
            run([arguments.mts, "export", arguments.bundle, "--task", fact["name"], "-o", model["onnx"]])
            for entry in fact["inputs"]:
                common = "common:" + "x".join(map(str, entry["shape"])) + ":" + entry["name"]
                key = common if arguments.frames == "common" else f"{fact['name']}:{entry['name']}"
                model["data"].append(key)
                if key not in self.arrays:
                    self.arrays[key] = random.uniform(-1, 1, entry["shape"]).astype(numpy.float32)
            self.models.append(model)
        self.inputs = str(folder / "inputs.npz")
        numpy.savez(self.inputs, **self.arrays)

    def expected(self, count):
        """Outputs of mts for the inputs that the peers get, one array per task."""
        answers = []
        for model in self.models[:count]:
            command = [self.arguments.mts, "run", self.arguments.bundle, "--tasks", model["name"],
                       "--save", str(self.folder / "saved")] + self.arguments.device
            for entry, key in zip(model["inputs"], model["data"]):
                path = self.folder / f"input-{len(answers)}-{entry['name'].replace('/', '_')}.npy"
                numpy.save(path, self.arrays[key])
                command += ["--raw", f"{model['name']}:{entry['name']}={path}"]
            run(command)
            values = [numpy.load(self.folder / "saved" / f"{model['name']}.{index}.npy").ravel()
                      for index in range(len(model["outputs"]))]
            answers.append(numpy.concatenate(values).astype(numpy.float32))
        return answers


class Peer:
    """A runtime in a mode, in a process that stands still between its turns."""

    def __init__(self, name, mode, models, count, folder):
        self.name, self.mode, self.count = name, mode, count
        self.outputs = str(folder / f"outputs-{name}.npz")
        request = {"models": models.models[:count], "cores": os.cpu_count(), "inputs": models.inputs,
                   "outputs": self.outputs}
        path = folder / f"request-{name}.json"
        path.write_text(json.dumps(request))
        self.process = subprocess.Popen([sys.executable, peer.__file__, name, mode, str(path)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.samples = []
        self.version = self.answer()["version"]

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            reason = self.process.stderr.read().strip()[-600:]
            raise RuntimeError(f"{self.name} ({self.mode}): {reason}")
        return json.loads(line)

    def differences(self, expected):
        """Of each model's outputs, relative to the largest."""
        found, answer = numpy.load(self.outputs), []
        for index, want in enumerate(expected):
            have = found[str(index)]
            if have.shape != want.shape or not numpy.isfinite(have).all():
                answer.append(float("inf"))
            else:
                answer.append(float(numpy.abs(have - want).max() / max(numpy.abs(want).max(), LEAST)))
        return answer

    def difference(self, expected):
        return max(self.differences(expected))

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def turn(self, warm, runs):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(f"{warm}\n{runs}\n")
        self.process.stdin.flush()
        self.answer()
        self.samples += self.answer()
        self.stop()

    def finish(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        answer = self.answer()
        self.process.wait()
        return answer["peak_bytes"]

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def latency(samples):
    """Nearest ranks, as mts bench has them."""
    ordered = sorted(samples)
    rank = lambda part: ordered[int(part * (len(ordered) - 1) + 0.5)]
    return {"median": rank(0.5), "p5": rank(0.05), "p95": rank(0.95)}


def start_peers(arguments, models, count, folder, names):
    peers = []
    expected = models.expected(count)
    for name in names:
        convert(models.models, folder, name)
        for mode in peer.RUNTIMES[name].modes:
            note(f"loading {name}, {mode}, {count} models")
            try:
                one = Peer(name, mode, models, count, folder)
            except RuntimeError as reason:
                note(f"left out: {reason}")
                continue
            one.stop()
            worst = one.difference(expected)
            if worst > TOLERANCE:
                note(f"left out: {name} ({mode}) differs by {worst:.3g} from mts")
                one.kill()
                continue
            one.worst = worst
            peers.append(one)
    return peers


def bench(arguments, count, warm, runs, probe):
    command = [arguments.mts, "bench", arguments.bundle, "--tasks", str(count), "--strategies", arguments.strategies,
               "--frames", arguments.frames, "--warmup", str(warm), "--runs", str(runs), "--samples", "--json"]
    return json.loads(run(command + arguments.device + ([] if probe else ["--no-probe"])))


def measure(arguments, models, count, folder, names, merged):
    peers = start_peers(arguments, models, count, folder, names)
    runs = arguments.runs
    found = []
    try:
        for turn in range(arguments.rounds):
            note(f"{count} tasks, turn {turn + 1} of {arguments.rounds}")
            answer = bench(arguments, count, arguments.warmup, runs, probe=not merged and turn == 0)
            if not merged:
                merged.update({**answer, "results": [], "peers": []})
            found = found or answer["results"]
            for kept, new in zip(found, answer["results"]):
                kept.setdefault("all", []).extend(new["samples_ms"])
            for one in peers:
                one.turn(arguments.warmup, runs)
        merged["load"] = [merged["load"][0], os.getloadavg()[0]]
        merged["runs"] = runs * arguments.rounds
        for kept in found:
            kept["latency_ms"] = latency(kept.pop("all"))
            kept.pop("samples_ms")
            kept["gflops"] = 2e-6 * kept["mul_adds"] / kept["latency_ms"]["median"]
            kept["share_of_peak"] = kept["gflops"] / merged["peak_gflops"] if merged["peak_gflops"] else None
            merged["results"].append(kept)
        for one in peers:
            merged["peers"].append({"name": one.name, "version": one.version, "mode": one.mode, "tasks": count,
                                    "latency_ms": latency(one.samples), "peak_bytes": one.finish(),
                                    "difference": one.worst})
    finally:
        for one in peers:
            one.kill()


def table(merged):
    print(f"\n{merged['device']}: multiply-add peak {merged['peak_gflops'] or 0:.1f} GFLOP/s, "
          f"copy {merged['copy_gbps'] or 0:.1f} GB/s, load {merged['load'][0]:.1f} to {merged['load'][1]:.1f}")
    base = {}
    for result in merged["results"]:
        base[result["tasks"]] = result  # the last strategy is the one to compare with
    print(f"{'tasks':>5}  {'what':<50} {'median':>9} {'p5':>8} {'p95':>8} {'peak MB':>8} {'x the time of':>14}")
    for count, against in base.items():
        rows = [(f"mts {r['strategy']}", r, r["bytes"]["peak"]) for r in merged["results"] if r["tasks"] == count]
        rows += [(f"{p['name']} {p['version']}, {p['mode']}", p, p["peak_bytes"]) for p in merged["peers"]
                 if p["tasks"] == count]
        for what, row, peak in rows:
            times = row["latency_ms"]
            ratio = times["median"] / against["latency_ms"]["median"]
            print(f"{count:>5}  {what:<50} {times['median']:>9.2f} {times['p5']:>8.2f} {times['p95']:>8.2f} "
                  f"{peak / 1e6:>8.1f} {ratio:>7.2f} {against['strategy']}")


def add_options(parser, names):
    """The options that measuring beside peers always has; `names`: the peers that are taken by default."""
    parser.add_argument("--mts", default="build/release/bin/mts", help="the program (default: %(default)s)")
    parser.add_argument("--strategies", default="sequential,compact", help="the last one is compared with")
    parser.add_argument("--peers", default=names, help="default: %(default)s")
    parser.add_argument("--device", help="of mts")
    parser.add_argument("--rounds", type=int, default=3, help="turns that each takes (default: %(default)s)")
    parser.add_argument("--warmup", type=int, default=10, help="runs of a turn that are not counted")
    parser.add_argument("--runs", type=int, default=60, help="measured runs over all turns (default: %(default)s)")
    parser.add_argument("-o", "--output", help="JSON file")


def take_options(arguments):
    """device becomes arguments of mts, and runs those of one turn."""
    arguments.device = ["--device", arguments.device] if arguments.device else []
    arguments.runs = -(-arguments.runs // arguments.rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("--tasks", default="32", help="numbers of tasks (default: %(default)s)")
    parser.add_argument("--frames", choices=["separate", "common"], default="separate")
    add_options(parser, "onnxruntime,openvino,ncnn,mnn")
    arguments = parser.parse_args()
    take_options(arguments)
    names = []
    for name in arguments.peers.split(","):
        if name not in MODULES:
            parser.error(f"no peer {name}; there are {', '.join(MODULES)}")
        reason = missing(name) if name != "litert" else "it reads .tflite files, and bundles are exported as ONNX"
        if reason:
            note(f"{name} is left out: {reason}")
        else:
            names.append(name)
    counts = [int(count) for count in arguments.tasks.split(",")]
    merged = {}
    with tempfile.TemporaryDirectory(prefix="mts-peers-") as folder:
        models = Models(arguments, pathlib.Path(folder), max(counts))
        for count in counts:
            measure(arguments, models, count, pathlib.Path(folder), names, merged)
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps(merged, indent=1) + "\n")
    table(merged)


if __name__ == "__main__":
    main()
