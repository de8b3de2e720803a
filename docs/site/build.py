"""Builds the documentation as a site: docs/*.md and what they show, Doxygen's reference of the public headers, and checks
every link of the result. `toolchains/host site` calls it with mkdocs and Doxygen at hand.

usage: build.py SOURCE OUT          (OUT/site/index.html; needs mkdocs and mkdocs-material, and doxygen)

Pages link to files of the source tree. Those that are text become pages of the site, too, so that no link leads out of it."""

import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse

GROUPS = (("Start", ("TUTORIAL", "TUTORIAL_JETSON", "MIGRATION", "MODELS", "COMMANDS", "CONFIG")),
          ("Platforms", ("PYTHON", "GSTREAMER", "ROS2", "CAMERA", "ANDROID", "MOBILE", "CUDA", "PACKAGES")),
          ("Sessions", ("SESSIONS", "FRAMES", "ASYNC", "CONTROL", "CHANGES", "PLACEMENT", "SCENARIOS", "PRECISION")),
          ("Networks", ("OPERATORS", "KIT", "CASCADE", "DISCOVERY", "ZIP", "PRUNE", "SPLIT", "TRAIN", "FORMAT")),
          ("Inside", ("ARCHITECTURE", "ADD_A_BACKEND", "ADD_A_KERNEL", "ADD_AN_OP", "SECURITY")))
LINK = re.compile(r"(\]\()([^)\s]+)(\))|((?:src|href)=\")([^\"]+)(\")")


def title(path):
    with open(path, encoding="utf-8") as file:
        found = re.search(r"^# (.+)$", file.read(), re.M)
    return found[1].replace(":", " -") if found else os.path.basename(path)


def notebook_text(path):
    """Cells of a notebook as Markdown, with what code prints."""
    with open(path, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    parts = []
    for cell in cells:
        source = "".join(cell["source"])
        parts.append(f"```python\n{source}\n```" if cell["cell_type"] == "code" else source)
        parts += ["```text\n" + "".join(output["text"]) + "```" for output in cell.get("outputs", [])]
    return "\n\n".join(parts) + "\n"


class Pages:
    """The site's source: pages as they lie in the tree, and every file that a page links to."""

    def __init__(self, source, place):
        self.source, self.place, self.wanted, self.done = source, place, [], set()

    def target(self, path):
        """Where a file of the tree lies in the site."""
        inside = path[len("docs/"):] if path.startswith("docs/") else "tree/" + path
        if not path.endswith((".md", ".svg", ".png", ".jpg")):
            inside += ".md"  # source text becomes a page
        return inside

    def link(self, page, url):
        if re.match(r"^[a-z]+:|^#", url):
            return url
        path, _, anchor = url.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(page), path))
        if os.path.isdir(os.path.join(self.source, file)):
            readme = os.path.join(file, "README.md")
            file = readme if os.path.exists(os.path.join(self.source, readme)) else file
        if not os.path.exists(os.path.join(self.source, file)):
            sys.exit(f"{page}: no such file: {url}")
        if os.path.isdir(os.path.join(self.source, file)):
            self.folder(file)
            there = "tree/" + file + "/index.md"
        else:
            self.wanted.append(file)
            there = self.target(file)
        return os.path.relpath(there, os.path.dirname(self.target(page))) + ("#" + anchor if anchor else "")

    def folder(self, path):
        """A page that lists what a folder holds."""
        names = sorted(os.listdir(os.path.join(self.source, path)))
        self.write("tree/" + path + "/index.md", f"# {path}\n\n" + "".join(f"- `{name}`\n" for name in names))

    def write(self, inside, text):
        out = os.path.join(self.place, inside)
        os.makedirs(os.path.dirname(out), exist_ok=True)
        with open(out, "w", encoding="utf-8") as file:
            file.write(text)

    def add(self, path):
        if path in self.done:
            return
        self.done.add(path)
        whole, inside = os.path.join(self.source, path), self.target(path)
        if path.endswith((".svg", ".png", ".jpg")):
            os.makedirs(os.path.dirname(os.path.join(self.place, inside)), exist_ok=True)
            shutil.copyfile(whole, os.path.join(self.place, inside))
        elif path.endswith(".ipynb"):
            self.write(inside, self.rewrite(path, notebook_text(whole)))
        elif path.endswith(".md"):
            with open(whole, encoding="utf-8") as file:
                self.write(inside, self.rewrite(path, file.read()))
        else:
            with open(whole, encoding="utf-8", errors="replace") as file:
                text = file.read(400000)
            self.write(inside, f"# {os.path.basename(path)}\n\n```````text\n{text}\n```````\n")

    def rewrite(self, page, text):
        parts = re.split(r"(^```.*?^```|`[^`\n]+`)", text, flags=re.S | re.M)  # code is left alone

        def change(match):
            if match[2]:
                return match[1] + self.link(page, match[2]) + match[3]
            return match[4] + self.link(page, match[5]) + match[6]
        return "".join(part if i % 2 else LINK.sub(change, part) for i, part in enumerate(parts))

    def all(self, first):
        self.wanted = list(first)
        while self.wanted:
            self.add(self.wanted.pop())


def navigation(source):
    lines, named = ["nav:", "  - Overview: index.md"], set()
    for group, names in GROUPS:
        lines.append(f"  - {group}:")
        for name in names:
            if os.path.exists(f"{source}/docs/{name}.md"):
                lines.append(f"      - \"{title(f'{source}/docs/{name}.md')}\": {name}.md")
                named.add(name + ".md")
    rest = sorted(name for name in os.listdir(source + "/docs") if name.endswith(".md") and name not in named)
    for group, folder, names in (("More", "", rest), ("Design", "design/", None), ("Results", "results/", None)):
        names = sorted(n for n in os.listdir(f"{source}/docs/{folder}") if n.endswith(".md")) if names is None else names
        if names:
            lines.append(f"  - {group}:")
            lines += [f"      - \"{title(f'{source}/docs/{folder}{name}')}\": {folder}{name}" for name in names]
    return "\n".join(lines + ["  - API reference: reference.md"]) + "\n"


class Links(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.urls, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors.update(value for key, value in attrs if key in ("id", "name") and value)
        self.urls += [values[key] for key in ("href", "src") if values.get(key)]


def links_check(site):
    """Every link of every page of ours, and every anchor that it names. How many were checked."""
    pages, broken, count = {}, [], 0
    for folder, _, names in os.walk(site):
        for name in names:
            if name.endswith(".html") and os.sep + "api" + os.sep not in folder + os.sep and name != "404.html":
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    pages[path] = Links(file.read())
    for path, page in pages.items():
        for url in page.urls:
            parts = urllib.parse.urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            file = os.path.normpath(os.path.join(os.path.dirname(path), urllib.parse.unquote(parts.path))) if parts.path else path
            file = os.path.join(file, "index.html") if os.path.isdir(file) else file
            anchor, count = urllib.parse.unquote(parts.fragment), count + 1
            if not os.path.exists(file) or (anchor and file in pages and anchor not in pages[file].anchors):
                broken.append(f"{os.path.relpath(path, site)}: {url}")
    if broken:
        sys.exit("broken links:\n" + "\n".join(sorted(set(broken))))
    return len(pages), count


def main(source, out):
    place = os.path.join(out, "pages")
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(place)
    pages = Pages(source, place)
    first = ["README.md"] + [os.path.relpath(os.path.join(folder, name), source)
                             for folder, _, names in os.walk(source + "/docs") for name in names if name.endswith((".md", ".svg"))]
    pages.all(first)
    index = "# MTS SDK\n\n[The project's first page](tree/README.md) has what it is, and how to begin.\n\n"
    pages.write("index.md", index + "".join(
        f"- **{group}**: " + ", ".join(f"[{title(f'{source}/docs/{name}.md')}]({name}.md)" for name in names
                                       if os.path.exists(f"{source}/docs/{name}.md")) + "\n" for group, names in GROUPS))
    pages.write("reference.md", "# API reference\n\nOf the public headers: <a href=\"../api/index.html\">by Doxygen</a>.\n")
    with open(os.path.join(out, "mkdocs.yml"), "w", encoding="utf-8") as file:
        file.write("site_name: MTS SDK\ndocs_dir: pages\nsite_dir: site\nuse_directory_urls: true\n"
                   "theme:\n  name: material\n  font: false\n  features: [navigation.tabs, navigation.top]\n"
                   "plugins: [search]\nmarkdown_extensions: [tables, fenced_code, sane_lists, {toc: {permalink: true}}]\n"
                   + navigation(source))
    doxygen = subprocess.run(["doxygen", "docs/doxygen/Doxyfile"], cwd=source, capture_output=True, text=True)
    if doxygen.returncode:
        sys.exit(doxygen.stderr)
    built = subprocess.run([sys.executable, "-m", "mkdocs", "build", "-q", "-f", os.path.join(out, "mkdocs.yml")])
    if built.returncode:
        sys.exit("mkdocs failed")
    shutil.copytree(source + "/build/reference/html", os.path.join(out, "site", "api"))
    print("%d pages, %d links, none broken" % links_check(os.path.join(out, "site")))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))
