# libmts as an AAR without Gradle: for builds of other kinds, and for repositories of binaries. The layout is that of
# Gradle's: the library for the APK in jni, the same one with its header as a prefab package.
#
#   cmake -DLIBRARIES="arm64-v8a=build/android/sdk/libmts.so" -DVERSION=0.1.0 -DOUT=mts.aar -P aar.cmake
#
# LIBRARIES: ABI=PATH, several separated by semicolons, stripped already. API, NDK: the API level that they were built for,
# 26 if nothing else is said, and the major version of the NDK.
cmake_minimum_required(VERSION 3.25)
foreach(variable LIBRARIES VERSION OUT)
  if(NOT DEFINED ${variable})
    message(FATAL_ERROR "usage: cmake -DLIBRARIES=ABI=PATH -DVERSION=X.Y.Z -DOUT=FILE.aar -P aar.cmake")
  endif()
endforeach()
if(NOT API)
  set(API 26)
endif()
if(NOT NDK)
  set(NDK 26)
endif()
get_filename_component(OUT "${OUT}" ABSOLUTE)
get_filename_component(source "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

set(place "${OUT}.d")
set(module ${place}/prefab/modules/mts)
file(REMOVE_RECURSE ${place} ${OUT})
file(WRITE ${place}/prefab/prefab.json
  "{\"schema_version\": 2, \"name\": \"mts\", \"version\": \"${VERSION}\", \"dependencies\": []}\n")
file(WRITE ${module}/module.json "{\"export_libraries\": [], \"library_name\": \"libmts\"}\n")
file(COPY ${source}/sdk/include/mts/mts.h DESTINATION ${module}/include/mts)

foreach(entry IN LISTS LIBRARIES)
  string(REGEX MATCH "^([^=]+)=(.+)$" matched "${entry}")
  set(abi "${CMAKE_MATCH_1}")
  get_filename_component(library "${CMAKE_MATCH_2}" REALPATH)
  if(NOT matched OR NOT EXISTS "${library}")
    message(FATAL_ERROR "no library: ${entry}")
  endif()
  foreach(folder ${place}/jni/${abi} ${module}/libs/android.${abi})
    file(MAKE_DIRECTORY ${folder})
    configure_file("${library}" ${folder}/libmts.so COPYONLY)
  endforeach()
  file(WRITE ${module}/libs/android.${abi}/abi.json
    "{\"abi\": \"${abi}\", \"api\": ${API}, \"ndk\": ${NDK}, \"stl\": \"none\", \"static\": false}\n")
endforeach()

# Gradle takes package and API level from its own files; an AAR has them in its manifest.
file(READ ${CMAKE_CURRENT_LIST_DIR}/src/main/AndroidManifest.xml manifest)
string(REPLACE "res/android\">" "res/android\"\n    package=\"org.mts\">\n\n    <uses-sdk android:minSdkVersion=\"${API}\" />"
  manifest "${manifest}")
file(WRITE ${place}/AndroidManifest.xml "${manifest}")
file(WRITE ${place}/R.txt "")

function(run folder)
  execute_process(COMMAND ${CMAKE_COMMAND} -E ${ARGN} WORKING_DIRECTORY ${folder} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
file(WRITE ${place}/classes/META-INF/MANIFEST.MF "Manifest-Version: 1.0\n") # there are no classes, but there is a jar
run(${place}/classes tar cf ../classes.jar --format=zip META-INF)
file(REMOVE_RECURSE ${place}/classes)
run(${place} tar cf ${OUT} --format=zip AndroidManifest.xml R.txt classes.jar jni prefab)
file(REMOVE_RECURSE ${place})
