"""Writes what the libraries and programs of a build are made of: mts.spdx.json (SPDX 2.3) and mts.cdx.json (CycloneDX 1.6).

usage: sbom.py SOURCE VERSION OUT FILE...

FILES are ELF files of the build. Their dependencies are read from the files (the names that the loader looks for), and the
packages that those come from, with their versions, are asked of dpkg where it is there. What is compiled in is known by
the symbols of COMPILED_IN; of a file without symbols all of it is said. The same build gives the same bytes: the date is
SOURCE_DATE_EPOCH, else that of the newest commit, else 1970, and identifiers are hashes of the content."""

import datetime
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import uuid

# Debian package, name, licence, symbols: what becomes a part of our own files
COMPILED_IN = {"libxxhash-dev": ("xxhash", "BSD-2-Clause", r"\bXXH"),
               "libstb-dev": ("stb", "MIT OR Unlicense", r"\bstbi_"),
               "libonnx-dev": ("onnx.proto", "Apache-2.0", r"\bonnx__")}
SYSTEM = re.compile(r"^(libc|libm|libdl|libpthread|librt|ld-linux[-a-z0-9_]*)\.so")


def run(*command):
    """Its output; "" where it fails or the program is not there."""
    if not shutil.which(command[0]):
        return ""
    return subprocess.run(command, capture_output=True, text=True).stdout


def date(source):
    stamp = os.environ.get("SOURCE_DATE_EPOCH") or run("git", "-C", source, "log", "-1", "--format=%ct").strip() or "0"
    return datetime.datetime.fromtimestamp(int(stamp), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def needed(path):
    return re.findall(r"NEEDED\s+(?:Shared library: \[)?([^\]\s]+)", run("objdump", "-p", path))


@functools.lru_cache(maxsize=None)
def owner_of(library):
    """Debian's package of a file, and its version; ("", "") where that is not known."""
    for place in (library, os.path.realpath(library)):
        for name in (place, place.replace("/lib/", "/usr/lib/", 1)):
            owner = run("dpkg-query", "-S", name).split(":")[0]
            if owner and "\n" not in owner:
                return owner, run("dpkg-query", "-W", "-f", "${Version}", owner).strip()
    return "", ""


def package_of(soname, loaded):
    """The same of a library, by what `ldd` says of the file that needs it."""
    found = re.search(r"^\s*%s => (\S+)" % re.escape(soname), loaded, re.M)
    return owner_of(found[1]) if found else ("", "")


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


class Component:
    def __init__(self, name, version, kind, licence="NOASSERTION", digest="", debian=""):
        self.name, self.version, self.kind, self.licence, self.digest = name, version, kind, licence, digest
        self.ref = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{kind}-{name}")
        self.purl = f"pkg:deb/debian/{debian}@{version}" if debian and version else ""
        self.needs = []


def read(files, version):
    """Our files, and everything that they need or contain, by name."""
    own = {os.path.basename(os.path.realpath(path)): path for path in files}
    sonames = {}
    for name, path in own.items():
        soname = re.search(r"SONAME\s+(\S+)", run("objdump", "-p", path))
        sonames[soname[1] if soname else name] = name
    components = {name: Component(name, version, "file", "Apache-2.0", sha256(path)) for name, path in own.items()}
    for name, path in own.items():
        loaded = run("ldd", path)
        for soname in needed(path):
            if soname in sonames:
                components[name].needs.append(sonames[soname])
                continue
            debian, found = package_of(soname, loaded)
            key = debian or soname
            if key not in components:
                components[key] = Component(key, found, "system" if SYSTEM.match(soname) else "library", debian=debian)
            if key not in components[name].needs:
                components[name].needs.append(key)
    for name, path in own.items():
        symbols = run("objdump", "-t", path)
        unknown = "no symbols" in symbols
        for debian, (key, licence, marks) in COMPILED_IN.items():
            if unknown or re.search(marks, symbols):
                found = run("dpkg-query", "-W", "-f", "${Version}", debian).strip()
                components.setdefault(key, Component(key, found, "source", licence, debian=debian))
                components[name].needs.append(key)
    return components


def spdx(components, version, created, identity):
    packages, relations = [], []
    for part in components.values():
        package = {"SPDXID": part.ref, "name": part.name, "versionInfo": part.version or "NOASSERTION",
                   "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": "NOASSERTION",
                   "licenseDeclared": part.licence, "copyrightText": "NOASSERTION", "supplier": "NOASSERTION"}
        if part.digest:
            package["checksums"] = [{"algorithm": "SHA256", "checksumValue": part.digest}]
            relations.append(("SPDXRef-DOCUMENT", "DESCRIBES", part.ref))
        if part.purl:
            package["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                        "referenceLocator": part.purl}]
        packages.append(package)
        for need in part.needs:
            how = "CONTAINS" if components[need].kind == "source" else "DEPENDS_ON"
            relations.append((part.ref, how, components[need].ref))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"mts-{version}",
            "documentNamespace": f"urn:uuid:{identity}",
            "creationInfo": {"created": created, "creators": ["Tool: mts-packaging-sbom.py"]}, "packages": packages,
            "relationships": [{"spdxElementId": a, "relationshipType": how, "relatedSpdxElement": b}
                              for a, how, b in relations]}


def cyclonedx(components, version, created, identity):
    parts = []
    for part in components.values():
        entry = {"type": "file" if part.kind == "file" else "library", "bom-ref": part.ref, "name": part.name}
        if part.version:
            entry["version"] = part.version
        if part.licence != "NOASSERTION":
            one = " OR " not in part.licence
            entry["licenses"] = [{"license": {"id": part.licence}} if one else {"expression": part.licence}]
        if part.digest:
            entry["hashes"] = [{"alg": "SHA-256", "content": part.digest}]
        if part.purl:
            entry["purl"] = part.purl
        parts.append(entry)
    depends = [{"ref": part.ref, "dependsOn": sorted(components[need].ref for need in part.needs)}
               for part in components.values()]
    top = {"ref": "mts", "dependsOn": sorted(part.ref for part in components.values() if part.kind == "file")}
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{identity}", "version": 1,
            "metadata": {"timestamp": created, "component": {"type": "library", "bom-ref": "mts", "name": "mts",
                                                             "version": version,
                                                             "licenses": [{"license": {"id": "Apache-2.0"}}]}},
            "components": parts, "dependencies": [top] + depends}


def main(source, version, out, *files):
    if not shutil.which("objdump"):
        sys.exit("sbom.py: objdump (binutils) is not there, and so nothing is known of what the files need")
    components = dict(sorted(read(files, version).items()))
    content = json.dumps([(part.name, part.version, part.digest, part.needs) for part in components.values()])
    identity = uuid.UUID(hashlib.sha256(content.encode()).hexdigest()[:32], version=4)
    os.makedirs(out, exist_ok=True)
    for name, make in (("mts.spdx.json", spdx), ("mts.cdx.json", cyclonedx)):
        with open(os.path.join(out, name), "w", encoding="utf-8") as file:
            json.dump(make(components, version, date(source), identity), file, indent=1, sort_keys=True)
            file.write("\n")


if __name__ == "__main__":
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
