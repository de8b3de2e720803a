# The tests of the kit that programs share link it.
if(TARGET mts_kit)
  foreach(file ${test_files})
    if(file MATCHES "/apps/test_([a-z0-9_]+)\\.c$")
      target_link_libraries(apps_${CMAKE_MATCH_1} PRIVATE mts_kit)
    endif()
  endforeach()
endif()
if(TARGET mts_kit)
  foreach(test apps_exif apps_hostile_pictures) # they write photos
    target_include_directories(${test} SYSTEM PRIVATE ${CMAKE_BINARY_DIR}/generated/stb)
  endforeach()
  add_executable(apps_pixels ${CMAKE_CURRENT_LIST_DIR}/pixels.c)
  target_link_libraries(apps_pixels PRIVATE mts_kit)
endif()

# The cascade beside ONNX Runtime (of toolchains/requirements.txt; skipped where it is missing).
include(${CMAKE_SOURCE_DIR}/cmake/python.cmake)
if(MTS_TEST_PYTHON AND TARGET mts_program AND TARGET sample_faces AND NOT MTS_SANITIZE)
  if(DEFINED ENV{MTS_TEST_DATA})
    set(MTS_CASCADE_DATA $ENV{MTS_TEST_DATA})
  else()
    set(MTS_CASCADE_DATA ${CMAKE_SOURCE_DIR}/../shared/data)
  endif()
  add_test(NAME apps/cascade_beside_onnxruntime
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/cascade_test.py --mts $<TARGET_FILE:mts_program>
            --faces $<TARGET_FILE:sample_faces> --pixels $<TARGET_FILE:apps_pixels>
            --sample ${CMAKE_SOURCE_DIR}/apps/samples/faces --data ${MTS_CASCADE_DATA}
            --work ${CMAKE_BINARY_DIR}/cascade_onnxruntime)
  set_tests_properties(apps/cascade_beside_onnxruntime PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()

# The cascade of MediaPipe's networks beside MediaPipe's answers (numbers in the test; the networks are unpacked by
# toolchains/host; skipped where they or the photographs are missing).
if(MTS_TEST_PYTHON AND TARGET mts_program AND TARGET sample_holistic AND NOT MTS_SANITIZE)
  add_test(NAME apps/holistic_beside_mediapipe
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/holistic_test.py --mts $<TARGET_FILE:mts_program>
            --holistic $<TARGET_FILE:sample_holistic> --list ${CMAKE_SOURCE_DIR}/apps/samples/holistic/holistic.json
            --modules ${CMAKE_SOURCE_DIR}/build/mediapipe/mediapipe/modules --photos ${MTS_CASCADE_DATA}/photos
            --work ${CMAKE_BINARY_DIR}/holistic_mediapipe)
  set_tests_properties(apps/holistic_beside_mediapipe PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()

# Boxes of mts run --decode beside ONNX Runtime and torchvision (numbers in the test; skipped without the models).
if(MTS_TEST_PYTHON AND TARGET mts_program AND NOT MTS_SANITIZE)
  add_test(NAME apps/decode_beside_others
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/decode_test.py --mts $<TARGET_FILE:mts_program>
            --data ${MTS_CASCADE_DATA} --work ${CMAKE_BINARY_DIR}/decode_beside_others)
  set_tests_properties(apps/decode_beside_others PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
