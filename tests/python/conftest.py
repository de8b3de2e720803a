"""What the tests of the Python package share: a small bundle, a runtime, frames."""
import os

import numpy
import pytest

import mts

SOURCE = os.environ["MTS_SOURCE_DIR"]
DEMO = SOURCE + "/apps/mts/demo"


@pytest.fixture(scope="session")
def bundle_path(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("bundle") / "small.mtsb")
    mts.compile(DEMO + "/small.json", path)
    return path


@pytest.fixture
def runtime():
    with mts.Runtime(os.environ.get("MTS_TEST_DEVICE", "cpu")) as opened:
        yield opened


@pytest.fixture
def bundle(runtime, bundle_path):
    with mts.Bundle(runtime, bundle_path) as opened:
        yield opened


@pytest.fixture
def session(bundle):
    with mts.Session(bundle, tasks=["object", "animal"]) as opened:
        yield opened


@pytest.fixture
def photo():
    """RGB, 48 x 64, with a slope in every direction, so that no two places look the same."""
    y, x = numpy.mgrid[0:48, 0:64]
    return numpy.stack([x * 4, y * 5, (x + y) * 2], axis=2).astype(numpy.uint8)


@pytest.fixture
def refused():
    """`with refused("INVALID_ARGUMENT", "word"):` the body raises mts.Error with that status and word."""
    import contextlib

    @contextlib.contextmanager
    def check(status, *words):
        with pytest.raises(mts.Error) as caught:
            yield
        assert caught.value.status == mts.Status[status], caught.value
        for word in words:
            assert word in str(caught.value)
    return check
