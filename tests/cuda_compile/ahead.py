#!/usr/bin/env python3
"""What `mts kernels` makes for boards is read by an assembler that is older than the compiler it came from.

    ahead.py --program MTS --work FOLDER

A board's driver takes PTX up to the version of its own CUDA. The assembler of CUDA 11.8 (PTX 7.8) stands for such a
driver here: it refuses what says to be newer, and what uses something newer than it says. Exit status 77: the compiler or
that assembler is missing (toolchains/host setup puts both into build/venv).
"""
import argparse
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

sys.dont_write_bytecode = True
from cuda_compile import SKIPPED, find_nvrtc  # noqa: E402

# Compute capability: the newest PTX that its oldest driver takes.
BOARDS = {62: "6.5", 72: "6.5", 87: "7.4", 90: "7.8"}
PRECISIONS = ["float32", "float16"]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def find_assembler():
    found = glob.glob(os.path.join(sysconfig.get_paths()["purelib"], "nvidia", "cuda_nvcc", "bin", "ptxas"))
    if not found:
        skip("there is no ptxas of CUDA 11.8")
    return found[0]


def offer_compiler(work, arch):
    """A library path on which the first NVRTC that is found is one that knows `arch`."""
    able = [(version, name) for version, name, archs in find_nvrtc() if arch in archs and "/" in name]
    if not able:
        skip(f"no NVRTC at hand knows sm_{arch}")
    folder = work / "nvrtc"
    folder.mkdir(exist_ok=True)
    (folder / "libnvrtc.so").unlink(missing_ok=True)
    (folder / "libnvrtc.so").symlink_to(able[-1][1])
    return f"{folder}:{os.path.dirname(able[-1][1])}"


def run(words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}:\n{done.stdout}{done.stderr}")


def text_of(file):
    """The PTX in a file of the cache."""
    data = file.read_bytes()
    start = data.index(b".version ")
    return data[start:data.index(b"\0", start)].decode()


def check(file, arch, assembler, work):
    text = text_of(file)
    version, target = re.match(r"\.version (\S+)\s+\.target (\S+)", text).groups()
    if target != f"sm_{arch}":
        sys.exit(f"{file}: for {target}, not sm_{arch}")
    if tuple(map(int, version.split("."))) > tuple(map(int, BOARDS[arch].split("."))):
        sys.exit(f"{file}: PTX {version}, a driver may take only {BOARDS[arch]}")
    (work / "kernel.ptx").write_text(text)
    run([assembler, f"-arch=sm_{arch}", "-O0", "-o", work / "kernel.cubin", work / "kernel.ptx"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True, help="the mts program")
    parser.add_argument("--work", required=True, help="a folder to work in")
    arguments = parser.parse_args()
    work = pathlib.Path(arguments.work)
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    assembler = find_assembler()
    run([arguments.program, "synth", "--arch", "resnet18", "--tasks", "3", "--prune", "0.9", "--input", "32", "-o", work / "net.mtsb"])
    count = 0
    for arch in BOARDS:
        environment = {**os.environ, "LD_LIBRARY_PATH": offer_compiler(work, arch)}
        folder = work / f"sm_{arch}"
        for precision in PRECISIONS:
            run([arguments.program, "kernels", work / "net.mtsb", "--arch", f"{arch // 10}.{arch % 10}", "-o", folder,
                 "--precision", precision], env=environment)
        for file in sorted(folder.glob("*.ptx")):
            check(file, arch, assembler, work)
            count += 1
    print(f"{count} programs for {len(BOARDS)} compute capabilities were read")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
