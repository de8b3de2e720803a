#!/usr/bin/env python3
"""Writes the single-operator cases of the installed onnx package as folders.

usage: onnx_cases.py FOLDER

Each case becomes FOLDER/NAME/model.onnx and FOLDER/NAME/test_data_set_0/{input,output}_I.pb, the form in
which the ONNX project distributes them. Only the first data set of a case is written. A folder that was
written by the same version of the package is left as it is. Exit status 77: there is no onnx package.
"""
import pathlib
import sys

try:
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.case.node import collect_testcases
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def as_tensor(value, info):
    """The serialised form of a value, or None where it is no tensor (a sequence, an optional)."""
    if isinstance(value, onnx.TensorProto):
        tensor = onnx.TensorProto()
        tensor.CopyFrom(value)
    elif info.type.WhichOneof("value") != "tensor_type" or isinstance(value, (list, type(None))):
        return None
    else:
        tensor = numpy_helper.from_array(value)
    tensor.name = info.name
    return tensor


def write_case(folder, case):
    """Writes one case; false where it holds something that is no tensor."""
    inputs, outputs = case.data_sets[0]
    graph = case.model.graph
    tensors = []
    for kind, values, infos in (("input", inputs, graph.input), ("output", outputs, graph.output)):
        for index, (value, info) in enumerate(zip(values, infos)):
            tensor = as_tensor(value, info)
            if tensor is None:
                return False
            tensors.append((f"{kind}_{index}.pb", tensor))
    data = folder / case.name / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    (folder / case.name / "model.onnx").write_bytes(case.model.SerializeToString())
    for name, tensor in tensors:
        (data / name).write_bytes(tensor.SerializeToString())
    return True


def main():
    folder = pathlib.Path(sys.argv[1])
    stamp = folder / "version.txt"
    if stamp.exists() and stamp.read_text() == onnx.__version__:
        return
    written = left = 0
    for case in collect_testcases(None):
        try:
            good = case.data_sets and write_case(folder, case)
        except (TypeError, ValueError, AttributeError, NotImplementedError):
            good = False  # element types that numpy does not have
        written, left = written + bool(good), left + (not good)
    stamp.write_text(onnx.__version__)
    print(f"onnx {onnx.__version__}: {written} cases written, {left} hold something else than tensors")


if __name__ == "__main__":
    main()
