"""Who may call into a runtime, and when its objects are destroyed.

The library lets one thread at a time use a runtime with all objects made from it, and wants sessions
destroyed before bundles, and bundles before the runtime. Python gives neither: threads call as they
like, objects die in any order, in callbacks and on any thread, and arrays that show outputs outlive
the session. A Gate is a lock for each runtime; a Node is an object of the library with its parent and
children. An object is destroyed when it was closed or no variable names it, its children are gone,
and no array shows its memory any more.
"""
from __future__ import annotations

from _thread import RLock  # that of threading, which takes milliseconds to import
from collections import deque
from typing import Any, Callable, Optional

from mts._native import ERROR_BYTES, Error, Status, ffi


class Gate:
    """Lets one thread at a time call, and nobody from inside a callback of the same runtime."""

    __slots__ = ("lock", "inside", "in_done", "pending", "text", "raised")

    def __init__(self) -> None:
        self.lock = RLock()  # a plain lock would block its own thread in a callback
        self.inside = False
        self.in_done = False  # inside a session's `done`, where some calls are allowed
        self.pending: deque[tuple[Callable[[Any], None], Any]] = deque()
        self.text = ffi.new("char[]", ERROR_BYTES)
        self.raised: Optional[BaseException] = None

    def enter(self, in_done: bool = False) -> bool:
        """Waits for other threads. Inside a callback of the same runtime the call gets BUSY, or False if
        it is one of those that `done` may make: the callback's own call leaves the gate then."""
        self.lock.acquire()
        if self.inside:  # by this thread
            self.lock.release()
            if in_done and self.in_done:
                return False
            raise Error(Status.BUSY, "this call is not allowed inside a callback of the same runtime")
        self.inside = True
        return True

    def leave(self) -> None:
        """Goes on with what an exception inside of a callback began, and with deferred destruction."""
        raised, self.raised = self.raised, None
        self.inside = False
        self.lock.release()
        if self.pending:
            self.drain()
        if raised is not None:
            raise raised

    def fail(self, status: int) -> None:
        """Raises what a call that returned `status` has said."""
        sentence = ffi.string(self.text).decode("utf-8", "replace")
        self.text[0] = b"\0"
        raise Error(status, sentence)

    def later(self, action: Callable[[Any], None], argument: Any) -> None:
        """Does something with the library's objects as soon as nobody is inside: from destructors, which
        run on any thread at any time and must not wait."""
        self.pending.append((action, argument))
        self.drain()

    def drain(self) -> None:
        # Whoever holds the lock looks at `pending` after releasing it, so nothing stays behind.
        while self.pending and self.lock.acquire(blocking=False):
            if self.inside:
                self.lock.release()
                return
            self.inside = True
            try:
                while self.pending:
                    action, argument = self.pending.popleft()
                    action(argument)
            finally:
                raised, self.raised = self.raised, None
                self.inside = False
                self.lock.release()
            if raised is not None:  # by `done` of a session that was destroyed
                raise raised


class Node:
    """An object of the library. `what` names it in messages."""

    __slots__ = ("gate", "handle", "destroy", "parent", "children", "closed", "unwanted", "leases", "keep", "what", "others")

    def __init__(self, gate: Gate, what: str, parent: Optional[Node], destroy: Callable[[Any], None]) -> None:
        self.gate, self.what, self.destroy = gate, what, destroy
        self.parent: Any = parent
        self.handle: Any = None
        self.children: set[Node] = set()
        self.closed = False  # by the caller: nobody may use it
        self.unwanted = False  # closed, or no variable names it any more
        self.leases = 0
        self.keep: list[Any] = []  # what the library's object points to
        self.others: list[Node] = []  # further objects that have to outlive it

    def opened(self, handle: Any) -> None:
        """The library made the object."""
        self.handle = handle
        if self.parent:
            self.parent.children.add(self)

    def depend(self, other: Node) -> None:
        """The object uses another one besides its parent: it ends before that one."""
        if other is not self.parent and other not in self.others:
            self.others.append(other)
            other.children.add(self)

    def use(self) -> Any:
        """The handle of an open object."""
        if self.closed or self.handle is None:
            raise Error(Status.INVALID_ARGUMENT, f"the {self.what} is closed")
        return self.handle

    def close(self) -> None:
        """Closes the object and all made from it. Callbacks of the same runtime get BUSY."""
        if self.closed:
            return
        self.gate.enter()
        try:
            Node.shut(self)
        finally:
            self.gate.leave()

    # The functions below run inside the gate.

    def shut(self) -> None:
        """Ends the use of the object and of its children, and destroys those that nothing shows."""
        self.closed = self.unwanted = True
        for child in list(self.children):
            child.shut()
        self.reap()

    def abandon(self) -> None:
        """No variable names the object any more. What was made from it goes on."""
        self.unwanted = True
        self.reap()

    def reap(self) -> None:
        if not self.unwanted or self.children or self.leases or self.handle is None:
            return
        slot = ffi.new("void **", self.handle)
        self.handle = None
        self.destroy(slot)
        self.keep.clear()
        for above in [*self.others, *([self.parent] if self.parent else [])]:
            above.children.discard(self)
            above.reap()
        self.others.clear()

    def unlease(self) -> None:
        self.leases -= 1
        self.reap()


class Lease:
    """Memory of an object that an array shows: it is not freed before the array is."""

    __slots__ = ("node", "__array_interface__")

    def __init__(self, node: Node, interface: dict[str, Any]) -> None:
        node.leases += 1
        self.node = node
        self.__array_interface__ = interface

    def __del__(self) -> None:
        self.node.gate.later(Node.unlease, self.node)


class Owner:
    """Base of Runtime, Bundle and Session: a context manager over a Node."""

    _node: Node

    def close(self) -> None:
        """Closes it, and everything that was made from it. Later calls raise mts.Error. Memory that
        arrays still show is freed with the last of these arrays."""
        self._node.close()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._node.closed

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        node = getattr(self, "_node", None)
        if node is not None and not node.closed:
            node.gate.later(Node.abandon, node)
