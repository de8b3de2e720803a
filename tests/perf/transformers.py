#!/usr/bin/env python3
"""Measures transformers beside ONNX Runtime: processor time of a frame of several tasks, one thread each, in turns.

    tests/perf/transformers.py --mts build/release/bin/mts --folder build/transformers -o transformers.json

Models are those of transformer_models.py: tasks with weights of their own ("private"), and tasks with one backbone,
heads of their own and a common input ("common"); a BERT
with adapters of rank 8 beside the weights of q and v for each task ("lora"), the same with adapters merged into these
weights and found again by `mts zip --low-rank` ("merged"), and the same BERT without them, as many times on as many
inputs ("frozen"). A time of ours is the processor time of two processes of `mts bench`
that differ in the number of runs, so that start-up, compilation of the plan and comparisons cancel out; that of ONNX
Runtime is the processor time of a session for each task. Outputs of every strategy are compared with ONNX Runtime's
first (--outputs: nothing else).
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import time

import numpy
import onnxruntime

import transformer_models

TOLERANCE = 1e-4
CASES = {
    "bert-small private": lambda path, i: transformer_models.bert(path, "bert-small", seed=10 + i),
    "bert-small common": lambda path, i: transformer_models.bert(path, "bert-small", seed=3, own_seed=50 + i),
    "bert-small frozen": lambda path, i: transformer_models.bert(path, "bert-small", seed=3, own_seed=50, adapters=(8, (), False)),
    "bert-small lora": lambda path, i: transformer_models.bert(path, "bert-small", seed=3, own_seed=50 + i, adapters=(8, (0, 2), False)),
    "bert-small merged": lambda path, i: transformer_models.bert(path, "bert-small", seed=3, own_seed=50 + i, adapters=(8, (0, 2), True)),
    "vit-tiny private": lambda path, i: transformer_models.vit(path, "vit-tiny", seed=10 + i),
    "vit-tiny common": lambda path, i: transformer_models.vit(path, "vit-tiny", seed=3, own_seed=50 + i),
}


def make(case, folder, tasks, mts):
    stem = case.replace(" ", "-")
    models = [folder / f"{stem}-{i}.onnx" for i in range(tasks)]
    for i, model in enumerate(models):
        if not model.exists():
            CASES[case](str(model), i)
    bundle = folder / f"{stem}.mtsb"
    compiled = folder / f"{stem}-whole.mtsb" if "merged" in case else bundle
    command = [mts, "compile", "-o", compiled]
    for i, model in enumerate(models):
        command += ["--task", f"t{i}={model}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    if compiled != bundle:
        subprocess.run([mts, "zip", compiled, "--low-rank", "1e-5", "-o", bundle], check=True)
    return models, bundle


def sessions_of(models):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return [onnxruntime.InferenceSession(str(m), options, providers=["CPUExecutionProvider"]) for m in models]


def inputs_of(session, seed):
    random = numpy.random.default_rng(seed)
    made = {}
    for port in session.get_inputs():
        if port.name == "input_ids":
            made[port.name] = random.integers(0, 2000, port.shape)
        elif port.name == "attention_mask":
            made[port.name] = (numpy.arange(port.shape[1])[None] < port.shape[1] - 20).astype(numpy.int64)
        else:
            made[port.name] = random.standard_normal(port.shape).astype(numpy.float32)
    return made


def compare(models, bundle, folder, mts, strategy):
    """Largest difference of an output to ONNX Runtime's."""
    arguments, wanted = [], []
    for i, session in enumerate(sessions_of(models)):
        inputs = inputs_of(session, i)
        wanted.append(session.run(None, inputs)[0])
        for name, data in inputs.items():
            numpy.save(folder / f"in-{i}-{name}.npy", data)
            arguments += ["--raw", f"t{i}:{name}={folder}/in-{i}-{name}.npy"]
    saved = folder / "out"
    saved.mkdir(exist_ok=True)
    subprocess.run([mts, "run", bundle, *arguments, "--device", "cpu", "--strategy", strategy, "--save", saved],
                   check=True, stdout=subprocess.DEVNULL)
    return max(float(numpy.abs(numpy.load(saved / f"t{i}.0.npy").reshape(w.shape) - w).max())
               for i, w in enumerate(wanted))


def processor_time(command):
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{command} ended with {child.returncode}")
    return usage.ru_utime + usage.ru_stime


def ours(bundle, mts, runs, common):
    base = [mts, "bench", bundle, "--device", "cpu", "--threads", "1", "--strategies", "compact", "--no-probe",
            "--warmup", "1", "--frames", "common" if common else "separate", "--runs"]
    return (processor_time([*base, str(2 + runs)]) - processor_time([*base, "2"])) / runs


def theirs(sessions, inputs, runs):
    start = time.process_time()
    for _ in range(runs):
        for session, data in zip(sessions, inputs):
            session.run(None, data)
    return (time.process_time() - start) / runs


def measure(case, models, bundle, options):
    sessions = sessions_of(models)
    inputs = [inputs_of(s, 0 if "common" in case else i) for i, s in enumerate(sessions)]
    theirs(sessions, inputs, 1)
    turns = []
    for _ in range(options.turns):
        turns.append((ours(bundle, options.mts, options.runs, "common" in case),
                      theirs(sessions, inputs, options.runs)))
    ratios = [a / b for a, b in turns]
    return {"mts_ms": 1e3 * statistics.median(a for a, _ in turns),
            "onnxruntime_ms": 1e3 * statistics.median(b for _, b in turns),
            "ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mts", default="build/release/bin/mts")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/transformers"))
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--cases", default="", help="comma-separated parts of names: only these cases")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--outputs", action="store_true", help="compare outputs only")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    results, failed = {"onnxruntime": onnxruntime.__version__, "tasks": options.tasks, "load": os.getloadavg()[0]}, 0
    for case in [c for c in CASES if any(part in c for part in options.cases.split(","))]:
        models, bundle = make(case, options.folder, options.tasks, options.mts)
        row = {"difference": {}, "bundle_bytes": bundle.stat().st_size}
        for strategy in ("sequential", "netfuse", "dense", "compact"):
            row["difference"][strategy] = compare(models, bundle, options.folder, options.mts, strategy)
            failed += not row["difference"][strategy] <= TOLERANCE
        if not options.outputs:
            row.update(measure(case, models, bundle, options))
        results[case] = row
        print(case, json.dumps(row), flush=True)
        if options.output:
            options.output.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
