"""Models in, bundles out (libmtsc)."""
from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from typing import Any, Literal, Mapping, Optional, Sequence, Union

try:
    from mts import _mtsc
except ImportError as error:
    raise ImportError(f"this package was built without the compiler (MTS_COMPILER=OFF): {error}") from None
from mts._callbacks import Callbacks, Log, Progress, call_log, call_progress, progress_of
from mts._native import ERROR_BYTES, Error, Path, Status, encode, fill, invalid, read
from mts.frames import Filter, Fit

ffi = _mtsc.ffi
lib = _mtsc.lib
Model = Union[Path, tuple[Any, Any]]


@dataclass(frozen=True)
class Summary:
    """What a bundle that was written holds (mtsc_summary)."""

    tasks: int
    families: int  #: tasks that can be stitched together
    nodes: int
    blocks: int  #: stored blocks of weights
    weights_bytes: int
    weights_bytes_unshared: int  #: as they would be without sharing
    deviation: float  #: largest change that merging made to a weight


@dataclass
class Task:
    """A model, and what a camera app needs to know about it (mtsc_task).

    :param model: path of an ONNX or TensorFlow Lite file; or (module, example): a module of PyTorch and
        its example input, or a tuple of them, for torch.onnx.export
    :param color: of the image that input 0 takes; "none": the task takes tensors only
    :param mean: input values are (pixel - mean) / std for pixels 0..255: a number, or one for each channel
    :param shapes: by the name of an input: its shape, where the model leaves it open
    :param labels: names of the classes of output 0
    :param class_map: for each class of a data set, the index of a label
    :param values: by the name of an input: the number that it becomes
    :param crop: left, top, width and height of the part of a frame that the task sees, 0..1
    """

    model: Model
    color: Literal["none", "rgb", "bgr", "grey"] = "none"
    mean: Union[float, Sequence[float]] = 0.0
    std: Union[float, Sequence[float]] = 1.0
    fit: Fit = "task"
    filter: Filter = "task"
    fill: Sequence[int] = (0, 0, 0)
    labels: Optional[Sequence[str]] = None
    class_map: Optional[Sequence[int]] = None
    shapes: Mapping[Optional[str], Sequence[int]] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    crop: Sequence[float] = (0.0, 0.0, 0.0, 0.0)


class Options:
    """mtsc_options with the callbacks of the caller. `raised` has an exception of one of them."""

    def __init__(self, tolerance: float, progress: Progress, log: Log, what: str, more_memory: int = 0) -> None:
        self.raised: Optional[BaseException] = None
        self.text = ffi.new("char[]", ERROR_BYTES)
        self.struct = ffi.new("mtsc_options *")
        lib.mtsc_options_default_sized(self.struct, ffi.sizeof("mtsc_options"))
        self.callbacks = Callbacks(self, log=log, progress=progress_of(progress, what))
        fill(self.struct, [], tolerance=tolerance, more_memory=more_memory)
        self.struct.error_text, self.struct.error_size = self.text, len(self.text)
        self.struct.context = self.callbacks.handle
        if log is not None:
            self.struct.log = lib.mtsc_py_log
        if self.callbacks.functions["progress"]:
            self.struct.progress = lib.mtsc_py_progress

    def check(self, status: int) -> None:
        """Raises what went wrong: in a callback, else in the call."""
        raised, self.raised = self.raised, None
        if raised is not None:
            raise raised
        if status:
            raise Error(status, ffi.string(self.text).decode("utf-8", "replace"))


def summary_struct() -> Any:
    """An empty mtsc_summary."""
    return ffi.new("mtsc_summary *", {"size": ffi.sizeof("mtsc_summary")})


def _numbers(value: Any, most: int, what: str) -> list[float]:
    """Numbers of channels: the last one is that of all further channels, as in a task list."""
    try:
        numbers = [float(value)] if isinstance(value, (int, float)) else [float(item) for item in value]
    except (TypeError, ValueError):
        raise invalid(f"{what}: numbers are needed, not {value!r}") from None
    if not 1 <= len(numbers) <= most:
        raise invalid(f"{what}: {len(numbers)} numbers; 1 to {most} are needed")
    return numbers + [numbers[-1]] * (most - len(numbers))


def _export(model: tuple[Any, Any], path: str) -> None:
    """A module of PyTorch as an ONNX file."""
    try:
        import torch
    except ImportError:
        raise Error(Status.UNSUPPORTED, "a model of (module, example) needs PyTorch, which is not installed") from None
    if len(model) != 2:
        raise invalid(f"a model is a path or (module, example), not a tuple of {len(model)}")
    module, example = model
    was_training = module.training
    module.eval()
    try:
        arguments = example if isinstance(example, tuple) else (example,)
        torch.onnx.export(module, arguments, path, verbose=False)  # newer ones print each of their steps otherwise
    finally:
        module.train(was_training)


def _task(name: str, task: Task, folder: str, keep: list[Any]) -> Any:
    """A mtsc_task; `keep` lives as long as it is used."""
    struct = ffi.new("mtsc_task *")
    lib.mtsc_task_default_sized(struct, ffi.sizeof("mtsc_task"))
    model = task.model
    if isinstance(model, tuple):
        path = os.path.join(folder, f"{len(keep)}.onnx")
        _export(model, path)
        model = path
    keep += [ffi.new("char[]", encode(name)), ffi.new("char[]", encode(model, "path"))]
    struct.name, struct.model = keep[-2:]
    fill(struct, keep, color=task.color, fit=task.fit, filter=task.filter, labels=task.labels,
         class_map=task.class_map)
    mean, std = _numbers(task.mean, 4, "mean"), _numbers(task.std, 4, "std")
    struct.mean[0:4], struct.std[0:4] = mean, std
    try:
        struct.crop[0:4] = [float(part) for part in task.crop]
        struct.fill[0:len(task.fill)] = list(task.fill)
        _lists(struct, task, keep)
    except (TypeError, ValueError, OverflowError, IndexError) as error:
        raise invalid(f"task {name}: {error}") from None
    return struct


def _lists(struct: Any, task: Task, keep: list[Any]) -> None:
    shapes = ffi.new("mtsc_input_shape[]", len(task.shapes))
    for shape, (name, dims) in zip(shapes, task.shapes.items()):
        shape.size, shape.rank = ffi.sizeof("mtsc_input_shape"), len(dims)
        shape.dims[0:len(dims)] = list(dims)
        if name is not None:
            keep.append(ffi.new("char[]", encode(name)))
            shape.input = keep[-1]
    values = ffi.new("mtsc_input_value[]", len(task.values))
    for value, (name, number) in zip(values, task.values.items()):
        keep.append(ffi.new("char[]", encode(name)))
        value.size, value.input, value.number = ffi.sizeof("mtsc_input_value"), keep[-1], number
    keep += [shapes, values]
    if len(shapes):
        struct.shapes, struct.shape_count = shapes, len(shapes)
    if len(values):
        struct.values, struct.value_count = values, len(values)


def _as_task(name: str, given: Any) -> Task:
    if isinstance(given, Task):
        return given
    if isinstance(given, Mapping):
        try:
            return Task(**given)
        except TypeError as error:
            raise invalid(f"task {name}: {error}") from None
    if isinstance(given, (str, bytes, os.PathLike, tuple)):
        return Task(given)
    raise invalid(f"task {name}: a path, an mts.Task, a dict or (module, example) is needed, not "
                  f"{type(given).__name__}")


def compile(tasks: Union[Path, Mapping[str, Union[Model, Task, Mapping[str, Any]]]], out: Path, *,  # noqa: A001
            tolerance: float = 0.0, more_memory: int = 0, progress: Progress = None,
            log: Log = None) -> Summary:
    """Compiles models into one bundle. What they share is found, and stored once.

    :param tasks: path of a JSON task list (docs/CONFIG.md); or models by the names of their tasks: a path,
        an mts.Task, a dict of its fields, or (module, example) of PyTorch
    :param out: path of the bundle to write, which is replaced as a whole
    :param tolerance: 0: weights are shared where they are bit-equal; above: where they differ by no more
        than this times their block's largest magnitude
    :param more_memory: bytes that reading a model may take beyond what the size of its files allows, for
        trusted models that compute large constants
    :param progress: True: a bar (tqdm, if it is installed), or a function of the part that is done, 0..1,
        and of what is being done. An exception or a true result cancels
    :param log: called with a severity and a sentence
    :return: what the bundle holds
    :raises Error: IO, MALFORMED, UNSUPPORTED: of a model; INVALID_ARGUMENT; CANCELLED
    """
    options = Options(tolerance, progress, log, "compiling", more_memory)
    compiler, summary = ffi.new("mtsc_compiler **"), summary_struct()
    folder = tempfile.mkdtemp(prefix="mts-")
    try:
        options.check(lib.mtsc_compiler_create(options.struct, compiler))
        if isinstance(tasks, Mapping):
            for name, given in tasks.items():
                keep: list[Any] = []
                task = _task(name, _as_task(name, given), folder, keep)
                options.check(lib.mtsc_compiler_add(compiler[0], task))
        else:
            options.check(lib.mtsc_compiler_add_config(compiler[0], encode(tasks, "path")))
        options.check(lib.mtsc_compiler_write(compiler[0], encode(out, "path"), summary))
    finally:
        lib.mtsc_compiler_destroy(compiler)
        shutil.rmtree(folder, ignore_errors=True)
    return Summary(**read(summary, ffi.typeof("mtsc_summary")))


@dataclass(frozen=True)
class Appended:
    """What `append` made (mtsc_append_report). Sizes in bytes."""

    tasks: int
    tasks_added: int
    blocks_added: int
    weights_added: int  #: of these blocks
    base_bytes: int  #: of the first bundle
    result_bytes: int  #: of the one that results
    written_bytes: int  #: of the file that was written


def append(bundle: Path, extra: Path, out: Path, *, patch: bool = False) -> Appended:
    """Writes a bundle with the tasks of two bundles; equal blocks of weights are stored once.

    :param bundle: path of the first bundle
    :param extra: path of the second one, or of a patch that was made for the first one
    :param out: path of the file to write
    :param patch: True: only what the first bundle has not, which `append` applies later
    :return: what was added
    :raises Error: INVALID_ARGUMENT: both have a task of one name, or the patch is for another bundle;
        MALFORMED: a file is damaged
    """
    options = Options(0.0, None, None, "appending")
    report = ffi.new("mtsc_append_report *", {"size": ffi.sizeof("mtsc_append_report")})
    options.check(lib.mtsc_append(encode(bundle, "path"), encode(extra, "path"), encode(out, "path"), int(patch),
                                  options.struct, report))
    return Appended(**read(report, ffi.typeof("mtsc_append_report")))


def export(bundle: Path, task: Optional[str], out: Path, *, separate_inputs: bool = False) -> None:
    """Writes a task of a bundle as plain ONNX, which any other run-time can run.

    :param bundle: path of the bundle
    :param task: its name; None: all tasks as one model in which each block of weights is stored once
    :param out: path of the ONNX file to write
    :param separate_inputs: with all tasks: each has inputs of its own
    """
    options = Options(0.0, None, None, "exporting")
    source, target = encode(bundle, "path"), encode(out, "path")
    if task is None:
        options.check(lib.mtsc_export_stitched(source, target, int(separate_inputs), options.struct))
    else:
        options.check(lib.mtsc_export(source, encode(task), target, options.struct))


@ffi.def_extern()
def mtsc_py_log(context: Any, severity: int, text: Any) -> None:
    call_log(context, severity, text)


@ffi.def_extern(error=1)
def mtsc_py_progress(context: Any, fraction: float, what: Any) -> int:
    return call_progress(context, fraction, what)
