#!/usr/bin/env python3
"""The manual page mts.1, made of the texts that the program itself prints, so that there is no second copy of them.

usage: man.py PROGRAM OUT.gz         (the same bytes whenever the program prints the same)
"""
import gzip
import os
import re
import subprocess
import sys

ENVIRONMENT = (("MTS_CACHE_DIR", "The folder of plans and compiled kernels that are kept from run to run; by default it "
                "is mts in $XDG_CACHE_HOME, else in ~/.cache."),)


def printed(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


def roff(text):
    """Text of a line, so that roff reads nothing into it."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def as_printed(lines):
    return [".nf", *(roff(line) for line in lines), ".fi"] if lines else []


def options_of(lines):
    """(flags, text) of each option; a text goes on in lines that begin far to the right."""
    found = []
    for line in lines:
        begins = re.match(r"^  (-\S.*?)(?:   *(\S.*))?$", line)
        if begins:
            found.append([begins[1], [begins[2]] if begins[2] else []])
        elif line.strip() and found:
            found[-1][1].append(line.strip())
    return [(flags, " ".join(text)) for flags, text in found]


def sections(text):
    """Synopsis, description, options and what stands below them, as lines."""
    lines = text.strip("\n").split("\n")
    at = lines.index("options:")
    end = next((i for i in range(at, len(lines)) if not lines[i].strip()), len(lines))
    return lines[0][len("usage: "):], lines[1:at], lines[at + 1:end], lines[end:]


def command_page(program, name, summary):
    synopsis, about, options, below = sections(printed(program, name, "--help"))
    page = [f".SS mts {name}: {roff(summary)}", f".B {roff(synopsis)}", ".PP"]
    page += [roff(line) for line in about if line.strip()]
    for flags, text in options_of(options):
        page += [".TP", f".B {roff(flags)}", roff(text)]
    below = [line for line in below if line.strip()]
    return page + ([".PP", *as_printed(below)] if below else [])


def page_of(program):
    text = printed(program, "--help")
    commands = re.findall(r"^  (\S+) +(\S.*)$", text, re.M)
    about, last = text.split("\n\n")[1], text.strip("\n").split("\n")[-1]
    version = printed(program, "--version").strip()
    page = [f'.TH MTS 1 "" "{version}" "MTS SDK"', ".SH NAME",
            "mts \\- " + roff(about[0].lower() + about[1:].rstrip(".")), ".SH SYNOPSIS", ".B mts",
            ".I COMMAND", "[options]", ".SH DESCRIPTION", roff(about), roff(last), ".SH COMMANDS"]
    for name, summary in commands:
        page += command_page(program, name, summary)
    page.append(".SH ENVIRONMENT")
    for name, meaning in ENVIRONMENT:
        page += [".TP", f".B {name}", roff(meaning)]
    return "\n".join(page) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, out = sys.argv[1:]
    os.makedirs(os.path.dirname(os.path.abspath(out)), exist_ok=True)
    with open(out, "wb") as file:
        with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=file, mtime=0) as packed:
            packed.write(page_of(program).encode())


if __name__ == "__main__":
    main()
