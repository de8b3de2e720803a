"""The cascade of apps/samples/holistic beside MediaPipe's own, on photographs.

python holistic_test.py --holistic PROGRAM --mts PROGRAM --list holistic.json --modules FOLDER --photos FOLDER --work FOLDER
python holistic_test.py --make --photos FOLDER     (mediapipe==0.10.21, pillow) prints holistic_expected.json

MediaPipe samples crops half an input pixel further to the upper left, and without averaging, so that detectors see
other pixels: landmarks agree to some percent of the face, the hand or the body, not to the last digit.
"""
import argparse
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PHOTOS = ["astronaut.png", "apollo11_crew.jpg", "bike_riders.jpg", "dog-human.jpg"]
MESH = [1, 33, 61, 133, 152, 263, 291, 362, 10, 234, 454]
HAND = [0, 4, 5, 8, 12, 16, 17, 20]
MOST = {"mesh": 0.04, "hand": 0.1, "pose": 0.04}  # mean distance, in parts of the size


def make(photos):
    import mediapipe as mp
    import numpy as np
    from PIL import Image
    out = {}
    for name in PHOTOS:
        image = np.array(Image.open(photos / name).convert("RGB"))
        height, width = image.shape[:2]

        def places(landmarks, which):
            return [[round(landmarks.landmark[i].x * width, 1), round(landmarks.landmark[i].y * height, 1)]
                    for i in which]
        with mp.solutions.holistic.Holistic(static_image_mode=True, model_complexity=1) as net:
            whole = net.process(image)
        with mp.solutions.hands.Hands(static_image_mode=True, max_num_hands=8) as net:
            hands = net.process(image).multi_hand_landmarks or []
        with mp.solutions.face_mesh.FaceMesh(static_image_mode=True, max_num_faces=8) as net:
            faces = net.process(image).multi_face_landmarks or []
        if not faces and whole.face_landmarks:
            faces = [whole.face_landmarks]
        hands = list(hands) or [h for h in (whole.left_hand_landmarks, whole.right_hand_landmarks) if h]
        seen = [i for i in range(33) if whole.pose_landmarks and whole.pose_landmarks.landmark[i].visibility > 0.8]
        out[name] = {"mesh": [places(f, MESH) for f in faces], "hand": [places(h, HAND) for h in hands],
                     "joints": seen, "pose": places(whole.pose_landmarks, seen) if seen else []}
    print(json.dumps(out))


def mean_distance(a, b):
    return sum(math.dist(p, q) for p, q in zip(a, b)) / len(a)


def size(points):
    return max(max(p[k] for p in points) - min(p[k] for p in points) for k in (0, 1))


def nearest(points, found):
    return min((mean_distance(points, f) for f in found), default=math.inf) / size(points)


def compare(name, expected, found):
    """Prints how near what was found is, and returns the number of defects."""
    meshes = [[f["mesh"][i][:2] for i in MESH] for f in found["faces"] if "mesh" in f]
    hands = [[h["points"][i][:2] for i in HAND] for h in found["hands"]]
    pose = [[found["pose"][i][:2] for i in expected["joints"]]] if "pose" in found else []
    bad = 0
    for kind, wanted, have in (("mesh", expected["mesh"], meshes), ("hand", expected["hand"], hands),
                               ("pose", [expected["pose"]] if expected["pose"] else [], pose)):
        far = [nearest(points, have) for points in wanted]
        good = sum(f <= MOST[kind] for f in far)
        print(f"{name:20} {kind}: {good} of {len(wanted)} found, distances " +
              " ".join(f"{100 * f:.2f} %" for f in far if f < 1))
        bad += good == 0 and len(wanted) > 0
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--make", action="store_true")
    for name in ("holistic", "mts", "list", "modules", "photos", "work"):
        parser.add_argument(f"--{name}", type=Path)
    args = parser.parse_args()
    if args.make:
        make(args.photos)
        return 0
    if not (args.modules / "pose_landmark").is_dir() or not (args.photos / PHOTOS[0]).is_file():
        print(f"no networks in {args.modules} or no photographs in {args.photos}: skipped")
        return 77
    args.work.mkdir(parents=True, exist_ok=True)
    tasks = json.loads(args.list.read_text())
    for task in tasks["tasks"]:
        task["model"] = str((args.modules / task["model"]).resolve())
    (args.work / "holistic.json").write_text(json.dumps(tasks))
    bundle = args.work / "holistic.mtsb"
    subprocess.run([args.mts, "compile", "--config", args.work / "holistic.json", "-o", bundle], check=True)
    images = [a for name in PHOTOS for a in ("--image", args.photos / name)]
    output = subprocess.run([args.holistic, bundle, *images, "--json"], check=True, capture_output=True).stdout
    expected = json.loads((HERE / "holistic_expected.json").read_text())
    bad = 0
    for found in json.loads(output)["photos"]:
        name = Path(found["file"]).name
        bad += compare(name, expected[name], found)
    shutil.rmtree(args.work)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
