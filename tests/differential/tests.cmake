# The program beside ONNX Runtime and LiteRT (of toolchains/requirements.txt; skipped where they are missing).
include(${CMAKE_SOURCE_DIR}/cmake/python.cmake)
if(MTS_TEST_PYTHON AND TARGET mts_program)
  if(DEFINED ENV{MTS_TEST_DATA})
    set(MTS_DIFFERENTIAL_DATA $ENV{MTS_TEST_DATA})
  else()
    set(MTS_DIFFERENTIAL_DATA ${CMAKE_SOURCE_DIR}/../shared/data)
  endif()
  add_test(NAME differential/onnxruntime
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/differential/onnxruntime_test.py
            --program $<TARGET_FILE:mts_program> --data ${MTS_DIFFERENTIAL_DATA}
            --work ${CMAKE_BINARY_DIR}/differential)
  set_tests_properties(differential/onnxruntime PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
endif()
if(MTS_TEST_PYTHON AND TARGET mts_program)
  add_test(NAME differential/stitched
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/differential/stitched_test.py
            --program $<TARGET_FILE:mts_program> --config ${CMAKE_SOURCE_DIR}/apps/mts/demo/small.json
            --work ${CMAKE_BINARY_DIR}/differential-stitched)
  set_tests_properties(differential/stitched PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
if(MTS_TEST_PYTHON AND TARGET mts_program)
  add_test(NAME differential/qdq_top1
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/differential/qdq_top1.py
            --program $<TARGET_FILE:mts_program> --model ${CMAKE_SOURCE_DIR}/apps/mts/demo/models/small_object.onnx
            --data ${MTS_DIFFERENTIAL_DATA} --work ${CMAKE_BINARY_DIR}/differential-qdq)
  set_tests_properties(differential/qdq_top1 PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
if(MTS_TEST_PYTHON AND TARGET mts_program AND MTS_COMPRESS)
  add_test(NAME differential/methods
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/differential/methods_test.py
            --program $<TARGET_FILE:mts_program> --config ${CMAKE_SOURCE_DIR}/apps/mts/demo/small.json
            --data ${MTS_DIFFERENTIAL_DATA} --work ${CMAKE_BINARY_DIR}/differential-methods)
  set_tests_properties(differential/methods PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
endif()
if(MTS_TEST_PYTHON AND TARGET mts_program)
  if(DEFINED ENV{MTS_TEST_MEDIAPIPE})
    set(MTS_DIFFERENTIAL_MEDIAPIPE $ENV{MTS_TEST_MEDIAPIPE})
  else()
    set(MTS_DIFFERENTIAL_MEDIAPIPE ${CMAKE_SOURCE_DIR}/build/mediapipe)
  endif()
  add_test(NAME differential/tflite
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/differential/tflite_beside_litert.py
            --program $<TARGET_FILE:mts_program> --folder ${MTS_DIFFERENTIAL_MEDIAPIPE}
            --work ${CMAKE_BINARY_DIR}/differential-tflite)
  set_tests_properties(differential/tflite PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
endif()
# Hours, so only where asked: MTS_TEST_REAL is a folder with the files of real_models.txt, MTS_TEST_TORCH a Python with
# torch, torchvision and timm (toolchains/host real makes both and runs these).
if(MTS_TEST_PYTHON AND TARGET mts_program AND DEFINED ENV{MTS_TEST_REAL})
  add_test(NAME differential/real
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/differential/real_models.py
            --program $<TARGET_FILE:mts_program> --folder $ENV{MTS_TEST_REAL}
            --work ${CMAKE_BINARY_DIR}/differential-real)
  set_tests_properties(differential/real PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 14400)
endif()
if(TARGET mts_program AND DEFINED ENV{MTS_TEST_TORCH})
  add_test(NAME differential/torch
    COMMAND $ENV{MTS_TEST_TORCH} ${CMAKE_CURRENT_SOURCE_DIR}/differential/torch_exports.py
            --program $<TARGET_FILE:mts_program> --work ${CMAKE_BINARY_DIR}/differential-torch)
  set_tests_properties(differential/torch PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 14400)
endif()
# A Python with torch and transformers is enough for this one; two minutes.
if(TARGET mts_program AND DEFINED ENV{MTS_TEST_TORCH})
  add_test(NAME differential/transformers
    COMMAND $ENV{MTS_TEST_TORCH} ${CMAKE_CURRENT_SOURCE_DIR}/differential/transformers_exports.py
            --program $<TARGET_FILE:mts_program> --work ${CMAKE_BINARY_DIR}/differential-transformers)
  set_tests_properties(differential/transformers PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 3600)
endif()
if(MTS_TEST_PYTHON AND TARGET mts_program)
  add_test(NAME differential/netfuse
    COMMAND ${MTS_TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/differential/netfuse_test.py
            --program $<TARGET_FILE:mts_program> --perf ${CMAKE_CURRENT_SOURCE_DIR}/perf
            --work ${CMAKE_BINARY_DIR}/differential-netfuse)
  set_tests_properties(differential/netfuse PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endif()
