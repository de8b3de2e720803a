#!/usr/bin/env python3
"""Measures PyTorch on the networks of a synthetic bundle, on an NVIDIA GPU (or, to try the script, on a processor).

    tests/perf/gpu_peers.py --inspect facts.json --tasks 4,32 -o peers.json

facts.json is what `mts inspect BUNDLE --json` printed of a bundle of `mts synth`: the networks here have its layers,
widths and input, which their number of multiply-adds proves; their weights are random. Every network gets a picture of
its own. The ways of running T of them:

    eager              one by one
    graph              one by one, recorded in one CUDA graph
    vmap, vmap_graph   torch.func: stack_module_state and vmap, plain and recorded
    compile            torch.compile of one network with its weights as arguments, called for each
    compile_graph      those calls recorded in one CUDA graph

each in float32, in float32 with TF32 products (which the SDK does not use), and in float16. The ways are compared with
eager before anything is timed, then take turns. frame_ms is wall clock with inputs and outputs in pinned host memory, one
copy for all of them; device_ms is between events, of the networks alone. The file is rewritten after every step.
"""
import argparse
import copy
import json
import os
import pathlib
import sys
import time

SKIPPED = 77
PLAIN = ["eager", "graph", "vmap", "vmap_graph"]
COMPILED = ["graph", "compile", "compile_graph"]  # graph once more, so that these can be compared with the others
TURNS = 4
SECONDS_OF_WAY = 3.0  # a slow way gets fewer runs, 10 at least
REPLAYS = 100  # between events; a way that is too slow for that many gets what fits into SECONDS_OF_REPLAYS, 20 at least
SECONDS_OF_REPLAYS = 10.0
TOLERANCE = {"float32": 1e-3, "tf32": 2e-2, "float16": 5e-2}  # of the largest output

try:
    import torch
    from torch import nn
    from torch.func import functional_call, stack_module_state, vmap
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)


def mean(x):
    """Of each channel's plane."""
    return x.mean((2, 3), keepdim=True)


class Net(nn.Module):
    """A ResNet or VGG16 with the widths of a task: names of layers are those of the bundle."""

    def __init__(self, widths, side):
        super().__init__()
        self.widths = widths
        self.layers = nn.ModuleDict()
        if "conv1_1" in widths:
            self.build_vgg(side)
        else:
            self.build_resnet()

    def conv(self, name, channels, kernel, stride=1, pad=None):
        layer = nn.Conv2d(channels, self.widths[name], kernel, stride, kernel // 2 if pad is None else pad)
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
        nn.init.uniform_(layer.bias, -0.1, 0.1)
        self.layers[name.replace(".", "-")] = layer
        return self.widths[name]

    def build_vgg(self, side):
        self.plan = []
        channels = 3
        for name in self.widths:
            if name.startswith("conv"):
                if name.endswith("_1") and channels != 3:
                    self.plan.append(None)
                channels = self.conv(name, channels, 3)
                self.plan.append(name)
        self.plan.append(None)
        for name, kernel in (("fc6", side // 32), ("fc7", 1), ("fc8", 1)):
            channels = self.conv(name, channels, kernel, 1, 0)
            self.plan.append(name)

    def build_resnet(self):
        channels = self.conv("conv1", 3, 7, 2)
        self.blocks = []
        for stage in range(1, 5):
            for number in range(100):
                prefix = f"layer{stage}.{number}"
                if f"{prefix}.conv1" not in self.widths:
                    break
                channels = self.build_block(prefix, channels, 2 if stage > 1 and number == 0 else 1)
        self.conv("fc", channels, 1)

    def build_block(self, prefix, channels, stride):
        deep = f"{prefix}.conv3" in self.widths
        shortcut = f"{prefix}.downsample" in self.widths
        if shortcut:
            self.conv(f"{prefix}.downsample", channels, 1, stride)
        middle = self.conv(f"{prefix}.conv1", channels, 1 if deep else 3, 1 if deep else stride)
        out = self.conv(f"{prefix}.conv2", middle, 3, stride if deep else 1)
        if deep:
            out = self.conv(f"{prefix}.conv3", out, 1)
        self.blocks.append((prefix, shortcut, deep))
        return out

    def at(self, name):
        return self.layers[name.replace(".", "-")]

    def walk(self, x, conv, pool=nn.functional.max_pool2d, average=mean):
        """The network, with conv(name, x) for its layers."""
        if "conv1_1" in self.widths:
            for name in self.plan:
                if name is None:
                    x = pool(x, 2, 2)
                else:
                    x = conv(name, x)
                    x = x if name == "fc8" else nn.functional.relu(x)
            return x.flatten(1)
        x = pool(nn.functional.relu(conv("conv1", x)), 3, 2, 1)
        for prefix, shortcut, deep in self.blocks:
            skip = conv(f"{prefix}.downsample", x) if shortcut else x
            y = nn.functional.relu(conv(f"{prefix}.conv1", x))
            y = conv(f"{prefix}.conv2", y)
            if deep:
                y = conv(f"{prefix}.conv3", nn.functional.relu(y))
            x = nn.functional.relu(y + skip)
        return conv("fc", average(x)).flatten(1)

    def forward(self, x):
        return self.walk(x, lambda name, y: self.at(name)(y))

    def function(self):
        """The network as a function of its weights, which holds no tensor."""
        steps = {name: (self.at(name).stride, self.at(name).padding) for name in self.widths}
        return lambda weights, x: self.walk(
            x, lambda name, y: nn.functional.conv2d(y, weights[name][0], weights[name][1], *steps[name]))

    def weights(self):
        return {name: (self.at(name).weight, self.at(name).bias) for name in self.widths}


def widths_of(facts, task):
    widths = {}
    for layer in facts["sharing"]:
        if task in layer["tasks"]:
            at = layer["tasks"].index(task)
            widths[layer["layer"]] = layer["shared_channels"][at] + layer["exclusive_channels"][at]
    return widths


def count_mul_adds(net, shape):
    """Of one run, as the bundle counts them."""
    total = [0]

    def conv(name, x):
        layer = net.at(name)
        y = layer(x)
        total[0] += y.numel() * layer.in_channels * layer.kernel_size[0] * layer.kernel_size[1]
        return y

    def pool(x, kernel, *more):
        y = nn.functional.max_pool2d(x, kernel, *more)
        total[0] += y.numel() * kernel * kernel
        return y

    def average(x):
        total[0] += x.numel()
        return mean(x)
    with torch.no_grad():
        net.walk(torch.zeros(shape), conv, pool, average)
    return total[0]


class World:
    """T networks in a precision, their inputs on host and device, and the outputs of all in one array."""

    def __init__(self, facts, count, precision, device):
        self.device, self.count = device, count
        self.cuda = device == "cuda"
        kind = torch.float16 if precision == "float16" else torch.float32
        torch.manual_seed(1)
        tasks = facts["tasks"][:count]
        shapes = [tuple(task["inputs"][0]["shape"]) for task in tasks]
        if len(set(shapes)) != 1:
            raise ValueError("the tasks' inputs have several shapes")
        self.shape = shapes[0]
        self.models = []
        for task in tasks:
            net = Net(widths_of(facts, task["name"]), self.shape[2]).eval()
            if len(self.models) == 0 and count_mul_adds(net, self.shape) != task["mul_adds"]:
                raise ValueError(f"{count_mul_adds(net, self.shape)} multiply-adds, the bundle has {task['mul_adds']}")
            self.models.append(net.to(device, kind).requires_grad_(False))
        self.uniform = all(m.widths == self.models[0].widths for m in self.models)
        self.host = torch.rand((count, *self.shape), dtype=torch.float32).mul_(2).sub_(1).to(kind)
        self.x = self.host.to(device)
        self.out = torch.zeros((count * self.shape[0], 10), dtype=kind, device=device)
        with torch.no_grad():
            classes = self.models[0](self.x[0]).shape[1]
        self.out = torch.zeros((count * self.shape[0], classes), dtype=kind, device=device)
        self.result = torch.zeros(self.out.shape, dtype=kind)
        if self.cuda:
            self.host, self.result = self.host.pin_memory(), self.result.pin_memory()
        self.bytes = sum(p.numel() * p.element_size() for m in self.models for p in m.parameters())

    def wait(self):
        if self.cuda:
            torch.cuda.synchronize()


def record(run):
    """The run as one CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


compiled = {}  # per precision and architecture: compiling takes most of a minute


def make_way(name, world, precision):
    """A function that runs all networks from world.x to world.out."""
    if name.endswith("graph") and not world.cuda:
        raise NotImplementedError("needs a GPU")
    if name in ("eager", "graph"):
        def run():
            torch.cat([model(world.x[i]) for i, model in enumerate(world.models)], out=world.out)
    else:
        if not world.uniform:
            raise NotImplementedError("the networks differ in width")
        if name.startswith("vmap"):
            base = copy.deepcopy(world.models[0]).to("meta")
            weights, buffers = stack_module_state(world.models)
            stacked = vmap(lambda w, b, x: functional_call(base, (w, b), (x,)))

            def run():
                world.out.copy_(stacked(weights, buffers, world.x).flatten(0, 1))
        else:
            key = (precision, world.shape, tuple(world.models[0].widths.items()))
            if key not in compiled:
                compiled[key] = torch.compile(world.models[0].function(), fullgraph=True, dynamic=False)
            one = compiled[key]
            weights = [model.weights() for model in world.models]

            def run():
                torch.cat([one(w, world.x[i]) for i, w in enumerate(weights)], out=world.out)
    run()
    world.wait()
    return record(run) if name.endswith("graph") else run


def frame(world, run):
    start = time.perf_counter()
    world.x.copy_(world.host, non_blocking=True)
    run()
    world.result.copy_(world.out, non_blocking=True)
    world.wait()
    return (time.perf_counter() - start) * 1e3


def device_times(run, runs):
    marks = []
    for _ in range(runs):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        marks.append((start, end))
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in marks]


def quantiles(times):
    if not times:
        return None
    times = sorted(times)
    return {"median": times[len(times) // 2], "p5": times[int(len(times) * 0.05)], "p95": times[int(len(times) * 0.95)],
            "runs": len(times)}


def build_way(name, world, precision, want):
    """(facts, run or None)"""
    row = {"way": name}
    if world.cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
    start = time.perf_counter()
    try:
        run = make_way(name, world, precision)
        world.out.zero_()
        frame(world, run)
    except Exception as error:  # pylint: disable=broad-except
        return {**row, "error": f"{type(error).__name__}: {str(error)[:400]}"}, None
    row["prepare_s"] = round(time.perf_counter() - start, 3)
    if world.cuda:
        own = torch.cuda.max_memory_allocated() - before
        row["peak_bytes"] = own + (0 if name.startswith("vmap") else world.bytes)  # vmap has stacked copies of them
        row["reserved_bytes"] = torch.cuda.max_memory_reserved()
    if want is not None:
        row["difference"] = float((world.result.float() - want).abs().max() / want.abs().max())
        if not row["difference"] <= TOLERANCE[precision]:
            return {**row, "error": "the outputs differ"}, None
    return row, run


def measure(world, ways, runs, warmup):
    """Ways take turns; adds the times to their rows."""
    samples = {}
    for row, run in ways:
        for _ in range(warmup):
            last = frame(world, run)
        frames = max(10, min(runs, int(SECONDS_OF_WAY * 1e3 / max(last, 1e-3))))
        replays = max(20, min(max(REPLAYS, 2 * runs), int(SECONDS_OF_REPLAYS * 1e3 / max(last, 1e-3))))
        row["replays"] = replays if world.cuda else 0
        samples[row["way"]] = (frames, replays, [], [])
    for _ in range(TURNS):
        for row, run in ways:
            count, replays, frames, device = samples[row["way"]]
            frames += [frame(world, run) for _ in range(-(-count // TURNS))]
            if world.cuda:
                device += device_times(run, -(-replays // TURNS))
    for row, _ in ways:
        _, _, frames, device = samples[row["way"]]
        row["frame_ms"], row["device_ms"] = quantiles(frames), quantiles(device)


def set_precision(precision):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True


def step(facts, count, precision, names, arguments):
    set_precision(precision)
    entry = {"tasks": count, "precision": precision, "load": os.getloadavg()[:2], "ways": []}
    try:
        with torch.no_grad():
            world = World(facts, count, precision, arguments.device)
            want, ways = None, []
            for name in names:
                row, run = build_way(name, world, precision, want)
                entry["ways"].append(row)
                if run is not None:
                    ways.append((row, run))
                    want = world.result.float().clone() if want is None else want
            measure(world, ways, arguments.runs, arguments.warmup)
            entry["weight_bytes"] = world.bytes
    except Exception as error:  # pylint: disable=broad-except
        entry["error"] = f"{type(error).__name__}: {str(error)[:400]}"
    return entry


def write(path, report):
    part = pathlib.Path(str(path) + ".part")
    part.write_text(json.dumps(report, indent=1))
    part.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inspect", required=True, help="what mts inspect --json printed")
    parser.add_argument("--tasks", default="4,8,16,32", help="numbers of networks")
    parser.add_argument("--precisions", default="float32,tf32,float16")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--limit", type=float, default=300, help="seconds after which no step is begun")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        print("skipped: PyTorch finds no GPU")
        return SKIPPED
    facts = json.loads(pathlib.Path(arguments.inspect).read_text())
    counts = [int(t) for t in arguments.tasks.split(",") if int(t) <= len(facts["tasks"])]
    report = {"torch": torch.__version__, "device": torch.cuda.get_device_name() if arguments.device == "cuda" else "cpu",
              "cudnn": torch.backends.cudnn.version(), "runs": arguments.runs, "warmup": arguments.warmup, "steps": []}
    start = time.monotonic()
    passes = [PLAIN] + ([] if arguments.no_compile else [COMPILED])
    for names in passes:
        for precision in arguments.precisions.split(","):
            for count in counts:
                if time.monotonic() - start > arguments.limit:
                    report["steps"].append({"tasks": count, "precision": precision, "error": "no time left"})
                else:
                    report["steps"].append(step(facts, count, precision, names, arguments))
                report["seconds"] = round(time.monotonic() - start, 1)
                write(arguments.output, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
