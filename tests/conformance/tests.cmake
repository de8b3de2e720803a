# The ONNX cases are read with the messages that protoc-c generates in the build, the vectors with jansson.
target_include_directories(mts_test_support SYSTEM PRIVATE
  $<TARGET_PROPERTY:mts_onnx_proto,INTERFACE_INCLUDE_DIRECTORIES> ${MTS_JANSSON_INCLUDE})
# Cases of the newest opset come from the onnx package of Python, where it is installed.
add_test(NAME conformance/onnx_cases
  COMMAND ${MTS_TEST_PYTHON} -W ignore ${CMAKE_CURRENT_LIST_DIR}/onnx_cases.py ${CMAKE_BINARY_DIR}/onnx-node/current)
set_tests_properties(conformance/onnx_cases PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600)
set_tests_properties(conformance/onnx_node PROPERTIES TIMEOUT 900 DEPENDS conformance/onnx_cases)
