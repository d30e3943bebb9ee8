# SPDX-License-Identifier: Apache-2.0
# Writes SUM: a hash of FILES, of the compiler, its flags and the MLIR library, as the version of all other headers.
set(text "${COMPILER} ${FLAGS}")
foreach(name ${FILES})
  file(SHA256 ${name} hash)
  get_filename_component(base ${name} NAME)
  string(APPEND text " ${base} ${hash}")
endforeach()
file(REAL_PATH ${MLIR} library)
file(SIZE ${library} size)
file(TIMESTAMP ${library} time UTC)
string(APPEND text " ${size} ${time}")
string(SHA256 sum "${text}")
file(WRITE ${SUM} ${sum})
