# The tests of the program run it, so it is built first; where there is no program there is nothing to test.
if(TARGET cli_program AND TARGET mts_program)
  add_dependencies(cli_program mts_program)
  target_compile_definitions(cli_program PRIVATE MTS_PROGRAM="$<TARGET_FILE:mts_program>")
endif()
if(TARGET cli_prune AND TARGET mts_program)
  add_dependencies(cli_prune mts_program)
  target_compile_definitions(cli_prune PRIVATE MTS_PROGRAM="$<TARGET_FILE:mts_program>")
endif()
if(TARGET cli_split AND TARGET mts_program)
  add_dependencies(cli_split mts_program)
  target_compile_definitions(cli_split PRIVATE MTS_PROGRAM="$<TARGET_FILE:mts_program>")
endif()

# A stitched network in a simulator that reports races and accesses outside of buffers. Sanitizers add nothing
# to it but time.
if(TARGET mts_program AND NOT MTS_SANITIZE)
  add_test(NAME cli/oclgrind
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/oclgrind.sh $<TARGET_FILE:mts_program> ${CMAKE_BINARY_DIR}/oclgrind)
  set_tests_properties(cli/oclgrind PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()

# The program is no library: what is tested alone comes with the test.
target_sources(cli_combine PRIVATE ${CMAKE_SOURCE_DIR}/apps/mts/combine.c ${CMAKE_SOURCE_DIR}/apps/mts/answers.c
  ${CMAKE_SOURCE_DIR}/apps/mts/npy.c ${CMAKE_SOURCE_DIR}/apps/mts/files.c)

# Data sets are tested as a program would use them, without one.
find_path(MTS_STB_INCLUDE stb/stb_image.h)
if(TARGET cli_dataset AND MTS_STB_INCLUDE)
  set(apps_dir ${CMAKE_SOURCE_DIR}/apps/mts)
  target_sources(cli_dataset PRIVATE ${apps_dir}/dataset.c ${apps_dir}/resample.c ${apps_dir}/image.c
    ${apps_dir}/files.c ${apps_dir}/npy.c ${apps_dir}/stb.c)
  target_include_directories(cli_dataset SYSTEM PRIVATE ${MTS_STB_INCLUDE})
  set_source_files_properties(${apps_dir}/stb.c PROPERTIES COMPILE_OPTIONS "-w")
endif()
