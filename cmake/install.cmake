# Installed: the public headers, libmts, libmtskit, libmtsc, libmtsz, the mts program, a CMake package (find_package(mts
# CONFIG), targets mts::mts, mts::mtskit, mts::mtsc and mts::mtsz) and pkg-config files. Components, which are also packages (package.cmake):
# runtime, compiler, compress, development, tools, gstreamer, python3 (packages only).
#
# On Debian and its relatives libraries lie in lib/<architecture> under every prefix, so that what is installed and what is
# packaged are the same files; loader, pkg-config and CMake look there under /usr and /usr/local.
if(EXISTS /etc/debian_version AND CMAKE_LIBRARY_ARCHITECTURE)
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE} CACHE PATH "folder of libraries, below the prefix")
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(MTS_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/mts)
set(MTS_INSTALLED mts mts_static)
install(FILES sdk/include/mts/mts.h sdk/include/mts/profile.h sdk/include/mts/types.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mts COMPONENT development)
set(MTS_MORE_LIBRARIES mtskit)
if(MTS_COMPILER)
  list(APPEND MTS_MORE_LIBRARIES mtsc)
endif()
if(MTS_COMPRESS)
  list(APPEND MTS_MORE_LIBRARIES mtsz)
endif()
foreach(lib ${MTS_MORE_LIBRARIES})
  list(APPEND MTS_INSTALLED ${lib} ${lib}_static)
  string(REPLACE mtskit kit header ${lib})
  install(FILES sdk/include/mts/${header}.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mts COMPONENT development)
endforeach()
# mts_options only carries compile flags of this build; the export needs the name, not the flags.
foreach(target ${MTS_INSTALLED} mts_options)
  set(component runtime)
  if(target MATCHES "^mtsc")
    set(component compiler)
  elseif(target MATCHES "^mtsz")
    set(component compress)
  endif()
  install(TARGETS ${target} EXPORT mts-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endforeach()
if(TARGET mts_program)
  install(TARGETS mts_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
endif()
if(TARGET mts_gst)
  install(TARGETS mts_gst LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/gstreamer-1.0 COMPONENT gstreamer)
endif()
install(EXPORT mts-targets NAMESPACE mts:: DESTINATION ${MTS_CMAKE_DIR} COMPONENT development)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/mts-config.cmake CONTENT
"include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(\${CMAKE_CURRENT_LIST_DIR}/mts-targets.cmake)
" @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/mts-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/generated/mts-config.cmake
  ${CMAKE_BINARY_DIR}/generated/mts-config-version.cmake DESTINATION ${MTS_CMAKE_DIR}
  COMPONENT development)

foreach(lib mts ${MTS_MORE_LIBRARIES})
  set(PC_REQUIRES "")
  if(lib STREQUAL "mts")
    set(PC_DESCRIPTION "Multi-task stitching: many networks on one camera frame, run as one graph")
    set(PC_PRIVATE "-lm -ldl -pthread")
  elseif(lib STREQUAL "mtskit")
    set(PC_DESCRIPTION "Decoders of the MTS SDK: from outputs of networks to boxes, points, masks and classes")
    set(PC_PRIVATE "-lm")
  elseif(lib STREQUAL "mtsc")
    set(PC_DESCRIPTION "Compiler of the MTS SDK: ONNX models in, one bundle out")
    set(PC_PRIVATE "-lprotobuf-c -ljansson -lm")
  else()
    set(PC_DESCRIPTION "Compression of the MTS SDK: tasks of a bundle share weights, are pruned or split")
    set(PC_PRIVATE "-ldnnl -lopenblas -lgomp -lm -pthread")
    set(PC_REQUIRES mtsc)
  endif()
  set(PC_NAME ${lib})
  file(RELATIVE_PATH PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix) # "../.." or so
  configure_file(cmake/package.pc.in ${CMAKE_BINARY_DIR}/generated/${lib}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/generated/${lib}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT development)
endforeach()
# The manual page, of what the program prints (packaging/man.py): part of the build where the program runs.
find_program(MTS_MAN_PYTHON python3)
if(TARGET mts_program AND MTS_MAN_PYTHON AND NOT CMAKE_CROSSCOMPILING AND NOT MTS_SANITIZE AND NOT MTS_COVERAGE)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/mts.1.gz
    COMMAND ${MTS_MAN_PYTHON} ${CMAKE_SOURCE_DIR}/packaging/man.py $<TARGET_FILE:mts_program>
            ${CMAKE_BINARY_DIR}/man/mts.1.gz
    DEPENDS ${CMAKE_SOURCE_DIR}/packaging/man.py mts_program
    VERBATIM)
  add_custom_target(mts_man ALL DEPENDS ${CMAKE_BINARY_DIR}/man/mts.1.gz)
  install(FILES ${CMAKE_BINARY_DIR}/man/mts.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools OPTIONAL)
endif()

include(${CMAKE_CURRENT_LIST_DIR}/package.cmake)

# Bills of materials of what was built, into build/.../sbom: part of the build where Python and objdump are there.
find_program(MTS_SBOM_PYTHON python3)
find_program(MTS_SBOM_OBJDUMP objdump)
if(MTS_SBOM_PYTHON AND MTS_SBOM_OBJDUMP AND NOT CMAKE_CROSSCOMPILING AND NOT MTS_SANITIZE AND NOT MTS_COVERAGE)
  set(sbom_targets mts ${MTS_MORE_LIBRARIES})
  foreach(target mts_program mts_gst)
    if(TARGET ${target})
      list(APPEND sbom_targets ${target})
    endif()
  endforeach()
  set(sbom_files "")
  foreach(target ${sbom_targets})
    list(APPEND sbom_files $<TARGET_FILE:${target}>)
  endforeach()
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/sbom/mts.spdx.json ${CMAKE_BINARY_DIR}/sbom/mts.cdx.json
    COMMAND ${MTS_SBOM_PYTHON} ${CMAKE_SOURCE_DIR}/packaging/sbom.py ${CMAKE_SOURCE_DIR} ${PROJECT_VERSION}
            ${CMAKE_BINARY_DIR}/sbom ${sbom_files}
    DEPENDS ${CMAKE_SOURCE_DIR}/packaging/sbom.py ${sbom_targets}
    VERBATIM)
  add_custom_target(mts_sbom ALL DEPENDS ${CMAKE_BINARY_DIR}/sbom/mts.spdx.json)
endif()
