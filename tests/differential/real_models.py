#!/usr/bin/env python3
"""Real model files beside ONNX Runtime and LiteRT.

real_models.txt lists files of Python wheels and public repositories: where each comes from, its hash, and what is
expected of it. This program finds the files in a folder (and downloads what is missing, if asked; what cannot be
downloaded is named and left out), compiles each, runs it on random numbers under every strategy, compares the outputs
with those of ONNX Runtime or LiteRT, and prints a table; --page writes it as Markdown. A detector that is compiled up
to its suppression is compared there. With --pairs it also runs two different networks as tasks of one bundle.

Two outputs agree if no element differs by more than 1e-3 of the output's largest magnitude. An output of a quantised
network may differ by the steps that real_models.txt allows: one step of rounding moves a result by a whole step.

Exit status: 0 if every file does what the list says, 1 if not, 77 (skipped) without ONNX Runtime, LiteRT or files.
"""
import argparse
import collections
import concurrent.futures
import datetime
import hashlib
import importlib.metadata
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import zipfile
import zlib

import layout

SKIPPED = 77
TOLERANCE = 1e-3
STRATEGIES = ["compact", "sequential", "netfuse", "dense"]
HERE = os.path.dirname(os.path.abspath(__file__))

try:
    import numpy
    import onnxruntime
    from ai_edge_litert.interpreter import Interpreter
except ImportError as error:
    print(f"skipped: {error} (pip install onnxruntime ai-edge-litert)")
    sys.exit(SKIPPED)

Entry = collections.namedtuple("Entry", "name source digest licence expected options")
Port = collections.namedtuple("Port", "name shape dtype")


class Failure(Exception):
    """The outputs differ, or a program failed."""


class Missing(Exception):
    """A file cannot be downloaded."""


class Refusal(Exception):
    """`mts compile` does not open the file."""


def read_list(path):
    entries = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if len(words) < 5:
                sys.exit(f"{path}:{number}: wanted NAME SOURCE SHA256 LICENCE EXPECTED [OPTION=VALUE...]")
            options = collections.defaultdict(dict)
            for word in words[5:]:
                kind, _, rest = word.partition(":")
                port, _, value = rest.rpartition("=")
                options[kind][port] = value
            entries.append(Entry(*words[:5], options))
    return entries


# ---- files ----


def path_of(entry, folder):
    return os.path.join(folder, entry.name + os.path.splitext(entry.source)[1])


def run_for_download(words):
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(words, capture_output=True, check=False, timeout=900, env=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{words[0]}: {error}") from error
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise Missing(lines[-1] if lines else f"{words[0]} ended with {done.returncode}")
    return done.stdout


def fetch_wheel(requirement, folder):
    """Wheels are unpacked, never installed."""
    run_for_download([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:",
                      "--python-version", "3.11", "-d", folder, requirement])


def fetch_commit(package, folder):
    repository, _, commit = package.partition("@")
    run_for_download(["git", "init", "-q", "--bare", folder])
    run_for_download(["git", "-C", folder, "fetch", "-q", "--depth", "1", f"https://github.com/{repository}", commit])


def folder_of(package, cache, fetch, failed):
    """Where a wheel or a repository lies. One that cannot be had is asked for once, and leaves nothing behind."""
    folder = os.path.join(cache, package.replace("/", "+"))
    if package in failed:
        raise Missing(failed[package])
    if not os.path.isdir(folder):
        part = folder + ".part"
        shutil.rmtree(part, ignore_errors=True)
        try:
            fetch(package, part)
            os.rename(part, folder)
        except (Missing, OSError) as error:
            shutil.rmtree(part, ignore_errors=True)
            failed[package] = str(error)
            raise Missing(str(error)) from error
    return folder


def download(entry, path, cache, failed):
    kind, _, rest = entry.source.partition(":")
    package, _, inner = rest.partition(":")
    if kind == "pypi":
        folder = folder_of(package, cache, fetch_wheel, failed)
        try:
            wheel = next(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".whl"))
            with zipfile.ZipFile(wheel) as archive:
                data = archive.read(inner)
        except (StopIteration, OSError, KeyError, zipfile.BadZipFile, zlib.error) as error:
            raise Missing(f"{package}: {error or 'no wheel'}") from error
    else:
        folder = folder_of(package, cache, fetch_commit, failed)
        data = run_for_download(["git", "-C", folder, "show", f"{package.partition('@')[2]}:{inner}"])
    with open(path + ".part", "wb") as file:
        file.write(data)
    os.rename(path + ".part", path)


def file_of(entry, arguments):
    """Path of the file, or None where it is missing. A file with another hash is an error."""
    path = path_of(entry, arguments.folder)
    if not os.path.exists(path) and arguments.download:
        try:
            download(entry, path, os.path.join(arguments.folder, "cache"), arguments.failed)
        except (Missing, OSError) as error:
            print(f"cannot download {entry.name}: {error}", flush=True)
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        if hashlib.sha256(file.read()).hexdigest() != entry.digest:
            raise Failure("the file is not the one of the list: its hash differs")
    return path


# ---- the peers ----


def shape_of(entry, name, declared):
    given = entry.options["shape"].get(name) or entry.options["shape"].get("")
    if given:
        return [int(d) for d in given.split("x")] if given != "scalar" else []
    return [d if isinstance(d, int) and d > 0 else 1 for d in declared]


def draw_digit(picture, top, left, size, number, colour):
    """A digit of seven segments, size high and half as wide."""
    half, thick = size // 2, max(1, size // 8)
    segments = [(0, 0, thick, half), (0, 0, half, thick), (0, half - thick, half, thick), (half, 0, thick, half),
                (half, 0, half, thick), (half, half - thick, half, thick), (size - thick, 0, thick, half)]
    lit = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111",
           "1111011"][number]
    for (down, right, high, wide), on in zip(segments, lit):
        if on == "1":
            picture[:, top + down : top + down + high, left + right : left + right + wide] = colour


def draw(shape, random):
    """Rectangles and lines of digits on a ramp, and noise, from 0 to 1. A detector finds nothing in noise alone: its
    largest probability would be 1e-5, where the sigmoid of ONNX Runtime itself is wrong by 1e-7."""
    channels_last = shape[3] == 3
    height, width = shape[1:3] if channels_last else shape[2:4]
    picture = numpy.empty((shape[0], height, width, 3))
    picture[:] = numpy.linspace(0.75, 1, width)[:, None]
    for _ in range(6):
        top, left = random.integers(0, height), random.integers(0, width)
        high, wide = random.integers(2, max(3, height // 5)), random.integers(2, max(3, width // 4))
        picture[:, top : top + high, left : left + wide] = random.random(3)
    size = max(8, height // 12)
    for top in range(size // 2, height - size, 2 * size):
        for left in range(size, width - size, size * 3 // 4):
            draw_digit(picture, top, left, size, random.integers(0, 10), 0.1)
    picture = 0.97 * picture + 0.03 * random.random(picture.shape)
    return picture if channels_last else picture.transpose(0, 3, 1, 2)


def numbers_for(entry, port, seed):
    value = entry.options["value"].get(port.name)
    if value is not None:
        return numpy.full(port.shape, float(value)).astype(port.dtype)
    low, high = (0, 1) if port.dtype.kind == "f" else (0, 2)
    if port.dtype in (numpy.int8, numpy.uint8, numpy.int16):
        low, high = numpy.iinfo(port.dtype).min, numpy.iinfo(port.dtype).max
    if port.name in entry.options["range"]:
        low, high = (float(x) for x in entry.options["range"][port.name].split(","))
    random = numpy.random.default_rng(seed)
    picture = len(port.shape) == 4 and (port.shape[1] == 3 or port.shape[3] == 3)
    numbers = draw(port.shape, random) if picture else random.random(port.shape)
    return (low + (high - low) * numbers).astype(port.dtype)


class Onnx:
    TYPES = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(double)": "float64",
             "tensor(int64)": "int64", "tensor(int32)": "int32", "tensor(uint8)": "uint8", "tensor(int8)": "int8",
             "tensor(bool)": "bool"}

    def __init__(self, entry, path):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.inputs = [Port(i.name, shape_of(entry, i.name, i.shape), numpy.dtype(self.TYPES[i.type]))
                       for i in self.session.get_inputs()]

    def run(self, numbers):
        outputs = self.session.run(None, numbers)
        return [(o.name, value) for o, value in zip(self.session.get_outputs(), outputs)]

    @staticmethod
    def cut(entry, path, names):
        """The network with these tensors as its outputs. Theirs is what onnx gives; without onnx there is none."""
        try:
            import onnx
        except ImportError as error:
            raise ValueError("onnx is needed to look inside of a network") from error
        model = onnx.load(path)
        del model.graph.output[:]
        model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
        return Onnx(entry, model.SerializeToString())


class Lite:
    def __init__(self, entry, path, names=None):
        self.names = names
        self.peer = Interpreter(model_path=path, num_threads=1, experimental_preserve_all_tensors=names is not None)
        for port in self.peer.get_input_details():
            self.peer.resize_tensor_input(port["index"], shape_of(entry, port["name"], port["shape"].tolist()))
        self.peer.allocate_tensors()
        self.inputs = [Port(p["name"], p["shape"].tolist(), numpy.dtype(p["dtype"]))
                       for p in self.peer.get_input_details()]

    def run(self, numbers):
        for port in self.peer.get_input_details():
            self.peer.set_tensor(port["index"], numbers[port["name"]])
        self.peer.invoke()
        if self.names is not None:
            inside = {p["name"]: p for p in self.peer.get_tensor_details()}
            ends = {p["name"] for p in self.peer.get_output_details()}
            return [(name, self.value_of(inside[name], name in ends)) for name in self.names]
        return [(p["name"], self.peer.get_tensor(p["index"])) for p in self.peer.get_output_details()]


    def value_of(self, port, is_output):
        """A quantised tensor inside of the network is a real number to the app, which reads it."""
        values, (scale, zero) = self.peer.get_tensor(port["index"]), port["quantization"]
        return values if is_output or scale == 0 else ((values.astype(numpy.float64) - zero) * scale).astype("f4")


def peer_of(entry, path, names):
    """names: tensors inside of the network that stand for its outputs; None: its own outputs."""
    if path.endswith(".tflite"):
        return Lite(entry, path, names)
    return Onnx(entry, path) if names is None else Onnx.cut(entry, path, names)


# ---- ours ----


def program(arguments, words):
    command = [arguments.program] + words
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=arguments.timeout)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"mts {words[0]} took more than {arguments.timeout} s") from error
    if done.returncode < 0:
        raise Failure(f"mts {words[0]} died of signal {-done.returncode}")
    if done.returncode != 0:
        raise Failure(done.stderr.strip())
    return done.stdout + done.stderr


def compile_words(entry, task, path):
    words = ["--task", f"{task}={path}"]
    for port, shape in entry.options["shape"].items():
        if shape != "scalar":
            words += ["--shape", f"{task}{':' if port else ''}{port}={shape}"]
    for port, value in entry.options["value"].items():
        words += ["--value", f"{task}:{port}={value}"]
    return words


def step_of(values):
    """The distance of neighbouring values of a quantised output: 1, or what a DEQUANTIZE made of it."""
    if values.dtype.kind in "iu":
        return 1.0
    return float(numpy.diff(numpy.unique(values)).min(initial=numpy.inf))


def difference(got, wanted, entry):
    """Largest difference as a part of the largest magnitude, or, in thousandths, of the steps that it may be."""
    if list(got.shape) != list(wanted.shape) and got.size != wanted.size:
        raise Failure(f"shape {got.shape} instead of {wanted.shape}")
    if wanted.size == 0:
        return 0.0
    step, steps, labels = step_of(wanted), entry.options["steps"].get(""), entry.options["labels"].get("")
    if labels:
        apart = float((got.reshape(wanted.shape) != wanted).mean())
        if apart > 1 - float(labels):
            raise Failure(f"{100 * apart:.1f} % of the labels differ")
        return apart / (1 - float(labels)) * TOLERANCE
    floor = float(entry.options["floor"].get("", 1e-6))
    loose = float(entry.options["tolerance"].get("", TOLERANCE)) / TOLERANCE
    got, wanted = got.astype(numpy.float64).reshape(wanted.shape), wanted.astype(numpy.float64)
    if not numpy.array_equal(numpy.isnan(got), numpy.isnan(wanted)):
        raise Failure("not a number where a number is wanted, or the reverse")
    apart = float(numpy.nanmax(numpy.abs(got - wanted)))
    if steps:
        if apart > float(steps) * step * 1.01:
            raise Failure(f"differs by {apart / step:.1f} steps")
        return apart / (float(steps) * step * 1.01) * TOLERANCE
    return apart / max(float(numpy.nanmax(numpy.abs(wanted))), floor) / loose


def run_bundle(arguments, work, bundle, strategy, tasks):
    """Runs a bundle; tasks has (task, entry, numbers, outputs of the peer). The worst difference is returned."""
    words = ["run", bundle, "--strategy", strategy, "--save", work, "--device", arguments.device, "--repeat", "1",
             "--precision", "float32", *layout.words()]
    for task, entry, numbers, _ in tasks:
        for index, (name, values) in enumerate(numbers.items()):
            if name not in entry.options["value"]:
                raw = os.path.join(work, f"{task}.{index}.input.npy")
                numpy.save(raw, values)
                words += ["--raw", f"{task}:{name}={raw}"]
    program(arguments, words)
    worst = 0.0
    for task, entry, _, wanted in tasks:
        for index, (name, values) in enumerate(wanted):
            try:
                got = numpy.load(os.path.join(work, f"{task}.{index}.npy"))
                apart = difference(got, values, entry)
            except (Failure, FileNotFoundError) as failure:
                raise Failure(f"{strategy}: {entry.name}: output '{name}': {failure}") from failure
            if not apart <= TOLERANCE:
                raise Failure(f"{strategy}: {entry.name}: output '{name}' differs by {apart:.2g}")
            worst = max(worst, apart)
    return worst


def compile_bundle(arguments, work, tasks):
    bundle = os.path.join(work, "app.mtsb")
    words = ["compile", "-o", bundle]
    for task, entry, path in tasks:
        words += compile_words(entry, task, path)
    try:
        said = program(arguments, words)
    except Failure as failure:
        raise Refusal(str(failure)) from failure
    return bundle, re.search(r"(\w+) and what follows it is left to the app", said)


def output_names(arguments, bundle):
    report = json.loads(program(arguments, ["inspect", bundle, "--json"]))
    return [output["name"] for output in report["tasks"][0]["outputs"]]


def answer(entry, path, names=None):
    peer = peer_of(entry, path, names)
    numbers = {port.name: numbers_for(entry, port, seed) for seed, port in enumerate(peer.inputs, 1)}
    return numbers, peer.run(numbers)


def reason_of(text):
    """The operator that a refusal names, else its last words."""
    found = re.search(r"\((\w+), opset \d+\)|operator \d+ '.*?' \((\w+)\)", text)
    return (found.group(1) or found.group(2)) if found else "model"


def check_file(arguments, entry, path):
    """Verdict and remark."""
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        try:
            bundle, cut = compile_bundle(arguments, work, [("a", entry, path)])
        except Refusal as refusal:
            return f"refused:{reason_of(str(refusal))}", str(refusal).replace(path, "").split(": ", 3)[-1]
        if arguments.compile_only:
            return "compiles", ""
        try:
            numbers, wanted = answer(entry, path, output_names(arguments, bundle) if cut else None)
        except (RuntimeError, ValueError, KeyError, onnxruntime.capi.onnxruntime_pybind11_state.Fail) as error:
            return "no-peer", str(error).splitlines()[0]
        try:
            worst = max(run_bundle(arguments, work, bundle, s, [("a", entry, numbers, wanted)])
                        for s in arguments.strategies)
        except Failure as failure:
            return "differs", str(failure)
        return f"cut:{cut.group(1)}" if cut else "matches", f"{worst:.1e}"


def find_file(entry, arguments):
    """Path, or why the file is not to be used."""
    try:
        return file_of(entry, arguments)
    except Failure as failure:
        return failure


def check_entry(arguments, entry, path):
    if path is None:
        return "missing", ""
    if isinstance(path, Failure):
        return "differs", str(path)
    try:
        return check_file(arguments, entry, path)
    except Failure as failure:
        return "differs", str(failure)


def check_pair(arguments, one, two):
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        tasks = []
        try:
            files = [(t, e, file_of(e, arguments)) for t, e in (("a", one), ("b", two))]
            bundle, _ = compile_bundle(arguments, work, files)
            tasks = [(t, e, *answer(e, path)) for t, e, path in files]
            worst = max(run_bundle(arguments, work, bundle, s, tasks) for s in STRATEGIES)
        except (Failure, Refusal) as failure:
            return "differs", str(failure)
        return "matches", f"{worst:.1e}"


def show(name, verdict, expected, remark):
    mark = "" if verdict == expected or expected == "" else f"  (expected {expected})"
    print(f"{name:26} {verdict:28} {remark[:150]}{mark}", flush=True)


def write_page(arguments, rows, count, missing):
    """The table as docs/results/real_models.md."""
    good = [row for row in rows if row[1].partition(":")[0] in ("matches", "cut")]
    own = sum(own_limit for *_, own_limit in good)
    total = len(rows)
    texts = [
        f"{total} files of `tests/differential/real_models.txt`, {datetime.date.today().isoformat()}, device "
        f"`{arguments.device}`, strategies {', '.join(arguments.strategies)}, beside ONNX Runtime "
        f"{onnxruntime.__version__} and LiteRT {importlib.metadata.version('ai-edge-litert')}. Written by",
        "    tests/differential/real_models.py --program build/release/bin/mts --folder build/real/files \\\n"
        "        --work build/real/work --page docs/results/real_models.md",
        f"{len(good)} of {total} files ({100 * len(good) / max(total, 1):.1f} %) are compiled and agree with their peer "
        f"in all strategies ({', '.join(f'{n} {verdict}' for verdict, n in sorted(count.items()))}). "
        f"{len(good) - own} of them agree within {TOLERANCE} of the output's largest magnitude. {own} have a limit of "
        "their own in the list, which says why: mostly steps of the rounding of 8-bit networks, by as many as LiteRT's "
        "own two sets of kernels differ." + (f" {missing} files were not at hand." if missing else ""),
        "The difference is the worst of all outputs and strategies, as a part of the output's largest magnitude, or as "
        "a part of the file's own limit. `cut` is a detector that is compiled up to its suppression, and compared "
        "there."]
    lines = ["# Real model files", ""]
    for text in texts:
        lines += [text if text.startswith(" ") else textwrap.fill(text, 100, break_on_hyphens=False), ""]
    lines += ["| file | result | difference, or why not |", "|---|---|---|"]
    for name, verdict, remark, own_limit in rows:
        if verdict.partition(":")[0] not in ("matches", "cut"):
            remark = remark.replace("|", "/").replace("\n", " ")[:120]
        elif own_limit:
            remark = f"{float(remark) / TOLERANCE:.0%} of its limit"
        lines.append(f"| {name} | {verdict} | {remark} |")
    with open(arguments.page, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description="Real model files beside ONNX Runtime and LiteRT.")
    parser.add_argument("--program", required=True)
    parser.add_argument("--folder", required=True, help="where the files lie, or are downloaded to")
    parser.add_argument("--work", required=True)
    parser.add_argument("--list", default=os.path.join(HERE, "real_models.txt"))
    parser.add_argument("--download", action="store_true", help="download what is missing (about 600 MB)")
    parser.add_argument("--only", default="", help="a regular expression of names")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    parser.add_argument("--pairs", type=int, default=0, help="run this many pairs of neighbours together as well")
    parser.add_argument("--compile-only", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="files at a time")
    parser.add_argument("--page", help="write the table as Markdown into this file")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for one command")
    arguments = parser.parse_args()
    arguments.strategies = arguments.strategies.split(",")
    arguments.failed = {}
    rows = []
    os.makedirs(arguments.work, exist_ok=True)
    if arguments.download:
        os.makedirs(arguments.folder, exist_ok=True)
    count, wrong, missing, matching = collections.Counter(), 0, 0, []
    entries = [entry for entry in read_list(arguments.list) if re.search(arguments.only, entry.name)]
    found = [find_file(entry, arguments) for entry in entries]
    pool = concurrent.futures.ThreadPoolExecutor(arguments.jobs)
    for entry, (verdict, remark) in zip(entries, pool.map(lambda both: check_entry(arguments, *both),
                                                          zip(entries, found))):
        if verdict == "missing":
            missing += 1
            continue
        count[verdict.partition(":")[0]] += 1
        opens_now = verdict == "matches" and entry.expected.startswith("refused")
        wrong += verdict != entry.expected and not opens_now and not arguments.compile_only
        if verdict == "matches":
            matching.append(entry)
        show(entry.name, verdict, entry.expected, remark)
        own_limit = any(entry.options[kind] for kind in ("steps", "labels", "tolerance", "floor"))
        rows.append((entry.name, verdict, remark, own_limit))
    if not count:
        print(f"skipped: no file of the list lies in {arguments.folder} (toolchains/host real downloads them)")
        return SKIPPED
    if arguments.page:
        write_page(arguments, rows, count, missing)
    for one, two in itertools.islice(zip(matching[::2], matching[1::2]), arguments.pairs):
        verdict, remark = check_pair(arguments, one, two)
        wrong += verdict != "matches"
        show(f"{one.name} + {two.name}", verdict, "matches", remark)
    shutil.rmtree(arguments.work, ignore_errors=True)
    print(f"{sum(count.values())} files: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(count.items())) +
          f"; {missing} missing; {wrong} not as the list says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
