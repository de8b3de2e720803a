#!/usr/bin/env python3
"""What PyTorch exports of the transformers package's own models, beside ONNX Runtime, in all four strategies.

BERT, XLNet, ViT, RoBERTa, DistilBERT, ALBERT, DeiT, T5's encoder, ResNet and others are made from a configuration, so with random
weights and without the hub, two of each, and exported by torch.onnx.export with both of its exporters. The two files are
compiled into one bundle, run by each strategy, and compared with ONNX Runtime; in float16 under compact too. Models where
attention is expected to be one launch are inspected for it.

Exit status: 0 if all agree, 1 if not, 77 (skipped) without torch, transformers and ONNX Runtime.
"""
import argparse
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

sys.dont_write_bytecode = True  # the source folder stays as it is
SKIPPED = 77
TOLERANCE = {"float32": 1e-4, "float16": 2e-2}  # of an output's largest magnitude, at least 1
STRATEGIES = ("sequential", "netfuse", "dense", "compact")

try:
    import numpy
    import onnxruntime
    import torch
    import transformers

    import random_inputs
except ImportError as error:
    print(f"skipped: {error} (pip install torch transformers onnxscript onnxruntime)")
    sys.exit(SKIPPED)

TEXT = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 500}
IMAGE = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "image_size": 64,
         "patch_size": 8}
ROWS = 32
# name: model, configuration, its input ("tokens" with a mask, or the side of an image), attentions that become one launch
MODELS = {
    "bert": ("BertForSequenceClassification", "BertConfig", TEXT, "tokens", 2),
    "xlnet": ("XLNetForSequenceClassification", "XLNetConfig",
              {"d_model": 64, "n_layer": 2, "n_head": 4, "d_inner": 128, "vocab_size": 500}, "tokens", 2),
    "vit": ("ViTForImageClassification", "ViTConfig", IMAGE, 64, 2),
    "roberta": ("RobertaForSequenceClassification", "RobertaConfig", TEXT, "tokens", 2),
    "distilbert": ("DistilBertForSequenceClassification", "DistilBertConfig",
                   {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128, "vocab_size": 500}, "tokens", 2),
    "albert": ("AlbertForSequenceClassification", "AlbertConfig", {**TEXT, "embedding_size": 32}, "tokens", 2),
    "deit": ("DeiTForImageClassification", "DeiTConfig", IMAGE, 64, 2),
    "resnet50": ("ResNetForImageClassification", "ResNetConfig",
                 {"embedding_size": 16, "hidden_sizes": [32, 64, 128, 256], "depths": [3, 4, 6, 3]}, 64, 0),
    "mobilevit": ("MobileViTForImageClassification", "MobileViTConfig",
                  {"hidden_sizes": [16, 24, 32], "neck_hidden_sizes": [8, 8, 16, 16, 24, 32, 64], "image_size": 64,
                   "num_attention_heads": 4}, 64, 0),
}


class Failure(Exception):
    pass


class Logits(torch.nn.Module):
    """A model whose output is one tensor."""

    def __init__(self, inner, takes_mask):
        super().__init__()
        self.inner, self.takes_mask = inner, takes_mask

    def forward(self, x, mask=None):
        if self.takes_mask:
            return self.inner(input_ids=x, attention_mask=mask).logits
        return self.inner(pixel_values=x).logits


def model_of(name, seed):
    kind, configuration, options, port, _ = MODELS[name]
    options = dict(options, **({"attn_implementation": "eager"} if port == "tokens" or name in ("vit", "deit") else {}))
    torch.manual_seed(seed)
    model = getattr(transformers, kind)(getattr(transformers, configuration)(**options)).eval()
    for module in model.modules():  # layers that do something, as training leaves them
        if isinstance(module, (torch.nn.LayerNorm, torch.nn.BatchNorm2d)):
            module.weight.data.uniform_(0.8, 1.2)
            module.bias.data.uniform_(-0.1, 0.1)
    for parameter_name, parameter in model.named_parameters():
        if re.search(r"r_w_bias|r_r_bias|r_s_bias", parameter_name):
            parameter.data.normal_(0, 0.3)
    return Logits(model, port == "tokens"), port


def example(port):
    if port == "tokens":
        mask = torch.ones(1, ROWS, dtype=torch.int64)
        mask[:, ROWS * 3 // 4:] = 0
        return torch.randint(3, 500, (1, ROWS)), mask
    return (torch.randn(1, 3, port, port),)


def export(name, seed, path, dynamo):
    model, port = model_of(name, seed)
    inputs = example(port)
    with torch.no_grad(), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        names = ["x", "mask"][:len(inputs)]
        torch.onnx.export(model, inputs, str(path), input_names=names, output_names=["logits"], dynamo=dynamo)


def program(words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure((done.stderr.strip() or f"{words[1]} ended with {done.returncode}")[:300])
    return done.stdout


def worst_of(arguments, bundle, folder, wanted, given, strategy, precision):
    program([arguments.program, "run", bundle, "--device", arguments.device, "--strategy", strategy, "--precision", precision,
             "--no-cache", "--save", folder, *given])
    worst = 0.0
    for task, outputs in wanted.items():
        got = numpy.load(folder / f"{task}.0.npy").reshape(outputs[0].shape)
        worst = max(worst, float(numpy.abs(got - outputs[0]).max() / max(1.0, numpy.abs(outputs[0]).max())))
    if not worst <= TOLERANCE[precision]:
        raise Failure(f"{strategy}, {precision}: differs by {worst:.2g}")
    return worst


def compare(name, models, folder, arguments):
    bundle = folder / "app.mtsb"
    program([arguments.program, "compile", *(f"--task={t}={m}" for t, m in models.items()), "-o", bundle])
    count = len(re.findall(r"attention, \d+ of", program([arguments.program, "inspect", bundle, "--dot"])))
    wanted, given = {}, []
    for i, (task, model) in enumerate(models.items()):
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        wanted[task], more = random_inputs.answers(session, task, folder, i, "mask", (3, 500))
        given += more
    worst = max(worst_of(arguments, bundle, folder, wanted, given, s, "float32") for s in STRATEGIES)
    half = worst_of(arguments, bundle, folder, wanted, given, "compact", "float16")
    if MODELS[name][4] and count == 0:
        raise Failure("no attention is one launch")
    return f"{worst:.1e}, float16 {half:.1e}, {count} attention"


def check(name, dynamo, arguments):
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
        folder = pathlib.Path(folder)
        models = {f"t{i}": folder / f"t{i}.onnx" for i in range(2)}
        try:
            for i, path in enumerate(models.values()):
                export(name, 1 + i, path, dynamo)
        except Exception as error:  # whatever an exporter throws is its own affair, and is told apart from ours
            return "not exported", str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        if arguments.keep:
            for task, path in models.items():
                for file in folder.glob(f"{task}.onnx*"):
                    (pathlib.Path(arguments.keep) / f"{name}-{'new' if dynamo else 'old'}-{file.name}").write_bytes(file.read_bytes())
        try:
            return "matches", compare(name, models, folder, arguments)
        except Failure as failure:
            return "fails", str(failure).replace(str(folder), "")


def main():
    parser = argparse.ArgumentParser(description="Exports of the transformers package beside ONNX Runtime.")
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--only", default="", help="a regular expression of names")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--keep", help="copy the exported files into this folder")
    arguments = parser.parse_args()
    os.makedirs(arguments.work, exist_ok=True)
    print(f"torch {torch.__version__}, transformers {transformers.__version__}", flush=True)
    count = {}
    for name in MODELS:
        for dynamo in (False, True):
            label = f"{name}, {'newest' if dynamo else 'TorchScript'} exporter"
            if re.search(arguments.only, label):
                verdict, remark = check(name, dynamo, arguments)
                count[verdict] = count.get(verdict, 0) + 1
                print(f"{label:40} {verdict:14} {remark}", flush=True)
    print(", ".join(f"{n} {verdict}" for verdict, n in sorted(count.items())))
    return 1 if count.get("fails") or not count.get("matches") else 0


if __name__ == "__main__":
    sys.exit(main())
