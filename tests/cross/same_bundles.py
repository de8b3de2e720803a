#!/usr/bin/env python3
"""The program writes the same bytes on this machine and on another processor, under an emulator.

usage: same_bundles.py --program MTS --work FOLDER [--config FILE]... [--models PATH...] [--jobs N] -- OTHER...

OTHER is the command that stands for the program of the other processor: the emulator, its options, and the program. Each
case is one call of both with the same arguments, in folders of their own: a task list, a model (each file below the
PATHs alone), random networks, and what is made of these bundles: descriptions, ONNX files, two in one. Exit status,
messages and every byte that was written have to be the same, where a model is refused too.
"""
import argparse
import concurrent.futures
import filecmp
import hashlib
import os
import shutil
import subprocess
import sys

SECONDS = 600  # of one call, emulated
OUT = "out.mtsb"
# Convolutions, fully connected layers and attention, with channels that are shared and pruned.
SYNTHESES = [
    ["--arch", "resnet18", "--tasks", "3", "--prune", "0.5", "--share", "0.7", "--input", "64"],
    ["--arch", "vgg16", "--tasks", "2", "--prune", "0.9", "--share", "0.9", "--input", "32"],
    ["--arch", "mobilevit", "--tasks", "2", "--prune", "0", "--share", "0.5", "--input", "64"],
    ["--arch", "vit-tiny", "--tasks", "2", "--prune", "0", "--share", "0.5", "--input", "64"],
]


class Case:
    """A call of both programs; `before`: a case whose folder holds what this one reads."""

    def __init__(self, name, arguments, before=None):
        self.name, self.arguments, self.before = name, arguments, before


def models_below(paths):
    """Files of models, in the order of their names."""
    found = []
    for path in paths:
        if os.path.isfile(path):
            found.append(path)
        for folder, _, names in sorted(os.walk(path)):
            found += [os.path.join(folder, name) for name in sorted(names) if name.endswith((".onnx", ".tflite"))]
    return [os.path.abspath(path) for path in found]


def rounds_of(args):
    """Lists of cases; those of a list do not touch each other's files, and read those of the lists before."""
    first = [Case(f"synth {' '.join(options)}", ["synth", *options, "-o", OUT]) for options in SYNTHESES]
    for config in args.config:
        first.append(Case(f"compile {config}", ["compile", "--config", os.path.abspath(config), "-o", OUT]))
    first += [Case(f"compile {path}", ["compile", "--task", f"t={path}", "-o", OUT])
              for path in models_below(args.models)]
    described = [Case(f"inspect after '{case.name}'", ["inspect", OUT, "--json"], case) for case in first]
    exported = [Case(f"export after '{case.name}'", ["export", OUT, "--stitched", "out.onnx"], case) for case in first]
    other = os.path.join("..", os.path.basename(folder_of("", "", first[1])), OUT)
    appended = [Case("append", ["append", OUT, other, "-o", "both.mtsb"], first[0])]
    return first, described, exported, appended


def folder_of(work, side, case):
    return os.path.join(work, side, hashlib.sha256(case.name.encode()).hexdigest()[:16])


def call(command, case, work, side):
    """Status, and what was printed; files lie in the case's folder."""
    folder = folder_of(work, side, case.before or case)
    os.makedirs(folder, exist_ok=True)
    try:
        done = subprocess.run([*command, *case.arguments], cwd=folder, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None, b"", f"longer than {SECONDS} s".encode()
    return done.returncode, done.stdout, done.stderr


def written(folder):
    return {name: os.path.join(folder, name) for name in sorted(os.listdir(folder))}


def compare(args, case):
    """(sentence or None, whether a bundle was written)."""
    here = call([os.path.abspath(args.program)], case, args.work, "here")
    there = call(args.other, case, args.work, "there")
    if None in (here[0], there[0]):
        return "one of both does not end", False
    if here[0] not in (0, 1, 2):
        return f"the program ends with {here[0]}", False
    if here != there:
        return f"they say:\n    {here}\n    {there}", False
    files = [written(folder_of(args.work, side, case.before or case)) for side in ("here", "there")]
    if list(files[0]) != list(files[1]):
        return f"they write {list(files[0])} and {list(files[1])}", False
    for name, path in files[0].items():
        if not filecmp.cmp(path, files[1][name], shallow=False):
            return f"{name} differs: {path} and {files[1][name]}", False
    return None, here[0] == 0


def options_read():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--config", action="append", default=[])
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("other", nargs="+")
    args = parser.parse_args()
    args.work = os.path.abspath(args.work)
    args.other = [os.path.abspath(part) if os.path.exists(part) and not os.path.isdir(part) else part
                  for part in args.other]
    return args


def main():
    args = options_read()
    shutil.rmtree(args.work, ignore_errors=True)
    bad = made = count = 0
    for cases in rounds_of(args):
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for case, (why, bundle) in zip(cases, pool.map(lambda c: compare(args, c), cases)):
                count, made = count + 1, made + (bundle and not case.before)
                if why:
                    bad += 1
                    print(f"{case.name}: {why}")
    print(f"{count} calls of both programs: {made} bundles are the same to the bit, {bad} calls differ")
    return 0 if made and not bad else 1


if __name__ == "__main__":
    sys.exit(main())
