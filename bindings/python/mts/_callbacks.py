"""Functions of the caller that the library calls. An exception in one of them comes out of the call
that was made; in `progress` it also cancels that call."""
from __future__ import annotations

import sys
from typing import Any, Callable, Optional, Union

from mts._native import Status, ffi, names_of, text_at

Progress = Union[bool, Callable[[float, str], Any], None]
Log = Optional[Callable[[str, str], Any]]


class Callbacks:
    """What a `context` of the library's structs points to. `holder.raised` gets exceptions."""

    def __init__(self, holder: Any, **functions: Any) -> None:
        self.holder = holder
        self.functions = functions
        self.handle = ffi.new_handle(self)

    def call(self, name: str, failed: Any, *arguments: Any) -> Any:
        """Calls a function of the caller; `failed` is the answer after an exception."""
        try:
            return self.functions[name](*arguments)
        except BaseException as error:  # KeyboardInterrupt too: it goes on behind the call
            self.holder.raised = self.holder.raised or error
            return failed


def progress_bar(what: str) -> Callable[[float, str], None]:
    """A bar of tqdm, or lines on the standard error output where tqdm is missing."""
    try:
        from tqdm import tqdm  # type: ignore[import-untyped]
    except ImportError:
        last = [-1]

        def lines(fraction: float, now: str) -> None:
            tenth = int(fraction * 10)
            if tenth != last[0]:
                last[0] = tenth
                print(f"{what}: {tenth * 10} % {now}", file=sys.stderr)
        return lines
    bar = tqdm(total=100, desc=what, unit="%", leave=False)

    def show(fraction: float, now: str) -> None:
        bar.set_postfix_str(now[:40], refresh=False)
        bar.update(max(0, min(100, round(fraction * 100)) - bar.n))  # whole per cents: the bar prints them as they are
        if fraction >= 1:
            bar.close()
    return show


def progress_of(progress: Progress, what: str) -> Optional[Callable[[float, str], Any]]:
    """The function that `progress` stands for: None or False none, True a bar."""
    if progress is None or progress is False:
        return None
    return progress_bar(what) if progress is True else progress


def severity_name(severity: int) -> str:
    """ "error", "warning", "info" or "debug"."""
    names = names_of(ffi.typeof("mts_log_severity"))[1]
    return next((name for name, value in names.items() if value == severity), str(severity))


def call_log(context: Any, severity: int, text: Any) -> None:
    ffi.from_handle(context).call("log", None, severity_name(severity), text_at(text))


def call_progress(context: Any, fraction: float, what: Any) -> int:
    return 1 if ffi.from_handle(context).call("progress", True, fraction, text_at(what) or "") else 0


@ffi.def_extern()
def mts_py_log(context: Any, severity: int, text: Any) -> None:
    call_log(context, severity, text)


@ffi.def_extern(error=1)
def mts_py_progress(context: Any, fraction: float, what: Any) -> int:
    return call_progress(context, fraction, what)


@ffi.def_extern()
def mts_py_done(context: Any, ticket: int, status: int) -> None:
    callbacks = ffi.from_handle(context)
    callbacks.holder.in_done = True
    try:
        callbacks.call("done", None, ticket, Status(status))
    finally:
        callbacks.holder.in_done = False
