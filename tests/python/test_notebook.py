"""docs/TUTORIAL_PYTHON.ipynb: a notebook of the format's schema; its cells run in order and print what is stored."""
import ast
import contextlib
import importlib.util
import io
import json
import os
import shutil
import tempfile

import pytest

from conftest import SOURCE
from test_page import NETWORKS, PHOTOS

NOTEBOOK = SOURCE + "/docs/TUTORIAL_PYTHON.ipynb"


def notebook():
    with open(NOTEBOOK, encoding="utf-8") as file:
        return json.load(file)


def tree_make(folder, photo):
    """What the notebook reads of a source tree, with links to networks and a photograph."""
    modules = folder / "build/mediapipe/mediapipe/modules"
    os.makedirs(modules)
    os.makedirs(folder / "build/photos")
    os.makedirs(folder / "docs")
    for name in os.listdir(NETWORKS):
        if not name.endswith(".json"):
            os.symlink(os.path.realpath(f"{NETWORKS}/{name}"), modules / name)
    os.symlink(SOURCE + "/apps", folder / "apps")
    shutil.copy(photo, folder / "build/photos/astronaut.png")


def run(cell, names):
    """What a cell prints; a last expression is computed, as Jupyter does to show it."""
    tree = ast.parse("".join(cell["source"]))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(tree, f"{NOTEBOOK}, cell {cell['id']}", "exec"), names)  # noqa: S102
    return out.getvalue()


def stored(cell):
    return "".join("".join(part["text"]) for part in cell["outputs"])


def test_the_notebook_does_what_it_says(tmp_path, monkeypatch):
    pytest.importorskip("PIL.Image")
    photo = next((path for path in PHOTOS if os.path.exists(path)), None)
    if not os.path.isdir(NETWORKS):
        pytest.skip("no networks of MediaPipe: toolchains/host setup unpacks them")
    if not photo:
        pytest.skip(f"no photograph of a face: {' or '.join(PHOTOS)}")
    tree_make(tmp_path, photo)
    monkeypatch.chdir(tmp_path / "docs")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    torch = importlib.util.find_spec("torch") is not None
    names, ran = {"__name__": "__main__"}, 0
    for cell in notebook()["cells"]:
        if cell["cell_type"] != "code":
            continue
        printed, ran = run(cell, names), ran + 1
        if torch or "needs-torch" not in cell["metadata"].get("tags", []):
            assert printed == stored(cell), cell["id"]
        else:
            assert "not installed" in printed
    assert ran >= 8


def test_the_notebook_is_of_the_format():
    nbformat = pytest.importorskip("nbformat")
    nbformat.validate(nbformat.read(NOTEBOOK, as_version=4))


def test_cells_have_names_and_outputs_are_printed_text():
    cells = notebook()["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    for cell in cells:
        for output in cell.get("outputs", []):
            assert (output["output_type"], output["name"]) == ("stream", "stdout"), cell["id"]
