"""Frames: numpy arrays, PIL pictures and planes of cameras as mts_frame, and regions of them."""
from __future__ import annotations

from typing import Any, Literal, NamedTuple, Optional, Sequence, Union

from mts._arrays import pointer
from mts._native import choice, ffi, invalid, lib

Format = Literal["rgb", "bgr", "rgba", "bgra", "grey", "nv12", "nv21", "i420", "yuyv", "uyvy"]
Yuv = Literal["bt601", "bt601_full", "bt709", "bt709_full"]
Fit = Literal["task", "stretch", "letterbox", "letterbox_corner", "crop"]
Filter = Literal["task", "bilinear", "area"]

_FORMATS = ffi.typeof("mts_pixel_format")
_CHANNELS = {lib.MTS_PIXEL_FORMAT_RGB: 3, lib.MTS_PIXEL_FORMAT_BGR: 3, lib.MTS_PIXEL_FORMAT_RGBA: 4,
             lib.MTS_PIXEL_FORMAT_BGRA: 4, lib.MTS_PIXEL_FORMAT_YUYV: 2, lib.MTS_PIXEL_FORMAT_UYVY: 2}
_PAIRS = (lib.MTS_PIXEL_FORMAT_NV12, lib.MTS_PIXEL_FORMAT_NV21)
_SIDE_MOST = 16384


class Region(NamedTuple):
    """A part of a frame, and how it becomes an input (mts_region).

    Either x, y, width and height in whole pixels, or `middle`, `sides` and `angle`: a rectangle at any
    place and angle, which may reach beyond the frame. The default is what each task asks for, else the
    whole frame. Pixels are those of the frame as it lies in memory.
    """

    x: int = 0
    y: int = 0
    width: int = 0
    height: int = 0
    rotation: int = 0  #: clockwise degrees after cropping: 0, 90, 180, 270
    mirror: int = 0  #: 1: left and right are swapped after the rotation
    fit: Fit = "task"
    filter: Filter = "task"
    fill: tuple[int, int, int] = (0, 0, 0)  #: colour of letterbox bars
    middle: tuple[float, float] = (0.0, 0.0)
    sides: tuple[float, float] = (0.0, 0.0)
    angle: float = 0.0  #: clockwise, radians
    outside: Literal["fill", "edge"] = "fill"  #: what is shown outside of the frame

    def _write(self, region: Any) -> None:
        kinds = dict(ffi.typeof("mts_region").fields)
        try:
            value: Any
            for name, value in zip(self._fields, self):
                kind = kinds[name].type
                if kind.kind == "enum":
                    setattr(region, name, choice(kind, str(value), name))
                elif kind.kind == "array":
                    getattr(region, name)[0:len(value)] = value
                else:
                    setattr(region, name, value)
        except (TypeError, OverflowError, IndexError, ValueError) as error:
            raise invalid(f"region: {error}") from None


def regions_of(regions: Sequence[Region]) -> Any:
    """An array of mts_region."""
    array = ffi.new("mts_region[]", len(regions))
    for region, target in zip(regions, array):
        if not isinstance(region, Region):
            raise invalid(f"a region has to be an mts.Region, not {type(region).__name__}")
        region._write(target)
    return array


def _array(data: Any) -> Any:
    import numpy as np
    if hasattr(data, "getbands"):  # a picture of PIL
        data = data if data.mode in ("RGB", "RGBA", "L") else data.convert("RGB")
    try:
        array = np.asarray(data)
    except (TypeError, ValueError) as error:
        raise invalid(f"a frame has to be an array or a picture: {error}") from None
    if array.dtype != np.uint8:
        raise invalid(f"a frame has to have the type uint8, not {array.dtype}")
    return array


def _dense_rows(array: Any, pixel: int) -> Any:
    """The array, or a copy of it where pixels of a row are not side by side."""
    import numpy as np
    strides, shape = array.strides, array.shape
    inner = (pixel, 1) if array.ndim == 3 else (1,)
    if strides[1:] == inner and shape[1] * pixel <= strides[0] < 1 << 31 or 0 in shape:
        return array
    return np.ascontiguousarray(array)


def _check_sides(width: int, height: int) -> None:
    if not (1 <= width <= _SIDE_MOST and 1 <= height <= _SIDE_MOST):
        raise invalid(f"a frame of {width} x {height} pixels; both sides have to be 1..{_SIDE_MOST}")


def _plain_format(array: Any) -> int:
    channels = {2: 1}.get(array.ndim, array.shape[2] if array.ndim == 3 else 0)
    formats = {1: lib.MTS_PIXEL_FORMAT_GREY, 3: lib.MTS_PIXEL_FORMAT_RGB, 4: lib.MTS_PIXEL_FORMAT_RGBA}
    if channels not in formats:
        raise invalid(f"an array of shape {array.shape} is no frame: height x width x 3 (RGB), x 4 (RGBA) or "
                      "height x width (grey); give other layouts to mts.Frame with their format")
    return formats[channels]


def _write_packed(frame: Any, array: Any, form: int) -> Any:
    pixel = _CHANNELS.get(form, 1)
    if array.ndim == 3 and pixel == 1 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim != (2 if pixel == 1 else 3) or array.ndim == 3 and array.shape[2] != pixel:
        raise invalid(f"an array of shape {array.shape} has not {pixel} bytes a pixel")
    height, width = array.shape[:2]
    _check_sides(width, height)  # before a copy: an array may repeat a byte as often as it likes
    array = _dense_rows(array, pixel)
    if form in (lib.MTS_PIXEL_FORMAT_YUYV, lib.MTS_PIXEL_FORMAT_UYVY) and width % 2:
        raise invalid(f"a width of {width}: rows of this format have pairs of pixels")
    frame.data, frame.width, frame.height, frame.format = pointer(array), width, height, form
    frame.stride = array.strides[0] if array.strides[0] < 1 << 32 else 0
    return array


def _write_stacked(frame: Any, array: Any, form: int) -> Any:
    """Y, U and V below each other in one array of height * 3 / 2 rows, as OpenCV has them."""
    import numpy as np
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if array.ndim != 2 or array.shape[0] % 3 or array.shape[1] % 2:
        raise invalid(f"an array of shape {array.shape}; height * 3 / 2 rows of an even width are needed, or "
                      "a tuple of planes")
    height, width = array.shape[0] * 2 // 3, array.shape[1]
    _check_sides(width, height)
    array = np.ascontiguousarray(array)
    frame.data, frame.width, frame.height, frame.format, frame.stride = pointer(array), width, height, form, 0
    return array


def _write_planes(frame: Any, planes: Sequence[Any], form: int) -> Any:
    """A tuple of arrays: Y, and pairs (rows x columns x 2) or U and V (rows x columns)."""
    arrays = [_array(plane) for plane in planes]
    luma, chroma = arrays[:1], arrays[1:]
    if not luma or luma[0].ndim != 2 or len(chroma) != (1 if form in _PAIRS else 2):
        raise invalid(f"{len(arrays)} planes; Y with one plane of pairs (NV12, NV21) or with U and V (I420) are needed")
    height, width = luma[0].shape
    _check_sides(width, height)
    half = ((height + 1) // 2, (width + 1) // 2) + ((2,) if form in _PAIRS else ())
    if any(plane.shape != half for plane in chroma):
        raise invalid(f"planes of shape {[plane.shape for plane in chroma]}; {half} is needed")
    kept = [_dense_rows(luma[0], 1)] + [_dense_rows(plane, len(half) - 1 if len(half) == 2 else 2) for plane in chroma]
    frame.data, frame.width, frame.height, frame.format = pointer(kept[0]), width, height, form
    frame.stride = kept[0].strides[0]
    for i, plane in enumerate(kept[1:]):
        frame.chroma[i], frame.chroma_stride[i] = pointer(plane), plane.strides[0]
    return kept


def write(frame: Any, data: Any, form: Optional[str] = None) -> Any:
    """Fills data, sides, strides and format of a mts_frame. Returns what has to live while it is read."""
    if form is None:
        if isinstance(data, (tuple, list)):
            raise invalid("a frame of planes needs a format: nv12, nv21 or i420")
        array = _array(data)
        return _write_packed(frame, array, _plain_format(array))
    number = choice(_FORMATS, form, "format")
    if number in _PAIRS or number == lib.MTS_PIXEL_FORMAT_I420:
        if isinstance(data, (tuple, list)):
            return _write_planes(frame, data, number)
        return _write_stacked(frame, _array(data), number)
    return _write_packed(frame, _array(data), number)


class Frame:
    """A camera image with what an array does not say (mts_frame).

    No pixel is copied if the pixels of a row lie side by side; rows may lie apart.

    :param data: uint8. rgb, bgr: height x width x 3; rgba, bgra: x 4; grey: height x width; yuyv, uyvy:
        height x width x 2; nv12, nv21, i420: one array of height * 3 / 2 rows, or a tuple of planes.
        Or a picture of PIL, whose EXIF orientation is not applied (PIL.ImageOps.exif_transpose does)
    :param format: None: rgb, rgba or grey by the shape
    :param yuv: how Y, U, V become colours
    :param region: what inputs show of it; None: what each task asks for
    """

    __slots__ = ("_frame", "_kept")

    def __init__(self, data: Any, format: Optional[Format] = None, *, yuv: Yuv = "bt601",
                 region: Optional[Region] = None) -> None:
        self._frame = ffi.new("mts_frame *", {"size": ffi.sizeof("mts_frame")})
        self._kept = write(self._frame, data, format)
        self._frame.yuv = choice(ffi.typeof("mts_yuv"), yuv, "yuv")
        if region is not None:
            if not isinstance(region, Region):
                raise invalid(f"a region has to be an mts.Region, not {type(region).__name__}")
            region._write(self._frame.region)

    @property
    def width(self) -> int:
        """Pixels of a row."""
        return int(self._frame.width)

    @property
    def height(self) -> int:
        """Rows."""
        return int(self._frame.height)


FrameLike = Union[Frame, Any]
