// SPDX-License-Identifier: Apache-2.0
// Makes the nodes of mlir_ast.h in an arena; shared by the MLIR readers.
//
// Interface: class Builder. Invariant: types are made once per Builder, so equal ones are the same
// pointer.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "frontend/mlir_ast.h"

namespace braze::mlir {

inline constexpr int kMaxDepth = 512;  // nesting of types, attributes, locations and regions
// Largest weight of a type or an attribute: sharing lets few bytes stand for very many nodes, and
// what walks a node visits each of them.
inline constexpr uint32_t kMaxWeight = 1 << 20;
inline constexpr size_t kMaxRank = 64;

// The float type of this name ("bf16", "f8E4M3FN"), or 0 bits if there is none.
uint32_t float_bits(std::string_view name);
// The bits of `v` rounded to nearest even in the float type `name`, and back.
uint64_t encode_float(std::string_view name, double v);
double decode_float(std::string_view name, uint64_t bits);

class Builder {
 public:
  explicit Builder(Arena* arena) : arena_(arena) {}
  Arena& arena() { return *arena_; }

  const Type* integer(uint32_t bits, Sign sign = Sign::kSignless);
  const Type* floating(std::string_view name);  // null if unknown
  const Type* type(TypeKind kind) { return make_type({.kind = kind}); }
  const Type* complex(const Type* element) {
    return make_type({.kind = TypeKind::kComplex, .element = element});
  }
  const Type* tensor(std::span<const int64_t> dims, const Type* element,
                     const Attr* encoding = nullptr);
  // Equal types give the same node. The spans and strings of `t` must live in the arena or input.
  const Type* make_type(const Type& t);

  const Attr* make(const Attr& a);
  const Attr* unit() { return make({.kind = AttrKind::kUnit}); }
  const Attr* boolean(bool v) { return make({.kind = AttrKind::kBool, .i = v}); }
  const Attr* integer_attr(int64_t v, const Type* type) {
    return make({.kind = AttrKind::kInt, .type = type, .i = v});
  }
  const Attr* i64(int64_t v) { return integer_attr(v, integer(64)); }
  const Attr* i32(int64_t v) { return integer_attr(v, integer(32)); }
  const Attr* float_attr(double v, const Type* type);
  const Attr* float_bits_attr(uint64_t bits, const Type* type);
  const Attr* string(std::string_view s) { return make({.kind = AttrKind::kString, .text = s}); }
  const Attr* symbol(std::string_view s) { return make({.kind = AttrKind::kSymbol, .text = s}); }
  const Attr* type_attr(const Type* t) { return make({.kind = AttrKind::kType, .type = t}); }
  const Attr* array(const std::vector<const Attr*>& items) {
    return make({.kind = AttrKind::kArray, .items = arena_->copy(items)});
  }
  const Attr* dims(std::span<const int64_t> values);           // array<i64: ...>
  const Attr* bools(std::span<const int64_t> values);          // array<i1: ...>
  const Attr* segments(std::initializer_list<int64_t> sizes);  // array<i32: ...>
  const Attr* enum_case(std::string_view name, std::string_view text) {
    return make({.kind = AttrKind::kEnum, .name = name, .text = text});
  }
  // Sort their fields; a duplicate name returns null.
  const Attr* dict(std::vector<NamedAttr> fields) {
    return with_fields(AttrKind::kDict, "", fields);
  }
  const Attr* structure(std::string_view name, std::vector<NamedAttr> fields) {
    return with_fields(AttrKind::kStruct, name, fields);
  }

  // dense<raw> : type. Accepts the layouts MLIR writes: a splat of one element, i1 as bytes or as
  // packed bits, i1 splats 0xff. Keeps `raw` itself where it already has the canonical form.
  // Null if the size does not fit the type.
  const Attr* elements(const Type* type, std::string_view raw);
  // The same from canonical bytes: one element, or all of them. All equal elements become a splat.
  const Attr* canonical_elements(const Type* type, std::string_view bytes);

 private:
  const Attr* with_fields(AttrKind kind, std::string_view name, std::vector<NamedAttr>& fields);

  struct TypeHash {
    size_t operator()(const Type* t) const;
  };
  struct TypeEqual {
    bool operator()(const Type* a, const Type* b) const { return equal(a, b); }
  };

  Arena* arena_;
  absl::flat_hash_set<const Type*, TypeHash, TypeEqual> types_;
};

// One attribute or type in MLIR text, on its own.
Result<const Attr*> parse_attr_text(std::string_view text, Builder* builder);
Result<const Type*> parse_type_text(std::string_view text, Builder* builder);

// What stands between the angle brackets of a sharding attribute (mlir_print_sdy.cc).
std::string print_sdy_body(const Attr& attr);

// Sorts by name; false if a name occurs twice.
bool sort_by_name(std::vector<NamedAttr>& attrs);

}  // namespace braze::mlir
