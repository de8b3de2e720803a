"""Programs that travel to a machine with a GPU and without the packages to build them: tests/perf/gpu prepare.

A kit is an archive of the program and the tests, stripped, with the shared libraries they need (all but the C
library's). Its tests are built with MTS_TESTS_MOVABLE: they look for their source in ./source and write to ./build, from
the folder that they are run in, which unpacking makes. No path of the machine that built it is
needed; texts of failures name its files.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

# Of the C library and the system: the target has its own.
SYSTEM = re.compile(r"^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|nss_.*|OpenCL|cuda|nvrtc.*))\.so")
ALWAYS = ["mts", "bench_kernels", "bench_processes"]


def libraries_of(program):
    """{name: path} of what the loader finds."""
    said = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"^\s*(\S+) => (/\S+)", said, re.MULTILINE))
    return {name: path for name, path in found.items() if not SYSTEM.match(name)}


def prepare(root, build, out, pattern):
    """Builds a release, unless a build folder is given, and writes the kit."""
    if build is None:
        build = root / "build/kit"
        subprocess.run([str(root / "toolchains/host"), "setup"], check=True)
        subprocess.run(["cmake", "--preset", "release", "-B", str(build), "-DMTS_TESTS_MOVABLE=ON"], check=True, cwd=root)
        subprocess.run(["cmake", "--build", str(build), "--parallel", str(os.cpu_count())], check=True)
    build = pathlib.Path(build).resolve()
    if "MTS_TESTS_MOVABLE:BOOL=ON" not in (build / "CMakeCache.txt").read_text():
        sys.exit(f"{build} was not configured with -DMTS_TESTS_MOVABLE=ON: its tests find their files only there")
    names = sorted(p.name for p in (build / "bin").iterdir() if p.name in ALWAYS or re.match(pattern, p.name))
    if "mts" not in names:
        sys.exit(f"{build}/bin has no mts")
    out = pathlib.Path("gpu-kit.tar.xz" if out == "gpu-out" else out).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "kit"
        (folder / "bin").mkdir(parents=True)
        (folder / "lib").mkdir()
        for name in names:
            subprocess.run(["strip", "-o", str(folder / "bin" / name), str(build / "bin" / name)], check=True)
            for library, path in libraries_of(build / "bin" / name).items():
                if not (folder / "lib" / library).exists():
                    shutil.copy(os.path.realpath(path), folder / "lib" / library)
        facts = {"programs": len(names)}
        (folder / "kit.json").write_text(json.dumps(facts))
        # xz with a window that reaches over several programs, which have the library in common; one level down from
        # the best, since the best takes minutes
        part = out.with_name(out.name + ".part")
        subprocess.run(["tar", "-C", temporary, "-I", "xz -T0 --lzma2=preset=3,dict=64MiB", "-cf", str(part), "kit"], check=True)
        part.replace(out)
    print(f"{out}: {len(names)} programs, {out.stat().st_size / 1e6:.1f} MB")
    return 0


def extract(archive, folder):
    """Regular files and folders of `kit/` only, whatever else an archive may hold."""
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            parts = pathlib.PurePosixPath(member.name).parts
            if parts[:1] != ("kit",) or ".." in parts or not (member.isreg() or member.isdir()):
                sys.exit(f"{archive}: '{member.name}' does not belong into a kit")
        # older versions of Python 3.8 to 3.11 have no filters; the check above is what matters then
        tar.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def unpack(archive, folder, root):
    """Programs, libraries, the folder to run tests in, and the facts of the kit."""
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / "work"
    (work / "build").mkdir(parents=True)
    extract(archive, folder)
    kit = folder / "kit"
    (work / "source").symlink_to(root, target_is_directory=True)
    return {"programs": kit / "bin", "libraries": kit / "lib", "folder": work, "facts": json.loads((kit / "kit.json").read_text())}
