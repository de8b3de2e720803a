"""Devices, runtimes and bundles."""
from __future__ import annotations

import os
from typing import Any, Literal, NamedTuple, Optional, Sequence, Union

from mts._callbacks import Callbacks, Log
from mts._handles import Gate, Node, Owner
from mts._native import Path, encode, ffi, fill, invalid, lib, read, text_at

Report = Literal["text", "json", "dot"]
Use = Literal["auto", "off", "on"]


class Device(NamedTuple):
    """A device that can be opened (mts_device_desc)."""

    id: str  #: what Runtime(device) takes: "cuda:0", "opencl:0", "cpu", "reference"
    name: str  #: of the hardware
    driver: str  #: version
    is_gpu: int  #: 1: a GPU
    compute_units: int  #: as the driver counts them; of "cpu" its threads
    vector_floats: int  #: floats in the vectors that kernels use
    memory_bytes: int
    reads: int  #: kinds of memory that it reads without a copy, as bits 1 << kind


class Port(NamedTuple):
    """An input or an output of a task (mts_port_desc)."""

    name: str  #: in the model
    type: str  #: "float32", "uint8", ...: the name of a numpy dtype
    shape: tuple[int, ...]


class TaskInfo(NamedTuple):
    """A task of a bundle (mts_task_desc)."""

    name: str
    takes_frames: bool  #: input 0 is an image or a batch of images
    labels: tuple[str, ...]  #: of the classes of output 0
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    fit: str  #: of frames whose region leaves it to the task
    filter: str
    fill: tuple[int, ...]  #: red, green, blue of letterbox bars
    crop: tuple[float, ...]  #: left, top, width, height of the part it sees, 0..1; zeros: all of the frame
    class_map: tuple[int, ...]  #: for each class of the data set, the index of a label


def _device(description: Any) -> Device:
    return Device(**read(description, ffi.typeof("mts_device_desc")))


def devices() -> list[Device]:
    """The devices that can be opened now, in the order in which Runtime("auto") prefers them."""
    found = []
    for index in range(lib.mts_device_count()):
        description = ffi.new("mts_device_desc *", {"size": ffi.sizeof("mts_device_desc")})
        if lib.mts_device_describe(index, description) == 0:
            found.append(_device(description))
    return found


def report_of(function: Any, handle: Any, report: Report, gate: Gate) -> Union[str, dict[str, Any]]:
    """The text of a report, or for "json" what it holds. Inside the gate."""
    form = lib.MTS_REPORT_TEXT if report == "text" else lib.MTS_REPORT_JSON if report == "json" else \
        lib.MTS_REPORT_DOT if report == "dot" else None
    if form is None:
        raise invalid(f"report: there is no '{report}', but text, json, dot")
    needed = ffi.new("size_t *")
    status = function(handle, form, ffi.NULL, 0, needed)
    if needed[0] == 0:
        gate.fail(status)
    gate.text[0] = b"\0"  # that nothing fits in 0 bytes
    text = ffi.new("char[]", needed[0])
    status = function(handle, form, text, needed[0], needed)
    if status:
        gate.fail(status)
    result = ffi.string(text).decode("utf-8", "replace")
    if report != "json":
        return result
    import json  # here: it is not needed by every program
    return json.loads(result)


class Runtime(Owner):
    """A device with its caches and log (mts_runtime).

    Threads: any thread may call any object of a runtime. They wait for each other; different runtimes
    are independent. The GIL is released while the library works. A callback may not call its runtime,
    except as mts.Session says for `done`.

    :param device: id of a device, or "auto": a GPU, else the processor
    :param cache_dir: folder of kernels, plans and measurements; None: no cache
    :param threads: of device "cpu"; 0: as many as there are processors that this thread may run on
    :param devices: ids of several devices, on which sessions are placed; `device` is not read then
    :param queue: hints for the GPU of a phone about priority and clocks (mts_queue_mode)
    :param log: called with a severity ("error", "warning", "info", "debug") and a sentence
    :raises Error: NOT_FOUND: no such device; INVALID_ARGUMENT: an option is out of its range
    """

    def __init__(self, device: str = "auto", *, devices: Optional[Sequence[str]] = None,
                 cache_dir: Optional[Path] = None, threads: int = 0,
                 replay: Use = "auto", gemm: Use = "auto", flush_launches: int = 0, check: bool = False,
                 queue: Literal["default", "background", "smooth", "fast"] = "default", log: Log = None) -> None:
        gate = Gate()
        node = Node(gate, "runtime", None, lambda slot: lib.mts_runtime_destroy(ffi.cast("mts_runtime **", slot)))
        options = ffi.new("mts_runtime_options *")
        lib.mts_runtime_options_default_sized(options, ffi.sizeof("mts_runtime_options"))
        keep: list[Any] = []
        if cache_dir is not None:
            keep.append(ffi.new("char[]", encode(cache_dir, "path")))
            options.cache_dir = keep[-1]
        fill(options, keep, device=None if devices else device, devices=devices, threads=threads, replay=replay, gemm=gemm,
             flush_launches=flush_launches, check=int(check), queue=queue)
        options.error_text, options.error_size = gate.text, len(gate.text)
        if log is not None:
            callbacks = Callbacks(gate, log=log)
            node.keep.append(callbacks)
            options.log, options.context = lib.mts_py_log, callbacks.handle
        out = ffi.new("mts_runtime **")
        gate.enter()
        try:
            status = lib.mts_runtime_create(options, out)
            if status:
                gate.fail(status)
            node.opened(out[0])
            self._node = node
        finally:
            gate.leave()

    def _describe(self, function: Any, kind: str) -> Any:
        result = ffi.new(f"{kind} *", {"size": ffi.sizeof(kind)})
        gate = self._node.gate
        gate.enter()
        try:
            status = function(self._node.use(), result)
            if status:
                gate.fail(status)
        finally:
            gate.leave()
        return result[0]

    @property
    def device(self) -> Device:
        """The device that is open."""
        return _device(self._describe(lib.mts_runtime_device, "mts_device_desc"))

    def cache_stats(self) -> dict[str, Any]:
        """How the cache folder was used (mts_cache_stats)."""
        return read(self._describe(lib.mts_runtime_cache, "mts_cache_stats"), ffi.typeof("mts_cache_stats"))

    def measure(self) -> dict[str, float]:
        """Highest rates of the device (mts_ceilings); takes a second or two."""
        return read(self._describe(lib.mts_runtime_measure, "mts_ceilings"), ffi.typeof("mts_ceilings"))


class Bundle(Owner):
    """Compiled tasks, verified (mts_bundle).

    :param runtime: closing it closes the bundle
    :param source: path of a .mtsb file, which must not be changed while it is open; or its bytes
    :raises Error: NOT_FOUND: no such file; MALFORMED: it is damaged; UNSUPPORTED: another version
    """

    def __init__(self, runtime: Runtime, source: Union[Path, bytes, bytearray, memoryview]) -> None:
        if not isinstance(runtime, Runtime):
            raise invalid(f"a bundle needs an mts.Runtime, not {type(runtime).__name__}")
        gate = runtime._node.gate
        node = Node(gate, "bundle", runtime._node,
                    lambda slot: lib.mts_bundle_destroy(ffi.cast("mts_bundle **", slot)))
        out = ffi.new("mts_bundle **")
        gate.enter()
        try:
            if isinstance(source, (bytes, bytearray, memoryview)):
                data = bytes(source)  # verified once, so nobody may change it
                node.keep.append(data)
                status = lib.mts_bundle_open_memory(runtime._node.use(), ffi.from_buffer(data), len(data), out)
            else:
                status = lib.mts_bundle_open(runtime._node.use(), encode(source, "path"), out)
            if status:
                gate.fail(status)
            node.opened(out[0])
            self._node = node
            self._tasks = tuple(self._task(out[0], i) for i in range(lib.mts_bundle_task_count(out[0])))
        finally:
            gate.leave()

    @staticmethod
    def _port(function: Any, handle: Any, task: Any, index: int) -> Port:
        port = ffi.new("mts_port_desc *", {"size": ffi.sizeof("mts_port_desc")})
        function(handle, task, index, port)
        values = read(port, ffi.typeof("mts_port_desc"))
        return Port(values["name"], values["type"], tuple(port.dims[0:port.rank]))

    @classmethod
    def _task(cls, handle: Any, index: int) -> TaskInfo:
        task = ffi.new("mts_task_desc *", {"size": ffi.sizeof("mts_task_desc")})
        lib.mts_bundle_task(handle, index, task)
        values = read(task, ffi.typeof("mts_task_desc"))
        return TaskInfo(
            values["name"], bool(task.takes_frames), tuple(text_at(task.labels[i]) or "" for i in range(task.label_count)),
            tuple(cls._port(lib.mts_bundle_input, handle, task.name, i) for i in range(task.input_count)),
            tuple(cls._port(lib.mts_bundle_output, handle, task.name, i) for i in range(task.output_count)),
            values["fit"], values["filter"], tuple(task.fill[0:3]), tuple(task.crop),
            tuple(task.class_map[0:task.class_count]) if task.class_count else ())

    @property
    def tasks(self) -> tuple[TaskInfo, ...]:
        """Its tasks, in their order in the file."""
        return self._tasks

    def inspect(self, report: Report = "json") -> Union[str, dict[str, Any]]:
        """What the bundle holds: tasks, families, bytes of weights with and without sharing.

        :param report: "json": a dict; "text": lines for people; "dot": a graph for Graphviz
        """
        gate = self._node.gate
        gate.enter()
        try:
            return report_of(lib.mts_bundle_inspect, self._node.use(), report, gate)
        finally:
            gate.leave()


def inspect(bundle: Union[Bundle, Path], report: Report = "json") -> Union[str, dict[str, Any]]:
    """What a bundle or a bundle file holds, see Bundle.inspect. Opens no device."""
    if isinstance(bundle, Bundle):
        return bundle.inspect(report)
    if not isinstance(bundle, (str, bytes, os.PathLike)):
        raise invalid(f"a bundle or a path is needed, not {type(bundle).__name__}")
    with Runtime("reference") as runtime, Bundle(runtime, bundle) as opened:
        return opened.inspect(report)
