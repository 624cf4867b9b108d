// SPDX-License-Identifier: Apache-2.0
// Node construction, and the float formats that MLIR attributes can hold.
#include "frontend/mlir_build.h"

#include <algorithm>
#include <cstring>

#include "base/floats.h"

namespace braze::mlir {
namespace {

struct NamedFormat {
  std::string_view name;
  uint32_t bits;
  FloatFormat format;
};
constexpr FloatFormat kWide{0, 0, 0};  // held as bytes only
constexpr NamedFormat kFormats[] = {
    {"f32", 32, kF32Format},
    {"f64", 64, kF64Format},
    {"bf16", 16, kBF16Format},
    {"f16", 16, kF16Format},
    {"tf32", 19, {8, 10, 127}},
    {"f8E5M2", 8, kF8E5M2Format},
    {"f8E4M3", 8, kF8E4M3Format},
    {"f8E3M4", 8, kF8E3M4Format},
    {"f8E4M3FN", 8, kF8E4M3FNFormat},
    {"f8E4M3FNUZ", 8, kF8E4M3FNUZFormat},
    {"f8E5M2FNUZ", 8, kF8E5M2FNUZFormat},
    {"f8E4M3B11FNUZ", 8, kF8E4M3B11FNUZFormat},
    {"f8E8M0FNU", 8, kF8E8M0FNUFormat},
    {"f6E2M3FN", 6, kF6E2M3FNFormat},
    {"f6E3M2FN", 6, kF6E3M2FNFormat},
    {"f4E2M1FN", 4, kF4E2M1FNFormat},
    {"f80", 80, kWide},
    {"f128", 128, kWide},
};

const NamedFormat* find_format(std::string_view name) {
  for (const NamedFormat& f : kFormats) {
    if (f.name == name) return &f;
  }
  return nullptr;
}

}  // namespace

uint32_t float_bits(std::string_view name) {
  const NamedFormat* f = find_format(name);
  return f ? f->bits : 0;
}

uint64_t encode_float(std::string_view name, double v) {
  const NamedFormat* f = find_format(name);
  return f && f->bits <= 64 ? encode(f->format, v) : 0;
}

double decode_float(std::string_view name, uint64_t bits) {
  const NamedFormat* f = find_format(name);
  return f && f->bits <= 64 ? decode(f->format, bits) : 0;
}

size_t Builder::TypeHash::operator()(const Type* t) const {
  size_t h = static_cast<size_t>(t->kind) * 31 + t->bits * 4 + static_cast<size_t>(t->sign);
  auto mix = [&h](size_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ull ^ (h >> 29); };
  for (int64_t d : t->dims) mix(static_cast<size_t>(d));
  mix(reinterpret_cast<uintptr_t>(t->element));
  for (const Type* x : t->inputs) mix(reinterpret_cast<uintptr_t>(x));
  for (const Type* x : t->results) mix(reinterpret_cast<uintptr_t>(x));
  for (char c : t->name) mix(static_cast<unsigned char>(c));
  return h;
}

const Type* Builder::make_type(const Type& t) {
  auto it = types_.find(&t);
  if (it != types_.end()) return *it;
  Type* p = arena_->make(t);
  uint64_t weight = 1 + (t.element ? t.element->weight : 0) + (t.encoding ? t.encoding->weight : 0);
  for (const Type* x : t.inputs) weight += x->weight;
  for (const Type* x : t.results) weight += x->weight;
  p->weight = static_cast<uint32_t>(std::min<uint64_t>(weight, UINT32_MAX));
  types_.insert(p);
  return p;
}

const Attr* Builder::make(const Attr& a) {
  Attr* p = arena_->make(a);
  uint64_t weight = 1 + (a.type ? a.type->weight : 0);
  for (const Attr* x : a.items) weight += x->weight;
  for (const NamedAttr& x : a.fields) weight += x.value->weight;
  p->weight = static_cast<uint32_t>(std::min<uint64_t>(weight, UINT32_MAX));
  return p;
}

const Type* Builder::integer(uint32_t bits, Sign sign) {
  return make_type({.kind = TypeKind::kInteger, .sign = sign, .bits = bits});
}

const Type* Builder::floating(std::string_view name) {
  const NamedFormat* f = find_format(name);
  if (!f) return nullptr;
  return make_type({.kind = TypeKind::kFloat, .bits = f->bits, .name = f->name});
}

const Type* Builder::tensor(std::span<const int64_t> dims, const Type* element,
                            const Attr* encoding) {
  Type t{.kind = TypeKind::kTensor, .dims = dims, .element = element, .encoding = encoding};
  auto it = types_.find(&t);
  if (it != types_.end()) return *it;
  t.dims = arena_->copy(dims.data(), dims.size());
  return make_type(t);
}

const Attr* Builder::float_attr(double v, const Type* type) {
  return float_bits_attr(encode_float(type->name, v), type);
}

const Attr* Builder::float_bits_attr(uint64_t bits, const Type* type) {
  return make({.kind = AttrKind::kFloat,
               .type = type,
               .i = static_cast<int64_t>(bits),
               .f = decode_float(type->name, bits)});
}

const Attr* Builder::dims(std::span<const int64_t> values) {
  char* p = arena_->bytes(values.size() * 8);
  if (!values.empty()) std::memcpy(p, values.data(), values.size() * 8);
  return make(
      {.kind = AttrKind::kDenseArray, .type = integer(64), .bytes = {p, values.size() * 8}});
}

const Attr* Builder::bools(std::span<const int64_t> values) {
  char* p = arena_->bytes(values.size());
  for (size_t k = 0; k < values.size(); ++k) p[k] = values[k] != 0;
  return make({.kind = AttrKind::kDenseArray, .type = integer(1), .bytes = {p, values.size()}});
}

const Attr* Builder::segments(std::initializer_list<int64_t> sizes) {
  char* p = arena_->bytes(sizes.size() * 4);
  size_t k = 0;
  for (int64_t n : sizes) {
    int32_t v = static_cast<int32_t>(n);
    std::memcpy(p + 4 * k++, &v, 4);
  }
  return make({.kind = AttrKind::kDenseArray, .type = integer(32), .bytes = {p, 4 * k}});
}

const Attr* Builder::with_fields(AttrKind kind, std::string_view name,
                                 std::vector<NamedAttr>& fields) {
  if (!sort_by_name(fields)) return nullptr;
  return make({.kind = kind, .name = name, .fields = arena_->copy(fields)});
}

const Attr* Builder::canonical_elements(const Type* type, std::string_view bytes) {
  size_t size = element_bytes(*type->element);
  int64_t count = element_count(*type);
  if (count == 0) return make({.kind = AttrKind::kElements, .type = type});
  bool splat = count > 1;
  for (size_t k = size; splat && k < bytes.size(); k += size) {
    splat = std::memcmp(bytes.data(), bytes.data() + k, size) == 0;
  }
  return make({.kind = AttrKind::kElements,
               .splat = splat,
               .type = type,
               .bytes = splat ? bytes.substr(0, size) : bytes});
}

const Attr* Builder::elements(const Type* type, std::string_view raw) {
  if (!type || !type->element) return nullptr;
  const Type* element = type->element;
  int64_t count = element_count(*type);
  size_t size = element_bytes(*element);
  if (count < 0 || size == 0) return nullptr;
  uint64_t n = static_cast<uint64_t>(count);
  if (n == 0) return raw.size() <= size ? canonical_elements(type, {}) : nullptr;
  if (!element->is_int(1)) {
    bool fits = raw.size() == size || (raw.size() % size == 0 && raw.size() / size == n);
    return fits ? canonical_elements(type, raw) : nullptr;
  }
  bool per_byte = raw.size() == n && (n != 1 || static_cast<uint8_t>(raw[0]) <= 1);
  bool splat = !per_byte && raw.size() == 1 &&
               (raw[0] == 0 || static_cast<uint8_t>(raw[0]) == 0xff || n > 8);
  if (!per_byte && !splat && raw.size() != (n + 7) / 8) return nullptr;
  size_t m = splat ? 1 : n;
  char* p = arena_->bytes(m);
  for (size_t k = 0; k < m; ++k) {
    p[k] = per_byte || splat ? raw[k] != 0 : (raw[k / 8] >> (k % 8)) & 1;
  }
  return canonical_elements(type, {p, m});
}

bool sort_by_name(std::vector<NamedAttr>& attrs) {
  auto less = [](const NamedAttr& a, const NamedAttr& b) { return a.name < b.name; };
  if (!std::is_sorted(attrs.begin(), attrs.end(), less)) {
    std::stable_sort(attrs.begin(), attrs.end(), less);
  }
  for (size_t k = 1; k < attrs.size(); ++k) {
    if (attrs[k].name == attrs[k - 1].name) return false;
  }
  return true;
}

}  // namespace braze::mlir
