# SPDX-License-Identifier: Apache-2.0
# libstagecoach: every folder but launch/ in one shared library. Symbols are hidden; those that the public headers mark with
# SC_PUBLIC are exported, and the version script, made from these marks, says so once more.
file(GLOB SC_HEADERS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/*.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SC_HEADERS})
set(exported "")
foreach(header ${SC_HEADERS})
    file(READ ${header} text)
    string(REGEX MATCHALL "\nSC_PUBLIC [^;(]*\\(" marks "${text}")
    foreach(mark ${marks})
        string(REGEX REPLACE ".*[ *]([a-z0-9_]+)\\($" "\\1" name "${mark}")
        list(APPEND exported ${name})
    endforeach()
endforeach()
list(SORT exported)
string(REPLACE ";" ";\n    " lines "${exported}")
set(SC_NODE STAGECOACH_${PROJECT_VERSION_MAJOR})
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/library.map CONTENT "@SC_NODE@ {\nglobal:\n    @lines@;\nlocal:\n    *;\n};\n" @ONLY)

get_property(folders GLOBAL PROPERTY SC_FOLDERS)
list(REMOVE_ITEM folders launch)
list(TRANSFORM folders REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
add_library(libstagecoach SHARED ${objects})
set_target_properties(libstagecoach PROPERTIES OUTPUT_NAME stagecoach EXPORT_NAME stagecoach LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} PUBLIC_HEADER "${SC_HEADERS}"
    LINK_DEPENDS ${CMAKE_BINARY_DIR}/library.map)
target_link_libraries(libstagecoach PRIVATE ${folders}) # for what they link
target_link_options(libstagecoach PRIVATE -Wl,--version-script=${CMAKE_BINARY_DIR}/library.map -Wl,--no-undefined)
target_include_directories(libstagecoach INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
