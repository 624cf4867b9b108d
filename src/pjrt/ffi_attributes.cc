// SPDX-License-Identifier: Apache-2.0
#include "pjrt/ffi_attributes.h"

#include <algorithm>
#include <cstring>

#include "frontend/mlir_read.h"
#include "ir/dtype.h"
#include "pjrt/element_type.h"

namespace braze::pjrt::ffi {

using mlir::Attr;
using mlir::AttrKind;

class Encoder {
 public:
  explicit Encoder(AttributeSet& to) : to_(to) {}

  Result<Attributes*> dictionary(const Attr& a, int depth) {
    if (depth > 32) return invalid("FFI attributes are nested too deeply");
    AttributeSet::Dictionary& d = to_.dictionaries_.emplace_back();
    std::vector<const mlir::NamedAttr*> fields;
    for (const mlir::NamedAttr& f : a.fields) fields.push_back(&f);
    std::sort(fields.begin(), fields.end(), [](auto* x, auto* y) { return x->name < y->name; });
    for (const mlir::NamedAttr* f : fields) {
      AttributeType type;
      Result<void*> v = value(*f->value, depth, &type);
      if (!v.ok()) return note(str_cat("FFI attribute ", f->name), v.status());
      d.names.push_back(span(f->name));
      d.types.push_back(type);
      d.values.push_back(*v);
    }
    d.attributes = {};
    d.attributes.struct_size = sizeof(Attributes);
    d.attributes.size = static_cast<int64_t>(d.values.size());
    d.attributes.types = d.types.data();
    d.attributes.names = d.names.data();
    d.attributes.values = d.values.data();
    return &d.attributes;
  }

 private:
  ByteSpan* span(std::string_view s) {
    const std::string_view kept = to_.keep(s);
    return &to_.spans_.emplace_back(ByteSpan{kept.data(), kept.size()});
  }
  void* bytes(const void* p, size_t n) {
    return const_cast<char*>(to_.keep({static_cast<const char*>(p), n}).data());
  }

  static Result<Dtype> dtype_of(const mlir::Type* t) {
    if (!t) return Dtype::kS64;
    if (t->kind == mlir::TypeKind::kIndex) return Dtype::kS64;
    const auto d = dtype_from_mlir(mlir::print_type(*t));
    if (!d) return unimplemented("of type ", mlir::print_type(*t));
    return *d;
  }

  Result<void*> scalar(Dtype t, const void* value, AttributeType* type) {
    *type = AttributeType::kScalar;
    return static_cast<void*>(
        &to_.scalars_.emplace_back(Scalar{to_primitive_type(t), bytes(value, byte_size(t))}));
  }

  Result<void*> array(const Attr& a, const mlir::Type* element, AttributeType* type) {
    ASSIGN(const Dtype t, dtype_of(element));
    size_t count = a.bytes.size() / std::max(byte_size(t), 1);
    std::string all;
    if (a.splat && a.type) {
      count = 1;
      for (int64_t d : a.type->dims) count *= static_cast<size_t>(d);
      if (count > (size_t{1} << 28)) return invalid("too large");
      for (size_t i = 0; i < count; ++i) all.append(a.bytes);
    } else {
      all = std::string(a.bytes);
    }
    *type = AttributeType::kArray;
    return static_cast<void*>(&to_.arrays_.emplace_back(
        Array{to_primitive_type(t), count, bytes(all.data(), all.size())}));
  }

  Result<void*> value(const Attr& a, int depth, AttributeType* type) {
    switch (a.kind) {
      case AttrKind::kBool: {
        const uint8_t v = a.i != 0;
        return scalar(Dtype::kPred, &v, type);
      }
      case AttrKind::kInt: {
        ASSIGN(const Dtype t, dtype_of(a.type));
        return scalar(t, &a.i, type);  // little endian: the low bytes are the value
      }
      case AttrKind::kFloat: {
        ASSIGN(const Dtype t, dtype_of(a.type));
        return scalar(t, &a.i, type);
      }
      case AttrKind::kString:
        *type = AttributeType::kString;
        return static_cast<void*>(span(a.text));
      case AttrKind::kSymbol:
        *type = AttributeType::kString;
        return static_cast<void*>(span(a.text));
      case AttrKind::kDict: {
        *type = AttributeType::kDictionary;
        ASSIGN(Attributes* d, dictionary(a, depth + 1));
        return static_cast<void*>(d);
      }
      case AttrKind::kDenseArray: return array(a, a.type, type);
      case AttrKind::kElements: return array(a, a.type ? a.type->element : nullptr, type);
      case AttrKind::kArray:
        if (a.items.empty()) {
          *type = AttributeType::kArray;
          return static_cast<void*>(
              &to_.arrays_.emplace_back(Array{to_primitive_type(Dtype::kS64), 0, nullptr}));
        }
        [[fallthrough]];
      default: return unimplemented("of this kind: ", mlir::print_attr(a));
    }
  }

  AttributeSet& to_;
};

Result<std::shared_ptr<const AttributeSet>> AttributeSet::parse(std::string_view dictionary) {
  auto out = std::make_shared<AttributeSet>();
  const bool none = dictionary.find_first_not_of(' ') == std::string_view::npos;
  const std::string text =
      str_cat("module attributes {braze.x = ", none ? std::string_view("{}") : dictionary, "} {}");
  ASSIGN(const mlir::Module m, mlir::read_mlir_text(text));
  const Attr* a = m.op ? m.op->attr("braze.x") : nullptr;
  if (!a || a->kind != AttrKind::kDict)
    return invalid("the backend_config of an FFI call must be a dictionary, got ", dictionary);
  Encoder encoder(*out);
  ASSIGN(out->root_, encoder.dictionary(*a, 0));
  return std::shared_ptr<const AttributeSet>(std::move(out));
}

}  // namespace braze::pjrt::ffi
