# SPDX-License-Identifier: Apache-2.0
# What of dlc a kind of package has; read by cpack for each.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_ALL dlc) # its libraries are Debian's packages
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY OFF) # /usr, not /dlc-VERSION/usr
else()
  set(CPACK_COMPONENTS_ALL dlc libraries)
  set(CPACK_PACKAGING_INSTALL_PREFIX /)
endif()
