# The tests of the kit that programs share link it.
if(TARGET mts_kit)
  foreach(file ${test_files})
    if(file MATCHES "/apps/test_([a-z0-9_]+)\\.c$")
      target_link_libraries(apps_${CMAKE_MATCH_1} PRIVATE mts_kit)
    endif()
  endforeach()
endif()
