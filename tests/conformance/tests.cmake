# The ONNX cases are read with the messages that protoc-c generates in the build, the vectors with jansson.
target_include_directories(mts_test_support SYSTEM PRIVATE
  $<TARGET_PROPERTY:mts_onnx_proto,INTERFACE_INCLUDE_DIRECTORIES> ${MTS_JANSSON_INCLUDE})
set_tests_properties(conformance/onnx_node PROPERTIES TIMEOUT 900)
