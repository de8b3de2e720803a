#!/usr/bin/env python3
"""Measures what zipping does to accuracy, bytes and latency, on the CIFAR tasks and the SqueezeNets.

    tests/perf/zip.py --mts build/release/bin/mts --data ../shared/data -o docs/results/zip.json [--only NAME,NAME]

Calibrates on calib_5000.bin, whose labels nothing reads; accuracy is that on test_5000.bin. Each row holds the commands,
what they said, and the accuracy of each task before and after. Rows that the file holds already stay where --only leaves
them out. Exported tasks are compiled again (is the same sharing found?) and, where Python has onnxruntime, run by it.
"""

import argparse
import array
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

LATE = "/blocks/blocks.6,/blocks/blocks.7"
# name: (what, task list, arguments of mts zip)
ROWS = {
    "finetuned-0.9": ("8 fine-tuned tasks, 0.9 of every layer", "finetuned.json", ["--share", "0.9"]),
    "finetuned-0.9-uxyz": ("the same in the form uxyz", "finetuned.json", ["--share", "0.9", "--form", "uxyz"]),
    "finetuned-1.0": ("8 fine-tuned tasks, the whole body", "finetuned.json", ["--share", "1"]),
    "finetuned-1.0-retrain": ("the same, re-trained", "finetuned.json", ["--share", "1", "--retrain", "420"]),
    "scratch-0.6": ("4 tasks of unlike origin, 0.6 of the last stage", "scratch.json",
                    ["--share", "0.6", "--layers", LATE]),
    "scratch-0.8": ("4 tasks of unlike origin, 0.8 of the last stage", "scratch.json",
                    ["--share", "0.8", "--layers", LATE]),
    "scratch-0.6-greedy": ("0.6 of the last stage, greedy matching", "scratch.json",
                           ["--share", "0.6", "--layers", LATE, "--assign", "greedy"]),
}


def run(words):
    """Runs a command and returns the JSON that it prints."""
    print(" ".join(words), file=sys.stderr, flush=True)
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


class Bench:
    """The places of one call, and commands as they are written down: without these places."""

    def __init__(self, arguments, folder):
        self.mts, self.data, self.folder = arguments.mts, arguments.data, pathlib.Path(folder)

    def said(self, words):
        text = " ".join(str(word) for word in words)
        return text.replace(self.mts, "mts").replace(str(self.folder) + "/", "").replace(str(self.data) + "/", "")

    def mts_run(self, *words):
        return run([self.mts, *[str(word) for word in words], "--json"])

    def cifar(self, name):
        return self.data / "cifar" / name

    def compiled(self, config):
        path = self.folder / (config.split(".")[0] + ".mtsb")
        if not path.exists():
            self.mts_run("compile", "--config", self.cifar(config), "-o", path)
        return path


def zipped(bench, name):
    """One row: a zipped bundle and its accuracy."""
    what, config, options = ROWS[name]
    before, after = bench.compiled(config), bench.folder / f"{name}.mtsb"
    words = ["zip", before, *options, "--calib", bench.cifar("calib_5000.bin"), "-o", after]
    report = bench.mts_run(*words)
    test = ["eval", before, after, "--data", bench.cifar("test_5000.bin")]
    accuracy = bench.mts_run(*test)
    return {"what": what, "zip": bench.said(["mts", *words]), "eval": bench.said(["mts", *test]),
            "mean_loss": round(accuracy["mean_loss"], 3), "worst_loss": round(accuracy["worst_loss"], 3),
            "worst_task": accuracy["worst_task"], "shared_weights": round(report["shared_weights"], 4),
            "bytes": report["weights_bytes"], "bytes_before": report["weights_bytes_unshared"],
            "bytes_part": round(report["weights_bytes"] / report["weights_bytes_unshared"], 4),
            "zip_seconds": round(report["zip_seconds"], 1), "retrain_seconds": round(report["retrain_seconds"], 1),
            "retrain_loss": [report["loss_first"], report["loss_last"]], "changed_answers": round(report["change"], 2),
            "tasks": {task["name"]: [task["accuracy"], task["accuracy_after"]] for task in accuracy["tasks"]},
            "layers": [[layer["layer"], layer["shared"], layer["channels"]] for layer in report["layers"]]}


def ort_accuracy(path, config, records):
    """Accuracy of an exported task by onnxruntime, or None where there is none."""
    try:
        import numpy
        import onnxruntime
    except ImportError:
        return None
    images = numpy.frombuffer(records, numpy.uint8).reshape(-1, 3073)
    preprocess = config["input"]
    mean = numpy.array(preprocess["mean"], numpy.float32).reshape(3, 1, 1)
    std = numpy.array(preprocess["std"], numpy.float32).reshape(3, 1, 1)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    right = 0
    for image in images:
        x = (image[1:].reshape(3, 32, 32).astype(numpy.float32) - mean) / std
        answer = session.run(None, {session.get_inputs()[0].name: x[None]})[0]
        right += int(answer.argmax()) == config["class_map"][image[0]]
    return round(100.0 * right / len(images), 2)


def exported(bench, row):
    """Exports every task of the zipped bundle, compiles the files again, runs them elsewhere."""
    config = json.loads(bench.cifar("finetuned.json").read_text())
    records = bench.cifar("test_5000.bin").read_bytes()
    words, answers = [], {}
    for task in config["tasks"]:
        path = bench.folder / f"{task['name']}.onnx"
        bench.mts_run("export", bench.folder / "finetuned-0.9.mtsb", "--task", task["name"], "-o", path)
        words += ["--task", f"{task['name']}={path}"]
        accuracy = ort_accuracy(path, task, records)
        if accuracy is not None:
            answers[task["name"]] = [row["tasks"][task["name"]][1], accuracy]
    again = bench.mts_run("compile", *words, "-o", bench.folder / "again.mtsb")
    return {"what": "finetuned-0.9, every task exported to ONNX and compiled again", "bytes": row["bytes"],
            "bytes_again": again["weights_bytes"], "accuracy_mts_onnxruntime": answers}


def latency(bench, bundle, strategy):
    words = ["bench", bundle, "--strategies", strategy, "--tasks", "8", "--frames", "common", "--runs", "100"]
    return bench.said(["mts", *words]), bench.mts_run(*words)["results"][0]


def table(bench, row):
    """The zipped bundle under compact against the eight originals under sequential, in turns."""
    before, after = bench.folder / "finetuned.mtsb", bench.folder / "finetuned-0.9.mtsb"
    runs = [(latency(bench, before, "sequential"), latency(bench, after, "compact"),
             latency(bench, before, "compact")) for _ in range(3)]
    columns = {}
    for i, name in enumerate(["originals, sequential", "zipped, compact", "originals, compact"]):
        results = [turn[i] for turn in runs]
        columns[name] = {"command": results[0][0], "latency_ms": statistics.median(r[1]["latency_ms"]["median"] for r in results),
                         "bytes": results[0][1]["bytes"], "launches": results[0][1]["launches"],
                         "accuracy": round(statistics.mean(pair[1 if i == 1 else 0] for pair in row["tasks"].values()), 3)}
    return {"what": "one frame, eight tasks", "columns": columns}


def numbers(path):
    """float32 values of a .npy file."""
    data = path.read_bytes()
    start = 10 + int.from_bytes(data[8:10], "little")
    values = array.array("f")
    values.frombytes(data[start:])
    return values


def answers(bench, bundle, task, image):
    place = bench.folder / "answers"
    bench.mts_run("run", bundle, "--image", image, "--tasks", task, "--save", place)
    return numbers(place / f"{task}.0.npy")


def differences(bench, before, after, task):
    """Largest difference of a task's probabilities on each photo, and whether the first answer is another."""
    found = {}
    for image in sorted((bench.data / "photos").iterdir()):
        old, new = answers(bench, before, task, image), answers(bench, after, task, image)
        found[image.name] = {"difference": round(max(abs(a - b) for a, b in zip(old, new)), 5),
                             "same_answer": old.index(max(old)) == new.index(max(new))}
    return found


SQUEEZENETS = {"imagenet": ("squeezenet11_imagenet_fp32_op11.onnx", [103.9, 116.8, 123.7], [1, 3, 224, 224]),
               "pcb": ("squeezenet11_pcb_aoi_op11.onnx", [0, 0, 0], [1, 3, 227, 227]),
               "eye": ("eye_state.onnx", [0, 0, 0], [1, 96, 96, 3])}


def squeezenets(bench):
    """ImageNet and PCB share a trunk but for rounding; eye_state is zipped onto ImageNet, which stays as it is."""
    tasks = [{"name": name, "model": str((bench.data / "models/squeezenet11" / file).resolve()),
              "input": {"color": "bgr", "mean": mean, "std": [1, 1, 1], "shape": shape}}
             for name, (file, mean, shape) in SQUEEZENETS.items()]
    config = bench.folder / "squeezenets.json"
    config.write_text(json.dumps({"tasks": tasks}))
    plain, merged, after = (bench.folder / f"squeezenets-{name}.mtsb" for name in ("plain", "merged", "zipped"))
    bench.mts_run("compile", "--config", config, "-o", plain)
    found = ["compile", "--config", config, "--tolerance", "1e-3", "-o", merged]
    summary = bench.mts_run(*found)
    words = ["zip", merged, "--tasks", "imagenet,eye", "--base", "imagenet", "--share", "0.9", "--calib",
             bench.cifar("calib_5000.bin"), "--limit", "400", "-o", after]
    report = bench.mts_run(*words)
    return {"what": "ImageNet, PCB and eye_state SqueezeNets", "compile": bench.said(["mts", *found]),
            "bytes": [summary["weights_bytes_unshared"], summary["weights_bytes"], report["weights_bytes"]],
            "pcb_on_photos": differences(bench, plain, merged, "pcb"),
            "zip": bench.said(["mts", *words]), "layers_zipped": report["zipped"],
            "shared_weights": round(report["shared_weights"], 4), "zip_seconds": round(report["zip_seconds"], 1),
            "imagenet_on_photos": differences(bench, merged, after, "imagenet"),
            "eye_on_photos": differences(bench, plain, after, "eye")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mts", required=True)
    parser.add_argument("--data", required=True, type=pathlib.Path, help="the folder that holds cifar, models and photos")
    parser.add_argument("-o", "--output", required=True, type=pathlib.Path)
    parser.add_argument("--only", help="names of rows, or of: exported, table, squeezenets")
    arguments = parser.parse_args()
    rows = json.loads(arguments.output.read_text()) if arguments.output.exists() else {}
    wanted = arguments.only.split(",") if arguments.only else [*ROWS, "exported", "table", "squeezenets"]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, folder)
        needed = {"exported", "table"} & set(wanted) and "finetuned-0.9" not in wanted
        for name in (["finetuned-0.9"] if needed else []) + wanted:
            if name in ROWS:
                rows[name] = zipped(bench, name)
            elif name == "squeezenets":
                rows[name] = squeezenets(bench)
            else:
                rows[name] = {"exported": exported, "table": table}[name](bench, rows["finetuned-0.9"])
            arguments.output.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
