// SPDX-License-Identifier: Apache-2.0
// The op tree's own operations: arena, lookup, structural equality, decoding of elements.
#include "frontend/mlir_ast.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace braze::mlir {
namespace {

constexpr size_t kChunk = 64 << 10;
constexpr int64_t kMaxElements = int64_t{1} << 48;

const Attr* find(std::span<const NamedAttr> list, std::string_view name) {
  auto it = std::lower_bound(list.begin(), list.end(), name,
                             [](const NamedAttr& a, std::string_view n) { return a.name < n; });
  return it != list.end() && it->name == name ? it->value : nullptr;
}

bool equal_types(std::span<const Type* const> a, std::span<const Type* const> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Type* x, const Type* y) { return equal(x, y); });
}

bool equal_quant(const Quant* a, const Quant* b) {
  if (!a || !b) return a == b;
  return equal(a->storage, b->storage) && equal(a->expressed, b->expressed) &&
         a->storage_min == b->storage_min && a->storage_max == b->storage_max &&
         a->axis == b->axis && std::ranges::equal(a->scales, b->scales) &&
         std::ranges::equal(a->zero_points, b->zero_points);
}

}  // namespace

void* Arena::allocate(size_t bytes, size_t align) {
  size_t pad = -reinterpret_cast<uintptr_t>(next_) & (align - 1);
  if (!next_ || pad + bytes > left_) {
    size_t size = std::max(bytes + align, kChunk);
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    char* start = chunks_.back().get();
    if (bytes >= kChunk / 2) {  // a big block has its own chunk; the open one stays in use
      return start + (-reinterpret_cast<uintptr_t>(start) & (align - 1));
    }
    next_ = start;
    left_ = size;
    pad = -reinterpret_cast<uintptr_t>(next_) & (align - 1);
  }
  char* p = next_ + pad;
  next_ = p + bytes;
  left_ -= pad + bytes;
  return p;
}

const Attr* Attr::field(std::string_view n) const { return find(fields, n); }
const Attr* Op::attr(std::string_view n) const { return find(attrs, n); }

const Op* Module::symbol(std::string_view name) const {
  for (const Op* o : body().ops) {
    const Attr* s = o->attr("sym_name");
    if (s && s->text == name) return o;
  }
  return nullptr;
}

bool equal(const Type* a, const Type* b) {
  if (a == b) return true;
  if (!a || !b) return false;
  return a->kind == b->kind && a->sign == b->sign && a->ranked == b->ranked && a->bits == b->bits &&
         a->name == b->name && a->text == b->text && std::ranges::equal(a->dims, b->dims) &&
         equal(a->element, b->element) && equal(a->encoding, b->encoding) &&
         equal_types(a->inputs, b->inputs) && equal_types(a->results, b->results) &&
         equal_quant(a->quant, b->quant);
}

bool equal(const Attr* a, const Attr* b) {
  if (a == b) return true;
  if (!a || !b) return false;
  if (a->kind != b->kind || a->splat != b->splat || a->i != b->i || a->name != b->name ||
      a->text != b->text || a->bytes != b->bytes || !equal(a->type, b->type) ||
      std::bit_cast<int64_t>(a->f) != std::bit_cast<int64_t>(b->f)) {
    return false;
  }
  return std::equal(a->items.begin(), a->items.end(), b->items.begin(), b->items.end(),
                    [](const Attr* x, const Attr* y) { return equal(x, y); }) &&
         std::equal(a->fields.begin(), a->fields.end(), b->fields.begin(), b->fields.end(),
                    [](const NamedAttr& x, const NamedAttr& y) {
                      return x.name == y.name && equal(x.value, y.value);
                    });
}

int64_t element_count(const Type& t) {
  int64_t n = 1;
  if (!t.ranked) return -1;
  bool zero = false;
  for (int64_t d : t.dims) {
    if (d < 0) return -1;
    if (d == 0) {
      zero = true;
    } else if (__builtin_mul_overflow(n, d, &n) || n > kMaxElements) {
      return -1;
    }
  }
  return zero ? 0 : n;
}

size_t element_bytes(const Type& e) {
  switch (e.kind) {
    case TypeKind::kInteger:
    case TypeKind::kFloat:
      return (e.bits + 7) / 8;
    case TypeKind::kIndex:
      return 8;
    case TypeKind::kComplex:
      return e.element ? 2 * element_bytes(*e.element) : 0;
    case TypeKind::kQuantized:
      return element_bytes(*e.element);
    default:
      return 0;
  }
}

int64_t int_at(const Attr& a, size_t k) {
  const Type* e = a.type;
  if (a.kind == AttrKind::kElements) {
    e = e ? e->element : nullptr;
    if (a.splat) k = 0;
  }
  if (!e) return 0;
  size_t n = element_bytes(*e);
  if (n == 0 || n > 8 || k >= a.bytes.size() / n) return 0;
  uint64_t raw = 0;
  std::memcpy(&raw, a.bytes.data() + k * n, n);
  if (e->kind == TypeKind::kQuantized) e = e->element;
  uint32_t bits = e->kind == TypeKind::kIndex ? 64 : e->bits;
  if (bits >= 64 || bits == 0) return static_cast<int64_t>(raw);
  raw &= (uint64_t{1} << bits) - 1;
  if (e->sign == Sign::kUnsigned || bits == 1) return static_cast<int64_t>(raw);
  return static_cast<int64_t>(raw << (64 - bits)) >> (64 - bits);
}

Result<std::vector<int64_t>> int_list(const Attr& a) {
  std::vector<int64_t> r;
  if (a.kind == AttrKind::kArray) {
    for (const Attr* x : a.items) {
      if (x->kind != AttrKind::kInt) return invalid("expected a list of integers");
      r.push_back(x->i);
    }
    return r;
  }
  if ((a.kind != AttrKind::kDenseArray && a.kind != AttrKind::kElements) || !a.type) {
    return invalid("expected a list of integers");
  }
  const Type* e = a.kind == AttrKind::kElements ? a.type->element : a.type;
  if (!e || (e->kind != TypeKind::kInteger && e->kind != TypeKind::kIndex)) {
    return invalid("expected integer elements");
  }
  size_t bytes = element_bytes(*e);
  if (bytes == 0) return invalid("expected integer elements");
  int64_t n = static_cast<int64_t>(a.bytes.size() / bytes);
  if (a.splat) {
    n = element_count(*a.type);
    if (n < 0 || n > (1 << 20)) return invalid("an integer list of this size is not supported");
  }
  r.reserve(n);
  for (int64_t k = 0; k < n; ++k) r.push_back(int_at(a, k));
  return r;
}

std::string to_string(const Loc* loc) {
  std::string names;
  for (int depth = 0; loc && depth < 64; ++depth) {
    switch (loc->kind) {
      case LocKind::kUnknown:
        return names;
      case LocKind::kFile: {
        std::string at = str_cat(loc->text, ":", loc->line, ":", loc->column);
        return names.empty() ? at : str_cat(names, " at ", at);
      }
      case LocKind::kName:
        names = names.empty() ? std::string(loc->text) : str_cat(names, "/", loc->text);
        [[fallthrough]];
      default:
        loc = loc->children.empty() ? nullptr : loc->children[0];
    }
  }
  return names;
}

}  // namespace braze::mlir
