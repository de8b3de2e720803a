# The run-time (libmts and libmtskit) as a vcpkg port, an overlay: it is made of the tree that it lies in.
#
#     vcpkg install mts --overlay-ports=packaging/vcpkg
#
# A port of a registry gets its source by vcpkg_from_git in place of the next line.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    cpu MTS_BACKEND_CPU
    cuda MTS_BACKEND_CUDA
    opencl MTS_BACKEND_OPENCL)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DMTS_COMPILER=OFF
    -DMTS_APPS=OFF
    -DMTS_PYTHON=OFF
    -DMTS_TESTS=OFF
    -DMTS_WERROR=OFF
    -DCMAKE_INSTALL_LIBDIR=lib)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/mts)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
