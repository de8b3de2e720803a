#!/usr/bin/env python3
"""All tasks of a bundle as one ONNX model (mts export --stitched): the checker accepts it, each weight is in the file once,
and in ONNX Runtime every task's outputs are those of its own export. Exit status 77 (skipped) where a package is missing.
"""
import argparse
import json
import pathlib
import subprocess
import sys

SKIPPED = 77
GRAPH_BYTES = 40_000  # of one task's nodes and names

try:
    import numpy
    import onnx
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error} (toolchains/requirements.txt)")
    sys.exit(SKIPPED)


def mts(program, *words):
    done = subprocess.run([program, *map(str, words), "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"mts {words[0]}: {done.stderr.strip()}")
    return json.loads(done.stdout) if done.stdout else {}


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def compare(program, bundle, work, frames):
    """The number of outputs that differ."""
    whole = work / "whole.onnx"
    mts(program, "export", bundle, "--stitched", whole, "--frames", frames)
    onnx.checker.check_model(onnx.load(whole), full_check=True)
    held = mts(program, "inspect", bundle)
    tasks = [task["name"] for task in held["tasks"]]
    if whole.stat().st_size > held["weights_bytes"] + GRAPH_BYTES * len(tasks):
        sys.exit(f"{bundle.name}: {whole.stat().st_size} bytes for {held['weights_bytes']} bytes of weights")
    run, random, wrong = session(whole), numpy.random.default_rng(1), 0
    given = {x.name: random.random(x.shape, numpy.float32) for x in run.get_inputs()}
    if frames == "common" and len(given) != 1:
        sys.exit(f"{bundle.name}: {len(given)} inputs, but all tasks see the same frame")
    got = dict(zip([y.name for y in run.get_outputs()], run.run(None, given)))
    for task in tasks:
        mts(program, "export", bundle, "--task", task, "-o", work / "one.onnx")
        alone = session(work / "one.onnx")
        inputs = {x.name: given.get(f"{task}/{x.name}", next(iter(given.values()))) for x in alone.get_inputs()}
        for y, wanted in zip(alone.get_outputs(), alone.run(None, inputs)):
            value = got.pop(f"{task}/{y.name}")
            good = value.shape == wanted.shape and numpy.allclose(value, wanted, rtol=1e-5, atol=1e-6)
            wrong += not good
    print(f"{bundle.name}, frames {frames}: {len(tasks)} tasks, {whole.stat().st_size} bytes, {wrong} outputs differ")
    return wrong + len(got)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--config", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    demo, synth = arguments.work / "demo.mtsb", arguments.work / "synth.mtsb"
    mts(arguments.program, "compile", "--config", arguments.config, "-o", demo)
    mts(arguments.program, "synth", "--arch", "resnet18", "--tasks", 4, "--prune", "0.9,0.7", "--share", 0.9, "--input", 64,
        "-o", synth)
    return 1 if sum(compare(arguments.program, bundle, arguments.work, frames)
                    for bundle in (demo, synth) for frames in ("separate", "common")) else 0


if __name__ == "__main__":
    sys.exit(main())
