"""The type hints hold together, and a program that uses them wrongly is told."""
import os
import subprocess
import sys

import pytest

PACKAGE = os.environ["MTS_BINARY_DIR"] + "/python"

RIGHT = """
import mts
import numpy as np

with mts.Runtime("cpu", threads=1) as runtime, mts.Bundle(runtime, "a.mtsb") as bundle:
    with mts.Session(bundle, strategy="compact", tasks=["age"], progress=True) as session:
        outputs = session.run(np.zeros((4, 4, 3), np.uint8))
        array: np.ndarray = outputs["age"][0]
        ticket: int = session.submit(mts.Frame(array, "nv12", region=mts.Region(x=1)))
        session.wait(ticket, timeout=1.5)
summary: mts.Summary = mts.compile({"age": mts.Task("a.onnx", color="rgb", mean=(1, 2, 3))}, "a.mtsb")
share: float = mts.zip("a.mtsb", [np.zeros((4, 4, 3), np.uint8)], "b.mtsb").shared_weights
"""
WRONG = """
import mts

mts.Runtime(7)
mts.Runtime(thread=1)
mts.Session(mts.Bundle(mts.Runtime(), "a"), strategy="fast")
mts.compile("a.json")
mts.prune("a", None, "b", criterion="size")
mts.Region(fit="cut")
"""


def mypy(tmp_path, *arguments):
    pytest.importorskip("mypy")
    return subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), *arguments],
                          capture_output=True, text=True, check=False, env={**os.environ, "MYPYPATH": PACKAGE})


def test_the_package_has_no_error_of_types(tmp_path):
    done = mypy(tmp_path, "--ignore-missing-imports", "--disallow-untyped-defs", "-p", "mts")
    assert done.returncode == 0, done.stdout + done.stderr


def test_programs_are_checked(tmp_path):
    for name, text in (("right", RIGHT), ("wrong", WRONG)):
        (tmp_path / f"{name}.py").write_text(text)
    done = mypy(tmp_path, "--ignore-missing-imports", str(tmp_path / "right.py"))
    assert done.returncode == 0, done.stdout
    done = mypy(tmp_path, "--ignore-missing-imports", str(tmp_path / "wrong.py"))
    lines = {line.split(":")[1] for line in done.stdout.splitlines() if "error:" in line}
    assert lines == {"4", "5", "6", "7", "8", "9"}, done.stdout
