# SPDX-License-Identifier: Apache-2.0
# cmake --install: bin, lib, include, share, which can be moved together. cpack: a .deb, which names the Debian packages
# it needs, and a .tar.gz that has their libraries in it.
include(GNUInstallDirs)
set(private ${CMAKE_INSTALL_LIBDIR}/dlc) # libraries that are dlc's own affair

# RPATH, not RUNPATH: it holds for what the libraries need in turn. In the build tree as well: CMake would fill a shorter
# one up with empty entries, each of which is the working folder.
foreach(target dlc dlc-compile)
  file(RELATIVE_PATH to_lib /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set(beside "$ORIGIN/${to_lib};$ORIGIN/${to_lib}/dlc")
  set_target_properties(${target} PROPERTIES BUILD_RPATH "${beside}" INSTALL_RPATH "${beside}")
  target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endforeach()
set_target_properties(dlc_runtime PROPERTIES BUILD_RPATH "$ORIGIN/dlc" INSTALL_RPATH "$ORIGIN/dlc")
target_link_options(dlc_runtime PRIVATE -Wl,--disable-new-dtags)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dlc)
install(TARGETS dlc dlc-compile RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS dlc_runtime LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES runtime/api/dlc/dlc.h runtime/api/dlc/compile.h runtime/api/dlc/dlc.hpp runtime/plan/ops/dlc_op.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dlc)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY models/examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Beside bin, where `dlc data samples` looks; in the build folder, too.
file(GLOB samples CONFIGURE_DEPENDS models/*.onnx models/*.npz models/*.json)
install(FILES ${samples} models/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/dlc/models)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/share/dlc)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/models ${CMAKE_BINARY_DIR}/share/dlc/models SYMBOLIC)

# dlc-data runs by whatever Python is there, which needs pyarrow and tokenizers.
set(DLC_DATA_PYTHON "/usr/bin/env python3")
file(RELATIVE_PATH DLC_DATA_FOLDER /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_DATADIR}/dlc/python)
configure_file(runtime/python/dlc-data.in ${CMAKE_BINARY_DIR}/dlc-data @ONLY)
install(PROGRAMS ${CMAKE_BINARY_DIR}/dlc-data DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY runtime/python/dlc_data DESTINATION ${CMAKE_INSTALL_DATADIR}/dlc/python FILES_MATCHING PATTERN "*.py")

include(CMakePackageConfigHelpers)
configure_package_config_file(tools/cmake/dlcConfig.cmake.in ${CMAKE_BINARY_DIR}/dlcConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dlc PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/dlcConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/dlcConfig.cmake ${CMAKE_BINARY_DIR}/dlcConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/dlc)

# Man pages and completions, by the program itself.
install(CODE "
  set(share \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")
  set(shells bash zsh fish)
  set(files bash-completion/completions/dlc zsh/site-functions/_dlc fish/vendor_completions.d/dlc.fish)
  foreach(shell file IN ZIP_LISTS shells files)
    get_filename_component(folder \"\${share}/\${file}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND $<TARGET_FILE:dlc> completion \${shell} OUTPUT_FILE \"\${share}/\${file}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  file(MAKE_DIRECTORY \"\${share}/man/man1\")
  execute_process(COMMAND $<TARGET_FILE:dlc> man \"\${share}/man/man1\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT dlc)

# oneDNN is of the Python environment: no package has this version.
get_target_property(dnnl DNNL::dnnl LOCATION)
get_filename_component(dnnl_file ${dnnl} REALPATH)
install(FILES ${dnnl_file} DESTINATION ${private} RENAME libdnnl.so.3)

# Whose code is in the package: licence texts and an SBOM, of what the build has used.
install(CODE "
  execute_process(COMMAND ${DLC_PYTHON} ${CMAKE_SOURCE_DIR}/tools/notices.py --version=${PROJECT_VERSION} --build=${CMAKE_BINARY_DIR}
    \"--to=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT dlc)

# What a plain Debian does not have, for the .tar.gz and for prefixes that are moved to another machine.
install(CODE "
  set(private \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${private}\")
  set(system [[^lib(c|m|dl|rt|pthread|gcc_s|stdc\\+\\+)\\.so|^ld-linux]])
  file(GET_RUNTIME_DEPENDENCIES EXECUTABLES $<TARGET_FILE:dlc> $<TARGET_FILE:dlc-compile> LIBRARIES $<TARGET_FILE:dlc_runtime>
    RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing
    PRE_EXCLUDE_REGEXES \"\${system}\" [[^libdnnl]] [[^libdlc]])
  if(missing)
    message(FATAL_ERROR \"not found, but needed by dlc: \${missing}\")
  endif()
  file(INSTALL \${found} DESTINATION \"\${private}\" FOLLOW_SYMLINK_CHAIN)" COMPONENT libraries)

set(CPACK_PACKAGE_NAME dlc)
set(CPACK_PACKAGE_CONTACT "the developers of dlc <dlc@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "trains ONNX models: compile once, run anywhere")
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/tools/cmake/Package.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib ${DLC_VENV}/lib)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "nvidia-cuda-toolkit, python3")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)
