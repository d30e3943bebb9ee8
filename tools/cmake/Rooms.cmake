# SPDX-License-Identifier: Apache-2.0
# A room is a folder with one library made of all its .cpp files.

# dlc_room(NAME [MLIR] [PRECOMPILED owner] [DEPENDS target...]) declares a static library from the
# folder's *.cpp (and kernels/*.cpp, gradients/*.cpp where they exist).
function(dlc_room name)
  cmake_parse_arguments(ARG "MLIR" "PRECOMPILED" "DEPENDS;GENERATED;FOLDERS" ${ARGN})
  list(TRANSFORM ARG_FOLDERS APPEND /*.cpp)
  file(GLOB sources CONFIGURE_DEPENDS *.cpp kernels/*.cpp ${ARG_FOLDERS})
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
    target_link_libraries(${name} INTERFACE ${ARG_DEPENDS})
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
  if(ARG_MLIR)
    target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
    target_link_libraries(${name} PUBLIC DlcLlvm)
    # dlc's own passes take little time; most of a compilation is spent in LLVM.
    target_compile_options(${name} PRIVATE -O1)
  endif()
  if(ARG_PRECOMPILED)
    dlc_use_precompiled(${ARG_PRECOMPILED} ${name})
  endif()
  if(ARG_GENERATED)
    add_dependencies(${name} ${ARG_GENERATED})
  endif()
endfunction()

# dlc_unit_test(NAME SOURCES... DEPENDS... [PRECOMPILED OWNER]) declares a GoogleTest program run by ctest.
function(dlc_unit_test name)
  cmake_parse_arguments(ARG "" "PRECOMPILED" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  if(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED test_headers)
  endif()
  dlc_use_precompiled(${ARG_PRECOMPILED} ${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES ENVIRONMENT MALLOC_PERTURB_=165) # overwrites freed memory
endfunction()
