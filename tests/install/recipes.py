"""What the recipes of packaging and the bills of materials say is so: the digest of LICENSE that the Yocto recipe has, the
version in every recipe, and what is compiled into which file of a build.

usage: recipes.py SOURCE WORK FILE...       (without binutils the bills are left out)
"""
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

wrong = []


def check(holds, sentence):
    if not holds:
        wrong.append(sentence)


def text(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def recipes(source, version):
    with open(os.path.join(source, "LICENSE"), "rb") as file:
        digest = hashlib.md5(file.read(), usedforsecurity=False).hexdigest()
    layer = glob.glob(os.path.join(source, "packaging/yocto/recipes-support/mts/mts_*.bb"))
    check([os.path.basename(path) for path in layer] == [f"mts_{version}.bb"], f"the Yocto recipe is not of {version}: {layer}")
    for path in layer:
        check(f"file://LICENSE;md5={digest}" in text(path), f"{path}: LICENSE has the md5 {digest}")
    port = json.loads(text(source, "packaging/vcpkg/mts/vcpkg.json"))
    check(port["version"] == version, f"vcpkg.json has version {port['version']}, not {version}")
    check(f"<version>{version}</version>" in text(source, "apps/ros2/package.xml"), f"package.xml is not of {version}")


def bill(source, version, work, files):
    """Both bills, as bytes."""
    environment = dict(os.environ, SOURCE_DATE_EPOCH="86400")
    subprocess.run([sys.executable, os.path.join(source, "packaging/sbom.py"), source, version, work, *files], check=True,
                   env=environment)
    return [text(work, name) for name in ("mts.spdx.json", "mts.cdx.json")]


def bills(source, version, work, files):
    first, second = bill(source, version, work, files), bill(source, version, work, files)
    check(first == second, "the same files give two bills")
    spdx, cyclonedx = map(json.loads, first)
    names = {package["SPDXID"]: package["name"] for package in spdx["packages"]}
    known = set(names) | {"SPDXRef-DOCUMENT"}
    for relation in spdx["relationships"]:
        check({relation["spdxElementId"], relation["relatedSpdxElement"]} <= known, f"{relation} leads nowhere")
    check(spdx["creationInfo"]["created"] == "1970-01-02T00:00:00Z", "the date is not SOURCE_DATE_EPOCH")
    inside = {}
    for relation in spdx["relationships"]:
        if relation["relationshipType"] == "CONTAINS":
            inside.setdefault(names[relation["spdxElementId"]].split(".so")[0], set()).add(names[relation["relatedSpdxElement"]])
    expected = {"libmts": {"xxhash"}, "libmtsc": {"xxhash", "onnx.proto"}, "libmtskit": None, "libmtsz": {"xxhash"}, "libgstmts": {"xxhash"},
                "mts": {"xxhash", "stb", "onnx.proto"}}
    for path in files:
        name = os.path.basename(path).split(".so")[0]
        if name in expected:
            check(inside.get(name) == expected[name], f"{name} contains {inside.get(name)}, not {expected[name]}")
    licences = {part["name"]: part.get("licenses") for part in cyclonedx["components"]}
    check(all(licences[name] for parts in inside.values() for name in parts), f"a part has no licence: {licences}")


def main(source, work, *files):
    version = re.search(r"project\(mts VERSION ([0-9.]+)", text(source, "CMakeLists.txt"))[1]
    recipes(source, version)
    if files and shutil.which("objdump"):
        bills(source, version, work, files)
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    print(f"recipes of {version}, {len(files)} files in the bills, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
