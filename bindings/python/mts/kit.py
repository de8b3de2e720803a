"""From outputs of networks to boxes, points, masks and classes (libmtskit, mts/kit.h, docs/KIT.md).

    region = mts.kit.whole_frame(frame.shape, (128, 128))
    outputs = session.run(mts.Frame(frame, region=region))["face_detection"]
    faces = mts.kit.ssd("face", *outputs, frame=frame.shape, region=region)
    next_region = mts.kit.region_of("face", faces[0])

`frame` is always the frame's (height, width, ...), as an array has it, and `region` what the network was
shown; None: the whole frame, stretched. Answers are in pixels of the frame; the centre of the first
pixel is 0.5, 0.5.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Optional, Sequence, Union

from mts import _arrays
from mts._native import Error, choice, ffi, invalid, lib, read
from mts.frames import Region
from mts.runtime import TaskInfo

if TYPE_CHECKING:
    import numpy as np

Shape = Sequence[int]
Step = Literal["face", "hand", "pose", "left_iris", "right_iris", "left_recrop", "right_recrop", "recropped_hand",
               "pose_face"]


@dataclass(frozen=True)
class Detection:
    """Something that a detector has found (mts_kit_detection)."""

    left: float
    top: float
    right: float
    bottom: float
    score: float  #: probability, 0..1
    label: int  #: class; 0 if the detector has one class
    index: int  #: of the candidate
    points: tuple[tuple[float, float], ...]  #: key points


def _floats(array: Any, what: str) -> np.ndarray:
    import numpy as np
    try:
        return np.ascontiguousarray(array, np.float32)
    except (TypeError, ValueError) as error:
        raise invalid(f"{what}: {error}") from None


def _pointer(array: np.ndarray) -> Any:
    return ffi.cast("float *", _arrays.pointer(array))


def _sides(shape: Shape, what: str = "frame") -> tuple[int, int]:
    """Height and width."""
    try:
        height, width = int(shape[0]), int(shape[1])
    except (TypeError, ValueError, IndexError):
        raise invalid(f"{what}: (height, width) is needed, not {shape!r}") from None
    if not (1 <= height <= 16384 and 1 <= width <= 16384):
        raise invalid(f"{what}: {height} x {width} pixels; both sides have to be 1..16384")
    return height, width


def _check(status: int, sentence: str) -> None:
    if status:
        raise Error(status, sentence)


def _region(region: Optional[Region]) -> Any:
    struct = ffi.new("mts_region *")
    if region is not None:
        region._write(struct[0])
    return struct


def _map(frame: Shape, region: Optional[Region], sides: Shape) -> Any:
    """Fractions of the input to pixels of the frame."""
    (height, width), (rows, columns) = _sides(frame), _sides(sides, "input")
    result = ffi.new("mts_kit_map *")
    lib.mts_kit_map_of_region(_region(region), width, height, columns, rows, result)
    return result


def _detections(found: Any, count: int) -> list[Detection]:
    return [Detection(d.left, d.top, d.right, d.bottom, d.score, d.label, d.index,
                      tuple((d.points[i][0], d.points[i][1]) for i in range(d.point_count))) for d in found[0:count]]


def _as_region(struct: Any) -> Region:
    values = read(struct, ffi.typeof("mts_region"))
    return Region(**{**values, "rotation": int(values["rotation"]), "fill": tuple(values["fill"][:3]),
                     "middle": tuple(values["middle"]), "sides": tuple(values["sides"])})


def shown(region: Optional[Region], task: TaskInfo, frame: Shape) -> Region:
    """What a task is shown: the region with the fit, filter and part that it leaves to the task."""
    description = ffi.new("mts_task_desc *", {"size": ffi.sizeof("mts_task_desc")})
    description.fit = choice(ffi.typeof("mts_fit"), task.fit, "fit")
    description.filter = choice(ffi.typeof("mts_filter"), task.filter, "filter")
    description.fill[0:3], description.crop[0:4] = task.fill, task.crop
    struct, (height, width) = _region(region), _sides(frame)
    lib.mts_kit_region_of_task(struct, description, width, height, struct)
    return _as_region(struct[0])


def whole_frame(frame: Shape, sides: Shape) -> Region:
    """A region around the whole frame with the aspect ratio of an input of `sides` (height, width): bars
    where it reaches beyond the frame, as MediaPipe's detectors expect."""
    (height, width), (rows, columns) = _sides(frame), _sides(sides, "input")
    roi, struct = ffi.new("mts_kit_roi *"), ffi.new("mts_region *")
    lib.mts_kit_roi_of_frame(width, height, columns, rows, roi)
    lib.mts_kit_region_of_roi(roi, lib.MTS_OUTSIDE_FILL, struct)
    return _as_region(struct[0])


def ssd(kind: Literal["face", "palm", "pose"], boxes: Any, scores: Any, *, frame: Shape,
        region: Optional[Region] = None, least_score: Optional[float] = None) -> list[Detection]:
    """What a detector of MediaPipe has found, without overlaps, the best first.

    :param boxes: its output of numbers for each anchor
    :param scores: its output of logits
    :param least_score: candidates with a smaller probability are left out; None: MediaPipe's
    """
    head = ffi.new("mts_kit_ssd *", {"size": ffi.sizeof("mts_kit_ssd")})
    kinds = ffi.typeof("mts_kit_ssd_kind")
    _check(lib.mts_kit_ssd_default_sized(choice(kinds, kind, "kind"), head, ffi.sizeof("mts_kit_ssd")), "kind")
    if least_score is not None:
        head.least_score = least_score
    anchors = ffi.new("float[]", 2 * lib.MTS_KIT_ANCHORS_MAX)
    count = lib.mts_kit_anchors(head, anchors, lib.MTS_KIT_ANCHORS_MAX)
    numbers, logits = _floats(boxes, "boxes"), _floats(scores, "scores")
    if numbers.size != count * (4 + 2 * head.points) or logits.size != count:
        raise invalid(f"outputs of {numbers.size} and {logits.size} numbers; a detector '{kind}' has "
                      f"{count * (4 + 2 * head.points)} and {count}")
    found = ffi.new("mts_kit_detection[]", count)
    left = lib.mts_kit_ssd_decode(head, anchors, _pointer(numbers), _pointer(logits), found)
    left = lib.mts_kit_nms(ffi.addressof(head, "nms"), found, left)
    lib.mts_kit_detections_map(_map(frame, region, (head.height, head.width)), found, left)
    return _detections(found, left)


def yolo(output: Any, *, frame: Shape, sides: Shape, region: Optional[Region] = None, least_score: float = 0.25,
         overlap: float = 0.45) -> list[Detection]:
    """What a detector of the YOLO family has found, without overlaps. The shape of its output tells which.

    :param output: of one image
    :param sides: (height, width) of the network's input
    """
    values = _floats(output, "output")
    rows, columns = _sides(sides, "input")
    tensor, head = ffi.new("mts_tensor *"), ffi.new("mts_kit_yolo *", {"size": ffi.sizeof("mts_kit_yolo")})
    values = _arrays.tensor_of(values, tensor)
    _check(lib.mts_kit_yolo_guess(tensor, columns, rows, head), f"no head has an output of shape {values.shape}")
    head.least_score = least_score
    found = ffi.new("mts_kit_detection[]", head.rows)
    count = lib.mts_kit_yolo_decode(head, _pointer(values), found)
    if head.kind != lib.MTS_KIT_YOLO_END_TO_END:
        options = ffi.new("mts_kit_nms_options *", {"size": ffi.sizeof("mts_kit_nms_options"), "overlap": overlap})
        count = lib.mts_kit_nms(options, found, count)
    lib.mts_kit_detections_map(_map(frame, region, sides), found, count)
    return _detections(found, count)


def landmarks(values: Any, count: int, *, frame: Shape, sides: Shape, region: Optional[Region] = None) -> np.ndarray:
    """Points of a network in pixels of the frame.

    :param values: output of a landmark network: a multiple of `count` numbers
    :param sides: (height, width) of the network's input
    :return: float32, count x 5: x, y, z, and the probabilities of visibility and presence
    """
    import numpy as np
    numbers = _floats(values, "values")
    if not 1 <= count <= 1 << 20 or numbers.size % count or numbers.size // count < 2:
        raise invalid(f"{numbers.size} numbers are not those of {count} points")
    result = np.empty((count, 5), np.float32)
    (rows, columns), place = _sides(sides, "input"), _map(frame, region, sides)
    lib.mts_kit_landmarks_map(place, _pointer(numbers), count, numbers.size // count, columns, rows,
                              ffi.cast("mts_kit_landmark *", _arrays.pointer(result)))
    return result


def mask(values: Any, *, frame: Shape, region: Optional[Region] = None,
         kind: Literal["probability", "logit"] = "probability", threshold: float = -1.0) -> np.ndarray:
    """A mask of a network, resized to the frame.

    :param values: height x width, or with further dimensions of 1
    :param threshold: 0..1: a pixel becomes 255 above it, else 0. Negative: 255 times its probability
    :return: uint8, height x width of the frame
    """
    import numpy as np
    numbers = _floats(values, "values")
    numbers = numbers.reshape([side for side in numbers.shape if side != 1] or (1, 1))
    if numbers.ndim != 2:
        raise invalid(f"a mask of shape {numbers.shape}")
    height, width = _sides(frame)
    result = np.empty((height, width), np.uint8)
    number = choice(ffi.typeof("mts_kit_mask_kind"), kind, "kind")
    _check(lib.mts_kit_mask_resize(_map(frame, region, numbers.shape), _pointer(numbers), numbers.shape[1],
                                   numbers.shape[0], 1, number, threshold, width, height,
                                   ffi.cast("uint8_t *", _arrays.pointer(result))), "the region cannot be inverted")
    return result


def region_of(step: Step, found: Union[Detection, np.ndarray], outside: Literal["fill", "edge"] = "fill") -> Region:
    """The part of the frame that the next network of MediaPipe's graphs sees.

    :param step: which network; its region is made of
    :param found: a detection; or landmarks as `landmarks` gives them, all of a face or a pose
    :param outside: what the region shows beyond the frame
    """
    kind, roi = choice(ffi.typeof("mts_kit_roi_kind"), step, "step"), ffi.new("mts_kit_roi *")
    if isinstance(found, Detection):
        rule = ffi.new("mts_kit_roi_rule *", {"size": ffi.sizeof("mts_kit_roi_rule")})
        _check(lib.mts_kit_roi_default_sized(kind, rule, ffi.sizeof("mts_kit_roi_rule")), "step")
        struct = ffi.new("mts_kit_detection *", {
            "left": found.left, "top": found.top, "right": found.right, "bottom": found.bottom,
            "point_count": len(found.points), "points": [list(point) for point in found.points]})
        _check(lib.mts_kit_roi_of_detection(rule, struct, roi), f"no region '{step}' of {found}")
    else:
        points = _floats(found, "landmarks")
        if points.ndim != 2 or points.shape[1] != 5:
            raise invalid(f"landmarks of shape {points.shape}; count x 5 is needed")
        _check(lib.mts_kit_roi_of_step(kind, ffi.cast("mts_kit_landmark *", _arrays.pointer(points)), len(points), roi),
               f"no region '{step}' of {len(points)} landmarks")
    struct = ffi.new("mts_region *")
    lib.mts_kit_region_of_roi(roi, choice(ffi.typeof("mts_outside"), outside, "outside"), struct)
    return _as_region(struct[0])


def top(output: Any, count: int = 5, *, labels: Sequence[str] = (), softmax: bool = True) -> list[tuple[Any, float]]:
    """The largest numbers of an output, the largest first.

    :param labels: names of the classes; without one its index stands
    :param softmax: scores are probabilities
    :return: (label or index, score)
    """
    tensor = ffi.new("mts_tensor *")
    array = _arrays.tensor_of(output, tensor)
    if not 0 <= count <= 1 << 20:
        raise invalid(f"a count of {count}")
    classes = ffi.new("mts_kit_class[]", min(count, max(array.size, 1)))
    written = lib.mts_kit_top(tensor, int(softmax), classes, len(classes))
    return [(labels[c.index] if c.index < len(labels) else c.index, c.score) for c in classes[0:written]]
