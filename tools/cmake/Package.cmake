# SPDX-License-Identifier: Apache-2.0
# The components of each kind of package; cpack reads this file once per kind.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_ALL dlc) # libraries come from Debian packages
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY OFF) # /usr, not /dlc-VERSION/usr
else()
  set(CPACK_COMPONENTS_ALL dlc libraries)
  set(CPACK_PACKAGING_INSTALL_PREFIX /)
endif()
