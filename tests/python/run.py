#!/usr/bin/env python3
"""Runs one file of Python tests with the package of a build; 77 where pytest or what it needs is missing.

usage: run.py BUILD SOURCE FILE
"""
import importlib.util
import os
import sys


def main():
    build, source, file = sys.argv[1:]
    for module in ("pytest", "numpy", "_cffi_backend"):
        if not importlib.util.find_spec(module):
            print(f"no {module} in {sys.executable}: skipped")
            return 77
    if not os.path.exists(f"{build}/python/mts/__init__.py"):
        print(f"no Python package in {build}: skipped")
        return 77
    os.environ.update(PYTHONPATH=f"{build}/python", MTS_SOURCE_DIR=source, MTS_BINARY_DIR=build)
    os.execv(sys.executable, [sys.executable, "-X", "faulthandler", "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider",
                              file])


if __name__ == "__main__":
    sys.exit(main())
