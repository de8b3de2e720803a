#!/usr/bin/env python3
"""Outputs of `mts run` beside those of ONNX Runtime, on every supported model of the shared data.

Every model runs alone and stitched with the models of its folder, under `compact` and `sequential`, and once more in
ONNX Runtime as `mts export` wrote it back. OpenCL gets the stitched ones, and models that fit no others, because its
driver compiles kernels for most of a minute for each bundle; and of those only the folders that tests/golden does not
compare on OpenCL, stitched in the same way. Exit status 77 (skipped) where ONNX Runtime or the data is missing.

Two outputs agree if no element differs by more than 1e-4 of the output's largest magnitude: that is what mts.h
promises. An element by itself has no such bound, since both executors round, in different orders, sums of hundreds of
products that may cancel. An output that is smaller than 1e-3 as a whole counts as 1e-3 (a difference of 1e-7, the
rounding of numbers around 1): ONNX Runtime's sigmoid is 0 where the true value is 1e-10. Models with float16 tensors between their operators are compared to 1e-2 (ONNX Runtime rounds
each of them to 11 bits, the SDK computes in float32) and their export, which is float32, to 1e-4.
"""
import argparse
import json
import os
import subprocess
import sys

import layout

SKIPPED = 77
TOLERANCE = 1e-4
TOLERANCE_HALF = 1e-2
SMALLEST = 1e-3
FOLDERS = ["models/face", "models/squeezenet11", "models/detect", "models/misc", "cifar/models"]
FOLDERS_ON_OPENCL = ["models/misc", "cifar/models"]  # tests/golden/test_vectors.c has the others there

try:
    import numpy
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error} (pip install onnxruntime)")
    sys.exit(SKIPPED)


class Failure(Exception):
    pass


def program(arguments):
    """Runs mts; its own sentence is the reason when it fails."""
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(arguments[1:3])}: {done.stderr.strip()}")
    return done.stdout


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class Model:
    """A model with an input that suits it and ONNX Runtime's answers."""

    def __init__(self, data, path, vectors):
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        peer = session(path)
        port = peer.get_inputs()[0]
        self.half = "float16" in port.type
        vector = next((v for v in vectors if os.path.join(data, v["model"]) == path), None)
        known = vector["input_shape"] if vector else [d if isinstance(d, int) and d > 0 else 1 for d in port.shape]
        self.shape = [int(d) for d in known]
        self.port = port.name
        self.input = self.make_input(data, vector, path).astype(numpy.float16 if self.half else numpy.float32)
        if "uint8" in port.type:
            self.input = self.input.astype(numpy.uint8)
        self.wanted = peer.run(None, {port.name: self.input})

    def make_input(self, data, vector, path):
        if vector:
            pixels = numpy.load(os.path.join(data, "ref", vector["u8"])).astype(numpy.float32)
            picture = (pixels - numpy.float32(vector["mean"])) * numpy.float32(vector["scale"])
            return (picture if vector["layout"] == "NHWC" else picture.transpose(2, 0, 1))[None]
        if "/cifar/" in path:
            record = numpy.fromfile(os.path.join(data, "cifar/test_5000.bin"), numpy.uint8, 3073)[1:]
            mean, std = [125.3, 123.0, 113.9], [63.0, 62.1, 66.7]
            return ((record.reshape(3, 32, 32).transpose(1, 2, 0) - mean) / std).transpose(2, 0, 1)[None]
        return numpy.random.default_rng(1).random(self.shape)


def compare(got, wanted, tolerance, what):
    if len(got) != len(wanted):
        raise Failure(f"{what}: {len(got)} outputs instead of {len(wanted)}")
    worst = 0.0
    for index, (a, b) in enumerate(zip(got, wanted)):
        a, b = a.astype(numpy.float64).ravel(), b.astype(numpy.float64).ravel()
        if a.shape != b.shape:
            raise Failure(f"{what}: output {index} has {a.size} elements instead of {b.size}")
        difference = float(numpy.abs(a - b).max()) / max(float(numpy.abs(b).max()), SMALLEST)
        if not difference <= tolerance:
            raise Failure(f"{what}: output {index} differs by {difference:.2g} of its largest magnitude")
        worst = max(worst, difference)
    return worst


def load_outputs(folder, model):
    return [numpy.load(os.path.join(folder, f"{model.name}.{i}.npy")) for i in range(len(model.wanted))]


def compile_bundle(arguments, models, bundle):
    command = [arguments.program, "compile", "-o", bundle]
    for model in models:
        shape = "x".join(str(d) for d in model.shape)
        command += ["--task", f"{model.name}={model.path}", "--shape", f"{model.name}:{model.port}={shape}"]
    program(command)


def second_device(arguments):
    """OpenCL's first device, beside the one that the library chooses (cpu, where there is no GPU)."""
    listed = json.loads(program([arguments.program, "devices", "--json"]))["devices"]
    return "opencl:0" if any(d["id"] == "opencl:0" for d in listed) else "auto"


def ways(arguments, on_second):
    """Strategies and their devices."""
    first = arguments.device or "auto"
    return [("sequential", first), ("compact", (arguments.device or arguments.second) if on_second else first)]


def run_bundle(arguments, models, bundle, strategy, device):
    folder = os.path.join(arguments.work, "out")
    os.makedirs(folder, exist_ok=True)
    command = [arguments.program, "run", bundle, "--strategy", strategy, "--device", device, "--save", folder, "--precision",
               "float32", *layout.words()]
    for model in models:
        raw = os.path.join(arguments.work, f"{model.name}.npy")
        numpy.save(raw, model.input)
        command += ["--raw", f"{model.name}:{model.port}={raw}"]
    program(command)
    worst = 0.0
    for model in models:
        tolerance = TOLERANCE_HALF if model.half else TOLERANCE
        difference = compare(load_outputs(folder, model), model.wanted, tolerance, f"{model.name}, {strategy} on {device}")
        worst = worst if model.half else max(worst, difference)
    return worst


def check_export(arguments, model, bundle):
    path = os.path.join(arguments.work, "exported.onnx")
    program([arguments.program, "export", bundle, "--task", model.name, "-o", path])
    peer = session(path)
    port = peer.get_inputs()[0]
    kind = numpy.float16 if "float16" in port.type else numpy.uint8 if "uint8" in port.type else numpy.float32
    got = peer.run(None, {port.name: model.input.astype(kind)})
    folder = os.path.join(arguments.work, "out")
    compare(got, load_outputs(folder, model), TOLERANCE if kind != numpy.float16 else TOLERANCE_HALF,
            f"{model.name}, exported")


def groups(models):
    """Models that can share a run: an input of the same name and shape is one input, so its value must be one too."""
    left = list(models)
    while left:
        values, group = {}, []
        for model in left:
            key = (model.port, tuple(model.shape), str(model.input.dtype))
            if key not in values or numpy.array_equal(values[key], model.input):
                values[key] = model.input
                group.append(model)
        left = [m for m in left if m not in group]
        yield group


def check_folder(arguments, folder, vectors, tally):
    paths = sorted(os.path.join(arguments.data, folder, f) for f in os.listdir(os.path.join(arguments.data, folder)))
    models = [Model(arguments.data, p, vectors) for p in paths if p.endswith(".onnx")]
    bundle = os.path.join(arguments.work, "net.mtsb")
    stitched = [g for g in groups(models) if len(g) > 1]
    joined = {m.name for g in stitched for m in g}
    for group in [[m] for m in models] + stitched:
        is_last_run = len(group) > 1 or group[0].name not in joined  # no other bundle runs the same models
        on_second = is_last_run and folder in FOLDERS_ON_OPENCL
        what = group[0].name if len(group) == 1 else f"{folder}, {len(group)} stitched"
        try:
            compile_bundle(arguments, group, bundle)
            worst = max(run_bundle(arguments, group, bundle, *way) for way in ways(arguments, on_second))
            for model in group:
                check_export(arguments, model, bundle)
            tally["passed"] += 1
            print(f"ok    {what}: {worst:.1e}", flush=True)
        except Failure as failure:
            tally["failed"] += 1
            print(f"FAIL  {what}: {failure}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--program", required=True, help="the mts program")
    parser.add_argument("--data", required=True, help="the shared data")
    parser.add_argument("--work", required=True, help="a folder for files")
    parser.add_argument("--device", help="a device of `mts devices` (default: auto, and OpenCL's)")
    arguments = parser.parse_args()
    if not os.path.exists(os.path.join(arguments.data, "ref/ref.json")):
        print(f"skipped: no models at {arguments.data}")
        return SKIPPED
    os.makedirs(arguments.work, exist_ok=True)
    arguments.second = second_device(arguments)
    with open(os.path.join(arguments.data, "ref/ref.json"), encoding="utf-8") as file:
        vectors = json.load(file)
    tally = {"passed": 0, "failed": 0}
    for folder in FOLDERS:
        check_folder(arguments, folder, vectors, tally)
    print(f"ONNX Runtime {onnxruntime.__version__}: {tally['passed']} bundles agree, {tally['failed']} do not")
    return 1 if tally["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
