"""Sessions: frames and tensors in, outputs out."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Literal, Mapping, NamedTuple, Optional, Sequence, Union

from mts import _arrays, frames
from mts._callbacks import Callbacks, Progress, progress_of
from mts._handles import Node, Owner
from mts._native import INFINITE, Error, Status, encode, ffi, fill, invalid, lib, read
from mts.frames import Frame, FrameLike, Region
from mts.runtime import Bundle, Report, TaskInfo, Use, report_of

if TYPE_CHECKING:
    import numpy as np

Outputs = dict[str, list["np.ndarray"]]
Done = Callable[[int, Status], Any]


class Flow(NamedTuple):
    """What became of the submissions of a session (mts_flow)."""

    submitted: int  #: the sum of the others
    completed: int  #: finished and consumed
    dropped: int
    failed: int
    in_flight: int


class TaskStats(NamedTuple):
    """How the runs of a task went (mts_task_stats)."""

    runs: int
    p50_ms: float  #: of the last 128 runs, milliseconds
    p95_ms: float
    group: int  #: task group, 0..SessionStats.groups - 1


class SessionStats(NamedTuple):
    """What a session needs, and how it was planned (mts_session_stats). Sizes in bytes."""

    weight_bytes: int
    activation_bytes: int
    workspace_bytes: int
    peak_bytes: int  #: all of these together
    mul_adds: int  #: of a run
    launches: int  #: of a run
    groups: int
    kernels: int
    precision: str  #: in use
    planning_ms: float
    predicted_ms: float
    persistent_launches: int


class Launch(NamedTuple):
    """One launch of a run, measured (mts_launch_profile)."""

    kind: str
    label: str  #: kind, number of computations and name of the layer
    kernel: str
    group: int
    computations: int
    tasks: int
    mul_adds: int
    bytes: int
    start_ms: float
    duration_ms: float
    tiles: int


def _milliseconds(seconds: Optional[float]) -> int:
    if seconds is None:
        return INFINITE
    try:
        value = float(seconds) * 1000
        if not value >= 0:
            raise ValueError
    except (TypeError, ValueError):
        raise invalid(f"a timeout of {seconds} seconds") from None
    return min(int(value) + (value > int(value)), INFINITE - 1) if value < INFINITE else INFINITE - 1


def _chosen(bundle: Bundle, tasks: Any, priorities: Any) -> list[TaskInfo]:
    """The tasks that run; names that the bundle lacks are left to the library."""
    if tasks is not None and (not isinstance(tasks, (list, tuple)) or not tasks or
                              not all(isinstance(name, str) for name in tasks)):
        raise invalid(f"tasks: a list of names is needed, not {tasks!r}")
    count = len(bundle.tasks if tasks is None else tasks)
    if priorities is not None and (not hasattr(priorities, "__len__") or len(priorities) != count):
        raise invalid(f"priorities: a list of {count} numbers is needed, not {priorities!r}")
    if tasks is None:
        return list(bundle.tasks)
    named = {task.name: task for task in bundle.tasks}
    return [named[name] for name in tasks if name in named]


class Session(Owner):
    """A bundle on a device with a plan, ready to run (mts_session).

    :param bundle: closing it closes the session
    :param strategy: how groups of tasks are executed
    :param precision: how the device stores and multiplies numbers
    :param tasks: names of those that run; None: all
    :param separate_inputs: each task has an input of its own
    :param zero_copy_inputs: `input` keeps float32 arrays instead of copying them; the device reads them in
        every run, and they must not change from a submission to the end of its wait
    :param zero_copy_frames: the device reads frames where they lie if it can. They must not change until
        their run was consumed or dropped; until then the session keeps the array. `poll` then consumes
        every run that has finished
    :param grouping: "measured": the fastest groups, found by measuring for seconds
    :param memory_budget: most bytes; 0: no limit
    :param priorities: a number for each task; those with a higher one run in earlier groups
    :param tuning_ms: milliseconds for measuring kernels
    :param frames_in_flight: slots for submissions that were not consumed yet, 1..16
    :param when_full: what `submit` does without a free slot
    :param persistent: few persistent launches, where the device can
    :param packed_channels: four channels side by side, on GPUs
    :param weight_images: such convolutions read weights through images, on OpenCL
    :param placement: on a runtime of several devices: stages of all tasks, or whole tasks in groups
    :param placement_goal: most frames a second, or a frame alone soonest
    :param weights_reserve: bytes on the device for weights that `add` and `update` bring
    :param on_device_lost: "replan": the session goes on on the devices that remain
    :param done: called with a ticket and a status, inside of calls of the session, once for every ticket.
        It may call `output`, `output_ticket`, `enable`, `rate` and `rate_hz`. Required by "block"
    :param progress: True: a bar (tqdm, if it is installed), or a function of the part that is done, 0..1,
        and of what is being done. An exception or a true result cancels
    :raises Error: NOT_FOUND: no such task; LIMIT: the budget or the memory is too small; CANCELLED
    """

    def __init__(self, bundle: Bundle, *,
                 strategy: Literal["sequential", "compact", "netfuse", "dense"] = "compact",
                 precision: Literal["auto", "float32", "float16_storage", "float16"] = "auto",
                 tasks: Optional[Sequence[str]] = None, separate_inputs: bool = False,
                 zero_copy_inputs: bool = False, zero_copy_frames: bool = False,
                 grouping: Literal["family", "measured"] = "family", memory_budget: int = 0,
                 priorities: Optional[Sequence[int]] = None, tuning_ms: int = 0, frames_in_flight: int = 1,
                 when_full: Literal["busy", "block", "drop_oldest"] = "busy", persistent: bool = False,
                 packed_channels: Use = "auto", weight_images: Use = "auto",
                 placement: Literal["auto", "stages", "groups"] = "auto",
                 placement_goal: Literal["auto", "throughput", "latency"] = "auto",
                 on_device_lost: Literal["fail", "replan"] = "fail", weights_reserve: int = 0,
                 done: Optional[Done] = None, progress: Progress = None) -> None:
        if not isinstance(bundle, Bundle):
            raise invalid(f"a session needs an mts.Bundle, not {type(bundle).__name__}")
        chosen = _chosen(bundle, tasks, priorities)
        keep: list[Any] = []
        options = ffi.new("mts_session_options *")
        lib.mts_session_options_default_sized(options, ffi.sizeof("mts_session_options"))
        fill(options, keep, strategy=strategy, precision=precision, tasks=tasks,
             separate_inputs=int(separate_inputs), zero_copy_inputs=int(zero_copy_inputs), grouping=grouping,
             memory_budget=memory_budget, priorities=priorities, tuning_ms=tuning_ms,
             frames_in_flight=frames_in_flight, when_full=when_full, persistent=int(persistent),
             packed_channels=packed_channels, weight_images=weight_images, placement=placement,
             placement_goal=placement_goal, on_device_lost=on_device_lost, weights_reserve=weights_reserve)
        self._tasks = {task.name: task for task in chosen}
        self._names = {name: ffi.new("char[]", name.encode()) for name in self._tasks}
        self._changed = False  # tasks that a change has removed, or not yet added, are in _tasks too
        self._zero_copy = int(zero_copy_frames), bool(zero_copy_inputs)
        self._frames: dict[int, Any] = {}  # arrays of zero-copy frames in flight, by ticket
        self._arrays: dict[tuple[str, int], Any] = {}  # arrays of zero-copy inputs
        self._frame = ffi.new("mts_frame *", {"size": ffi.sizeof("mts_frame")})  # of arrays
        self._described = ffi.new("mts_frame *")  # of objects that describe themselves
        self._ticket = ffi.new("mts_ticket *")
        self._tensor = ffi.new("mts_tensor *")
        self._gate = bundle._node.gate
        self._create(bundle, options, done, progress_of(progress, "planning"))

    def _create(self, bundle: Bundle, options: Any, done: Optional[Done], progress: Any) -> None:
        """Sets the callbacks, and has the library make the session."""
        gate, out, frames_kept = self._gate, ffi.new("mts_session **"), self._frames
        node = Node(gate, "session", bundle._node,
                    lambda slot: lib.mts_session_destroy(ffi.cast("mts_session **", slot)))

        def finished(ticket: int, status: Status) -> None:  # without self, which it would keep
            frames_kept.pop(ticket, None)
            if done is not None:
                done(ticket, status)
        callbacks = Callbacks(gate, done=finished, progress=progress)
        node.keep += [callbacks, self._frames, self._arrays]  # runs in flight may outlive this object
        options.context = callbacks.handle
        if done is not None or self._zero_copy[0]:
            options.done = lib.mts_py_done
        if progress is not None:
            options.progress = lib.mts_py_progress
        gate.enter()
        try:
            opened = bundle._node.use()
            status = lib.mts_session_create(bundle._node.parent.use(), opened, options, out)
            if status:
                gate.fail(status)
            node.opened(out[0])
            self._node = node
        finally:
            gate.leave()

    @property
    def tasks(self) -> tuple[TaskInfo, ...]:
        """The tasks that run."""
        return tuple(info for name, info in self._tasks.items() if not self._changed or self._runs(name))

    def _runs(self, task: str) -> bool:
        """Whether the session has the task now: changes are made between frames."""
        stats = ffi.new("mts_task_stats *", {"size": ffi.sizeof("mts_task_stats")})
        entered = self._gate.enter(in_done=True)
        try:
            there = lib.mts_session_task_stats(self._node.use(), self._names[task], stats) == 0
            self._gate.text[0] = b"\0"
            return there
        finally:
            if entered:
                self._gate.leave()

    def _name(self, task: str) -> Any:
        name = self._names.get(task) if isinstance(task, str) else None
        return name if name is not None else encode(task)

    # ---- inputs ----

    def input(self, task: str, array: np.ndarray, index: int = 0) -> None:
        """Sets an input of a task for all later submissions. Tasks that share the input share the value.

        :param task: its name
        :param array: has the type and shape of the input; copied, see zero_copy_inputs
        :param index: number of the input
        :raises Error: NOT_FOUND: no such task or input; INVALID_ARGUMENT: another type or shape; BUSY: no
            slot is free, or a frame still waits
        """
        gate = self._gate
        gate.enter()
        try:
            handle = self._node.use()
            tensor = ffi.new("mts_tensor *")
            name = self._name(task)
            ports = self._tasks[task].inputs if isinstance(task, str) and task in self._tasks else ()
            index = self._index(index)
            dense = _arrays.tensor_of(array, tensor, ports[index].shape if index < len(ports) else None)
            status = lib.mts_session_input(handle, name, index, tensor)
            if status:
                gate.fail(status)
            if self._zero_copy[1]:
                self._arrays[task, index] = dense
        finally:
            gate.leave()

    @staticmethod
    def _index(index: Any) -> int:
        if not isinstance(index, int) or not 0 <= index < INFINITE:
            raise invalid(f"an index of {index!r}")
        return index

    def _write(self, frame: FrameLike) -> tuple[Any, Any]:
        """A mts_frame, and what has to live while its pixels are read. Inside the gate."""
        if isinstance(frame, Frame):
            described, kept = self._described, frame
            described[0] = frame._frame[0]  # another session may use it at the same time
        else:
            described = self._frame
            kept = frames.write(described, frame)
        described.zero_copy = self._zero_copy[0]
        return described, kept

    def input_frame(self, task: str, frame: FrameLike) -> None:
        """Sets input 0 of one task to a frame, in a session with separate_inputs or of one task.

        :param frame: as in `submit`; copied during the call
        """
        gate = self._gate
        gate.enter()
        try:
            handle = self._node.use()
            described, kept = self._write(frame)
            described.zero_copy = 0
            status = lib.mts_session_input_frame(handle, self._name(task), described)
            del kept
            if status:
                gate.fail(status)
        finally:
            gate.leave()

    def regions(self, regions: Sequence[Region], task: Optional[str] = None) -> None:
        """Makes image i of a batch show regions[i] of every later frame.

        :param regions: empty: every image shows the frame's own region again
        :param task: with an input of its own; None: all tasks that take frames
        """
        array = frames.regions_of(regions)
        gate = self._gate
        gate.enter()
        try:
            status = lib.mts_session_regions(self._node.use(), ffi.NULL if task is None else self._name(task), array,
                                             len(regions))
            if status:
                gate.fail(status)
        finally:
            gate.leave()

    # ---- runs ----

    def submit(self, frame: Optional[FrameLike] = None) -> int:
        """Starts a run, or keeps the frame until the device is free. Does not wait for the run.

        :param frame: an mts.Frame; or uint8, height x width x 3 (RGB), x 4 (RGBA) or height x width (grey);
            or a picture of PIL. Its pixels are read during the call (but see zero_copy_frames). None: the
            inputs that were set last
        :return: the ticket, 1, 2, 3, ...
        :raises Error: BUSY: all slots are in use; INVALID_ARGUMENT: no frame, or no task takes frames
        """
        gate = self._gate
        gate.enter()
        try:
            handle = self._node.use()
            if frame is None:
                described = kept = ffi.NULL
            else:
                described, kept = self._write(frame)
            status = lib.mts_session_submit(handle, described, self._ticket)
            if status:
                gate.fail(status)
            ticket = int(self._ticket[0])
            if self._zero_copy[0]:
                self._frames[ticket] = kept
            return ticket
        finally:
            gate.leave()

    def wait(self, ticket: int, timeout: Optional[float] = None) -> None:
        """Waits until a run has finished and consumes it, with all earlier runs: `output` then gives its
        outputs, and views of earlier outputs change. Other threads may run meanwhile.

        :param ticket: of `submit`
        :param timeout: seconds; None: no limit. Such a wait ends with the run, not with Ctrl-C
        :raises Error: TIMEOUT: the run goes on; CANCELLED: the frame was dropped or cancelled;
            INVALID_ARGUMENT: no such ticket; any other status says why the run failed
        """
        gate = self._gate
        milliseconds = INFINITE if timeout is None else _milliseconds(timeout)
        gate.enter()
        try:
            status = lib.mts_session_wait(self._node.use(), self._number(ticket), milliseconds)
            if status:
                gate.fail(status)
        finally:
            gate.leave()

    @staticmethod
    def _number(ticket: Any) -> int:
        if not isinstance(ticket, int) or not 0 <= ticket < 1 << 64:
            raise invalid(f"a ticket of {ticket!r}")
        return ticket

    def poll(self) -> Optional[int]:
        """Consumes the oldest run if it has finished. Does not wait.

        :return: its ticket; None: no run has finished, or none is in flight
        """
        gate = self._gate
        gate.enter()
        try:
            ticket = ffi.new("mts_ticket *")
            status = lib.mts_session_poll(self._node.use(), ticket)
            if status in (Status.BUSY, Status.NOT_FOUND):
                gate.text[0] = b"\0"
                return None
            if status:
                gate.fail(status)
            return int(ticket[0])
        finally:
            gate.leave()

    def cancel(self, ticket: int) -> None:
        """Cancels a run in flight; its wait raises CANCELLED unless it had ended."""
        self._control(lib.mts_session_cancel, self._number(ticket))

    def run(self, frame: Optional[FrameLike] = None, inputs: Optional[Mapping[Any, np.ndarray]] = None, *,
            copy: bool = False) -> Outputs:
        """Sets inputs, submits a frame, waits for it and gives the outputs.

        :param frame: as in `submit`
        :param inputs: arrays by the name of a task (input 0), or by (task, index)
        :param copy: True: the arrays are the caller's. False: they are read-only views, which the next run
            that is consumed changes
        :return: for each task that has run, its outputs in the order of the model
        """
        for key, array in (inputs or {}).items():
            task, index = key if isinstance(key, tuple) and len(key) == 2 else (key, 0)
            self.input(task, array, index)
        self.wait(self.submit(frame))
        return self.outputs(copy=copy)

    # ---- outputs ----

    def output(self, task: str, index: int = 0, *, copy: bool = False) -> np.ndarray:
        """An output of the run that was consumed last.

        :param task: its name
        :param index: number of the output
        :param copy: as in `run`
        :return: the array. A view stays readable as long as it lives, also behind `close`
        :raises Error: INVALID_ARGUMENT: no run was consumed yet; NOT_FOUND: no such task or output, or the
            task has not run
        """
        gate = self._gate
        entered = self._gate.enter(in_done=True)
        try:
            view = self._view(self._node.use(), self._name(task), self._index(index))
            return view.copy() if copy else view
        finally:
            if entered:
                gate.leave()

    def _view(self, handle: Any, name: Any, index: int) -> np.ndarray:
        status = lib.mts_session_output(handle, name, index, self._tensor)
        if status:
            self._gate.fail(status)
        return _arrays.view_of(self._tensor, self._node)

    def outputs(self, *, copy: bool = False) -> Outputs:
        """All outputs of all tasks that have run, as `run` gives them."""
        gate = self._gate
        result: Outputs = {}
        entered = self._gate.enter(in_done=True)
        try:
            handle = self._node.use()
            for task, info in self._tasks.items():
                try:
                    arrays = [self._view(handle, self._names[task], index) for index in range(len(info.outputs))]
                except Error as error:
                    if error.status != Status.NOT_FOUND:  # it is off, or its rate leaves it out
                        raise
                    continue
                result[task] = [array.copy() for array in arrays] if copy else arrays
            return result
        finally:
            if entered:
                gate.leave()

    def output_ticket(self, task: str) -> int:
        """The run that produced the outputs of a task."""
        ticket = ffi.new("mts_ticket *")
        self._control(lib.mts_session_output_ticket, self._name(task), ticket)
        return int(ticket[0])

    # ---- control ----

    def _control(self, function: Any, *arguments: Any) -> None:
        entered = self._gate.enter(in_done=True)
        try:
            status = function(self._node.use(), *arguments)
            if status:
                self._gate.fail(status)
        except (TypeError, OverflowError) as error:
            raise invalid(str(error)) from None
        finally:
            if entered:
                self._gate.leave()

    def enable(self, task: str, enabled: bool = True) -> None:
        """Switches a task on or off from the next frame on. It keeps the outputs of its last run."""
        self._control(lib.mts_session_enable, self._name(task), int(enabled))

    def rate(self, task: str, every: int) -> None:
        """Makes a task run with every n-th frame."""
        self._control(lib.mts_session_rate, self._name(task), every)

    def rate_hz(self, task: str, hz: float) -> None:
        """Limits how often a task runs in a second; 0: no limit."""
        self._control(lib.mts_session_rate_hz, self._name(task), hz)

    def deadline(self, milliseconds: int) -> None:
        """Task groups that have not begun that long after a submission are left out; 0: no deadline."""
        self._control(lib.mts_session_deadline, milliseconds)

    # ---- other tasks, other weights ----

    def _change(self, function: Any, bundle: Bundle) -> None:
        if not isinstance(bundle, Bundle):
            raise invalid(f"a mts.Bundle is needed, not {type(bundle).__name__}")
        gate = self._gate
        tasks = bundle.tasks
        gate.enter()
        try:
            status = function(self._node.use(), bundle._node.use())
            if status:
                gate.fail(status)
            self._node.depend(bundle._node)
            self._changed = True
            for task in tasks:
                self._tasks[task.name] = task
                self._names.setdefault(task.name, ffi.new("char[]", task.name.encode()))
        finally:
            gate.leave()

    def add(self, bundle: Bundle) -> None:
        """Begins to add the tasks of a bundle that the session does not run, while frames go on. Does not
        wait: a later `submit` or `settle` makes the change, and `settle` tells how it ended.

        :param bundle: of the same runtime; closing it closes the session
        :raises Error: BUSY: another change has not ended; INVALID_ARGUMENT: the session runs all of its
            tasks; UNSUPPORTED: several devices, or zero_copy_inputs
        """
        self._change(lib.mts_session_add, bundle)

    def remove(self, task: str) -> None:
        """Begins to remove a task, as `add` adds some.

        :raises Error: as `add`; NOT_FOUND: no such task; INVALID_ARGUMENT: it is the only one
        """
        self._control(lib.mts_session_remove, self._name(task))
        self._changed = True

    def update(self, bundle: Bundle) -> None:
        """Begins to give the tasks of a bundle, all of which the session runs, its weights.

        :param bundle: as in `add`; its tasks have the inputs and outputs of the session's
        :raises Error: as `add`; NOT_FOUND: the session does not run one of them
        """
        self._change(lib.mts_session_update, bundle)

    def settle(self, timeout: Optional[float] = None) -> None:
        """Waits until the change that was begun has been made.

        :param timeout: seconds; None: no limit
        :raises Error: TIMEOUT: it goes on; BUSY: runs have to be consumed first; any other status says why
            it has failed: the session is as it was
        """
        gate = self._gate
        milliseconds = INFINITE if timeout is None else _milliseconds(timeout)
        gate.enter()
        try:
            status = lib.mts_session_settle(self._node.use(), milliseconds)
            if status:
                gate.fail(status)
        finally:
            gate.leave()

    # ---- reports ----

    def _read(self, function: Any, kind: str, *arguments: Any) -> dict[str, Any]:
        result = ffi.new(f"{kind} *", {"size": ffi.sizeof(kind)})
        self._control(function, *arguments, result)
        return read(result, ffi.typeof(kind))

    @property
    def flow(self) -> Flow:
        """Counts of submissions."""
        return Flow(**self._read(lib.mts_session_flow, "mts_flow"))

    def task_stats(self, task: str) -> TaskStats:
        """Runs and latency of a task."""
        return TaskStats(**self._read(lib.mts_session_task_stats, "mts_task_stats", self._name(task)))

    @property
    def stats(self) -> SessionStats:
        """Memory, launches and plan."""
        return SessionStats(**self._read(lib.mts_session_stats_get, "mts_session_stats"))

    def explain(self, report: Report = "json") -> Union[str, dict[str, Any]]:
        """How the session runs: groups, launches, memory, plans that were considered."""
        gate = self._gate
        gate.enter()
        try:
            return report_of(lib.mts_session_explain, self._node.use(), report, gate)
        finally:
            gate.leave()

    def profile(self, runs: int = 10) -> list[Launch]:
        """Measures every launch on the inputs that are set (mts/profile.h). No run may be in flight.

        :param runs: 1..10000; each duration is a median over them
        """
        most = self.stats.launches
        launches = ffi.new("mts_launch_profile[]", max(most, 1))
        launches[0].size = ffi.sizeof("mts_launch_profile")
        count = ffi.new("uint32_t *")
        self._control(lib.mts_session_profile, runs, launches, most, count)
        kind = ffi.typeof("mts_launch_profile")
        return [Launch(**read(launches[i], kind)) for i in range(count[0])]
