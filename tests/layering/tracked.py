#!/usr/bin/env python3
"""Fails on a file that git tracks and that a person did not write.

The top folder has the entries of TOP and no others. Binary files (those with a NUL byte in their first 8,000 bytes) have
one of the endings of BINARY. No file is larger than 1 MB. Without git, or outside of a checkout, the test is skipped (77).

usage: tracked.py SOURCE
"""
import os
import subprocess
import sys

TOP = set(""".ci .clang-format .clang-tidy .gitignore CHANGELOG.md CMakeLists.txt CMakePresets.json LICENSE README.md apps
    bindings cmake docs kernels packaging platform sdk tests toolchains""".split())
BINARY = (".onnx",)
LARGEST = 1 << 20
FEWEST_FILES = 1000  # fewer would mean that git listed something else


def paths_tracked(top):
    """None where git cannot say."""
    try:
        run = subprocess.run(["git", "-c", f"safe.directory={top}", "-C", top, "ls-files", "-z"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return [os.fsdecode(name) for name in run.stdout.split(b"\0") if name]


def faults_of(top, path):
    where = os.path.join(top, path)
    if path.split("/")[0] not in TOP:
        yield "is not an entry of the top folder that this test knows"
    if not os.path.isfile(where):  # deleted, and not yet committed
        return
    if os.path.getsize(where) > LARGEST:
        yield f"has more than {LARGEST} bytes"
    with open(where, "rb") as file:
        if b"\0" in file.read(8000) and not path.endswith(BINARY):
            yield "is a binary file"


def main():
    top = os.path.abspath(sys.argv[1])
    paths = paths_tracked(top)
    if paths is None:
        print("skipped: git does not know this folder")
        return 77
    faults = [f"{path} {fault}" for path in paths for fault in faults_of(top, path)]
    print("\n".join(faults + [f"{len(paths)} files, {len(faults)} faults"]))
    return 1 if faults or len(paths) < FEWEST_FILES else 0


if __name__ == "__main__":
    sys.exit(main())
