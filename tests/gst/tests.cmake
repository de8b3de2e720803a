# The plugin of GStreamer, loaded as programs load it.
if(TARGET mts_gst)
  find_package(PkgConfig QUIET)
  pkg_check_modules(MTS_TEST_GST REQUIRED IMPORTED_TARGET gstreamer-app-1.0 gstreamer-video-1.0 gstreamer-allocators-1.0)
  foreach(name infer overlay dmabuf)
    target_sources(gst_${name} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/fixture.c)
    target_compile_definitions(gst_${name} PRIVATE MTS_GST_PLUGIN="$<TARGET_FILE:mts_gst>")
    target_link_libraries(gst_${name} PRIVATE PkgConfig::MTS_TEST_GST)
    add_dependencies(gst_${name} mts_gst)
  endforeach()
  if(MTS_SANITIZE) # as tests/camera/tests.cmake
    set_property(TEST gst/infer gst/overlay gst/dmabuf APPEND PROPERTY ENVIRONMENT
      ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:fast_unwind_on_malloc=0)
  endif()
endif()
