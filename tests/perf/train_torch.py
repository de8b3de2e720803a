#!/usr/bin/env python3
"""What tests/perf/train.py measures of mts.train, done with PyTorch: heads on a frozen network, and full fine-tuning of a copy.

usage: train_torch.py MODEL.onnx RECORDS.bin [--test RECORDS.bin] [--candidates K] [--limit N] [--epochs N] [--full RATE,RATE]
       train_torch.py MODEL.onnx --dump MODEL.npz

Optional: needs PyTorch and NumPy, which no test installs. Where their Python has no onnx package, another one makes MODEL.npz
with --dump, and it is given instead of MODEL.onnx. The task, the images, the held-out fifth, forms, epochs, batch and AdamW are
those of docs/TRAIN.md; numbers differ, as seeds and the order of images do.

 - one after another: K times, features of the frozen network and then a head, as a script that trains one model is run K times
 - features once: the same, but the frozen network runs once for all
 - at once: the K heads are one batched product
 - full: all weights of the copy, for each rate; the best on the held-out images
"""
import argparse
import json
import time

import numpy

FUR = numpy.array([0, 0, 0, 1, 1, 1, 0, 1, 0, 0])
MEAN = numpy.array([125.3, 123.0, 113.9], numpy.float32)
STD = numpy.array([63.0, 62.1, 66.7], numpy.float32)


def dump(model, path):
    """Nodes and constants of an ONNX file as a NumPy archive."""
    import onnx
    graph = onnx.load(model).graph
    nodes = [dict(op=n.op_type, inputs=list(n.input), output=n.output[0],
                  attributes={a.name: onnx.helper.get_attribute_value(a) for a in n.attribute
                              if a.type in (onnx.AttributeProto.INT, onnx.AttributeProto.INTS, onnx.AttributeProto.FLOAT)})
             for n in graph.node]
    nodes = json.dumps(dict(nodes=nodes, input=graph.input[0].name), default=list)
    numpy.savez(path, __graph__=numpy.array(nodes), **{t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer})


class Network:
    """A ResNet of convolutions, normalisations, ReLU, sums, a mean and a fully connected layer."""

    def __init__(self, torch, path):
        held = numpy.load(path)
        graph = json.loads(str(held["__graph__"]))
        self.torch, self.nodes, self.input = torch, graph["nodes"], graph["input"]
        self.constants = {name: torch.from_numpy(held[name].copy()) for name in held.files if name != "__graph__"}

    def features(self, x):
        """What the last fully connected layer reads; normalisation as in training is not used."""
        run = self.torch.nn.functional
        values = {self.input: x}
        for node in self.nodes:
            a = [values.get(name, self.constants.get(name)) for name in node["inputs"]]
            how = node["attributes"]
            if node["op"] == "Conv":
                y = run.conv2d(a[0], a[1], a[2] if len(a) > 2 else None, how.get("strides", 1), how.get("pads", [0, 0])[:2])
            elif node["op"] == "BatchNormalization":
                y = run.batch_norm(a[0], a[3], a[4], a[1], a[2], False, 0.0, how.get("epsilon", 1e-5))
            elif node["op"] == "Relu":
                y = run.relu(a[0])
            elif node["op"] == "Add":
                y = a[0] + a[1]
            elif node["op"] in ("GlobalAveragePool", "ReduceMean"):
                y = a[0].mean((2, 3))
            elif node["op"] in ("Flatten", "Reshape", "Identity"):
                y = a[0].flatten(1) if a[0].dim() > 2 else a[0]
            elif node["op"] == "Gemm":
                return a[0]
            else:
                raise SystemExit(f"no operator {node['op']}")
            values[node["output"]] = y
        raise SystemExit("the model has no last fully connected layer")


class Task:
    """Images and labels, a fifth of each class held out."""

    def __init__(self, torch, path, limit, held_out=True):
        records = numpy.fromfile(path, numpy.uint8).reshape(-1, 3073)[:limit]
        images = (records[:, 1:].reshape(-1, 3, 32, 32) - MEAN[:, None, None]) / STD[:, None, None]
        self.x, self.y = torch.from_numpy(images.astype(numpy.float32)), torch.from_numpy(FUR[records[:, 0]].astype(numpy.int64))
        rng = numpy.random.default_rng(1)
        held = [rng.permutation(numpy.flatnonzero(self.y.numpy() == c)) for c in (0, 1)]
        held = numpy.concatenate([h[:round(0.2 * len(h))] for h in held]) if held_out else numpy.arange(len(records))
        self.held = torch.from_numpy(held)
        self.trained = torch.from_numpy(numpy.setdiff1d(numpy.arange(len(records)), held))


def frozen_features(torch, network, task):
    """Of the trained images and their mirror images, and of those that are held out."""
    with torch.no_grad():
        rows = [network.features(part) for index in (task.trained, task.held) for part in task.x[index].split(100)]
        mirrored = [network.features(part.flip(3)) for part in task.x[task.trained].split(100)]
    rows = torch.cat(rows)
    count = len(task.trained)
    return torch.cat([rows[:count], torch.cat(mirrored)]), task.y[task.trained].repeat(2), rows[count:], task.y[task.held]


def candidates(count):
    rates = [0.05 * 4 ** (2 * (i % 4) / 3 - 1) for i in range(count)]
    return [(rate, (0.0, 0.02, 0.08)[i // 4 % 3], i + 1) for i, rate in enumerate(rates)]


def train_heads(torch, data, chosen, epochs, batch=64):
    """Heads of all chosen candidates as one batched product; accuracy of each on the held-out images."""
    x, y, held_x, held_y = data
    k, size = len(chosen), x.shape[1]
    weight = torch.stack([torch.randn(size, 2, generator=torch.Generator().manual_seed(c[2])) * 0.01 for c in chosen])
    bias = torch.zeros(k, 1, 2)
    groups = [dict(params=[weight[i].clone().requires_grad_(), bias[i].clone().requires_grad_()], lr=c[0], weight_decay=c[1])
              for i, c in enumerate(chosen)]
    optimizer = torch.optim.AdamW(groups)
    steps, done, best = epochs * (len(x) // batch), 0, [0.0] * k
    for epoch in range(epochs):
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(epoch))
        for first in range(0, len(x) - batch + 1, batch):
            for group, c in zip(optimizer.param_groups, chosen):
                group["lr"] = c[0] * 0.5 * (1 + numpy.cos(numpy.pi * done / steps))
            rows = order[first:first + batch]
            w = torch.stack([g["params"][0] for g in optimizer.param_groups])
            b = torch.stack([g["params"][1] for g in optimizer.param_groups])
            scores = torch.baddbmm(b, x[rows].expand(k, -1, -1), w)
            loss = torch.nn.functional.cross_entropy(scores.reshape(-1, 2), y[rows].repeat(k), reduction="sum") / batch
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            done += 1
        with torch.no_grad():
            w = torch.stack([g["params"][0] for g in optimizer.param_groups])
            b = torch.stack([g["params"][1] for g in optimizer.param_groups])
            right = (torch.baddbmm(b, held_x.expand(k, -1, -1), w).argmax(2) == held_y).float().mean(1)
        best = [max(a, float(r)) for a, r in zip(best, right)]
    return best


def fine_tune(torch, path, task, test, rate, epochs, batch=64):
    """All weights; (best held out, test there) in percent."""
    network = Network(torch, path)
    kept = {name for node in network.nodes if node["op"] == "BatchNormalization" for name in node["inputs"][3:]}
    learnt = [c.requires_grad_() for name, c in network.constants.items()
              if c.is_floating_point() and c.dim() in (1, 4) and name not in kept]
    head = torch.nn.Linear(network.features(task.x[:1]).shape[1], 2)
    optimizer = torch.optim.AdamW([dict(params=learnt), dict(params=head.parameters())], lr=rate, weight_decay=0.01)  # the head is new
    steps, best = epochs * (len(task.trained) // batch), (0.0, 0.0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, [rate, 0.01], steps)

    def accuracy(x, y):
        with torch.no_grad():
            right = [(head(network.features(p)).argmax(1) == q).float().sum() for p, q in zip(x.split(100), y.split(100))]
        return 100.0 * float(sum(right)) / len(x)
    for _ in range(epochs):
        order = task.trained[torch.randperm(len(task.trained))]
        for rows in order[:len(order) // batch * batch].split(batch):
            x = task.x[rows]
            x = x.flip(3) if torch.rand(()) < 0.5 else x
            loss = torch.nn.functional.cross_entropy(head(network.features(x)), task.y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        held = accuracy(task.x[task.held], task.y[task.held])
        if held > best[0]:
            best = (held, accuracy(test.x, test.y) if test else 0.0)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("records", nargs="?")
    parser.add_argument("--dump")
    parser.add_argument("--test")
    parser.add_argument("--candidates", type=int, default=16)
    parser.add_argument("--limit", type=int, default=2000)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--full", default="", help="rates; heads are not trained then")
    arguments = parser.parse_args()
    if arguments.dump:
        return dump(arguments.model, arguments.dump)
    import torch
    task = Task(torch, arguments.records, arguments.limit)
    if arguments.full:
        test = Task(torch, arguments.test, 5000, False) if arguments.test else None
        for rate in map(float, arguments.full.split(",")):
            held, tested = fine_tune(torch, arguments.model, task, test, rate, arguments.epochs)
            print(json.dumps(dict(rate=rate, held_out=round(held, 2), test=round(tested, 2))), flush=True)
        return None
    network, chosen, times, found = Network(torch, arguments.model), candidates(arguments.candidates), {}, {}

    def timed(name, work):
        start = time.perf_counter()
        found[name] = work()
        times[name] = round(time.perf_counter() - start, 2)
    timed("one_after_another", lambda: [train_heads(torch, frozen_features(torch, network, task), [c], arguments.epochs)[0]
                                        for c in chosen])
    data = frozen_features(torch, network, task)
    timed("features_once", lambda: [train_heads(torch, data, [c], arguments.epochs)[0] for c in chosen])
    timed("at_once", lambda: train_heads(torch, frozen_features(torch, network, task), chosen, arguments.epochs))
    print(json.dumps(dict(torch=torch.__version__, threads=torch.get_num_threads(), candidates=len(chosen), seconds=times,
                          best_held_out={name: round(100 * max(a), 2) for name, a in found.items()})))
    return None


if __name__ == "__main__":
    main()
