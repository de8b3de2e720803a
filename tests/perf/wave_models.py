#!/usr/bin/env python3
"""Writes ONNX files of networks that apps run several of, for bundles with waves (waves_paired.py):

    tests/perf/wave_models.py FOLDER
    mts compile --task mosaic=FOLDER/style_0.onnx --task candy=FOLDER/style_1.onnx ... -o style4.mtsb

style_0 to 3: the image transformation network of Johnson et al. 2016 with instance normalisation, as "fast neural
style" has it, for 160 x 160 pixels. spoof_0 to 3: four face anti-spoofing networks of the shape of MiniFASNet (V1 and V2, each with and
without squeeze-excite: mobile blocks pruned to different widths, PReLU, 80 x 80 pixels). Weights are random: launches and times do
not depend on them. The published weights are not needed, and are not part of this tree.
"""

import argparse
import pathlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Net:
    """Nodes of an ONNX graph while they are added; a value is (name, channels)."""

    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        self.nodes, self.constants = [], []

    def constant(self, array):
        name = f"w{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def weights(self, *shape):
        scale = numpy.sqrt(2.0 / max(1, numpy.prod(shape[1:])))
        return self.constant((self.random.standard_normal(shape) * scale).astype(numpy.float32))

    def add(self, operator, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def conv(self, value, channels, kernel, stride=1, group=1, pad=None):
        name, before = value
        pad = kernel // 2 if pad is None else pad
        bias = self.constant(self.random.standard_normal(channels).astype(numpy.float32) * 0.1)
        made = self.add("Conv", [name, self.weights(channels, before // group, kernel, kernel), bias],
                        kernel_shape=[kernel, kernel], strides=[stride, stride], group=group, pads=[pad] * 4)
        return made, channels

    def save(self, path, value, channels_in, size):
        graph = helper.make_graph(
            self.nodes, path.stem, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, channels_in, size, size])],
            [helper.make_tensor_value_info(value[0], TensorProto.FLOAT, None)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def style(path, seed, size=160):
    net = Net(seed)

    def padded(value, channels, kernel, stride=1):
        name, before = value
        edge = kernel // 2
        pads = net.constant(numpy.array([0, 0, edge, edge, 0, 0, edge, edge], numpy.int64))
        return net.conv((net.add("Pad", [name, pads], mode="reflect"), before), channels, kernel, stride, pad=0)

    def normalised(value, relu=True):
        name, channels = value
        scale = net.constant(net.random.uniform(0.5, 1.5, channels).astype(numpy.float32))
        shift = net.constant(net.random.standard_normal(channels).astype(numpy.float32) * 0.1)
        made = net.add("InstanceNormalization", [name, scale, shift])
        return (net.add("Relu", [made]) if relu else made), channels

    def enlarged(value):
        scales = net.constant(numpy.array([1, 1, 2, 2], numpy.float32))
        made = net.add("Resize", [value[0], "", scales], mode="nearest", coordinate_transformation_mode="asymmetric",
                       nearest_mode="floor")
        return made, value[1]

    value = normalised(padded(("x", 3), 32, 9))
    value = normalised(padded(value, 64, 3, 2))
    value = normalised(padded(value, 128, 3, 2))
    for _ in range(5):
        inner = normalised(padded(value, 128, 3))
        inner = normalised(padded(inner, 128, 3), relu=False)
        value = net.add("Add", [value[0], inner[0]]), 128
    value = normalised(padded(enlarged(value), 64, 3))
    value = normalised(padded(enlarged(value), 32, 3))
    net.save(path, padded(value, 3, 9), 3, size)


# Channels inside of each mobile block, and behind it: a stage is a strided block and residual ones.
V1 = [(103, 64, 2), (13, 64, 1), (26, 64, 1), (13, 64, 1), (52, 64, 1), (231, 128, 2), (154, 128, 1), (52, 128, 1),
      (26, 128, 1), (52, 128, 1), (26, 128, 1), (26, 128, 1), (308, 128, 2), (26, 128, 1), (26, 128, 1)]
V2 = [(103, 64, 2), (13, 64, 1), (13, 64, 1), (13, 64, 1), (13, 64, 1), (231, 128, 2), (231, 128, 1), (52, 128, 1),
      (26, 128, 1), (77, 128, 1), (26, 128, 1), (26, 128, 1), (308, 128, 2), (26, 128, 1), (26, 128, 1)]


def spoof(path, seed, blocks, excites, size=80):
    net = Net(seed)

    def bent(value):
        slope = net.constant(net.random.uniform(0.1, 0.3, (value[1], 1, 1)).astype(numpy.float32))
        return net.add("PRelu", [value[0], slope]), value[1]

    def excited(value):
        name, channels = value
        mean = net.add("GlobalAveragePool", [name])
        few = net.add("Relu", [net.conv((mean, channels), channels // 4, 1)[0]])
        gate = net.add("Sigmoid", [net.conv((few, channels // 4), channels, 1)[0]])
        return net.add("Mul", [name, gate]), channels

    value = bent(net.conv(("x", 3), 32, 3, 2))
    value = bent(net.conv(value, 32, 3, group=32))
    for index, (inside, channels, stride) in enumerate(blocks):
        inner = bent(net.conv(value, inside, 1))
        inner = bent(net.conv(inner, inside, 3, stride, inside))
        inner = net.conv(inner, channels, 1)
        residual = stride == 1 and channels == value[1]
        if residual and excites and index % 4 == 0:
            inner = excited(inner)
        value = (net.add("Add", [value[0], inner[0]]), channels) if residual else inner
    value = bent(net.conv(value, 512, 1))
    value = net.conv(value, 512, 5, group=512, pad=0)
    flat = net.add("Flatten", [value[0]])
    classes = net.add("Gemm", [flat, net.weights(512, 3)])
    net.save(path, (net.add("Softmax", [classes], axis=1), 3), 3, size)


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(4):
        style(folder / f"style_{index}.onnx", index)
        spoof(folder / f"spoof_{index}.onnx", 10 + index, V1 if index % 2 == 0 else V2, index >= 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    write(parser.parse_args().folder)


if __name__ == "__main__":
    main()
