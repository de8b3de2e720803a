# The tests of the program run it, so it is built first; where there is no program there is nothing to test.
if(TARGET cli_program AND TARGET mts_program)
  add_dependencies(cli_program mts_program)
  target_compile_definitions(cli_program PRIVATE MTS_PROGRAM="$<TARGET_FILE:mts_program>")
endif()
