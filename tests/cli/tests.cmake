# The tests of the program run it, so it is built first; where there is no program there is nothing to test.
foreach(name program inputs measure pictures strangers faults prune split rated export plot)
  if(TARGET cli_${name} AND TARGET mts_program)
    add_dependencies(cli_${name} mts_program)
    target_compile_definitions(cli_${name} PRIVATE MTS_PROGRAM="$<TARGET_FILE:mts_program>")
  endif()
endforeach()
foreach(name program inputs measure pictures strangers faults rated export plot)
  if(TARGET cli_${name})
    target_sources(cli_${name} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/program.c)
  endif()
endforeach()

# A stitched network in a simulator that reports races and accesses outside of buffers. Sanitizers add nothing
# to it but time.
if(TARGET mts_program AND NOT MTS_SANITIZE)
  add_test(NAME cli/oclgrind
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/oclgrind.sh $<TARGET_FILE:mts_program> ${CMAKE_BINARY_DIR}/oclgrind)
  set_tests_properties(cli/oclgrind PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()

# The program is no library: what is tested alone comes with the test.
if(TARGET mts_kit)
  foreach(name combine dataset scenario plot)
    target_link_libraries(cli_${name} PRIVATE mts_kit)
  endforeach()
  target_sources(cli_scenario PRIVATE ${CMAKE_SOURCE_DIR}/apps/mts/bench_scenario.c)
  target_link_libraries(cli_scenario PRIVATE ${MTS_JANSSON})
  target_sources(cli_schedule PRIVATE ${CMAKE_SOURCE_DIR}/apps/mts/bench_schedule.c)
  target_sources(cli_score PRIVATE ${CMAKE_SOURCE_DIR}/apps/mts/bench_score.c)
  target_link_libraries(cli_score PRIVATE m)
  target_sources(cli_open_loop PRIVATE ${CMAKE_SOURCE_DIR}/apps/mts/open_loop.c ${CMAKE_SOURCE_DIR}/apps/mts/arrivals.c)
  target_link_libraries(cli_open_loop PRIVATE m)
  target_link_libraries(cli_schedule PRIVATE m)
  target_sources(cli_plot PRIVATE ${CMAKE_SOURCE_DIR}/apps/mts/svg.c ${CMAKE_SOURCE_DIR}/apps/mts/schedule_plot.c)
  target_include_directories(cli_plot PRIVATE ${CMAKE_SOURCE_DIR}/apps/mts)
  target_link_libraries(cli_plot PRIVATE m)
  target_sources(cli_combine PRIVATE ${CMAKE_SOURCE_DIR}/apps/mts/combine.c)
  target_sources(cli_dataset PRIVATE ${CMAKE_SOURCE_DIR}/apps/mts/dataset.c ${CMAKE_SOURCE_DIR}/apps/mts/dataset_open.c ${CMAKE_SOURCE_DIR}/apps/mts/classes.c)
endif()

# Calls that fail, in every command. Sanitizers have an allocator of their own.
if(TARGET cli_faults AND TARGET mts_program AND MTS_COMPRESS AND NOT MTS_SANITIZE AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  add_library(mts_fault_shim MODULE ${CMAKE_CURRENT_LIST_DIR}/fault_shim.c)
  target_compile_options(mts_fault_shim PRIVATE -O1 -U_FORTIFY_SOURCE -fno-builtin -fvisibility=default)
  target_link_libraries(mts_fault_shim PRIVATE ${CMAKE_DL_LIBS})
  add_dependencies(cli_faults mts_fault_shim)
  target_compile_definitions(cli_faults PRIVATE MTS_FAULT_SHIM="$<TARGET_FILE:mts_fault_shim>")
endif()
