"""Nothing grows: sessions, runs, views, failures."""
import gc

import mts


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


def test_a_thousand_sessions_leave_nothing(bundle_path, photo):
    def sessions(count):
        for i in range(count):
            with mts.Runtime("cpu", threads=1) as runtime, mts.Bundle(runtime, bundle_path) as bundle:
                session = mts.Session(bundle, tasks=["animal"], done=lambda ticket, status: None)
                view = session.run(photo)["animal"][0]
                if i % 3 == 0:
                    session.close()
                del view, session
                try:
                    mts.Session(bundle, tasks=["nobody"])
                except mts.Error:
                    pass
    sessions(100)
    gc.collect()
    before = resident()
    sessions(1000)
    gc.collect()
    grown = resident() - before
    print(f"{grown} bytes more after 1000 sessions")
    # a session of this bundle has more than 1 MB; 8 MB are what the heap of a process moves by
    assert grown < 8 << 20


def test_runs_leave_nothing(session, photo):
    def runs(count):
        for _ in range(count):
            session.run(photo)
            session.run(photo, copy=True)
            try:
                session.run(photo[:0])
            except mts.Error:
                pass
    runs(500)
    gc.collect()
    before, objects = resident(), len(gc.get_objects())
    runs(3000)
    gc.collect()
    assert resident() - before < 4 << 20
    assert len(gc.get_objects()) - objects < 200
