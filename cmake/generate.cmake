# Generated sources: the kernel table (sources of kernels/manifest.def as text) and the backend registry.
set(MTS_GENERATED ${CMAKE_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${MTS_GENERATED})

file(GLOB_RECURSE MTS_KERNEL_FILES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*.cl ${PROJECT_SOURCE_DIR}/kernels/*.h)
add_custom_command(
  OUTPUT ${MTS_GENERATED}/kernel_table.c
  COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUT=${MTS_GENERATED}/kernel_table.c -DSMALL=${MTS_SMALL} -DCUDA=${MTS_BACKEND_CUDA}
          -P ${PROJECT_SOURCE_DIR}/cmake/embed_kernels.cmake
  DEPENDS ${MTS_KERNEL_FILES} ${PROJECT_SOURCE_DIR}/kernels/manifest.def ${PROJECT_SOURCE_DIR}/cmake/embed_kernels.cmake
  VERBATIM)

# In order of preference. A GPU comes before all others (sdk/api/devices.c), so that OpenCL's place is that of its CPU devices.
set(MTS_BACKENDS "")
foreach(backend CUDA CPU OPENCL REFERENCE NULL)
  if(MTS_BACKEND_${backend})
    string(TOLOWER ${backend} lower)
    list(APPEND MTS_BACKENDS ${lower})
  endif()
endforeach()
set(declarations "")
set(entries "")
foreach(backend ${MTS_BACKENDS})
  string(APPEND declarations "extern const mts_backend mts_backend_${backend};\n")
  string(APPEND entries "    &mts_backend_${backend},\n")
endforeach()
file(CONFIGURE OUTPUT ${MTS_GENERATED}/registry.c CONTENT
"/* Generated: the backends that this build contains, in order of preference. */
#include \"device/device.h\"

${declarations}
static const mts_backend *const backends[] = {
${entries}    NULL,
};

const mts_backend *const *mts_backend_table(size_t *count)
{
    *count = sizeof backends / sizeof backends[0] - 1;
    return backends;
}
" @ONLY)
