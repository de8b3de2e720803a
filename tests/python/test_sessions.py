"""Sessions: runs, outputs, lifetimes, callbacks."""
import gc
import os
import subprocess
import sys
import weakref

import numpy
import pytest

import mts
from conftest import SOURCE


def test_run_gives_what_submit_wait_and_output_give(session, photo):
    outputs = session.run(photo, copy=True)
    assert sorted(outputs) == ["animal", "object"]
    ticket = session.submit(photo)
    session.wait(ticket)
    assert numpy.array_equal(session.output("object"), outputs["object"][0])
    assert session.output_ticket("object") == ticket == 2
    assert outputs["object"][0].shape == (1, 10) and outputs["object"][0].dtype == numpy.float32
    assert session.flow == mts.Flow(submitted=2, completed=2, dropped=0, failed=0, in_flight=0)


def test_views_are_not_copied_and_cannot_be_written(session, photo):
    first = session.run(photo)["object"][0]
    before = first.copy()
    second = session.run(255 - photo)["object"][0]
    assert numpy.shares_memory(first, second) and not numpy.array_equal(first, before)
    assert not numpy.shares_memory(session.run(photo, copy=True)["object"][0], first)
    with pytest.raises(ValueError):
        first[0, 0] = 1
    with pytest.raises(ValueError):
        first.flags.writeable = True


def test_views_stay_readable_after_everything_was_closed(bundle_path, photo):
    runtime = mts.Runtime("cpu")
    session = mts.Session(mts.Bundle(runtime, bundle_path), tasks=["object"])
    view = session.run(photo)["object"][0]
    expected = view.copy()
    part = view[0, 2:5]
    runtime.close()
    del view, session, runtime
    gc.collect()
    assert numpy.array_equal(part, expected[0, 2:5])


def test_memory_is_freed_with_the_last_view(bundle, photo):
    session = mts.Session(bundle, tasks=["object"])
    view = session.run(photo)["object"][0]
    node = session._node
    session.close()
    assert session.closed and node.handle is not None and node.leases == 1
    del view
    gc.collect()
    assert node.handle is None and node.leases == 0


def test_closing_a_runtime_closes_all_of_it(bundle_path, photo, refused):
    with mts.Runtime("cpu") as runtime:
        bundle = mts.Bundle(runtime, bundle_path)
        session = mts.Session(bundle, tasks=["object"])
    assert bundle.closed and session.closed
    for call in (lambda: session.run(photo), lambda: session.output("object"), lambda: session.stats,
                 lambda: session.enable("object"), session.poll, session.explain, session.profile):
        with refused("INVALID_ARGUMENT", "session is closed"):
            call()
    with refused("INVALID_ARGUMENT", "bundle is closed"):
        mts.Session(bundle)
    with refused("INVALID_ARGUMENT", "runtime is closed"):
        mts.Bundle(runtime, bundle_path)
    assert [task.name for task in bundle.tasks][:2] == ["object", "animal"]  # what was read stays
    session.close()
    bundle.close()
    runtime.close()


def test_objects_die_in_any_order_even_in_cycles(bundle_path, photo):
    for order in range(6):
        runtime = mts.Runtime("cpu")
        bundle = mts.Bundle(runtime, bundle_path)
        session = mts.Session(bundle, tasks=["animal"])
        view = session.run(photo)["animal"][0]
        ring = [runtime, bundle, session, view][order % 4:]
        ring.append(ring)
        dead = weakref.ref(session)
        del runtime, bundle, session, view, ring
        gc.collect()
        assert dead() is None


def test_progress_is_told_and_cancels(bundle):
    told = []
    mts.Session(bundle, progress=lambda fraction, what: told.append(fraction)).close()
    assert told and told == sorted(told) and told[-1] <= 1
    with pytest.raises(mts.Error) as caught:
        mts.Session(bundle, progress=lambda fraction, what: True)
    assert caught.value.status == mts.Status.CANCELLED


def test_an_exception_in_a_callback_comes_out_of_the_call(bundle, photo):
    def stop(fraction, what):
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        mts.Session(bundle, progress=stop)

    def done(ticket, status):
        raise LookupError("mine")
    session = mts.Session(bundle, tasks=["animal"], done=done)
    ticket = session.submit(photo)
    with pytest.raises(LookupError, match="mine"):
        session.wait(ticket)
    assert session.output("animal").shape == (1, 2)


def test_done_is_called_for_every_ticket_and_may_read_outputs(bundle, photo):
    seen = []

    def done(ticket, status):
        seen.append((ticket, status))
        if status == mts.Status.OK:
            seen[-1] += (session.output("animal", copy=True), sorted(session.outputs()))
            session.rate("animal", 1)
            for call in (session.poll, session.close, session.explain, lambda: session.submit(photo)):
                with pytest.raises(mts.Error) as caught:
                    call()
                assert caught.value.status == mts.Status.BUSY
    session = mts.Session(bundle, tasks=["animal"], done=done, frames_in_flight=2, when_full="block")
    for _ in range(5):
        session.submit(photo)
    session.wait(5)
    assert [(item[0], item[1].name) for item in seen] == [(i, "OK") for i in range(1, 6)]
    assert all(numpy.array_equal(item[2], seen[0][2]) for item in seen)
    session.submit(photo)
    session.close()
    assert seen[-1][0] == 6 and not session._gate.in_done


def test_frames_in_flight_are_dropped_polled_and_cancelled(bundle, photo, refused):
    with mts.Session(bundle, tasks=["animal"], frames_in_flight=3, when_full="drop_oldest") as session:
        tickets = [session.submit(photo) for _ in range(20)]
        session.wait(tickets[-1])
        flow = session.flow
        assert flow.submitted == 20 and flow.completed + flow.dropped == 20 and flow.in_flight == 0
        assert session.poll() is None
    with mts.Session(bundle, tasks=["animal"]) as session:
        first = session.submit(photo)
        with refused("BUSY"):
            session.submit(photo)
        while session.poll() != first:
            pass
        with refused("INVALID_ARGUMENT"):
            session.wait(7)
        with refused("INVALID_ARGUMENT"):
            session.cancel(first)


def test_frames_of_a_zero_copy_session_are_kept_until_they_are_done(bundle, photo):
    with mts.Session(bundle, tasks=["animal"], zero_copy_frames=True, frames_in_flight=3) as session:
        expected = session.run(photo, copy=True)["animal"][0]
        assert not session._frames
        frame = photo.copy()
        alive = weakref.ref(frame)
        ticket = session.submit(frame)
        del frame
        assert alive() is not None
        session.wait(ticket)
        assert alive() is None and numpy.array_equal(session.output("animal"), expected)
    dropping = mts.Session(bundle, tasks=["animal"], zero_copy_frames=True, frames_in_flight=3, when_full="drop_oldest")
    for _ in range(50):
        dropping.submit(photo.copy())
        assert len(dropping._frames) <= 3
    dropping.close()
    assert not dropping._frames


def test_exceptions_of_done_keep_no_frames_and_lose_no_tickets(bundle, photo):
    seen = []

    def done(ticket, status):
        seen.append(ticket)
        raise ValueError(f"of {ticket}")
    session = mts.Session(bundle, tasks=["animal"], zero_copy_frames=True, frames_in_flight=3, done=done)
    raised = []
    for call in [lambda: session.submit(photo.copy())] * 3 + [lambda: session.wait(3)]:
        try:
            call()
        except ValueError as error:  # of the first ticket that was done inside the call
            raised.append(str(error))
    assert seen == [1, 2, 3] and not session._frames and raised[0] == "of 1"
    session.close()


def test_inputs_are_set_by_arrays(bundle, photo):
    with mts.Session(bundle, tasks=["animal", "pet"], separate_inputs=True) as session:
        random = numpy.random.default_rng(3)
        a, b = (random.normal(size=(1, 3, 32, 32)).astype(numpy.float32) for _ in range(2))
        both = session.run(inputs={"animal": a, ("pet", 0): b}, copy=True)
        again = session.run(inputs={"animal": b.astype(">f4")}, copy=True)
        assert not numpy.array_equal(both["animal"][0], again["animal"][0])
        assert numpy.array_equal(both["pet"][0], again["pet"][0])
        apart = session.run(inputs={"animal": a[:, :, ::-1].transpose(0, 1, 3, 2).transpose(0, 1, 3, 2)[:, :, ::-1]})
        assert numpy.array_equal(both["animal"][0], apart["animal"][0])
        session.input_frame("pet", photo)
        session.run()
    with mts.Session(bundle, tasks=["animal"], zero_copy_inputs=True) as session:
        own = a.copy()
        assert numpy.array_equal(session.run(inputs={"animal": own})["animal"][0], both["animal"][0])
        own[:] = b
        del own
        gc.collect()
        assert numpy.array_equal(session.run()["animal"][0], again["animal"][0])


def test_tasks_that_do_not_run_are_left_out(session, photo, refused):
    session.enable("animal", False)
    assert list(session.run(photo)) == ["object"]
    with refused("NOT_FOUND", "animal"):
        session.output("animal")
    session.enable("animal")
    session.rate("animal", 2)
    session.rate_hz("object", 1000.0)
    session.deadline(1000)
    assert "object" in session.run(photo)
    assert session.task_stats("object").runs >= 1


def test_reports(session, photo, bundle, bundle_path):
    session.run(photo)
    assert session.explain()["groups"] and "group" in session.explain("text")
    assert session.stats.launches == len(session.profile(2)) and session.stats.peak_bytes > 0
    assert bundle.inspect() == mts.inspect(bundle_path) and "digraph" in mts.inspect(bundle, "dot")
    assert [task["name"] for task in mts.inspect(bundle_path)["tasks"]] == [task.name for task in bundle.tasks]


def test_bundles_are_opened_from_memory(runtime, bundle_path, photo):
    with open(bundle_path, "rb") as file:
        data = file.read()
    for source in (data, bytearray(data), memoryview(data)):
        with mts.Bundle(runtime, source) as bundle, mts.Session(bundle, tasks=["animal"]) as session:
            if isinstance(source, bytearray):
                source[:] = bytes(len(source))
            assert session.run(photo)["animal"][0].shape == (1, 2)


def test_a_waiting_thread_lets_others_run(bundle, photo):
    import threading
    import time
    counted = [0]
    stop = threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0)
    session = mts.Session(bundle, strategy="sequential")
    thread = threading.Thread(target=count)
    thread.start()
    try:
        before = counted[0]
        for _ in range(20):
            session.run(photo)
        assert counted[0] > before + 20
    finally:
        stop.set()
        thread.join()
        session.close()


def test_log_sentences_arrive(bundle_path):
    said = []
    with mts.Runtime("cpu", log=lambda severity, text: said.append((severity, text))) as runtime:
        with pytest.raises(mts.Error):
            mts.Bundle(runtime, bundle_path + ".none")
        assert ("error" in {severity for severity, _ in said}) and any(".none" in text for _, text in said)


def test_a_length_for_each_submission(tmp_path, runtime):
    """One model compiled for several lengths: weights lie once, and each submission runs the shortest that fits."""
    pytest.importorskip("onnx")
    ort = pytest.importorskip("onnxruntime")
    sys.path.insert(0, SOURCE + "/tests/perf")
    import transformer_models
    model, lengths = str(tmp_path / "bert.onnx"), (8, 16, 32)
    transformer_models.bert(model, "bert-tiny", rows=32, words=100, dynamic=True)
    shapes = [{name: (1, n) for name in ("input_ids", "attention_mask")} for n in lengths]
    one = mts.compile({"bert": mts.Task(model, shapes=shapes[-1])}, tmp_path / "one.mtsb")
    all_lengths = mts.compile({f"bert{n}": mts.Task(model, shapes=s) for n, s in zip(lengths, shapes)}, tmp_path / "all.mtsb")
    assert all_lengths.weights_bytes < one.weights_bytes + 4 * 128 * (8 + 16) + 100  # and rows of the table of places
    program = os.environ["MTS_BINARY_DIR"] + "/bin/mts"
    subprocess.run([program, "compile", f"--task=bert={model}", "--lengths=bert=8,16,32", "--shape=bert:input_ids=1xN",
                    "--shape=bert:attention_mask=1xN", "-o", tmp_path / "same.mtsb"], check=True, capture_output=True)
    assert (tmp_path / "same.mtsb").read_bytes() == (tmp_path / "all.mtsb").read_bytes()
    peer = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    random = numpy.random.default_rng(3)
    with mts.Bundle(runtime, tmp_path / "all.mtsb") as bundle, mts.Session(bundle) as session:
        for length in (5, 32, 8, 9, 17, 1, 16):
            rows = next(n for n in lengths if n >= length)
            ids, mask = numpy.zeros((2, 1, rows), numpy.int64)
            ids[0, :length], mask[0, :length] = random.integers(0, 100, length), 1
            for n in lengths:
                session.enable(f"bert{n}", n == rows)
            session.input(f"bert{rows}", ids, 0)
            session.input(f"bert{rows}", mask, 1)
            session.wait(session.submit())
            wanted = peer.run(None, {"input_ids": ids[:, :length], "attention_mask": mask[:, :length]})[0]
            got = session.output(f"bert{rows}")
            assert numpy.abs(numpy.asarray(got).reshape(wanted.shape) - wanted).max() < 1e-5


def pieces(folder, *names):
    """Bundles of the demo's tasks, one for each name, or for several with + between."""
    paths = []
    for name in names:
        paths.append(folder / f"{name}.mtsb")
        mts.compile({task: mts.Task(SOURCE + f"/apps/mts/demo/models/small_{task}.onnx", color="rgb", mean=[125.3, 123, 113.9],
                                    std=[63, 62.1, 66.7]) for task in name.split("+")}, paths[-1])
    return paths


def test_tasks_are_added_updated_and_removed_while_the_session_lives(tmp_path, runtime, photo, refused):
    base, extra, whole = pieces(tmp_path, "object+animal", "pet", "object+animal+pet")
    with mts.Bundle(runtime, whole) as bundle, mts.Session(bundle) as session:
        known = session.run(photo, copy=True)
    with mts.Bundle(runtime, base) as first, mts.Bundle(runtime, extra) as second, mts.Session(first) as session:
        assert sorted(session.run(photo)) == ["animal", "object"]
        session.add(second)
        session.settle()
        outputs = session.run(photo, copy=True)
        assert sorted(outputs) == ["animal", "object", "pet"]
        for task in outputs:
            assert numpy.allclose(outputs[task][0], known[task][0], atol=1e-5)
        with refused("INVALID_ARGUMENT", "runs all 1 tasks"):
            session.add(second)
        session.update(second)  # the weights that it has
        session.settle(60)
        assert numpy.allclose(session.run(photo)["pet"][0], known["pet"][0], atol=1e-5)
        session.remove("object")
        session.settle()
        assert sorted(session.run(photo)) == ["animal", "pet"]
        with refused("NOT_FOUND", "object"):
            session.remove("object")
        assert session.flow.failed == session.flow.dropped == 0 and session.flow.completed == 4


def test_append_joins_bundles_and_makes_patches(tmp_path, runtime, photo):
    base, extra = pieces(tmp_path, "object+animal", "pet")
    joined = mts.append(base, extra, tmp_path / "joined.mtsb")
    assert joined.written_bytes == joined.result_bytes == (tmp_path / "joined.mtsb").stat().st_size
    patch = mts.append(base, extra, tmp_path / "pet.patch", patch=True)
    assert patch.written_bytes == (tmp_path / "pet.patch").stat().st_size < joined.written_bytes - base.stat().st_size // 2
    mts.append(base, tmp_path / "pet.patch", tmp_path / "patched.mtsb")
    assert (tmp_path / "patched.mtsb").read_bytes() == (tmp_path / "joined.mtsb").read_bytes()
    with mts.Bundle(runtime, tmp_path / "patched.mtsb") as bundle, mts.Session(bundle) as session:
        assert sorted(session.run(photo)) == ["animal", "object", "pet"]
    with pytest.raises(mts.Error):
        mts.append(extra, tmp_path / "pet.patch", tmp_path / "wrong.mtsb")
    with pytest.raises(mts.Error):
        mts.append(base, base, tmp_path / "twice.mtsb")
    assert not (tmp_path / "wrong.mtsb").exists() and not (tmp_path / "twice.mtsb").exists()
