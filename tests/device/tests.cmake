# Drivers leak small objects of their own; with the address sanitizer the tests run with these suppressions.
if(MTS_SANITIZE MATCHES "address")
  get_property(all_tests DIRECTORY PROPERTY TESTS)
  set_property(TEST ${all_tests} APPEND PROPERTY ENVIRONMENT
    "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0")
endif()
# Leaving comments out of the kernels' texts changes no kernel.
if(NOT CMAKE_CROSSCOMPILING AND NOT MTS_SANITIZE)
  add_test(NAME device/kernel_texts
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/kernel_texts.sh ${CMAKE_SOURCE_DIR} ${CMAKE_COMMAND} ${CMAKE_C_COMPILER})
endif()
