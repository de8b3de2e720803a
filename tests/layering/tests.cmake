# Calls between files; the includes have a program of their own.
if(NOT CMAKE_CROSSCOMPILING)
  find_package(Python3 COMPONENTS Interpreter)
  if(Python3_FOUND)
    add_test(NAME layering/calls COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/calls.py ${CMAKE_SOURCE_DIR})
    set_tests_properties(layering/calls PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
  endif()
endif()
