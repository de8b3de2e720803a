"""program_test.py: the plugin in programs that are not ours: gst-inspect-1.0, gst-launch-1.0, and a reader in Python
(apps/gst/read_results.py), whose results are those of mts_camera. Exit code 77: this machine lacks what the tests need."""

import argparse
import json
import os
import shutil
import subprocess
import sys

WIDTH, HEIGHT = 640, 480


class World:
    def __init__(self, args):
        self.args, self.work = args, args.work
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        self.clip = os.path.join(args.data, "clips", "apollo11_640x480_8f.nv12")
        self.env = dict(os.environ, MTS_CACHE_DIR=self.path("cache"), GST_PLUGIN_PATH=args.plugins,
                        GST_REGISTRY=self.path("registry.bin"))
        self.bundle = self.path("small.mtsb")
        self.compile(args.config, self.bundle)

    def path(self, name):
        return os.path.join(self.work, name)

    def compile(self, config, bundle):
        self.run(self.args.program, "compile", "--config", config, "-o", bundle)

    def run(self, *command, status=0):
        done = subprocess.run(command, capture_output=True, text=True, env=self.env, timeout=60)
        if done.returncode != status:
            raise AssertionError(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def face_bundles(self):
        """Paths of detector and faces, or None: the models are not on this machine."""
        models, paths = os.path.join(self.args.data, "models", "face"), []
        if not os.path.isdir(models):
            return None
        for name in ("detector", "faces"):
            source = os.path.join(self.args.faces, name + ".json")
            with open(source, encoding="utf-8") as file:
                for task in json.load(file)["tasks"]:
                    shutil.copyfile(os.path.join(models, task["model"]), self.path(task["model"]))
            paths.append(self.path(name + ".mtsb"))
            self.compile(shutil.copy(source, self.work), paths[-1])
        return paths

    def clip_source(self):
        return (f"filesrc location={self.clip} ! rawvideoparse format=nv12 width={WIDTH} height={HEIGHT} "
                "framerate=30/1 colorimetry=bt601")


def check(true, what):
    if not true:
        raise AssertionError(what)


def inspection_is_clean(world):
    for name in ("mts", "mtsinfer", "mtsoverlay"):
        out, errors = world.run("gst-inspect-1.0", name)
        check("Plugin Details" in out, out)
        check(errors == "", f"{name}: {errors}")


def a_pipeline_of_stock_elements_draws_and_shows_the_meta(world):
    out, errors = world.run("gst-launch-1.0", "-v", "videotestsrc", "num-buffers=5", "!",
                            "video/x-raw,width=320,height=240", "!", "mtsinfer", f"bundle={world.bundle}",
                            "device=reference", "!", "videoscale", "!", "video/x-raw,width=160,height=120", "!",
                            "identity", "silent=false", "!", "mtsoverlay", "!", "fakesink", "silent=false")
    check("WARNING" not in errors and "CRITICAL" not in errors, errors)
    check(out.count("MtsResultsMeta") >= 5, "identity names the meta of each buffer, behind videoscale too")


def a_missing_bundle_ends_the_pipeline_with_its_name(world):
    _, errors = world.run("gst-launch-1.0", "videotestsrc", "!", "mtsinfer", "bundle=/nowhere/a.mtsb", "!", "fakesink",
                          status=255)
    check("/nowhere/a.mtsb" in errors, errors)


def a_reader_that_is_not_ours_sees_what_the_camera_program_says(world):
    if not os.path.exists(world.clip):
        print("the clip is not on this machine")
        return
    if subprocess.run([world.args.system_python, "-c", "import gi; gi.require_version('Gst', '1.0')"],
                      capture_output=True).returncode != 0:
        print("no GStreamer for Python (python3-gi, gir1.2-gstreamer-1.0)")
        return
    options, properties, frames = ["--bundle", world.bundle], f"bundle={world.bundle}", "2"
    people = world.face_bundles()
    if people:
        options += ["--detector", people[0], "--faces", people[1]]
        properties += f" detector={people[0]} faces={people[1]}"
    records = world.path("records.jsonl")
    world.run(world.args.camera, f"raw://{world.clip}?format=nv12&width={WIDTH}&height={HEIGHT}", "--headless",
              "--frames", frames, "--json", records, "--device", "cpu", *options)
    out, _ = world.run(world.args.system_python, world.args.reader,
                       f"{world.clip_source()} ! identity eos-after={int(frames) + 1} ! mtsinfer device=cpu {properties}")
    with open(records, encoding="utf-8") as file:
        wanted = [json.loads(line) for line in file][:-1]
    found = [json.loads(line) for line in out.splitlines()]
    check(len(found) == len(wanted) == int(frames), f"{len(found)} and {len(wanted)} frames")
    for one, other in zip(found, wanted):
        check(one["frame"] == other["frame"] and (one["width"], one["height"]) == (WIDTH, HEIGHT), f"{one}")
        check(one["tasks"] == other["tasks"], f"{one['tasks']} is not {other['tasks']}")
        check(one.get("faces") == other.get("faces"), f"{one.get('faces')} is not {other.get('faces')}")
        check(not people or len(one["faces"]) >= 3, "the crew has three faces")


TRACKS = """
import re, sys, gi
gi.require_version("Gst", "1.0")
from gi.repository import Gst
Gst.init(None)
pipeline = Gst.parse_launch(sys.argv[1] + " ! appsink name=results sync=false")
pipeline.set_state(Gst.State.PLAYING)
for _ in range(2):
    meta = pipeline.get_by_name("results").emit("pull-sample").get_buffer().get_custom_meta("MtsResultsMeta")
    print(*re.findall(r"track[^0-9a-z]+guint64[^0-9a-z]+([0-9]+)", meta.get_structure().to_string()))
pipeline.set_state(Gst.State.NULL)
"""


def faces_keep_their_tracks_from_frame_to_frame(world):
    people = os.path.exists(world.clip) and world.face_bundles()
    if not people or subprocess.run([world.args.system_python, "-c", "import gi; gi.require_version('Gst', '1.0')"],
                                    capture_output=True).returncode != 0:
        print("the clip, the models or GStreamer for Python are not on this machine")
        return
    # one frame again and again: from one to the next the clip's camera moves by the width of a face
    out, _ = world.run(world.args.system_python, "-c", TRACKS, f"{world.clip_source()} ! imagefreeze num-buffers=2 ! "
                       f"mtsinfer device=cpu detector={people[0]} faces={people[1]}")
    first, second = (line.split() for line in out.splitlines())
    check(len(first) >= 3 and sorted(map(int, first)) == list(range(1, len(first) + 1)), f"tracks {first}")
    check(first == second, f"{first}, then {second}, of the same picture")


def main():
    parser = argparse.ArgumentParser()
    for name in ("camera", "program", "plugins", "reader", "config", "faces", "data", "work"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--system-python", required=True)
    args = parser.parse_args()
    if not shutil.which("gst-launch-1.0") or not shutil.which("gst-inspect-1.0"):
        print("skipped: no gst-launch-1.0 (gstreamer1.0-tools)")
        return 77
    world = World(args)
    for test in (inspection_is_clean, a_pipeline_of_stock_elements_draws_and_shows_the_meta,
                 a_missing_bundle_ends_the_pipeline_with_its_name,
                 a_reader_that_is_not_ours_sees_what_the_camera_program_says,
                 faces_keep_their_tracks_from_frame_to_frame):
        test(world)
        print(f"passed: {test.__name__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
