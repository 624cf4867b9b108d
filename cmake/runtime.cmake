# SPDX-License-Identifier: Apache-2.0
# libbraze_runtime.so: threads and library calls for programs compiled ahead of time. Its parts come from an archive
# of all objects, so that what it does not need, the code generator and LLVM above all, stays out.
add_library(braze_archive STATIC $<TARGET_OBJECTS:braze_objects>)
add_library(braze_runtime SHARED src/aot/runtime.cc)
add_library(braze::runtime ALIAS braze_runtime)
target_include_directories(braze_runtime PRIVATE src INTERFACE
                           $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(braze_runtime PRIVATE include)
target_compile_options(braze_runtime PRIVATE -fno-exceptions -fno-rtti)
target_link_libraries(braze_runtime PRIVATE braze_archive $<BUILD_INTERFACE:braze_dependencies>)
target_link_options(braze_runtime PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/runtime.map
                    -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,--gc-sections -Wl,--as-needed -Wl,-s)
set_target_properties(braze_runtime PROPERTIES EXPORT_NAME runtime VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/runtime.map)
