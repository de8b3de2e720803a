#!/usr/bin/env python3
"""Measures mts zip of two large networks: time, peak memory, bytes, changed answers.

usage: zip_large.py --mts build/release/bin/mts --data calib_5000.bin [--arch vgg16] [--images 96] [--share 0.9] [--noise 0.05]
                    [--input 224] [--folder DIR] [-o zip_large.json]

The first network has random weights (mts synth). The second is the first, every number of whose filters and matrices has
moved by normal noise of --noise times the deviation of its tensor. Images are the CIFAR records, enlarged by mts. A row of the
file holds what one network said. Needs the Python package onnx.
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
from onnx import numpy_helper


def perturb(source, target, noise):
    model = onnx.load(source)
    rng = numpy.random.default_rng(1)
    for tensor in model.graph.initializer:
        if len(tensor.dims) >= 2:
            old = numpy_helper.to_array(tensor)
            new = old + rng.normal(0.0, noise * old.std(), old.shape).astype(old.dtype)
            tensor.CopyFrom(numpy_helper.from_array(new.astype(old.dtype), tensor.name))
    onnx.save(model, target)


def run(words):
    """A command's standard output, wall and processor seconds."""
    print(" ".join(map(str, words)), file=sys.stderr, flush=True)
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    text = subprocess.run(list(map(str, words)), check=True, stdout=subprocess.PIPE).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return text, time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(arguments, folder):
    mts, arch = arguments.mts, arguments.arch
    first, second = folder / f"{arch}_a.onnx", folder / f"{arch}_b.onnx"
    both, zipped = folder / f"{arch}.mtsb", folder / f"{arch}_zipped.mtsb"
    if not both.exists():
        run([mts, "synth", "--arch", arch, "--tasks", 1, "--share", 0, "--classes", 1000, "--input", arguments.input, "-o", both])
        run([mts, "export", both, "--task", "t0", "-o", first])
        perturb(first, second, arguments.noise)
        taken = {"color": "rgb", "mean": [125.3, 123.0, 113.9], "std": [63.0, 62.1, 66.7]}
        tasks = [{"name": name, "model": path.name, "input": taken} for name, path in (("a", first), ("b", second))]
        config = folder / f"{arch}.json"
        config.write_text(json.dumps({"tasks": tasks}))
        both.unlink()
        run([mts, "compile", "--config", config, "-o", both])
    words = [mts, "zip", both, "--share", arguments.share, "--limit", arguments.images, "--calib", arguments.data, "-o", zipped, "--json"]
    text, wall, processor = run(words)
    said = json.loads(text)
    size = said.get("weights_bytes", os.path.getsize(zipped))
    said_words = ["mts" if w == mts else pathlib.Path(str(w)).name if str(w).startswith((str(folder), str(arguments.data))) else str(w)
                  for w in words]
    return dict(command=" ".join(said_words), images=arguments.images, seconds=round(wall, 1), processor_seconds=round(processor, 1),
                peak_bytes=1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, bytes_before=said.get("weights_bytes_unshared"),
                bytes_after=size, layers=said["zipped"], shared_weights=said["shared_weights"], change=said.get("change"),
                load=os.getloadavg()[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mts", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--arch", default="vgg16")
    parser.add_argument("--images", type=int, default=96)
    parser.add_argument("--input", type=int, default=224)
    parser.add_argument("--share", type=float, default=0.9)
    parser.add_argument("--noise", type=float, default=0.05)
    parser.add_argument("--folder")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        row = measure(arguments, pathlib.Path(arguments.folder or temporary))
    print(json.dumps(row))
    if arguments.output:
        path = pathlib.Path(arguments.output)
        held = json.loads(path.read_text()) if path.exists() else {}
        held[arguments.arch] = row
        path.write_text(json.dumps(held, indent=1) + "\n")


if __name__ == "__main__":
    main()
