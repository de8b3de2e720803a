#!/usr/bin/env python3
"""The face cascade beside ONNX Runtime, on photos and clips of the shared data. Exit status 77 (skipped) where ONNX
Runtime or the data is missing.

Everything but the decoding of photos is done a second time here, in double precision: colour conversion, crops, bilinear
resize (docs/FRAMES.md), the decoding of the detector's outputs, suppression of overlapping boxes (docs/CASCADE.md). ONNX
Runtime runs each model alone, with a batch of one. What has to agree within 1e-3:

- the detector's 4420 scores and boxes: absolutely, they are in 0..1; so faces' scores, and their boxes in parts of the picture;
- gender and mask: absolutely, they are probabilities;
- pose: of the face's largest angle, or of one degree if that is larger; points: of the crop's side.

Crops are compared as whole pixels: at most one may differ by one, where a rounding is a tie.
"""
import argparse
import json
import math
import os
import shutil
import subprocess
import sys

SKIPPED = 77
TOLERANCE = 1e-3
LEAST_SCORE = 0.7
OVERLAP = 0.4
FACTORS = {"face": 1.1, "pose": 1.4, "landmarks": 1.3}
PHOTOS = {"apollo11_crew.jpg": 3, "bike_riders.jpg": 2, "astronaut.png": 1, "dog-human.jpg": 1, "sportscar.jpg": 0}
CLIPS = {"apollo11_640x480_8f.nv12": "nv12", "bike_riders_640x480_4f.yuyv": "yuyv"}
CLIP_SIZE = (640, 480)
MODELS = {"detector": "version-RFB-320", "gender": "gender_predictor", "mask": "mask_detector",
          "pose": "pose_estimation", "landmarks": "face_landmarker_pts5_net1"}

try:
    import numpy
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error} (toolchains/requirements.txt)")
    sys.exit(SKIPPED)


class Failure(Exception):
    pass


def program(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"{os.path.basename(arguments[0])}: {done.stderr.strip()}")
    return done.stdout


class Differences:
    """The largest one of each kind; over the tolerance, the sentence that says so."""

    def __init__(self):
        self.largest = {}
        self.failures = []

    def check(self, kind, where, got, want, scale=1.0):
        got, want = numpy.ravel(got).astype(float), numpy.ravel(want).astype(float)
        worst = float("inf") if got.shape != want.shape else float(numpy.max(numpy.abs(got - want)) / scale)
        self.largest[kind] = max(self.largest.get(kind, 0.0), worst)
        if not worst <= TOLERANCE:
            self.failures.append(f"{where}: {kind} differs by {worst:.2e}")


def resize(picture, height, width):
    """Bilinear: pixel centres at half pixels, edges repeat, nothing is rounded."""
    def taps(length, size):
        at = (numpy.arange(size) + 0.5) * length / size - 0.5
        low = numpy.floor(at).astype(int)
        return numpy.clip(low, 0, length - 1), numpy.clip(low + 1, 0, length - 1), at - low
    top, bottom, down = taps(picture.shape[0], height)
    left, right, across = taps(picture.shape[1], width)
    rows = picture[top] * (1 - down)[:, None, None] + picture[bottom] * down[:, None, None]
    return rows[:, left] * (1 - across)[None, :, None] + rows[:, right] * across[None, :, None]


def from_yuv(luma, blue, red):
    """BT.601, limited, with libyuv's factors: multiples of 1/64."""
    luma = luma * (18997 * 257 / 65536 / 64) - 1192 / 64
    blue, red = blue - 128, red - 128
    rgb = numpy.stack([luma + 102 / 64 * red, luma - 25 / 64 * blue - 52 / 64 * red, luma + 2 * blue], -1)
    return numpy.clip(rgb, 0, 255)


def clip_frames(path, kind):
    width, height = CLIP_SIZE
    size = width * height * (3 if kind == "nv12" else 4) // 2
    for frame in numpy.fromfile(path, numpy.uint8).reshape(-1, size).astype(float):
        if kind == "nv12":
            colour = frame[width * height:].reshape(height // 2, width // 2, 2).repeat(2, 0).repeat(2, 1)
            yield from_yuv(frame[:width * height].reshape(height, width), colour[..., 0], colour[..., 1])
        else:
            pairs = frame.reshape(height, width // 2, 4)
            luma = pairs[..., [0, 2]].reshape(height, width)
            yield from_yuv(luma, pairs[..., 1].repeat(2, 1), pairs[..., 3].repeat(2, 1))


def photo(pixels, path, work):
    place = os.path.join(work, "photo.ppm")
    program(pixels, path, place)
    with open(place, "rb") as file:
        head = [file.readline() for _ in range(3)]
        width, height = map(int, head[1].split())
        return numpy.frombuffer(file.read(), numpy.uint8).reshape(height, width, 3).astype(float)


def overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    both = width * height if width > 0 and height > 0 else 0.0
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def decode(scores, boxes):
    """Faces as (score, box), the largest first."""
    kept = []
    for i in sorted(numpy.flatnonzero(scores >= LEAST_SCORE), key=lambda i: (-scores[i], i)):
        if all(overlap(boxes[i], boxes[k]) <= OVERLAP for k in kept):
            kept.append(i)
    area = {k: (boxes[k][2] - boxes[k][0]) * (boxes[k][3] - boxes[k][1]) for k in kept}
    return [(scores[k], boxes[k]) for k in sorted(kept, key=lambda k: -area[k])]


def crop_of(box, shape, factor):
    height, width = shape[:2]
    side = math.floor(factor * max((box[2] - box[0]) * width, (box[3] - box[1]) * height) + 0.5)
    across, down = min(side, width), min(side, height)
    x = math.floor((box[0] + box[2]) / 2 * width - across / 2 + 0.5)
    y = math.floor((box[1] + box[3]) / 2 * height - down / 2 + 0.5)
    return [max(0, min(width - across, x)), max(0, min(height - down, y)), across, down]


class Peer:
    """The models, each alone."""

    def __init__(self, data):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        self.sessions = {}
        for name, model in MODELS.items():
            path = os.path.join(data, "models/face", model + ".onnx")
            self.sessions[name] = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def run(self, name, image):
        """image: height x width x channels, already in the model's colours."""
        session = self.sessions[name]
        value = numpy.ascontiguousarray(image.transpose(2, 0, 1)[None].astype(numpy.float32))
        return session.run(None, {session.get_inputs()[0].name: value})

    def detect(self, picture):
        return self.run("detector", (resize(picture, 240, 320) - 127) / 128)

    def face(self, picture, crops):
        def part(name, size):
            x, y, width, height = crops[name]
            return resize(picture[y:y + height, x:x + width], size, size)
        bgr = part("face", 112)[..., ::-1]
        grey = part("landmarks", 112) @ numpy.array([0.299, 0.587, 0.114])
        pose = numpy.ravel(self.run("pose", part("pose", 90)[..., ::-1])[0]).astype(float)
        return {"gender": numpy.ravel(self.run("gender", bgr)[0]), "mask": numpy.ravel(self.run("mask", bgr)[0]),
                "pose": 90 * numpy.tanh(pose / 2),
                "points": numpy.ravel(self.run("landmarks", grey[..., None])[1]).reshape(5, 2)}


def compare_crops(where, face, box, shape, found):
    off = 0
    for name, factor in FACTORS.items():
        want = crop_of(box, shape, factor)
        distance = max(abs(a - b) for a, b in zip(want, face["crops"][name]))
        off += distance > 0
        if distance > 1 or off > 1:
            found.failures.append(f"{where}: crop {name} is {face['crops'][name]}, not {want}")


def compare_frame(where, picture, frame, peer, found):
    height, width = picture.shape[:2]
    scores, boxes = (numpy.asarray(output[0], float) for output in peer.detect(picture))
    faces = decode(scores[:, 1], boxes)
    if len(faces) != len(frame["faces"]):
        found.failures.append(f"{where}: {len(frame['faces'])} faces, ONNX Runtime's detector has {len(faces)}")
        return
    for number, (face, (score, box)) in enumerate(zip(frame["faces"], faces)):
        place = f"{where}, face {number}"
        scale = numpy.array([width, height, width, height])
        found.check("score of a face", place, face["score"], score)
        found.check("box of a face", place, face["box"] / scale, box)
        compare_crops(place, face, box, picture.shape, found)
        want = peer.face(picture, face["crops"])
        gender, mask = ({one["label"]: one["score"] for one in face[task]} for task in ("gender", "mask"))
        found.check("gender", place, [gender["female"], gender["male"]], want["gender"])
        found.check("mask", place, [mask["mask"], mask["no mask"]], want["mask"])
        angles = [face["pose"][name] for name in ("yaw", "pitch", "roll")]
        found.check("pose", place, angles, want["pose"], max(1.0, float(numpy.max(numpy.abs(want["pose"])))))
        x, y, side, down = face["crops"]["landmarks"]
        points = (numpy.array(face["points"]) - [x, y]) / [side, down]
        found.check("points", place, points, want["points"])


def compare_detector(where, arguments, photo_path, picture, peer, found):
    """All of its numbers, also those of no face."""
    folder = os.path.join(arguments.work, "detector")
    program(arguments.mts, "run", os.path.join(arguments.work, "detector.mtsb"), "--image", photo_path, "--save", folder,
            *arguments.device)
    scores, boxes = peer.detect(picture)
    found.check("all scores", where, numpy.load(os.path.join(folder, "detector.0.npy")), scores)
    found.check("all boxes", where, numpy.load(os.path.join(folder, "detector.1.npy")), boxes)


def compile_bundles(arguments):
    os.makedirs(arguments.work, exist_ok=True)
    for model in MODELS.values():
        shutil.copyfile(os.path.join(arguments.data, "models/face", model + ".onnx"),
                        os.path.join(arguments.work, model + ".onnx"))
    for name in ("detector", "faces"):
        place = os.path.join(arguments.work, name + ".json")
        shutil.copyfile(os.path.join(arguments.sample, name + ".json"), place)
        program(arguments.mts, "compile", "--config", place, "-o", os.path.join(arguments.work, name + ".mtsb"))


def run_faces(arguments, path, *more):
    bundles = [os.path.join(arguments.work, name + ".mtsb") for name in ("detector", "faces")]
    return json.loads(program(arguments.faces, *bundles, path, "--json", *more, *arguments.device))["frames"]


def main():
    parser = argparse.ArgumentParser()
    for name in ("mts", "faces", "pixels", "sample", "data", "work"):
        parser.add_argument("--" + name, required=True)
    arguments = parser.parse_args()
    wanted = os.environ.get("MTS_TEST_DEVICE")
    arguments.device = ["--device", wanted if wanted == "reference" else wanted + ":0"] if wanted else []
    if not os.path.isdir(os.path.join(arguments.data, "models/face")):
        print(f"skipped: no models at {arguments.data}")
        return SKIPPED
    compile_bundles(arguments)
    peer = Peer(arguments.data)
    found = Differences()
    faces = 0
    for name, count in PHOTOS.items():
        path = os.path.join(arguments.data, "photos", name)
        picture = photo(arguments.pixels, path, arguments.work)
        frames = run_faces(arguments, path)
        if len(frames[0]["faces"]) != count:
            found.failures.append(f"{name}: {len(frames[0]['faces'])} faces, it shows {count}")
        compare_detector(name, arguments, path, picture, peer, found)
        compare_frame(name, picture, frames[0], peer, found)
        faces += count
    for name, kind in CLIPS.items():
        path = os.path.join(arguments.data, "clips", name)
        frames = run_faces(arguments, path, "--raw", f"{kind}:{CLIP_SIZE[0]}x{CLIP_SIZE[1]}")
        pictures = list(clip_frames(path, kind))
        if len(pictures) != len(frames):
            found.failures.append(f"{name}: {len(frames)} frames of {len(pictures)}")
        for picture, frame in zip(pictures, frames):
            compare_frame(f"{name}, frame {frame['frame']}", picture, frame, peer, found)
        counts = [len(frame["faces"]) for frame in frames]
        print(f"{name}: faces of each frame: {counts}")
        faces += sum(counts)
    print(f"{faces} faces; largest differences from ONNX Runtime {onnxruntime.__version__}:")
    for kind, worst in found.largest.items():
        print(f"  {kind:16} {worst:.1e}")
    for sentence in found.failures:
        print(sentence)
    return 1 if found.failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        print(failure)
        sys.exit(1)
