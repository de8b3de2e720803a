# In a cross build: the size of what is shipped, the other targets, and a program over the public header.
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64" AND NOT ANDROID)
  add_test(NAME cross/stripped_libmts_with_opencl_is_under_400_kb
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/size.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/small
            linux-arm64-opencl 400000)
  add_test(NAME cross/stripped_libmts_with_cpu_is_under_900_kb
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/size.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/small_cpu
            linux-arm64-cpu 900000)
  # The kernels of `cpu` have their own flags, and this build has compiled them with the same compiler. Whether
  # it compiles is what these two ask: little optimisation takes a third of the time.
  add_test(NAME cross/jetson_builds
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/target.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/jetson jetson
            aarch64-linux-gnu-gcc -DMTS_BACKEND_CPU=OFF "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG" mts sample_classify)
  add_test(NAME cross/android_compiles
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/target.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/android android
            clang -DMTS_CPU_OPTIMIZATION=-O1 mts_common mts_runtime mts_cpu_neon_0 mts_cpu_neon_1 mts_cpu_dotprod_0)
  add_test(NAME cross/android_has_what_libmts_asks_for
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/android_imports.sh ${CMAKE_BINARY_DIR}/android)
  set_tests_properties(cross/android_has_what_libmts_asks_for PROPERTIES DEPENDS cross/android_compiles
    SKIP_RETURN_CODE 77)
  add_test(NAME cross/classify
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/classify.sh ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:sample_classify>)
  # processors with and without dotprod: the device says which, and neither meets an instruction that it has not
  function(mts_on_processor processor multiplies)
    foreach(program ${ARGN})
      add_test(NAME cross/${program}_on_${processor}
        COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR} -cpu ${processor} $<TARGET_FILE:${program}>)
      set_tests_properties(cross/${program}_on_${processor} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600
        ENVIRONMENT "MTS_TEST_DEVICE=cpu;MTS_TEST_BYTE_PRODUCTS=${multiplies}")
    endforeach()
  endfunction()
  mts_on_processor(max 1 cpu_sets conformance_kernels_bytes conformance_kernels_conv)
  mts_on_processor(cortex-a53 0 cpu_sets conformance_kernels_bytes conformance_kernels_conv engine_edges)
  # by SDOT and word by word
  add_test(NAME cross/networks_of_bytes_have_the_same_bits
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/same_bits.sh $<TARGET_FILE:engine_bytes> ${CMAKE_CROSSCOMPILING_EMULATOR})
  add_test(NAME cross/opencl_on_arm64
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/opencl.sh ${CMAKE_SOURCE_DIR}/build/arm64-opencl
            ${MTS_ARM64_ROOT}/usr/lib/aarch64-linux-gnu ${MTS_QEMU_AARCH64} $<TARGET_FILE:device_opencl>
            $<TARGET_FILE:sample_classify>)
  set_tests_properties(cross/stripped_libmts_with_opencl_is_under_400_kb
    cross/stripped_libmts_with_cpu_is_under_900_kb cross/jetson_builds cross/android_compiles
    cross/classify cross/opencl_on_arm64 cross/networks_of_bytes_have_the_same_bits PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
  # Long ones first, or one of them runs alone in the end.
  set_tests_properties(cross/opencl_on_arm64 cross/android_compiles PROPERTIES COST 1000)
endif()
