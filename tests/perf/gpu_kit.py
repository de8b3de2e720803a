"""Programs that travel to a machine with a GPU and without the packages to build them: tests/perf/gpu prepare.

A kit is an archive of the program and the tests, stripped, with the shared libraries they need (all but the C
library's). Tests know the folders of their source and their build by name: unpacking puts links there if nothing else is.
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
ALWAYS = ["mts", "bench_kernels"]


def libraries_of(program):
    """{name: path} of what the loader finds."""
    said = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=True).stdout
    found = dict(re.findall(r"^\s*(\S+) => (/\S+)", said, re.MULTILINE))
    return {name: path for name, path in found.items() if not SYSTEM.match(name)}


def prepare(root, build, out, pattern):
    """Builds a release, unless a build folder is given, and writes the kit."""
    if build is None:
        build = root / "build/release"
        subprocess.run([str(root / "toolchains/host"), "build"], check=True)
    build = pathlib.Path(build).resolve()
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
        facts = {"source": str(root), "build": str(build), "programs": len(names)}
        (folder / "kit.json").write_text(json.dumps(facts))
        # xz with a window that reaches over several programs, which have the library in common; one level down from
        # the best, since the best takes minutes
        part = out.with_name(out.name + ".part")
        subprocess.run(["tar", "-C", temporary, "-I", "xz -T0 --lzma2=preset=3,dict=64MiB", "-cf", str(part), "kit"], check=True)
        part.replace(out)
    print(f"{out}: {len(names)} programs, {out.stat().st_size / 1e6:.1f} MB")
    return 0


def link(wanted, target):
    """Makes `wanted` lead to `target`; a sentence if it does not."""
    wanted = pathlib.Path(wanted)
    if wanted.exists():
        return "" if wanted.samefile(target) or wanted.is_dir() else f"{wanted} is something else"
    try:
        wanted.parent.mkdir(parents=True, exist_ok=True)
        wanted.symlink_to(target, target_is_directory=True)
        return ""
    except OSError as error:
        return f"{wanted}: {error.strerror}; some tests will not find their files"


def unpack(archive, folder, root):
    """Programs and libraries, and the facts of the kit."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    kit = folder / "kit"
    facts = json.loads((kit / "kit.json").read_text())
    work = folder / "build"
    work.mkdir()
    notes = [link(facts["source"], root), link(facts["build"], work)]
    return {"programs": kit / "bin", "libraries": kit / "lib", "facts": facts, "note": "; ".join(n for n in notes if n)}
