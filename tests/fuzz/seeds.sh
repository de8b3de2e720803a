#!/bin/sh
# Fills the fuzzers' corpus folders. Usage: seeds.sh FUZZ_SEED SOURCE_DIR CORPUS
set -eu
"$1" "$3/archive" "$3/tflite" "$3/patch"
cp "$2/apps/mts/demo/small.json" "$3/config/"
cp "$2/apps/mts/demo/models/small_pet.onnx" "$3/onnx/"
for model in /usr/share/libonnx-testdata/data/node/*/model.onnx; do
    if [ -f "$model" ]; then
        cp "$model" "$3/onnx/$(basename "$(dirname "$model")").onnx"
    fi
done
# The rest is written here, as text or bytes in octal. Folders of targets that are not built are not there.
# put TARGET TEXT CORPUS [NAME]
put() {
    if [ -d "$3/$1" ]; then
        # shellcheck disable=SC2059
        printf "$2" >"$3/$1/${4:-seed}"
    fi
}
put uri 'clip.yuv?format=nv12&width=640&height=480&fps=30&loop=1&yuv=bt709' "$3"
put npy '\223NUMPY\001\000\166\000{"descr": "<f4", "fortran_order": False, "shape": (2,), }\n12345678' "$3"
put inflate '\000\000\001\000\113\314\052\004\000' "$3"
put dataset '\001\002\003' "$3"
put external '\002\001\003\000\000\000\001\001\000\000\00012345678' "$3"
put picture '\377\330\377\340\000\020JFIF\000\001\001\000\000\001\000\001\000\000\377\331' "$3"
# Two pixels with Exif data: a PNG and a WebP.
png='\211PNG\015\012\032\012\000\000\000\015IHDR\000\000\000\002\000\000\000\001\010\002\000\000\000\173'\
'\100\350\335\000\000\000\032eXIfMM\000*\000\000\000\010\000\001\001\022\000\003\000\000\000\001\000'\
'\006\000\000\000\000\000\000\326gKi\000\000\000\017IDATx\332c\370\317\300\300\360\237\001\000\007'\
'\377\001\377\270\0045\340\000\000\000\000IEND\256B\140\202'
webp='RIFFP\000\000\000WEBPVP8X\012\000\000\000\010\000\000\000\001\000\000\000\000\000VP8L\017\000\000'\
'\000\057\001\000\000\000\007\020\375\217\376\007\042\242\377\001\000EXIF\032\000\000\000MM\000*\000'\
'\000\000\010\000\001\001\022\000\003\000\000\000\001\000\006\000\000\000\000\000\000'
put picture "$png" "$3" png
put picture "$webp" "$3" webp
put frame '\000\020\020\000\000\000\000\000' "$3"
put api '\001\001\000\000\000\000\001\000\001\000\001\000\002\000' "$3"
put v4l2 '\002\001\000\001\001\000\000\000\001\100\100\000' "$3"
put cache '\000\000\000\000' "$3"
put compress '\001\004\001\001\001\001\001\001\001\100\000\001\004' "$3"
put differential '\000\000\000\007\002\004\001\001\001' "$3"
if [ -d "$3/scenario" ]; then
    cp "$2"/tests/perf/scenarios/*.json "$3/scenario/"
fi
