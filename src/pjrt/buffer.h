// SPDX-License-Identifier: Apache-2.0
// PJRT_Buffer: an array on a device. Its bytes are shared (Storage) and may still be computed (`ready`).
//
// Data lies row-major unless `layout` (minor to major) says otherwise; types below a byte take one.
// A deleted or donated buffer keeps its shape but has no storage.
#pragma once

#include <mutex>
#include <string_view>
#include <vector>

#include "ir/shape.h"
#include "pjrt/client.h"
#include "pjrt/event.h"
#include "pjrt/storage.h"

struct PJRT_Buffer {
  PJRT_Memory* memory = nullptr;
  braze::Dtype dtype = braze::Dtype::kF32;
  braze::Dims dims;
  braze::Dims layout;  // empty: row-major

  std::mutex mutex;  // of what follows
  braze::pjrt::StorageRef storage;
  braze::pjrt::CompletionRef ready;  // null: it is
  std::vector<braze::pjrt::StorageRef> external;  // one per external reference
  braze::Dims order;  // what GetMemoryLayout gave

  PJRT_Device* device() const { return memory->device; }
  int64_t bytes() const { return braze::product(dims) * braze::byte_size(dtype); }
};

namespace braze::pjrt {

// A use of a buffer's bytes, which keeps them alive.
struct Hold {
  StorageRef storage;
  CompletionRef ready;
};
Result<Hold> hold(PJRT_Buffer& b, std::string_view what);

PJRT_Buffer* new_buffer(PJRT_Memory* memory, Dtype dtype, DimSpan dims, StorageRef storage,
                        CompletionRef ready = nullptr);

}  // namespace braze::pjrt
