"""The MTS SDK: many small neural networks on one camera frame, stitched into one graph.

    import mts

    mts.compile({"age": "age.onnx", "gender": "gender.tflite"}, "app.mtsb")
    with mts.Runtime() as runtime, mts.Bundle(runtime, "app.mtsb") as bundle, mts.Session(bundle) as session:
        outputs = session.run(frame)            # frame: uint8, height x width x 3, or a PIL picture
        age = outputs["age"][0]                 # a read-only view, valid until the next run

Every failure raises mts.Error, whose `status` and text are those of the C library. docs/PYTHON.md
has a tutorial; the headers mts.h, mtsc.h, mtsz.h and kit.h document what is behind each call.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mts._native import Error, Status, version
from mts.runtime import Bundle, Device, Port, Runtime, TaskInfo, devices, inspect
from mts.frames import Frame, Region
from mts.session import Flow, Launch, Session, SessionStats, TaskStats

__version__ = version()
__all__ = [
    "Appended", "Bundle", "Device", "Error", "Flow", "Frame", "Launch", "Port", "PruneReport", "Region", "Runtime",
    "Session", "SessionStats", "SplitReport", "Status", "Summary", "Task", "TaskInfo", "TaskStats", "TrainReport",
    "ZipReport", "append", "compile", "devices", "export", "inspect", "kit", "prune", "split", "train", "zip",
]

if TYPE_CHECKING:
    from mts import kit
    from mts.compiler import Appended, Summary, Task, append, compile, export  # noqa: A004
    from mts.compress import (  # noqa: A004
        PruneReport, SplitReport, TrainReport, ZipReport, prune, split, train, zip)

# The compiler and libmtsz with its libraries are loaded when they are first used: a program that only
# runs bundles starts without them.
_LATER = {
    **dict.fromkeys(("Appended", "Summary", "Task", "append", "compile", "export"), "mts.compiler"),
    **dict.fromkeys(("PruneReport", "SplitReport", "TrainReport", "ZipReport", "prune", "split", "train", "zip"),
                    "mts.compress"),
}


def __getattr__(name: str) -> Any:
    import importlib
    if name == "kit":
        return importlib.import_module("mts.kit")
    if name not in _LATER:
        raise AttributeError(f"module 'mts' has no attribute '{name}'")
    value = getattr(importlib.import_module(_LATER[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
