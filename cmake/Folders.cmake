# SPDX-License-Identifier: Apache-2.0
# sc_folder(NAME LINKS ...): the library of one folder, all of whose .c files it takes. Its link list is what it may include.
add_library(sc_warnings INTERFACE)
target_compile_options(sc_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wcast-qual -Wundef -Wvla
    -Wno-maybe-uninitialized # GCC at -O3 does not see that a call which fails never returns SC_OK
    -Wno-format-truncation # messages are cut to their buffers on purpose
    $<$<BOOL:${SC_WERROR}>:-Werror> -fwrapv -ffp-contract=off
    -fno-math-errno -fno-trapping-math) # nobody reads errno or the flags of floats: loops with a choice become vectors
target_compile_definitions(sc_warnings INTERFACE _POSIX_C_SOURCE=200809L SC_VERSION="${PROJECT_VERSION}")

function(sc_folder name)
    cmake_parse_arguments(A "" "" "SUBFOLDERS;LINKS" ${ARGN})
    set(patterns ${CMAKE_SOURCE_DIR}/${name}/*.c)
    foreach(sub ${A_SUBFOLDERS})
        list(APPEND patterns ${CMAKE_SOURCE_DIR}/${name}/${sub}/*.c)
    endforeach()
    file(GLOB sources CONFIGURE_DEPENDS ${patterns})
    add_library(${name} STATIC ${sources})
    set_property(GLOBAL APPEND PROPERTY SC_FOLDERS ${name})
    set_target_properties(${name} PROPERTIES OUTPUT_NAME sc_${name} LINKER_LANGUAGE C)
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} PRIVATE sc_warnings ${A_LINKS})
endfunction()
