#!/usr/bin/env python3
"""Outputs of `mts run` beside those of LiteRT, on the TensorFlow Lite networks of MediaPipe.

Every network of the folder (modules/*/*.tflite of the mediapipe wheel) is compiled and run under `compact`, and some
under `sequential`, on random numbers from 0 to 1. OpenCL gets all of them stitched, in one run, because its driver
compiles kernels for minutes if each network has a run of its own. Exit status 77 (skipped) where LiteRT or the folder
is missing.

Two outputs agree if no element differs by more than 1e-3 of the output's largest magnitude. LiteRT does not know
MediaPipe's own operators. A network that ends in Convolution2DTransposeBias is cut before it for LiteRT, and NumPy
computes the rest. A network with another operator of MediaPipe must be refused with the operator's name.
"""
import argparse
import glob
import json
import os
import struct
import subprocess
import sys

import layout

SKIPPED = 77
TOLERANCE = 1e-3
REFUSED = {"face_landmark_with_attention": "Landmarks2TransformMatrix"}
BOTH_STRATEGIES = {"face_detection_short_range", "hand_recrop", "selfie_segmentation"}

try:
    import numpy
    from ai_edge_litert.interpreter import Interpreter
except ImportError as error:
    print(f"skipped: {error} (pip install ai-edge-litert)")
    sys.exit(SKIPPED)


class Failure(Exception):
    pass


class Flat:
    """The few steps through a FlatBuffers file that cutting a model needs."""

    def __init__(self, data):
        self.data = bytearray(data)

    def number(self, at, form="<I"):
        return struct.unpack_from(form, self.data, at)[0]

    def follow(self, at):
        return at + self.number(at)

    def field(self, table, index):
        vtable = table - self.number(table, "<i")
        if 4 + 2 * index >= self.number(vtable, "<H"):
            return None
        offset = self.number(vtable + 4 + 2 * index, "<H")
        return table + offset if offset else None

    def vector(self, table, index):
        """Position of the first element, and the count."""
        at = self.field(table, index)
        if at is None:
            return 0, 0
        start = self.follow(at)
        return start + 4, self.number(start)

    def tables(self, table, index):
        first, count = self.vector(table, index)
        return [self.follow(first + 4 * i) for i in range(count)]

    def ints(self, table, index):
        first, count = self.vector(table, index)
        return list(struct.unpack_from(f"<{count}i", self.data, first))

    def text(self, table, index):
        first, count = self.vector(table, index)
        return self.data[first : first + count].decode()


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def transpose_bias(x, weight, bias, options):
    """MediaPipe's transposed convolution where windows neither overlap nor leave gaps."""
    _, across, down = struct.unpack_from("<3i", options)
    out, rows, columns, _ = weight.shape
    if (rows, columns) != (down, across):
        raise Failure("a transposed convolution whose windows overlap has no reference here")
    batch, height, width, _ = x.shape
    y = numpy.einsum("nhwi,orci->nhrwco", x, weight)
    return y.reshape(batch, height * rows, width * columns, out) + bias


class Cut:
    """A model that ends in Convolution2DTransposeBias, without it and what follows."""

    def __init__(self, path):
        with open(path, "rb") as file:
            flat = Flat(file.read())
        model = flat.follow(0)
        codes = flat.tables(model, 1)
        graph = flat.tables(model, 2)[0]
        operators = flat.tables(graph, 3)
        names = [flat.text(codes[self.code_index(flat, o)], 1) for o in operators]
        at = names.index("Convolution2DTransposeBias")
        tail = operators[at]
        self.inputs = flat.ints(tail, 1)
        self.weight, self.bias = (self.constant(flat, model, graph, operators, i) for i in self.inputs[1:3])
        first, count = flat.vector(tail, 5)
        self.options = bytes(flat.data[first : first + count])
        later = operators[at + 1 :]
        codes_later = [flat.number(flat.field(codes[self.code_index(flat, o)], 0), "<b") for o in later]
        if codes_later not in ([], [14]):
            raise Failure(f"operators {codes_later} follow Convolution2DTransposeBias")
        self.sigmoid = bool(later)
        # LiteRT gets the same file with fewer operators and with what the cut operator reads as its output
        operator_list, _ = flat.vector(graph, 3)
        struct.pack_into("<I", flat.data, operator_list - 4, at)
        output_list, _ = flat.vector(graph, 2)
        struct.pack_into("<i", flat.data, output_list, self.inputs[0])
        self.data = bytes(flat.data)

    @staticmethod
    def code_index(flat, operator):
        at = flat.field(operator, 0)
        return flat.number(at) if at else 0

    @staticmethod
    def constant(flat, model, graph, operators, index):
        """Numbers of a constant, or of the constant that a DEQUANTIZE reads."""
        source = next((flat.ints(o, 1)[0] for o in operators if index in flat.ints(o, 2)), index)
        tensor = flat.tables(graph, 0)[source]
        buffer = flat.tables(model, 4)[flat.number(flat.field(tensor, 2))]
        kind = flat.field(tensor, 1)
        half = kind is not None and flat.number(kind, "<b") == 1
        first, count = flat.vector(buffer, 0)
        numbers = numpy.frombuffer(bytes(flat.data[first : first + count]), "<f2" if half else "<f4")
        return numbers.astype(numpy.float32).reshape(flat.ints(tensor, 0))

    def finish(self, x):
        y = transpose_bias(x, self.weight, self.bias, self.options)
        return sigmoid(y) if self.sigmoid else y


class Model:
    def __init__(self, path):
        self.path = path
        self.name = os.path.splitext(os.path.basename(path))[0]
        with open(path, "rb") as file:
            self.has_tail = b"Convolution2DTransposeBias" in file.read()

    def answer(self):
        """LiteRT's outputs on random numbers, which stay in self.inputs by name."""
        cut = Cut(self.path) if self.has_tail else None
        content = {"model_content": cut.data} if cut else {"model_path": self.path}
        peer = Interpreter(num_threads=1, **content)
        peer.allocate_tensors()
        self.inputs = {}
        for port in peer.get_input_details():
            self.inputs[port["name"]] = numpy.random.default_rng(1).random(port["shape"], numpy.float32)
            peer.set_tensor(port["index"], self.inputs[port["name"]])
        peer.invoke()
        outputs = [peer.get_tensor(port["index"]) for port in peer.get_output_details()]
        return [cut.finish(outputs[0])] if cut else outputs


def program(arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(arguments[1:3])}: {done.stderr.strip()}")
    return done.stdout


def compare(got, wanted, what):
    if got.shape != wanted.shape:
        raise Failure(f"{what}: shape {got.shape} instead of {wanted.shape}")
    got, wanted = got.astype(numpy.float64), wanted.astype(numpy.float64)
    difference = float(numpy.abs(got - wanted).max()) / max(float(numpy.abs(wanted).max()), 1e-6)
    if not difference <= TOLERANCE:
        raise Failure(f"{what} differs by {difference:.2g} of its largest magnitude")
    return difference


def count_transposes(arguments, model, bundle):
    """Nodes of the graph, as ONNX has them: field 4 of a node is the operator's name."""
    exported = os.path.join(arguments.work, "exported.onnx")
    program([arguments.program, "export", bundle, "--task", model.name, "-o", exported])
    with open(exported, "rb") as file:
        return file.read().count(b"\x22\x09Transpose")


def has_opencl(arguments):
    return any(d["id"] == "opencl:0" for d in json.loads(program([arguments.program, "devices", "--json"]))["devices"])


def ways(model):
    """Strategies; the device is the one that the library chooses: its own kernels (cpu) where there is no GPU."""
    yield "compact", "auto"
    if model.name in BOTH_STRATEGIES:
        yield "sequential", "auto"


def compile_command(arguments, models, bundle):
    command = [arguments.program, "compile", "-o", bundle]
    for model in models:
        command += ["--task", f"{model.name}={model.path}"]
    return command


def compare_run(arguments, models, bundle, strategy, device):
    """Runs a bundle on the models' inputs. Inputs of one shape hold equal numbers, so that stitched tasks agree."""
    run = [arguments.program, "run", bundle, "--strategy", strategy, "--device", device, "--save", arguments.work,
           "--precision", "float32", *layout.words()]
    for model in models:
        for index, (name, numbers) in enumerate(model.inputs.items()):
            raw = os.path.join(arguments.work, f"{model.name}.input.{index}.npy")
            numpy.save(raw, numbers)
            run += ["--raw", f"{model.name}:{name}={raw}"]
    program(run)
    worst = 0.0
    for model in models:
        for index, output in enumerate(model.wanted):
            got = numpy.load(os.path.join(arguments.work, f"{model.name}.{index}.npy"))
            worst = max(worst, compare(got, output, f"{model.name}, {strategy} on {device}: output {index}"))
    return worst


def check_model(arguments, model):
    bundle = os.path.join(arguments.work, f"{model.name}.mtsb")
    command = compile_command(arguments, [model], bundle)
    if model.name in REFUSED:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0 or REFUSED[model.name] not in done.stderr:
            raise Failure(f"{model.name} is not refused with {REFUSED[model.name]}: {done.stderr.strip()}")
        return f"refused: {done.stderr.strip()}"
    program(command)
    model.wanted = model.answer()
    worst = max(compare_run(arguments, [model], bundle, *way) for way in ways(model))
    return f"at most {worst:.2g} of the largest output apart, {count_transposes(arguments, model, bundle)} transposes"


def check_stitched(arguments, models, device):
    bundle = os.path.join(arguments.work, "stitched.mtsb")
    program(compile_command(arguments, models, bundle))
    worst = compare_run(arguments, models, bundle, "compact", device)
    return f"at most {worst:.2g} of the largest output apart"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", required=True, help="the unpacked mediapipe wheel")
    parser.add_argument("--work", required=True)
    arguments = parser.parse_args()
    files = sorted(glob.glob(os.path.join(arguments.folder, "**/modules/*/*.tflite"), recursive=True))
    if not files:
        print(f"skipped: no modules/*/*.tflite under {arguments.folder} (toolchains/host setup)")
        return SKIPPED
    os.makedirs(arguments.work, exist_ok=True)
    models = [Model(path) for path in files]
    checks = [(model.name, lambda model=model: check_model(arguments, model)) for model in models]
    if has_opencl(arguments):
        accepted = [model for model in models if model.name not in REFUSED]
        checks.append((f"{len(accepted)} networks stitched on opencl:0",
                       lambda: check_stitched(arguments, accepted, "opencl:0")))
    failures = 0
    for what, check in checks:
        try:
            print(f"{what}: {check()}", flush=True)
        except Failure as failure:
            failures += 1
            print(f"FAILED {what}: {failure}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
