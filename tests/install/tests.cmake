# What is installed can be used: find_package, pkg-config and the program, from an empty folder and from the packages.
find_program(MTS_CXX NAMES c++ g++ clang++)
set(install_cxx "")
if(MTS_CXX)
  set(install_cxx ${MTS_CXX})
endif()
add_test(NAME install/consumer
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/consumer.sh ${CMAKE_BINARY_DIR} ${CMAKE_CURRENT_LIST_DIR}/consumer
          ${CMAKE_C_COMPILER} "${install_cxx}" ${MTS_SANITIZE})
set_tests_properties(install/consumer PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
if(NOT MTS_SANITIZE AND NOT MTS_COVERAGE)
  add_test(NAME install/deb
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/deb.sh ${CMAKE_BINARY_DIR} ${CMAKE_CURRENT_LIST_DIR}/consumer
            ${CMAKE_C_COMPILER} "${install_cxx}")
  set_tests_properties(install/deb PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
# Without libmtsz the program has its other commands.
if(MTS_COMPRESS AND NOT MTS_SANITIZE AND NOT MTS_COVERAGE)
  add_test(NAME install/without_compression
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/without_compression.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/without_compression
            ${CMAKE_C_COMPILER} "${CMAKE_C_COMPILER_LAUNCHER}")
  set_tests_properties(install/without_compression PROPERTIES TIMEOUT 600 PROCESSORS 2)
endif()
if(NOT MTS_SANITIZE AND NOT MTS_COVERAGE)
  add_test(NAME install/reproducible
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/reproducible.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/reproducible ${CMAKE_C_COMPILER})
  set_tests_properties(install/reproducible PROPERTIES TIMEOUT 1200 PROCESSORS 2)
endif()
# The run-time inside of another project.
if(NOT MTS_SANITIZE AND NOT MTS_COVERAGE)
  add_test(NAME install/fetch
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/fetch.sh ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_LIST_DIR}/consumer ${CMAKE_C_COMPILER}
            "${CMAKE_C_COMPILER_LAUNCHER}")
  set_tests_properties(install/fetch PROPERTIES TIMEOUT 300 PROCESSORS 2)
endif()
# The tutorials do what they say, as printed.
include(${CMAKE_SOURCE_DIR}/cmake/python.cmake)
if(MTS_TEST_PYTHON AND TARGET mts_program AND NOT MTS_SANITIZE AND NOT MTS_COVERAGE)
  add_test(NAME install/man
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/man.py ${CMAKE_SOURCE_DIR} $<TARGET_FILE:mts_program>
            ${CMAKE_BINARY_DIR}/man_test)
  set_tests_properties(install/man PROPERTIES TIMEOUT 60)
endif()
# Recipes of packaging, and bills of materials of what was built.
if(MTS_TEST_PYTHON AND NOT MTS_SANITIZE AND NOT MTS_COVERAGE)
  set(recipe_files "")
  foreach(target mts mtskit mtsc mtsz mts_program mts_gst)
    if(TARGET ${target})
      list(APPEND recipe_files $<TARGET_FILE:${target}>)
    endif()
  endforeach()
  add_test(NAME install/recipes
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/recipes.py ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/sbom_test
            ${recipe_files})
  set_tests_properties(install/recipes PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endif()
if(MTS_TEST_PYTHON AND NOT MTS_SANITIZE AND NOT MTS_COVERAGE) # what they build knows nothing of sanitizers
  foreach(page TUTORIAL TUTORIAL_JETSON)
    string(TOLOWER ${page} name)
    add_test(NAME install/${name}
      COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/tutorial.py ${CMAKE_SOURCE_DIR}/docs/${page}.md
              ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_C_COMPILER})
    set_tests_properties(install/${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
  endforeach()
endif()
