# SPDX-License-Identifier: Apache-2.0
# cmake -DFILE=PROGRAM -P RemoveRpath.cmake: removes RPATH like cmake --install without INSTALL_RPATH.
file(RPATH_REMOVE FILE "${FILE}")
