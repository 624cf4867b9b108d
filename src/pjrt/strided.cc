// SPDX-License-Identifier: Apache-2.0
#include "pjrt/strided.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace braze::pjrt {
namespace {

struct Axis {
  int64_t size, to, from;
};

template <typename T>
void copy_row(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T v;
    std::memcpy(&v, from + i * from_stride, sizeof(T));
    std::memcpy(to + i * to_stride, &v, sizeof(T));
  }
}
struct Sixteen {
  char bytes[16];
};

void copy_axis(char* to, const char* from, const Axis& a, int64_t item) {
  if (a.to == item && a.from == item) {
    std::memcpy(to, from, a.size * item);
    return;
  }
  switch (item) {
    case 1: return copy_row<uint8_t>(to, a.to, from, a.from, a.size);
    case 2: return copy_row<uint16_t>(to, a.to, from, a.from, a.size);
    case 4: return copy_row<uint32_t>(to, a.to, from, a.from, a.size);
    case 8: return copy_row<uint64_t>(to, a.to, from, a.from, a.size);
    case 16: return copy_row<Sixteen>(to, a.to, from, a.from, a.size);
    default:
      for (int64_t i = 0; i < a.size; ++i) std::memcpy(to + i * a.to, from + i * a.from, item);
  }
}

void copy_axes(char* to, const char* from, absl::Span<const Axis> axes, int64_t item) {
  if (axes.size() == 1) return copy_axis(to, from, axes[0], item);
  for (int64_t i = 0; i < axes[0].size; ++i)
    copy_axes(to + i * axes[0].to, from + i * axes[0].from, axes.subspan(1), item);
}

}  // namespace

bool is_row_major_order(DimSpan m) {
  for (size_t i = 0; i < m.size(); ++i)
    if (m[i] != static_cast<int64_t>(m.size() - 1 - i)) return false;
  return true;
}

Dims byte_strides(DimSpan dims, DimSpan minor_to_major, int64_t item) {
  Dims out(dims.size(), item);
  int64_t stride = item;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t d = minor_to_major.empty() ? dims.size() - 1 - i : minor_to_major[i];
    out[d] = stride;
    stride *= dims[d];
  }
  return out;
}

void copy_strided(char* to, DimSpan to_strides, const char* from, DimSpan from_strides, DimSpan dims,
                  int64_t item) {
  std::vector<Axis> axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) return;
    if (dims[i] != 1) axes.push_back({dims[i], to_strides[i], from_strides[i]});
  }
  // Outer axes are those with long steps in the target; neighbours that continue each other are one.
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return std::abs(a.to) > std::abs(b.to); });
  std::vector<Axis> merged;
  for (const Axis& a : axes) {
    if (!merged.empty() && merged.back().to == a.to * a.size && merged.back().from == a.from * a.size)
      merged.back() = {merged.back().size * a.size, a.to, a.from};
    else
      merged.push_back(a);
  }
  if (merged.empty()) {
    std::memcpy(to, from, item);
    return;
  }
  copy_axes(to, from, merged, item);
}

void normalize_small(char* data, int64_t n, Dtype t) {
  const int bits = bit_size(t);
  if (bits >= 8 || is_pred(t)) return;
  const int shift = 8 - bits;
  auto* p = reinterpret_cast<uint8_t*>(data);
  if (is_signed_int(t))
    for (int64_t i = 0; i < n; ++i)
      p[i] = static_cast<uint8_t>(static_cast<int8_t>(p[i] << shift) >> shift);
  else
    for (int64_t i = 0; i < n; ++i) p[i] &= (1 << bits) - 1;
}

Result<Dims> strides_of(const PJRT_Buffer_MemoryLayout* layout, DimSpan dims, int64_t item) {
  if (!layout) return byte_strides(dims, {}, item);
  if (layout->type == PJRT_Buffer_MemoryLayout_Type_Strides) {
    const auto& s = layout->strides;
    if (s.num_byte_strides != dims.size())
      return invalid("a layout of ", s.num_byte_strides, " strides for an array of rank ", dims.size());
    return Dims(s.byte_strides, s.byte_strides + s.num_byte_strides);
  }
  const auto& t = layout->tiled;
  if (t.num_tiles != 0) return unimplemented("tiled layouts");
  if (t.minor_to_major_size != dims.size())
    return invalid("a layout of ", t.minor_to_major_size, " dimensions for an array of rank ",
                   dims.size());
  const DimSpan order(t.minor_to_major, t.minor_to_major_size);
  std::vector<bool> seen(dims.size());
  for (int64_t d : order) {
    if (d < 0 || d >= static_cast<int64_t>(dims.size()) || seen[d])
      return invalid("minor_to_major {", join(order), "} is no order of ", dims.size(), " dimensions");
    seen[d] = true;
  }
  return byte_strides(dims, order, item);
}

}  // namespace braze::pjrt
