#!/usr/bin/env python3
"""Writes the C source of an extension module of the package from public headers.

cffi wants declarations without a preprocessor. They are taken from the headers themselves, so that
they cannot differ from what the libraries are compiled with; the C compiler that builds the module
then checks every struct, enum and function once more. The step fails where a header holds something
that it would leave out.

usage: declare.py INCLUDE_FOLDER OUT.c MODULE LIST.h [-- INCLUDED_MODULE LIST.h...]

LIST.h includes the headers; those that these include are declared too. The module behind `--` declares
what its lists include: the new module uses its types instead of declaring its own.
"""
import os
import re
import sys

import cffi

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
CONTINUED = re.compile(r"\\\n")
CPLUSPLUS = re.compile(r"^#ifdef __cplusplus\n.*?^#endif\n", re.S | re.M)
INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)
NUMBER = re.compile(r"#define (\w+) +(\S.*)$")
KNOWN = re.compile(r"#(ifndef|endif|else|if defined\(__GNUC__\)|include|define \w+$|define \w+\(|define MTS_API)")

# Functions that are written in Python: the library calls them through pointers in its option
# structs. cffi refuses to assign one to a pointer of another type, and a test assigns each.
CALLBACKS = {
    "mts/mts.h": """
        extern "Python" void mts_py_log(void *, mts_log_severity, const char *);
        extern "Python" int mts_py_progress(void *, float, const char *);
        extern "Python" void mts_py_done(void *, mts_ticket, mts_status);
    """,
    "mts/mtsc.h": """
        extern "Python" void mtsc_py_log(void *, mts_log_severity, const char *);
        extern "Python" int mtsc_py_progress(void *, float, const char *);
    """,
    "mts/mtsz.h": """
        extern "Python" int mtsz_py_frame(void *, uint32_t, mts_frame *);
        extern "Python" int mtsz_py_tensor(void *, uint32_t, const char *, uint32_t, float *, size_t);
        extern "Python" void mtsz_py_layer(void *, const mtsz_zip_layer *);
        extern "Python" void mtsz_py_trial(void *, const mtsz_zip_trial *);
        extern "Python" void mtsz_py_result(void *, const mtsz_train_result *);
    """,
}


def fail(why):
    sys.exit(f"declare.py: {why}")


def declarations(folder, header):
    """The declarations of a header for cffi: no comments, no macros but those of numbers."""
    with open(f"{folder}/{header}", encoding="utf-8") as file:
        text = file.read()
    text = CPLUSPLUS.sub("", CONTINUED.sub(" ", COMMENT.sub(" ", text)))
    lines = []
    for line in text.splitlines():
        line = line.rstrip()
        number = NUMBER.match(line)
        if line.startswith("#define") and number and number.group(1) != "MTS_API":
            name, value = number.groups()
            # cffi checks a number that is given here, and asks the compiler for others
            lines.append(f"#define {name} {value if value.isdigit() else '...'}")
        elif line.startswith("#"):
            if not KNOWN.match(line):
                fail(f"{header}: unknown directive: {line}")
        else:
            lines.append(line)
    return "\n".join(lines)


def check(ffi, out, texts):
    """Fails unless everything that the headers declare is part of the module."""
    with open(out, encoding="utf-8") as file:
        written = file.read()
    types = {name for names in ffi.list_types() for name in names}
    count = 0
    for header, text in texts.items():
        for name in re.findall(r"MTS_API\s[^(;]*?(\w+)\(", text):
            count += 1
            if f'{{ "{name}", ' not in written:
                fail(f"{header}: function {name} was left out")
        for name in re.findall(r"^typedef [^;{]*?(?:\{[^}]*\})?\s(\w+);", text, re.M):
            if name not in types:
                fail(f"{header}: type {name} was left out")
    if count == 0 and any("MTS_API" in text for text in texts.values()):
        fail("no function was found")
    return count


def builder(texts, included):
    ffi = cffi.FFI()
    if included:
        ffi.include(included)
    for text in texts.values():
        ffi.cdef(text.replace("MTS_API ", ""))
    for header in texts:
        ffi.cdef(CALLBACKS.get(header, ""))
    return ffi


def collect(folder, path, texts):
    """Declarations by header, in the order in which the compiler reads them."""
    with open(path, encoding="utf-8") as file:
        included = INCLUDE.findall(file.read())
    for header in included:
        if header not in texts:
            collect(folder, f"{folder}/{header}", texts)
            texts[header] = declarations(folder, header)


def main():
    folder, out, module, listed, *rest = sys.argv[1:]
    known, included, lists = {}, None, []
    if rest:
        _, name, *lists = rest
        for path in lists:
            collect(folder, path, known)
        included = builder(known, None)
        included.set_source(name, "")
    texts = dict(known)
    collect(folder, listed, texts)
    texts = {header: text for header, text in texts.items() if header not in known}
    ffi = builder(texts, included)
    ffi.set_source(module, "".join(f'#include "{os.path.basename(path)}"\n' for path in [*lists, listed]))
    ffi.emit_c_code(out)
    print(f"{module}: {check(ffi, out, texts)} functions of {' '.join(texts)}")


if __name__ == "__main__":
    main()
