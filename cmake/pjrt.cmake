# SPDX-License-Identifier: Apache-2.0
# The PJRT plugin: one library that exports GetPjrtApi and nothing else.
file(GLOB BRAZE_PJRT_SOURCES CONFIGURE_DEPENDS src/pjrt/*.cc)
add_library(braze_pjrt SHARED ${BRAZE_PJRT_SOURCES})
target_link_libraries(braze_pjrt PRIVATE braze_objects)
target_compile_options(braze_pjrt PRIVATE -fno-exceptions -fno-rtti)
braze_precompile(braze_pjrt)
# These catch what protozero and the standard library throw.
set_source_files_properties(src/pjrt/plugin.cc src/pjrt/compile_options.cc
                            src/pjrt/op_sharding.cc src/pjrt/profiler.cc PROPERTIES
                            COMPILE_OPTIONS -fexceptions SKIP_PRECOMPILE_HEADERS ON)
target_link_options(braze_pjrt PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,--gc-sections
                    -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/pjrt/exports.map)
if(BRAZE_SANITIZE STREQUAL "thread")
  target_compile_options(braze_pjrt PRIVATE -fsanitize=thread)
endif()
# The wheel brings libraries in lib/ beside the plugin; DT_RPATH holds for what they need, too.
target_link_options(braze_pjrt PRIVATE -Wl,--disable-new-dtags -Wl,--as-needed)
set_target_properties(braze_pjrt PROPERTIES INSTALL_RPATH "$ORIGIN/lib" BUILD_WITH_INSTALL_RPATH ON)
set_property(TARGET braze_pjrt APPEND PROPERTY LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/pjrt/exports.map)

# A host in plain C, which needs the header alone.
add_executable(pjrt_host examples/pjrt_host/host.c)
target_include_directories(pjrt_host PRIVATE src/pjrt)
target_link_libraries(pjrt_host PRIVATE ${CMAKE_DL_LIBS})
