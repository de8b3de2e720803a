"""numpy arrays to and from mts_tensor. numpy is imported by the first array, not by `import mts`."""
from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Optional

from mts._handles import Lease, Node
from mts._native import ffi, invalid, lib

if TYPE_CHECKING:
    import numpy as np

RANK_MAX = lib.MTS_TENSOR_RANK_MAX
_ORDER = "<" if sys.byteorder == "little" else ">"
# What numpy calls the types of mts_type; a test compares them with the header.
TYPESTR = {
    lib.MTS_TYPE_FLOAT32: _ORDER + "f4", lib.MTS_TYPE_FLOAT16: _ORDER + "f2", lib.MTS_TYPE_INT32: _ORDER + "i4",
    lib.MTS_TYPE_INT64: _ORDER + "i8", lib.MTS_TYPE_UINT8: "|u1", lib.MTS_TYPE_BOOL: "|b1",
    lib.MTS_TYPE_FLOAT64: _ORDER + "f8", lib.MTS_TYPE_INT8: "|i1", lib.MTS_TYPE_UINT16: _ORDER + "u2",
    lib.MTS_TYPE_INT16: _ORDER + "i2",
}
_TYPE = {text: number for number, text in TYPESTR.items()}


def view_of(tensor: Any, node: Node) -> np.ndarray:
    """A read-only array over the memory of a tensor, which keeps that memory. Inside the gate."""
    import numpy as np
    shape = tuple(tensor.dims[0:tensor.rank])
    typestr = TYPESTR[tensor.type]
    if tensor.bytes == 0:
        return np.empty(shape, typestr)
    address = int(ffi.cast("uintptr_t", tensor.data))
    return np.asarray(Lease(node, {"version": 3, "shape": shape, "typestr": typestr, "data": (address, True)}))


def pointer(array: Any) -> Any:
    """The address of an array's first number."""
    return ffi.cast("void *", array.__array_interface__["data"][0])


def tensor_of(array: Any, tensor: Any, shape: Optional[tuple[int, ...]] = None) -> Any:
    """Fills a mts_tensor with an array, and returns the array that has to live as long as it is read.
    It is a copy where the numbers are not dense or in another byte order. An array of another shape than
    `shape` is refused before that."""
    import numpy as np
    try:
        given = np.asarray(array)
    except (TypeError, ValueError) as error:
        raise invalid(f"no array: {error}") from None
    if shape is not None and given.shape != shape:
        raise invalid(f"an array of shape {given.shape} for an input of shape {shape}")
    dense = np.asarray(given, order="C")
    if dense.dtype.byteorder not in ("=", "|", _ORDER):
        dense = dense.astype(dense.dtype.newbyteorder("="))
    if dense.dtype.str not in _TYPE:
        raise invalid(f"arrays of {dense.dtype} are not supported")
    if not dense.flags.aligned:
        dense = dense.copy()
    if dense.ndim > RANK_MAX:
        raise invalid(f"an array of {dense.ndim} dimensions; {RANK_MAX} are the most")
    tensor.data = pointer(dense)
    tensor.bytes = dense.nbytes
    tensor.type = _TYPE[dense.dtype.str]
    tensor.rank = dense.ndim
    tensor.dims[0:dense.ndim] = dense.shape
    return dense
