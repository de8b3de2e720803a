#!/usr/bin/env python3
"""Measures real networks one by one: mts on one or more devices and other runtimes, in turns, each alone on the machine.

    tests/perf/peers_real.py --folder build/real/files --devices cpu,opencl:0 -o real.json --page docs/results/real_peers.md

Networks are the files of tests/differential/real_models.txt that are to match, in float32 (--kind float) or in 8 bits
(--kind int8, beside LiteRT alone), with at least --least multiply-adds. LiteRT runs the .tflite file itself; runtimes
that read ONNX run what mts exports, with the same weights and fixed shapes. Outputs are compared before anything is
timed. Every runtime has all cores. --resume and --seconds measure a list in pieces. Of each runtime's turns the one
with the least median counts: a virtual machine may
run two threads as one for some seconds, which would hit the turn of one runtime and not of another. The best peer of a
network is the one with the least of these; the table has its time as a multiple of ours, so that more than 1 is our win.
"of the peak" is the share that ours has of the multiply-add peak, measured at the beginning: its inverse bounds what any
kernel that does all products could still gain (convolutions by Winograd's method do fewer, and may show more than 100 %).
It is the peak of floats, so that --kind int8 has no such column. --page writes between the markers of a page.
"""

import argparse
import json
import math
import os
import pathlib
import sys
import tempfile
import time

import numpy

import peer
import peers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "differential"))
import real_models  # noqa: E402

# The settings in which each runtime is fastest on one network.
MODES = {"onnxruntime": ["sequential, spinning", "sequential, 1 thread"],
         "openvino": ["latency, 1 stream"], "ncnn": ["sequential"], "mnn": ["sequential"],
         "litert": ["sequential", "sequential, 1 thread"]}
BEGIN, END = "<!-- begin: tests/perf/peers_real.py -->", "<!-- end -->"


class Network:
    """A file, compiled, exported, with inputs for everyone and the outputs that mts computes. Has what peers.Peer
    wants of a set of models."""

    def __init__(self, arguments, folder, entry, path):
        self.arguments, self.name, self.folder = arguments, entry.name, folder
        self.bundle = str(folder / "network.mtsb")
        peers.run([arguments.mts, "compile", "-o", self.bundle] + real_models.compile_words(entry, entry.name, path))
        fact = json.loads(peers.run([arguments.mts, "inspect", self.bundle, "--json"]))["tasks"][0]
        self.mul_adds, self.types = fact["mul_adds"], {port["type"] for port in fact["inputs"]}
        model = {"name": entry.name, "inputs": fact["inputs"], "outputs": [port["name"] for port in fact["outputs"]],
                 "data": [port["name"] for port in fact["inputs"]], "onnx": str(folder / "network.onnx")}
        if path.endswith(".tflite"):
            model["tflite"] = path
        self.models = [model]
        self.arrays = {}
        for port in fact["inputs"]:
            wanted = real_models.Port(port["name"], port["shape"], numpy.dtype(port["type"]))
            self.arrays[port["name"]] = real_models.numbers_for(entry, wanted, 1)
        self.inputs = str(folder / "inputs.npz")
        numpy.savez(self.inputs, **self.arrays)

    def export(self):
        peers.run([self.arguments.mts, "export", self.bundle, "--task", self.name, "-o", self.models[0]["onnx"]])

    def answer(self, device):
        """Outputs of mts, as one array."""
        saved = self.folder / "saved"
        command = [self.arguments.mts, "run", self.bundle, "--save", str(saved), "--device", device]
        for index, (name, array) in enumerate(self.arrays.items()):
            path = self.folder / f"input-{index}.npy"
            numpy.save(path, array)
            command += ["--raw", f"{self.name}:{name}={path}"]
        peers.run(command)
        count = len(self.models[0]["outputs"])
        return numpy.concatenate([numpy.load(saved / f"{self.name}.{index}.npy").ravel().astype(numpy.float32)
                                  for index in range(count)])

    def bench(self, device, warm, runs):
        command = [self.arguments.mts, "bench", self.bundle, "--strategies", "sequential", "--device", device,
                   "--warmup", str(warm), "--runs", str(runs), "--samples", "--json", "--no-probe"]
        return json.loads(peers.run(command))["results"][0]


def is_chosen(arguments, network):
    floats = network.types == {"float32"}
    return network.mul_adds >= arguments.least and (floats if arguments.kind == "float" else "tflite" in network.models[0])


def start(arguments, network, expected):
    """The peers that can run this network and agree with mts."""
    found = []
    if arguments.kind == "float":
        network.export()
    for name in arguments.peers:
        if name == "litert" and "tflite" not in network.models[0]:
            continue
        for mode in MODES[name]:
            try:
                peers.convert(network.models, network.folder, name)
                one = peers.Peer(name, mode, network, 1, network.folder)
            except RuntimeError as reason:
                peers.note(f"  {name} ({mode}) is left out: {str(reason).splitlines()[-1] if str(reason) else reason}")
                continue
            one.stop()
            one.worst = one.difference([expected])
            if not one.worst <= arguments.tolerance:
                peers.note(f"  {name} ({mode}) is left out: it differs by {one.worst:.3g} from mts")
                one.kill()
                continue
            found.append(one)
    return found


def runs_for(arguments, ms):
    """Runs of a turn, so that small networks get more of them than large ones."""
    return max(3, min(400, int(arguments.turn_ms / max(ms, 1e-3))))


def measure(arguments, network, rivals):
    """A row for each runtime, from its fastest turn."""
    samples, runs, rows = {}, {}, []
    for turn in range(arguments.rounds + 1):  # turn 0 finds how many runs a turn has
        for device in arguments.devices:
            key = ("mts", device)
            row = network.bench(device, 3 if turn == 0 else arguments.warmup, runs.get(key, 5))
            samples.setdefault(key, []).append(row["samples_ms"])
            runs[key] = runs_for(arguments, numpy.median(row["samples_ms"]))
        for one in rivals:
            key = (one.name, one.mode)
            before = len(one.samples)
            one.turn(3 if turn == 0 else arguments.warmup, runs.get(key, 5))
            samples.setdefault(key, []).append(one.samples[before:])
            runs[key] = runs_for(arguments, numpy.median(one.samples[before:]))
    for (name, mode), turns in samples.items():
        times = min(turns[1:], key=numpy.median)
        rows.append({"name": name, "mode": mode, "runs": len(times), "latency_ms": peers.latency(times)})
    return rows


def ratio_of(entry, device, value="median"):
    """The best peer's time by ours on this device; None without a peer."""
    ours = next(row for row in entry["rows"] if row["name"] == "mts" and row["mode"] == device)
    others = [row["latency_ms"][value] for row in entry["rows"] if row["name"] != "mts"]
    return min(others) / ours["latency_ms"][value] if others else None


def best_of(entry):
    others = [row for row in entry["rows"] if row["name"] != "mts"]
    return min(others, key=lambda row: row["latency_ms"]["median"]) if others else None


def peak_of(mts, bundle):
    """Multiply-adds a second of all cores, in thousands of millions: the most of three measurements."""
    return max(json.loads(peers.run([mts, "bench", bundle, "--strategies", "sequential", "--device", "cpu", "--runs", "1",
                                     "--warmup", "0", "--json"]))["peak_gflops"] for _ in range(3)) / 2


def measure_one(arguments, entry, path):
    with tempfile.TemporaryDirectory(prefix="mts-real-") as name:
        network = Network(arguments, pathlib.Path(name), entry, path)
        if not is_chosen(arguments, network):
            return None
        arguments.peak = arguments.peak or peak_of(arguments.mts, network.bundle)
        peers.note(f"{entry.name}, {network.mul_adds / 1e6:.0f} M multiply-adds")
        rivals = start(arguments, network, network.answer(arguments.devices[0]))
        try:
            rows = measure(arguments, network, rivals)
        finally:
            for one in rivals:
                one.kill()
        return {"network": entry.name, "mul_adds": network.mul_adds, "rows": rows}


def mean_of(found, device):
    ratios = [ratio_of(entry, device) for entry in found if best_of(entry)]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan"), len(ratios), ratios


def lines_of(answer):
    """The table, as Markdown. The peak is that of floats, so that networks of bytes have no share of it."""
    devices, found, is_float = answer["devices"], answer["networks"], answer["kind"] == "float"
    lines = ["| network | M multiply-adds | " + " | ".join(f"{device}, ms" for device in devices)
             + (" | of the peak" if is_float else "") + " | best peer | its ms | "
             + " | ".join(f"peer / {device}" for device in devices) + " |",
             "|---" * (4 + is_float + 2 * len(devices)) + "|"]
    for entry in sorted(found, key=lambda e: ratio_of(e, devices[0]) or 0):
        best = best_of(entry)
        ours = [next(r for r in entry["rows"] if (r["name"], r["mode"]) == ("mts", d))["latency_ms"]["median"]
                for d in devices]
        words = [entry["network"], f"{entry['mul_adds'] / 1e6:.0f}"] + [f"{ms:.3f}" for ms in ours]
        words += [f"{entry['mul_adds'] / 1e4 / ours[0] / answer['peak']:.0f} %"] if is_float else []
        words += [f"{best['name']}, {best['mode']}" if best else "none", f"{best['latency_ms']['median']:.3f}" if best else ""]
        words += [f"{ratio_of(entry, d):.2f}" if best else "" for d in devices]
        lines.append("| " + " | ".join(words) + " |")
    for device in devices:
        mean, count, ratios = mean_of(found, device)
        lines.append(f"\n`{device}`: geometric mean {mean:.2f} over {count} networks, least {min(ratios, default=0):.2f}, "
                     f"{sum(r < 0.8 for r in ratios)} below 0.8, {sum(r < 1 for r in ratios)} below 1.")
    whole = [best_of(e)["latency_ms"]["median"] / (e["mul_adds"] / 1e6 / answer["peak"]) for e in found if best_of(e)]
    if whole and is_float:
        lines.append(f"The peak was {answer['peak']:.0f} G multiply-adds a second; networks that ran at it would have a "
                     f"geometric mean of {math.exp(sum(map(math.log, whole)) / len(whole)):.2f}.")
    return lines


def around_table(page):
    """What a page has before and behind its table; a page without markers is refused."""
    old = page.read_text() if page.exists() else f"{BEGIN}\n{END}\n"
    before, _, rest = old.partition(BEGIN)
    _, found, behind = rest.partition(END)
    if not found:
        raise SystemExit(f"{page}: has no lines '{BEGIN}' and '{END}' for the table to stand between")
    return before, behind


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mts", default="build/release/bin/mts", help="the program (default: %(default)s)")
    parser.add_argument("--list", default=str(pathlib.Path(real_models.HERE) / "real_models.txt"))
    parser.add_argument("--folder", default="build/real/files", help="of the files (default: %(default)s)")
    parser.add_argument("--networks", help="only these, separated by commas")
    parser.add_argument("--kind", choices=["float", "int8"], default="float")
    parser.add_argument("--least", type=float, default=5e6, help="multiply-adds (default: %(default)g)")
    parser.add_argument("--devices", default="cpu", help="of mts; the first one is compared (default: %(default)s)")
    parser.add_argument("--peers", default="litert,onnxruntime,openvino,ncnn,mnn")
    parser.add_argument("--tolerance", type=float, default=peers.TOLERANCE, help="of outputs (default: %(default)g)")
    parser.add_argument("--rounds", type=int, default=3, help="turns that each takes (default: %(default)s)")
    parser.add_argument("--turn-ms", type=float, default=250, help="what a turn takes (default: %(default)g)")
    parser.add_argument("--resume", action="store_true", help="networks that the JSON file has are not measured again")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no network after so many (default: no limit)")
    parser.add_argument("--warmup", type=int, default=5, help="runs of a turn that are not counted")
    parser.add_argument("-o", "--output", help="JSON file, written after each network")
    parser.add_argument("--page", help="Markdown file for the table")
    arguments = parser.parse_args()
    arguments.peak = None
    arguments.devices = arguments.devices.split(",")
    arguments.peers = ["litert"] if arguments.kind == "int8" else arguments.peers.split(",")
    for name in list(arguments.peers):
        reason = peers.missing(name) if name in peers.MODULES else "there is no such peer"
        if reason:
            peers.note(f"{name} is left out: {reason}")
            arguments.peers.remove(name)
    return arguments


def earlier(arguments):
    """What an earlier call of the same kind has written, for --resume."""
    if not arguments.resume or not arguments.output or not os.path.exists(arguments.output):
        return None
    answer = json.loads(pathlib.Path(arguments.output).read_text())
    if (answer["kind"], answer["devices"]) != (arguments.kind, arguments.devices):
        raise SystemExit(f"{arguments.output}: has other devices or another kind of networks, so that --resume cannot go on")
    return {"left_out": [], **answer}


def main():
    arguments = parse()
    before, behind = around_table(pathlib.Path(arguments.page)) if arguments.page else ("", "")
    wanted = arguments.networks.split(",") if arguments.networks else None
    answer = earlier(arguments) or {"kind": arguments.kind, "devices": arguments.devices,
                                    "load": [os.getloadavg()[0]], "peak": None, "networks": [], "left_out": []}
    known, begin = {entry["network"] for entry in answer["networks"]} | set(answer["left_out"]), time.monotonic()
    arguments.peak = answer["peak"]
    for entry in real_models.read_list(arguments.list):
        path = real_models.path_of(entry, arguments.folder)
        steps = bool(entry.options["steps"] or entry.options["labels"] or "int8" in entry.name or entry.name.endswith("_int"))
        if entry.expected != "matches" or not os.path.exists(path) or (wanted and entry.name not in wanted):
            continue
        if not wanted and steps != (arguments.kind == "int8") or entry.name in known:
            continue
        if time.monotonic() - begin > arguments.seconds:
            peers.note(f"stopped before {entry.name}: go on with --resume")
            break
        try:
            one = measure_one(arguments, entry, path)
        except (RuntimeError, OSError, ValueError) as reason:
            peers.note(f"{entry.name} is left out: {reason}")
            one = None
        if one:
            answer["networks"].append(one)
            answer["peak"] = arguments.peak
            answer["load"] = [answer["load"][0], os.getloadavg()[0]]
        else:
            answer["left_out"].append(entry.name)
        if arguments.output:
            pathlib.Path(arguments.output).write_text(json.dumps(answer, indent=1) + "\n")
    text = "\n".join(lines_of(answer)) + "\n"
    if arguments.page:
        pathlib.Path(arguments.page).write_text(f"{before}{BEGIN}\n\n{text}\n{END}{behind}")
    print(text)


if __name__ == "__main__":
    main()
