"""Hostile use gives exceptions, never a crash."""
import gc
import threading

import numpy
import pytest

import mts


@pytest.mark.parametrize("task,array,index,status", [
    ("animal", numpy.zeros((1, 3, 32, 31), numpy.float32), 0, "INVALID_ARGUMENT"),
    ("animal", numpy.zeros((3, 32, 32), numpy.float32), 0, "INVALID_ARGUMENT"),
    ("animal", numpy.zeros((1, 3, 32, 32), numpy.float64), 0, "INVALID_ARGUMENT"),
    ("animal", numpy.zeros((1, 3, 32, 32), numpy.complex64), 0, "INVALID_ARGUMENT"),
    ("animal", numpy.zeros((1, 3, 32, 32), object), 0, "INVALID_ARGUMENT"),
    ("animal", numpy.zeros((1,) * 7, numpy.float32), 0, "INVALID_ARGUMENT"),
    ("animal", numpy.zeros(0, numpy.float32), 0, "INVALID_ARGUMENT"),
    ("animal", numpy.float32(1), 0, "INVALID_ARGUMENT"),
    ("animal", numpy.broadcast_to(numpy.float32(1), (1, 1 << 20, 1 << 10, 1 << 10)), 0, "INVALID_ARGUMENT"),
    ("animal", None, 0, "INVALID_ARGUMENT"), ("animal", "text", 0, "INVALID_ARGUMENT"),
    ("animal", [[1], [2, 3]], 0, "INVALID_ARGUMENT"),
    ("animal", numpy.zeros((1, 3, 32, 32), numpy.float32), 1, "NOT_FOUND"),
    ("animal", numpy.zeros((1, 3, 32, 32), numpy.float32), -1, "INVALID_ARGUMENT"),
    ("animal", numpy.zeros((1, 3, 32, 32), numpy.float32), 1 << 40, "INVALID_ARGUMENT"),
    ("animal", numpy.zeros((1, 3, 32, 32), numpy.float32), "0", "INVALID_ARGUMENT"),
    ("nobody", numpy.zeros((1, 3, 32, 32), numpy.float32), 0, "NOT_FOUND"),
    ("ani\0mal", numpy.zeros((1, 3, 32, 32), numpy.float32), 0, "INVALID_ARGUMENT"),
    (None, numpy.zeros((1, 3, 32, 32), numpy.float32), 0, "INVALID_ARGUMENT"),
    ("pet", numpy.zeros((1, 3, 32, 32), numpy.float32), 0, "NOT_FOUND"),
])
def test_inputs_of_another_kind_are_refused(session, refused, photo, task, array, index, status):
    with refused(status):
        session.input(task, array, index)
    session.run(photo)


@pytest.mark.parametrize("options", [
    {"frames_in_flight": 0}, {"frames_in_flight": 17}, {"frames_in_flight": -1}, {"frames_in_flight": 1 << 40},
    {"frames_in_flight": "two"}, {"strategy": "fast"}, {"strategy": 7}, {"strategy": None, "tasks": [7]},
    {"tasks": "animal"}, {"tasks": []}, {"tasks": ["animal", "animal"]}, {"memory_budget": -1}, {"priorities": [1]},
    {"memory_budget": 1.5}, {"when_full": "block"}, {"tuning_ms": 1 << 33}, {"tasks": ["a\0b"]}, {"tasks": [None]},
    {"priorities": ["x"] * 8}, {"zero_copy_inputs": True, "frames_in_flight": 2}, {"tasks": [b"animal"]},
])
def test_bad_options_of_a_session_are_refused(bundle, refused, options):
    with refused("INVALID_ARGUMENT"):
        mts.Session(bundle, **options)


@pytest.mark.parametrize("options", [
    {"device": "gpu9"}, {"device": ""}, {"device": "a\0b"}, {"device": 7}, {"threads": -1}, {"threads": 1 << 20},
    {"replay": "maybe"}, {"flush_launches": -3}, {"cache_dir": 7}, {"device": b"\xff\xfe"},
])
def test_bad_options_of_a_runtime_are_refused(options):
    with pytest.raises(mts.Error):
        mts.Runtime(**options)


@pytest.mark.parametrize("source", [b"", b"MTSB", bytes(1 << 16), "", "/", "/nonexistent", 7, None, "a\0b", []])
def test_what_is_no_bundle_is_refused(runtime, source):
    with pytest.raises(mts.Error):
        mts.Bundle(runtime, source)
    with pytest.raises(mts.Error):
        mts.inspect(source) if not isinstance(source, bytes) else mts.Bundle(None, source)


def test_flipped_bytes_of_a_bundle_are_found(runtime, bundle_path):
    with open(bundle_path, "rb") as file:
        data = bytearray(file.read())
    for at in (0, 9, 100, len(data) // 2, len(data) - 1):
        data[at] ^= 0xFF
        with pytest.raises(mts.Error):
            mts.Bundle(runtime, data)
        data[at] ^= 0xFF
    for size in (1, 63, 64, 65, len(data) - 1):
        with pytest.raises(mts.Error):
            mts.Bundle(runtime, data[:size])


@pytest.mark.parametrize("ticket", [0, 2, -1, 1 << 64, 1 << 63, None, "1", 1.0])
def test_tickets_of_nobody_are_refused(session, photo, refused, ticket):
    session.run(photo)
    with refused("INVALID_ARGUMENT"):
        session.wait(ticket)
    with refused("INVALID_ARGUMENT"):
        session.cancel(ticket)


@pytest.mark.parametrize("timeout", [-1, float("nan"), "soon", -1e300])
def test_bad_timeouts_are_refused(session, photo, refused, timeout):
    ticket = session.submit(photo)
    with refused("INVALID_ARGUMENT"):
        session.wait(ticket, timeout)
    for good in (1e300, float("inf"), 1e9, 5):
        session.wait(ticket, good)


def test_outputs_before_a_run_and_of_nobody_are_refused(session, photo, refused):
    with refused("INVALID_ARGUMENT", "no outputs yet"):
        session.output("animal")
    with refused("INVALID_ARGUMENT"):
        session.outputs()
    session.run(photo)
    for task, index, status in (("animal", 1, "NOT_FOUND"), ("animal", -1, "INVALID_ARGUMENT"), ("x", 0, "NOT_FOUND"),
                                ("animal", None, "INVALID_ARGUMENT"), (3, 0, "INVALID_ARGUMENT"),
                                ("\ud800", 0, "INVALID_ARGUMENT")):
        with refused(status):
            session.output(task, index)


def test_controls_out_of_range_are_refused(session, refused):
    for call in (lambda: session.rate("animal", 0), lambda: session.rate("animal", -1), lambda: session.rate("animal", "x"),
                 lambda: session.rate_hz("animal", -1.0), lambda: session.rate_hz("animal", float("nan")),
                 lambda: session.deadline(-1), lambda: session.deadline(1 << 40), lambda: session.profile(0),
                 lambda: session.profile("x"), lambda: session.explain("dot?"), lambda: session.regions([1])):
        with refused("INVALID_ARGUMENT"):
            call()
    with refused("UNSUPPORTED"):
        session.explain("dot")


def test_objects_of_another_kind_are_refused(runtime, bundle, refused):
    for call in (lambda: mts.Session(runtime), lambda: mts.Session(None), lambda: mts.Bundle(bundle, "x"),
                 lambda: mts.Bundle(None, "x")):
        with refused("INVALID_ARGUMENT"):
            call()


def test_objects_without_init_do_nothing():
    for kind in (mts.Runtime, mts.Bundle, mts.Session):
        made = kind.__new__(kind)
        with pytest.raises(AttributeError):
            made.close()
        del made
    gc.collect()


def test_many_threads_share_a_session(bundle, photo):
    session = mts.Session(bundle, tasks=["animal"], frames_in_flight=4, when_full="drop_oldest")
    expected = session.run(photo, copy=True)["animal"][0]
    wrong = []

    def work():
        for _ in range(50):
            try:
                session.wait(session.submit(photo))
                if not numpy.array_equal(session.output("animal", copy=True), expected):
                    wrong.append("another output")
            except mts.Error as error:  # another thread has consumed a later run
                if error.status not in (mts.Status.INVALID_ARGUMENT, mts.Status.CANCELLED):
                    wrong.append(str(error))
    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    flow = session.flow
    assert flow.submitted == 301 and flow.failed == 0
    session.close()


def test_threads_close_what_others_use(bundle_path, photo):
    for _ in range(5):
        runtime = mts.Runtime("cpu")
        bundle = mts.Bundle(runtime, bundle_path)
        session = mts.Session(bundle, tasks=["animal"])
        session.run(photo)
        wrong, views = [], []

        def work():
            try:
                while True:
                    views.append(session.run(photo)["animal"][0])
            except mts.Error as error:
                if "closed" not in str(error) and error.status not in (mts.Status.INVALID_ARGUMENT, mts.Status.BUSY):
                    wrong.append(str(error))
                if not session.closed:
                    work()
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        runtime.close()
        for thread in threads:
            thread.join()
        assert not wrong and all(numpy.isfinite(view).all() for view in views)


def test_views_die_on_other_threads_while_the_session_works(bundle, photo):
    session = mts.Session(bundle, tasks=["animal"])
    stop = threading.Event()
    views = []

    def drop():
        while not stop.is_set():
            views.clear()
    thread = threading.Thread(target=drop)
    thread.start()
    try:
        for _ in range(300):
            views.append(session.run(photo)["animal"][0])
    finally:
        stop.set()
        thread.join()
    views.clear()
    gc.collect()
    session.poll()
    assert session._node.leases == 0
    session.close()
    assert session._node.handle is None


def test_callbacks_that_use_their_runtime_get_busy(runtime, bundle, bundle_path):
    refused = []

    def progress(fraction, what):
        for call in (lambda: mts.Session(bundle), lambda: mts.Bundle(runtime, bundle_path), runtime.close, bundle.close):
            try:
                call()
            except mts.Error as error:
                refused.append(error.status)
    mts.Session(bundle, tasks=["animal"], progress=progress).close()
    assert refused and set(refused) == {mts.Status.BUSY} and not runtime.closed


def test_objects_that_die_inside_a_callback_are_destroyed_afterwards(runtime, bundle, photo):
    others = [mts.Session(bundle, tasks=["animal"])]
    node = others[0]._node

    def done(ticket, status):
        others.clear()
        gc.collect()
    session = mts.Session(bundle, tasks=["animal"], done=done)
    session.run(photo)
    assert node.handle is None
    session.close()


def test_decoders_refuse_what_does_not_fit(refused, photo):
    kit = mts.kit
    for call in (lambda: kit.ssd("face", numpy.zeros(3), numpy.zeros(4), frame=(4, 4)),
                 lambda: kit.ssd("cat", numpy.zeros(3), numpy.zeros(4), frame=(4, 4)),
                 lambda: kit.ssd("face", numpy.zeros((1, 896, 16)), numpy.zeros((1, 896, 1)), frame=(0, 4)),
                 lambda: kit.ssd("face", numpy.zeros((1, 896, 16)), numpy.zeros((1, 896, 1)), frame=None),
                 lambda: kit.landmarks(numpy.zeros(5), 0, frame=(4, 4), sides=(4, 4)),
                 lambda: kit.landmarks(numpy.zeros(5), 3, frame=(4, 4), sides=(4, 4)),
                 lambda: kit.mask(numpy.zeros((2, 3, 4)), frame=(4, 4)), lambda: kit.top([1, 2], -1),
                 lambda: kit.mask("x", frame=(4, 4)), lambda: kit.region_of("face", numpy.zeros((3, 4))),
                 lambda: kit.region_of("left_iris", numpy.zeros((3, 5))), lambda: kit.top(None),
                 lambda: kit.whole_frame((4, 4), (0, 1)), lambda: kit.mask(numpy.zeros((2, 2)), frame=(4, 4), kind="x")):
        with refused("INVALID_ARGUMENT"):
            call()
    with refused("UNSUPPORTED"):
        kit.yolo(numpy.zeros((3, 3)), frame=(4, 4), sides=(64, 64))
    assert kit.ssd("face", numpy.full((1, 896, 16), numpy.nan), numpy.full((1, 896, 1), numpy.inf), frame=(4, 4)) == []
