"""Bundles whose tasks share weights, are pruned or split, or that get a new task (libmtsz)."""
from __future__ import annotations

import builtins
import os
from dataclasses import dataclass
from typing import Any, Callable, Literal, Mapping, Optional, Sequence, Union

try:
    from mts import _mtsz
except ImportError as error:
    raise ImportError(f"this package was built without zip, prune and split (MTS_COMPRESS=OFF): {error}") from None
from mts import _arrays, frames
from mts._callbacks import Callbacks, Log, Progress
from mts._native import Path, encode, fill, invalid, read
from mts.compiler import Options, Summary

ffi = _mtsz.ffi
lib = _mtsz.lib
Criterion = Literal["l1", "apoz", "avg", "hybrid"]
Grouping = Literal["features", "random"]
Method = Literal["head", "low_rank", "last_blocks", "all"]
Data = Union[Path, Sequence[Any]]
_PICTURES = (".jpg", ".jpeg", ".png", ".bmp", ".webp")


@dataclass(frozen=True)
class ZipReport:
    """What zipping did (mtsz_zip_report)."""

    summary: Summary
    layers: int  #: that can be shared
    zipped: int  #: that are shared
    rolled_back: int
    shared_weights: float  #: fraction of the weights of a task's layers
    change: float  #: percentage of answers that changed: mean of the tasks; -1: there was no data
    change_worst: float
    zip_seconds: float
    retrain_seconds: float
    loss_first: float
    loss_last: float
    retrained: int  #: 1: the result of re-training was kept
    deviation: float  #: low_rank: the largest relative error of a weight
    rank: int  #: low_rank: the largest
    loss: float  #: max_loss, bytes: points of accuracy that are expected to be lost, mean of the tasks
    loss_worst: float
    bytes_before: int  #: max_loss, bytes: of all tasks' weights without sharing
    trials: int  #: max_loss, bytes: plans that were carried out
    tasks: int  #: max_loss, bytes: that were zipped


@dataclass(frozen=True)
class PruneReport:
    """What pruning did (mtsz_prune_report)."""

    summary: Summary
    channels: int
    channels_kept: int
    mul_adds: int
    mul_adds_kept: int
    weights_bytes: int
    weights_bytes_kept: int


@dataclass(frozen=True)
class SplitReport:
    """What splitting did (mtsz_split_report)."""

    summary: Summary
    mul_adds: int  #: of the whole classifier
    mul_adds_groups: int  #: of all subnets together
    change: float  #: percentage of images with another answer


@dataclass(frozen=True)
class ZipLayer:
    """What zipping did to a layer (mtsz_zip_layer)."""

    name: str
    channels: int
    shared: int
    change: float
    task: str
    rolled_back: int
    seconds_left: float
    rank: int  #: low_rank: the largest of a difference
    deviation: float  #: low_rank: the largest relative error
    loss: float  #: from here on with max_loss or bytes: points of accuracy that the layer is expected to cost
    bytes_saved: int
    form: str  #: "filters", "low_rank" or "none"
    parts: int  #: groups of tasks that share
    tasks: Optional[str]  #: their names: "a+b|c+d"


@dataclass(frozen=True)
class ZipTrial:
    """A plan that a search under max_loss or bytes has looked at (mtsz_zip_trial)."""

    bytes: float  #: part of what the tasks have without sharing
    loss: float  #: points of accuracy that are expected to be lost
    predicted: int  #: 0: carried out and measured
    within: int  #: 1: measured, and within the limit


@dataclass(frozen=True)
class TrainReport:
    """What training did (mtsz_train_report)."""

    summary: Summary
    best: int  #: number of the candidate that became the task
    accuracy: float  #: percentage of right answers to held-out images
    loss: float  #: mean cross-entropy there
    images: int  #: that were trained with
    held_out: int
    nodes_common: int  #: that the new task has in common with its base
    nodes: int
    bytes_added: int
    bytes_base: int
    frozen_seconds: float  #: of the frozen part, once for all candidates
    train_seconds: float
    resumed: int  #: epoch of the checkpoint that training went on from


@dataclass(frozen=True)
class TrainResult:
    """How the training of a candidate went (mtsz_train_result)."""

    number: int
    rate: float
    decay: float
    seed: int
    accuracy: float
    loss: float
    epochs: int
    best: int  #: epoch whose weights are kept


class _Images:
    """Images to calibrate with: what the callbacks of mtsz_data give."""

    def __init__(self, data: Optional[Data]) -> None:
        if isinstance(data, (str, bytes, os.PathLike)):
            folder = os.fsdecode(os.fspath(data))
            data = sorted(os.path.join(folder, name) for name in os.listdir(folder)
                          if name.lower().endswith(_PICTURES))
        self.data: Sequence[Any] = () if data is None else data
        if not hasattr(self.data, "__len__") or not hasattr(self.data, "__getitem__"):
            raise invalid("data: a folder, or a sequence of pictures, is needed")
        self.kept: Any = None

    def frame(self, index: int, frame: Any) -> int:
        """Describes a picture; its pixels live until the next call."""
        item = self.data[index]
        if isinstance(item, (str, os.PathLike)):
            from PIL import Image, ImageOps
            with Image.open(item) as picture:  # upright, as the program mts reads it
                item = ImageOps.exif_transpose(picture).convert("RGB")
        if isinstance(item, frames.Frame):
            frame[0] = item._frame[0]
            self.kept = item
        else:
            self.kept = frames.write(frame, item)
        return 0

    def tensor(self, index: int, task: str, number: int, out: Any, count: int) -> int:
        """Writes the tensor of a task that takes no frames: data[index][task], or [(task, number)]."""
        import numpy as np
        item = self.data[index]
        if not isinstance(item, Mapping):
            raise invalid(f"data[{index}]: task {task} takes tensors, so a dict of arrays is needed")
        array = np.ascontiguousarray(item[(task, number)] if (task, number) in item else item[task], np.float32)
        if array.size != count:
            raise invalid(f"data[{index}]: {array.size} numbers for input {number} of task {task}, which has {count}")
        ffi.memmove(out, _arrays.pointer(array), array.nbytes)
        return 0


def _call(function: Any, kind: str, report: type, bundle: Path, data: Optional[Data], out: Path, progress: Progress,
          log: Log, what: str, values: dict[str, Any], layer: Optional[Callable[[ZipLayer], Any]] = None,
          trial: Optional[Callable[[ZipTrial], Any]] = None,
          told: Optional[Callable[[TrainResult], Any]] = None) -> Any:
    """One of the four functions: they differ in their options and reports alone."""
    options = Options(0.0, progress, log, what)
    images = _Images(data)
    struct = ffi.new("mtsz_data *")
    lib.mtsz_data_default_sized(struct, ffi.sizeof("mtsz_data"))
    callbacks = Callbacks(options, frame=images.frame, tensor=images.tensor, layer=layer, trial=trial, result=told)
    struct.count, struct.context = len(images.data), callbacks.handle
    if len(images.data) and isinstance(images.data[0], Mapping):
        struct.tensor = lib.mtsz_py_tensor
    elif len(images.data):
        struct.frame = lib.mtsz_py_frame
    how = ffi.new(f"mtsz_{kind}_options *")
    getattr(lib, f"mtsz_{kind}_options_default_sized")(how, ffi.sizeof(f"mtsz_{kind}_options"))
    keep: list[Any] = []
    candidates = values.pop("candidates", None)
    fill(how, keep, **values)
    if candidates is not None:
        keep.append(_candidates(candidates))
        how.candidates, how.candidate_count = keep[-1], len(keep[-1])
    if layer is not None:
        how.context, how.layer = callbacks.handle, lib.mtsz_py_layer
    if trial is not None:
        how.context, how.trial = callbacks.handle, lib.mtsz_py_trial
    if told is not None:
        how.context, how.result = callbacks.handle, lib.mtsz_py_result
    result = ffi.new(f"mtsz_{kind}_report *", {"size": ffi.sizeof(f"mtsz_{kind}_report")})
    result.summary.size = ffi.sizeof("mtsc_summary")
    options.check(function(encode(bundle, "path"), struct, how, encode(out, "path"), options.struct, result))
    fields = read(result, ffi.typeof(f"mtsz_{kind}_report"))
    return report(**{**fields, "summary": Summary(**fields["summary"])})


def zip(bundle: Path, data: Optional[Data], out: Path, *, share: float = 0.9, tasks: Optional[Sequence[str]] = None,  # noqa: A001
        form: Literal["filters", "uxyz", "low_rank", "none"] = "filters",
        assignment: Literal["optimal", "greedy"] = "optimal",
        round: int = 4, layers: Optional[Sequence[str]] = None, base: Optional[Sequence[str]] = None,  # noqa: A002
        max_change: float = 100.0, retrain_seconds: float = 0.0, seed: int = 1, low_rank: float = 0.0, max_rank: int = 0,
        max_loss: float = 0.0, bytes: float = 0.0, forms: int = 0, trial: Optional[Callable[[ZipTrial], Any]] = None,  # noqa: A002
        layer: Optional[Callable[[ZipLayer], Any]] = None, progress: Progress = None, log: Log = None) -> ZipReport:
    """Makes tasks of a bundle share weights (docs/ZIP.md).

    :param bundle: path of the bundle to read
    :param data: images to calibrate with: a folder of pictures, or a sequence of frames (as Session.submit
        takes them), of paths of pictures, or, for tasks that take no frames, of dicts of arrays by task; None: for
        low_rank
    :param out: path of the bundle to write, another file
    :param share: part of the channels of each layer that is shared, 0..1
    :param tasks: names of 2 to 64 tasks; None: all. Others are copied
    :param round: the number of shared channels is a multiple of this
    :param layers: only layers whose names begin with one of these; None: all
    :param base: names of those tasks whose weights keep every bit
    :param max_change: most percent of changed answers of a task
    :param retrain_seconds: of training afterwards
    :param low_rank: above 0: instead of sharing channels, weights that differ by merged adapters become one weight and
        small ones; largest relative error of a weight, such as 1e-5
    :param max_rank: with low_rank: the largest rank of a difference; 0: so that half of the numbers are saved
    :param max_loss: above 0: a limit instead of a ratio, in points of accuracy
    :param bytes: above 0: the same with a limit of bytes, as a part of what the tasks have without sharing
    :param forms: with a limit: forms that may be chosen, bits 1 (filters) and 4 (low rank); 0: both
    :param trial: with a limit: called with a ZipTrial for each plan that is looked at
    :param layer: called with a ZipLayer after each layer
    :param progress: as in mts.compile
    :raises Error: INVALID_ARGUMENT: the tasks do not align, or the data does not fit; LIMIT; CANCELLED
    """
    return _call(lib.mtsz_zip, "zip", ZipReport, bundle, data, out, progress, log, "zipping",
                 dict(tasks=tasks, share=share, form=form, assignment=assignment, round=round, layers=layers, base=base,
                      max_change=max_change, retrain_seconds=retrain_seconds, seed=seed, low_rank=low_rank,
                      max_rank=max_rank, max_loss=max_loss, bytes=bytes, forms=forms), layer, trial)


def prune(bundle: Path, data: Optional[Data], out: Path, *, ratio: float = 0.5,
          tasks: Optional[Sequence[str]] = None, criterion: Criterion = "l1",
          target: Literal["layer", "global", "flops", "bytes"] = "layer", round: int = 1, refit: bool = True,  # noqa: A002
          together: bool = False, progress: Progress = None, log: Log = None) -> PruneReport:
    """Removes channels of tasks, together with the weights that belong to them (docs/PRUNE.md).

    :param data: as in mts.zip; None: for "l1" without refit
    :param ratio: part of `target` that is removed, 0..0.99
    :param criterion: what makes a channel important
    :param refit: layers that read removed channels are fitted to compute nearly what they did
    :param together: aligned tasks lose the same channels, so that they still share weights
    """
    return _call(lib.mtsz_prune, "prune", PruneReport, bundle, data, out, progress, log, "pruning",
                 dict(tasks=tasks, criterion=criterion, target=target, ratio=ratio, round=round, refit=int(refit),
                      together=int(together)))


def split(bundle: Path, data: Data, out: Path, *, task: str, groups: int = 2, ratio: float = 0.5,
          criterion: Criterion = "hybrid", retrain_seconds: float = 0.0, seed: int = 1, trunk: float = 0.0,
          keep: bool = False, labels: Optional[Sequence[int]] = None, grouping: Grouping = "features",
          search: bool = False, progress: Progress = None, log: Log = None) -> SplitReport:
    """Splits a classifier into subnets, each of which knows one group of the classes (docs/SPLIT.md).

    :param data: as in mts.zip
    :param task: the classifier
    :param groups: number of subnets
    :param ratio: part of the multiply-adds behind the trunk that each subnet loses, 0..0.99
    :param trunk: the first layers, with up to this part of the multiply-adds, stay common
    :param keep: the whole classifier stays in the bundle too
    :param labels: class of each image; subnets learn them beside what the whole network answers
    :param grouping: classes that look alike to the network together, or "random" ones, to compare with
    :param search: the threshold of "hybrid" is searched for each group
    """
    return _call(lib.mtsz_split, "split", SplitReport, bundle, data, out, progress, log, "splitting",
                 dict(task=task, groups=groups, ratio=ratio, criterion=criterion, retrain_seconds=retrain_seconds,
                      seed=seed, trunk=trunk, keep=int(keep), labels=None if labels is None else list(labels),
                      grouping=grouping, search=int(search)))


def _candidates(given: Sequence[tuple[float, float, int]]) -> Any:
    """(rate, decay, seed) of each candidate as an array of structs."""
    array = ffi.new("mtsz_train_candidate[]", len(given))
    for to, one in builtins.zip(array, given):
        try:
            to.rate, to.decay, to.seed = one
        except (TypeError, ValueError, OverflowError) as error:
            raise invalid(f"candidates: {one} is not (rate, decay, seed): {error}") from None
    return array


def _labelled(data: Any, labels: Optional[Sequence[Any]]) -> tuple[Any, Sequence[Any]]:
    """Pictures of a folder that has a folder for each class, with their classes; others as they are."""
    if labels is not None or not isinstance(data, (str, bytes, os.PathLike)):
        if labels is None:
            raise invalid("labels: one is needed for each image, unless data is a folder with a folder for each class")
        return data, labels
    folder = os.fsdecode(os.fspath(data))
    pictures: list[str] = []
    names: list[str] = []
    for name in sorted(os.listdir(folder)):
        inner = os.path.join(folder, name)
        if name.startswith(".") or not os.path.isdir(inner):
            continue
        found = sorted(os.path.join(inner, file) for file in os.listdir(inner) if file.lower().endswith(_PICTURES))
        if not found:
            raise invalid(f"data: '{inner}' holds no pictures")
        pictures += found
        names += [name] * len(found)
    return pictures, names


def train(bundle: Path, data: Data, out: Path, *, task: str, labels: Optional[Sequence[Any]] = None,
          class_names: Optional[Sequence[str]] = None, base: Optional[str] = None,
          class_map: Optional[Sequence[int]] = None, method: Method = "head", blocks: int = 1, rank: int = 2,
          candidate_count: int = 8, candidates: Optional[Sequence[tuple[float, float, int]]] = None, rate: float = 0.0,
          decay: float = -1.0, epochs: int = 0, patience: int = 10, batch: int = 64, held_out: float = 0.2,
          forms: int = 2, seed: int = 1, checkpoint: Optional[Path] = None,
          result: Optional[Callable[[TrainResult], Any]] = None, progress: Progress = None,
          log: Log = None) -> TrainReport:
    """Trains a new task from labelled images on the frozen network of a task of a bundle (docs/TRAIN.md).

    :param data: as in mts.zip; or, without labels, a folder that has a folder of pictures for each class
    :param task: name of the new task
    :param labels: class of each image: its number, or one of class_names
    :param class_names: names of the classes; None: the labels, sorted
    :param base: the task whose network the new one grows from; None: the one whose features tell the classes apart best
    :param class_map: for `mts eval`: the task's class of each class of a data set
    :param method: what is trained: "head", "low_rank", "last_blocks" or "all" (a copy of everything)
    :param blocks: at the end, that "low_rank" and "last_blocks" train
    :param candidate_count: trainings with other rates, decays and seeds at once; the best one becomes the task
    :param candidates: (rate, decay, seed) of each, instead
    :param rate: highest learning rate, relative to the size of what it changes; 0: the method's own
    :param decay: weight decay; -1: the method's own
    :param epochs: most rounds over the images; 0: the method's own
    :param patience: epochs without getting better, after which a candidate stops; 0: never
    :param held_out: part of the images of each class that is held out to choose by
    :param forms: of each image: itself, its mirror image, and both moved
    :param checkpoint: file that keeps the training so far; if it is there, training goes on from it
    :param result: called with a TrainResult for each candidate at the end
    :raises Error: INVALID_ARGUMENT: a label is no class, a class has less than two images, or the data does not fit;
        UNSUPPORTED: the base is no classifier; CANCELLED
    """
    data, labels = _labelled(data, labels)
    names = sorted({str(label) for label in labels}) if class_names is None else list(class_names)
    numbers = {name: number for number, name in enumerate(names)}
    by_name = class_names is None or any(isinstance(label, str) for label in labels)
    try:
        given = [numbers[str(label)] if by_name else int(label) for label in labels]
    except KeyError as error:
        raise invalid(f"labels: there is no class {error}") from None
    except (TypeError, ValueError) as error:
        raise invalid(f"labels: {error}") from None
    values: dict[str, Any] = dict(
        task=task, base=base, labels=given, class_names=names, class_map=class_map, method=method, blocks=blocks,
        rank=rank, candidate_count=candidate_count, candidates=candidates, rate=rate, decay=decay, epochs=epochs,
        patience=patience, batch=batch, held_out=held_out, forms=forms, seed=seed,
        checkpoint=None if checkpoint is None else encode(checkpoint, "path"))
    return _call(lib.mtsz_train, "train", TrainReport, bundle, data, out, progress, log, "training", values, told=result)


@ffi.def_extern(error=1)
def mtsz_py_frame(context: Any, index: int, frame: Any) -> int:
    return ffi.from_handle(context).call("frame", 1, index, frame)


@ffi.def_extern(error=1)
def mtsz_py_tensor(context: Any, index: int, task: Any, number: int, out: Any, count: int) -> int:
    return ffi.from_handle(context).call("tensor", 1, index, ffi.string(task).decode(), number, out, count)


@ffi.def_extern()
def mtsz_py_layer(context: Any, layer: Any) -> None:
    ffi.from_handle(context).call("layer", None, ZipLayer(**read(layer, ffi.typeof("mtsz_zip_layer"))))


@ffi.def_extern()
def mtsz_py_trial(context: Any, trial: Any) -> None:
    ffi.from_handle(context).call("trial", None, ZipTrial(**read(trial, ffi.typeof("mtsz_zip_trial"))))


@ffi.def_extern()
def mtsz_py_result(context: Any, result: Any) -> None:
    ffi.from_handle(context).call("result", None, TrainResult(**read(result, ffi.typeof("mtsz_train_result"))))
