#!/usr/bin/env python3
"""Compiles the seven bundles that docs/results/waves.md measures, for waves_paired.py:

    tests/perf/wave_bundles.py build/waves --mts build/release/bin/mts

holistic10: a frame of MediaPipe's networks (tests/perf/scenarios/holistic.json), two hands, crops and eyes; holistic7 has
each network once. camera6: six unlike networks of a camera, five of them real files of
tests/differential/real_models.txt, and MobileNetV2 with the shapes of its paper. style4 and spoof4: wave_models.py.
resnet18 and resnet50: `mts synth`. A bundle whose files are not there is named and left out, and the exit status is 1.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import roofline
import wave_models

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
HOLISTIC = ["pose_landmark", "hand_landmark", "hand_recrop", "iris_landmark", "face_landmark", "face_detection", "palm_detection"]
CAMERA = {"centerface": "centerface.onnx", "detector": "fastestdet.onnx", "landmarks": "pfld_106_lite.onnx",
          "spoof": "face_antispoofing.tflite", "selfie": "mp_selfie_segmentation.tflite"}
SYNTH = {"resnet18": ["--arch", "resnet18", "--tasks", "32", "--prune", "0.9", "--share", "0.9", "--input", "224"],
         "resnet50": ["--arch", "resnet50", "--tasks", "4", "--share", "0.9", "--input", "224"]}


def recipes(models, real):
    """Of each bundle that is compiled: (task, file)."""
    scenario = HERE / "scenarios" / "holistic.json"
    rows = [row for row in json.loads(scenario.read_text())["networks"] if row["name"] in HOLISTIC]
    once = [(row["name"], scenario.parent / row["model"]) for row in rows]
    often = [(f"{row['name']}.{index}", scenario.parent / row["model"]) for row in rows for index in range(row.get("times", 1))]
    camera = [(task, real / name) for task, name in CAMERA.items()] + [("classes", models / "mobilenet_v2.onnx")]
    return {"holistic10": often, "holistic7": once, "camera6": camera,
            "spoof4": [(f"spoof{index}", models / f"spoof_{index}.onnx") for index in range(4)],
            "style4": [(f"style{index}", models / f"style_{index}.onnx") for index in range(4)]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--mts", default="build/release/bin/mts")
    parser.add_argument("--real", type=pathlib.Path, default=ROOT / "build/real/files", help="files of real_models.txt")
    arguments = parser.parse_args()
    models = arguments.folder / "models"
    models.mkdir(parents=True, exist_ok=True)
    wave_models.write(models)
    roofline.inverted(roofline.MOBILENET_V2, "Relu6", 32).save(str(models / "mobilenet_v2.onnx"))
    left_out = 0
    for name, tasks in recipes(models, arguments.real).items():
        missing = [str(path) for _, path in tasks if not path.exists()]
        if missing:
            print(f"{name} is left out: there is no {', '.join(missing)}")
            left_out += 1
            continue
        words = [word for task, path in tasks for word in ("--task", f"{task}={path}")]
        subprocess.run([arguments.mts, "compile", *words, "-o", str(arguments.folder / f"{name}.mtsb")], check=True)
    for name, words in SYNTH.items():
        subprocess.run([arguments.mts, "synth", *words, "-o", str(arguments.folder / f"{name}.mtsb")], check=True)
    return 1 if left_out else 0


if __name__ == "__main__":
    sys.exit(main())
