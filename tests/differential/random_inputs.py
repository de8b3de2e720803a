"""Random inputs of a model of text or pictures, for ONNX Runtime and for `mts run` alike."""
import numpy


def answers(session, task, folder, seed, mask, tokens):
    """ONNX Runtime's outputs, and the arguments that give mts the same inputs, which go to `folder`.

    mask: the input that hides the last third of each row, and one token more of each further row. tokens: the least number
    of other integer inputs, and the one behind the largest.
    """
    random, inputs, arguments = numpy.random.default_rng(seed), {}, []
    for port in session.get_inputs():
        kind = numpy.int64 if "int64" in port.type else numpy.float32
        if port.name == mask:
            lengths = port.shape[1] * 2 // 3 - numpy.arange(port.shape[0])
            data = (numpy.arange(port.shape[1])[None] < lengths[:, None]).astype(kind)
        elif kind is numpy.int64:
            data = random.integers(*tokens, port.shape)
        else:
            data = random.standard_normal(port.shape).astype(kind)
        inputs[port.name] = data
        numpy.save(folder / f"{task}-{port.name}.npy", data)
        arguments += ["--raw", f"{task}:{port.name}={folder}/{task}-{port.name}.npy"]
    return session.run(None, inputs), arguments
