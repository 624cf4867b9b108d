# SPDX-License-Identifier: Apache-2.0
# The shared library libbraze.so, and `cmake --install`: library, header, tool and the files by which
# another CMake project finds them with find_package(braze).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# LLVM is inside and hidden. Abseil, zstd, xxHash, zlib and LAPACK are the distribution's shared
# libraries: Debian's abseil has a namespace of its own, so a host's other abseil does not meet it.
add_library(braze SHARED $<TARGET_OBJECTS:braze_objects>)
add_library(braze::braze ALIAS braze)
target_include_directories(braze INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(braze INTERFACE cxx_std_17)
target_link_libraries(braze PRIVATE $<BUILD_INTERFACE:braze_dependencies>)
target_link_options(braze PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/braze.map
                    -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,--gc-sections -Wl,--as-needed -Wl,-s)
set_target_properties(braze PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                      LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/braze.map)
if(BRAZE_SANITIZE)
  target_link_options(braze PRIVATE -fsanitize=${BRAZE_SANITIZE})
endif()

install(TARGETS braze braze_runtime EXPORT braze-targets)
install(TARGETS braze_tool)
install(DIRECTORY include/braze TYPE INCLUDE)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/braze)
install(EXPORT braze-targets NAMESPACE braze:: DESTINATION ${package})
configure_package_config_file(cmake/braze-config.cmake.in braze-config.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(braze-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/braze-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/braze-config-version.cmake DESTINATION ${package})
