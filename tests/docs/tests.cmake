# Links between documents, and files that documents and comments name.
if(NOT CMAKE_CROSSCOMPILING)
  find_package(Python3 COMPONENTS Interpreter)
  if(Python3_FOUND)
    add_test(NAME docs/names COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/names.py ${CMAKE_SOURCE_DIR})
    set_tests_properties(docs/names PROPERTIES TIMEOUT 120)
  endif()
endif()

# docs/OPERATORS.md is what the program prints.
if(TARGET mts_program AND NOT MTS_SANITIZE)
  add_test(NAME docs/operators
    COMMAND bash -c "'$<TARGET_FILE:mts_program>' compile --operators | diff '${CMAKE_SOURCE_DIR}/docs/OPERATORS.md' - || { echo 'run: mts compile --operators > docs/OPERATORS.md'; exit 1; }")
endif()
