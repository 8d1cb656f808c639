# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` brings: program, man page, completion; library, headers, pkg-config file, CMake package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(TARGET stagecoach)
    install(TARGETS stagecoach RUNTIME)
    set(manual ${CMAKE_BINARY_DIR}/share/stagecoach.1)
    set(completion ${CMAKE_BINARY_DIR}/share/stagecoach.bash)
    add_custom_command(OUTPUT ${manual} ${completion}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/share
        COMMAND stagecoach help --man > ${manual}
        COMMAND stagecoach help --completion > ${completion}
        DEPENDS stagecoach VERBATIM COMMENT "man page and completion")
    add_custom_target(manual ALL DEPENDS ${manual} ${completion})
    install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME stagecoach)
endif()

include(Library)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stagecoach)
install(TARGETS libstagecoach EXPORT stagecoach LIBRARY PUBLIC_HEADER)
install(EXPORT stagecoach NAMESPACE stagecoach:: DESTINATION ${package_dir} FILE stagecoachConfig.cmake)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/share/stagecoachConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/stagecoach.pc.in ${CMAKE_BINARY_DIR}/share/stagecoach.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/share/stagecoachConfigVersion.cmake DESTINATION ${package_dir})
install(FILES ${CMAKE_BINARY_DIR}/share/stagecoach.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
