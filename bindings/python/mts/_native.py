"""The extension module, statuses as exceptions, and C structs to and from Python.

Structs are read and written by their own field lists, which come from the headers: an option is a
keyword with the name of its field, and an enum is the lower-case end of its name.
"""
from __future__ import annotations

import enum
import os
from typing import Any, Optional, Union

from mts import _mts

ffi: Any = _mts.ffi
lib: Any = _mts.lib

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

ERROR_BYTES = 1024
# What a number of an options struct cannot be, for statuses of this package's own.
INFINITE = 0xFFFFFFFF


class Status(enum.IntEnum):
    """Why a call failed; the numbers of mts_status in mts/types.h."""

    OK = 0
    INVALID_ARGUMENT = 1
    OUT_OF_MEMORY = 2
    IO = 3
    MALFORMED = 4
    UNSUPPORTED = 5
    NOT_FOUND = 6
    LIMIT = 7
    DEVICE = 8
    DEVICE_LOST = 9
    BUSY = 10
    TIMEOUT = 11
    CANCELLED = 12
    INTERNAL = 13


class Error(Exception):
    """A call failed. `status` says of which kind, and the text is the sentence of the library."""

    def __init__(self, status: int, sentence: str = ""):
        self.status = Status(status)
        super().__init__(sentence or ffi.string(lib.mts_status_name(status)).decode())


def version() -> str:
    """Version of the library that is loaded, for example "0.1.0"."""
    return ffi.string(lib.mts_version()).decode()


def invalid(sentence: str) -> Error:
    """A mistake of the caller that is found before the library is called."""
    return Error(Status.INVALID_ARGUMENT, sentence)


def encode(value: Path, what: str = "text") -> bytes:
    """A string or path as C takes it. A zero byte would end it early, and is refused."""
    try:
        data = value.encode() if isinstance(value, str) and what == "text" else os.fsencode(value)
    except TypeError:
        raise invalid(f"a {what} has to be a str, not {type(value).__name__}") from None
    except UnicodeError as error:
        raise invalid(f"a {what} is no text: {error}") from None
    if b"\0" in data:
        raise invalid(f"a {what} has a zero byte in it")
    return data


def text_at(pointer: Any) -> Optional[str]:
    """The string at a char pointer, or None for NULL."""
    return None if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "replace")


_names: dict[str, tuple[str, dict[str, int]]] = {}


def names_of(kind: Any) -> tuple[str, dict[str, int]]:
    """The common beginning of an enum's names, and {end in lower case: value}."""
    known = _names.get(kind.cname)
    if known is None:
        full = kind.relements
        prefix = os.path.commonprefix(list(full))
        prefix = prefix[:prefix.rindex("_") + 1]
        known = prefix, {name[len(prefix):].lower(): value for name, value in full.items()}
        _names[kind.cname] = known
    return known


def choice(kind: Any, value: Union[str, int], what: str) -> int:
    """The number of an enum's value that is given by its name or as a number."""
    names = names_of(kind)[1]
    if isinstance(value, str):
        found = names.get(value.lower())
    else:
        found = value if value in names.values() else None
    if found is None:
        raise invalid(f"{what}: there is no '{value}', but {', '.join(names)}")
    return int(found)


def _strings(values: Any, what: str) -> list[Any]:
    if isinstance(values, (str, bytes)):
        raise invalid(f"{what}: a list of names is needed, not one string")
    return [ffi.new("char[]", encode(value)) for value in values]


def _count_field(name: str, fields: dict[str, Any]) -> Optional[str]:
    """The field that has the number of elements of a list: tasks has task_count, class_map class_count."""
    for stem in (name, name[:-1] if name.endswith("s") else name, name.rsplit("_", 1)[0]):
        if stem + "_count" in fields:
            return stem + "_count"
    return None


def fill(struct: Any, keep: list[Any], /, **values: Any) -> None:
    """Writes options into a struct by the names of its fields. None leaves the default. What the
    struct points to is appended to `keep`, which has to live as long as the struct is used."""
    fields = dict(ffi.typeof(struct).item.fields)
    for name, value in values.items():
        if value is None:
            continue
        form = fields[name].type
        try:
            if form.kind == "enum":
                setattr(struct, name, choice(form, value, name))
            elif form.kind == "pointer" and form.item.cname == "char":
                keep.append(ffi.new("char[]", encode(value)))
                setattr(struct, name, keep[-1])
            elif form.kind == "pointer":
                items = _strings(value, name) if form.item.kind == "pointer" else list(value)
                array = ffi.new("char *[]" if form.item.kind == "pointer" else f"{form.item.cname}[]", items)
                keep += [items, array]
                setattr(struct, name, array)
                count = _count_field(name, fields)
                if count:
                    setattr(struct, count, len(items))
            else:
                setattr(struct, name, value)
        except (TypeError, OverflowError, IndexError) as error:
            raise invalid(f"{name}: {error}") from None


def read(struct: Any, kind: Any = None) -> dict[str, Any]:
    """The fields of a struct as Python values, without its size and what is reserved. Pointers other than
    strings are left out."""
    result: dict[str, Any] = {}
    for name, field in (kind or ffi.typeof(struct)).fields:
        form, value = field.type, getattr(struct, name)
        if name in ("size", "reserved"):
            continue
        if form.kind == "enum":
            prefix, names = names_of(form)
            result[name] = form.elements[value][len(prefix):].lower() if value in form.elements else value
        elif form.kind == "struct":
            result[name] = read(value, form)
        elif form.kind == "array":
            result[name] = ffi.string(value).decode("utf-8", "replace") if form.item.cname == "char" else list(value)
        elif form.kind == "pointer":
            if form.item.cname == "char":
                result[name] = text_at(value)
        else:
            result[name] = value
    return result
