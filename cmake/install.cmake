# Installed: the public headers, libmts, libmtsc, the mts program, a CMake package and a pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
