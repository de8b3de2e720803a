# The fake CUDA driver: libraries under the names by which the backend looks for them, see fake/README.md. Tests find
# them through LD_LIBRARY_PATH.
set(fake_cuda_source ${CMAKE_CURRENT_LIST_DIR}/fake)
set(fake_cuda_folder ${CMAKE_BINARY_DIR}/fake_cuda)

# Programs that tests kept on disk, made with another emulate.h, are refused.
file(SHA256 ${fake_cuda_source}/emulate.h fake_cuda_seed)
string(SUBSTRING ${fake_cuda_seed} 0 15 fake_cuda_seed)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${fake_cuda_source}/emulate.h)

function(fake_cuda_library target folder name)
  add_library(${target} SHARED ${ARGN})
  target_compile_definitions(${target} PRIVATE MTS_FAKE_SEED=0x${fake_cuda_seed}u)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/sdk ${CMAKE_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE mts_options)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${folder})
endfunction()

# What compiles the emulated programs. Clang takes a tenth of GCC's time for the largest of them.
find_program(MTS_FAKE_CXX NAMES clang++ c++ DOC "C++ compiler of the fake CUDA driver's programs")
mark_as_advanced(MTS_FAKE_CXX)

# What the libraries and the tests have in common.
find_package(Threads REQUIRED)
fake_cuda_library(mts_fake_cuda ${fake_cuda_folder} mts_fake_cuda ${fake_cuda_source}/core.c)
target_link_libraries(mts_fake_cuda PRIVATE Threads::Threads)

set(fake_cuda_driver_files "")
foreach(file context error graph image launch link memory module stream)
  list(APPEND fake_cuda_driver_files ${fake_cuda_source}/${file}.c)
endforeach()
list(APPEND fake_cuda_driver_files ${CMAKE_SOURCE_DIR}/sdk/base/hash.c)
set(fake_cuda_compiler_files ${fake_cuda_source}/nvrtc.c ${fake_cuda_source}/compile.c ${fake_cuda_source}/image.c
  ${CMAKE_SOURCE_DIR}/sdk/base/hash.c)

# Further arguments: functions that this driver does not have.
function(fake_cuda_driver target folder)
  fake_cuda_library(${target} ${folder} cuda ${fake_cuda_driver_files})
  set_target_properties(${target} PROPERTIES SOVERSION 1)
  target_link_libraries(${target} PRIVATE mts_fake_cuda ${CMAKE_DL_LIBS})
  target_link_options(${target} PRIVATE -Wl,-z,nodelete)
  foreach(name ${ARGN})
    target_compile_definitions(${target} PRIVATE ${name}=absent_${name})
  endforeach()
endfunction()

function(fake_cuda_compiler target folder)
  fake_cuda_library(${target} ${folder} nvrtc ${fake_cuda_compiler_files})
  target_link_libraries(${target} PRIVATE mts_fake_cuda)
  target_link_options(${target} PRIVATE -Wl,-z,nodelete)
  target_compile_definitions(${target} PRIVATE MTS_FAKE_EMULATE="${fake_cuda_source}/emulate.h" MTS_FAKE_CXX="${MTS_FAKE_CXX}"
    MTS_FAKE_CACHE="${fake_cuda_folder}/cache")
  foreach(name ${ARGN})
    target_compile_definitions(${target} PRIVATE ${name}=absent_${name})
  endforeach()
endfunction()

fake_cuda_driver(mts_fake_driver ${fake_cuda_folder})
fake_cuda_compiler(mts_fake_compiler ${fake_cuda_folder})

# ---- libraries of scenarios: tests run themselves again with one of these folders first ----

# A driver that is too old: functions that are needed are missing.
fake_cuda_driver(mts_fake_driver_incomplete ${fake_cuda_folder}/incomplete cuStreamSynchronize)
# A driver that has nothing but what is needed; a compiler from before CUDA 11.1.
set(fake_cuda_optional "")
file(STRINGS ${CMAKE_SOURCE_DIR}/platform/cuda/symbols.def rows REGEX "^MTS_CU_OPTIONAL")
foreach(row ${rows})
  string(REGEX MATCH "(cu[A-Za-z0-9_]+), *\\(|(cu[A-Za-z0-9_]+),$" unused "${row}")
  list(APPEND fake_cuda_optional ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
endforeach()
fake_cuda_driver(mts_fake_driver_bare ${fake_cuda_folder}/bare ${fake_cuda_optional})
fake_cuda_compiler(mts_fake_compiler_old ${fake_cuda_folder}/old nvrtcGetCUBINSize nvrtcGetCUBIN)
# Files that are no libraries hide those of the machine.
foreach(name libnvrtc.so libnvrtc.so.13 libnvrtc.so.12 libnvrtc.so.11.2 libnvrtc.so.11.1 libnvrtc.so.11.0 libnvrtc.so.10.2)
  file(WRITE ${fake_cuda_folder}/no_compiler/${name} "no library\n")
endforeach()
foreach(name libcuda.so.1 libcuda.so)
  file(WRITE ${fake_cuda_folder}/no_driver/${name} "no library\n")
endforeach()
add_custom_target(mts_fake_cuda_libraries DEPENDS mts_fake_driver mts_fake_compiler mts_fake_driver_incomplete
  mts_fake_driver_bare mts_fake_compiler_old)

# ---- this folder's tests ----

file(GLOB cuda_tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cuda/test_*.c)
foreach(file ${cuda_tests})
  get_filename_component(name ${file} NAME_WE)
  string(REGEX REPLACE "^test_" "" name ${name})
  target_sources(cuda_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/cuda/cuda_fixture.c)
  target_link_libraries(cuda_${name} PRIVATE mts_fake_cuda)
  target_compile_definitions(cuda_${name} PRIVATE MTS_FAKE_FOLDER="${fake_cuda_folder}")
  add_dependencies(cuda_${name} mts_fake_cuda_libraries)
  set_property(TEST cuda/${name} APPEND PROPERTY ENVIRONMENT "LD_LIBRARY_PATH=${fake_cuda_folder}")
endforeach()

# ---- tests of other modules, with the emulated GPU in OpenCL's place ----

# Sanitizers would add much time and see nothing new: programs are not built with them.
if(NOT MTS_SANITIZE)
  set(cuda_emulated device_conformance conformance_kernels_conv conformance_kernels_depthwise conformance_kernels_elementwise
    conformance_kernels_bytes conformance_kernels_packed conformance_kernels_frame conformance_kernels_fused conformance_kernels_mixed conformance_kernels_move
    conformance_kernels_reduce conformance_kernels_resize conformance_kernels_norm conformance_kernels_attention conformance_kernels_window
    engine_strategies engine_fused engine_packed engine_random_nets engine_precision engine_precision_border
    engine_bytes engine_bytes_frames engine_edges engine_persistent engine_planted engine_sharing golden_vectors api_cache api_changes device_wrap
    device_async device_async_random)
  foreach(name ${cuda_emulated})
    add_test(NAME cuda/${name} COMMAND ${name})
    set_tests_properties(cuda/${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600
      ENVIRONMENT "LD_LIBRARY_PATH=${fake_cuda_folder};MTS_TEST_DEVICE=cuda")
    add_dependencies(${name} mts_fake_cuda_libraries)
  endforeach()
  # the oldest Jetson with fast float16, and a GPU with matrix units
  foreach(arch 62 90)
    add_test(NAME cuda/conformance_kernels_move_sm_${arch} COMMAND conformance_kernels_move)
    set_tests_properties(cuda/conformance_kernels_move_sm_${arch} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600
      ENVIRONMENT "LD_LIBRARY_PATH=${fake_cuda_folder};MTS_TEST_DEVICE=cuda;MTS_FAKE_CUDA_ARCH=${arch}")
  endforeach()
  # both work in one folder
  foreach(name persistent random_nets precision precision_border sharing)
    set_tests_properties(engine/${name} cuda/engine_${name} PROPERTIES RESOURCE_LOCK engine_${name})
  endforeach()
  set_tests_properties(golden/vectors cuda/golden_vectors PROPERTIES RESOURCE_LOCK golden_vectors)
  set_property(TEST cuda/golden_vectors APPEND PROPERTY ENVIRONMENT "MTS_TEST_FILTER=*_match_when_stitched")
  set_property(TEST cuda/api_changes APPEND PROPERTY ENVIRONMENT "MTS_TEST_FILTER=other_weights_*") # all: 16 seconds
endif()
