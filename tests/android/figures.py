#!/usr/bin/env python3
"""What the activity of figures measures (apps/android, Figures.java), with a program that answers as `phone` does,
crashes and prints what is no JSON: each costs one measurement. Exit status 77: there is no javac or no java.

usage: figures.py SOURCE
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1))
PROGRAM = """#!/bin/sh
[ $# -gt 0 ] || { echo '{"version": "x", "settings": ["base", "planes"], "devices": [{"id": "cpu"}, {"id": "opencl:0"}, {"id": "reference"}]}'; exit 0; }
case "$*" in
*planes*) kill -SEGV $$ ;;
*b.mtsb*) echo 'no "JSON"' >&2; exit 3 ;;
esac
[ "$6" = --cache ] || exit 4
echo "{\\"device_id\\": \\"$3\\", \\"setting\\": \\"$5\\", \\"latency_ms\\": {\\"median\\": 1.5}}"
"""


class Figures(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.folder = pathlib.Path(self.place.name)
        subprocess.run(["javac", "-Werror", "-d", self.folder / "classes",
                        SOURCE / "apps/android/app/src/main/java/org/mts/camera/Figures.java",
                        SOURCE / "tests/android/java/org/mts/camera/MeasureFigures.java"], check=True)
        self.program = self.folder / "libphone.so"
        for name in ("a.mtsb", "b.mtsb"):
            (self.folder / name).touch()

    def measure(self, minutes):
        subprocess.run(["java", "-cp", self.folder / "classes", "org.mts.camera.MeasureFigures", self.program,
                        self.folder, str(minutes)], check=True)
        return json.loads((self.folder / "figures.json").read_text())

    def test_a_crash_costs_one_measurement(self):
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        got = self.measure(5)
        self.assertEqual(got["listed"]["version"], "x")
        self.assertEqual([(r["bundle"], r["device_id"], r["setting"], "error" in r) for r in got["results"]],
                         [("a", "opencl:0", "base", False), ("b", "opencl:0", "base", True),
                          ("a", "opencl:0", "planes", True), ("b", "opencl:0", "planes", True),
                          ("a", "cpu", "base", False), ("b", "cpu", "base", True)])
        self.assertEqual(got["results"][0]["latency_ms"]["median"], 1.5)
        self.assertEqual(got["results"][1]["error"], 'it ended with status 3: no "JSON"')
        late = self.measure(0)["results"]
        self.assertEqual({r["skipped"] for r in late}, {"the time is over"})
        self.assertEqual(len(late), 6)

    def test_a_program_that_does_not_start_is_told(self):
        self.assertIn("does not start", self.measure(5)["results"][0]["error"])


if not shutil.which("javac") or not shutil.which("java"):
    print("no javac or no java: skipped")
    sys.exit(77)
unittest.main()
