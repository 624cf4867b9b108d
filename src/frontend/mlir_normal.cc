// SPDX-License-Identifier: Apache-2.0
// VHLO → StableHLO by attribute name; the op table of VHLO is in mlir_ops.cc.
#include "frontend/mlir_normal.h"

#include <algorithm>

#include "frontend/mlir_attrs.h"
#include "frontend/mlir_ops.h"

namespace braze::mlir {
namespace {

template <size_t N>
bool among(const std::string_view (&list)[N], std::string_view s) {
  return std::find(std::begin(list), std::end(list), s) != std::end(list);
}

// Attributes that StableHLO holds as array<i64> or array<i1>.
constexpr std::string_view kDimensionLists[] = {"base_dilations",
                                                "broadcast_dimensions",
                                                "broadcast_sizes",
                                                "dimensions",
                                                "edge_padding_high",
                                                "edge_padding_low",
                                                "fft_length",
                                                "interior_padding",
                                                "known_expanding_dimensions",
                                                "known_nonexpanding_dimensions",
                                                "lhs_dilation",
                                                "limit_indices",
                                                "permutation",
                                                "rhs_dilation",
                                                "slice_sizes",
                                                "start_indices",
                                                "strides",
                                                "window_dilations",
                                                "window_dimensions",
                                                "window_reversal",
                                                "window_strides"};

constexpr int64_t kMaxListSize = 4096;  // a splat may state any size

// VHLO writes these as an empty array, string, dictionary or list if StableHLO lacks them.
constexpr std::string_view kOptional[] = {"arg_attrs",
                                          "backend_config",
                                          "called_computations",
                                          "composite_attributes",
                                          "infeed_config",
                                          "known_expanding_dimensions",
                                          "known_nonexpanding_dimensions",
                                          "layout",
                                          "operand_layouts",
                                          "outfeed_config",
                                          "output_operand_aliases",
                                          "precision_config",
                                          "res_attrs",
                                          "result_layouts",
                                          "result_tilings",
                                          "source_target_pairs",
                                          "sym_visibility"};

bool is_empty(const Attr& a) {
  switch (a.kind) {
    case AttrKind::kArray:
      return a.items.empty();
    case AttrKind::kDict:
      return a.fields.empty();
    case AttrKind::kString:
      return a.text.empty();
    case AttrKind::kDenseArray:
      return a.bytes.empty();
    case AttrKind::kElements:
      return a.type && element_count(*a.type) == 0;
    default:
      return false;
  }
}

// Ops whose structs VHLO flattens into attributes.
struct Group {
  std::string_view op, attr, structure;
};
constexpr Group kGroups[] = {
    {"gather", "dimension_numbers", "stablehlo.gather"},
    {"dynamic_gather", "dimension_numbers", "stablehlo.gather"},
    {"scatter", "scatter_dimension_numbers", "stablehlo.scatter"},
    {"convolution", "dimension_numbers", "stablehlo.conv"},
    {"dynamic_conv", "dimension_numbers", "stablehlo.conv"},
    {"dot_general", "dot_dimension_numbers", "stablehlo.dot"},
    {"dot_general", "algorithm", "stablehlo.dot_algorithm"},
};

bool is_none(const Attr& a) {
  return a.kind == AttrKind::kType && a.type && a.type->kind == TypeKind::kNone;
}

bool is_default_accuracy(const Attr& a) {
  const Attr* mode = a.field("mode");
  return a.is_struct("stablehlo.result_accuracy") && mode && mode->text == "DEFAULT";
}

// Says the same as no attribute at all.
bool is_redundant(std::string_view name, const Attr& a) {
  if (name == "compare_type") return a.text == "NOTYPE";
  if (name == "result_accuracy") return is_default_accuracy(a);
  if (name != "precision_config" || a.kind != AttrKind::kArray) return false;
  return std::all_of(a.items.begin(), a.items.end(),
                     [](const Attr* x) { return x->text == "DEFAULT"; });
}

const Attr* take(std::vector<NamedAttr>* attrs, std::string_view name) {
  for (auto it = attrs->begin(); it != attrs->end(); ++it) {
    if (it->name != name) continue;
    const Attr* v = it->value;
    attrs->erase(it);
    return v;
  }
  return nullptr;
}

}  // namespace

bool vhlo_base(std::string_view op, std::string_view* base) {
  if (!op.starts_with("vhlo.")) return false;
  op.remove_prefix(5);
  size_t v = op.rfind("_v");
  if (v == std::string_view::npos) return false;
  *base = op.substr(0, v);
  return true;
}

std::string_view Normaliser::name(std::string_view op, std::string_view parent) {
  std::string_view base;
  if (!vhlo_base(op, &base)) return op;
  if (base == "func") return "func.func";
  if (base == "call") return "func.call";
  if (base == "return") return parent == "func.func" ? "func.return" : "stablehlo.return";
  auto [it, added] = names_.try_emplace(op);
  if (added) it->second = b_.arena().copy(str_cat("stablehlo.", base));
  return it->second;
}

const Attr* Normaliser::dimension_list(const Attr* a) {
  if (a->kind != AttrKind::kElements || !a->type || a->type->dims.size() != 1) return a;
  const Type* e = a->type->element;
  if (e->kind != TypeKind::kInteger && e->kind != TypeKind::kIndex) return a;
  if (a->type->dims[0] > kMaxListSize) return a;
  auto list = int_list(*a);
  if (!list.ok()) return a;
  return e->is_int(1) ? b_.bools(*list) : b_.dims(*list);
}

// The attribute in StableHLO's form, or null if StableHLO would not have it.
const Attr* Normaliser::convert(std::string_view base, std::string_view name, const Attr* a) {
  if (among(kOptional, name) && is_empty(*a)) return nullptr;
  if ((name == "callee" && base == "call") || (name == "decomposition" && base == "composite")) {
    return a->kind == AttrKind::kString ? b_.symbol(a->text) : a;
  }
  if (name == "called_computations" && a->kind == AttrKind::kArray) {
    std::vector<const Attr*> items;
    for (const Attr* x : a->items) {
      items.push_back(x->kind == AttrKind::kString ? b_.symbol(x->text) : x);
    }
    return b_.array(items);
  }
  if (name == "use_global_device_ids" || name == "has_dynamic_root") {
    return a->kind == AttrKind::kBool ? (a->i ? b_.unit() : nullptr) : a;
  }
  if (name == "version" && base == "composite" && a->kind == AttrKind::kInt) return b_.i32(a->i);
  if (name == "padding" && base == "dynamic_conv") return nullptr;
  return a;
}

void Normaliser::channel(std::string_view base, std::vector<NamedAttr>* attrs) {
  const Attr* id = take(attrs, "channel_id");
  const Attr* type = take(attrs, "channel_type");
  if (!id) return;
  bool required = base == "send" || base == "recv";
  if (id->i <= 0 && !required) return;
  const Attr* value =
      b_.structure("stablehlo.channel_handle",
                   {{"handle", b_.i64(id->i)}, {"type", b_.i64(type ? type->i : 0)}});
  attrs->push_back({"channel_handle", value});
}

void Normaliser::group(std::string_view base, std::vector<NamedAttr>* attrs) {
  for (const Group& g : kGroups) {
    if (g.op != base) continue;
    bool absent = true;
    std::vector<NamedAttr> fields;
    for (const FieldSpec& f : find_struct(g.structure)->fields) {
      const Attr* v = take(attrs, f.name);
      if (v && !is_none(*v)) absent = false;
      if (v && f.kind == FieldKind::kDims) v = dimension_list(v);
      if (!v) v = f.kind == FieldKind::kDims ? b_.dims({}) : b_.i64(0);
      fields.push_back({f.name, v});
    }
    if (absent) continue;
    attrs->push_back({g.attr, b_.structure(g.structure, std::move(fields))});
  }
}

Status Normaliser::from_vhlo(std::string_view base, std::vector<NamedAttr>* attrs) {
  group(base, attrs);
  channel(base, attrs);
  size_t kept = 0;
  for (const NamedAttr& a : *attrs) {
    const Attr* v = convert(base, a.name, a.value);
    if (v) (*attrs)[kept++] = {a.name, v};
  }
  attrs->resize(kept);
  return absl::OkStatus();
}

Status Normaliser::attributes(std::string_view op, std::vector<NamedAttr>* attrs) {
  std::string_view base;
  bool vhlo = vhlo_base(op, &base);
  if (vhlo) {
    if (!vhlo_properties(op.substr(5)).data()) {
      return unimplemented("'", op, "' is not an operation of VHLO 0.9.0 to 1.20.0");
    }
    TRY(from_vhlo(base, attrs));
  } else if (op.starts_with("vhlo.")) {
    return unimplemented("'", op, "' is not an operation of VHLO 0.9.0 to 1.20.0");
  }
  if (vhlo || op.starts_with("stablehlo.") || op.starts_with("chlo.") || op.starts_with("mhlo.")) {
    for (NamedAttr& a : *attrs) {
      if (among(kDimensionLists, a.name)) a.value = dimension_list(a.value);
    }
    std::erase_if(*attrs, [](const NamedAttr& a) { return is_redundant(a.name, *a.value); });
  }
  if (!sort_by_name(*attrs)) return invalid("an attribute of '", op, "' is given twice");
  return absl::OkStatus();
}

}  // namespace braze::mlir
