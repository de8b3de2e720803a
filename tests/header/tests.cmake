# Public headers compile alone; shared libraries export what they declare.
set(header_folder ${CMAKE_CURRENT_LIST_DIR})
set(include_folder ${CMAKE_SOURCE_DIR}/sdk/include)
find_program(MTS_CXX NAMES c++ g++ clang++)
set(cxx "")
if(MTS_CXX)
  set(cxx ${MTS_CXX})
endif()
add_test(NAME header/compiles_alone
  COMMAND ${header_folder}/compiles_alone.sh ${include_folder} ${CMAKE_C_COMPILER} ${cxx})
add_test(NAME header/exports_of_libmts
  COMMAND ${header_folder}/exports.sh "${include_folder}/mts/mts.h ${include_folder}/mts/profile.h" $<TARGET_FILE:mts> ${CMAKE_C_COMPILER}
          ${include_folder})
add_test(NAME header/exports_of_libmtskit
  COMMAND ${header_folder}/exports.sh ${include_folder}/mts/kit.h $<TARGET_FILE:mtskit> ${CMAKE_C_COMPILER}
          ${include_folder})
foreach(lib mtsc mtsz)
  if(TARGET ${lib})
    add_test(NAME header/exports_of_lib${lib}
      COMMAND ${header_folder}/exports.sh ${include_folder}/mts/${lib}.h $<TARGET_FILE:${lib}> ${CMAKE_C_COMPILER}
              ${include_folder})
  endif()
endforeach()
if(NOT CMAKE_CROSSCOMPILING)
  add_test(NAME header/reference COMMAND ${header_folder}/reference.sh ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  set_tests_properties(header/reference PROPERTIES SKIP_RETURN_CODE 77)
endif()
