# Debian packages by CPack, one per component: `cpack -G DEB` in the build folder. What a package depends on is read from
# its files by dpkg-shlibdeps; in a cross build, where that knows no libraries, it is the C library.
set(MTS_PACKAGES runtime:libmts${PROJECT_VERSION_MAJOR} development:libmts-dev)
if(MTS_COMPILER)
  list(APPEND MTS_PACKAGES compiler:libmtsc${PROJECT_VERSION_MAJOR})
endif()
if(MTS_COMPRESS)
  list(APPEND MTS_PACKAGES compress:libmtsz${PROJECT_VERSION_MAJOR})
endif()
if(TARGET mts_program)
  list(APPEND MTS_PACKAGES tools:mts-tools)
endif()
if(TARGET mts_gst)
  list(APPEND MTS_PACKAGES gstreamer:gstreamer1.0-mts)
endif()
# Python's has libraries and program from the other packages.
if(TARGET mts_python AND TARGET mts_program AND MTS_COMPRESS)
  list(APPEND MTS_PACKAGES python3:python3-mts)
endif()

set(MTS_PACKAGE_CONTACT "MTS SDK maintainers <maintainers@localhost>" CACHE STRING "who makes these packages")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/copyright CONTENT
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: MTS SDK

Files: *
Copyright: 2026 the authors of the MTS SDK
License: Apache-2.0
 On Debian systems the text of the Apache License, version 2.0, is in
 /usr/share/common-licenses/Apache-2.0.
" @ONLY)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/triggers CONTENT "activate-noawait ldconfig\n" @ONLY)
# The changelog that Debian asks for; its date is that of the build, or SOURCE_DATE_EPOCH.
string(TIMESTAMP MTS_PACKAGE_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/changelog CONTENT
"mts (@PROJECT_VERSION@) unstable; urgency=medium

  * What has changed is in CHANGELOG.md of the source.

 -- @MTS_PACKAGE_CONTACT@  @MTS_PACKAGE_DATE@
" @ONLY)
find_program(MTS_GZIP gzip)
mark_as_advanced(MTS_GZIP)
if(MTS_GZIP)
  execute_process(COMMAND ${MTS_GZIP} -9nc ${CMAKE_BINARY_DIR}/generated/changelog
    OUTPUT_FILE ${CMAKE_BINARY_DIR}/generated/changelog.gz COMMAND_ERROR_IS_FATAL ANY)
endif()
set(CPACK_COMPONENTS_ALL "")
foreach(entry ${MTS_PACKAGES})
  string(REPLACE ":" ";" entry ${entry})
  list(GET entry 0 component)
  list(GET entry 1 package)
  string(TOUPPER ${component} upper)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  install(FILES ${CMAKE_BINARY_DIR}/generated/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
    COMPONENT ${component})
  if(MTS_GZIP)
    install(FILES ${CMAKE_BINARY_DIR}/generated/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
      COMPONENT ${component})
  endif()
  if(component MATCHES "^(runtime|compiler|compress)$") # CPack writes scripts that do what the trigger does, too
    file(WRITE ${CMAKE_BINARY_DIR}/generated/lintian/${package} "${package}: maintscript-calls-ldconfig\n")
    install(FILES ${CMAKE_BINARY_DIR}/generated/lintian/${package} DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
      COMPONENT ${component})
  endif()
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mts)
set(CPACK_PACKAGE_VENDOR "MTS SDK")
set(CPACK_PACKAGE_CONTACT ${MTS_PACKAGE_CONTACT})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Many networks on one camera frame, stitched into one")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
endif()
if(CMAKE_CROSSCOMPILING)
  set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libc6 (>= 2.34)")
else()
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
endif()

foreach(component RUNTIME COMPILER COMPRESS)
  set(CPACK_DEBIAN_${component}_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/generated/triggers)
endforeach()
set(same "= ${PROJECT_VERSION}")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "run-time library
 Runs many neural networks on every camera frame as one graph, on OpenCL or
 CUDA devices or in plain C. Drivers are loaded when the library is used. With
 libmtskit, which makes boxes, points, masks and classes of outputs.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_COMPILER_DESCRIPTION "compiler library
 Compiles ONNX models into one file for the run-time library.")
set(CPACK_DEBIAN_COMPILER_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_COMPRESS_DESCRIPTION "compression library
 Makes compiled models share weights, prunes and splits them.")
set(CPACK_DEBIAN_COMPRESS_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "headers and static libraries
 What is needed to build programs with the run-time, the compiler or the
 compression library: headers, static libraries, a CMake package and files of
 pkg-config.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libmts${PROJECT_VERSION_MAJOR} (${same})")
if(MTS_COMPILER)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libmtsc${PROJECT_VERSION_MAJOR} (${same})")
  # to link the static libraries
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libprotobuf-c-dev, libjansson-dev")
endif()
if(MTS_COMPRESS)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libmtsz${PROJECT_VERSION_MAJOR} (${same})")
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS ", libdnnl-dev, libopenblas-serial-dev")
endif()
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "command line program
 Compiles, inspects, runs and measures bundles of neural networks.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION graphics)
set(CPACK_COMPONENT_GSTREAMER_DESCRIPTION "elements of GStreamer
 mtsinfer runs many neural networks on each frame that passes and attaches
 what they say; mtsoverlay draws it.")
set(CPACK_DEBIAN_GSTREAMER_PACKAGE_SECTION video)
set(CPACK_DEBIAN_GSTREAMER_PACKAGE_ENHANCES "gstreamer1.0-tools")
set(CPACK_COMPONENT_PYTHON3_DESCRIPTION "Python package
 Compiles neural networks into one bundle, runs them on every camera frame as
 one graph, and makes them share weights.")
set(CPACK_DEBIAN_PYTHON3_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON3_PACKAGE_SHLIBDEPS OFF) # its libraries are those of the build, which are not installed yet
set(CPACK_DEBIAN_PYTHON3_PACKAGE_DEPENDS "libc6, python3 (>= 3.9), python3-numpy, python3-cffi-backend, mts-tools (${same})")
foreach(library mts mtsc mtsz)
  string(APPEND CPACK_DEBIAN_PYTHON3_PACKAGE_DEPENDS ", lib${library}${PROJECT_VERSION_MAJOR} (${same})")
endforeach()
include(CPack)
