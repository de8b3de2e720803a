#!/usr/bin/env python3
"""How long the face cascade takes for a frame: the face tasks stitched, the same one by one (MTS_STRATEGY_SEQUENTIAL),
and ONNX Runtime with every model alone and a batch of one. The three take turns, so that a busy machine is one for all.

The cascade's times hold the preparation of frames and crops and all copies. ONNX Runtime's hold neither: its inputs
lie ready, only `run` is on the clock; it may use as many threads as there are processors. Arguments as those of
cascade_test.py, and --photo, --rounds, --runs.
"""
import argparse
import json
import os
import time

import numpy

import cascade_test
import onnxruntime


class AllThreads(cascade_test.Peer):
    """As a program would use it: no limit on threads."""

    def __init__(self, data):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        self.sessions = {
            name: onnxruntime.InferenceSession(os.path.join(data, "models/face", model + ".onnx"), options,
                                               providers=["CPUExecutionProvider"])
            for name, model in cascade_test.MODELS.items()}


def peer_times(peer, faces, runs):
    shapes = {"gender": (1, 3, 112, 112), "mask": (1, 3, 112, 112), "pose": (1, 3, 90, 90), "landmarks": (1, 1, 112, 112)}
    inputs = {name: numpy.random.default_rng(1).uniform(0, 255, shape).astype(numpy.float32)
              for name, shape in shapes.items()}
    picture = numpy.random.default_rng(1).uniform(-1, 1, (1, 3, 240, 320)).astype(numpy.float32)
    times = []
    for i in range(runs + 5):
        start = time.perf_counter()
        peer.sessions["detector"].run(None, {"input": picture})
        middle = time.perf_counter()
        for _ in range(faces):
            for name, value in inputs.items():
                session = peer.sessions[name]
                session.run(None, {session.get_inputs()[0].name: value})
        end = time.perf_counter()
        if i >= 5:
            times.append(((middle - start) * 1e3, (end - middle) * 1e3, (end - start) * 1e3))
    return numpy.array(times)


def cascade_times(arguments, path, strategy):
    bundles = [os.path.join(arguments.work, name + ".mtsb") for name in ("detector", "faces")]
    text = cascade_test.program(arguments.faces, *bundles, path, "--json", "--repeat", str(arguments.runs), "--strategy",
                                strategy, *arguments.device)
    result = json.loads(text)
    median = [result["latency_ms"][name]["median"] for name in ("detector", "tasks", "cascade")]
    least = [result["latency_ms"][name]["p5"] for name in ("detector", "tasks", "cascade")]
    return len(result["frames"][0]["faces"]), result["device"]["name"], median, least


def main():
    parser = argparse.ArgumentParser()
    for name in ("mts", "faces", "sample", "data", "work"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--photo", default="apollo11_crew.jpg")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--device", default=None)
    arguments = parser.parse_args()
    arguments.device = ["--device", arguments.device] if arguments.device else []
    cascade_test.compile_bundles(arguments)
    path = os.path.join(arguments.data, "photos", arguments.photo)
    peer = AllThreads(arguments.data)
    rows = {"compact": [], "sequential": [], "onnxruntime": []}
    for _ in range(arguments.rounds):
        for strategy in ("compact", "sequential"):
            faces, device, median, least = cascade_times(arguments, path, strategy)
            rows[strategy].append((median, least))
        times = peer_times(peer, faces, arguments.runs)
        rows["onnxruntime"].append((numpy.median(times, 0), numpy.percentile(times, 5, 0)))
    print(f"{arguments.photo}: {faces} faces, {device}, {arguments.rounds} rounds of {arguments.runs} runs; ms as median of "
          "the rounds' medians / least of their 5th percentiles; load "
          f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'':14}{'detector':>16}{'face tasks':>16}{'cascade':>16}")
    for name, values in rows.items():
        middle = numpy.median([v[0] for v in values], 0)
        least = numpy.min([v[1] for v in values], 0)
        print(f"{name:14}" + "".join(f"{m:8.2f} /{p:6.2f}" for m, p in zip(middle, least)))


if __name__ == "__main__":
    main()
