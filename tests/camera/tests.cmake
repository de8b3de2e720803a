# Tests of the camera's parts link them; where the camera is not built there is nothing to test.
foreach(file ${test_files})
  if(file MATCHES "/camera/test_([a-z0-9_]+)\\.c$")
    set(name ${CMAKE_MATCH_1})
    if(TARGET mts_camera_parts)
      target_link_libraries(camera_${name} PRIVATE mts_camera_parts)
      target_compile_definitions(camera_${name} PRIVATE MTS_CAMERA)
      if(name STREQUAL "v4l2")
        target_sources(camera_v4l2 PRIVATE ${CMAKE_CURRENT_LIST_DIR}/v4l2_player.c)
      elseif(name MATCHES "^gst")
        target_sources(camera_${name} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/gst_fixture.c)
      endif()
    endif()
  endif()
endforeach()
include(${CMAKE_SOURCE_DIR}/cmake/python.cmake)
set(camera_sanitized)
if(MTS_SANITIZE)
  set(camera_sanitized --sanitized)
endif()
if(TARGET mts_camera AND TARGET mts_program AND MTS_TEST_PYTHON)
  if(DEFINED ENV{MTS_TEST_DATA})
    set(camera_data $ENV{MTS_TEST_DATA})
  else()
    set(camera_data ${CMAKE_SOURCE_DIR}/../shared/data)
  endif()
  add_test(NAME camera/program
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/program_test.py
            --camera $<TARGET_FILE:mts_camera> --program $<TARGET_FILE:mts_program>
            --config ${CMAKE_SOURCE_DIR}/apps/mts/demo/small.json
            --faces ${CMAKE_SOURCE_DIR}/apps/samples/faces --data ${camera_data}
            --work ${CMAKE_BINARY_DIR}/camera ${camera_sanitized})
  set_tests_properties(camera/program PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
# A part of what GLib allocates while it is loaded is lost when its table of names grows, which takes many elements in
# one process; whole stacks are needed to tell it from ours (lsan.supp).
if(MTS_SANITIZE)
  set_property(TEST camera/gst camera/gst_meta camera/gst_time camera/window APPEND PROPERTY ENVIRONMENT
    ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:fast_unwind_on_malloc=0)
endif()
