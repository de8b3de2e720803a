#!/usr/bin/env python3
"""Candidates of mts.train at once against one after another, on CIFAR-10 records (docs/results/train.md).

usage: train.py BUNDLE RECORDS.bin [--base TASK] [--method M] [--candidates K] [--limit N]
Needs PYTHONPATH=BUILD/python and numpy.
"""
import argparse
import json
import os
import tempfile
import time

import numpy

import mts

FUR = [0, 0, 0, 1, 1, 1, 0, 1, 0, 0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bundle")
    parser.add_argument("records")
    parser.add_argument("--base", default="object")
    parser.add_argument("--method", default="head")
    parser.add_argument("--candidates", type=int, default=16)
    parser.add_argument("--limit", type=int, default=2000)
    args = parser.parse_args()
    records = numpy.fromfile(args.records, numpy.uint8).reshape(-1, 3073)[:args.limit]
    images = numpy.ascontiguousarray(records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    labels = [FUR[label] for label in records[:, 0]]

    def train(**options):
        told = []
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            mts.train(args.bundle, images, os.path.join(folder, "out.mtsb"), task="fur", labels=labels,
                      class_names=["no fur", "fur"], base=args.base, method=args.method, result=told.append, **options)
        return time.perf_counter() - start, told

    together, all_told = train(candidate_count=args.candidates)
    alone, equal = 0.0, True
    for one in all_told:
        seconds, told = train(candidates=[(one.rate, one.decay, one.seed)])
        alone += seconds
        equal = equal and (told[0].accuracy, told[0].loss) == (one.accuracy, one.loss)
    print(json.dumps({"candidates": args.candidates, "method": args.method, "together_s": round(together, 2),
                      "one_after_another_s": round(alone, 2), "speed_up": round(alone / together, 2),
                      "equal_accuracy_and_loss": equal, "best_held_out": max(t.accuracy for t in all_told)}))


if __name__ == "__main__":
    main()
