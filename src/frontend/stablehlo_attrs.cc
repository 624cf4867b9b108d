// SPDX-License-Identifier: Apache-2.0
#include "frontend/stablehlo_attrs.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/match.h"
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_types.h"

namespace braze::stablehlo {

using mlir::Attr;
using mlir::AttrKind;

Dims read_dims(OpImport& c, const Attr* a) {
  if (!a) return {};
  auto list = c.take(mlir::int_list(*a));
  return Dims(list.begin(), list.end());
}

Dims field_dims(OpImport& c, const Attr& a, std::string_view name) {
  return read_dims(c, a.field(name));
}

int64_t field_int(const Attr& a, std::string_view name, int64_t absent) {
  const Attr* f = a.field(name);
  return f && (f->kind == AttrKind::kInt || f->kind == AttrKind::kBool) ? f->i : absent;
}

DotAttrs read_dot(OpImport& c, const Attr& a) {
  DotAttrs d;
  d.lhs_batch = field_dims(c, a, "lhs_batching_dimensions");
  d.rhs_batch = field_dims(c, a, "rhs_batching_dimensions");
  d.lhs_contracting = field_dims(c, a, "lhs_contracting_dimensions");
  d.rhs_contracting = field_dims(c, a, "rhs_contracting_dimensions");
  return d;
}

std::vector<Precision> read_precision(OpImport& c) {
  std::vector<Precision> out;
  const Attr* a = c.attr("precision_config");
  if (!a || a->kind != AttrKind::kArray) return out;
  bool any = false;
  for (const Attr* item : a->items) {
    Precision p = Precision::kDefault;
    if (item->text == "HIGH") p = Precision::kHigh;
    else if (item->text == "HIGHEST") p = Precision::kHighest;
    else if (item->text != "DEFAULT") c.fail(invalid("unknown precision '", item->text, "'"));
    any |= p != Precision::kDefault;
    out.push_back(p);
  }
  if (!any) out.clear();
  return out;
}

std::string read_dot_algorithm(OpImport& c) {
  const Attr* a = c.attr("algorithm");
  if (!a || a->kind != AttrKind::kStruct) return {};
  auto type = [&](std::string_view field) -> std::string {
    const Attr* f = a->field(field);
    if (!f || !f->type) return {};
    if (f->type->name == "tf32") return "tf32";
    if (absl::StartsWith(absl::string_view(f->type->name.data(), f->type->name.size()), "f8"))
      return "any_f8";
    auto d = import_dtype(*f->type);
    return d.ok() ? std::string(name(*d)) : std::string();
  };
  const std::string l = type("lhs_precision_type"), r = type("rhs_precision_type");
  const std::string acc = type("accumulation_type");
  if (l.empty() || r.empty() || acc.empty()) {
    c.fail(invalid("unknown dot algorithm ", mlir::print_attr(*a)));
    return {};
  }
  std::string out = str_cat("dot_", l, "_", r, "_", acc);
  const int64_t n = field_int(*a, "num_primitive_operations", 1);
  if (n > 1) out += str_cat("_x", n);
  if (field_int(*a, "allow_imprecise_accumulation")) out += "_fast_accum";
  return out;
}

namespace {

// Pairs of a [n, 2] list of low and high padding; absent: zeros.
std::vector<std::pair<int64_t, int64_t>> read_padding(OpImport& c, int64_t rank) {
  std::vector<std::pair<int64_t, int64_t>> out(rank, {0, 0});
  const Attr* a = c.attr("padding");
  if (!a) return out;
  auto list = c.take(mlir::int_list(*a));
  if (list.empty() && rank == 0) return out;
  if (!c.check(static_cast<int64_t>(list.size()) == 2 * rank,
               "padding needs two values a dimension"))
    return out;
  for (int64_t i = 0; i < rank; ++i) out[i] = {list[2 * i], list[2 * i + 1]};
  return out;
}

Window make_window(OpImport& c, const Dims& size, const Dims& stride, const Dims& base,
                   const Dims& window) {
  const size_t n = size.size();
  if (!c.check(stride.size() == n && base.size() == n && window.size() == n,
               "window attributes disagree in their number of dimensions"))
    return {};
  auto padding = read_padding(c, static_cast<int64_t>(n));
  Window w(n);
  for (size_t i = 0; i < n; ++i)
    w[i] = {size[i], stride[i], padding[i].first, padding[i].second, window[i], base[i], false};
  return w;
}

}  // namespace

Window read_window(OpImport& c, int64_t rank) {
  const size_t n = static_cast<size_t>(rank);
  Dims size = c.dims_or("window_dimensions", n, 1);
  return make_window(c, size, c.dims_or("window_strides", n, 1), c.dims_or("base_dilations", n, 1),
                     c.dims_or("window_dilations", n, 1));
}

ConvAttrs read_conv(OpImport& c) {
  ConvAttrs out;
  const Attr* a = c.attr("dimension_numbers");
  if (!c.check(a && a->is_struct("stablehlo.conv"),
               "needs dimension_numbers = #stablehlo.conv<..>"))
    return out;
  ConvDims& d = out.dims;
  d.input_batch = field_int(*a, "input_batch_dimension");
  d.input_feature = field_int(*a, "input_feature_dimension");
  d.kernel_input = field_int(*a, "kernel_input_feature_dimension");
  d.kernel_output = field_int(*a, "kernel_output_feature_dimension");
  d.output_batch = field_int(*a, "output_batch_dimension");
  d.output_feature = field_int(*a, "output_feature_dimension");
  d.input_spatial = field_dims(c, *a, "input_spatial_dimensions");
  d.kernel_spatial = field_dims(c, *a, "kernel_spatial_dimensions");
  d.output_spatial = field_dims(c, *a, "output_spatial_dimensions");
  const size_t n = d.kernel_spatial.size();
  Dims size(n, 1);
  const Shape& kernel = c.in(1)->shape;
  for (size_t i = 0; i < n; ++i) {
    if (!c.check(d.kernel_spatial[i] >= 0 && d.kernel_spatial[i] < kernel.rank(),
                 "kernel_spatial_dimensions out of range"))
      return out;
    size[i] = kernel.dims[d.kernel_spatial[i]];
  }
  Dims strides = c.dims_or("window_strides", n, 1);
  // dynamic_conv has been written with more strides than dimensions, and was accepted.
  if (c.op.name == "stablehlo.dynamic_conv" && strides.size() > n) strides.resize(n);
  out.window = make_window(c, size, strides,
                           c.dims_or("lhs_dilation", n, 1), c.dims_or("rhs_dilation", n, 1));
  Dims reversal = c.dims_or("window_reversal", n, 0);
  if (!c.check(reversal.size() == n && out.window.size() == n,
               "window_reversal needs one value a dimension"))
    return out;
  for (size_t i = 0; i < n; ++i) out.window[i].reversal = reversal[i] != 0;
  out.feature_groups = c.integer("feature_group_count", 1);
  out.batch_groups = c.integer("batch_group_count", 1);
  out.precision = read_precision(c);
  return out;
}

GatherAttrs read_gather(OpImport& c) {
  GatherAttrs g;
  const Attr* a = c.attr("dimension_numbers");
  if (!c.check(a && a->is_struct("stablehlo.gather"),
               "needs dimension_numbers = #stablehlo.gather<..>"))
    return g;
  g.offset_dims = field_dims(c, *a, "offset_dims");
  g.collapsed_slice_dims = field_dims(c, *a, "collapsed_slice_dims");
  g.start_index_map = field_dims(c, *a, "start_index_map");
  g.operand_batching_dims = field_dims(c, *a, "operand_batching_dims");
  g.start_indices_batching_dims = field_dims(c, *a, "start_indices_batching_dims");
  g.index_vector_dim = field_int(*a, "index_vector_dim");
  g.slice_sizes = c.dims("slice_sizes");
  g.indices_are_sorted = c.flag("indices_are_sorted");
  return g;
}

ScatterAttrs read_scatter(OpImport& c) {
  ScatterAttrs s;
  const Attr* a = c.attr("scatter_dimension_numbers");
  if (!c.check(a && a->is_struct("stablehlo.scatter"),
               "needs scatter_dimension_numbers = #stablehlo.scatter<..>"))
    return s;
  s.update_window_dims = field_dims(c, *a, "update_window_dims");
  s.inserted_window_dims = field_dims(c, *a, "inserted_window_dims");
  s.scatter_dims_to_operand_dims = field_dims(c, *a, "scatter_dims_to_operand_dims");
  s.input_batching_dims = field_dims(c, *a, "input_batching_dims");
  s.scatter_indices_batching_dims = field_dims(c, *a, "scatter_indices_batching_dims");
  s.index_vector_dim = field_int(*a, "index_vector_dim");
  s.indices_are_sorted = c.flag("indices_are_sorted");
  s.unique_indices = c.flag("unique_indices");
  return s;
}

std::vector<std::pair<int64_t, int64_t>> read_pairs(OpImport& c, std::string_view attr) {
  std::vector<std::pair<int64_t, int64_t>> out;
  const Attr* a = c.attr(attr);
  if (!a) return out;
  auto list = c.take(mlir::int_list(*a));
  if (!c.check(list.size() % 2 == 0, "expected a list of pairs")) return out;
  for (size_t i = 0; i + 1 < list.size(); i += 2) out.emplace_back(list[i], list[i + 1]);
  return out;
}

namespace {

// One factor of a mesh's device order: part of a named axis, from `pre` on.
struct Factor {
  std::string_view axis;
  int64_t pre = 1, size = 1, stride = 1;
  int64_t chosen = -1;  // position among the group's axes
};

// The mesh behind a symbol, or itself; null if there is none.
const Attr* find_mesh(OpImport& c, const Attr* mesh) {
  if (!mesh || mesh->kind != AttrKind::kSymbol) return mesh;
  auto it = c.scope.program.symbols.find(mesh->text);
  return it == c.scope.program.symbols.end() ? nullptr : it->second->attr("mesh");
}

// Splits the axes of the mesh where the group's axes begin and end, major first.
bool mesh_factors(const Attr& mesh, const Attr& refs, std::vector<Factor>& out) {
  for (const Attr* axis : mesh.field("axes")->items) {
    const Attr* name = axis->field("name");
    const int64_t size = field_int(*axis, "size", 0);
    if (!name || size <= 0 || size > (1 << 24)) return false;
    std::vector<int64_t> cuts = {1, size};
    for (const Attr* ref : refs.items)
      if (const Attr* sub = ref->field("sub_axis_info");
          sub && ref->field("name") && ref->field("name")->text == name->text) {
        cuts.push_back(field_int(*sub, "pre_size", 1));
        cuts.push_back(cuts.back() * field_int(*sub, "size", 1));
      }
    std::sort(cuts.begin(), cuts.end());
    for (size_t k = 0; k + 1 < cuts.size(); ++k) {
      if (cuts[k] <= 0 || cuts[k + 1] % cuts[k] != 0) return false;
      if (cuts[k] != cuts[k + 1]) out.push_back({name->text, cuts[k], cuts[k + 1] / cuts[k]});
    }
  }
  int64_t stride = 1;
  for (size_t k = out.size(); k-- > 0; stride *= out[k].size) {
    out[k].stride = stride;
    if (stride > (1 << 24)) return false;
  }
  for (size_t r = 0; r < refs.items.size(); ++r) {
    const Attr* name = refs.items[r]->field("name");
    const Attr* sub = refs.items[r]->field("sub_axis_info");
    for (Factor& f : out) {
      const int64_t from = sub ? field_int(*sub, "pre_size", 1) : 1;
      const int64_t to = sub ? from * field_int(*sub, "size", 1) : INT64_MAX;
      if (name && f.axis == name->text && f.pre >= from && f.pre < to)
        f.chosen = static_cast<int64_t>(r);
    }
  }
  return true;
}

// Devices that differ in the chosen axes only form a group.
ReplicaGroups mesh_groups(OpImport& c, const Attr& a) {
  const Attr* mesh = find_mesh(c, a.field("mesh"));
  const Attr* refs = a.field("axes");
  std::vector<Factor> factors;
  if (!mesh || !mesh->field("axes") || !refs || !mesh_factors(*mesh, *refs, factors)) {
    c.fail(invalid("replica groups by axes of an unknown mesh: ", mlir::print_attr(a)));
    return {};
  }
  Dims ids = field_dims(c, *mesh, "device_ids");
  std::vector<Factor> order;  // outer ones first, then the chosen in the order of the group
  for (const Factor& f : factors)
    if (f.chosen < 0) order.push_back(f);
  const size_t outer = order.size();
  for (const Factor& f : factors)
    if (f.chosen >= 0) order.push_back(f);
  std::stable_sort(order.begin() + static_cast<int64_t>(outer), order.end(),
                   [](const Factor& x, const Factor& y) { return x.chosen < y.chosen; });
  std::vector<int64_t> devices = {0};
  int64_t group = 1;
  for (size_t k = 0; k < order.size(); ++k) {
    if (k >= outer) group *= order[k].size;
    std::vector<int64_t> next;
    for (int64_t d : devices)
      for (int64_t i = 0; i < order[k].size; ++i) next.push_back(d + i * order[k].stride);
    devices = std::move(next);
  }
  ReplicaGroups out;
  for (size_t k = 0; k < devices.size(); ++k) {
    if (k % static_cast<size_t>(group) == 0) out.emplace_back();
    const size_t d = static_cast<size_t>(devices[k]);
    out.back().push_back(d < ids.size() ? ids[d] : devices[k]);
  }
  return out;
}

}  // namespace

ReplicaGroups read_groups(OpImport& c) {
  ReplicaGroups out;
  const Attr* a = c.attr("replica_groups");
  if (!a) return out;
  if (a->kind == AttrKind::kStruct) return mesh_groups(c, *a);
  auto list = c.take(mlir::int_list(*a));
  size_t width = list.size();
  if (a->type && a->type->dims.size() == 2) width = static_cast<size_t>(a->type->dims[1]);
  if (list.empty() || width == 0) return out;
  if (!c.check(list.size() % width == 0, "replica_groups is not a table")) return out;
  for (size_t i = 0; i < list.size(); i += width) {
    std::vector<int64_t> group;
    for (size_t k = 0; k < width; ++k)
      if (list[i + k] >= 0) group.push_back(list[i + k]);  // ragged groups are filled with -1
    out.push_back(std::move(group));
  }
  return out;
}

int64_t read_channel(OpImport& c) {
  const Attr* a = c.attr("channel_handle");
  if (!a) return 0;
  return a->kind == AttrKind::kInt ? a->i : field_int(*a, "handle");
}

CompareAttrs read_compare(OpImport& c) {
  static constexpr std::pair<std::string_view, CompareDirection> kDirections[] = {
      {"EQ", CompareDirection::kEq}, {"NE", CompareDirection::kNe}, {"GE", CompareDirection::kGe},
      {"GT", CompareDirection::kGt}, {"LE", CompareDirection::kLe}, {"LT", CompareDirection::kLt}};
  CompareAttrs out;
  const std::string_view d = c.choice("comparison_direction");
  bool found = false;
  for (auto& [spelling, value] : kDirections)
    if (d == spelling) out.direction = value, found = true;
  if (!found) c.fail(invalid("unknown comparison_direction '", d, "'"));
  // The other types only repeat what the element type says.
  if (c.choice("compare_type") == "TOTALORDER") out.type = CompareType::kTotalOrder;
  return out;
}

std::map<std::string, std::string> read_string_map(const Attr& dict) {
  std::map<std::string, std::string> out;
  for (const mlir::NamedAttr& f : dict.fields)
    out.emplace(std::string(f.name), f.value->kind == AttrKind::kString
                                         ? std::string(f.value->text)
                                         : mlir::print_attr(*f.value));
  return out;
}

std::string read_sharding(const Attr& a) {
  return a.kind == AttrKind::kString ? std::string(a.text) : mlir::print_attr(a);
}

}  // namespace braze::stablehlo
