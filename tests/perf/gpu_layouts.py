#!/usr/bin/env python3
"""Channels in packs beside planes on one GPU, by class of layer: a table of what `mts profile --json` measured.

    gpu_layouts.py WAY=FILE.json ... [-o TABLE.md]

Responsible for the ways that are compared and for the table; not for running them (tests/perf/gpu, step `layouts`). A way
is a device and a layout. Planes are computed by conv_block on CUDA and by conv_tile on OpenCL, packs by conv_packed on
both, so that the table has all three kernels on the same GPU. A launch that has layers of several classes counts as the
class that its name begins with. The last row says what the default of that GPU should be.
"""
import argparse
import json
import pathlib

# What of a profile is compared: name, device, options.
WAYS = [("cuda-planes", "cuda:0", ["--planes"]),
        ("cuda-packs", "cuda:0", ["--packed-channels"]),
        ("opencl-planes", "opencl:0", ["--planes"]),
        ("opencl-packs", "opencl:0", ["--packed-channels", "--no-images"]),
        ("opencl-packs-images", "opencl:0", ["--packed-channels", "--images"])]


def class_of(launch):
    """Class of a launch: convolutions by size of their kernel, all else by what it is."""
    kind = launch["kind"].split(" and ")[0]
    return " ".join(word for word in kind.split() if not (word[0] == "x" and word[1:].isdigit()))


def sums_of(profile):
    """{class: (ms, multiply-adds, kernels)} of a profile."""
    sums = {}
    for launch in profile["profile"]:
        ms, products, kernels = sums.get(class_of(launch), (0.0, 0, set()))
        sums[class_of(launch)] = (ms + launch["ms"], products + launch["mul_adds"],
                                  kernels | {launch["kernel"].split("__")[0]})
    return sums


def cell_of(entry):
    if entry is None:
        return "-"
    ms, products, kernels = entry
    rate = f", {2e-6 * products / ms:.0f} GFLOP/s" if products and ms > 0 else ""
    return f"{ms:.3f}{rate} ({', '.join(sorted(kernels))})"


def verdict_of(profiles):
    """The fastest way of each device, by the median latency of a run."""
    best = {}
    for way, profile in profiles.items():
        device = way.split("-")[0]
        if device not in best or profile["latency_ms"]["median"] < profiles[best[device]]["latency_ms"]["median"]:
            best[device] = way
    return "; ".join(f"{device}: {way}" for device, way in best.items())


def table_of(profiles):
    """Lines of the table of {way: profile}."""
    sums = {way: sums_of(profile) for way, profile in profiles.items()}
    classes = list(dict.fromkeys(name for of_way in sums.values() for name in of_way))
    most = {name: max(of_way[name][0] for of_way in sums.values() if name in of_way) for name in classes}
    lines = ["| layers, ms | " + " | ".join(profiles) + " |", "|---|" + "---|" * len(profiles)]
    for name in sorted(classes, key=most.get, reverse=True):
        lines.append(f"| {name} | " + " | ".join(cell_of(of_way.get(name)) for of_way in sums.values()) + " |")
    lines.append("| all launches | " + " | ".join(f"{p['busy_ms']:.3f}" for p in profiles.values()) + " |")
    lines.append("| a run, median | " + " | ".join(f"{p['latency_ms']['median']:.3f}" for p in profiles.values()) + " |")
    return lines + ["", "Fastest: " + verdict_of(profiles) + "."]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ways", nargs="+", metavar="WAY=FILE.json")
    parser.add_argument("-o", "--out", type=pathlib.Path)
    arguments = parser.parse_args()
    profiles = {}
    for given in arguments.ways:
        way, _, path = given.partition("=")
        profiles[way] = json.loads(pathlib.Path(path).read_text())
    text = "\n".join(table_of(profiles)) + "\n"
    if arguments.out:
        arguments.out.write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
