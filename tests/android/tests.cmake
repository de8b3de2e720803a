# The Android app: its parts that call nothing of Android run here, the whole of it runs on a fake NDK, and every file is
# compiled for Android against stubs of the NDK.
set(android_app ${CMAKE_SOURCE_DIR}/apps/android/app/src/main/cpp)
add_library(android_parts STATIC ${android_app}/engine.c ${android_app}/frames.c ${android_app}/results.c
  ${android_app}/view.c)
target_link_libraries(android_parts PUBLIC mts_options mts_static)
target_include_directories(android_parts PUBLIC ${CMAKE_SOURCE_DIR}/apps ${CMAKE_SOURCE_DIR}/sdk/include)
foreach(name frames engine view app)
  target_link_libraries(android_${name} PRIVATE android_parts)
endforeach()
# the last one with what calls the NDK, too
target_sources(android_app PRIVATE ${android_app}/assets.c ${android_app}/camera.c ${android_app}/images.c
  ${android_app}/jni.c ${CMAKE_CURRENT_LIST_DIR}/fake_ndk.c ${CMAKE_CURRENT_LIST_DIR}/fake_jni.c)
target_include_directories(android_app SYSTEM PRIVATE ${CMAKE_CURRENT_LIST_DIR}/stubs)
target_compile_definitions(android_app PRIVATE _LARGEFILE64_SOURCE)
set_source_files_properties(${android_app}/jni.c PROPERTIES COMPILE_OPTIONS -Wno-missing-prototypes
  COMPILE_DEFINITIONS APP_DEVICE="reference")

# The engine on an OpenCL library that reads hardware buffers (tests/opencl/tests.cmake, where it says why nothing else
# here may be linked with OpenCL); it skips where there is none.
target_sources(android_buffers PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/frame_bundle.c
  $<TARGET_OBJECTS:mts_models>)
target_include_directories(android_buffers PRIVATE $<TARGET_PROPERTY:mts_test_support,INTERFACE_INCLUDE_DIRECTORIES>)
target_include_directories(android_buffers SYSTEM PRIVATE
  $<TARGET_PROPERTY:mts_test_support,INTERFACE_SYSTEM_INCLUDE_DIRECTORIES>)
set_property(TARGET android_buffers PROPERTY LINK_LIBRARIES mts_options ${MTS_CMOCKA} android_parts)
find_library(MTS_OPENCL_LOADER NAMES libOpenCL.so.1 OpenCL)
if(MTS_OPENCL_LOADER)
  add_dependencies(android_buffers mts_fake_opencl mts_fake_window)
  set_property(TEST android/buffers APPEND PROPERTY ENVIRONMENT "LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/fake_opencl")
endif()

if(NOT CMAKE_CROSSCOMPILING)
  add_test(NAME android/app_compiles_for_android
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/compile.sh ${CMAKE_SOURCE_DIR})
  find_package(Python3 COMPONENTS Interpreter)
  if(Python3_FOUND)
    add_test(NAME android/files_are_as_documented
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/files.py ${CMAKE_SOURCE_DIR} ${CMAKE_COMMAND}
              $<TARGET_FILE:mts> ${PROJECT_VERSION})
    set_tests_properties(android/files_are_as_documented PROPERTIES TIMEOUT 120)
    add_test(NAME android/figures_activity
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/figures.py ${CMAKE_SOURCE_DIR})
    set_tests_properties(android/figures_activity PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
    # The figures of a phone (toolchains/phone) on what poses as adb.
    if(TARGET sample_phone AND TARGET mts_program)
      add_test(NAME android/phone_figures
        COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/phone.py ${CMAKE_SOURCE_DIR} $<TARGET_FILE:mts_program>
                $<TARGET_FILE:sample_phone> ${CMAKE_BINARY_DIR}/phone)
      set_tests_properties(android/phone_figures PROPERTIES TIMEOUT 300)
    endif()
  endif()
  set_tests_properties(android/app_compiles_for_android PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
endif()
