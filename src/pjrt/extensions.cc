// SPDX-License-Identifier: Apache-2.0
#include "pjrt/extensions.h"

#include "pjrt/error.h"
#include "pjrt/executable.h"
#include "pjrt/ffi.h"
#include "pjrt/layouts.h"
#include "pjrt/profiler.h"

namespace braze::pjrt {
namespace {

// The Shardings extension. Null lists: the program says nothing of shardings.
struct ShardingsArgs {
  PJRT_HEAD
  PJRT_Executable* executable;
  size_t count;
  const char* const* shardings;
  const size_t* sizes;
};
struct ShardingsExtension {
  PJRT_Extension_Base base;
  PJRT_Error* (*arguments)(ShardingsArgs*);
  PJRT_Error* (*results)(ShardingsArgs*);
};

PJRT_Error* argument_shardings(ShardingsArgs* a) {
  const Compiled& c = *a->executable->compiled;
  a->count = c.program->facts().arguments.size();
  a->shardings = c.argument_shardings.empty() ? nullptr : c.argument_shardings.data();
  a->sizes = c.argument_sharding_sizes.data();
  return nullptr;
}
PJRT_Error* result_shardings(ShardingsArgs* a) {
  const Compiled& c = *a->executable->compiled;
  a->count = c.program->facts().results.size();
  a->shardings = c.result_shardings.empty() ? nullptr : c.result_shardings.data();
  a->sizes = c.result_sharding_sizes.data();
  return nullptr;
}

}  // namespace

PJRT_Extension_Base* extensions() {
  static ShardingsExtension shardings = {
      {sizeof(ShardingsExtension), PJRT_Extension_Type_Shardings, nullptr},
      argument_shardings, result_shardings};
  return profiler_extension(layouts_extension(ffi::extension(&shardings.base)));
}

}  // namespace braze::pjrt
