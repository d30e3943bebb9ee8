# What of dlc a kind of package has; read by cpack for each.
if(CPACK_GENERATOR STREQUAL "DEB")
  set(CPACK_COMPONENTS_ALL dlc) # its libraries are Debian's packages
else()
  set(CPACK_COMPONENTS_ALL dlc libraries)
  set(CPACK_PACKAGING_INSTALL_PREFIX /)
endif()
