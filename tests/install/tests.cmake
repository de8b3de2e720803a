# What is installed can be used: find_package, pkg-config and the program, from an empty folder.
add_test(NAME install/consumer
  COMMAND ${CMAKE_CURRENT_LIST_DIR}/consumer.sh ${CMAKE_BINARY_DIR} ${CMAKE_CURRENT_LIST_DIR}/consumer
          ${CMAKE_C_COMPILER} ${MTS_SANITIZE})
set_tests_properties(install/consumer PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
