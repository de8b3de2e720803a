"""mts run --decode on real networks and photographs, beside what others find.

python decode_test.py --mts PROGRAM --data ../shared/data --work FOLDER
python decode_test.py --make --data ../shared/data     (onnxruntime, torchvision, opencv) prints decode_expected.json

Expected: the detector runs in ONNX Runtime on a picture that OpenCV has resized, its grid is undone as YOLOX publishes
it, and torchvision suppresses. The number of faces in each photo is what a person counts.
"""
import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FACES = {"apollo11_crew.jpg": 3, "bike_riders.jpg": 2, "astronaut.png": 1, "dog-human.jpg": 1, "sportscar.jpg": 0}
OBJECTS = ["bike_riders.jpg", "dog-human.jpg", "sportscar.jpg", "airplane.jpg"]
LEAST = 0.3
SIDE = 416


def make(data):
    import cv2
    import numpy as np
    import onnxruntime
    import torch
    from torchvision.ops import batched_nms
    net = onnxruntime.InferenceSession(str(data / "models/detect/yolox_nano.onnx"), providers=["CPUExecutionProvider"])
    out = {}
    for name in OBJECTS:
        image = cv2.imread(str(data / "photos" / name))
        height, width = image.shape[:2]
        scale = min(SIDE / width, SIDE / height)
        wide, high = round(width * scale), round(height * scale)
        left, top = (SIDE - wide) // 2, (SIDE - high) // 2
        canvas = np.zeros((SIDE, SIDE, 3), np.float32)
        canvas[top:top + high, left:left + wide] = cv2.resize(image, (wide, high), interpolation=cv2.INTER_LINEAR)
        rows = net.run(None, {net.get_inputs()[0].name: canvas.transpose(2, 0, 1)[None]})[0][0]
        grids, steps = [], []
        for step in (8, 16, 32):
            y, x = np.mgrid[0:SIDE // step, 0:SIDE // step]
            grids.append(np.stack([x, y], -1).reshape(-1, 2))
            steps.append(np.full((len(grids[-1]), 1), step))
        grid, step = np.concatenate(grids), np.concatenate(steps)
        middle, sides = (rows[:, :2] + grid) * step, np.exp(rows[:, 2:4]) * step
        score = rows[:, 4:5] * rows[:, 5:]
        label, best = score.argmax(1), score.max(1)
        boxes = np.concatenate([middle - sides / 2, middle + sides / 2], 1)
        keep = np.where(best >= LEAST)[0]
        stay = batched_nms(torch.tensor(boxes[keep]).float(), torch.tensor(best[keep]).float(), torch.tensor(label[keep]), 0.45)
        out[name] = [[int(label[i]), round(float(best[i]), 3)] +
                     [round((float(v) - (left, top)[k % 2]) * (width / wide, height / high)[k % 2], 1)
                      for k, v in enumerate(boxes[i])] for i in keep[stay.numpy()]]
    print(json.dumps(out))


def overlap(a, b):
    across = max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
    area = sum((p[2] - p[0]) * (p[3] - p[1]) for p in (a, b))
    return across / (area - across)


class Runner:
    def __init__(self, args):
        self.args, self.bad = args, 0
        args.work.mkdir(parents=True, exist_ok=True)

    def decode(self, model, inputs, photo, *options):
        bundle = self.args.work / (Path(model).stem + ".mtsb")
        if not bundle.exists():
            tasks = {"tasks": [{"name": "detector", "model": str(self.args.data / "models" / model), "input": inputs}]}
            (self.args.work / "tasks.json").write_text(json.dumps(tasks))
            subprocess.run([self.args.mts, "compile", "--config", self.args.work / "tasks.json", "-o", bundle],
                           check=True, stdout=subprocess.DEVNULL)
        found = subprocess.run([self.args.mts, "run", bundle, "--image", self.args.data / "photos" / photo, "--json",
                                *options], check=True, capture_output=True).stdout
        return json.loads(found)["tasks"][0]["decoded"]["boxes"]

    def say(self, good, text):
        print(("" if good else "WRONG: ") + text)
        self.bad += not good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--make", action="store_true")
    for name in ("mts", "data", "work"):
        parser.add_argument(f"--{name}", type=lambda p: Path(p).resolve())
    args = parser.parse_args()
    if args.make:
        make(args.data)
        return 0
    if not (args.data / "models/detect/yolox_nano.onnx").is_file():
        print(f"no models in {args.data}: skipped")
        return 77
    run = Runner(args)
    for photo, count in FACES.items():
        found = run.decode("face/version-RFB-320.onnx", {"color": "rgb", "mean": 127, "std": 128}, photo,
                           "--decode", "ultraface")
        run.say(len(found) == count, f"{photo}: {len(found)} of {count} faces")
    for photo, wanted in json.loads((HERE / "decode_expected.json").read_text()).items():
        found = run.decode("detect/yolox_nano.onnx", {"color": "bgr"}, photo, "--decode", "yolo", "--fit", "letterbox",
                           "--least-score", str(LEAST))
        pairs = [max(((overlap(w[2:], f["box"]), abs(w[1] - f["score"])) for f in found if f["class"] == w[0]),
                     default=(0, 1)) for w in wanted]
        good = len(found) == len(wanted) and all(o > 0.95 and s < 0.02 for o, s in pairs)
        run.say(good, f"{photo}: {len(found)} of {len(wanted)} objects, overlap and difference of scores " +
                " ".join(f"{o:.3f} {s:.4f}" for o, s in pairs))
    shutil.rmtree(args.work)
    return 1 if run.bad else 0


if __name__ == "__main__":
    sys.exit(main())
