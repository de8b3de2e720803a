#----------------------------------------------------------------
# Generated CMake target import file for configuration "Release".
#----------------------------------------------------------------

# Commands may need to know the format version.
set(CMAKE_IMPORT_FILE_VERSION 1)

# Import target "mts::mts" for configuration "Release"
set_property(TARGET mts::mts APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(mts::mts PROPERTIES
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmts.so.0.1.0"
  IMPORTED_SONAME_RELEASE "libmts.so.0"
  )

list(APPEND _cmake_import_check_targets mts::mts )
list(APPEND _cmake_import_check_files_for_mts::mts "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmts.so.0.1.0" )

# Import target "mts::mts_static" for configuration "Release"
set_property(TARGET mts::mts_static APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(mts::mts_static PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "C"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmts.a"
  )

list(APPEND _cmake_import_check_targets mts::mts_static )
list(APPEND _cmake_import_check_files_for_mts::mts_static "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmts.a" )

# Import target "mts::mtskit" for configuration "Release"
set_property(TARGET mts::mtskit APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(mts::mtskit PROPERTIES
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmtskit.so.0.1.0"
  IMPORTED_SONAME_RELEASE "libmtskit.so.0"
  )

list(APPEND _cmake_import_check_targets mts::mtskit )
list(APPEND _cmake_import_check_files_for_mts::mtskit "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmtskit.so.0.1.0" )

# Import target "mts::mtskit_static" for configuration "Release"
set_property(TARGET mts::mtskit_static APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(mts::mtskit_static PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "C"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmtskit.a"
  )

list(APPEND _cmake_import_check_targets mts::mtskit_static )
list(APPEND _cmake_import_check_files_for_mts::mtskit_static "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmtskit.a" )

# Import target "mts::mtsc" for configuration "Release"
set_property(TARGET mts::mtsc APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(mts::mtsc PROPERTIES
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmtsc.so.0.1.0"
  IMPORTED_SONAME_RELEASE "libmtsc.so.0"
  )

list(APPEND _cmake_import_check_targets mts::mtsc )
list(APPEND _cmake_import_check_files_for_mts::mtsc "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmtsc.so.0.1.0" )

# Import target "mts::mtsc_static" for configuration "Release"
set_property(TARGET mts::mtsc_static APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(mts::mtsc_static PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "C"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmtsc.a"
  )

list(APPEND _cmake_import_check_targets mts::mtsc_static )
list(APPEND _cmake_import_check_files_for_mts::mtsc_static "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmtsc.a" )

# Import target "mts::mtsz" for configuration "Release"
set_property(TARGET mts::mtsz APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(mts::mtsz PROPERTIES
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmtsz.so.0.1.0"
  IMPORTED_SONAME_RELEASE "libmtsz.so.0"
  )

list(APPEND _cmake_import_check_targets mts::mtsz )
list(APPEND _cmake_import_check_files_for_mts::mtsz "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmtsz.so.0.1.0" )

# Import target "mts::mtsz_static" for configuration "Release"
set_property(TARGET mts::mtsz_static APPEND PROPERTY IMPORTED_CONFIGURATIONS RELEASE)
set_target_properties(mts::mtsz_static PROPERTIES
  IMPORTED_LINK_INTERFACE_LANGUAGES_RELEASE "C"
  IMPORTED_LOCATION_RELEASE "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmtsz.a"
  )

list(APPEND _cmake_import_check_targets mts::mtsz_static )
list(APPEND _cmake_import_check_files_for_mts::mtsz_static "${_IMPORT_PREFIX}/lib/x86_64-linux-gnu/libmtsz.a" )

# Commands beyond this point should not need to know the version.
set(CMAKE_IMPORT_FILE_VERSION)
