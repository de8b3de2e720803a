#!/usr/bin/env python3
"""Where time goes beside what bounds it: single layers and whole networks, one thread, from `mts profile --json`.

    tests/perf/roofline.py layers --page docs/results/roofline.md
    tests/perf/roofline.py networks --folder build/real/files --page docs/results/roofline.md

layers: depthwise 3x3 and 5x5 convolutions and 1x1 convolutions of many sizes, each between two convolutions of the
other kind, so that it reads and writes what a convolution in a network does; first layers, which read three colours with
a stride of two, before a 1x1 convolution, with the pass that splits the image into phases. networks: real files of
tests/differential/real_models.txt, and MobileNetV2, MobileNetV3 (large) and EfficientNet-Lite0 with the shapes of their
papers and random weights, which are written here. The bound of a launch is its multiply-adds at the peak or its bytes at
the rate of a copy, whichever takes longer; peak and rate are the most of all profiles of the run, so that a busy machine
does not lower them. A layer's time is the least of --turns profiles. A layer that stays in the caches may beat the copy.
Needs Python's onnx and numpy. --page writes between the markers of a page.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "differential"))
import real_models  # noqa: E402

# (channels, rows and columns of the output), wide and narrow.
MAPS = {"depthwise": [(16, 112), (32, 112), (64, 56), (128, 56), (128, 28), (256, 28), (256, 14), (512, 14), (512, 7)],
        "first": [(16, 112), (32, 112), (64, 56)], "conv 1x1": [(16, 112), (32, 112), (32, 56), (64, 56), (64, 28), (128, 28), (128, 14), (256, 14), (128, 7), (256, 7)]}
# (expansion, channels, blocks, stride, taps), and which networks have them.
MOBILENET_V2 = [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 32, 3, 2, 3), (6, 64, 4, 2, 3), (6, 96, 3, 1, 3), (6, 160, 3, 2, 3),
                (6, 320, 1, 1, 3)]
EFFICIENTNET_LITE0 = [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
                      (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)]
# (taps, inner channels, channels, squeeze and excite, function, stride)
MOBILENET_V3 = [(3, 16, 16, 0, "Relu", 1), (3, 64, 24, 0, "Relu", 2), (3, 72, 24, 0, "Relu", 1), (5, 72, 40, 1, "Relu", 2),
                (5, 120, 40, 1, "Relu", 1), (5, 120, 40, 1, "Relu", 1), (3, 240, 80, 0, "HardSwish", 2),
                (3, 200, 80, 0, "HardSwish", 1), (3, 184, 80, 0, "HardSwish", 1), (3, 184, 80, 0, "HardSwish", 1),
                (3, 480, 112, 1, "HardSwish", 1), (3, 672, 112, 1, "HardSwish", 1), (5, 672, 160, 1, "HardSwish", 2),
                (5, 960, 160, 1, "HardSwish", 1), (5, 960, 160, 1, "HardSwish", 1)]
# The names that are asked for, and the file that stands for each.
FILES = ["nudenet_320n", "slider_yolo_seg", "fastestdet", "yolox_nano", "ppocr4_det", "ppocr5_rec", "ppocr6_det_tiny",
         "ppocr6_rec_tiny", "centerface", "mp_hand_landmark_full", "mp_pose_detection", "mp_face_landmark"]
WHAT = {"nudenet_320n": "YOLOv8n at 320x320", "slider_yolo_seg": "YOLO with masks", "centerface": "in scrfd's place",
        "ppocr4_det": "PP-OCRv4, detection", "ppocr5_rec": "PP-OCRv5, recognition", "ppocr6_det_tiny": "PP-OCRv6, detection",
        "ppocr6_rec_tiny": "PP-OCRv6, recognition"}


class Net:
    """An ONNX model that is put together layer by layer; `at` is the last value, `channels` how many it has."""

    def __init__(self, channels, size):
        self.nodes, self.weights, self.at, self.channels = [], [], "x", channels
        self.shape = [1, channels, size, size]
        self.random = numpy.random.default_rng(1)

    def add(self, op, *others, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, [self.at, *others], [name], **attributes))
        self.at = name
        return name

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def conv(self, channels, taps=1, stride=1, group=1, function=None):
        shape = [channels, self.channels // group, taps, taps]
        weight = self.random.standard_normal(shape) / numpy.sqrt(numpy.prod(shape[1:]))
        self.add("Conv", self.constant(weight.astype(numpy.float32)), self.constant(numpy.zeros(channels, numpy.float32)),
                 kernel_shape=[taps] * 2, strides=[stride] * 2, pads=[taps // 2] * 4, group=group)
        self.channels = channels
        if function == "Relu6":
            self.add("Clip", self.constant(numpy.float32(0)), self.constant(numpy.float32(6)))
        elif function:
            self.add(function)

    def block(self, inner, channels, taps, stride, function, excite=False):
        """An inverted residual."""
        begin, before = self.at, self.channels
        if inner != before:
            self.conv(inner, function=function)
        self.conv(inner, taps, stride, inner, function)
        if excite:
            whole = self.at
            self.add("GlobalAveragePool")
            self.conv((inner // 4 + 7) // 8 * 8, function="Relu")
            self.conv(inner, function="HardSigmoid")
            self.add("Mul", whole)
        self.conv(channels)
        if stride == 1 and channels == before:
            self.add("Add", begin)

    def save(self, path):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(self.nodes, "net", [value("x", TensorProto.FLOAT, self.shape)],
                                  [value(self.at, TensorProto.FLOAT, None)], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)]), path)


def inverted(table, function, stem):
    net = Net(3, 224)
    net.conv(stem, 3, 2, function=function)
    for expansion, channels, blocks, stride, taps in table:
        for index in range(blocks):
            net.block(net.channels * expansion, channels, taps, stride if index == 0 else 1, function)
    net.conv(1280, function=function)
    net.add("GlobalAveragePool")
    net.conv(1000)
    return net


def mobilenet_v3():
    net = Net(3, 224)
    net.conv(16, 3, 2, function="HardSwish")
    for taps, inner, channels, excite, function, stride in MOBILENET_V3:
        net.block(inner, channels, taps, stride, function, excite)
    net.conv(960, function="HardSwish")
    net.add("GlobalAveragePool")
    net.conv(1280, function="HardSwish")
    net.conv(1000)
    return net


def layer(kind, channels, size, taps, stride):
    """One convolution between two of the other kind, as in a MobileNet, so that its operands lie as they do there.
    The operators at both ends keep all of them from reading the network's input and writing its output."""
    net = Net(channels, size * stride)
    net.add("Abs")
    for is_depthwise in [kind != "depthwise", kind == "depthwise", kind != "depthwise"]:
        whole = kind == "depthwise" and is_depthwise
        net.conv(channels, taps if whole else 3 if is_depthwise else 1, stride if whole else 1,
                 channels if is_depthwise else 1, "Relu")
    net.add("Sin")
    return net


def first_layer(channels, size, taps):
    """A network's first convolution, of an image of three colours, and one that reads it."""
    net = Net(3, size * 2)
    net.conv(channels, taps, 2, function="Relu")
    net.conv(channels, function="Relu")
    net.add("Sin")
    return net


class Profiler:
    def __init__(self, arguments):
        self.arguments, self.peak, self.rate = arguments, 0.0, 0.0

    def compiled(self, words, folder):
        bundle = str(pathlib.Path(folder) / "net.mtsb")
        subprocess.run([self.arguments.mts, "compile", "-o", bundle] + words, check=True, capture_output=True)
        return bundle

    def profile(self, bundle, runs):
        """Launches with their least times of --turns profiles."""
        best = None
        for _ in range(self.arguments.turns):
            command = [self.arguments.mts, "profile", bundle, "--device", self.arguments.device, "--threads", "1",
                       "--runs", str(runs), "--json", "--strategy", "sequential"]
            answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            self.peak, self.rate = max(self.peak, answer["peak_gflops"] / 2), max(self.rate, answer["copy_gbps"])
            if best is None:
                best = answer
            for old, new in zip(best["profile"], answer["profile"]):
                old["ms"] = min(old["ms"], new["ms"])
        return best

    def of_net(self, net, runs):
        with tempfile.TemporaryDirectory() as folder:
            path = str(pathlib.Path(folder) / "net.onnx")
            net.save(path)
            return self.profile(self.compiled(["--task", f"net={path}"], folder), runs)

    def bound(self, launch):
        """Milliseconds, and whether bytes are it."""
        products, copied = launch["mul_adds"] / self.peak / 1e6, launch["bytes"] / self.rate / 1e6
        return max(products, copied), copied > products


def layers(profiler):
    found = []
    for kind, taps, stride in [("depthwise", 3, 1), ("depthwise", 3, 2), ("depthwise", 5, 1), ("depthwise", 5, 2),
                               ("conv 1x1", 1, 1)]:
        for channels, size in MAPS[kind]:
            answer = profiler.of_net(layer(kind, channels, size, taps, stride), 50)
            launch = next(one for one in answer["profile"] if one["kind"].startswith(kind))
            found.append((kind, taps, stride, channels, size, launch))
    for taps in [3, 5, 7]:
        for channels, size in MAPS["first"]:
            answer = profiler.of_net(first_layer(channels, size, taps), 50)
            launch = next(one for one in answer["profile"] if one["kind"] == f"conv {taps}x{taps}")
            launch["ms"] += sum(one["ms"] for one in answer["profile"] if one["kind"] == "space to depth")
            found.append(("first", taps, 2, channels, size, launch))
    lines = ["| layer | channels, output | us | G multiply-adds a second | of the peak | bound by | of the bound |",
             "|---|---|---|---|---|---|---|"]
    for kind, taps, stride, channels, size, launch in found:
        bound, by_bytes = profiler.bound(launch)
        name = "1x1" if kind == "conv 1x1" else f"{kind} {taps}x{taps}, stride {stride}"
        name += ", in blocks" if launch["kind"].endswith("of blocks") else ""
        rate = launch["mul_adds"] / launch["ms"] / 1e6
        lines.append(f"| {name} | {channels}, {size}x{size} | {launch['ms'] * 1e3:.1f} | {rate:.0f} | "
                     f"{100 * rate / profiler.peak:.0f} % | {'bytes' if by_bytes else 'products'} | "
                     f"{100 * bound / launch['ms']:.0f} % |")
    return lines


def network_row(profiler, name, answer):
    times, bounds = {}, {}
    for launch in answer["profile"]:
        times[launch["kind"]] = times.get(launch["kind"], 0) + launch["ms"]
        bounds[launch["kind"]] = bounds.get(launch["kind"], 0) + profiler.bound(launch)[0]
    whole, bound = sum(times.values()), sum(bounds.values())
    moved = sum(launch["bytes"] for launch in answer["profile"])
    largest = sorted(times, key=times.get, reverse=True)[:4]
    shares = ", ".join(f"{kind} {100 * times[kind] / whole:.0f} ({100 * bounds[kind] / times[kind]:.0f})" for kind in largest)
    return (f"| {name} | {answer['mul_adds'] / 1e6:.0f} | {moved / 1e6:.1f} | {len(answer['profile'])} | {bound:.2f} | "
            f"{whole:.2f} | {100 * bound / whole:.0f} % | {shares} |")


def networks(profiler):
    made = {"MobileNetV2": inverted(MOBILENET_V2, "Relu6", 32), "MobileNetV3 large": mobilenet_v3(),
            "EfficientNet-Lite0": inverted(EFFICIENTNET_LITE0, "Relu6", 32)}
    only = profiler.arguments.only
    answers = [(f"{name}, 224x224", profiler.of_net(net, 20)) for name, net in made.items() if re.search(only, name)]
    for entry in real_models.read_list(str(pathlib.Path(real_models.HERE) / "real_models.txt")):
        path = pathlib.Path(real_models.path_of(entry, profiler.arguments.folder))
        if entry.name in FILES and re.search(only, entry.name) and path.exists():
            with tempfile.TemporaryDirectory() as folder:
                bundle = profiler.compiled(real_models.compile_words(entry, entry.name, str(path)), folder)
                name = f"{entry.name}, {WHAT[entry.name]}" if entry.name in WHAT else entry.name
                answers.append((name, profiler.profile(bundle, 20)))
    return ["| network | M multiply-adds | MB moved | launches | bound, ms | ms | of the bound | where the time goes |",
            "|---|---|---|---|---|---|---|---|"] + [network_row(profiler, *one) for one in answers]


def write_page(page, mode, text):
    begin, end = f"<!-- begin: tests/perf/roofline.py {mode} -->", f"<!-- end: {mode} -->"
    old = page.read_text()
    before, found, rest = old.partition(begin)
    _, closed, behind = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{page}: has no lines '{begin}' and '{end}' for the table to stand between")
    page.write_text(f"{before}{begin}\n\n{text}\n{end}{behind}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=["layers", "networks"])
    parser.add_argument("--mts", default="build/release/bin/mts", help="the program (default: %(default)s)")
    parser.add_argument("--device", default="cpu", help="(default: %(default)s)")
    parser.add_argument("--folder", default="build/real/files", help="of the files (default: %(default)s)")
    parser.add_argument("--turns", type=int, default=3, help="profiles of each, whose least times count (default: %(default)s)")
    parser.add_argument("--only", default="", help="networks whose names this expression finds (default: all)")
    parser.add_argument("--page", help="Markdown file for the table")
    arguments = parser.parse_args()
    profiler = Profiler(arguments)
    lines = {"layers": layers, "networks": networks}[arguments.mode](profiler)
    lines.append(f"\nPeak {profiler.peak:.0f} G multiply-adds a second, copy {profiler.rate:.0f} GB/s, one thread.")
    text = "\n".join(lines) + "\n"
    if arguments.page:
        write_page(pathlib.Path(arguments.page), arguments.mode, text)
    print(text)


if __name__ == "__main__":
    main()
