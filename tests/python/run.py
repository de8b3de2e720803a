#!/usr/bin/env python3
"""Runs one file of Python tests with the package of a build; 77 where what they need is missing.

usage: run.py BUILD SOURCE FILE
"""
import faulthandler
import importlib.util
import os
import sys


class Count:
    """Of tests that ran: pytest counts a file whose tests were all skipped as a success."""

    passed = 0

    def pytest_runtest_logreport(self, report):
        self.passed += report.when == "call" and report.passed


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
    sys.path.insert(0, f"{build}/python")
    faulthandler.enable()
    import pytest
    count = Count()
    status = pytest.main(["-q", "-rs", "-p", "no:cacheprovider", file], plugins=[count])
    return 77 if status == 0 and count.passed == 0 else int(status)


if __name__ == "__main__":
    sys.exit(main())
