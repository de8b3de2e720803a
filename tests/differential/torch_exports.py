#!/usr/bin/env python3
"""What PyTorch and Ultralytics export by default, beside ONNX Runtime.

Networks of torchvision and timm with random weights are exported by torch.onnx.export(model, (x,), file) with no
further option, so with the newest exporter, its default opset and external data. Ultralytics' networks of all five
tasks are exported by YOLO(...).export(format="onnx"). Each file is compiled, run, and compared with ONNX Runtime.

Exit status: 0 if all agree, 1 if not, 77 (skipped) without torch, torchvision, timm and ONNX Runtime.
"""
import argparse
import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

SKIPPED = 77
TOLERANCE = 1e-3

try:
    import numpy
    import onnxruntime
    import timm
    import torch
    import torchvision
except ImportError as error:
    print(f"skipped: {error} (pip install torch torchvision timm onnxscript onnxruntime)")
    sys.exit(SKIPPED)

TORCHVISION = {
    "alexnet": 224, "vgg11_bn": 224, "resnet18": 224, "resnext50_32x4d": 128, "densenet121": 128, "googlenet": 128,
    "inception_v3": 299, "mobilenet_v2": 224, "mobilenet_v3_small": 224, "mobilenet_v3_large": 224, "mnasnet0_5": 224,
    "shufflenet_v2_x0_5": 224, "squeezenet1_1": 224, "efficientnet_b0": 224, "efficientnet_v2_s": 128,
    "regnet_y_400mf": 224, "convnext_tiny": 128, "vit_b_16": 224, "swin_t": 224, "maxvit_t": 224,
    "segmentation.lraspp_mobilenet_v3_large": 256, "segmentation.deeplabv3_mobilenet_v3_large": 256,
}
TIMM = {
    "ghostnet_100": 224, "mobilenetv4_conv_small": 224, "efficientvit_b0": 224, "fastvit_t8": 256, "repvit_m0_9": 224,
    "mobilevit_s": 256, "edgenext_small": 256, "tinynet_a": 192, "lcnet_050": 224, "hrnet_w18_small": 224,
    "deit_tiny_patch16_224": 224, "mobileone_s0": 224, "levit_128s": 224, "poolformer_s12": 224, "mixer_s32_224": 224,
    "convmixer_768_32": 128, "efficientformer_l1": 224, "nfnet_l0": 224,
}
ULTRALYTICS = ["yolo11n", "yolo11n-seg", "yolo11n-cls", "yolo11n-pose", "yolo11n-obb", "yolov8n"]


class Failure(Exception):
    pass


class First(torch.nn.Module):
    """The mask of a segmentation network, which returns a dictionary."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x)["out"]


def spread(model):
    """Layers that do something, as training leaves them: normalisations with random statistics; weights that begin as 0
    (the head of a vision transformer) or, as scales of whole branches, near 0 (ConvNeXt), as random numbers."""
    generator = torch.Generator().manual_seed(2)
    for module in model.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.running_mean is not None:
            module.running_mean.uniform_(-0.1, 0.1, generator=generator)
            module.running_var.uniform_(0.8, 1.2, generator=generator)
        weight = getattr(module, "weight", None)
        if isinstance(module, (torch.nn.Linear, torch.nn.Conv2d)) and not weight.any():
            weight.normal_(0, 0.02, generator=generator)
    for name, scale in model.named_parameters():
        if re.search(r"layer_?scale|gamma|\.ls[0-9]?\.", name) and scale.abs().max() < 0.1:
            scale.uniform_(0.3, 0.7, generator=generator)
    return model


def network_of(name):
    torch.manual_seed(1)
    if name in TIMM:
        return timm.create_model(name, pretrained=False), TIMM[name]
    family, _, plain = name.rpartition(".")
    module = getattr(torchvision.models, family) if family else torchvision.models
    options = {"weights": None}
    if family:
        options["weights_backbone"] = None
    elif name in ("googlenet", "inception_v3"):
        options["init_weights"] = False
    model = getattr(module, plain)(**options)
    return (First(model) if family else model), TORCHVISION[name]


def export_torch(name, folder):
    model, side = network_of(name)
    path = os.path.join(folder, "model.onnx")
    with torch.no_grad():
        torch.onnx.export(spread(model.eval()), (torch.rand(1, 3, side, side),), path)
    return path


def export_ultralytics(name, folder):
    os.environ.update(YOLO_AUTOINSTALL="false", YOLO_VERBOSE="false")
    from ultralytics import YOLO

    before = os.getcwd()
    os.chdir(folder)
    try:
        torch.manual_seed(1)
        return os.path.join(folder, YOLO(f"{name}.yaml").export(format="onnx"))
    finally:
        os.chdir(before)


def program(words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(done.stderr.strip() or f"{words[1]} ended with {done.returncode}")


def difference(got, wanted, by_row):
    """Largest difference as a part of the largest magnitude. by_row: of each row of axis 1, which for a detector holds
    coordinates up to 640 or probabilities, and of at least 1e-3: sigmoids of ONNX Runtime are wrong by 1e-7."""
    if by_row and wanted.ndim == 3:
        apart, most = numpy.abs(got - wanted).max((0, 2)), numpy.abs(wanted).max((0, 2))
        return float((apart / numpy.maximum(most, 1e-3)).max())
    return float(numpy.abs(got - wanted).max()) / max(float(numpy.abs(wanted).max()), 1e-6)


def compare(path, arguments, folder, by_row):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (port,) = session.get_inputs()
    numbers = numpy.random.default_rng(1).random([d if isinstance(d, int) else 1 for d in port.shape],
                                                 numpy.float32)
    wanted = session.run(None, {port.name: numbers})
    bundle, raw = os.path.join(folder, "app.mtsb"), os.path.join(folder, "x.npy")
    numpy.save(raw, numbers)
    program([arguments.program, "compile", "--task", f"a={path}", "-o", bundle])
    if not any(one.any() for one in wanted):
        raise Failure("every output is 0: nothing is compared")
    worst = 0.0
    for strategy in arguments.strategies.split(","):
        program([arguments.program, "run", bundle, "--raw", f"a={raw}", "--save", folder, "--strategy", strategy,
                 "--repeat", "1", "--device", arguments.device])
        for index, one in enumerate(wanted):
            got = numpy.load(os.path.join(folder, f"a.{index}.npy"))
            if got.shape != one.shape:
                raise Failure(f"output {index} has shape {got.shape} instead of {one.shape}")
            apart = difference(got, one, by_row)
            if not apart <= TOLERANCE:
                raise Failure(f"{strategy}: output {index} differs by {apart:.2g} of its largest magnitude")
            worst = max(worst, apart)
    return worst


def check(name, arguments):
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                path = (export_ultralytics if name.startswith("yolo") else export_torch)(name, folder)
        except Exception as error:  # whatever an exporter throws is its own affair, and is told apart from ours
            return "not exported", str(error).splitlines()[0][:150]
        if arguments.keep:
            os.makedirs(os.path.join(arguments.keep, name), exist_ok=True)
            for file in os.listdir(os.path.dirname(path)):
                if ".onnx" in file:
                    shutil.copy(os.path.join(os.path.dirname(path), file), os.path.join(arguments.keep, name))
        try:
            return "matches", f"{compare(path, arguments, folder, name.startswith('yolo')):.1e}"
        except Failure as failure:
            return "fails", str(failure).replace(path, "model.onnx")


def main():
    parser = argparse.ArgumentParser(description="Default exports of PyTorch and Ultralytics beside ONNX Runtime.")
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--only", default="", help="a regular expression of names")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--strategies", default="compact,sequential")
    parser.add_argument("--keep", help="copy the exported files into this folder")
    arguments = parser.parse_args()
    os.makedirs(arguments.work, exist_ok=True)
    names = [*TORCHVISION, *TIMM]
    try:
        import ultralytics

        print(f"ultralytics {ultralytics.__version__}")
        names += ULTRALYTICS
    except ImportError:
        print("without Ultralytics (pip install ultralytics)")
    print(f"torch {torch.__version__}, torchvision {torchvision.__version__}, timm {timm.__version__}", flush=True)
    count = {}
    for name in names:
        if re.search(arguments.only, name):
            verdict, remark = check(name, arguments)
            count[verdict] = count.get(verdict, 0) + 1
            print(f"{name:44} {verdict:14} {remark}", flush=True)
    print(", ".join(f"{n} {verdict}" for verdict, n in sorted(count.items())))
    return 1 if count.get("fails") or not count.get("matches") else 0


if __name__ == "__main__":
    sys.exit(main())
