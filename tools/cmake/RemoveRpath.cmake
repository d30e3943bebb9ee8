# SPDX-License-Identifier: Apache-2.0
# cmake -DFILE=PROGRAM -P RemoveRpath.cmake: as cmake --install does where there is no INSTALL_RPATH.
file(RPATH_REMOVE FILE "${FILE}")
