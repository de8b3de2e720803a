"""The package has what the headers have: it cannot fall behind them."""
import inspect
import os
import re
import subprocess
import sys

import numpy
import pytest

import mts
from conftest import SOURCE
from mts import _arrays, _mts, _mtsc, _mtsz, compress, kit, session
from mts._native import names_of

LATER = {"size", "reserved"}


def members(ffi, kind, without=()):
    return {name for name, _ in ffi.typeof(kind).fields} - LATER - set(without)


@pytest.mark.parametrize("ffi,kind,python,other", [
    (_mts.ffi, "mts_device_desc", mts.Device, {}),
    (_mts.ffi, "mts_port_desc", mts.Port, {"rank": None, "dims": "shape"}),
    (_mts.ffi, "mts_task_desc", mts.TaskInfo,
     {"input_count": "inputs", "output_count": "outputs", "label_count": None, "class_count": None}),
    (_mts.ffi, "mts_region", mts.Region, {}), (_mts.ffi, "mts_flow", mts.Flow, {}),
    (_mts.ffi, "mts_task_stats", mts.TaskStats, {}), (_mts.ffi, "mts_session_stats", mts.SessionStats, {}),
    (_mts.ffi, "mts_launch_profile", mts.Launch, {}),
    (_mts.ffi, "mts_kit_detection", kit.Detection, {"point_count": None}),
    (_mtsc.ffi, "mtsc_summary", mts.Summary, {}),
    (_mtsc.ffi, "mtsc_task", mts.Task, {"name": None, "shape_count": None, "label_count": None, "class_count": None,
                                        "value_count": None}),
    (_mtsz.ffi, "mtsz_zip_report", mts.ZipReport, {}), (_mtsz.ffi, "mtsz_prune_report", mts.PruneReport, {}),
    (_mtsz.ffi, "mtsz_split_report", mts.SplitReport, {}), (_mtsz.ffi, "mtsz_zip_layer", compress.ZipLayer, {}),
    (_mtsz.ffi, "mtsz_zip_trial", compress.ZipTrial, {}),
    (_mtsz.ffi, "mtsz_train_report", mts.TrainReport, {}), (_mtsz.ffi, "mtsz_train_result", compress.TrainResult, {}),
])
def test_classes_have_the_fields_of_their_structs(ffi, kind, python, other):
    expected = {other.get(name, name) for name in members(ffi, kind)} - {None}
    assert set(getattr(python, "_fields", None) or python.__dataclass_fields__) == expected


@pytest.mark.parametrize("ffi,kind,function,own,left_out", [
    (_mts.ffi, "mts_runtime_options", mts.Runtime.__init__, {"self"},
     # what only C can give: contexts and streams of drivers, allocators, a buffer of one's own; counts
     {"cuda_context", "cuda_stream", "error_text", "error_size", "context", "alloc", "free", "device_count"}),
    (_mts.ffi, "mts_session_options", mts.Session.__init__, {"self", "bundle", "zero_copy_frames"},
     {"task_count", "context"}),
    (_mtsc.ffi, "mtsc_options", mts.compile, {"tasks", "out"}, {"error_text", "error_size", "context"}),
    (_mtsz.ffi, "mtsz_zip_options", mts.zip, {"bundle", "data", "out", "progress", "log"},
     {"task_count", "layer_count", "base_count", "context"}),
    (_mtsz.ffi, "mtsz_prune_options", mts.prune, {"bundle", "data", "out", "progress", "log"}, {"task_count"}),
    (_mtsz.ffi, "mtsz_split_options", mts.split, {"bundle", "data", "out", "progress", "log"}, {"label_count"}),
    (_mtsz.ffi, "mtsz_train_options", mts.train, {"bundle", "data", "out", "progress", "log"},
     {"label_count", "class_count", "class_map_count", "context"}),
])
def test_functions_have_the_options_of_their_structs(ffi, kind, function, own, left_out):
    assert set(inspect.signature(function).parameters) - own == members(ffi, kind, left_out)


@pytest.mark.parametrize("ffi,kind,default,function", [
    (_mts.ffi, "mts_session_options", _mts.lib.mts_session_options_default_sized, mts.Session.__init__),
    (_mts.ffi, "mts_runtime_options", _mts.lib.mts_runtime_options_default_sized, mts.Runtime.__init__),
    (_mtsz.ffi, "mtsz_zip_options", _mtsz.lib.mtsz_zip_options_default_sized, mts.zip),
    (_mtsz.ffi, "mtsz_prune_options", _mtsz.lib.mtsz_prune_options_default_sized, mts.prune),
    (_mtsz.ffi, "mtsz_split_options", _mtsz.lib.mtsz_split_options_default_sized, mts.split),
    (_mtsz.ffi, "mtsz_train_options", _mtsz.lib.mtsz_train_options_default_sized, mts.train),
])
def test_options_have_the_defaults_of_the_library(ffi, kind, default, function):
    struct = ffi.new(f"{kind} *")
    default(struct, ffi.sizeof(kind))
    for name, parameter in inspect.signature(function).parameters.items():
        form = dict(ffi.typeof(kind).fields).get(name)
        if form is None or parameter.default is None or parameter.default is inspect.Parameter.empty or name == "device":
            continue
        value = getattr(struct, name)
        if form.type.kind == "enum":
            assert names_of(form.type)[1][parameter.default] == value, name
        else:
            assert parameter.default == pytest.approx(value), name


def test_statuses_and_types_are_those_of_the_header():
    assert {status.name: int(status) for status in mts.Status} == \
        {name[len("MTS_STATUS_"):]: value for name, value in _mts.ffi.typeof("mts_status").relements.items()}
    types = names_of(_mts.ffi.typeof("mts_type"))[1]
    assert {value: numpy.dtype(name).str for name, value in types.items()} == _arrays.TYPESTR


def test_names_of_enums_in_type_hints_are_all_there_are():
    import typing
    from mts import frames
    for hint, kind in ((frames.Format, "mts_pixel_format"), (frames.Yuv, "mts_yuv"), (frames.Fit, "mts_fit"),
                       (frames.Filter, "mts_filter"), (kit.Step, "mts_kit_roi_kind")):
        assert set(typing.get_args(hint)) == set(names_of(_mts.ffi.typeof(kind))[1])
    for function, kinds in ((mts.Session.__init__, {"strategy": "mts_strategy", "precision": "mts_precision",
                                                    "grouping": "mts_grouping", "when_full": "mts_when_full"}),
                            (mts.zip, {"form": "mtsz_form", "assignment": "mtsz_assignment"}),
                            (mts.prune, {"criterion": "mtsz_criterion", "target": "mtsz_target"})):
        hints = typing.get_type_hints(function, {**vars(session), **vars(compress), "np": numpy})
        for name, kind in kinds.items():
            assert set(typing.get_args(hints[name])) == set(names_of(_mtsz.ffi.typeof(kind))[1]), name


def test_callbacks_have_the_types_of_their_fields():
    runtime = _mts.ffi.new("mts_runtime_options *")
    runtime.log = _mts.lib.mts_py_log
    session = _mts.ffi.new("mts_session_options *")
    session.done, session.progress = _mts.lib.mts_py_done, _mts.lib.mts_py_progress
    options = _mtsc.ffi.new("mtsc_options *")
    options.log, options.progress = _mtsc.lib.mtsc_py_log, _mtsc.lib.mtsc_py_progress
    data, how = _mtsz.ffi.new("mtsz_data *"), _mtsz.ffi.new("mtsz_zip_options *")
    data.frame, data.tensor, how.layer = _mtsz.lib.mtsz_py_frame, _mtsz.lib.mtsz_py_tensor, _mtsz.lib.mtsz_py_layer
    with pytest.raises(TypeError):
        session.done = _mts.lib.mts_py_progress


def test_modules_declare_every_function_of_the_public_headers():
    found = {name for module in (_mts, _mtsc, _mtsz) for name in dir(module.lib)}
    for header in ("mts", "profile", "kit", "mtsc", "mtsz"):
        with open(f"{SOURCE}/sdk/include/mts/{header}.h", encoding="utf-8") as file:
            names = re.findall(r"^MTS_API [^(;]*?(\w+)\(", file.read(), re.M)
        assert names and not set(names) - found, header


@pytest.mark.parametrize("text,why", [
    ("#define MTS_X(y) y\n#if 3\nint a;\n#endif\n", "unknown directive"),
    ("#pragma pack(1)\ntypedef struct mts_a { int b; } mts_a;\n", "unknown directive"),
])
def test_headers_that_would_be_left_out_fail(tmp_path, text, why):
    pytest.importorskip("cffi")
    os.makedirs(tmp_path / "mts")
    (tmp_path / "mts" / "x.h").write_text(text)
    (tmp_path / "list.h").write_text('#include "mts/x.h"\n')
    done = subprocess.run([sys.executable, SOURCE + "/bindings/python/declare.py", str(tmp_path), str(tmp_path / "x.c"),
                           "mts._x", str(tmp_path / "list.h")], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and why in done.stderr


def test_everything_public_is_documented():
    for name in mts.__all__:
        value = getattr(mts, name)
        assert inspect.getdoc(value), name
        if inspect.isclass(value) and value.__module__.startswith("mts"):
            for member, function in vars(value).items():
                if not member.startswith("_") and (inspect.isfunction(function) or isinstance(function, property)):
                    assert inspect.getdoc(function), f"{name}.{member}"
    for name, function in vars(kit).items():
        if inspect.isfunction(function) and not name.startswith("_") and function.__module__ == "mts.kit":
            assert inspect.getdoc(function), name
