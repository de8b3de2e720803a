#!/usr/bin/env python3
"""Compiles every kernel for NVIDIA's GPUs, without one, and reports what each takes.

    cuda_compile.py clang|nvrtc --programs PROGRAM --work FOLDER [--all]

PROGRAM (cuda_programs) writes the kernels' texts as the library holds them, and the options that real sessions build
them with. `clang` compiles them to PTX for an old Jetson, in a second opinion of another compiler; `nvrtc` compiles with
NVIDIA's runtime compiler, as the library does, to machine code of Nano and Orin. With --all (`toolchains/host cuda`, ten
minutes) both do so for every architecture that a compiler at hand knows. Fails where a kernel does not compile, spills
more than its row of TABLE allows, or cannot be launched with its work-group. The report goes to the output and, as JSON, to FOLDER/report.json. Exit status 77: the compiler is
missing.
"""
import argparse
import collections
import ctypes
import glob
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import time

SKIPPED = 77
ARCHS = {"clang": [62], "nvrtc": [53, 87]}
ALL_ARCHS = {"clang": [50, 53, 62], "nvrtc": [50, 53, 62, 72, 75, 87, 90, 110]}
GPU = "-DVEC=1 -DREGS=40"  # mts_launch_defines of a GPU
PACKS = "-DVEC=4 -DREGS=40"  # mts_launch_packed_defines
HALVES = ["", " -DHALF=1", " -DHALF=2"]
REGISTERS_OF_GROUP = {53: 32768, 62: 32768}  # all others: 65536
LOCAL_MOST = 48 << 10
# Compilers of old architectures: those of the JetPacks are nearer to the oldest at hand, else the newest.
OLD_COMPILER = {50, 52, 53, 62, 72, 87}
PRODUCTS_SINCE = 53  # compute capability that multiplies in float16
MATRICES_SINCE = 70  # and that has matrix units


class Row:
    """What is checked of a kernel: `options` besides those of sessions, in another precision for each architecture; at
    most `most` of the sessions' option sets for each architecture and precision (another selection for each, so that
    together they cover all); bytes that it may spill, stores and loads together. `once`: for the newest
    architecture alone, as it takes long and uses nothing that kernels besides it do not; NVRTC, which takes 20 s for
    one, compiles it in float32, and clang in every precision."""

    def __init__(self, options=("",), most=2, spill=0, once=False):
        self.options, self.most, self.spill, self.once = options, most, spill, once


# All kernels are checked with the options of Row(); these differ.
TABLE = {
    "conv_tile__f32_planar": Row(options=(" -DCASES=CASE(4,0)CASE(4,4)",), most=1),
    "conv_winograd__f32_planar": Row(options=(" -DSCRATCH=4096 -DCASES=CASE(4)CASE(2)CASE(1)",), most=2),
    # the assembler spills a few words of some shapes, rather than have fewer groups resident
    "conv_block__f32_planar": Row(spill=128),
    "conv_packed__f32_lanes": Row(options=("", " -DDEPTHWISE=1")),
    "softmax_packed__f32_lanes": Row(),
    "fc_block__f32_planar": Row(spill=128),
    "matmul_block__f32_planar": Row(options=("", " -DMATRIX=1")),
    "mixed_any__f32_planar": Row(options=(" -DMIXED=16383",), most=1, once=True),  # all but depthwise_rows (sdk/lower/mix.c)
    "fused_rows__f32_planar": Row(once=True),
    # with blocks of convolutions and fc_lanes (kernels/abi/persist.h)
    "persist_any__f32_planar": Row(
        options=(" -DITEMS=128 -DGROUP=128 -DMIXED=16383 -DPERSIST=786432",), most=1, spill=128, once=True),
}
CLANG_VECTORS = " -DVEC=4 -DREGS=16"  # kernels are written for any VEC; GPUs use 1

Job = collections.namedtuple("Job", "kernel arch options file")


def read_sessions(path):
    """{kernel: {arch: [options]}} of what sessions built, in the order of first use."""
    found = collections.defaultdict(lambda: collections.defaultdict(dict))
    for line in path.read_text().splitlines():
        arch, kernel, options = line.split("\t")
        found[kernel][int(arch)][options] = True
    return found


def half_of(options):
    match = re.search(r"-DHALF=(\d)", options)
    return int(match.group(1)) if match else 0


def session_options(found, kernel, arch, most, turn):
    """Those of the nearest architecture that sessions were made for: per precision the first, and others in turn."""
    archs = found.get(kernel)
    if not archs:
        return []
    options = list(archs[min(archs, key=lambda a: (abs(a - arch), a))])
    chosen = []
    for half in range(3):
        of_half = [o for o in options if half_of(o) == half]
        others = of_half[1:]
        start = turn * (most - 1) % len(others) if others else 0
        chosen += of_half[:1] + (others[start:] + others[:start])[:most - 1]
    return chosen


def products_half(text):
    """Whether a kernel does something else with HALF=2 than with HALF=1: it then says so after the prelude."""
    own = text[text.index("#ifndef MTS_KERNELS_ABI_KINDS_H"):]  # the part that follows the prelude
    return re.search(r"HALF\s*(==|>|>=)\s*[12]|mts_h2_|MATRIX", own) is not None


def kernels_of_processors():
    """Variants that no GPU takes (kernels/manifest.def)."""
    manifest = (pathlib.Path(__file__).parents[2] / "kernels/manifest.def").read_text()
    return set(re.findall(r"^KERNEL\(\w+, *(\w+),.*, *cpu(?:_bytes)?\)", manifest, re.MULTILINE))


def list_jobs(folder, compiler, known):
    found = read_sessions(folder / "sessions.tsv")
    for_processors = kernels_of_processors()
    jobs = {}
    for file in sorted(folder.glob("*.cu")):
        kernel, text = file.stem, file.read_text()
        row = TABLE.get(kernel, Row())
        for turn, arch in enumerate(known):
            if (kernel in for_processors or row.once) and arch != known[-1]:
                continue  # one architecture shows that the text is right in this dialect
            halves = HALVES if arch == known[-1] else [HALVES[turn % 2], HALVES[2]]
            if row.once and compiler == "nvrtc":
                halves = HALVES[:1]
            common = PACKS if "#if VEC != 4" in text else GPU
            options = [common + half + extra for half in halves for extra in row.options]
            if compiler == "clang" and "#if VEC != " not in text:  # which a kernel says that takes no other
                options += [CLANG_VECTORS + HALVES[turn] + row.options[0]]
            options += session_options(found, kernel, arch, row.most, turn)
            for one in options:
                matrices = "MATRIX=1" not in one or arch >= MATRICES_SINCE
                if matrices and (half_of(one) < 2 or (arch >= PRODUCTS_SINCE and products_half(text))):
                    jobs[Job(kernel, arch, one.strip(), str(file))] = True
    missing = set(TABLE) - {job.kernel for job in jobs}

    def order(job):  # long ones first, or one of them runs alone in the end
        return -TABLE.get(job.kernel, Row()).once, -len(job.options) * ("conv" in job.kernel), job.kernel
    return sorted(jobs, key=order), missing


# ---- NVRTC ----

compilers = []  # of a worker process: (version, library, architectures)


def find_toolkits():
    """The same of CUDA toolkits, which need not be on the loader's path."""
    homes = [os.environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")] + sorted(glob.glob("/usr/local/cuda*")) + ["/opt/cuda"]
    found = []
    for home in filter(None, homes):
        for folder in ("lib64", "lib", "targets/*/lib"):
            found += sorted(glob.glob(os.path.join(glob.escape(home), folder, "libnvrtc.so*")))
    return found


def find_nvrtc():
    """Files that may be an NVRTC: those of this Python's packages, of toolkits in the usual folders, then by the names that
    the library tries."""
    packages = sorted(glob.glob(os.path.join(sysconfig.get_paths()["purelib"], "nvidia", "*", "lib", "libnvrtc.so.*")))
    names = [f"libnvrtc.so{end}" for end in ("", ".13", ".12", ".11.2", ".11.0", ".10.2")]
    opened = {}
    for name in packages + find_toolkits() + names:
        try:
            library = ctypes.CDLL(name)
            major, minor, count = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
            if library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)) != 0:
                continue
            library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
            archs = (ctypes.c_int * count.value)()
            library.nvrtcGetSupportedArchs(archs)
            opened.setdefault((major.value, minor.value), (name, set(archs)))
        except (OSError, AttributeError):
            continue  # not there, or too old to say what it knows and to make machine code
    return [(version, name, archs) for version, (name, archs) in sorted(opened.items())]


def open_compilers(found):
    for version, name, archs in found:
        compilers.append((version, ctypes.CDLL(name), archs))


def compiler_of(arch):
    able = [c for c in compilers if arch in c[2]]
    return (able[0] if arch in OLD_COMPILER else able[-1]) if able else None


def text_of(library, program, size_of, get):
    size = ctypes.c_size_t()
    if getattr(library, size_of)(program, ctypes.byref(size)) != 0 or size.value == 0:
        return b""
    text = ctypes.create_string_buffer(size.value)
    getattr(library, get)(program, text)
    return text.raw


def compile_nvrtc(job):
    version, library, _ = compiler_of(job.arch)
    options = [f"-arch=sm_{job.arch}", "-std=c++14", "--ptxas-options=-v", "-w", *job.options.split()]
    program = ctypes.c_void_p()
    source = pathlib.Path(job.file).read_bytes()
    array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    start = time.monotonic()
    if library.nvrtcCreateProgram(ctypes.byref(program), source, job.kernel.encode(), 0, None, None) != 0:
        return {"error": "nvrtcCreateProgram failed"}
    code = library.nvrtcCompileProgram(program, len(options), array)
    log = text_of(library, program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").rstrip(b"\0").decode()
    size = len(text_of(library, program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN")) if code == 0 else 0
    library.nvrtcDestroyProgram(ctypes.byref(program))
    row = {"compiler": "nvrtc %d.%d" % version, "seconds": round(time.monotonic() - start, 3), "bytes": size}
    if code != 0 or size == 0:
        return {**row, "error": log or f"nvrtc error {code}"}
    return {**row, **read_log(log)}


def read_log(log):
    """What the assembler says of the kernel."""
    def number(pattern):
        match = re.search(pattern, log)
        return int(match.group(1)) if match else 0
    if not re.search(r"Used \d+ registers", log):
        return {"error": "the log does not say what the kernel takes: " + log}
    return {"registers": number(r"Used (\d+) registers"), "local": number(r"(\d+) bytes smem"),
            "stack": number(r"(\d+) bytes stack frame"), "spill_stores": number(r"(\d+) bytes spill stores"),
            "spill_loads": number(r"(\d+) bytes spill loads")}


# ---- clang ----

clang = []


def set_clang(command):
    clang.append(command)


def compile_clang(job):
    header = pathlib.Path(__file__).with_name("clang_cuda.h")
    # A program that takes 45 s with vectors, which no GPU uses: its text is parsed.
    parsed = CLANG_VECTORS.strip() in job.options and TABLE.get(job.kernel, Row()).once
    start = time.monotonic()
    done = subprocess.run([clang[0], "-x", "cuda", "--cuda-device-only", f"--cuda-gpu-arch=sm_{job.arch}", "-nocudainc",
                           "-nocudalib", "-Wall", "-Werror", "-Wno-unused", "-Wno-unknown-cuda-version", "-std=c++14",
                           *(["-fsyntax-only"] if parsed else ["-O1", "-S"]), "-o", "-", "-include", str(header), *job.options.split(), job.file],
                          capture_output=True, text=True, check=False)
    row = {"compiler": clang[0], "seconds": round(time.monotonic() - start, 3), "bytes": len(done.stdout)}
    if done.returncode != 0 or not parsed and f".entry {job.kernel}" not in done.stdout:
        row["error"] = done.stderr or "no such entry in the PTX"
    return row


# ---- the report ----

def judge(job, row):
    """The sentence of what is wrong, or None."""
    if "error" in row:
        return row["error"]
    spilled = row.get("spill_stores", 0) + row.get("spill_loads", 0)
    allowed = TABLE.get(job.kernel, Row()).spill
    if spilled > allowed:
        return f"spills {spilled} bytes, {allowed} are allowed"
    if row.get("local", 0) > LOCAL_MOST:
        return f"needs {row['local']} bytes of a group's memory, {LOCAL_MOST} are there everywhere"
    group = re.search(r"-DGROUP=(\d+)", job.options)
    registers = -(-row.get("registers", 0) // 8) * 8
    if group and registers * int(group.group(1)) > REGISTERS_OF_GROUP.get(job.arch, 65536):
        return f"{group.group(1)} work-items with {registers} registers each are more than a group has"
    return None


def short(options, width):
    text = re.sub(r"-D", "", options).replace("VEC=1 REGS=40", "").strip()
    text = re.sub(r"CASE\(([\d,]+)\)", r"\1 ", text).strip()
    return text if len(text) <= width else text[:width - 2] + ".."


def print_table(results):
    print(f"{'kernel':<22}{'sm':>4}{'regs':>6}{'spill st/ld':>12}{'local':>7}{'stack':>7}{'code':>8}{'s':>6}  options")
    for job, row, wrong in sorted(results, key=lambda r: (r[0].kernel, r[0].options, r[0].arch)):
        spill = f"{row.get('spill_stores', 0)}/{row.get('spill_loads', 0)}" if "registers" in row else "-"
        print(f"{job.kernel.removesuffix('_planar').removesuffix('__f32'):<22}{job.arch:>4}{row.get('registers', '-'):>6}{spill:>12}"
              f"{row.get('local', '-'):>7}{row.get('stack', '-'):>7}{row.get('bytes', 0):>8}{row.get('seconds', 0):>6.2f}"
              f"  {short(job.options, 60)}{'  FAILED' if wrong else ''}")


def report(results, skipped, arguments, seconds):
    print_table(results)
    failed = [(job, wrong) for job, _, wrong in results if wrong]
    for job, wrong in failed:
        print(f"\nFAILED {job.kernel} sm_{job.arch} {job.options}\n{wrong[:2000]}")
    for arch in skipped:
        print(f"no compiler at hand knows sm_{arch}")
    path = pathlib.Path(arguments.work) / "report.json"
    rows = [{"kernel": job.kernel, "arch": job.arch, "options": job.options, **row, "failed": wrong}
            for job, row, wrong in results]
    path.write_text(json.dumps({"compiler": arguments.compiler, "seconds": round(seconds, 1), "unknown": skipped,
                                "programs": rows}, indent=1))
    print(f"\n{len(results)} programs of {len({job.kernel for job, _, _ in results})} kernels compiled in {seconds:.0f} s, "
          f"{len(failed)} failed; {path}")
    return 1 if failed or not results else 0


def prepare(compiler, archs):
    """(function of a job, set-up of a worker, its arguments, architectures), or exits."""
    if compiler == "clang":
        command = shutil.which("clang-14") or shutil.which("clang")
        if command is None:
            print("skipped: there is no clang")
            sys.exit(SKIPPED)
        return compile_clang, set_clang, (command,), archs
    found = find_nvrtc()
    if not found:
        print("skipped: there is no NVRTC (toolchains/host setup puts one into build/venv; a CUDA toolkit has one too)")
        sys.exit(SKIPPED)
    for version, name, _ in found:
        print("NVRTC %d.%d: %s" % (*version, name))
    open_compilers(found)
    known = [arch for arch in archs if compiler_of(arch) is not None]
    compilers.clear()
    return compile_nvrtc, open_compilers, (found,), known


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("compiler", choices=sorted(ARCHS))
    parser.add_argument("--programs", required=True, help="the cuda_programs program")
    parser.add_argument("--work", required=True, help="a folder for texts and report")
    parser.add_argument("--only", default="", help="kernels whose name has this in it")
    parser.add_argument("--all", action="store_true", help="every architecture")
    arguments = parser.parse_args()
    archs = (ALL_ARCHS if arguments.all else ARCHS)[arguments.compiler]
    compile_job, set_up, data, known = prepare(arguments.compiler, archs)
    folder = pathlib.Path(arguments.work) / "texts"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    start = time.monotonic()
    subprocess.run([arguments.programs, str(folder)], check=True)
    jobs, missing = list_jobs(folder, arguments.compiler, known)
    if missing:
        sys.exit(f"TABLE names kernels that do not exist: {', '.join(sorted(missing))}")
    jobs = [job for job in jobs if arguments.only in job.kernel]
    with multiprocessing.get_context("spawn").Pool(os.cpu_count(), set_up, data) as pool:
        rows = pool.map(compile_job, jobs, chunksize=1)
    results = [(job, row, judge(job, row)) for job, row in zip(jobs, rows)]
    skipped = [arch for arch in archs if arch not in known]
    return report(results, skipped, arguments, time.monotonic() - start)


if __name__ == "__main__":
    sys.exit(main())
