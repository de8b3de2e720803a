#!/usr/bin/env python3
"""Writes the networks of XRBench's VR and AR gaming as ONNX, with random weights, for tests/perf/scenarios.

    build/venv/bin/python tests/perf/xrbench.py -o build/xrbench

XRBench (Kwon et al., MLSys 2023) names, for each usage scenario, networks with frames a second, and publishes the shapes
of their convolutions. Sizes here are those; weights are random, so only time and memory mean something. What the
published lists do not say is that of the networks' own papers:

- FBNet-C's and MiDaS's k x k convolutions between two 1x1 are depthwise;
- RITNet's first convolution reads one channel, MiDaS has a stem from three;
- PlaneRCNN ends with its feature pyramid, depth and proposals: what runs on each region found depends on the picture.
"""

import argparse
import pathlib
import sys

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"skipped: {error} (pip install numpy onnx)")
    sys.exit(77)


class Net:
    """An ONNX graph under construction. Values are (name, channels, rows, columns)."""

    def __init__(self, name, channels, rows, columns):
        self.name, self.nodes, self.weights, self.outputs = name, [], [], []
        self.random = numpy.random.default_rng(sum(name.encode()))
        self.input = ("picture", channels, rows, columns)

    def node(self, kind, inputs, shape, **attributes):
        out = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [out], **attributes))
        return (out, *shape)

    def constant(self, values, kind=TensorProto.FLOAT):
        name = f"w{len(self.weights)}"
        self.weights.append(helper.make_tensor(name, kind, values.shape, values.tobytes(), raw=True))
        return name

    def conv(self, x, out, size=1, stride=1, relu=True, depthwise=False, gain=1.0):
        fan = size * size * (1 if depthwise else x[1])
        weight = self.random.normal(0, gain * (2 / fan) ** 0.5, (out, 1 if depthwise else x[1], size, size))
        inputs = [x[0], self.constant(weight.astype(numpy.float32)), self.constant(numpy.zeros(out, numpy.float32))]
        shape = (out, -(-x[2] // stride), -(-x[3] // stride))
        pad = size // 2
        y = self.node("Conv", inputs, shape, kernel_shape=[size] * 2, strides=[stride] * 2, pads=[pad] * 4,
                      group=out if depthwise else 1)
        return self.node("Relu", [y[0]], shape) if relu else y

    def dense(self, x, features, out, relu=True):
        weight = self.random.normal(0, (2 / features) ** 0.5, (out, features)).astype(numpy.float32)
        inputs = [x[0], self.constant(weight), self.constant(numpy.zeros(out, numpy.float32))]
        y = self.node("Gemm", inputs, (out,), transB=1)
        return self.node("Relu", [y[0]], (out,)) if relu else y

    def pool(self, x, size=2):
        """Halves, rounded up."""
        shape = (x[1], -(-x[2] // 2), -(-x[3] // 2))
        pad = {"pads": [1] * 4} if size == 3 else {"ceil_mode": 1}
        return self.node("MaxPool", [x[0]], shape, kernel_shape=[size] * 2, strides=[2, 2], **pad)

    def resize(self, x, rows, columns):
        sizes = self.constant(numpy.array([1, x[1], rows, columns], numpy.int64), TensorProto.INT64)
        return self.node("Resize", [x[0], "", "", sizes], (x[1], rows, columns), mode="nearest",
                         coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def add(self, x, y, relu=False):
        z = self.node("Add", [x[0], y[0]], x[1:])
        return self.node("Relu", [z[0]], x[1:]) if relu else z

    def concat(self, x, y):
        return self.node("Concat", [x[0], y[0]], (x[1] + y[1], *x[2:]), axis=1)

    def flatten(self, x):
        return self.node("Flatten", [x[0]], (numpy.prod(x[1:]),), axis=1)

    def mean(self, x):
        return self.node("GlobalAveragePool", [x[0]], (x[1], 1, 1))

    def output(self, x):
        self.outputs.append(x)

    def write(self, folder):
        info = lambda value: helper.make_tensor_value_info(value[0], TensorProto.FLOAT, [1, *map(int, value[1:])])
        graph = helper.make_graph(self.nodes, self.name, [info(self.input)], [info(o) for o in self.outputs],
                                  self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, str(folder / f"{self.name}.onnx"))


def inverted(net, x, rows):
    """Inverted residual blocks: (expanded channels, kernel, stride, channels)."""
    features = []
    for expanded, size, stride, out in rows:
        y = net.conv(x, expanded) if expanded != x[1] else x
        y = net.conv(y, expanded, size, stride, depthwise=True)
        y = net.conv(y, out, relu=False, gain=0.5)
        x = net.add(x, y) if stride == 1 and out == x[1] else y
        features.append(x)
    return features


def eye_segmentation():
    """RITNet: 32 channels throughout, five levels down and four up."""
    net = Net("eye_segmentation", 1, 160, 100)
    x, levels = net.input, []
    for level in range(5):
        x = net.pool(x) if level else x
        for size in (3, 1, 3, 1, 3):
            x = net.conv(x, 32, size)
        levels.append(x)
    for skip in reversed(levels[:-1]):
        x = net.add(net.resize(x, *skip[2:]), skip)
        for size in (1, 3, 1, 3):
            x = net.conv(x, 32, size)
    net.output(net.conv(x, 32, relu=False))
    return net


def gaze_estimation():
    """FBNet-C."""
    net = Net("gaze_estimation", 3, 160, 100)
    rows = [(16, 3, 1, 16), (96, 3, 2, 24), (24, 3, 1, 24), (24, 3, 1, 24), (144, 5, 2, 32), (96, 5, 1, 32),
            (192, 5, 1, 32), (192, 3, 1, 32), (192, 5, 2, 64), (192, 5, 1, 64), (384, 5, 1, 64), (384, 5, 1, 64),
            (384, 5, 1, 112), (672, 5, 1, 112), (672, 5, 1, 112), (336, 5, 1, 112), (672, 5, 2, 184),
            (1104, 5, 1, 184), (1104, 5, 1, 184), (1104, 5, 1, 184), (1104, 3, 1, 352)]
    x = inverted(net, net.conv(net.input, 16, 3, 2), rows)[-1]
    x = net.flatten(net.mean(net.conv(x, 1984)))
    net.output(net.dense(x, 1984, 1000, relu=False))
    return net


def bottleneck(net, x, middle, out, stride=1):
    y = net.conv(net.conv(x, middle), middle, 3, stride)
    y = net.conv(y, out, relu=False, gain=0.3)
    skip = x if x[1] == out and stride == 1 else net.conv(x, out, 1, stride, relu=False)
    return net.add(y, skip, relu=True)


def repeat(net, x, count=2):
    for _ in range(count):
        x = bottleneck(net, x, 128, 256)
    return x


def hourglass(net, x, depth):
    up = repeat(net, x)
    low = repeat(net, net.pool(x))
    low = hourglass(net, low, depth - 1) if depth > 1 else repeat(net, low)
    return net.add(up, net.resize(repeat(net, low), *up[2:]))


def hand_tracking():
    """The hand graph network: two hourglasses, then features for 3D joints."""
    net = Net("hand_tracking", 3, 256, 256)
    x = bottleneck(net, net.pool(net.conv(net.input, 64, 7, 2)), 64, 128)
    x = bottleneck(net, bottleneck(net, net.pool(x), 64, 128), 128, 256)
    for _ in range(2):
        y = net.conv(repeat(net, hourglass(net, x, 4)), 256)
        heat = net.conv(y, 21, relu=False)
        net.output(heat)
        x = net.add(x, net.add(net.conv(y, 256, relu=False, gain=0.3), net.conv(heat, 256, relu=False, gain=0.3)))
    for _ in range(3):
        x = net.pool(repeat(net, x))
    x = net.dense(net.flatten(repeat(net, x)), 4096, 512)
    net.output(net.dense(x, 512, 5120, relu=False))
    net.output(net.dense(net.dense(x, 512, 512), 512, 20, relu=False))
    return net


def refine(net, x, lateral, out):
    """Two residual units, then twice the size."""
    unit = lambda v: net.add(v, net.conv(net.conv(v, v[1], 3), v[1], 3, relu=False, gain=0.3))
    x = unit(net.add(x, unit(lateral)) if x else lateral)
    return net.conv(net.resize(x, 2 * x[2], 2 * x[3]), out)


def depth_estimation():
    """MiDaS v2.1 small: the encoder of EfficientNet-Lite3 and four refining steps."""
    net = Net("depth_estimation", 3, 192, 256)
    x = net.conv(net.conv(net.input, 32, 3, 2), 32, 3, depthwise=True)
    rows = ([(144, 3, 2, 32)] + [(192, 3, 1, 32)] * 2 + [(192, 5, 2, 48)] + [(288, 5, 1, 48)] * 2 +
            [(288, 3, 2, 96)] + [(576, 3, 1, 96)] * 4 + [(576, 5, 1, 136)] + [(816, 5, 1, 136)] * 4 +
            [(816, 5, 2, 232)] + [(1392, 5, 1, 232)] * 5 + [(1392, 3, 1, 384)])
    features = inverted(net, net.conv(x, 24, relu=False), rows)
    laterals = [net.conv(features[at], out, 3) for at, out in ((2, 64), (5, 128), (15, 256), (len(rows) - 1, 512))]
    x = None
    for lateral, out in zip(reversed(laterals), (256, 128, 64, 64)):
        x = refine(net, x, lateral, out)
    x = net.conv(x, 32, 3)
    x = net.conv(net.resize(x, 2 * x[2], 2 * x[3]), 32, 3)
    net.output(net.conv(x, 1))
    return net


def plane_detection():
    """PlaneRCNN at a quarter of its size: ResNet101, a feature pyramid, proposals and a depth map."""
    net = Net("plane_detection", 3, 160, 160)
    x, levels = net.pool(net.conv(net.input, 64, 7, 2), 3), []
    for count, middle, stride in ((3, 64, 1), (4, 128, 2), (23, 256, 2), (3, 512, 2)):
        for index in range(count):
            x = bottleneck(net, x, middle, 4 * middle, stride if index == 0 else 1)
        levels.append(x)
    x, depth = None, None
    for level in reversed(levels):
        lateral = net.conv(level, 256, relu=False)
        x = net.add(lateral, net.resize(x, *lateral[2:])) if x else lateral
        pyramid = net.conv(x, 256, 3)
        proposals = net.conv(pyramid, 512, 3)
        net.output(net.conv(proposals, 6, relu=False))
        net.output(net.conv(proposals, 12, relu=False))
        part = net.conv(pyramid, 128, 3)
        depth = net.conv(net.concat(part, net.resize(depth, *part[2:])), 128, 3) if depth else part
    depth = net.conv(net.resize(depth, 80, 80), 64, 3)
    net.output(net.conv(depth, 1, 3, relu=False))
    return net


NETWORKS = [eye_segmentation, gaze_estimation, hand_tracking, depth_estimation, plane_detection]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", default="build/xrbench", help="folder (default: %(default)s)")
    parser.add_argument("--networks", help="only these, separated by commas")
    arguments = parser.parse_args()
    folder = pathlib.Path(arguments.output)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = arguments.networks.split(",") if arguments.networks else [make.__name__ for make in NETWORKS]
    for make in NETWORKS:
        if make.__name__ not in wanted:
            continue
        net = make()
        net.write(folder)
        print(f"{net.name}: {len(net.nodes)} nodes")


if __name__ == "__main__":
    main()
