# The tests of the decoders link them.
foreach(file ${test_files})
  if(file MATCHES "/kit/test_([a-z0-9_]+)\\.c$")
    target_link_libraries(kit_${CMAKE_MATCH_1} PRIVATE mtskit_static)
  endif()
endforeach()
