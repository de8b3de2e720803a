# What is built is hardened as cmake/options.cmake says.
set(hardened links)
if(NOT MTS_SANITIZE)
  set(hardened guarded)
  if(CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$" AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    set(hardened checked)
  endif()
endif()
set(hardened_files "")
foreach(target mts mtsc mtsz mts_program mts_camera)
  if(TARGET ${target})
    list(APPEND hardened_files $<TARGET_FILE:${target}>)
  endif()
endforeach()
set(hardened_kit ${hardened}) # it calls no function of the C library that is checked
if(hardened STREQUAL "checked")
  set(hardened_kit guarded)
endif()
if(NOT MTS_SMALL)
  add_test(NAME hostile/hardened COMMAND ${CMAKE_CURRENT_LIST_DIR}/hardened.sh ${hardened} ${hardened_files}
    ${hardened_kit} $<TARGET_FILE:mtskit>)
  set_tests_properties(hostile/hardened PROPERTIES SKIP_RETURN_CODE 77)
endif()

# Each file in a process of its own, whose cost is measured.
if(TARGET hostile_files)
  target_sources(hostile_files PRIVATE ${CMAKE_CURRENT_LIST_DIR}/child.c ${CMAKE_CURRENT_LIST_DIR}/files_onnx_nodes.c
    ${CMAKE_CURRENT_LIST_DIR}/files_onnx_models.c ${CMAKE_CURRENT_LIST_DIR}/files_onnx_amplified.c
    ${CMAKE_CURRENT_LIST_DIR}/files_tflite.c ${CMAKE_CURRENT_LIST_DIR}/files_bundle.c
    ${CMAKE_CURRENT_LIST_DIR}/files_config.c)
  if(MTS_SANITIZE)
    target_compile_definitions(hostile_files PRIVATE CHILD_SANITIZED)
  endif()
endif()
