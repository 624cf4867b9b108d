# SPDX-License-Identifier: Apache-2.0
# Reading the standard library's and Abseil's headers is half of the time that a file takes to compile: they are read once
# for each target that asks. Not beside a compiler cache, which would keep nothing (and would miss that a file forgot an
# include, as all builds with one do not).
set(default ON)
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(default OFF)
endif()
option(BRAZE_PRECOMPILE "Compile common headers once" ${default})

# braze_precompile(TARGET [header ...]): the common headers and these.
function(braze_precompile target)
  if(BRAZE_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE <algorithm> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory>
      <optional> <string> <string_view> <utility> <vector> <absl/container/flat_hash_map.h>
      <absl/container/flat_hash_set.h> <absl/types/span.h> ${ARGN})
  endif()
endfunction()
