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

# The library is every folder but launch/. Symbols are hidden; the public headers mark what is exported.
file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/*.h)
if(headers)
    get_property(folders GLOBAL PROPERTY SC_FOLDERS)
    list(REMOVE_ITEM folders launch)
    list(TRANSFORM folders REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/library.map CONTENT "{ global: sc_*; local: *; };\n")
    add_library(libstagecoach SHARED ${objects})
    set_target_properties(libstagecoach PROPERTIES OUTPUT_NAME stagecoach EXPORT_NAME stagecoach
        VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} PUBLIC_HEADER "${headers}")
    target_link_libraries(libstagecoach PRIVATE ${folders}) # for what they link
    target_link_options(libstagecoach PRIVATE -Wl,--version-script=${CMAKE_BINARY_DIR}/library.map)
    target_include_directories(libstagecoach INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

    set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stagecoach)
    install(TARGETS libstagecoach EXPORT stagecoach LIBRARY PUBLIC_HEADER)
    install(EXPORT stagecoach NAMESPACE stagecoach:: DESTINATION ${package_dir} FILE stagecoachConfig.cmake)
    write_basic_package_version_file(${CMAKE_BINARY_DIR}/share/stagecoachConfigVersion.cmake
        COMPATIBILITY SameMinorVersion)
    file(RELATIVE_PATH up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    configure_file(cmake/stagecoach.pc.in ${CMAKE_BINARY_DIR}/share/stagecoach.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/share/stagecoachConfigVersion.cmake DESTINATION ${package_dir})
    install(FILES ${CMAKE_BINARY_DIR}/share/stagecoach.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
