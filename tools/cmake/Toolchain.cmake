# SPDX-License-Identifier: Apache-2.0
# ccache, a fast linker, warnings, and the Python environment of tools/setup.sh.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Paths relative to the checkout, so that every clone shares the cache.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
               CCACHE_SLOPPINESS=time_macros,pch_defines CCACHE_PCH_EXTSUM=1
               ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# Unity builds compile several files of a room as one, which parses headers and instantiates templates once: a cold
# build takes two thirds of the time. Names in unnamed namespaces must therefore differ within a room or test program.
option(DLC_UNITY "compile several files of a room as one" ON)
set(CMAKE_UNITY_BUILD ${DLC_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 14)

find_program(MOLD mold)
find_program(LLD ld.lld)
if(MOLD)
  add_link_options(-fuse-ld=mold)
elseif(LLD)
  add_link_options(-fuse-ld=lld)
endif()
if(MOLD OR LLD)
  # Otherwise, if code ends at a page boundary, thread-local data may begin in a page that no segment maps: the loader
  # cannot protect it, and the program does not start.
  add_link_options(-Wl,-z,separate-loadable-segments)
endif()

set(DLC_VENV ${CMAKE_SOURCE_DIR}/.venv CACHE PATH
    "Python environment made by tools/setup.sh (onnx, oneDNN, lit)")
set(DLC_PYTHON ${DLC_VENV}/bin/python)
list(PREPEND CMAKE_PREFIX_PATH ${DLC_VENV})

# Programs also use -fPIC, not -fPIE, so that they share precompiled headers with libraries.
add_compile_options(-fPIC -Wall -Wextra -Wno-unused-parameter)
# -O2: performance-critical code is generated or in libraries, and -O3 costs build time.
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")

# GCC collects garbage after each 128 MB of allocations, and each time scans the precompiled header's data: that takes
# a tenth of a file's time, to save a fifth of its memory.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("SHELL:--param ggc-min-heapsize=1000000")
  # Dependency files have the paths of #include. Otherwise GCC resolves links of system folders (.venv may be one), and
  # ccache passes the path of one checkout to another.
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fno-canonical-system-headers>)
endif()
