"""toolchains/phone on a fake adb (fake_adb.py), with the host's program in place of the phone's.

usage: phone.py SOURCE MTS PHONE_PROGRAM WORK"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

SOURCE, MTS, PROGRAM, WORK = map(pathlib.Path, sys.argv[1:5])
FAKE = SOURCE / "tests/android/fake_adb.py"


def run(*words, **environment):
    return subprocess.run([sys.executable, SOURCE / "toolchains/phone", "--adb", f"{sys.executable} {FAKE}",
                           *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, "FAKE_ADB_ROOT": str(WORK / "root"), **environment})


class OnAFakePhone(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(WORK, ignore_errors=True)
        WORK.mkdir(parents=True)
        cls.bundle = WORK / "small.mtsb"
        subprocess.run([MTS, "synth", "--arch", "resnet18", "--tasks", "2", "--prune", "0.95", "--share", "0.9",
                        "--input", "32", "-o", cls.bundle], stdout=subprocess.DEVNULL, check=True)
        cls.out = WORK / "phone.json"
        cls.words = ["--program", PROGRAM, "--bundle", f"small={cls.bundle}", "-o", cls.out, "--seconds", "0.02"]

    def setUp(self):
        self.out.unlink(missing_ok=True)
        shutil.rmtree(WORK / "root", ignore_errors=True)

    def answer(self, *words, **environment):
        done = run(*self.words, *words, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(self.out.read_text())

    def test_every_setting_of_a_device_has_figures(self):
        got = self.answer("--device", "reference")
        self.assertEqual(got["phone"]["ro.product.model"], "fake ro.product.model")
        self.assertIn("reference", [device["id"] for device in got["devices"]])
        self.assertEqual(got["bundles"], {"small": self.bundle.stat().st_size})
        settings = [result["setting"] for result in got["results"]]
        self.assertEqual(settings[0], "base")
        self.assertEqual(set(settings), {"base", "float32", "float16-storage", "float16", "planes", "packed", "packed-images",
                                         "packed-float16", "replay", "no-replay", "smooth", "fast"})
        for result in got["results"]:
            self.assertNotIn("error", result)
            self.assertGreater(result["latency_ms"]["median"], 0)
            self.assertGreater(result["launches"], 0)
            self.assertEqual(result["values"], 20)
            self.assertLess(result["difference"], 0.02)

    def test_the_processor_is_measured_without_what_it_ignores(self):
        got = self.answer("--device", "cpu", "--setting", "base")
        self.assertEqual([(r["device_id"], r["setting"]) for r in got["results"]], [("cpu", "base")])
        self.assertEqual(got["results"][0]["difference"], 0)

    def test_a_setting_that_crashes_costs_only_itself(self):
        got = self.answer("--device", "cpu", "--setting", "base", "--setting", "float16", "--setting", "replay",
                          FAKE_ADB_CRASH="float16")
        self.assertEqual(["error" in result for result in got["results"]], [False, True, False])
        self.assertIn("status 139", got["results"][1]["error"])
        self.assertIn("the driver fell over", got["results"][1]["error"])

    def test_what_the_program_refuses_is_its_sentence(self):
        got = self.answer("--device", "opencl:77", "--setting", "base")
        self.assertIn("77", got["results"][0]["error"])

    def test_what_does_not_fit_into_the_minutes_is_listed(self):
        got = self.answer("--device", "cpu", "--minutes", "0")
        self.assertTrue(all("skipped" in result for result in got["results"]))

    def test_a_process_that_does_not_end_is_left_behind(self):
        sleeper = WORK / "sleeper"
        sleeper.write_text('#!/bin/sh\n[ $# -gt 0 ] && exec sleep 3\n'
                           'echo \'{"version": "x", "settings": ["base"], "devices": []}\'\n')
        got = self.answer("--program", sleeper, "--device", "opencl:0", "--limit", "1")
        self.assertIn("longer than 1", got["results"][0]["error"])

    def test_what_is_missing_is_told(self):
        for words, environment, said in [
                (self.words, {"FAKE_ADB_STATE": "none"}, "no devices/emulators found"),
                (["--program", PROGRAM, "--bundle", "small"], {}, "NAME=FILE"),
                (["--bundle", f"a={self.bundle}"], {"ANDROID_NDK": ""}, "ANDROID_NDK"),
                ([*self.words, "--folder", "/system"], {}, "denied"),
                ([*self.words, "--adb", "/nowhere/adb"], {}, "platform tools")]:
            done = run(*words, **environment)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(said, done.stderr)
            self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
