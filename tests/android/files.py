#!/usr/bin/env python3
"""The files of apps/android that no compiler of this machine reads: XML and JSON are well-formed and say what Android's
documentation asks for, paths that they name exist, and the AAR has the layout of a prefab package.

usage: files.py SOURCE CMAKE LIBMTS VERSION
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
import zipfile

ANDROID = "{http://schemas.android.com/apk/res/android}"
ABIS = {"arm64-v8a", "armeabi-v7a", "x86", "x86_64", "riscv64"}
STLS = {"none", "system", "c++_shared", "c++_static"}
FRAMEWORK = pathlib.Path("/usr/share/android-framework-res/framework-res.apk")
DRIVERS = {"libOpenCL.so", "libOpenCL-pixel.so"}


def expect(holds, sentence):
    if not holds:
        sys.exit(f"files.py: {sentence}")


def drivers(manifest, where):
    """None of the drivers that a manifest names is required."""
    application = manifest.find("application")
    expect(application is not None, f"{where}: no <application>")
    named = {entry.get(ANDROID + "name"): entry.get(ANDROID + "required")
             for entry in application.findall("uses-native-library")}
    expect(DRIVERS <= set(named), f"{where}: names {sorted(named)}, not all of {sorted(DRIVERS)}")
    expect(set(named.values()) == {"false"}, f"{where}: a driver is required")


def app_manifest(path):
    manifest = xml.parse(path).getroot()
    expect(manifest.tag == "manifest", f"{path}: is no manifest")
    drivers(manifest, path)
    permissions = [entry.get(ANDROID + "name") for entry in manifest.findall("uses-permission")]
    expect(permissions == ["android.permission.CAMERA"], f"{path}: permissions {permissions}")
    activity = manifest.find("application/activity")
    expect(activity.get(ANDROID + "exported") == "true", f"{path}: from API level 31 on an activity says if it is exported")
    return activity.get(ANDROID + "name")


def braces(path):
    """Groovy without its strings and comments has its brackets in pairs."""
    text = re.sub(r"'[^'\n]*'|\"[^\"\n]*\"|//[^\n]*", "", path.read_text())
    stack = []
    for sign in text:
        if sign in "({[":
            stack.append({"(": ")", "{": "}", "[": "]"}[sign])
        elif sign in ")}]":
            expect(stack and stack.pop() == sign, f"{path}: brackets are not in pairs")
    expect(not stack, f"{path}: brackets are not in pairs")


def gradle(root):
    for path in sorted(root.rglob("*.gradle")):
        braces(path)
        for name in re.findall(r"(?m)^\s*(?:path|from) '([^']+)'", path.read_text()):
            expect((path.parent / name).exists(), f"{path}: there is no {name}")
    settings = (root / "settings.gradle").read_text()
    for project in re.findall(r"include ':(\w+)'", settings):
        folder = re.search(rf"project\(':{project}'\)\.projectDir = file\('(\w+)'\)", settings)
        folder = root / (folder.group(1) if folder else project)
        expect((folder / "build.gradle").exists(), f"settings.gradle: {project} has no build.gradle")
        expect((folder / "src/main/AndroidManifest.xml").exists(), f"settings.gradle: {project} has no manifest")
    used = set(re.findall(r"rootProject\.ext\.(\w+)", "".join(p.read_text() for p in root.rglob("*.gradle"))))
    known = set(re.findall(r"(?m)^    (\w+) = ", (root / "build.gradle").read_text()))
    expect(used <= known, f"build.gradle does not set {sorted(used - known)}")


def cmake_lists(folder):
    listed = set(re.findall(r"\b(\w+\.c)\b", (folder / "CMakeLists.txt").read_text()))
    present = {path.name for path in folder.glob("*.c")}
    expect(listed == present, f"CMakeLists.txt: {sorted(listed ^ present)} are either listed or there")


def native_names(java, activity, native):
    """A method of Java that is native has a function of its name; tests/android/compile.sh compares their parameters."""
    expect(java.exists(), f"the activity {activity} has no file")
    expect(f"package {activity.rpartition('.')[0]};" in java.read_text(), f"{java}: is in another package")
    methods = set(re.findall(r"static native [\w\[\]]+ (\w+)\(", java.read_text()))
    functions = set(re.findall(rf"Java_{activity.replace('.', '_')}_(\w+)\(", native.read_text()))
    expect(methods and methods == functions, f"native methods {sorted(methods)}, functions {sorted(functions)}")
    library = re.search(r'System\.loadLibrary\("(\w+)"\)', java.read_text()).group(1)
    expect(f"add_library({library} SHARED" in (native.parent / "CMakeLists.txt").read_text(), f"no library {library}")


def package(manifest):
    """Android's own tool takes the manifest: attributes and the theme are known to the platform."""
    tool = shutil.which("aapt")
    if not tool or not FRAMEWORK.exists():
        print("no aapt or no android-framework-res: the manifest was not packaged")
        return
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        # Gradle writes the package's name and the API levels into it
        text = manifest.read_text().replace("<manifest ", '<manifest package="org.mts.camera" ', 1)
        (place / "AndroidManifest.xml").write_text(text)
        made = subprocess.run([tool, "package", "-f", "-M", place / "AndroidManifest.xml", "-I", FRAMEWORK, "-F", place / "app.apk",
                               "--min-sdk-version", "26", "--target-sdk-version", "29"], capture_output=True, text=True)
        expect(made.returncode == 0, f"aapt: {made.stderr}")
        says = subprocess.run([tool, "dump", "badging", place / "app.apk"], capture_output=True, text=True).stdout
        tree = subprocess.run([tool, "dump", "xmltree", place / "app.apk", "AndroidManifest.xml"], capture_output=True,
                              text=True).stdout
        expect("org.mts.camera.FiguresActivity" in tree, "aapt: no activity of figures")
        expect("launchable-activity: name='org.mts.camera.MainActivity'" in says, f"aapt: no activity to start: {says}")
        expect("uses-feature: name='android.hardware.camera'" not in says, "devices with a front camera only are left out")


def aar(root, cmake, library, version):
    with tempfile.TemporaryDirectory() as place:
        out = pathlib.Path(place) / "mts.aar"
        made = subprocess.run([cmake, f"-DLIBRARIES=arm64-v8a={library}", f"-DVERSION={version}", "-DAPI=26", "-DNDK=26",
                               f"-DOUT={out}", "-P", root / "libmts/aar.cmake"], capture_output=True, text=True)
        expect(made.returncode == 0, f"aar.cmake: {made.stderr}")
        with zipfile.ZipFile(out) as files:
            expect(files.testzip() is None, "the AAR is damaged")
            names = set(files.namelist())
            read = lambda name: json.loads(files.read(name))
            package = read("prefab/prefab.json")
            module = read("prefab/modules/mts/module.json")
            abi = read("prefab/modules/mts/libs/android.arm64-v8a/abi.json")
            manifest = xml.fromstring(files.read("AndroidManifest.xml"))
            header = files.read("prefab/modules/mts/include/mts/mts.h")
        expect(package == {"schema_version": 2, "name": "mts", "version": version, "dependencies": []},
               f"prefab.json: {package}")
        expect(re.fullmatch(r"\d+(\.\d+(\.\d+(\.\d+)?)?)?", package["version"]), "CMake's versions have four numbers at most")
        expect(module == {"export_libraries": [], "library_name": "libmts"}, f"module.json: {module}")
        expect(set(abi) == {"abi", "api", "ndk", "stl", "static"}, f"abi.json: {abi}")
        expect(abi["abi"] in ABIS and abi["stl"] in STLS and abi["static"] is False, f"abi.json: {abi}")
        expect(isinstance(abi["api"], int) and abi["api"] >= 26 and isinstance(abi["ndk"], int), f"abi.json: {abi}")
        expect({"classes.jar", "R.txt", "jni/arm64-v8a/libmts.so",
                "prefab/modules/mts/libs/android.arm64-v8a/libmts.so"} <= names, f"the AAR holds {sorted(names)}")
        expect(not any("mtsc" in name for name in names), "the AAR holds the compiler's header")
        expect(manifest.get("package") == "org.mts", "the AAR's manifest has no package")
        expect(manifest.find("uses-sdk").get(ANDROID + "minSdkVersion") == "26", "the AAR's manifest has no API level")
        drivers(manifest, "the AAR's manifest")
        expect(header == (root / "../../sdk/include/mts/mts.h").read_bytes(), "the AAR has another header")
        bad = subprocess.run([cmake, f"-DLIBRARIES=arm64-v8a={place}/none.so", f"-DVERSION={version}", f"-DOUT={out}", "-P",
                              root / "libmts/aar.cmake"], capture_output=True, text=True)
        expect(bad.returncode != 0 and "none.so" in bad.stderr, "a library that is not there is no failure")


def main():
    source, cmake, library, version = sys.argv[1:]
    root = pathlib.Path(source) / "apps/android"
    app = root / "app/src/main"
    drivers(xml.parse(root / "libmts/src/main/AndroidManifest.xml").getroot(), "libmts")
    activity = app_manifest(app / "AndroidManifest.xml")
    native_names(app / "java" / (activity.replace(".", "/") + ".java"), activity, app / "cpp/jni.c")
    package(app / "AndroidManifest.xml")
    gradle(root)
    cmake_lists(app / "cpp")
    aar(root, cmake, library, version)
    print("manifests, Gradle's files and the AAR are as documented")


main()
