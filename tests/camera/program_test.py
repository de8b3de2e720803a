"""program_test.py: mts_camera end to end, without a camera: clips, pipes, GStreamer's test source; what it
writes, and how it ends. Exit code 77: this machine lacks what the tests need."""

import argparse
import fcntl
import json
import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import zlib

WIDTH, HEIGHT, FRAMES = 640, 480, 8
FRAME = WIDTH * HEIGHT * 3 // 2
TASKS = ["object", "animal", "habitat", "legs", "pet", "wheels", "size", "diet"]


class World:
    def __init__(self, args):
        self.camera, self.work, self.sanitized = args.camera, args.work, args.sanitized
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        self.program, self.faces = args.program, args.faces
        self.models = os.path.join(args.data, "models", "face")
        self.clip = os.path.join(args.data, "clips", "apollo11_640x480_8f.nv12")
        self.bundle = self.path("small.mtsb")
        self.env = dict(os.environ, MTS_CACHE_DIR=self.path("cache"))
        subprocess.run([args.program, "compile", "--config", args.config, "-o", self.bundle], check=True,
                       stdout=subprocess.DEVNULL, env=self.env)

    def path(self, name):
        return os.path.join(self.work, name)

    def raw(self, path, more=""):
        return f"raw://{path}?format=nv12&width={WIDTH}&height={HEIGHT}{more}"

    def command(self, source, *options, bundle=True):
        networks = ["--bundle", self.bundle, "--device", "reference"] if bundle else []
        return [self.camera, source, "--headless", *networks, *options]

    def run(self, source, *options, bundle=True, status=0, sentence=""):
        """Runs the program; returns standard output and standard error."""
        done = subprocess.run(self.command(source, *options, bundle=bundle), capture_output=True, text=True,
                              env=self.env, timeout=60)
        if done.returncode != status or sentence not in done.stderr:
            raise AssertionError(f"{done.args}: status {done.returncode}, expected {status} and "
                                 f"'{sentence}':\n{done.stdout}{done.stderr}")
        if status:
            check(done.stderr.strip() != "", "a failure has a sentence")
        return done.stdout, done.stderr

    def records(self, source, *options, **more):
        """Runs the program; returns the records of frames and the summary."""
        path = self.path("records.jsonl")
        self.run(source, "--json", path, *options, **more)
        return records_read(path)


def check(true, what):
    if not true:
        raise AssertionError(what)


def records_read(path):
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    check("summary" in lines[-1], "the last line is the summary")
    check(all("summary" not in line for line in lines[:-1]), "it is the only one")
    return lines[:-1], lines[-1]["summary"]


def png_read(path):
    """Width, height and the bytes of the rows; fails if the file is no whole PNG."""
    with open(path, "rb") as file:
        data = file.read()
    check(data[:8] == b"\x89PNG\r\n\x1a\n", "a PNG begins like one")
    at, packed, size, ended = 8, b"", None, False
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        check(zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0], "sums")
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        packed += body if kind == b"IDAT" else b""
        ended = kind == b"IEND"
        at += 12 + length
    check(ended and size, "it is whole")
    pixels = zlib.decompress(packed)
    check(len(pixels) == size[1] * (1 + 3 * size[0]), "it has all rows")
    return size, pixels


def has_gstreamer(world):
    done = subprocess.run(world.command("test://?frames=1&width=32&height=32", bundle=False),
                          capture_output=True, text=True, env=world.env, timeout=60)
    return done.returncode == 0


def same_answers(got, want):
    check(len(got) == len(want), f"{len(got)} frames, not {len(want)}")
    for one, other in zip(got, want):
        check(one["tasks"] == other["tasks"], f"frame {one['frame']} has other answers")


def terminal_read(command, screen, terminal, env):
    """Runs a command on a terminal; returns its status and what was written there."""
    with subprocess.Popen(command, stdout=terminal, stderr=subprocess.DEVNULL, env=env) as program:
        os.close(terminal)
        text = b""
        while True:
            try:
                part = os.read(screen, 65536)
            except OSError:  # the program has gone
                break
            if not part:
                break
            text += part
    os.close(screen)
    return program.returncode, text.decode()


# ---- what it writes ----

def a_clip_gives_a_record_and_a_picture_per_frame(world):
    frames, summary = world.records(world.raw(world.clip), "--png", world.path("png"))
    check([frame["frame"] for frame in frames] == list(range(FRAMES)), "all frames, in order")
    for frame in frames:
        check([task["name"] for task in frame["tasks"]] == TASKS, "all tasks")
        check(all(task["ran"] and 0 <= task["score"] <= 1 and task["label"] for task in frame["tasks"]), "labels")
        check(frame["latency_ms"] >= 0, "latency")
    check(abs(frames[3]["time_ms"] - 100) < 0.1, "30 frames a second")
    check(summary["frames"] == summary["answered"] == FRAMES and summary["dropped"] == 0, "counts")
    check(summary["status"] == 0 and "reason" not in summary, "no failure")
    check([task["runs"] for task in summary["tasks"]] == [FRAMES] * len(TASKS), "runs")
    names = sorted(os.listdir(world.path("png")))
    check(names == [f"frame_{i:06}.png" for i in range(FRAMES)], "a picture per frame")
    size, pixels = png_read(world.path("png/frame_000000.png"))
    check(size == (WIDTH, HEIGHT), "its size")
    check(len(set(pixels)) > 200, "something is on it")


def pictures_are_turned_upright(world):
    world.run(world.raw(world.clip), "--rotate", "90", "--mirror", "--png", world.path("turned"), "--png-every", "4")
    check(sorted(os.listdir(world.path("turned"))) == ["frame_000000.png", "frame_000004.png"], "each fourth")
    check(png_read(world.path("turned/frame_000004.png"))[0] == (HEIGHT, WIDTH), "turned")


def frames_and_tasks_are_chosen(world):
    frames, summary = world.records(world.raw(world.clip, "&loop=1"), "--frames", "11", "--tasks", "pet,legs",
                                    "--every", "legs=3")
    check(len(frames) == 11 and summary["answered"] == 11, "eleven frames")
    check([task["name"] for task in frames[0]["tasks"]] == ["pet", "legs"], "two tasks")
    check([frame["tasks"][1]["ran"] for frame in frames] == [i % 3 == 0 for i in range(11)], "every third")
    check([task["runs"] for task in summary["tasks"]] == [11, 4], "runs")


def one_frame_in_flight_gives_what_many_give(world):
    few, _ = world.records(world.raw(world.clip), "--in-flight", "1", "--tasks", "pet,legs")
    many, _ = world.records(world.raw(world.clip), "--in-flight", "8", "--tasks", "pet,legs")
    same_answers(many, few)


def every_frame_is_answered_or_dropped(world):
    lines, summary = world.records(world.raw(world.clip, "&loop=1"), "--frames", "60", "--in-flight", "3",
                                   "--drop-oldest", "--tasks", "pet")
    dropped = [line["frame"] for line in lines if line.get("dropped")]
    answered = [line["frame"] for line in lines if "tasks" in line]
    check(sorted(dropped + answered) == list(range(60)), "each frame once")
    check(answered == sorted(answered), "in order")
    check(summary["dropped"] == len(dropped) and summary["answered"] == len(answered), "counts")
    check(len(answered) > 0, "some are answered")


def records_can_be_printed(world):
    out, _ = world.run(world.raw(world.clip), "--json", "-", "--frames", "2", "--tasks", "pet")
    lines = [json.loads(line) for line in out.splitlines()]
    check(len(lines) == 3 and "summary" in lines[2], "nothing but records")


def records_on_a_terminal_are_not_mixed_with_the_table(world):
    screen, terminal = pty.openpty()
    command = [part for part in world.command(world.raw(world.clip, "&fps=40"), "--json", "-", "--tasks", "pet")
               if part != "--headless"]
    status, text = terminal_read(command, screen, terminal, world.env)
    check(status == 0, f"status {status}")
    check("\x1b" not in text, "no escapes")
    lines = [json.loads(line) for line in text.splitlines()]
    check(len(lines) == FRAMES + 1 and "summary" in lines[-1], "nothing but records")


def a_source_that_is_not_there_leaves_the_record_of_before(world):
    path = world.path("kept.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.write("an earlier run\n")
    world.run(world.raw(world.path("nothing")), "--json", path, "--tasks", "pet", status=3, sentence="cannot open")
    world.run("photo.jpg", "--json", path, "--tasks", "pet", status=2, sentence="is no source")
    world.run(world.raw(world.clip), "--json", path, "--tasks", "nobody", status=1, sentence="nobody")
    with open(path, encoding="utf-8") as file:
        check(file.read() == "an earlier run\n", "it is as it was")


def faces_are_found_and_their_tasks_answered(world):
    if not os.path.isdir(world.models):
        print("the models of faces are not on this machine")
        return
    bundles = []
    for name in ("detector", "faces"):
        with open(os.path.join(world.faces, name + ".json"), encoding="utf-8") as file:
            tasks = json.load(file)["tasks"]
        for task in tasks:
            shutil.copyfile(os.path.join(world.models, task["model"]), world.path(task["model"]))
        config, bundle = shutil.copy(os.path.join(world.faces, name + ".json"), world.work), world.path(name + ".mtsb")
        subprocess.run([world.program, "compile", "--config", config, "-o", bundle], check=True,
                       stdout=subprocess.DEVNULL, env=world.env)
        bundles += ["--" + name, bundle]
    frames, summary = world.records(world.raw(world.clip), *bundles, "--tasks", "pet", "--frames", "2", "--png",
                                    world.path("faces"))
    check(summary["answered"] == 2 and summary["status"] == 0, "counts")
    for frame in frames:
        check([task["name"] for task in frame["tasks"]] == ["pet"], "the bundle's task is answered, too")
        check(len(frame["faces"]) >= 3, f"the crew has three faces: {frame['faces']}")
        for face in frame["faces"]:
            check(face["score"] > 0.7, "it is sure of them")
    check(len(os.listdir(world.path("faces"))) == 2, "pictures with faces")
    out, _ = world.run(world.raw(world.clip), *bundles, "--device", "reference", "--frames", "1", bundle=False)
    check("faces; detector" in out, "the table has a line for them")


def frames_need_no_networks(world):
    out, _ = world.run(world.raw(world.clip), bundle=False)
    check("8 frames, 8 answered, 0 dropped" in out, "counts")


def a_terminal_has_a_table_that_is_drawn_in_place(world):
    screen, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 6, 50, 0, 0))
    command = [world.camera, world.raw(world.clip, "&fps=20"), "--bundle", world.bundle, "--device", "reference"]
    status, text = terminal_read(command, screen, terminal, world.env)
    check(status == 0, f"status {status}")
    screens = text.split("\x1b[5A")
    check(len(screens) > 2, "it is drawn several times, five lines of six")
    check(all(name in screens[-1] for name in TASKS), "all tasks are there at the end")
    for line in text.split("\n"):
        check(len(line.replace("\r", "").replace("\x1b[K", "").replace("\x1b[5A", "")) < 50, f"narrow: {line!r}")


# ---- how it ends ----

def a_clip_that_is_cut_short_has_vanished(world):
    path = world.path("cut.nv12")
    with open(world.clip, "rb") as clip, open(path, "wb") as cut:
        cut.write(clip.read(2 * FRAME + 1000))
    frames, summary = world.records(world.raw(path), "--tasks", "pet", status=5, sentence="in the middle of frame 2")
    check(len(frames) == 2 and summary["status"] == 5, "whole frames are answered")
    check("in the middle of frame 2" in summary["reason"], "the summary says why")


def frames_that_stop_end_the_program(world):
    pipe, out = world.path("pipe"), world.path("stalled.jsonl")
    os.mkfifo(pipe)
    with subprocess.Popen(world.command(world.raw(pipe), "--timeout", "0.4", "--json", out, "--tasks", "pet"),
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=world.env) as program:
        with open(world.clip, "rb") as clip, open(pipe, "wb") as writer:
            writer.write(clip.read(2 * FRAME))
            writer.flush()
            _, error = program.communicate(timeout=60)
        check(program.returncode == 6, f"status {program.returncode}: {error}")
    check("no frame has come for 0.4 s, after 2 frames" in error, error)
    frames, summary = records_read(out)
    check(len(frames) == 2 and summary["status"] == 6, "what came is answered")


def a_signal_ends_it_cleanly(world):
    for number in (signal.SIGINT, signal.SIGTERM):
        out = world.path("signal.jsonl")
        if os.path.exists(out):
            os.unlink(out)
        source = world.raw(world.clip, "&loop=1&fps=20")
        with subprocess.Popen(world.command(source, "--pace", "--json", out, "--tasks", "pet"),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=world.env) as program:
            until = time.monotonic() + 30
            while not (os.path.exists(out) and os.path.getsize(out)) and time.monotonic() < until:
                time.sleep(0.02)
            program.send_signal(number)
            text, error = program.communicate(timeout=30)
            check(program.returncode == 0, f"status {program.returncode}: {error}")
        frames, summary = records_read(out)
        check(len(frames) == summary["answered"] == summary["frames"] > 0, "all that came is answered")
        check("dropped" in text, "the summary is printed")


def sources_that_cannot_be_had_have_their_status(world):
    text = world.path("text")
    with open(text, "w", encoding="utf-8") as file:
        file.write("This is no video.\n" * 100)
    world.run("v4l2-raw:///dev/no_such_camera", status=3, sentence="cannot open the camera")
    world.run("v4l2-raw:///dev/null", status=3, sentence="is no V4L2 device")
    world.run(world.raw(world.path("nothing")), status=3, sentence="cannot open")
    world.run(world.raw(text), status=4, sentence="a frame of 640x480 in nv12 has 460800")


def mistakes_on_the_command_line_are_named(world):
    raw = world.raw(world.clip)
    for options, sentence in [(["--rotate", "45"], "--rotate"), (["--drop-oldest", "--block"], "not both"),
                              (["--drop-oldest", "--in-flight", "1"], "two frames"),
                              (["--size", "12"], "--size takes"), (["--size", "640.7x480.9"], "--size takes"),
                              (["--format", "h264"], "--format"),
                              (["--yuv", "bt2020"], "--yuv"), (["--window"], "not both"),
                              (["--every", "pet"], "--every takes"), (["--in-flight", "16"], "out of range"),
                              (["--detector", "x"], "belong together")]:
        world.run(raw, *options, status=2, sentence=sentence)
    world.run(raw, "--tasks", "pet", bundle=False, status=2, sentence="need a --bundle")
    world.run("photo.jpg", status=2, sentence="is no source")
    world.run(raw, "--every", "nobody=2", status=1, sentence="nobody")
    world.run(raw, "--tasks", "nobody", status=1, sentence="nobody")


def files_that_cannot_be_written_are_failures(world):
    raw = world.raw(world.clip)
    world.run(raw, "--json", world.path("no/such/folder"), status=1, sentence="cannot write")
    world.run(raw, "--png", world.path("no/such/folder"), status=1, sentence="cannot make the directory")
    if os.path.exists("/dev/full"):
        world.run(raw, "--json", "/dev/full", "--tasks", "pet", status=1, sentence="cannot write")
        for options in (["--frames", "1"], ["--frames", "1", "--json", "-"], ["--help"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run(world.command(raw, *options, bundle=False), stdout=full, stderr=subprocess.PIPE,
                                      text=True, env=world.env, timeout=60)
            check(done.returncode == 1 and ("written" in done.stderr or "cannot write" in done.stderr),
                  f"{options}: {done.returncode} {done.stderr}")


# ---- with GStreamer ----

def gstreamer_gives_the_same_answers_as_the_clip(world):
    want, _ = world.records(world.raw(world.clip), "--tasks", "pet,diet")
    source = f"gst://filesrc location={world.clip} ! rawvideoparse format=nv12 width={WIDTH} height={HEIGHT}"
    # what is no HD is taken for BT.601 by either
    got, summary = world.records(source, "--tasks", "pet,diet")
    check(summary["source"]["format"] == "nv12" and summary["source"]["yuv"] == "bt601", "the clip's format")
    same_answers(got, want)


def a_test_source_runs(world):
    frames, summary = world.records("test://ball?width=161&height=91&format=yuyv&frames=20", "--tasks", "pet")
    check(len(frames) == 20 and summary["source"]["format"] == "yuyv", "as asked for")


def a_live_pipeline_drops_what_the_networks_are_too_slow_for(world):
    source = "gst://videotestsrc is-live=true num-buffers=300 ! video/x-raw,width=1280,height=720,framerate=1000/1"
    lines, summary = world.records(source, "--png", world.path("live"), "--tasks", "pet", status=5,
                                   sentence="the source ended")
    check(summary["answered"] + summary["dropped"] == summary["frames"] == len(lines), "each frame once")
    check(summary["frames"] < 300, "a camera does not wait")


def gstreamers_failures_have_their_status(world):
    text = world.path("text")
    world.run("v4l2:///dev/no_such_camera", status=3)
    world.run("file:///no/such/file.mp4", status=3)
    world.run(f"file://{text}", status=4)
    world.run("gst://videotestsrc ! video/x-raw,width=64,height=48 ! identity error-after=4", status=5,
              sentence="vanished after")
    world.run("gst://videotestsrc ! valve drop=true", "--timeout", "0.3", status=6, sentence="no frame within")
    if not world.sanitized:  # libproxy, which GStreamer asks, throws exceptions where a C program cannot
        world.run("rtsp://somebody:secret@127.0.0.1:9/stream", status=3, sentence="rtsp://***@127.0.0.1:9")
    world.run(f"file://{text}", "--size", "64x48", status=2, sentence="own size")


def a_window_is_fed(world):
    source = "test://?width=64&height=48&frames=10"
    for sink, status in (("fakesink", 0), ("no_such_sink", 1)):
        done = subprocess.run([world.camera, source, "--window", "--window-sink", sink], capture_output=True,
                              text=True, env=world.env, timeout=60)
        check(done.returncode == status, f"{sink}: {done.returncode} {done.stderr}")


PLAIN = [a_clip_gives_a_record_and_a_picture_per_frame, pictures_are_turned_upright, frames_and_tasks_are_chosen,
         one_frame_in_flight_gives_what_many_give, every_frame_is_answered_or_dropped, records_can_be_printed,
         records_on_a_terminal_are_not_mixed_with_the_table,
         a_source_that_is_not_there_leaves_the_record_of_before, faces_are_found_and_their_tasks_answered,
         frames_need_no_networks, a_terminal_has_a_table_that_is_drawn_in_place,
         a_clip_that_is_cut_short_has_vanished, frames_that_stop_end_the_program, a_signal_ends_it_cleanly,
         sources_that_cannot_be_had_have_their_status, mistakes_on_the_command_line_are_named,
         files_that_cannot_be_written_are_failures]
GSTREAMER = [gstreamer_gives_the_same_answers_as_the_clip, a_test_source_runs,
             a_live_pipeline_drops_what_the_networks_are_too_slow_for,
             gstreamers_failures_have_their_status, a_window_is_fed]


def main():
    parser = argparse.ArgumentParser()
    for name in ("camera", "program", "config", "faces", "data", "work"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--sanitized", action="store_true")
    args = parser.parse_args()
    if not os.path.exists(os.path.join(args.data, "clips", "apollo11_640x480_8f.nv12")):
        print("the clips are not on this machine")
        return 77
    world = World(args)
    tests = PLAIN + (GSTREAMER if has_gstreamer(world) else [])
    for test in tests:
        begun = time.monotonic()
        test(world)
        print(f"{test.__name__}: {time.monotonic() - begun:.2f} s")
    if len(tests) == len(PLAIN):
        print("GStreamer is not here: its sources were not tested")
    print(f"[  PASSED  ] {len(tests)} tests.")
    shutil.rmtree(world.work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
