# SPDX-License-Identifier: Apache-2.0
# Precompiled headers: parsing MLIR's headers takes more than half of the compiler's build time.
# compiler/dialect has one for all rooms of the compiler, compiler/kernel/scalar a larger one for rooms that
# generate code, runtime/plan one with the runtime's libraries, test/support the same with GoogleTest, and
# tools/dlc one with the libraries of its commands.
#
# GCC's precompiled file differs from run to run, so ccache compares a file beside it instead: a hash of
# its inputs.
#
# dlc_precompile(OWNER HEADER [DEPENDS file...]) precompiles HEADER, which may include headers of this
# project only from DEPENDS.
function(dlc_precompile owner header)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  target_precompile_headers(${owner} PRIVATE ${header})
  target_compile_options(${owner} PRIVATE -fpch-preprocess)
  set(sum ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${owner}.dir/cmake_pch.hxx.gch.sum)
  set(files ${header} ${ARG_DEPENDS})
  add_custom_command(OUTPUT ${sum}
    COMMAND ${CMAKE_COMMAND} -DSUM=${sum} "-DFILES=${files}" -DMLIR=${LLVM_LIBRARY_DIRS}/libMLIR.so
            -DCOMPILER=${CMAKE_CXX_COMPILER_ID}-${CMAKE_CXX_COMPILER_VERSION}
            "-DFLAGS=${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE}"
            -P ${CMAKE_SOURCE_DIR}/tools/cmake/PrecompiledSum.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/tools/cmake/PrecompiledSum.cmake
    VERBATIM)
  add_custom_target(${owner}PrecompiledSum DEPENDS ${sum})
  add_dependencies(${owner} ${owner}PrecompiledSum)
endfunction()

# dlc_use_precompiled(OWNER TARGET...) also compiles the targets with the owner's -O level: GCC crashes on
# code with -O2 whose headers were precompiled with -O1.
function(dlc_use_precompiled owner)
  get_target_property(options ${owner} COMPILE_OPTIONS)
  list(FILTER options INCLUDE REGEX "^-O")
  foreach(target ${ARGN})
    target_compile_options(${target} PRIVATE ${options})
    target_precompile_headers(${target} REUSE_FROM ${owner})
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endforeach()
endfunction()
