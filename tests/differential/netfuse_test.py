#!/usr/bin/env python3
"""The networks that NETFUSE merges, and others of the kind, in small: three tasks of each that share a part of their
weights, in all four strategies beside ONNX Runtime, which runs what `mts export` writes. XLNet comes as torch exports it,
with Einsums, too. Exit status 77 (skipped) where a package is missing.
"""
import argparse
import json
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True  # the source folder stays as it is
SKIPPED, TASKS = 77, 3
STRATEGIES = ("sequential", "netfuse", "dense", "compact")
NETFUSE = ("resnet50", "resnext50", "bert-small", "xlnet-base")
TOLERANCE = {"float32": 1e-4, "float16": 2e-2}  # of an output's largest magnitude, at least 1
# architecture: input, pruning (of BERT and XLNet 12 heads of some channels are left)
NETWORKS = {"resnet50": (32, 0.8), "resnext50": (32, 0.75), "bert-small": (32, 0.9), "xlnet-base": (32, 0.95),
            "vit-tiny": (64, 0.7), "mobilevit": (64, 0.7)}

try:
    import numpy
    import onnx  # noqa: F401 (transformer_models)
    import onnxruntime

    import random_inputs
except ImportError as error:
    print(f"skipped: {error} (toolchains/requirements.txt)")
    sys.exit(SKIPPED)


def mts(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"mts {words[0]}: {done.stderr.strip()}")
    return done.stdout


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def compare(program, bundle, models, work, name, half):
    """The number of runs whose outputs differ. half: float16 by every strategy, not by compact alone."""
    wanted, arguments, wrong = {}, [], 0
    for i, (task, model) in enumerate(models.items()):
        wanted[task], given = random_inputs.answers(session_of(model), task, work, i, "attention_mask", (0, 1000))
        arguments += given
    runs = [(s, "float32") for s in STRATEGIES] + [(s, "float16") for s in (STRATEGIES if half else ("compact",))]
    for strategy, precision in runs:
        mts(program, "run", bundle, "--device", "cpu", "--strategy", strategy, "--precision", precision, "--no-cache",
            "--save", work, *arguments)
        worst = 0.0
        for task, outputs in wanted.items():
            for i, output in enumerate(outputs):
                got = numpy.load(work / f"{task}.{i}.npy").reshape(output.shape)
                worst = max(worst, float(numpy.abs(got - output).max() / max(1.0, numpy.abs(output).max())))
        good = worst <= TOLERANCE[precision]
        wrong += not good
        print(f"{name}, {strategy}, {precision}: {worst:.2g}{'' if good else ', too much'}")
    return wrong


def exported_xlnets(options, write, bundle, batch):
    """XLNet as torch exports it, which has tokens before the batch: the number of runs that differ, and of wrong bundles."""
    models = {f"x{i}": options.work / f"x{i}.onnx" for i in range(2)}
    for i, model in enumerate(models.values()):
        write(str(model), "xlnet-tiny", seed=1 + i, rows=32, batch=batch)
    mts(options.program, "compile", *(f"--task={t}={m}" for t, m in models.items()), "-o", bundle)
    wrong = compare(options.program, bundle, models, options.work, f"xlnet as exported, batch {batch}", half=batch == 1)
    shown = mts(options.program, "inspect", bundle, "--dot")
    if "attention," not in shown or "softmax," in shown or "matmul," in shown:
        print(f"xlnet as exported, batch {batch}: its attention is not one launch")
        wrong += 1
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--perf", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    bundle, wrong = options.work / "tasks.mtsb", 0
    for arch, (size, prune) in NETWORKS.items():
        mts(options.program, "synth", "--arch", arch, "--tasks", TASKS, "--share", 0.75, "--prune", prune, "--input", size,
            "-o", bundle)
        models = {task["name"]: options.work / f"{task['name']}.onnx"
                  for task in json.loads(mts(options.program, "inspect", bundle, "--json"))["tasks"]}
        for task, model in models.items():
            mts(options.program, "export", bundle, "--task", task, "-o", model)
        wrong += compare(options.program, bundle, models, options.work, arch, arch in NETFUSE)
        plan = mts(options.program, "inspect", bundle, "--plan", "--device", "cpu", "--strategy", "dense", "--no-cache")
        if f"{TASKS} task(s) in 1 group(s)" not in plan:
            print(f"{arch}: the dense form does not run all tasks in one graph: {plan.splitlines()[0]}")
            wrong += 1
    sys.path.insert(0, str(options.perf))
    import transformer_models
    for batch in (1, 3):
        wrong += exported_xlnets(options, transformer_models.xlnet, bundle, batch)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
