# cuda_compile.py compiles every kernel for NVIDIA's GPUs; no GPU is needed. The programs come from cuda_programs.
include(${CMAKE_SOURCE_DIR}/cmake/python.cmake)
if(MTS_BACKEND_CUDA)
  add_executable(cuda_programs ${CMAKE_CURRENT_SOURCE_DIR}/cuda_compile/programs.c)
  target_link_libraries(cuda_programs PRIVATE mts_test_support)
endif()
if(MTS_BACKEND_CUDA AND MTS_TEST_PYTHON AND NOT MTS_SANITIZE) # there is nothing for sanitizers to watch
  foreach(compiler clang nvrtc)
    add_test(NAME cuda_compile/${compiler}
      COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/cuda_compile/cuda_compile.py ${compiler}
              --programs $<TARGET_FILE:cuda_programs> --work ${CMAKE_BINARY_DIR}/cuda_compile/${compiler})
    set_tests_properties(cuda_compile/${compiler} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800 PROCESSORS 2)
  endforeach()
endif()
if(MTS_BACKEND_CUDA AND MTS_TEST_PYTHON AND TARGET mts_program AND NOT MTS_SANITIZE)
  add_test(NAME cuda_compile/ahead
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/cuda_compile/ahead.py --program $<TARGET_FILE:mts_program>
            --work ${CMAKE_BINARY_DIR}/cuda_compile/ahead)
  set_tests_properties(cuda_compile/ahead PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
if(TARGET cuda_compile_kernels AND TARGET mts_program)
  add_dependencies(cuda_compile_kernels mts_program)
  target_compile_definitions(cuda_compile_kernels PRIVATE MTS_PROGRAM="$<TARGET_FILE:mts_program>")
endif()
if(NOT MTS_BACKEND_CUDA)
  set_tests_properties(cuda_compile/kernels PROPERTIES DISABLED TRUE)
endif()
