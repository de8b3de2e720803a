#!/usr/bin/env python3
"""Tasks that were zipped or pruned, exported as plain ONNX: ONNX Runtime's accuracy on them is that of `mts eval`, and
compiling the zipped ones again finds the same sharing. Exit status 77 (skipped) where ONNX Runtime or the data is missing.
"""
import argparse
import json
import pathlib
import subprocess
import sys

SKIPPED = 77
IMAGES = 400
RECORD = 3073
METHODS = {"zip": ["--share", "0.75", "--tasks", "object,animal,legs"], "prune": ["--ratio", "0.3", "--tasks", "object,animal,legs"]}

try:
    import numpy
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error} (pip install onnxruntime)")
    sys.exit(SKIPPED)


def mts(arguments, *words):
    """The JSON that a command prints; its own sentence is the reason when it fails."""
    done = subprocess.run([arguments.program, *map(str, words), "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"mts {words[0]}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def peer_accuracy(path, task, records):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    mean, std = (numpy.array(task["input"][key], numpy.float32).reshape(3, 1, 1) for key in ("mean", "std"))
    name, right = session.get_inputs()[0].name, 0
    for record in records:
        x = (record[1:].reshape(3, 32, 32).astype(numpy.float32) - mean) / std
        right += int(session.run(None, {name: x[None]})[0].argmax()) == task["class_map"][record[0]]
    return 100.0 * right / len(records)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--config", required=True, type=pathlib.Path)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    calibration, test = (arguments.data / "cifar" / name for name in ("calib_5000.bin", "test_5000.bin"))
    if not calibration.exists() or not test.exists():
        print(f"skipped: no {test}")
        return SKIPPED
    arguments.work.mkdir(parents=True, exist_ok=True)
    few = arguments.work / "few.bin"
    few.write_bytes(test.read_bytes()[:IMAGES * RECORD])
    records = numpy.frombuffer(few.read_bytes(), numpy.uint8).reshape(-1, RECORD)
    tasks = {task["name"]: task for task in json.loads(arguments.config.read_text())["tasks"]}
    before = arguments.work / "before.mtsb"
    mts(arguments, "compile", "--config", arguments.config, "-o", before)
    wrong = 0
    for method, options in METHODS.items():
        after = arguments.work / f"{method}.mtsb"
        mts(arguments, method, before, *options, "--calib", calibration, "--limit", 300, "-o", after)
        own = {task["name"]: task["accuracy"] for task in mts(arguments, "eval", after, "--data", few)["tasks"]}
        words = []
        for name in tasks:
            path = arguments.work / f"{method}-{name}.onnx"
            mts(arguments, "export", after, "--task", name, "-o", path)
            words += ["--task", f"{name}={path}"]
            peer = peer_accuracy(path, tasks[name], records)
            good = abs(peer - own[name]) <= 100.0 / IMAGES + 1e-9  # one image may lie on the edge
            wrong += not good
            print(f"{method} {name}: mts {own[name]:.2f} %, ONNX Runtime {peer:.2f} %{'' if good else '  WRONG'}")
        stored = mts(arguments, "inspect", after)["weights_bytes"]
        again = mts(arguments, "compile", *words, "-o", arguments.work / "again.mtsb")["weights_bytes"]
        good = stored == again
        wrong += not good
        print(f"{method}: {stored} bytes, compiled again {again}{'' if good else '  WRONG'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
