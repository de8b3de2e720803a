#!/usr/bin/python3
"""read_results.py: prints a line of JSON for each frame that comes out of a pipeline with mtsinfer in it. It knows
GStreamer's Python and the name of the meta, and nothing else of the SDK: an example for programs that read results.

    read_results.py 'videotestsrc num-buffers=30 ! mtsinfer bundle=app.mtsb'
"""

import sys

import gi

gi.require_version("Gst", "1.0")
from gi.repository import Gst  # noqa: E402


def main(description):
    Gst.init(None)
    pipeline = Gst.parse_launch(description + " ! appsink name=results sync=false")
    sink, bus = pipeline.get_by_name("results"), pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    while True:
        sample = sink.emit("try-pull-sample", Gst.SECOND)
        if sample:
            meta = sample.get_buffer().get_custom_meta("MtsResultsMeta")
            print(meta.get_structure().get_string("json") if meta else "{}", flush=True)
        elif sink.get_property("eos"):
            break
        message = bus.pop_filtered(Gst.MessageType.ERROR)
        if message:
            pipeline.set_state(Gst.State.NULL)
            sys.exit(f"read_results.py: {message.parse_error()[0].message}")
    pipeline.set_state(Gst.State.NULL)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
