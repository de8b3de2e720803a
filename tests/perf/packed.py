#!/usr/bin/env python3
"""What packs of channels do to plans for GPUs, beside planes: launches, activations, bytes that launches move.

    tests/perf/packed.py --build build/release --page docs/results/packed.md

No GPU is needed and nothing is timed: `mts inspect --plan` on any OpenCL driver behind the layer that makes its devices
GPUs (tests/opencl/profile). Networks: MediaPipe's (build/mediapipe, where toolchains/host unpacks the wheel), those of
tests/perf/scenarios/holistic.json as one session, and 32 pruned ResNet18 of `mts synth`. What is needed comes from the
plan for the device `reference`, whose launches are not joined: all but those that only move data. --page writes between
the markers of a page.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROFILE = "group=256,local=32768"
# Rows of the table of defaults (plan/device_defaults.c), by what a driver says of itself.
GPUS = {"Adreno 6xx": "texels=134217728,name=QUALCOMM Adreno(TM),version=Adreno(TM) 640", "Mali Valhall": "name=Mali-G710 r0p0",
        "PowerVR": "name=PowerVR B-Series BXM-8-256", "unknown": "name=A GPU of tomorrow"}
PROFILED = ("holistic: nine networks, twelve tasks", "32 pruned ResNet18")
RESNET18 = ["--arch", "resnet18", "--tasks", "32", "--prune", "0.9", "--share", "0.9", "--input", "224"]
MOVES = ("space_to_depth_any", "copy_any", "concat_any")  # of kernels that compute nothing


def call(command, environment=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def compile_bundles(mts, mediapipe, work):
    """Names and bundles."""
    bundles = []
    for model in sorted(mediapipe.glob("modules/*/*.tflite"), key=lambda path: path.name):
        path = work / f"{model.stem}.mtsb"
        done = subprocess.run([str(mts), "compile", "--task", f"t={model}", "-o", str(path)], capture_output=True)
        if done.returncode == 0:  # else it has an operator of MediaPipe's own
            bundles.append((f"`{model.stem}`", path))
    scenario = HERE / "scenarios" / "holistic.json"
    tasks = []
    for network in json.loads(scenario.read_text())["networks"]:
        for i in range(network.get("times", 1)):
            tasks += ["--task", f"{network['name']}_{i}={(scenario.parent / network['model']).resolve()}"]
    path = work / "holistic.mtsb"
    call([mts, "compile", *tasks, "-o", path])
    bundles.append(("holistic: nine networks, twelve tasks", path))
    path = work / "resnet18.mtsb"
    call([mts, "synth", *RESNET18, "-o", path])
    return bundles + [("32 pruned ResNet18", path)]


def figures(mts, bundle, device, environment, options=()):
    plan = json.loads(call([mts, "inspect", bundle, "--plan", "--json", "--device", device, *options], environment))
    launches = plan["launches"]
    def reads_packs(launch):
        return "packs" in launch["reads"] + launch["writes"]
    return {"launches": len(launches),
            "weights": plan["bytes"]["weights"],
            "activations": plan["bytes"]["activations"],
            "bytes": sum(launch["bytes"] for launch in launches),
            "needed": sum(launch["bytes"] for launch in launches if not launch["kernel"].startswith(MOVES)),
            "packs": sum(launch["bytes"] for launch in launches if reads_packs(launch))}


def table(mts, bundles, layer):
    gpu = dict(os.environ, OPENCL_LAYERS=str(layer), MTS_PROFILE=PROFILE)
    rows = ["| network | launches | activations, MB | moved, MB | needed, MB | moved by needed | through packs |",
            "|---|---|---|---|---|---|---|"]
    for name, bundle in bundles:
        needed = figures(mts, bundle, "reference", dict(os.environ))["needed"]
        planes = figures(mts, bundle, "opencl", gpu)
        packs = figures(mts, bundle, "opencl", gpu, ["--packed-channels"])
        pair = [(p[key] / 1e6) for key in ("activations", "bytes") for p in (planes, packs)]
        rows.append(f"| {name} | {planes['launches']}, {packs['launches']} | {pair[0]:.2f}, {pair[1]:.2f} "
                    f"| {pair[2]:.1f}, {pair[3]:.1f} | {needed / 1e6:.1f} "
                    f"| {planes['bytes'] / needed:.2f}, {packs['bytes'] / needed:.2f} "
                    f"| {100 * packs['packs'] / packs['bytes']:.0f} % |")
    return "\n".join(rows) + "\n"


def profiles(mts, bundles, layer):
    """What a session without options plans for each GPU, and in the other layout."""
    rows = ["| network | GPU | layout | launches | activations, MB | weights, MB | moved, MB | moved by needed |",
            "|---|---|---|---|---|---|---|---|"]
    for name, bundle in bundles:
        if name not in PROFILED:
            continue
        needed = figures(mts, bundle, "reference", dict(os.environ))["needed"]
        for gpu, profile in GPUS.items():
            environment = dict(os.environ, OPENCL_LAYERS=str(layer), MTS_PROFILE=f"{PROFILE},{profile}")
            for options in ([], ["--planes"] if gpu != "unknown" else ["--packed-channels"]):
                f = figures(mts, bundle, "opencl", environment, options)
                layout = "packs" if f["packs"] else "planes"
                rows.append(f"| {name} | {gpu} | {layout}{'' if options else ' (default)'} | {f['launches']} "
                            f"| {f['activations'] / 1e6:.2f} | {f['weights'] / 1e6:.2f} | {f['bytes'] / 1e6:.1f} "
                            f"| {f['bytes'] / needed:.2f} |")
    return "\n".join(rows) + "\n"


def write_page(page, text, which=""):
    begin, end = f"<!-- begin: tests/perf/packed.py{which} -->", "<!-- end -->"
    before, found, rest = page.read_text().partition(begin)
    _, closed, behind = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{page}: has no lines '{begin}' and '{end}' for the table to stand between")
    page.write_text(f"{before}{begin}\n\n{text}\n{end}{behind}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--mediapipe", type=pathlib.Path, default=pathlib.Path("build/mediapipe/mediapipe"))
    parser.add_argument("--page", type=pathlib.Path)
    args = parser.parse_args()
    layer = (args.build / "opencl_profile" / "libmts_opencl_profile.so").resolve()
    mts = args.build / "bin" / "mts"
    with tempfile.TemporaryDirectory() as folder:
        bundles = compile_bundles(mts, args.mediapipe, pathlib.Path(folder))
        text = table(mts, bundles, layer)
        by_gpu = profiles(mts, bundles, layer)
    print(text)
    print(by_gpu)
    if args.page:
        write_page(args.page, text)
        write_page(args.page, by_gpu, " by GPU")


if __name__ == "__main__":
    main()
