#!/usr/bin/env python3
"""A trained classifier, quantised to 8 bits by ONNX Runtime: its first class in `mts run` is ONNX Runtime's.

ONNX Runtime's quantiser makes QDQ models (static, a step for each channel of weights) of the demo's classifier of
32x32 pictures, with activations of uint8 and of int8. On 400 pictures of the test set at least 99 % have the same
first class. For those that do not, the margin is printed: by how much ONNX Runtime's first score leads its second, in
steps of the scores. Exit status 77 (skipped) where ONNX Runtime, the onnx package or the pictures are missing.
"""
import argparse
import pathlib
import subprocess
import sys

import layout

SKIPPED = 77
PICTURES = 400
RECORD = 3073
SAME_LEAST = 0.99
MEAN, DEVIATION = (125.3, 123.0, 113.9), (63.0, 62.1, 66.7)

try:
    import numpy
    import onnx
    import onnxruntime
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process
except ImportError as error:
    print(f"skipped: {error} (pip install onnx onnxruntime)")
    sys.exit(SKIPPED)


class Calibration(quantization.CalibrationDataReader):
    """One batch."""

    def __init__(self, batch):
        self.batches = iter([{"image": batch}])

    def get_next(self):
        return next(self.batches, None)


def read_pictures(path):
    records = numpy.fromfile(path, numpy.uint8, PICTURES * RECORD).reshape(-1, RECORD)
    pixels = records[:, 1:].reshape(-1, 3, 32, 32).astype(numpy.float32)
    mean, deviation = (numpy.array(of, numpy.float32).reshape(1, 3, 1, 1) for of in (MEAN, DEVIATION))
    return (pixels - mean) / deviation


def make_batched(model, path):
    """All pictures are one batch; batch normalisations are folded."""
    whole = onnx.load(model)
    for port in [*whole.graph.input, *whole.graph.output]:
        port.type.tensor_type.shape.dim[0].dim_value = PICTURES
    del whole.graph.value_info[:]
    onnx.save(whole, path)
    quant_pre_process(path, path, skip_symbolic_shape=True)


def run_peer(path, pictures):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run(None, {"image": pictures})[0]


def run_mts(arguments, path, pictures):
    bundle, raw = arguments.work / "net.mtsb", arguments.work / "pictures.npy"
    numpy.save(raw, pictures)
    for words in (["compile", "--task", f"net={path}", "-o", bundle],
                  ["run", bundle, "--device", arguments.device, "--raw", f"net:image={raw}", "--save", arguments.work,
                   *layout.words()]):
        done = subprocess.run([arguments.program, *map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"mts {words[0]}: {done.stderr.strip()}")
    return numpy.load(arguments.work / "net.0.npy").reshape(PICTURES, -1)


def step_of(scores):
    """The least difference of two scores that differ: the step, where a rounding ends the network."""
    values = numpy.unique(scores)
    return float(numpy.diff(values).min()) if len(values) > 1 else 1.0


def compare(kind, wanted, found):
    same = wanted.argmax(1) == found.argmax(1)
    top = numpy.sort(wanted, 1)[:, ::-1]
    margins = (top[:, 0] - top[:, 1]) / step_of(wanted)
    apart = numpy.abs(wanted - found) / step_of(wanted)
    good = same.mean() >= SAME_LEAST
    print(f"{kind}: the same first class on {same.sum()} of {len(same)}; scores are {apart.max():.0f} steps apart at most, "
          f"equal in {(apart < 0.5).mean():.1%}{'' if good else '  WRONG'}")
    for index in numpy.flatnonzero(~same):
        print(f"  picture {index}: ONNX Runtime's first class leads by {margins[index]:.0f} steps; "
              f"half of all lead by {numpy.median(margins):.0f}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--model", required=True, type=pathlib.Path)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--device", default="auto")
    arguments = parser.parse_args()
    calibration, test = (arguments.data / "cifar" / name for name in ("calib_5000.bin", "test_5000.bin"))
    if not calibration.exists() or not test.exists():
        print(f"skipped: no {test}")
        return SKIPPED
    arguments.work.mkdir(parents=True, exist_ok=True)
    floats, pictures = arguments.work / "floats.onnx", read_pictures(test)
    make_batched(arguments.model, floats)
    wrong = 0
    for kind in ("QUInt8", "QInt8"):
        path = arguments.work / f"{kind}.onnx"
        quantization.quantize_static(floats, path, Calibration(read_pictures(calibration)), per_channel=True,
                                     quant_format=quantization.QuantFormat.QDQ, weight_type=quantization.QuantType.QInt8,
                                     activation_type=quantization.QuantType[kind])
        wrong += not compare(kind, run_peer(path, pictures), run_mts(arguments, path, pictures))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
