# bench_kernels: the convolution kernels against plain C and the device's measured peak. As a test it only compares.
file(GLOB bench_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/perf/bench_*.c)
add_executable(bench_kernels ${bench_files})
target_include_directories(bench_kernels PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/sdk
  ${CMAKE_CURRENT_SOURCE_DIR}/perf)
target_link_libraries(bench_kernels PRIVATE mts_options mts_static m)
# Other vectors and work-groups are those of conformance/kernels_*.
add_test(NAME perf/kernels_match_plain_c_vector_1 COMMAND bench_kernels --check --vector 1 --local 3)
set_tests_properties(perf/kernels_match_plain_c_vector_1 PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
add_test(NAME perf/kernels_match_plain_c COMMAND bench_kernels --check)
add_test(NAME perf/kernels_match_plain_c_cpu COMMAND bench_kernels --check --device cpu)
set_tests_properties(perf/kernels_match_plain_c_cpu PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
set_tests_properties(perf/kernels_match_plain_c PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
# bench_partitions: the grouping planner's plan against every partition, on random families
add_executable(bench_partitions ${CMAKE_CURRENT_SOURCE_DIR}/perf/partitions.c ${CMAKE_CURRENT_SOURCE_DIR}/perf/bench_backend.c)
target_link_libraries(bench_partitions PRIVATE mts_test_support)
# bench_waves: frames with waves or lanes, without, and one network after another, in turns
add_executable(bench_waves ${CMAKE_CURRENT_SOURCE_DIR}/perf/waves.c ${CMAKE_CURRENT_SOURCE_DIR}/perf/bench_backend.c)
target_include_directories(bench_waves PRIVATE ${CMAKE_SOURCE_DIR}/sdk ${CMAKE_SOURCE_DIR})
target_link_libraries(bench_waves PRIVATE mts_options mts_static m)
# bench_wave_bound: the least launches that networks of one family can take within their memory
add_executable(bench_wave_bound ${CMAKE_CURRENT_SOURCE_DIR}/perf/wave_bound.c ${CMAKE_CURRENT_SOURCE_DIR}/perf/bench_backend.c)
target_include_directories(bench_wave_bound PRIVATE ${CMAKE_SOURCE_DIR}/sdk ${CMAKE_SOURCE_DIR})
target_link_libraries(bench_wave_bound PRIVATE mts_options mts_static m)
# bench_processes: T tasks in one process, in a process for each, and in between
add_executable(bench_processes ${CMAKE_CURRENT_SOURCE_DIR}/perf/processes.c)
target_link_libraries(bench_processes PRIVATE mts_options mts_static m)
# bench_control: a frame with all tasks but one disabled against a session of that task alone
add_executable(bench_control ${CMAKE_CURRENT_SOURCE_DIR}/perf/control.c)
target_link_libraries(bench_control PRIVATE mts_options mts_static m)
# bench_changes: add, update and remove in a stream of frames
add_executable(bench_changes ${CMAKE_CURRENT_SOURCE_DIR}/perf/changes.c)
target_link_libraries(bench_changes PRIVATE mts_test_support)
# bench_soak: frames for a long time while tasks come, go and rest (toolchains/host soak)
add_executable(bench_soak ${CMAKE_CURRENT_SOURCE_DIR}/perf/soak.c)
target_link_libraries(bench_soak PRIVATE mts_test_support)
# What runs on machines with a GPU, tried without one: tiny networks on the fake driver.
include(${CMAKE_SOURCE_DIR}/cmake/python.cmake)
if(MTS_TEST_PYTHON AND TARGET mts_program AND TARGET mts_fake_driver AND NOT MTS_SANITIZE)
  add_test(NAME perf/gpu_dry_run
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/perf/gpu --dry-run --build ${CMAKE_BINARY_DIR}
            --out ${CMAKE_BINARY_DIR}/gpu_dry_run)
  set_tests_properties(perf/gpu_dry_run PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
endif()
# bench_stream: a camera's stream with frames in flight. As a test it is short.
add_executable(bench_stream ${CMAKE_CURRENT_SOURCE_DIR}/perf/stream.c)
target_link_libraries(bench_stream PRIVATE mts_options mts_static m)
if(TARGET mts_program)
  add_test(NAME perf/stream COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/perf/stream.sh $<TARGET_FILE:mts_program>
           $<TARGET_FILE:bench_stream> ${CMAKE_SOURCE_DIR}/apps/mts/demo/small.json ${CMAKE_BINARY_DIR})
  set_tests_properties(perf/stream PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
# The arrivals and the score of other runtimes in a rated workload, by a clock of the test's own.
if(MTS_TEST_PYTHON)
  add_test(NAME perf/rated COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/perf/rated_test.py)
  add_test(NAME perf/arrivals COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/perf/arrivals_test.py)
endif()
# The smallest network of XRBench as a file, and as a bundle.
if(MTS_TEST_PYTHON AND TARGET mts_program AND NOT MTS_SANITIZE)
  add_test(NAME perf/xrbench COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/perf/xrbench.sh ${MTS_TEST_PYTHON}
           $<TARGET_FILE:mts_program> ${CMAKE_BINARY_DIR}/xrbench)
  set_tests_properties(perf/xrbench PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
# bench_frames: what a camera's frame adds to a run
add_executable(bench_frames ${CMAKE_CURRENT_SOURCE_DIR}/perf/frames.c)
target_link_libraries(bench_frames PRIVATE mts_options mts_static)
# bench_first_frame: from the start of a process to its first outputs, beside reading the bundle
add_executable(bench_first_frame ${CMAKE_CURRENT_SOURCE_DIR}/perf/first_frame.c)
target_link_libraries(bench_first_frame PRIVATE mts_options mts_static)
# python_submit.py: what calls cost from Python, beside the same calls from C. As a test it fails above 20 us
# (docs/PYTHON.md), or what eight plain calls of numpy take at that moment: a loaded machine is no fault.
if(TARGET mts_python AND TARGET mts_program)
  add_library(bench_python_submit MODULE ${CMAKE_CURRENT_SOURCE_DIR}/perf/python_submit.c)
  target_link_libraries(bench_python_submit PRIVATE mts_options mts)
  set_target_properties(bench_python_submit PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  add_test(NAME python/overhead COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/perf/python_submit.sh ${CMAKE_BINARY_DIR}
           ${CMAKE_SOURCE_DIR} ${MTS_PYTHON_EXECUTABLE})
  set_tests_properties(python/overhead PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()

# It times calls of some microseconds: beside another test it failed by chance.
if(TEST python/overhead)
  set_tests_properties(python/overhead PROPERTIES RUN_SERIAL TRUE)
endif()
