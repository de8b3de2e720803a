"""`python -m mts` is the program; importing is quick and loads nothing that is not used."""
import os
import resource
import subprocess
import sys

import mts


def python(*arguments):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment)


def test_python_m_mts_is_the_program(bundle_path):
    done = python("-m", "mts", "--version")
    assert done.returncode == 0 and mts.__version__ in done.stdout
    done = python("-m", "mts", "inspect", bundle_path, "--json")
    assert done.returncode == 0 and '"weights_bytes"' in done.stdout
    done = python("-m", "mts", "inspect", bundle_path + ".none")
    assert done.returncode != 0 and "none" in done.stderr


def test_importing_loads_neither_numpy_nor_the_compiler_nor_libmtsz():
    done = python("-c", "import sys, mts; print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'PIL', 'tqdm') "
                        "or m in ('mts._mtsc', 'mts._mtsz')]); print(open('/proc/self/maps').read().count('libdnnl'))")
    assert done.stdout.split("\n")[:2] == ["[]", "0"], done.stderr


def test_importing_takes_less_than_50_ms():
    def seconds(code):  # of the processor: other programs on this machine do not count
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert python("-c", code).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    seconds("import mts")
    both = [(seconds("pass"), seconds("import mts")) for _ in range(10)]  # in turns
    empty, full = min(first for first, _ in both), min(second for _, second in both)
    print(f"python {empty * 1e3:.1f} ms, with mts {full * 1e3:.1f} ms")
    assert full - empty < 0.05


def test_names_that_do_not_exist_are_no_attributes():
    assert not hasattr(mts, "nothing") and "compile" in dir(mts) and os.path.isfile(mts.__file__)
    assert python("-c", "from mts import *; print(compile.__module__)").stdout == "mts.compiler\n"
