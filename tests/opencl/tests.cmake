# An OpenCL library that imports foreign memory, in front of the machine's loader; see fake/fake.h.
find_library(MTS_OPENCL_LOADER NAMES libOpenCL.so.1 OpenCL)
if(MTS_OPENCL_LOADER)
  set(fake_opencl_folder ${CMAKE_BINARY_DIR}/fake_opencl)
  find_package(Threads REQUIRED)
  add_library(mts_fake_opencl SHARED ${CMAKE_CURRENT_LIST_DIR}/fake/opencl.c
    ${CMAKE_CURRENT_LIST_DIR}/fake/queue.c ${CMAKE_CURRENT_LIST_DIR}/fake/record.c
    ${CMAKE_CURRENT_LIST_DIR}/fake/memory.c)
  target_compile_definitions(mts_fake_opencl PRIVATE MTS_FAKE_OPENCL_REAL="${MTS_OPENCL_LOADER}")
  target_include_directories(mts_fake_opencl PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/sdk ${CMAKE_SOURCE_DIR}
    ${CMAKE_SOURCE_DIR}/sdk/include)
  target_link_libraries(mts_fake_opencl PRIVATE mts_options Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(mts_fake_opencl PROPERTIES OUTPUT_NAME OpenCL SOVERSION 1
    LIBRARY_OUTPUT_DIRECTORY ${fake_opencl_folder})
  add_library(mts_fake_window SHARED ${CMAKE_CURRENT_LIST_DIR}/fake/window.c)
  target_include_directories(mts_fake_window PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/sdk ${CMAKE_SOURCE_DIR}
    ${CMAKE_SOURCE_DIR}/sdk/include)
  target_link_libraries(mts_fake_window PRIVATE mts_options)
  set_target_properties(mts_fake_window PROPERTIES OUTPUT_NAME nativewindow
    LIBRARY_OUTPUT_DIRECTORY ${fake_opencl_folder})
  # Nothing else in these programs may be linked with OpenCL, as oneDNN is: it would get this library. So they take of
  # the tests' support, and of the writer of bundles, the files that they need.
  foreach(name import queue replay)
    target_sources(opencl_${name} PRIVATE support/device_fixture.c support/fault.c support/second_device.c)
  endforeach()
  foreach(name frames memory)
    target_sources(opencl_${name} PRIVATE support/frame_bundle.c $<TARGET_OBJECTS:mts_models>)
  endforeach()
  foreach(name import queue replay memory frames)
    add_dependencies(opencl_${name} mts_fake_opencl mts_fake_window)
    target_include_directories(opencl_${name} PRIVATE $<TARGET_PROPERTY:mts_test_support,INTERFACE_INCLUDE_DIRECTORIES>)
    target_include_directories(opencl_${name} SYSTEM PRIVATE
      $<TARGET_PROPERTY:mts_test_support,INTERFACE_SYSTEM_INCLUDE_DIRECTORIES>)
    set_property(TARGET opencl_${name} PROPERTY LINK_LIBRARIES mts_options ${MTS_CMOCKA} mts_static)
    set_property(TEST opencl/${name} APPEND PROPERTY ENVIRONMENT "LD_LIBRARY_PATH=${fake_opencl_folder}")
  endforeach()
  if(TARGET mts_gst) # tests/gst/test_dmabuf.c
    target_sources(gst_dmabuf PRIVATE support/frame_bundle.c $<TARGET_OBJECTS:mts_models>)
    add_dependencies(gst_dmabuf mts_fake_opencl)
    target_include_directories(gst_dmabuf PRIVATE $<TARGET_PROPERTY:mts_test_support,INTERFACE_INCLUDE_DIRECTORIES>)
    target_include_directories(gst_dmabuf SYSTEM PRIVATE
      $<TARGET_PROPERTY:mts_test_support,INTERFACE_SYSTEM_INCLUDE_DIRECTORIES>)
    set_property(TARGET gst_dmabuf PROPERTY LINK_LIBRARIES mts_options ${MTS_CMOCKA} mts_static PkgConfig::MTS_TEST_GST)
    set_property(TEST gst/dmabuf APPEND PROPERTY ENVIRONMENT "LD_LIBRARY_PATH=${fake_opencl_folder}")
  endif()
endif()
# A layer behind which any driver's devices are GPUs of given limits (profile/profile.c), and tests that run there. They
# need a loader that knows layers and its headers.
find_path(MTS_OPENCL_LAYER_HEADERS CL/cl_layer.h)
if(MTS_OPENCL_LOADER AND MTS_OPENCL_LAYER_HEADERS AND NOT CMAKE_CROSSCOMPILING AND NOT MTS_SANITIZE)
  add_library(mts_opencl_profile SHARED ${CMAKE_CURRENT_LIST_DIR}/profile/profile.c)
  target_include_directories(mts_opencl_profile SYSTEM PRIVATE ${MTS_OPENCL_LAYER_HEADERS})
  target_link_libraries(mts_opencl_profile PRIVATE mts_options)
  set_target_properties(mts_opencl_profile PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/opencl_profile)
  add_dependencies(opencl_profile mts_opencl_profile)
  set(profile_environment "OPENCL_LAYERS=$<TARGET_FILE:mts_opencl_profile>;MTS_PROFILE=group=32,local=8192,alloc=268435456")
  set_property(TEST opencl/profile APPEND PROPERTY ENVIRONMENT "${profile_environment}")
  # Buffers of 16 and of 8 MB.
  add_dependencies(opencl_small_buffers mts_opencl_profile)
  set_property(TEST opencl/small_buffers APPEND PROPERTY ENVIRONMENT
    "OPENCL_LAYERS=$<TARGET_FILE:mts_opencl_profile>;MTS_PROFILE=alloc=16777216")
  add_test(NAME opencl/smaller_buffers COMMAND opencl_small_buffers)
  set_tests_properties(opencl/smaller_buffers PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600
    ENVIRONMENT "OPENCL_LAYERS=$<TARGET_FILE:mts_opencl_profile>;MTS_PROFILE=alloc=8388608")
  foreach(program device_conformance device_quirks engine_edges conformance_kernels_packed engine_packed)
    add_test(NAME opencl/profile_${program} COMMAND ${program})
    set_tests_properties(opencl/profile_${program} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600
      ENVIRONMENT "${profile_environment}")
  endforeach()
  # GPUs by name: the row of the defaults that each takes (plan/device_defaults.c), and networks in packs behind it. Adreno
  # has images: one that reaches all weights of a network, and one of 400 pixels, behind which launches read the buffer.
  function(add_profile name row profile)
    add_test(NAME opencl/profile_${name} COMMAND opencl_profile)
    set_tests_properties(opencl/profile_${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 ENVIRONMENT
      "OPENCL_LAYERS=$<TARGET_FILE:mts_opencl_profile>;MTS_PROFILE=group=32,local=8192,${profile};MTS_TEST_ROW=${row}")
    if(ARGN)
      add_test(NAME opencl/profile_${name}_packed COMMAND engine_packed)
      set_tests_properties(opencl/profile_${name}_packed PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900 ENVIRONMENT
        "OPENCL_LAYERS=$<TARGET_FILE:mts_opencl_profile>;MTS_PROFILE=group=32,local=8192,${profile}")
    endif()
  endfunction()
  add_profile(adreno "adreno 6xx" "alloc=268435456,texels=134217728,name=QUALCOMM Adreno(TM),version=Adreno(TM) 640" packed)
  add_profile(adreno_least "adreno 7xx" "alloc=268435456,texels=400,name=QUALCOMM Adreno(TM),version=Adreno(TM) 740" packed)
  add_profile(mali "mali valhall" "alloc=268435456,name=Mali-G710 r0p0" packed)
  add_profile(powervr "powervr" "alloc=268435456,name=PowerVR B-Series BXM-8-256")
  add_profile(unknown "unknown" "alloc=268435456,texels=65536,name=A GPU of tomorrow")
  # Reference vectors in packs with weights in images, in one family of the four: all profiles take longer (the rows
  # adreno, mali, powervr and unknown of toolchains/host drivers).
  add_test(NAME opencl/profile_adreno_golden COMMAND golden_vectors)
  set_tests_properties(opencl/profile_adreno_golden PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 ENVIRONMENT
    "OPENCL_LAYERS=$<TARGET_FILE:mts_opencl_profile>;MTS_PROFILE=group=256,local=32768,alloc=268435456,texels=134217728,name=QUALCOMM Adreno(TM),version=Adreno(TM) 640;MTS_TEST_FILTER=small_classifier*")
  # One whose driver does not build the kernel of packs.
  add_test(NAME opencl/profile_refuses_packed COMMAND engine_packed)
  set_tests_properties(opencl/profile_refuses_packed PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 ENVIRONMENT
    "OPENCL_LAYERS=$<TARGET_FILE:mts_opencl_profile>;MTS_PROFILE=group=64,local=32768,refuse=conv_packed,name=Mali-G78")
  # One that has no memory for images over weights.
  add_test(NAME opencl/profile_refuses_images COMMAND engine_packed)
  set_tests_properties(opencl/profile_refuses_images PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 ENVIRONMENT
    "OPENCL_LAYERS=$<TARGET_FILE:mts_opencl_profile>;MTS_PROFILE=group=64,local=32768,texels=134217728,image_most=400,name=QUALCOMM Adreno(TM),version=Adreno(TM) 640")
  # A GPU with products of unsigned and signed bytes, and one with products of signed ones that add to a sum.
  foreach(dot 1 8)
    add_test(NAME opencl/profile_dot_${dot} COMMAND conformance_kernels_bytes)
    set_tests_properties(opencl/profile_dot_${dot} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600
      ENVIRONMENT "OPENCL_LAYERS=$<TARGET_FILE:mts_opencl_profile>;MTS_PROFILE=group=64,local=32768,dot=${dot}")
  endforeach()
  # One whose driver says so, and one whose driver says so and builds no such program.
  foreach(dot "4" "8,broken=1")
    string(REGEX REPLACE "[^a-z0-9]+" "_" name "products_${dot}")
    add_test(NAME opencl/profile_${name} COMMAND opencl_profile)
    set_tests_properties(opencl/profile_${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600
      ENVIRONMENT "${profile_environment},dot=${dot}")
  endforeach()
  add_test(NAME opencl/profile_engine_bytes COMMAND engine_bytes)
  set_tests_properties(opencl/profile_engine_bytes PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600 ENVIRONMENT
    "OPENCL_LAYERS=$<TARGET_FILE:mts_opencl_profile>;MTS_PROFILE=group=32,local=8192,dot=6;MTS_TEST_DEVICE=opencl")
endif()
