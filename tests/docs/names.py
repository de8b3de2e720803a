#!/usr/bin/env python3
"""Fails on a link between documents, or a file named in a document or a comment, that does not exist.

Fails also on a line of prose in a document that is longer than 100 columns. A document is every .md file; comments are those of C, Python, shell and CMake. A name with a folder is a path from the
top, from a folder that includes are written from, or from the file that has it; a bare name is that of any file.

usage: names.py SOURCE
"""
import collections
import os
import re
import sys

SKIPPED = {".git", "build", "demo-out", "__pycache__", "shared"}
# Files that users, the build or other projects have.
FOREIGN = set("""watch.c kernel_table.c dlfcn.h assert.h cl.h magic.h kcmp.h mman.h xxhash.h
    dma-buf.h NdkCameraMetadataTags.h""".split())
MADE = ("platform/foo", "sdk/graph/ops/norm.c", "prefab/", "apps/android/app/src/main/assets", "apps/android/local.properties")
STARTS = ("", "sdk", "sdk/include", "sdk/compress", "sdk/compiler", "tests", "apps", "docs", "kernels", "platform",
          "tests/android/stubs")
FILE = re.compile(r"(?<![\w./$<*{-])((?<!--)(?:[\w.-]+/)*[\w-]+\.(?:c|h|cl|def|md|py|sh|cmake))(?![\w/*])")
FOLDER = re.compile(r"(?<![\w./$-])((?:sdk|platform|kernels|apps|tests|docs|toolchains|cmake)/[\w./-]*\w/?)")
LINK = re.compile(r"\]\(([^)\s#]*)(#[^)\s]*)?\)")
C_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(//[^\n]*|/\*.*?\*/)', re.S)
HASH_COMMENT = re.compile(r"(?m)(?:^|\s)(#.*)$")
WIDTH = 100
FEWEST_NAMES = 300  # fewer would mean that the reader found nothing


def files(top):
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(names):
            yield os.path.relpath(os.path.join(folder, name), top)


def prose(path, text):
    """Pieces of the text that speak about files, each with its place."""
    if path.endswith(".md"):
        yield 0, text
    elif path.endswith((".c", ".h", ".cl", ".def", ".cpp", ".java", ".kt")):
        for match in C_COMMENT.finditer(text):
            if match.group(1):
                yield match.start(1), match.group(1)
    elif path.endswith((".py", ".sh", ".cmake", "CMakeLists.txt")) or path == "toolchains/host":
        for match in HASH_COMMENT.finditer(text):
            yield match.start(1), match.group(1)


def anchors(text):
    plain = (re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()) for line in text.splitlines()
             if line.startswith("#"))
    return {"#" + name.replace(" ", "-") for name in plain}


class Tree:
    def __init__(self, top):
        self.top = top
        self.paths = set(files(top))
        self.names = {os.path.basename(path) for path in self.paths}
        self.bad = collections.Counter()
        self.count = 0

    def complain(self, path, text, at, what):
        self.bad[path] += 1
        print(f"{path}:{text.count(chr(10), 0, at) + 1}: {what}", file=sys.stderr)

    def has(self, path, name, after):
        base = os.path.basename(name)
        if base in FOREIGN or name.startswith(MADE) or "/" not in name and base in self.names:
            return True
        if after in ("*", "<"):  # a pattern
            return any(other.startswith(name) for other in self.paths)
        starts = STARTS + (os.path.dirname(path),)
        return "/" in name and any(os.path.exists(os.path.join(self.top, start, name)) for start in starts)

    def check_names(self, path, text):
        for start, piece in prose(path, text):
            for pattern in (FILE, FOLDER):
                for match in pattern.finditer(piece):
                    self.count += 1
                    name = match.group(1)
                    if not self.has(path, name, piece[match.end():match.end() + 1]):
                        self.complain(path, text, start + match.start(), f"{name} does not exist")

    def check_links(self, path, text):
        for match in LINK.finditer(text):
            target, anchor = match.group(1), match.group(2)
            if ":" in target:
                continue
            self.count += 1
            full = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if not os.path.exists(os.path.join(self.top, full)):
                self.complain(path, text, match.start(), f"the link {target} leads nowhere")
            elif anchor and full.endswith(".md"):
                with open(os.path.join(self.top, full), encoding="utf-8") as file:
                    if anchor not in anchors(file.read()):
                        self.complain(path, text, match.start(), f"{full} has no heading {anchor}")

    def check_width(self, path, text):
        code = False
        at = 0
        for line in text.splitlines(keepends=True):
            code = code != line.lstrip().startswith("```")
            words = line.rstrip("\n")
            if not code and len(words) > WIDTH and not words.startswith(("|", "    ", "#", "!", "<")) \
                    and " " in re.sub(r"`[^`]*`", "", words.strip()):
                self.complain(path, text, at, f"a line of {len(words)} columns")
            at += len(line)

    def check(self):
        for path in sorted(self.paths):
            if path.startswith("tests/docs/"):
                continue
            try:
                with open(os.path.join(self.top, path), encoding="utf-8") as file:
                    text = file.read()
            except UnicodeDecodeError:
                continue
            self.check_names(path, text)
            if path.endswith(".md"):
                self.check_links(path, text)
                self.check_width(path, text)


def main():
    tree = Tree(sys.argv[1])
    tree.check()
    print(f"{tree.count} names and links, {sum(tree.bad.values())} wrong")
    if tree.count < FEWEST_NAMES:
        print("too few names: the reader found nothing", file=sys.stderr)
        return 1
    return 1 if tree.bad else 0


if __name__ == "__main__":
    sys.exit(main())
