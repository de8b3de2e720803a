#!/usr/bin/env python3
"""Judges the kernels of GPUs by what a compiler makes of them; no GPU is needed.

    gpu_static.py TABLE [--all] [--only TEXT] [--write] [--note TEXT]

Compiles the rows of ROWS whose programs are not those that the table was made of (--all and --write: every row) with clang 14 for amdgcn (gfx1030, of the family of Samsung's Xclipse; for other GPUs a proxy)
for nvptx64 (sm_70) and, where llvm-spirv-14 is installed, to SPIR-V, which has to work. NVIDIA's compilers have their own
test (cuda_compile). Reads off:

  vector     registers of a work-item (VGPRs)
  scalar     registers of a wave (SGPRs)
  scratch    bytes of private memory that a work-item needs
  spills     registers that the compiler had to move there
  local      bytes of local memory of a work-group
  code       bytes of machine code
  products   multiply-adds of a work-item in one pass of the main loop
  loads      loads from global and local memory in that loop, of one number or of one vector, before the compiler joins
             neighbours: what a compiler that joins none has to do
  ptx        instructions of PTX
  depot      bytes of private memory there
  made of    digest of the program without comments, options, compilers and the figures: a row that has the digest of
             now need not be compiled, as its figures would be the same

Compares with TABLE, docs/results/gpu_static.md. Fails where a row got worse or has no counterpart, and where a row
breaks a limit (code of 24 KB, no spills) without a note. --write writes the table anew; a row that got worse
needs a --note then, which the table keeps. Exit status 77: there is no clang 14, whose figures the table has.
"""
import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
CLANG, SPIRV = "clang-14", "llvm-spirv-14"
LANGUAGE = ["-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-w"]
# Private arrays stay private: clang would move them to local memory where a work-group has some left, which hides scratch.
AMDGCN = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx1030", "-nogpulib", "-O2", "-mllvm", "-disable-promote-alloca-to-lds"]
# PTX has no end of registers, so that only its instructions and the bytes of private memory say something.
NVPTX = ["-target", "nvptx64-nvidia-nvcl", "-Xclang", "-target-cpu", "-Xclang", "sm_70", "-Xclang", "-target-feature",
         "-Xclang", "+ptx70", "-Xclang", "-cl-ext=+cl_khr_fp16", "-O2"]
CODE_MOST = 24 << 10
CODE_SLACK = 1.02  # what counts as more code
REGISTER_STEP = 8  # registers are handed out by as many

GPU = "-DVEC=1 -DREGS=40"  # mts_launch_defines of a GPU
BLOCK = f"{GPU} -DROWS=32 -DCOLUMNS=64 -DGROUP=128 -DDEPTH=8 -DPARTS=1"
PACKED = "-DVEC=4 -DREGS=40"  # mts_launch_packed_defines
# Options besides GPU alone: those of the default configurations. All other kernels of the manifest get GPU.
ROWS = {
    "conv_tile__f32_planar": [f"{GPU} -DCASES=CASE(4,0)", GPU, f"{GPU} -DHALF=1"],
    "conv_block__f32_planar": [BLOCK, f"{BLOCK} -DHALF=1", f"{BLOCK} -DHALF=2"],
    "conv_packed__f32_lanes": [f"{PACKED}{half} -DPIXELS={pixels} -DPACKS=1 -DGROUP=64" for pixels in (4, 2, 1) for half in ("", " -DHALF=2")]
                              + [f"{PACKED}{half} -DIMAGES=1 -DPIXELS={pixels} -DPACKS=1" for pixels in (4, 2, 1) for half in ("", " -DHALF=2")]
                              + [f"{PACKED} -DDEPTHWISE=2{half}{images} -DPIXELS=4 -DPACKS={packs}" for images, packs in ((" -DIMAGES=1", 2), (" -DGROUP=64", 1))
                                 for half in ("", " -DHALF=2")]
                              + [f"{PACKED}{depthwise}{half}{images}" for images in ("", " -DIMAGES=1") for depthwise in ("", " -DDEPTHWISE=1")
                               for half in ("", " -DHALF=1", " -DHALF=2")],
    "softmax_packed__f32_lanes": [PACKED, f"{PACKED} -DHALF=1"],
    "fc_lanes__f32_planar": [GPU, f"{GPU} -DHALF=1"],
    "fc_block__f32_planar": [f"{GPU} -DGROUP=64", f"{GPU} -DHALF=1 -DGROUP=64"],
    "depthwise_tile__f32_planar": [GPU, f"{GPU} -DHALF=1"],
    "fused_rows__f32_planar": [f"{GPU} -DSCRATCH=4096 -DSHAPES=1 -DCASES=CASE(6)"],
    "norm_any__f32_planar": [f"{GPU} -DGROUP=64"],
    "mixed_any__f32_planar": [f"{GPU} -DMIXED=16383"],
    # with conv_block and fc_lanes (kernels/abi/persist.h)
    "persist_any__f32_planar": [f"{BLOCK} -DATOMICS=1 -DITEMS=128 -DMIXED=16383 -DPERSIST=786432"],
}
# Whose main loops add products. In others only formulas of functions do.
MULTIPLY = {"conv_tile__f32_planar", "conv_packed__f32_lanes", "conv_block__f32_planar", "fc_lanes__f32_planar", "fc_block__f32_planar",
            "depthwise_tile__f32_planar", "matmul_any__f32_planar", "deconv_any__f32_planar", "recur_any__f32_planar"}
FIGURES = ["vector", "scalar", "scratch", "spills", "local", "code", "products", "loads", "ptx", "depot"]
NONE = "-"


# ---- texts ----

def kernel_rows(of_cpus=False):
    """(folder, name) of the kernels that GPUs run, or of all."""
    manifest = (ROOT / "kernels/manifest.def").read_text()
    found = re.findall(r"^KERNEL\((\w+), *(\w+), *\w+, *\w+, *(\w+)\)", manifest, re.MULTILINE)
    # no plan of a GPU asks for sums (sdk/plan/sums.h)
    return [(folder, name) for folder, name, made_for in found
            if of_cpus or (not made_for.startswith("cpu") and folder != "sum")]


def read_text(path):
    """A file's text as the build embeds it: headers of a kernel's own folder are in it, others stand before it."""
    text = (ROOT / path).read_text()
    if path.endswith(".cl"):
        text = re.sub(r"#ifdef MTS_DIALECT_C\n#include [^\n]*\n#endif\n", "\n\n\n", text)
        own = re.compile(r'#include "(%s/[^"\n]*)"\n' % path.rpartition("/")[0])
        text = own.sub(lambda line: (ROOT / line.group(1)).read_text(), text)
    return re.sub(r'\n#include "[^\n]*', "\n", text)


def head_files():
    """What all texts begin with, as the build lists it."""
    build = (ROOT / "cmake/embed_kernels.cmake").read_text()
    listed = re.search(r"read_text\(head ([^)]*)\)", build).group(1)
    listed = listed.replace("${own_head}", "kernels/member_persist.h")
    listed = listed.replace("${large}", "kernels/abi/fc_bytes.h kernels/abi/packed.h")
    listed = listed.replace("${cuda}", "kernels/prelude_cuda.h").replace("${codes}", "kernels/abi/bytes.h kernels/codes.h")
    return listed.split()


def member_kernels():
    """The kernels whose texts stand before that of the combined program."""
    return re.findall(r"M\(\d+, (\w+)", (ROOT / "kernels/abi/mixed.h").read_text())


def persistent_kernels():
    """Likewise of the persistent program: (number, name)."""
    return re.findall(r"M\((\d+), (\w+)", (ROOT / "kernels/abi/persist.h").read_text())


def persistent_parts(bodies):
    """What stands before the persistent program's own text, as the build puts it together."""
    own = [f"#if PERSIST >> {number} & 1\n{bodies[name]}#endif\n" for number, name in persistent_kernels()]
    members = [bodies[name] for name in member_kernels() + ["mixed_any__f32_planar"]]
    return own + members + [read_text("kernels/abi/persist.h"), read_text("kernels/counters.h")]


def make_texts(folder):
    head = "".join(read_text(path) for path in head_files())
    bodies = {name: read_text(f"kernels/{of}/{name}.cl") for of, name in kernel_rows(of_cpus=True)}
    for of, name in kernel_rows():
        parts = [bodies[member] for member in member_kernels()] if of == "mixed" else []
        parts = persistent_parts(bodies) if of == "persist" else parts
        (folder / f"{name}.cl").write_text(head + "".join(parts) + bodies[name])


def list_jobs(only):
    return [(name, options) for _, name in kernel_rows() for options in ROWS.get(name, [GPU]) if only in name]


# ---- the innermost loop ----

def blocks_of(function):
    """{label: (lines, labels of the blocks that may follow)} of a function of LLVM's text."""
    blocks, label = {}, "entry"
    blocks[label] = ([], [])
    for line in function:
        begin = re.match(r"(\d+|[\w.$-]+):", line)
        if begin:
            label = begin.group(1)
            blocks[label] = ([], [])
        else:
            blocks[label][0].append(line)
            if re.match(r"\s+(br|switch|i\d+ -?\d+, label)", line):
                blocks[label][1].extend(re.findall(r"label %([\w.$-]+)", line))
    return blocks


def loops_of(blocks):
    """The natural loops: sets of labels."""
    state, back, stack = {}, [], [("entry", iter(blocks["entry"][1]))]
    state["entry"] = "open"
    while stack:
        label, rest = stack[-1]
        follower = next(rest, None)
        if follower is None:
            state[label] = "done"
            stack.pop()
        elif state.get(follower) == "open":
            back.append((label, follower))
        elif follower not in state:
            state[follower] = "open"
            stack.append((follower, iter(blocks[follower][1])))
    before = {label: [] for label in blocks}
    for label, (_, followers) in blocks.items():
        for follower in followers:
            before[follower].append(label)
    loops = {}
    for latch, header in back:
        body, wave = loops.setdefault(header, {header}), [latch]
        while wave:
            label = wave.pop()
            if label not in body:
                body.add(label)
                wave.extend(before[label])
    return loops


def lanes_of(line, kind):
    match = re.search(kind, line)
    return int(match.group(1) or 1) if match else 0


def count_loop(lines):
    products = sum(lanes_of(line, r"call .*@llvm\.(?:fmuladd|fma)\.(?:v(\d+))?f") for line in lines)
    loads = sum(bool(re.search(r"= load .*addrspace\([134]\)", line)) for line in lines)
    return products, loads


def main_loop(text):
    """(products, loads) of the innermost loop with most products, of equal ones that with fewest loads. A loop with a
    division or an exponential applies functions to what was summed."""
    best = (0, 0)
    for function in re.findall(r"^define [^\n]*\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        blocks = blocks_of(function.split("\n"))
        loops = loops_of(blocks)
        for header, body in loops.items():
            lines = [line for label in body for line in blocks[label][0]]
            inner = any(other in body for other in loops if other != header)
            if not inner and not any(re.search(r" fdiv |@llvm\.(exp|log|sqrt)", line) for line in lines):
                products, loads = count_loop(lines)
                best = max(best, (products, -loads))
    return best[0], -best[1]


# ---- compiling ----

def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr[:2000]}")


def check_spirv(text, options, stem):
    """The translator does not know what optimisation makes of some kernels, so that its modules say nothing of size."""
    if shutil.which(SPIRV):
        run([CLANG, *LANGUAGE, "-target", "spir64", "-Xclang", "-disable-llvm-passes", "-O1", "-c", "-emit-llvm",
             "-o", f"{stem}.bc", *options, text])
        run([SPIRV, f"{stem}.bc", "-o", f"{stem}.spv"])


def judge_row(folder, number, name, options):
    stem, text = folder / f"row{number}", folder / f"{name}.cl"
    given = options.split()
    run([CLANG, *LANGUAGE, *AMDGCN, "-S", "-emit-llvm", "-include", ROOT / "tests/gpu_static/clang_opencl.h",
         "-o", f"{stem}.ll", *given, text])
    run([CLANG, "-x", "ir", "-w", *AMDGCN, "-S", "-o", f"{stem}.s", f"{stem}.ll"])
    code = pathlib.Path(f"{stem}.s").read_text()
    called = sorted(set(re.findall(r"(\w+)@rel32", code)))
    if called:
        raise RuntimeError(f"{name} calls {', '.join(called)}, which clang_opencl.h lacks")
    check_spirv(text, given, stem)
    run([CLANG, *LANGUAGE, *NVPTX, "-S", "-include", ROOT / "tests/gpu_static/clang_opencl.h", "-o", f"{stem}.ptx", *given, text])
    ptx = pathlib.Path(f"{stem}.ptx").read_text()
    loop = main_loop(pathlib.Path(f"{stem}.ll").read_text()) if name in MULTIPLY else None

    def figure(pattern):
        return int(re.search(pattern, code).group(1))

    return {"vector": figure(r"\.vgpr_count: +(\d+)"), "scalar": figure(r"\.sgpr_count: +(\d+)"),
            "scratch": figure(r"ScratchSize: (\d+)"),
            "spills": figure(r"\.vgpr_spill_count: +(\d+)") + figure(r"\.sgpr_spill_count: +(\d+)"),
            "local": figure(r"LDSByteSize: (\d+)"), "code": figure(r"codeLenInByte = (\d+)"),
            "products": loop[0] if loop else NONE, "loads": loop[1] if loop else NONE,
            "ptx": len(re.findall(r"^\t(?!\.)[^\n]*;$", ptx, re.MULTILINE)),
            "depot": sum(map(int, re.findall(r"__local_depot\d+\[(\d+)\]", ptx)))}


def judge_all(jobs):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_texts(folder)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            futures = [pool.submit(judge_row, folder, number, *job) for number, job in enumerate(jobs)]
            return {job: future.result() for job, future in zip(jobs, futures)}


# ---- what a row was made of ----

def bare(text):
    """A program without comments and spaces that say nothing."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    return "\n".join(line for line in (" ".join(line.split()) for line in text.split("\n")) if line)


class Digests:
    """Of rows: from all that their figures follow from, and from the figures."""

    def __init__(self):
        versions = [subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout
                    for tool in (CLANG, SPIRV) if shutil.which(tool)]
        header = (ROOT / "tests/gpu_static/clang_opencl.h").read_text()
        self.common = repr((versions, LANGUAGE, AMDGCN, NVPTX, bare(header)))
        with tempfile.TemporaryDirectory() as name:
            make_texts(pathlib.Path(name))
            self.texts = {path.stem: bare(path.read_text()) for path in pathlib.Path(name).iterdir()}

    def of(self, job, row):
        figures = [str(row[figure]) for figure in FIGURES]
        return hashlib.sha256(repr((self.common, self.texts[job[0]], job[1], figures)).encode()).hexdigest()[:12]


# ---- the table ----

def read_table(path):
    """{(kernel, options): figures and note}"""
    table = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == len(FIGURES) + 5 and cells[0].startswith("`"):
            figures = {name: cell if cell == NONE else int(cell) for name, cell in zip(FIGURES, cells[2:])}
            table[(cells[0].strip("`"), cells[1].strip("`"))] = {**figures, "digest": cells[-2], "note": cells[-1]}
    return table


def per_load(row):
    return NONE if NONE in (row["products"], row["loads"]) else f"{row['products'] / max(1, row['loads']):.1f}"


def registers_of(row):
    return -(-row["vector"] // REGISTER_STEP)


def worse(old, new):
    """What got worse, as sentences."""
    found = [f"{name} {old[name]} -> {new[name]}" for name in ("scratch", "spills", "local", "depot")
             if old[name] != NONE and new[name] > old[name]]
    if registers_of(new) > registers_of(old):
        found.append(f"vector registers {old['vector']} -> {new['vector']}")
    if new["code"] > old["code"] * CODE_SLACK:
        found.append(f"code {old['code']} -> {new['code']} bytes")
    if old["ptx"] != NONE and new["ptx"] > old["ptx"] * CODE_SLACK:
        found.append(f"instructions of PTX {old['ptx']} -> {new['ptx']}")
    if per_load(old) != NONE and (per_load(new) == NONE or float(per_load(new)) < float(per_load(old))):
        found.append(f"multiply-adds a load {per_load(old)} -> {per_load(new)}")
    return found


def beyond(row):
    found = [f"{row['code']} bytes of code, {CODE_MOST} is the limit"] if row["code"] > CODE_MOST else []
    return found + ([f"{row['spills']} registers are spilled"] if row["spills"] else [])


def write_table(path, results, table, digests):
    """The rows of all jobs in the order of the manifest; those that were not compiled now stay as they are."""
    rows = []
    for name, options in list_jobs(""):
        row = results.get((name, options), table.get((name, options)))
        if not row or "code" not in row:
            continue
        digest = digests.of((name, options), row) if (name, options) in results else row["digest"]
        cells = [f"`{name}`", f"`{options}`", *[str(row[figure]) for figure in FIGURES], per_load(row), digest,
                 table.get((name, options), {}).get("note", "")]
        rows.append("| " + " | ".join(cells) + " |")
    text = path.read_text() if path.exists() else ""
    before = text.split("| kernel |")[0]
    head = "| kernel | options | " + " | ".join(FIGURES) + " | products a load | made of | note |"
    line = "|---|---|" + "---:|" * (len(FIGURES) + 1) + "---|---|"
    path.write_text(before + "\n".join([head, line, *rows]) + "\n")


def compare(results, table, arguments):
    """Sentences of what is wrong; notes go into the table."""
    wrong = []
    for job, row in results.items():
        name = " ".join(job)
        old = table.setdefault(job, {"note": ""})
        found = worse(old, row) if "code" in old else []
        missing = [] if "code" in old or arguments.write else ["is not in the table"]
        if arguments.note and (found or beyond(row)):
            old["note"] = arguments.note
        if missing or (found and not (arguments.write and arguments.note)):
            wrong.append(f"{name}: {'; '.join(missing + found)}")
        if beyond(row) and not old["note"]:
            wrong.append(f"{name}: {'; '.join(beyond(row))}, and the row has no note")
    built = set(list_jobs(""))
    if not arguments.write:
        wrong += [f"{' '.join(job)}: is in the table and no longer built" for job in table if job not in built]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("--only", default="", help="kernels whose names have this")
    parser.add_argument("--all", action="store_true", help="compile rows too whose programs the table was made of")
    parser.add_argument("--write", action="store_true", help="write the table anew")
    parser.add_argument("--note", help="why the rows that got worse, or are beyond a limit, may be")
    arguments = parser.parse_args()
    if not shutil.which(CLANG):
        print(f"no {CLANG}, whose figures the table has")
        return SKIPPED
    table, digests, jobs = read_table(arguments.table), Digests(), list_jobs(arguments.only)
    if not (arguments.all or arguments.write):
        jobs = [job for job in jobs if job not in table or table[job]["digest"] != digests.of(job, table[job])]
    try:
        results = judge_all(jobs)
    except RuntimeError as error:
        sys.exit(str(error))
    wrong = compare(results, table, arguments)
    for sentence in wrong:
        print(sentence)
    if arguments.write and not wrong:
        write_table(arguments.table, results, table, digests)
    if wrong:
        print("\nIf this is as it should be: tests/gpu_static/gpu_static.py docs/results/gpu_static.md --write --note WHY")
    known = f" and {len(table) - len(results)} that the table was made of" if not arguments.only else ""
    print(f"{len(results)} programs compiled{known}, {len(wrong)} findings")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
