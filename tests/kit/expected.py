"""Prints the numbers that tests/kit compares with: what MediaPipe and Ultralytics make of the same outputs.

python expected.py face PHOTO face_detection_short_range.tflite    (mediapipe==0.10.21, ai-edge-litert, pillow)
python expected.py yolo                                            (ultralytics==8.4.190, torch)

`face` prints the candidates of the network, run by LiteRT on MediaPipe's input, and MediaPipe's detections of the
photograph. That the input is MediaPipe's shows in the scores, which agree to the last digit. `yolo` prints random
predictions and what Ultralytics' non_max_suppression leaves of them.
"""
import sys

import numpy as np


def numbers(values):
    return "{" + ", ".join(f"{float(v):#.7g}f" for v in values) + "}"


def letterbox(image, side):
    import cv2
    height, width = image.shape[:2]
    most = max(width, height)
    x, y = (width - most) / 2, (height - most) / 2
    source = np.float32([[x, y + most], [x, y], [x + most, y], [x + most, y + most]])
    target = np.float32([[0, side], [0, 0], [side, 0], [side, side]])
    return cv2.warpPerspective(image, cv2.getPerspectiveTransform(source, target), (side, side), flags=cv2.INTER_LINEAR,
                               borderMode=cv2.BORDER_CONSTANT, borderValue=0)


def face(photo, network):
    import mediapipe as mp
    from ai_edge_litert.interpreter import Interpreter
    from PIL import Image
    image = np.array(Image.open(photo).convert("RGB"))
    height, width = image.shape[:2]
    net = Interpreter(network)
    net.allocate_tensors()
    net.set_tensor(net.get_input_details()[0]["index"], letterbox(image, 128)[None].astype(np.float32) / 127.5 - 1)
    net.invoke()
    outputs = [net.get_tensor(o["index"])[0] for o in net.get_output_details()]
    boxes = next(o for o in outputs if o.shape[-1] == 16)
    scores = next(o for o in outputs if o.shape[-1] == 1)[:, 0]
    for i in np.where(scores > 0)[0]:
        print(f"    {{{i}, {float(scores[i]):#.7g}f, {numbers(boxes[i])}}},")
    with mp.solutions.face_detection.FaceDetection(model_selection=0, min_detection_confidence=0.5) as detector:
        for found in detector.process(image).detections or []:
            box = found.location_data.relative_bounding_box
            edges = [box.xmin * width, box.ymin * height, (box.xmin + box.width) * width,
                     (box.ymin + box.height) * height]
            points = [numbers([p.x * width, p.y * height]) for p in found.location_data.relative_keypoints]
            print(f"    {{{found.score[0]:#.7g}f, {numbers(edges)}, {{{', '.join(points)}}}}},")


def yolo():
    import torch
    from ultralytics.utils.nms import non_max_suppression
    random = np.random.default_rng(5)
    classes, rows = 3, 24
    values = np.zeros((1, 4 + classes, rows), np.float32)
    for k, (low, high) in enumerate([(60, 260), (60, 260), (60, 160), (60, 160)]):
        values[0, k] = random.uniform(low, high, rows).round(1)
    values[0, 4:] = random.uniform(0, 1, (classes, rows)).round(3)
    for row in values[0]:
        print(f"    {numbers(row)},")
    for row in non_max_suppression(torch.tensor(values.copy()), conf_thres=0.5, iou_thres=0.45)[0].numpy():
        print(f"    {numbers(row)},")


if __name__ == "__main__":
    {"face": face, "yolo": yolo}[sys.argv[1]](*sys.argv[2:])
