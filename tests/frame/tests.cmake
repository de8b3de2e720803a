# libyuv is what frames are compared with; without it the test skips.
find_path(MTS_LIBYUV_INCLUDE libyuv.h)
find_library(MTS_LIBYUV yuv)
if(MTS_LIBYUV AND MTS_LIBYUV_INCLUDE AND NOT CMAKE_CROSSCOMPILING)
  target_include_directories(frame_libyuv SYSTEM PRIVATE ${MTS_LIBYUV_INCLUDE})
  target_compile_definitions(frame_libyuv PRIVATE MTS_LIBYUV)
  target_link_libraries(frame_libyuv PRIVATE ${MTS_LIBYUV})
endif()
