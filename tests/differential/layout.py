"""Options of `mts run` by which the environment asks for a layout, as tests/golden does: with MTS_TEST_PACKED packs of
channels, with MTS_TEST_PLANES planes, else what the device's row of the defaults says. MTS_TEST_IMAGES: on or off."""
import os


def words():
    """The options, which may be none."""
    layout = "--packed-channels" if os.environ.get("MTS_TEST_PACKED") else "--planes" if os.environ.get("MTS_TEST_PLANES") else None
    images = {"on": "--images", "off": "--no-images"}.get(os.environ.get("MTS_TEST_IMAGES"))
    return [word for word in (layout, images) if word]
