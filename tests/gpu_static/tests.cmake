# gpu_static.py compiles the kernels of GPUs with clang and compares with the table in docs/results.
include(${CMAKE_SOURCE_DIR}/cmake/python.cmake)
if(MTS_TEST_PYTHON AND NOT CMAKE_CROSSCOMPILING AND NOT MTS_SANITIZE)
  add_test(NAME gpu_static/table
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/gpu_static.py ${CMAKE_SOURCE_DIR}/docs/results/gpu_static.md)
  set_tests_properties(gpu_static/table PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300 PROCESSORS 2)
endif()
