#!/usr/bin/env python3
"""Trains a VGG16 for CIFAR-10 with PyTorch, a network wide enough for mts split without a trunk (docs/results/grow.md).

usage: wide_torch.py RECORDS.bin -o MODEL.onnx [--width 32] [--seconds PROCESSOR_SECONDS] [--test RECORDS.bin] [--seed N]

Optional: needs PyTorch and NumPy, which no test installs. Thirteen convolutions of 3 x 3 with batch normalisation, of --width to
eight times --width channels (64 is the published network), a mean, and one fully connected layer. SGD with momentum, one cycle of
the learning rate over the processor time that it may take, images mirrored and moved by up to 4 pixels. The model takes what the
models of the CIFAR tasks take: 1x3x32x32, normalised by their mean and deviation.
"""
import argparse
import json
import math
import time

import numpy
import torch

MEAN = torch.tensor([125.3, 123.0, 113.9]).view(1, 3, 1, 1)
STD = torch.tensor([63.0, 62.1, 66.7]).view(1, 3, 1, 1)
LAYERS = (1, 1, 0, 2, 2, 0, 4, 4, 4, 0, 8, 8, 8, 0, 8, 8, 8)  # channels in widths; 0: maximum of 2 x 2


def records(path):
    rows = numpy.fromfile(path, numpy.uint8).reshape(-1, 3073)
    images = torch.from_numpy(rows[:, 1:].reshape(-1, 3, 32, 32).astype(numpy.float32))
    return (images - MEAN) / STD, torch.from_numpy(rows[:, 0].astype(numpy.int64))


def network(width):
    parts, channels = [], 3
    for size in LAYERS:
        if size == 0:
            parts.append(torch.nn.MaxPool2d(2))
            continue
        parts += [torch.nn.Conv2d(channels, size * width, 3, padding=1, bias=False), torch.nn.BatchNorm2d(size * width),
                  torch.nn.ReLU(inplace=True)]
        channels = size * width
    return torch.nn.Sequential(*parts, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(channels, 10))


def moved(x):
    """Each image mirrored or not, and moved by up to 4 pixels; what comes in is black."""
    padded = torch.nn.functional.pad(x, (4, 4, 4, 4))
    out = torch.empty_like(x)
    for i, (top, left, mirror) in enumerate(zip(*torch.randint(0, 9, (2, len(x))).tolist(), torch.rand(len(x)).tolist())):
        part = padded[i, :, top:top + 32, left:left + 32]
        out[i] = part.flip(2) if mirror < 0.5 else part
    return out


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        right = sum(int((model(p).argmax(1) == q).sum()) for p, q in zip(x.split(250), y.split(250)))
    model.train()
    return 100.0 * right / len(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=1200.0)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--test")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    x, y = records(arguments.records)
    model = network(arguments.width).to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0, momentum=0.9, nesterov=True, weight_decay=5e-4)
    start, part, epoch = time.process_time(), 0.0, 0
    while part < 1.0:
        for rows in torch.randperm(len(x)).split(arguments.batch):
            part = (time.process_time() - start) / arguments.seconds
            if part >= 1.0 or len(rows) < 2:
                break
            warm = min(1.0, part / 0.15)
            for group in optimizer.param_groups:
                group["lr"] = arguments.rate * (warm if warm < 1.0 else 0.5 * (1 + math.cos(math.pi * (part - 0.15) / 0.85)))
            scores = model(moved(x[rows]).to(memory_format=torch.channels_last))
            loss = torch.nn.functional.cross_entropy(scores, y[rows], label_smoothing=0.05)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        epoch += 1
        print(json.dumps(dict(epoch=epoch, part=round(part, 3), loss=round(float(loss), 3))), flush=True)
    test = accuracy(model, *records(arguments.test)) if arguments.test else None
    model.eval()
    torch.onnx.export(model.to(memory_format=torch.contiguous_format), x[:1], arguments.output, input_names=["image"],
                      output_names=["scores"], opset_version=13, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
    print(json.dumps(dict(torch=torch.__version__, width=arguments.width, epochs=epoch, seconds=arguments.seconds,
                          training_accuracy=round(accuracy(model, x[:1000], y[:1000]), 2), test_accuracy=test)))


if __name__ == "__main__":
    main()
