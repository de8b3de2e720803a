"""conanfile.py: the run-time as a Conan 2 package, made of the source that it lies in.

    conan create packaging/conan                       # all backends
    conan create packaging/conan -o "&:cpu=False" -o "&:opencl=False" -o "&:cuda=False"

The header xxhash.h is the system's (libxxhash-dev). Compiler, compression and programs are not part of it."""

import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Mts(ConanFile):
    name = "mts"
    license = "Apache-2.0"
    description = "Many neural networks on one camera frame, stitched into one graph"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "cpu": [True, False], "opencl": [True, False], "cuda": [True, False]}
    default_options = {"shared": True, "cpu": True, "opencl": True, "cuda": True}

    @property
    def _top(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        self.version = re.search(r"project\(mts VERSION ([0-9.]+)", load(self, os.path.join(self._top, "CMakeLists.txt")))[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "sdk/*", "kernels/*", "platform/*"):
            copy(self, pattern, self._top, self.export_sources_folder)

    def configure(self):  # C only
        self.settings.rm_safe("compiler.libcxx")
        self.settings.rm_safe("compiler.cppstd")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name in ("COMPILER", "APPS", "TESTS", "WERROR"):
            toolchain.cache_variables["MTS_" + name] = False
        toolchain.cache_variables["MTS_PYTHON"] = "OFF"
        for name in ("cpu", "opencl", "cuda"):
            toolchain.cache_variables["MTS_BACKEND_" + name.upper()] = bool(self.options.get_safe(name))
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # it has a CMake package of its own
        self.cpp_info.builddirs = [os.path.dirname(path) for path in self._configs()]
        self.cpp_info.libs = ["mts", "mtskit"]

    def _configs(self):
        for folder, _, files in os.walk(self.package_folder):
            if "mts-config.cmake" in files:
                yield os.path.relpath(os.path.join(folder, "mts-config.cmake"), self.package_folder)
