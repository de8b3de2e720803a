# Tracks are plain C.
target_sources(gst_track PRIVATE ${CMAKE_SOURCE_DIR}/apps/gst/track.c)
target_include_directories(gst_track PRIVATE ${CMAKE_SOURCE_DIR}/apps)
# The plugin of GStreamer, loaded as programs load it.
if(TARGET mts_gst)
  find_package(PkgConfig QUIET)
  pkg_check_modules(MTS_TEST_GST REQUIRED IMPORTED_TARGET gstreamer-app-1.0 gstreamer-video-1.0 gstreamer-allocators-1.0)
  foreach(name infer overlay dmabuf meta)
    target_sources(gst_${name} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/fixture.c)
    target_compile_definitions(gst_${name} PRIVATE MTS_GST_PLUGIN="$<TARGET_FILE:mts_gst>")
    target_link_libraries(gst_${name} PRIVATE PkgConfig::MTS_TEST_GST)
    add_dependencies(gst_${name} mts_gst)
  endforeach()
  # What is written of a structure that a test made.
  target_sources(gst_meta PRIVATE ${CMAKE_SOURCE_DIR}/apps/gst/standard.c ${CMAKE_SOURCE_DIR}/apps/gst/read.c)
  target_include_directories(gst_meta PRIVATE ${CMAKE_SOURCE_DIR}/apps)
  if(TARGET PkgConfig::MTS_GST_ANALYTICS)
    target_compile_definitions(gst_meta PRIVATE MTS_GST_ANALYTICS)
    target_link_libraries(gst_meta PRIVATE PkgConfig::MTS_GST_ANALYTICS)
  endif()
  if(MTS_SANITIZE) # as tests/camera/tests.cmake
    set_property(TEST gst/infer gst/overlay gst/dmabuf gst/meta APPEND PROPERTY ENVIRONMENT
      ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:fast_unwind_on_malloc=0)
  endif()
  # Programs that are not ours; they know nothing of sanitizers.
  include(${CMAKE_SOURCE_DIR}/cmake/python.cmake)
  find_program(MTS_SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)
  if(TARGET mts_program AND MTS_TEST_PYTHON AND MTS_SYSTEM_PYTHON AND NOT MTS_SANITIZE)
    if(DEFINED ENV{MTS_TEST_DATA})
      set(gst_data $ENV{MTS_TEST_DATA})
    else()
      set(gst_data ${CMAKE_SOURCE_DIR}/../shared/data)
    endif()
    add_test(NAME gst/program
      COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/program_test.py
              --camera $<TARGET_FILE:mts_camera> --program $<TARGET_FILE:mts_program>
              --plugins $<TARGET_FILE_DIR:mts_gst> --reader ${CMAKE_SOURCE_DIR}/apps/gst/read_results.py
              --system-python ${MTS_SYSTEM_PYTHON} --config ${CMAKE_SOURCE_DIR}/apps/mts/demo/small.json
              --faces ${CMAKE_SOURCE_DIR}/apps/samples/faces --data ${gst_data} --work ${CMAKE_BINARY_DIR}/gst)
    set_tests_properties(gst/program PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
  endif()
endif()
