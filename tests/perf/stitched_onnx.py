#!/usr/bin/env python3
"""ONNX Runtime with all tasks of a bundle as one model (mts export --stitched) beside a model for each task: time of a run of
all tasks, the same with every task on the same frame, time to load, memory of the process, bytes on disk. Each way is a
process of its own; times are least and 5th percentile of --runs, ways in turns for --rounds.

    tests/perf/stitched_onnx.py x.mtsb --program build/release/bin/mts
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

# What runs, its threads (0: as --threads), and whether threads without work spin. Spinning threads of many sessions take
# the processors from each other.
WAYS = {"one by one": ("apart", 0, 1), "one by one, sleeping": ("apart", 0, 0), "one by one, 1 thread": ("apart", 1, 1),
        "stitched": ("separate", 0, 1), "stitched, one frame": ("common", 0, 1)}


def status_bytes(key):
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key + ":"))


def child(files, threads, spinning, runs):
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", str(spinning))
    before, begin = status_bytes("VmRSS"), time.perf_counter()
    sessions = [onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"]) for file in files]
    load = time.perf_counter() - begin
    random = numpy.random.default_rng(1)
    inputs = [{x.name: random.random(x.shape, numpy.float32) for x in s.get_inputs()} for s in sessions]
    times = []
    for index in range(runs + 3):
        begin = time.perf_counter()
        for s, given in zip(sessions, inputs):
            s.run(None, given)
        times += [time.perf_counter() - begin] if index >= 3 else []
    print(json.dumps({"ms": [1e3 * t for t in times], "load_ms": 1e3 * load, "bytes": status_bytes("VmRSS") - before}))


def main():
    if sys.argv[1:2] == ["--child"]:
        child(json.loads(sys.argv[2]), *map(int, sys.argv[3:6]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("--program", required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        def export(*words):
            subprocess.run([arguments.program, "export", arguments.bundle, *words], check=True, stdout=subprocess.DEVNULL)
        held = json.loads(subprocess.run([arguments.program, "inspect", arguments.bundle, "--json"], check=True,
                                         capture_output=True, text=True).stdout)
        files = {"apart": [f"{folder}/{task['name']}.onnx" for task in held["tasks"]],
                 "separate": [f"{folder}/separate.onnx"], "common": [f"{folder}/common.onnx"]}
        for task, file in zip(held["tasks"], files["apart"]):
            export("--task", task["name"], "-o", file)
        for frames in ("separate", "common"):
            export("--stitched", files[frames][0], "--frames", frames)
        results = {way: {"ms": [], "load_ms": [], "bytes": [], "disk": sum(pathlib.Path(f).stat().st_size for f in files[what])}
                   for way, (what, _, _) in WAYS.items()}
        for _ in range(arguments.rounds):
            for way, (what, threads, spinning) in WAYS.items():
                words = [threads or arguments.threads, spinning, arguments.runs]
                done = subprocess.run([sys.executable, __file__, "--child", json.dumps(files[what]), *map(str, words)],
                                      check=True, capture_output=True, text=True)
                got = json.loads(done.stdout)
                results[way]["ms"] += got["ms"]
                results[way]["load_ms"].append(got["load_ms"])
                results[way]["bytes"].append(got["bytes"])
    print(f"{'way':22} {'least ms':>9} {'p5 ms':>8} {'load ms':>8} {'memory MB':>10} {'disk MB':>8}")
    for way, r in results.items():
        r["ms"].sort()
        print(f"{way:22} {r['ms'][0]:9.2f} {r['ms'][len(r['ms']) // 20]:8.2f} {min(r['load_ms']):8.0f} "
              f"{min(r['bytes']) / 1e6:10.1f} {r['disk'] / 1e6:8.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"bundle": arguments.bundle, "threads": arguments.threads, "ways": results}))


if __name__ == "__main__":
    main()
