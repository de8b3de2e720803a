# The Python package, as it lies in the build: one test for each test_*.py. Without pytest they skip.
if(TARGET mts_python AND TARGET mtsz AND TARGET mts_program)
  file(GLOB python_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_*.py)
  foreach(file ${python_tests})
    get_filename_component(name ${file} NAME_WE)
    string(REGEX REPLACE "^test_" "" name ${name})
    add_test(NAME python/${name}
      COMMAND ${MTS_PYTHON_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/run.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR} ${file})
    set_tests_properties(python/${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
  endforeach()
  add_test(NAME python/installed
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/installed.sh ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR} ${MTS_PYTHON_EXECUTABLE})
  set_tests_properties(python/installed PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
