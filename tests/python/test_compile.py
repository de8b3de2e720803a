"""Compiling, compressing, exporting; types of inputs and outputs; PyTorch where it is installed."""
import json
import os

import numpy
import pytest

import mts
from conftest import DEMO

MODELS = DEMO + "/models"


@pytest.fixture
def images():
    random = numpy.random.default_rng(7)
    return [random.integers(0, 256, (40, 50, 3), dtype=numpy.uint8) for _ in range(12)]


def test_a_task_list_and_tasks_given_here_make_equal_bundles(tmp_path, bundle_path):
    with open(DEMO + "/small.json", encoding="utf-8") as file:
        listed = json.load(file)["tasks"]
    tasks = {task["name"]: mts.Task(f"{DEMO}/{task['model']}", labels=task["labels"], class_map=task["class_map"],
                                    **task["input"]) for task in listed}
    tasks["animal"] = {"model": tasks["animal"].model, "color": "rgb", "mean": tasks["animal"].mean,
                       "std": tasks["animal"].std, "labels": ["no animal", "animal"], "class_map": tasks["animal"].class_map}
    summary = mts.compile(tasks, tmp_path / "a.mtsb")
    assert summary.tasks == 8 and summary.families == 1 and summary.weights_bytes > 0
    with open(tmp_path / "a.mtsb", "rb") as first, open(bundle_path, "rb") as second:
        assert first.read() == second.read()


def test_every_field_of_a_task_arrives(tmp_path, runtime):
    task = mts.Task(MODELS + "/small_pet.onnx", color="bgr", mean=(1, 2, 3), std=(4, 5, 6), fit="letterbox", filter="area",
                    fill=(7, 8, 9), labels=["x", "y", "zü"], class_map=[2, 0, 1], crop=(0.25, 0, 0.5, 1))
    mts.compile({"pet": task}, tmp_path / "pet.mtsb")
    with mts.Bundle(runtime, tmp_path / "pet.mtsb") as bundle:
        info = bundle.tasks[0]
    assert info.labels == ("x", "y", "zü") and info.class_map == (2, 0, 1) and info.takes_frames
    assert (info.fit, info.filter, info.fill, info.crop) == ("letterbox", "area", (7, 8, 9), (0.25, 0.0, 0.5, 1.0))


def test_progress_and_log(tmp_path, capsys):
    told = []
    mts.compile({"pet": MODELS + "/small_pet.onnx"}, tmp_path / "a.mtsb", progress=lambda part, what: told.append((part, what)))
    assert told and all(0 <= part <= 1 and isinstance(what, str) for part, what in told)
    mts.compile({"pet": MODELS + "/small_pet.onnx"}, tmp_path / "a.mtsb", progress=True)
    assert "compiling" in capsys.readouterr().err
    said = []
    with pytest.raises(mts.Error):
        mts.compile({"pet": MODELS}, tmp_path / "b.mtsb", log=lambda severity, text: said.append(severity))
    assert "error" in said and not os.path.exists(tmp_path / "b.mtsb")


def test_callbacks_cancel_and_raise(tmp_path):
    with pytest.raises(mts.Error) as caught:
        mts.compile({"pet": MODELS + "/small_pet.onnx"}, tmp_path / "a.mtsb", progress=lambda part, what: True)
    assert caught.value.status == mts.Status.CANCELLED

    def broken(part, what):
        raise ZeroDivisionError
    with pytest.raises(ZeroDivisionError):
        mts.compile({"pet": MODELS + "/small_pet.onnx"}, tmp_path / "a.mtsb", progress=broken)


@pytest.mark.parametrize("tasks", [
    {}, {"a": "/nonexistent"}, {"a": 7}, {"a": None}, {"a b": MODELS + "/small_pet.onnx"}, {"": MODELS + "/small_pet.onnx"},
    {7: MODELS + "/small_pet.onnx"}, {"a": {"modell": "x"}}, {"a": {}}, 7, None, "/nonexistent.json", {"a": (1, 2, 3)},
    {"a": mts.Task(MODELS + "/small_pet.onnx", color="red")}, {"a": mts.Task(MODELS + "/small_pet.onnx", mean=(1,) * 9)},
    {"a": mts.Task(MODELS + "/small_pet.onnx", mean="x")}, {"a": mts.Task(MODELS + "/small_pet.onnx", labels="xyz")},
    {"a": mts.Task(MODELS + "/small_pet.onnx", std=0)}, {"a": mts.Task(MODELS + "/small_pet.onnx", fill=(1, 2, 3, 4, 5))},
    {"a": mts.Task(MODELS + "/small_pet.onnx", shapes={"image": (1,) * 7})},
    {"a": mts.Task(MODELS + "/small_pet.onnx", shapes={"nothing": (1,)})},
    {"a": mts.Task(MODELS + "/small_pet.onnx", class_map=[-1])}, {"a": mts.Task(MODELS + "/small_pet.onnx\0")},
    {"a": mts.Task(MODELS + "/small_pet.onnx", values={"x": "y"})}, {"a": MODELS},
])
def test_what_cannot_be_compiled_is_refused(tmp_path, tasks):
    with pytest.raises((mts.Error, TypeError, ValueError)):
        mts.compile(tasks, tmp_path / "a.mtsb")
    assert not os.path.exists(tmp_path / "a.mtsb")


def test_zip_shares_weights(tmp_path, bundle_path, images):
    layers = []
    report = mts.zip(bundle_path, images, tmp_path / "z.mtsb", tasks=["object", "animal"], layer=layers.append)
    assert report.zipped > 0 and len(layers) == report.layers
    assert report.summary.weights_bytes < report.summary.weights_bytes_unshared
    assert mts.inspect(tmp_path / "z.mtsb")["weights_bytes"] == report.summary.weights_bytes


def test_prune_and_split(tmp_path, bundle_path, images):
    report = mts.prune(bundle_path, images, tmp_path / "p.mtsb", ratio=0.4, tasks=["object"])
    assert report.mul_adds_kept < 0.8 * report.mul_adds
    mts.prune(bundle_path, None, tmp_path / "q.mtsb", refit=False, tasks=["object"])
    colours = [numpy.full((32, 32, 3), [i % 256, i * 7 % 256, i * 31 % 256], numpy.uint8) for i in range(0, 1024, 8)]
    report = mts.split(bundle_path, colours, tmp_path / "s.mtsb", task="object")
    labels = [i % 10 for i in range(len(colours))]
    more = mts.split(bundle_path, colours, tmp_path / "l.mtsb", task="object", labels=labels, grouping="random", search=True)
    assert more.summary.tasks == 9
    with pytest.raises(mts.Error):
        mts.split(bundle_path, colours, tmp_path / "m.mtsb", task="object", labels=labels[1:])
    assert report.summary.tasks == 9 and "object.2of2" in [t["name"] for t in mts.inspect(tmp_path / "s.mtsb")["tasks"]]


def test_train_adds_a_task(tmp_path, bundle_path, runtime):
    image = pytest.importorskip("PIL.Image")
    rng = numpy.random.default_rng(3)
    frames = [rng.integers(0, 60, (32, 32, 3)).astype(numpy.uint8) for _ in range(60)]
    labels = ["top" if i % 3 else "bottom" for i in range(60)]
    for i, frame in enumerate(frames):
        frame[:16 if labels[i] == "top" else None, :][-16:] += 150
        os.makedirs(tmp_path / "classes" / labels[i], exist_ok=True)
        image.fromarray(frame).save(tmp_path / "classes" / labels[i] / f"{i:02d}.png")
    results = []
    report = mts.train(bundle_path, frames, tmp_path / "t.mtsb", task="bright", labels=labels, base="object",
                       candidate_count=3, result=results.append)
    assert report.accuracy == 100 and len(results) == 3 and report.held_out == 12
    assert results[report.best].loss == report.loss and report.bytes_added < 0.02 * report.bytes_base
    assert mts.inspect(tmp_path / "t.mtsb")["tasks"][-1]["name"] == "bright"
    with mts.Bundle(runtime, tmp_path / "t.mtsb") as bundle, mts.Session(bundle, tasks=["bright"]) as session:
        answers = [int(session.run(frame)["bright"][0].argmax()) for frame in frames[:6]]
    assert answers == [0, 1, 1, 0, 1, 1]
    one = mts.train(bundle_path, frames, tmp_path / "u.mtsb", task="bright", labels=labels, base="object",
                    candidates=[(results[1].rate, results[1].decay, results[1].seed)])
    assert one.loss == results[1].loss
    folder = mts.train(bundle_path, tmp_path / "classes", tmp_path / "v.mtsb", task="bright", base="object")
    assert folder.accuracy == 100


@pytest.mark.parametrize("labels,more", [
    (None, {}), ([0] * 12, {}), ([0, 1] * 5, {}), (["a", "b"] * 6, {"class_names": ["a", "c"]}), ([0, 1, None] * 4, {"rate": 7}),
    ([0, -1] * 6, {"class_names": ["a", "b"]}), ([0, 1] * 6, {"candidates": [(float("nan"), 0, 1)]}),
    ([0, 1] * 6, {"candidates": [(1, 2)]}), ([0, 1] * 6, {"method": "tail"}), ([0, 1] * 6, {"base": "nothing"}),
])
def test_what_cannot_be_trained_is_refused(tmp_path, bundle_path, images, labels, more):
    with pytest.raises((mts.Error, TypeError, ValueError)):
        mts.train(bundle_path, images[:12], tmp_path / "t.mtsb", task="new", labels=labels, **more)
    assert not os.path.exists(tmp_path / "t.mtsb")


def test_folders_of_pictures_and_frames_calibrate(tmp_path, bundle_path, images):
    image = pytest.importorskip("PIL.Image")
    for i, array in enumerate(images):
        image.fromarray(array).save(tmp_path / f"{i:02d}.png")
    outs = []
    for name, data in (("folder", tmp_path), ("arrays", images), ("frames", [mts.Frame(array) for array in images])):
        mts.prune(bundle_path, data, tmp_path / name, ratio=0.3)
        with open(tmp_path / name, "rb") as file:
            outs.append(file.read())
    assert outs[0] == outs[1] == outs[2]


def test_photos_of_a_camera_that_was_held_otherwise_are_upright(tmp_path):
    from mts._native import ffi
    from mts.compress import _Images
    image = pytest.importorskip("PIL.Image")
    pixels = numpy.zeros((6, 10, 3), numpy.uint8)
    pixels[:, 5:] = 200
    for name in ("a.png", "b.webp", "c.jpg"):
        exif = image.Exif()
        exif[0x0112] = 6  # to be turned to the right
        image.fromarray(pixels).save(tmp_path / name, exif=exif, **({"lossless": True} if "webp" in name else {}))
    images = _Images(tmp_path)
    assert len(images.data) == 3
    for index in range(3):
        frame = ffi.new("mts_frame *")
        images.frame(index, frame)
        assert (frame.height, frame.width) == (10, 6), images.data[index]
        rows = numpy.frombuffer(ffi.buffer(frame.data, 10 * 6 * 3), numpy.uint8).reshape(10, 18)
        assert rows[1].max() < 60 and rows[8].min() > 140


@pytest.mark.parametrize("data", [[numpy.zeros((2, 2), numpy.float32)] * 12, [None] * 12, 7, iter([]), "/nonexistent", [],
                                  [{"object": numpy.zeros(3)}] * 12])
def test_data_that_does_not_fit_is_refused(tmp_path, bundle_path, data):
    with pytest.raises((mts.Error, OSError)):
        mts.zip(bundle_path, data, tmp_path / "z.mtsb", tasks=["object", "animal"])
    assert not os.path.exists(tmp_path / "z.mtsb")


def test_exported_models_compute_the_same(tmp_path, bundle_path, runtime):
    onnxruntime = pytest.importorskip("onnxruntime")
    mts.export(bundle_path, "animal", tmp_path / "animal.onnx")
    mts.export(bundle_path, None, tmp_path / "all.onnx")
    image = numpy.random.default_rng(5).normal(size=(1, 3, 32, 32)).astype(numpy.float32)
    peer = onnxruntime.InferenceSession(str(tmp_path / "animal.onnx"))
    expected = peer.run(None, {peer.get_inputs()[0].name: image})[0]
    with mts.Bundle(runtime, bundle_path) as bundle, mts.Session(bundle, tasks=["animal"]) as session:
        assert numpy.allclose(session.run(inputs={"animal": image})["animal"][0], expected, atol=1e-4)
    with pytest.raises(mts.Error) as caught:
        mts.export(bundle_path, "nobody", tmp_path / "x.onnx")
    assert caught.value.status == mts.Status.NOT_FOUND


@pytest.mark.parametrize("name", ["float32", "float16", "float64", "int32", "int64", "uint8", "int8", "uint16", "int16", "bool"])
def test_tensors_of_every_type_go_in_and_come_out(tmp_path, runtime, name):
    onnx = pytest.importorskip("onnx")
    kind = onnx.helper.np_dtype_to_tensor_dtype(numpy.dtype(name))
    both = [onnx.helper.make_tensor_value_info(port, kind, [2, 3]) for port in ("x", "y")]
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "g", both[:1], both[1:])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8), tmp_path / "m.onnx")
    try:
        mts.compile({"t": tmp_path / "m.onnx"}, tmp_path / "m.mtsb")
    except mts.Error as error:
        assert error.status == mts.Status.UNSUPPORTED, error
        pytest.skip(str(error))
    data = numpy.array([[0, 1, 1], [1, 0, 1]]).astype(name)
    with mts.Bundle(runtime, tmp_path / "m.mtsb") as bundle, mts.Session(bundle) as session:
        assert bundle.tasks[0].inputs[0] == mts.Port("x", name, (2, 3))
        answer = session.run(inputs={"t": data})["t"][0]
    assert answer.dtype == data.dtype and numpy.array_equal(answer, data)


def test_modules_of_pytorch_compile(tmp_path, runtime, capfd):
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 2))
    example = torch.rand(1, 3, 8, 8)
    mts.compile({"age": (module, example)}, tmp_path / "age.mtsb")
    assert capfd.readouterr().out == ""
    with mts.Bundle(runtime, tmp_path / "age.mtsb") as bundle, mts.Session(bundle) as session:
        answer = session.run(inputs={"age": example.numpy()})["age"][0]
    assert numpy.allclose(answer, module(example).detach().numpy(), atol=1e-4)


def test_modules_go_through_the_exporter_of_pytorch(tmp_path, monkeypatch):
    """What is asked of PyTorch, with a stand-in that writes the demo's model: the real one is 800 MB."""
    import shutil
    import sys
    import types
    asked = []

    class Module:
        training = True

        def eval(self):
            self.training = False

        def train(self, mode):
            self.training = mode

    def export(module, arguments, path, verbose):
        asked.append((module, module.training, arguments))
        assert not verbose
        shutil.copy(MODELS + "/small_pet.onnx", path)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(onnx=types.SimpleNamespace(export=export)))
    module, example = Module(), object()
    mts.compile({"a": (module, example), "b": mts.Task((module, (example, 7)), color="rgb")}, tmp_path / "a.mtsb")
    assert asked == [(module, False, (example,)), (module, False, (example, 7))] and module.training
    assert [task["name"] for task in mts.inspect(tmp_path / "a.mtsb")["tasks"]] == ["a", "b"]


def test_without_pytorch_a_module_is_refused_with_a_sentence(tmp_path, monkeypatch):
    import sys
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(mts.Error, match="PyTorch"):
        mts.compile({"a": (object(), object())}, tmp_path / "a.mtsb")


