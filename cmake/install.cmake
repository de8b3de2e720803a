# Installed: the public headers, libmts, libmtsc, the mts program, a CMake package (find_package(mts CONFIG), targets
# mts::mts and mts::mtsc) and pkg-config files. Components, which are also packages (package.cmake): runtime, compiler,
# development, tools.
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
install(FILES sdk/include/mts/mts.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mts COMPONENT development)
if(MTS_COMPILER)
  list(APPEND MTS_INSTALLED mtsc mtsc_static)
  install(FILES sdk/include/mts/mtsc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mts COMPONENT development)
endif()
# mts_options only carries compile flags of this build; the export needs the name, not the flags.
foreach(target ${MTS_INSTALLED} mts_options)
  set(component runtime)
  if(target MATCHES "^mtsc")
    set(component compiler)
  endif()
  install(TARGETS ${target} EXPORT mts-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${component} NAMELINK_COMPONENT development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endforeach()
if(TARGET mts_program)
  install(TARGETS mts_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
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

foreach(lib mts mtsc)
  if(lib STREQUAL "mtsc" AND NOT MTS_COMPILER)
    continue()
  endif()
  if(lib STREQUAL "mts")
    set(PC_DESCRIPTION "Multi-task stitching: many networks on one camera frame, run as one graph")
    set(PC_PRIVATE "-lm -ldl -pthread")
  else()
    set(PC_DESCRIPTION "Compiler of the MTS SDK: ONNX models in, one bundle out")
    set(PC_PRIVATE "-lprotobuf-c -ljansson -ldnnl -lopenblas -lgomp -lm")
  endif()
  set(PC_NAME ${lib})
  file(RELATIVE_PATH PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix) # "../.." or so
  configure_file(cmake/package.pc.in ${CMAKE_BINARY_DIR}/generated/${lib}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/generated/${lib}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
    COMPONENT development)
endforeach()
include(${CMAKE_CURRENT_LIST_DIR}/package.cmake)
