#!/usr/bin/env python3
"""Where LiteRT's time goes in .tflite files, beside mts profile: processor time by kind of layer, one thread each.

    tests/perf/litert_layers.py build/mediapipe/mediapipe/modules/*/*.tflite --mts build/release/bin/mts

LiteRT tells no times of operators. So each file is cut behind every operator in turn, and the least time of the run up to
there, minus that of the run before, is that operator's; noise moves time between neighbours, not between runs. mts
runs with one thread of PoCL (POCL_MAX_PTHREAD_COUNT) in the strategy sequential. What follows an operator that LiteRT
does not know is left out of its time.
"""

import argparse
import collections
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "differential"))
import numpy
from ai_edge_litert.interpreter import Interpreter
from tflite_beside_litert import Cut, Flat

# Operators by number; what is missing here is "add, mul and other". XNNPACK pads inside of convolutions.
CONVOLUTIONS = "convolutions and fc"
KINDS = {**dict.fromkeys((3, 4, 9, 32, 34, 60, 67), CONVOLUTIONS), **dict.fromkeys((1, 17, 40), "pool"),
         **dict.fromkeys((23, 97), "resize"), **dict.fromkeys((2, 22, 39), "layout and concat"), 54: "activation",
         14: "activation"}
OURS = {"space to depth": CONVOLUTIONS, "depthwise": CONVOLUTIONS, "deconv": CONVOLUTIONS, "fc": CONVOLUTIONS,
        "pad": CONVOLUTIONS, "binary": "add, mul and other", "concat": "layout and concat",
        "copy to dense": "layout and concat", "input": "layout and concat", "transpose": "layout and concat",
        "unary": "activation"}


class Prefixes:
    """A file as the runs up to each of its operators."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        self.data = Cut(path).data if b"Convolution2DTransposeBias" in data else data
        flat = Flat(self.data)
        model = flat.follow(0)
        self.codes = flat.tables(model, 1)
        self.graph = flat.tables(model, 2)[0]
        self.operators = flat.tables(self.graph, 3)
        self.flat = flat

    def kind(self, index):
        code = self.codes[Cut.code_index(self.flat, self.operators[index])]
        old, new = self.flat.field(code, 0), self.flat.field(code, 3)
        number = max(self.flat.number(old, "<b") if old else 0, self.flat.number(new, "<i") if new else 0)
        return "dequantize" if number in (6, 124) else KINDS.get(number, "add, mul and other")

    def content(self, count):
        """The file with `count` operators, of which the last one's first output is the only output."""
        flat = Flat(self.data)
        first, _ = flat.vector(self.graph, 3)
        struct.pack_into("<I", flat.data, first - 4, count)
        outputs, _ = flat.vector(self.graph, 2)
        struct.pack_into("<Ii", flat.data, outputs - 4, 1, flat.ints(self.operators[count - 1], 2)[0])
        return bytes(flat.data)


def least_ms(content, runs):
    net = Interpreter(model_content=content, num_threads=1)
    net.allocate_tensors()
    for port in net.get_input_details():
        net.set_tensor(port["index"], numpy.random.default_rng(1).random(port["shape"], numpy.float32))
    net.invoke()
    times = []
    for _ in range(runs):
        start = time.process_time()
        net.invoke()
        times.append((time.process_time() - start) * 1e3)
    return min(times)


def litert_kinds(path, runs):
    prefixes, kinds, before = Prefixes(path), collections.Counter(), 0.0
    for count in range(1, len(prefixes.operators) + 1):
        kind = prefixes.kind(count - 1)
        if kind == "dequantize":  # of weights, done once
            continue
        now = least_ms(prefixes.content(count), runs)
        kinds[kind] += now - before
        before = now
    return kinds


def mts_kinds(path, mts, folder, runs):
    bundle = str(folder / "x.mtsb")
    subprocess.run([mts, "compile", "-o", bundle, "--task", f"x={path}"], check=True, stdout=subprocess.DEVNULL)
    answer = subprocess.run([mts, "profile", bundle, "--strategy", "sequential", "--runs", str(runs), "--json"], check=True,
                            stdout=subprocess.PIPE, env={**os.environ, "POCL_MAX_PTHREAD_COUNT": "1"})
    kinds = collections.Counter()
    for row in json.loads(answer.stdout)["kinds"]:
        kind = CONVOLUTIONS if row["kind"].startswith("conv ") else OURS.get(row["kind"], row["kind"])
        kinds[kind] += row["ms"]
    return kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--mts", default="build/release/bin/mts", help="the program (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=15, help="of which the least counts (default: %(default)s)")
    parser.add_argument("-o", "--output", help="JSON file")
    arguments = parser.parse_args()
    answer = {}
    with tempfile.TemporaryDirectory(prefix="mts-layers-") as folder:
        for path in arguments.files:
            name = pathlib.Path(path).stem
            ours = mts_kinds(path, arguments.mts, pathlib.Path(folder), arguments.runs)
            theirs = litert_kinds(path, arguments.runs)
            answer[name] = {"mts": dict(ours), "litert": dict(theirs)}
            print(f"\n{name:<32} {'mts ms':>8} {'LiteRT ms':>10}", flush=True)
            for kind in sorted(set(ours) | set(theirs), key=lambda kind: theirs[kind] - ours[kind]):
                print(f"  {kind:<30} {ours[kind]:>8.2f} {theirs[kind]:>10.2f}")
            print(f"  {'all':<30} {sum(ours.values()):>8.2f} {sum(theirs.values()):>10.2f}", flush=True)
    if arguments.output:
        pathlib.Path(arguments.output).write_text(json.dumps(answer, indent=1) + "\n")


if __name__ == "__main__":
    main()
