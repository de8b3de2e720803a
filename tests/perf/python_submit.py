#!/usr/bin/env python3
"""What a submission and an output cost from Python, beside the same calls from C, in turns on one session.

usage: PYTHONPATH=build/release/python python_submit.py BUNDLE [--device cpu] [--rounds 40] [--runs 50]
           [--side 224] [--library build/release/libbench_python_submit.so] [--most MICROSECONDS]

Prints medians over all runs, and over the rounds the median of (Python - C). `--most` fails above that,
unless Python itself is slow at that time: YARDSTICKS times what a plain array over known memory costs
after a run is always allowed.
"""
import argparse
import statistics
import sys
import time

import numpy

import mts
from mts._native import ffi as types


def c_side(library):
    import cffi
    ffi = cffi.FFI()
    ffi.cdef("int mts_bench_submits(void *, void *, const char *, uint32_t, double *, double *);")
    return ffi, ffi.dlopen(library)


YARDSTICKS = 8  # a submission of an array takes about 3.5 of them on an idle and on a loaded machine


class Known:
    """Memory that numpy can show, as an output is."""

    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__


def yardstick_round(submit_from_c, array, runs):
    """Microseconds of making an array over known memory, each after a run that has used the caches."""
    times, clock = [], time.perf_counter_ns
    for _ in range(runs):
        submit_from_c(1)
        start = clock()
        shown = numpy.asarray(Known(array))
        times.append((clock() - start) / 1e3)
        del shown
    return times


def python_round(session, frame, task, runs):
    submits, outputs, clock = [], [], time.perf_counter_ns
    for _ in range(runs):
        start = clock()
        ticket = session.submit(frame)
        submitted = clock()
        session.wait(ticket)
        finished = clock()
        session.output(task)
        read = clock()
        submits.append((submitted - start) / 1e3)
        outputs.append((read - finished) / 1e3)
    return submits, outputs


def c_round(ffi, library, session, frame, task, runs):
    submits, outputs = ffi.new("double[]", runs), ffi.new("double[]", runs)
    handle = ffi.cast("void *", int(types.cast("uintptr_t", session._node.use())))
    described = ffi.cast("void *", int(types.cast("uintptr_t", frame._frame)))
    if library.mts_bench_submits(handle, described, task.encode(), runs, submits, outputs):
        sys.exit("the C side failed")
    return list(submits), list(outputs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--library", default="build/release/libbench_python_submit.so")
    parser.add_argument("--most", type=float)
    arguments = parser.parse_args()
    ffi, library = c_side(arguments.library)
    array = numpy.random.default_rng(1).integers(0, 256, (arguments.side, arguments.side, 3), dtype=numpy.uint8)
    frame = mts.Frame(array)
    with mts.Runtime(arguments.device) as runtime, mts.Bundle(runtime, arguments.bundle) as bundle, \
            mts.Session(bundle, tasks=[bundle.tasks[0].name]) as session:
        task = bundle.tasks[0].name
        python_round(session, array, task, arguments.runs)
        sides, yardsticks = {"C": [], "Python, array": [], "Python, mts.Frame": []}, []

        def submit_from_c(runs):
            return c_round(ffi, library, session, frame, task, runs)
        for _ in range(arguments.rounds):
            sides["C"].append(submit_from_c(arguments.runs))
            yardsticks += yardstick_round(submit_from_c, array, arguments.runs)
            sides["Python, array"].append(python_round(session, array, task, arguments.runs))
            sides["Python, mts.Frame"].append(python_round(session, frame, task, arguments.runs))
    print(f"{arguments.rounds} rounds of {arguments.runs} frames of {arguments.side} x {arguments.side} on {arguments.device}")
    worst = 0.0
    for name, rounds in sides.items():
        line = [f"{name:18}"]
        for what, index in (("submit", 0), ("output", 1)):
            medians = [statistics.median(times[index]) for times in rounds]
            over = statistics.median(m - statistics.median(c[index]) for m, c in zip(medians, sides["C"]))
            worst = max(worst, over)
            line.append(f"{what} {statistics.median(medians):7.1f} us (+{over:.1f})")
        print("  ".join(line))
    yardstick = statistics.median(yardsticks)
    print(f"an array over known memory {yardstick:.1f} us")
    if arguments.most is not None and worst > max(arguments.most, YARDSTICKS * yardstick):
        sys.exit(f"{worst:.1f} us more than C, {arguments.most} or {YARDSTICKS} arrays are allowed")


main()
