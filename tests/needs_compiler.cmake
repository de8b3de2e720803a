# needs_compiler(OUT FILE): whether a test needs libmtsc. Reading and writing bundles (compiler/models) and the passes over
# graphs are plain C and come with the tests' support (tests/CMakeLists.txt); importing, training and the public
# mtsc.h and mtsz.h need the library and what it links.
set(MTS_COMPILER_SUPPORT onnx_case plan_cache_world synth vectors)

function(needs_compiler out file)
  file(READ ${file} text)
  string(REGEX REPLACE "\"compiler/(models|passes)/[a-z_]+\\.h\"" "" text "${text}")
  list(JOIN MTS_COMPILER_SUPPORT "|" support)
  if(text MATCHES "#include [<\"](mts/mts[cz]\\.h|compiler/|compress/|support/(${support})\\.h|jansson\\.h|onnx/)")
    set(${out} TRUE PARENT_SCOPE)
  else()
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()
