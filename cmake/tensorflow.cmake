# SPDX-License-Identifier: Apache-2.0
# The library by which TensorFlow uses the PJRT plugin. Needs no header of TensorFlow, and of this project
# the plugin's C header alone. build/site-packages/tensorflow-plugins is where TensorFlow looks when
# build/site-packages is on PYTHONPATH; a wheel has the same folders.
file(GLOB BRAZE_TF_SOURCES CONFIGURE_DEPENDS src/tf/*.cc)
add_library(braze_tf MODULE ${BRAZE_TF_SOURCES})
target_include_directories(braze_tf PRIVATE src)
target_link_libraries(braze_tf PRIVATE ${CMAKE_DL_LIBS})
target_compile_options(braze_tf PRIVATE -Wall -Wextra -fno-exceptions -fno-rtti)
target_link_options(braze_tf PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/src/tf/exports.map
                    -Wl,--no-undefined)
set_target_properties(braze_tf PROPERTIES LIBRARY_OUTPUT_DIRECTORY
                      ${CMAKE_BINARY_DIR}/site-packages/tensorflow-plugins)
set_property(TARGET braze_tf APPEND PROPERTY LINK_DEPENDS ${CMAKE_SOURCE_DIR}/src/tf/exports.map)
