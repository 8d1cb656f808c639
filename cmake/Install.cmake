# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` brings: program, man page, completions; library, headers, pkg-config file, CMake package.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(TARGET stagecoach)
    install(TARGETS stagecoach RUNTIME)
    set(manual ${CMAKE_BINARY_DIR}/share/stagecoach.1)
    set(completions ${CMAKE_BINARY_DIR}/share/stagecoach) # and the shell's name
    add_custom_command(OUTPUT ${manual} ${completions}.bash ${completions}.zsh ${completions}.fish
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/share
        COMMAND stagecoach help --man > ${manual}
        COMMAND stagecoach help --completion bash > ${completions}.bash
        COMMAND stagecoach help --completion zsh > ${completions}.zsh
        COMMAND stagecoach help --completion fish > ${completions}.fish
        DEPENDS stagecoach VERBATIM COMMENT "man page and completions")
    add_custom_target(manual ALL DEPENDS ${manual} ${completions}.bash ${completions}.zsh ${completions}.fish)
    install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    install(FILES ${completions}.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME stagecoach)
    install(FILES ${completions}.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _stagecoach)
    install(FILES ${completions}.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
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
