# What cffi makes of the headers has no types in Python.
from typing import Any

ffi: Any
lib: Any
