# The run-time of a board. Bundles are made on a developer's machine: the compiler is not built.
SUMMARY = "Many neural networks on one camera frame, stitched into one graph"
LICENSE = "Apache-2.0"
# md5sum of LICENSE (tests/install/recipes.py compares it)
LIC_FILES_CHKSUM = "file://LICENSE;md5=3b83ef96387f14655fc854ddc3c6bd57"

# The tree that this layer lies in; a recipe of another layer names a git repository and SRCREV.
inherit externalsrc cmake pkgconfig
EXTERNALSRC = "${@os.path.abspath(os.path.join(d.getVar('FILE_DIRNAME'), '..', '..', '..', '..'))}"

DEPENDS = "xxhash"

PACKAGECONFIG ??= "cpu opencl"
PACKAGECONFIG[cpu] = "-DMTS_BACKEND_CPU=ON,-DMTS_BACKEND_CPU=OFF"
PACKAGECONFIG[cuda] = "-DMTS_BACKEND_CUDA=ON,-DMTS_BACKEND_CUDA=OFF"
# Drivers are opened at run time; the loader is what a board support package provides.
PACKAGECONFIG[opencl] = "-DMTS_BACKEND_OPENCL=ON,-DMTS_BACKEND_OPENCL=OFF,,,,virtual/opencl-icd"

EXTRA_OECMAKE = "-DMTS_COMPILER=OFF -DMTS_APPS=OFF -DMTS_PYTHON=OFF -DMTS_TESTS=OFF -DMTS_WERROR=OFF"

# libmts and libmtskit, and headers, CMake package and pkg-config files in mts-dev
FILES:${PN}-dev += "${libdir}/cmake"
