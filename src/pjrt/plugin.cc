// SPDX-License-Identifier: Apache-2.0
// GetPjrtApi: the one symbol of the plugin. Wraps each slot for C: a host built against another version
// may pass a shorter argument struct; errors become PJRT_Error; exceptions of the standard library
// (no memory) become errors too, which is why this file is compiled with exceptions.
#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

#include "pjrt/error.h"
#include "pjrt/extensions.h"
#include "pjrt/slots.h"

namespace braze::pjrt {
namespace {

template <typename A, Status (*slot)(A&)>
PJRT_Error* entry(A* a) noexcept {
  try {
    if (a->struct_size + 7 >= sizeof(A)) return to_error(slot(*a));  // but for padding at the end
    A whole;
    std::memset(static_cast<void*>(&whole), 0, sizeof(A));
    std::memcpy(static_cast<void*>(&whole), a, a->struct_size);
    Status s = slot(whole);
    std::memcpy(static_cast<void*>(a), &whole, a->struct_size);
    return to_error(s);
  } catch (const std::bad_alloc&) {
    return to_error(exhausted("out of memory"));
  } catch (const std::exception& e) {
    return to_error(internal(e.what()));
  }
}

// Hosts of API 0.67 and older tell a size that leaves out the count, which their struct has.
PJRT_Error* attributes_entry(PJRT_Plugin_Attributes_Args* a) noexcept {
  const size_t told = a->struct_size;
  if (told >= offsetof(PJRT_Plugin_Attributes_Args, num_attributes)) a->struct_size = sizeof(*a);
  PJRT_Error* e = entry<PJRT_Plugin_Attributes_Args, Plugin_Attributes>(a);
  a->struct_size = told;
  return e;
}

constexpr int64_t kCurrent[] = {1, 17, 0}, kMinimum[] = {0, 9, 0};

PJRT_NamedValue list(const char* name, const int64_t* values, size_t n) {
  PJRT_NamedValue v = {};
  v.struct_size = sizeof(v);
  v.name = name;
  v.name_size = std::strlen(name);
  v.type = PJRT_NamedValue_kInt64List;
  v.int64_array_value = values;
  v.value_size = n;
  return v;
}

PJRT_Api make_api() {
  PJRT_Api api = {};
  api.struct_size = sizeof(PJRT_Api);
  api.extension_start = extensions();
  api.pjrt_api_version.struct_size = sizeof(PJRT_Api_Version);
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;
#define SLOT(name, ...) api.PJRT_##name = entry<PJRT_##name##_Args, name>;
#include "pjrt/c_api_slots.def"
#undef SLOT
  api.PJRT_Plugin_Attributes = attributes_entry;
  return api;
}

}  // namespace

Status Plugin_Initialize(PJRT_Plugin_Initialize_Args&) { return absl::OkStatus(); }

// Says which StableHLO a host may send.
Status Plugin_Attributes(PJRT_Plugin_Attributes_Args& a) {
  static const PJRT_NamedValue attributes[] = {
      list("stablehlo_current_version", kCurrent, 3),
      list("stablehlo_minimum_version", kMinimum, 3),
  };
  a.attributes = attributes;
  a.num_attributes = std::size(attributes);
  return absl::OkStatus();
}

}  // namespace braze::pjrt

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api api = braze::pjrt::make_api();
  return &api;
}
