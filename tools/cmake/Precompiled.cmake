# One precompiled header for the rooms that see MLIR: parsing its headers is more than half of their
# build. compiler/dialect makes it, the others wait for that.
#
# GCC's precompiled file differs from run to run, so ccache is told to judge it by a file beside it:
# a hash of what it was made from.
function(dlc_precompile owner header)
  target_precompile_headers(${owner} PRIVATE ${header})
  target_compile_options(${owner} PRIVATE -fpch-preprocess)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${owner}.dir)
  add_custom_target(${owner}PrecompiledSum
    COMMAND ${CMAKE_COMMAND} -DFOLDER=${folder} -DHEADERS=${CMAKE_CURRENT_SOURCE_DIR};${CMAKE_CURRENT_BINARY_DIR}
            -DMLIR=${LLVM_LIBRARY_DIRS}/libMLIR.so -DCOMPILER=${CMAKE_CXX_COMPILER_ID}-${CMAKE_CXX_COMPILER_VERSION}
            "-DFLAGS=${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_RELEASE}"
            -P ${CMAKE_SOURCE_DIR}/tools/cmake/PrecompiledSum.cmake
    VERBATIM)
  add_dependencies(${owner}PrecompiledSum DlcDialectIncGen)
  add_dependencies(${owner} ${owner}PrecompiledSum)
endfunction()
