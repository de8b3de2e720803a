#!/usr/bin/env python3
"""Does what a page of docs/ tells a new user to do, with the text of the page itself, in an empty home folder.

usage: tutorial.py PAGE SOURCE BUILD CC

Of the page's blocks those count that follow one of these comments:
  <!-- run -->                      commands, run by bash in the folder that the block before left; `run: fails` when they have
                                    to fail, `run: needs A B` when they are left out where a program or file is missing
  <!-- shows -->                    what the block before has printed, see `pattern`
  <!-- file: NAME -->               the text of a file
  <!-- insert: NAME under LINE -->  lines to put under that line of a file
~/mts is the source with BUILD as its build/release. Not responsible for what answers are right: other tests are.
Exit status: 0, 1 when the page does not work as printed, 77 when this machine lacks what it takes.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^<!-- (run|shows|file|insert)(?:: ([^\n]*?))? -->\n```\w*\n(.*?)^```$", re.S | re.M)
MARK = re.compile(r"^<!--", re.M)  # there are no other comments
LIMIT_S = 240


def skip(why):
    print(f"{why}: skipped")
    sys.exit(77)


def fail(why):
    print(why)
    sys.exit(1)


def pattern(line):
    """A line of a page as a regular expression: numbers, units of bytes, labels and names of cached files may be others.
    What stays: a number of 0 (but not of dropped frames), and the number of frames that were submitted."""
    if line.startswith("frame "):
        line = re.sub(r": [^:]*$", ": LABEL", line)
    text = r"\s+".join(re.escape(word) for word in line.split())
    text = re.sub(r"\b[0-9a-f]{16}\b", "CACHED", text)
    number = r"(?<![\d.])(?!0(?:\\\.0+)?\b(?!\\\.\d|\\s\+dropped))\d+(?:\\\.\d+)?(?!\d|\\s\+frames:)"
    text = re.sub(number, r"[\\d.]+", text)
    text = re.sub(r"(?<=\+)[kMG]?B\b", "[kMG]?B", text)
    return re.compile(r"\s*" + text.replace("LABEL", ".+").replace("CACHED", "[0-9a-f]{16}") + r"\s*$")


def difference(expected, output):
    """The first line that is missing, or None. `...` stands for any lines; the first line may stand anywhere."""
    lines, at, gap = output.splitlines(), 0, True
    for line in expected.splitlines():
        if line.strip() == "...":
            gap = True
            continue
        wanted = pattern(line)
        here = range(at, len(lines) if gap else min(at + 1, len(lines)))
        found = next((i for i in here if wanted.match(lines[i])), None)
        if found is None:
            return line
        at, gap = found + 1, False
    return None


class Reader:
    """A new user: a home folder, and what a shell remembers between commands."""

    def __init__(self, home, source, build, cc):
        self.home, self.folder, self.path = home, home, os.environ["PATH"]
        self.output, self.ran, self.left_out = None, 0, 0
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("MTS_")}
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self.environment.setdefault("POCL_CACHE_DIR", cache + "/pocl/kcache")  # kernels of other tests are the same
        self.environment.update(HOME=home, CC=cc)
        place = home + "/mts"
        os.makedirs(place + "/build")
        for name in os.listdir(source):
            if name not in ("build", ".git"):
                os.symlink(f"{source}/{name}", f"{place}/{name}")
        os.symlink(build, place + "/build/release")
        if os.path.exists(source + "/build/venv"):
            os.symlink(source + "/build/venv", place + "/build/venv")

    def has(self, need):
        return shutil.which(need, path=self.path) or glob.glob(os.path.join(self.folder, need))

    def run(self, text, how):
        needs = how[len("needs "):].split() if how.startswith("needs ") else []
        lacking = [need for need in needs if not self.has(need)]
        if lacking:
            print(f"left out, no {' '.join(lacking)}:\n{text}")
            self.output, self.left_out = None, self.left_out + 1
            return
        state = self.home + "/state"
        script = f"set -eo pipefail\n{text}\n{{ pwd; printf '%s\\n' \"$PATH\"; }} >{state}\n"
        try:
            done = subprocess.run(["bash", "-c", script], cwd=self.folder, env={**self.environment, "PATH": self.path},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            fail(f"not finished after {LIMIT_S} s:\n{text}")
        print(f"$ {text}{done.stdout}", flush=True)
        if (done.returncode != 0) != (how == "fails"):
            fail(f"exit status {done.returncode}")
        if how != "fails":
            with open(state, encoding="utf-8") as file:
                self.folder, self.path = file.read().splitlines()
        self.output, self.ran = done.stdout, self.ran + 1

    def shows(self, text):
        if self.output is None:
            return
        missing = difference(text, self.output)
        if missing is not None:
            fail(f"the page says that it prints\n{text}and this line was not printed, or not there:\n{missing}")

    def file(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def insert(self, name, anchor, text):
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            lines = file.read().splitlines(keepends=True)
        places = [i for i, line in enumerate(lines) if line.strip() == anchor]
        if len(places) != 1:
            fail(f"{name} has {len(places)} lines '{anchor}'")
        lines.insert(places[0] + 1, text)
        self.file(name, "".join(lines))


def photograph(reader):
    """What the page calls a photograph of the reader's."""
    path = reader.home + "/watch/photo.jpg"
    if os.path.isdir(os.path.dirname(path)) and not os.path.exists(path) and reader.has("gst-launch-1.0"):
        subprocess.run(["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=1", "!", "jpegenc", "!", "filesink",
                        "location=" + path], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def follow(page, reader):
    with open(page, encoding="utf-8") as file:
        text = file.read()
    blocks = BLOCK.findall(text)
    if len(blocks) != len(MARK.findall(text)):
        fail(f"{page}: a comment that marks a block has none behind it, or says something unknown")
    for kind, argument, body in blocks:
        if kind == "run":
            photograph(reader)
            reader.run(body, argument)
        elif kind == "shows":
            reader.shows(body)
        elif kind == "file":
            reader.file(argument, body)
        else:
            reader.insert(*argument.split(" under ", 1), body)


def main():
    page, source, build, cc = sys.argv[1:]
    if not os.path.exists(build + "/bin/mts"):
        skip(f"no program in {build}")
    for tool in ("bash", "cmake", cc):
        if not shutil.which(tool):
            skip(f"no {tool}")
    with tempfile.TemporaryDirectory() as home:
        reader = Reader(home, os.path.abspath(source), os.path.abspath(build), cc)
        follow(page, reader)
    print(f"{reader.ran} blocks of commands work as printed, {reader.left_out} were left out")
    if reader.ran == 0:
        skip("nothing of the page can run here")


main()
