# Tests of other modules with the cpu backend in OpenCL's place.
if(MTS_BACKEND_CPU)
  foreach(name conformance_kernels_bytes conformance_kernels_fc_bytes conformance_kernels_conv conformance_kernels_depthwise conformance_kernels_fused
      conformance_kernels_elementwise conformance_kernels_frame conformance_kernels_half
      conformance_kernels_attention conformance_kernels_index conformance_kernels_move conformance_kernels_norm conformance_kernels_recur
      conformance_kernels_reduce conformance_kernels_resize conformance_kernels_values
      conformance_kernels_window conformance_onnx_node engine_strategies engine_random_nets engine_fused
      engine_channel_blocks engine_precision engine_precision_border engine_edges engine_planted engine_sharing engine_constants
      engine_control golden_vectors golden_families)
    if(TARGET ${name})
      add_test(NAME cpu/${name} COMMAND ${name})
      set_tests_properties(cpu/${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 ENVIRONMENT MTS_TEST_DEVICE=cpu)
    endif()
  endforeach()
  # It writes where the same program for other devices does.
  if(TEST cpu/golden_vectors)
    set_tests_properties(cpu/golden_vectors PROPERTIES RESOURCE_LOCK golden_vectors)
    if(MTS_SANITIZE) # every network is in one of the stitched ones
      set_property(TEST cpu/golden_vectors APPEND PROPERTY ENVIRONMENT "MTS_TEST_FILTER=*_match_when_stitched")
    endif()
  endif()
  # Sanitizers see nothing of an OpenCL driver's kernels, and most of the time goes into building them.
  if(MTS_SANITIZE AND TEST engine/random_nets)
    set_property(TEST engine/random_nets APPEND PROPERTY ENVIRONMENT MTS_TEST_FAMILIES=12)
  endif()
  # Launches touch what they say, which is what their order rests on. Sanitizers watch the same programs as
  # cpu/engine_*, and would see nothing new.
  foreach(name random_nets strategies edges bytes)
    if(TARGET engine_${name} AND NOT MTS_SANITIZE)
      add_test(NAME cpu/touches_${name} COMMAND engine_${name})
      set_tests_properties(cpu/touches_${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600
        ENVIRONMENT "MTS_TEST_DEVICE=cpu;MTS_TEST_TOUCHES=1")
    endif()
  endforeach()
  # both work in one folder
  foreach(name random_nets precision precision_border sharing)
    if(TARGET engine_${name})
      set_property(TEST engine/${name} cpu/engine_${name} APPEND PROPERTY RESOURCE_LOCK engine_${name})
    endif()
  endforeach()
  if(TEST cpu/touches_random_nets)
    set_property(TEST cpu/touches_random_nets APPEND PROPERTY RESOURCE_LOCK engine_random_nets)
  endif()
endif()
