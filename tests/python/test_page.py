"""docs/PYTHON.md: its blocks run as printed, one after the other, and print what the page says."""
import contextlib
import io
import os
import re
import shutil

import pytest

from conftest import SOURCE

BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.S | re.M)
NETWORKS = os.environ.get("MTS_TEST_MEDIAPIPE", SOURCE + "/build/mediapipe") + "/mediapipe/modules"
PHOTOS = [folder + "/astronaut.png" for folder in (
    os.environ.get("MTS_TEST_DATA", SOURCE + "/../shared/data") + "/photos", SOURCE + "/build/photos")]


def test_the_page_does_what_it_says(tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    photo = next((path for path in PHOTOS if os.path.exists(path)), None)
    if not os.path.isdir(NETWORKS):
        pytest.skip("no networks of MediaPipe: toolchains/host setup unpacks them")
    if not photo:
        pytest.skip(f"no photograph of a face: {' or '.join(PHOTOS)}")
    modules = tmp_path / "build/mediapipe/mediapipe/modules"
    os.makedirs(modules)
    for name in os.listdir(NETWORKS):
        if not name.endswith(".json"):
            os.symlink(os.path.realpath(f"{NETWORKS}/{name}"), modules / name)
    shutil.copy(SOURCE + "/apps/samples/holistic/holistic.json", modules)
    os.symlink(SOURCE + "/apps", tmp_path / "apps")
    image.open(photo).convert("RGB").save(tmp_path / "photo.jpg", quality=95)
    monkeypatch.chdir(tmp_path)

    with open(SOURCE + "/docs/PYTHON.md", encoding="utf-8") as file:
        blocks = BLOCK.findall(file.read())
    printed, names, ran = "", {}, 0
    for kind, text in blocks:
        if kind == "text":
            assert printed == text
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(text, "docs/PYTHON.md", "exec"), names)  # noqa: S102
        printed, ran = out.getvalue(), ran + 1
    assert ran >= 7
    first = next(text for kind, text in blocks if kind == "python")
    assert len([line for line in first.splitlines() if line.strip()]) <= 10
