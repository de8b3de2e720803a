"""Arrays and pictures become the frames that they say."""
import numpy
import pytest

import mts
from mts import frames
from mts._native import ffi, lib


def described(data, format=None):
    frame = ffi.new("mts_frame *")
    kept = frames.write(frame, data, format)
    return frame, kept


def test_rgb_rows_that_lie_apart_are_read_in_place(photo):
    part = photo[10:40, 8:32]
    frame, _ = described(part)
    assert (frame.width, frame.height, frame.stride) == (24, 30, 64 * 3)
    assert int(ffi.cast("uintptr_t", frame.data)) == part.__array_interface__["data"][0]


def test_pixels_that_lie_apart_are_copied(photo, session):
    straight = session.run(numpy.ascontiguousarray(photo[:, ::-1]), copy=True)
    turned = session.run(photo[:, ::-1], copy=True)
    upside = session.run(photo[::-1], copy=True)
    assert numpy.array_equal(straight["object"][0], turned["object"][0])
    assert not numpy.array_equal(straight["object"][0], upside["object"][0])


def test_shapes_decide_about_the_format(photo):
    assert described(photo)[0].format == lib.MTS_PIXEL_FORMAT_RGB
    assert described(numpy.dstack([photo, photo[:, :, :1]]))[0].format == lib.MTS_PIXEL_FORMAT_RGBA
    assert described(photo[:, :, 0].copy())[0].format == lib.MTS_PIXEL_FORMAT_GREY
    assert described(photo[:, :, :1])[0].format == lib.MTS_PIXEL_FORMAT_GREY


def test_one_picture_in_every_order_of_channels_gives_the_same_answers(photo, session):
    alpha = numpy.full((48, 64, 1), 7, numpy.uint8)
    rgb = session.run(photo, copy=True)["object"][0]
    for format, data in (("bgr", photo[:, :, ::-1]), ("rgba", numpy.dstack([photo, alpha])),
                         ("bgra", numpy.dstack([photo[:, :, ::-1], alpha]))):
        assert numpy.array_equal(session.run(mts.Frame(data, format))["object"][0], rgb), format


def test_stacked_planes_are_those_given_apart(session):
    random = numpy.random.default_rng(1)
    y, u, v = (random.integers(0, 256, shape, dtype=numpy.uint8) for shape in ((8, 12), (4, 6), (4, 6)))
    i420 = numpy.concatenate([y.ravel(), u.ravel(), v.ravel()]).reshape(12, 12)
    nv12 = numpy.concatenate([y.ravel(), numpy.dstack([u, v]).ravel()]).reshape(12, 12)
    expected = session.run(mts.Frame((y, u, v), "i420"), copy=True)["object"][0]
    for frame in (mts.Frame(i420, "i420"), mts.Frame(nv12, "nv12"), mts.Frame((y, numpy.dstack([u, v])), "nv12"),
                  mts.Frame((y, numpy.dstack([v, u])), "nv21")):
        assert numpy.array_equal(session.run(frame)["object"][0], expected)
    other = session.run(mts.Frame(i420, "i420", yuv="bt709"))["object"][0]
    assert not numpy.array_equal(other, expected)


def test_planes_of_odd_sides_and_with_gaps_between_rows(session):
    y, pairs = numpy.full((7, 9), 80, numpy.uint8), numpy.full((4, 5, 2), 100, numpy.uint8)
    expected = session.run(mts.Frame((y, pairs), "nv12"), copy=True)["object"][0]
    wide_y, wide_pairs = numpy.zeros((7, 32), numpy.uint8), numpy.zeros((4, 16, 2), numpy.uint8)
    wide_y[:, :9], wide_pairs[:, :5] = y, pairs
    assert numpy.array_equal(session.run(mts.Frame((wide_y[:, :9], wide_pairs[:, :5]), "nv12"))["object"][0], expected)


def test_quadruples_of_yuyv_and_uyvy(session):
    yuyv = numpy.random.default_rng(2).integers(0, 256, (6, 8, 2), dtype=numpy.uint8)
    expected = session.run(mts.Frame(yuyv, "yuyv"), copy=True)["object"][0]
    assert numpy.array_equal(session.run(mts.Frame(yuyv[:, :, ::-1], "uyvy"))["object"][0], expected)


def test_pictures_of_pil_in_any_mode(photo, session):
    image = pytest.importorskip("PIL.Image")
    picture = image.fromarray(photo)
    expected = session.run(photo, copy=True)["object"][0]
    assert numpy.array_equal(session.run(picture)["object"][0], expected)
    assert numpy.array_equal(session.run(mts.Frame(picture))["object"][0], expected)
    for mode in ("L", "P", "CMYK", "1", "RGBA", "I;16"):
        session.run(picture.convert("L").convert(mode) if mode in ("I;16",) else picture.convert(mode))


def test_a_region_is_the_part_cut_out(photo, session):
    part = session.run(numpy.ascontiguousarray(photo[8:40, 16:48]), copy=True)["object"][0]
    region = mts.Region(x=16, y=8, width=32, height=32)
    assert numpy.array_equal(session.run(mts.Frame(photo, region=region))["object"][0], part)
    turned = session.run(mts.Frame(photo, region=mts.Region(x=16, y=8, width=32, height=32, rotation=180)))["object"][0]
    assert not numpy.array_equal(turned, part)
    session.regions([region])
    assert numpy.array_equal(session.run(photo)["object"][0], part)
    session.regions([])
    assert not numpy.array_equal(session.run(photo)["object"][0], part)


@pytest.mark.parametrize("data", [
    numpy.zeros((4, 4, 3), numpy.float32), numpy.zeros((4, 4, 3), numpy.int8), numpy.zeros((4, 4, 2), numpy.uint8),
    numpy.zeros((4, 4, 5), numpy.uint8), numpy.zeros(16, numpy.uint8), numpy.zeros((2, 4, 4, 3), numpy.uint8),
    numpy.zeros((0, 4, 3), numpy.uint8), numpy.zeros((4, 0, 3), numpy.uint8), numpy.zeros((4, 4, 0), numpy.uint8),
    numpy.zeros((1, 16385, 3), numpy.uint8), numpy.array(None), numpy.array(["a"]), "photo.jpg", b"123", 7, object(),
    [[1, 2], [3]], (), {}, numpy.lib.stride_tricks.as_strided(numpy.zeros(3, numpy.uint8), (20000, 20000, 3), (0, 0, 1)),
])
def test_what_is_no_frame_is_refused(session, refused, data):
    with refused("INVALID_ARGUMENT"):
        session.submit(data)
    assert session.flow.submitted == 0


@pytest.mark.parametrize("format,data", [
    ("rgb", numpy.zeros((4, 4, 4), numpy.uint8)), ("rgb", numpy.zeros((4, 4), numpy.uint8)),
    ("nv12", numpy.zeros((4, 4), numpy.uint8)), ("nv12", numpy.zeros((6, 5), numpy.uint8)),
    ("i420", numpy.zeros((6, 4, 3), numpy.uint8)), ("yuyv", numpy.zeros((4, 3, 2), numpy.uint8)),
    ("nv12", (numpy.zeros((4, 4), numpy.uint8),)), ("nv12", ()),
    ("nv12", (numpy.zeros((4, 4), numpy.uint8), numpy.zeros((2, 2), numpy.uint8))),
    ("i420", (numpy.zeros((4, 4), numpy.uint8), numpy.zeros((2, 2, 2), numpy.uint8))),
    ("i420", (numpy.zeros((5, 5), numpy.uint8), numpy.zeros((2, 2), numpy.uint8), numpy.zeros((2, 2), numpy.uint8))),
    ("hsv", numpy.zeros((4, 4, 3), numpy.uint8)), (99, numpy.zeros((4, 4, 3), numpy.uint8)),
    ([], numpy.zeros((4, 4, 3), numpy.uint8)),
])
def test_frames_that_contradict_their_format_are_refused(refused, format, data):
    with refused("INVALID_ARGUMENT"):
        mts.Frame(data, format)


def test_a_row_repeated_by_a_stride_of_zero_is_no_hole(session):
    row = numpy.arange(96, dtype=numpy.uint8).reshape(1, 32, 3)
    repeated = numpy.broadcast_to(row, (32, 32, 3))
    expected = session.run(repeated.copy(), copy=True)["object"][0]
    assert numpy.array_equal(session.run(repeated)["object"][0], expected)


@pytest.mark.parametrize("region", [
    mts.Region(width=1000, height=10), mts.Region(x=-1), mts.Region(x=1 << 40), mts.Region(fit="cut"),
    mts.Region(rotation=45), mts.Region(fill=(1, 2, 3, 4, 5)), mts.Region(fill=(999, 0, 0)), mts.Region(sides=(float("nan"), 1)),
    mts.Region(middle=("a", "b")), mts.Region(mirror=2), mts.Region(sides=(-1, -1)), mts.Region(fill=3),
])
def test_bad_regions_are_refused(session, photo, refused, region):
    with refused("INVALID_ARGUMENT"):
        session.run(mts.Frame(photo, region=region))
    session.run(photo)
