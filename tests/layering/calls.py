#!/usr/bin/env python3
"""Fails where files of a module, or modules, call each other in a circle, and where headers include each other in one.

A file NAME.c and its header NAME.h are one node. An edge A -> B says that A mentions a function that B defines: a call, or
an entry in a table of functions. Names are found with Universal Ctags; comments and strings do not count. Without ctags the
test is skipped (77).

cycles_allowed.txt says of each module how many of its files may still lie in such circles; it is to be empty.

usage: calls.py SOURCE
"""
import collections
import os
import re
import shutil
import subprocess
import sys

ROOTS = ("sdk", "platform", "apps")
HERE = os.path.dirname(os.path.abspath(__file__))
WORD = re.compile(r"[A-Za-z_]\w*")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
FEWEST_EDGES = 300  # fewer would mean that the reader found nothing


def sources(top):
    for root in ROOTS:
        for folder, _, names in os.walk(os.path.join(top, root)):
            for name in names:
                if name.endswith((".c", ".h")):  # methods of C++ share names with functions of C
                    yield os.path.relpath(os.path.join(folder, name), top)


def modules_read(path):
    with open(path, encoding="utf-8") as file:
        return [line.split(":")[0] for line in file if ":" in line and not line.startswith("#")]


def module_of(path, modules):
    return max((m for m in modules if (path + "/").startswith(m + "/")), key=len, default=os.path.dirname(path))


def functions_find(top, paths):
    """Where each function with external linkage is defined, and which static names each file defines."""
    out = subprocess.run(["ctags", "-f", "-", "-L", "-", "--languages=C,C++", "--langmap=C:.c.h", "--kinds-C=f",
                          "--kinds-C++=f", "--fields=fk", "--extras=+F", "-I", "MTS_API", "-I", "MTSC_API"],
                         input="\n".join(paths), capture_output=True, text=True, cwd=top, check=True).stdout
    defined = collections.defaultdict(set)
    static = collections.defaultdict(set)
    for line in out.splitlines():
        if line.startswith("!"):
            continue
        name, path, rest = line.split("\t", 2)
        if "\tfile:" in rest or path.endswith(".h"):
            static[path].add(name)
        else:
            defined[name].add(path)
    return defined, static


def components(edges):
    """Strongly connected components with more than one node (Tarjan, without recursion)."""
    index, low, stack, on, found = {}, {}, [], set(), []
    for root in sorted(edges):
        if root in index:
            continue
        work = [(root, iter(sorted(edges[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on.add(target)
                    work.append((target, iter(sorted(edges.get(target, ())))))
                    break
                if target in on:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members = []
                    while True:
                        members.append(stack.pop())
                        on.discard(members[-1])
                        if members[-1] == node:
                            break
                    if len(members) > 1:
                        found.append(sorted(members))
    return found


def node_of(path):
    return os.path.splitext(path)[0]


def call_edges(top, texts, modules):
    """Edges between files of one module, and between modules; each with the names that make it."""
    defined, static = functions_find(top, sorted(texts))
    files = collections.defaultdict(lambda: collections.defaultdict(set))
    between = collections.defaultdict(lambda: collections.defaultdict(set))
    for path, text in texts.items():
        own = module_of(path, modules)
        if path.endswith(".h") and node_of(path) + ".c" in texts:
            text = re.sub(r"(?m)^[\w\s*]*\b\w+\([^;{}]*\);", "", text)  # declarations call nothing
        for name in set(WORD.findall(text)) & defined.keys() - static[path]:
            owners = defined[name]
            if path in owners or (path.endswith(".h") and not is_called(name, text)):
                continue
            near = {o for o in owners if module_of(o, modules) == own}
            for owner in near:
                if node_of(owner) != node_of(path):
                    files[node_of(path)][node_of(owner)].add(name)
            for owner in owners if not near else ():
                between[own][module_of(owner, modules)].add(name)
    return files, between


def is_called(name, text):
    """A header's mention counts only inside a function's body, not as a declaration."""
    return re.search(r"(?m)^[ \t]+[^\n]*\b" + name + r"\(", text) is not None


def include_edges(texts_raw):
    edges = collections.defaultdict(lambda: collections.defaultdict(set))
    headers = {p for p in texts_raw if p.endswith(".h")}
    for path in headers:
        for name in INCLUDE.findall(texts_raw[path]):
            for start in (os.path.dirname(path), "", "sdk", "sdk/include", "apps"):
                target = os.path.normpath(os.path.join(start, name))
                if target in headers:
                    edges[path][target].add("#include")
                    break
    return edges


def allowed_read(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {name: int(count) for name, count in lines}


def report(title, edges):
    found = components(edges)
    for members in found:
        print(f"{title}:", file=sys.stderr)
        for source in members:
            for target in sorted(set(edges[source]) & set(members)):
                names = sorted(edges[source][target])
                print(f"  {source} -> {target}: {', '.join(names[:6])}{' ...' if len(names) > 6 else ''}", file=sys.stderr)
    return found


def main():
    top = sys.argv[1]
    if not shutil.which("ctags"):
        print("no ctags here")
        return 77
    modules = modules_read(os.path.join(HERE, "modules.txt"))
    raw = {}
    for path in sources(top):
        with open(os.path.join(top, path), encoding="utf-8") as file:
            raw[path] = file.read()
    texts = {path: NOISE.sub(" ", text) for path, text in raw.items()}
    files, between = call_edges(top, texts, modules)
    found = {"files": report("files that call each other in a circle", files),
             "modules": report("modules that call each other in a circle", between),
             "headers": report("headers that include each other in a circle", include_edges(raw))}
    inside = collections.Counter(module_of(m + ".c", modules) for members in found.pop("files") for m in members)
    inside.update({kind: sum(map(len, circles)) for kind, circles in found.items()})
    allowed = allowed_read(os.path.join(HERE, "cycles_allowed.txt"))
    bad = False
    for name in sorted(inside.keys() | allowed.keys()):
        if inside[name] != allowed.get(name, 0):
            print(f"{name}: {inside[name]} in circles, cycles_allowed.txt has {allowed.get(name, 0)}", file=sys.stderr)
            bad = bad or inside[name] > allowed.get(name, 0)
    count = sum(len(targets) for targets in files.values())
    print(f"{len(texts)} files, {count} edges between files of a module, {sum(inside.values())} in circles")
    if count < FEWEST_EDGES:
        print("too few edges: the reader found nothing", file=sys.stderr)
        return 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
