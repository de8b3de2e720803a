# The node of apps/ros2 against the stand-ins of stubs/, with this build's libraries. The project itself is C: without a C++
# compiler there is no such test.
include(CheckLanguage)
check_language(CXX)
if(MTS_COMPILER AND NOT MTS_COVERAGE AND CMAKE_CXX_COMPILER)
  enable_language(CXX)
  set(ros2 ${CMAKE_SOURCE_DIR}/apps/ros2/src)
  add_executable(ros2_node ${CMAKE_CURRENT_LIST_DIR}/test_node.cpp ${CMAKE_CURRENT_LIST_DIR}/bundle.c ${ros2}/answers.cpp
    ${ros2}/engine.cpp ${ros2}/health.cpp ${ros2}/images.cpp ${ros2}/node.cpp)
  set_target_properties(ros2_node PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_include_directories(ros2_node PRIVATE ${CMAKE_CURRENT_LIST_DIR}/stubs ${ros2} ${CMAKE_CURRENT_SOURCE_DIR}
    ${CMAKE_SOURCE_DIR}/sdk ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/apps ${CMAKE_SOURCE_DIR}/sdk/include)
  target_compile_definitions(ros2_node PRIVATE MTS_BINARY_DIR="${test_binary}")
  # warnings of mts_options less those of C
  target_compile_options(ros2_node PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wshadow)
  if(MTS_WERROR)
    target_compile_options(ros2_node PRIVATE -Werror)
  endif()
  if(MTS_SANITIZE)
    target_compile_options(ros2_node PRIVATE -fsanitize=${MTS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(ros2_node PRIVATE -fsanitize=${MTS_SANITIZE})
  endif()
  find_package(Threads REQUIRED)
  target_link_libraries(ros2_node PRIVATE ${bundle_writer} mtskit_static mts_static Threads::Threads)
  add_test(NAME ros2/node COMMAND ros2_node)
  set_tests_properties(ros2/node PROPERTIES TIMEOUT 120)
endif()
