# The fuzzers (preset fuzz). A short run from seeds is a test of its own; longer ones are started by hand, see README.md.
if(MTS_FUZZ)
  set(MTS_FUZZ_SECONDS 20 CACHE STRING "seconds of each fuzz test")
  set(fuzz_corpus ${CMAKE_BINARY_DIR}/corpus)
  add_executable(fuzz_seed ${CMAKE_CURRENT_LIST_DIR}/seed.c)
  target_link_libraries(fuzz_seed PRIVATE mts_test_support)
  foreach(name archive onnx tflite config)
    add_executable(fuzz_${name} ${CMAKE_CURRENT_LIST_DIR}/fuzz_${name}.c)
    target_link_libraries(fuzz_${name} PRIVATE mts_test_support)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    file(MAKE_DIRECTORY ${fuzz_corpus}/${name})
    add_test(NAME fuzz/${name} COMMAND fuzz_${name} -max_total_time=${MTS_FUZZ_SECONDS} -timeout=10
      -rss_limit_mb=2048 -print_final_stats=1 ${fuzz_corpus}/${name})
    set_tests_properties(fuzz/${name} PROPERTIES TIMEOUT 600 FIXTURES_REQUIRED fuzz_seeds)
  endforeach()
  add_test(NAME fuzz/seeds COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/seeds.sh $<TARGET_FILE:fuzz_seed>
    ${CMAKE_SOURCE_DIR} ${fuzz_corpus})
  set_tests_properties(fuzz/seeds PROPERTIES FIXTURES_SETUP fuzz_seeds)
  # the library under test is instrumented for coverage, the fuzzers' main comes from the linker
  foreach(target mts_common mts_runtime mts_models mts_compiler mts_onnx_proto)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endforeach()
endif()
