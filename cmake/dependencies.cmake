# SPDX-License-Identifier: Apache-2.0
# Everything Braze links, gathered in one interface target. All come from the distribution.
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
find_library(BRAZE_ZSTD zstd REQUIRED)
find_package(ZLIB REQUIRED)
find_library(BRAZE_XXHASH xxhash REQUIRED)
find_path(BRAZE_PROTOZERO protozero/pbf_reader.hpp REQUIRED)  # headers only
find_library(BRAZE_LAPACK lapack REQUIRED)
find_library(BRAZE_BLAS blas REQUIRED)

# The static LLVM libraries are linked, so that a host process may carry its own LLVM.
llvm_map_components_to_libnames(BRAZE_LLVM core object orcjit x86codegen x86asmparser x86desc
                                x86info passes support target)

add_library(braze_dependencies INTERFACE)
target_include_directories(braze_dependencies SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_link_libraries(braze_dependencies INTERFACE
  absl::status absl::statusor absl::strings absl::str_format absl::flat_hash_map
  absl::flat_hash_set absl::inlined_vector absl::span absl::function_ref absl::hash
  nlohmann_json::nlohmann_json ${BRAZE_LLVM} ${BRAZE_ZSTD} ZLIB::ZLIB ${BRAZE_XXHASH} ${BRAZE_LAPACK} ${BRAZE_BLAS}
  Threads::Threads)
target_link_options(braze_dependencies INTERFACE -fuse-ld=lld -Wl,--build-id=sha1)
