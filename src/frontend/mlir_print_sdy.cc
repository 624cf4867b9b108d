// SPDX-License-Identifier: Apache-2.0
// Prints the attributes of the sharding dialect in their short forms.
#include "frontend/mlir_build.h"
#include "frontend/mlir_read.h"

namespace braze::mlir {
namespace {

class SdyPrinter {
 public:
  void body(const Attr& a);
  std::string out;

 private:
  template <typename F>
  void list(const char* open, const Attr* items, const char* close, F&& item) {
    out += open;
    for (size_t k = 0; items && k < items->items.size(); ++k) {
      if (k) out += ", ";
      item(*items->items[k]);
    }
    out += close;
  }
  void axes(const Attr* refs, const char* open = "{", const char* close = "}") {
    list(open, refs, close, [&](const Attr& x) { axis(x); });
  }
  void axis(const Attr& a);
  void mesh(const Attr& a);
  void sharding(const Attr& a);
  void dim_sharding(const Attr& a);
  void rule(const Attr& a);
  void mappings(const Attr* tensors);
  void factor(int64_t k) {
    constexpr int64_t kZ = 'z' - 'i';
    if (k <= kZ) {
      out += static_cast<char>('i' + k);
    } else {
      out += str_cat("z_", k - kZ);
    }
  }
  void numbers(const Attr* list_attr);
  int64_t number(const Attr& a, std::string_view field) {
    const Attr* f = a.field(field);
    return f ? f->i : 0;
  }
};

void SdyPrinter::axis(const Attr& a) {
  const Attr* name = a.field("name");
  out += name ? print_attr(*name) : "\"\"";
  if (const Attr* sub = a.field("sub_axis_info")) {
    out += str_cat(":(", number(*sub, "pre_size"), ")", number(*sub, "size"));
  }
}

void SdyPrinter::numbers(const Attr* a) {
  if (!a) return;
  auto v = int_list(*a);
  for (size_t k = 0; v.ok() && k < v->size(); ++k) out += str_cat(k ? ", " : "", (*v)[k]);
}

void SdyPrinter::mesh(const Attr& a) {
  list("[", a.field("axes"), "]", [&](const Attr& x) {
    const Attr* name = x.field("name");
    out += str_cat(name ? print_attr(*name) : "\"\"", "=", number(x, "size"));
  });
  const Attr* ids = a.field("device_ids");
  if (ids && !ids->bytes.empty()) {
    out += ", device_ids=[";
    numbers(ids);
    out += "]";
  }
}

void SdyPrinter::dim_sharding(const Attr& a) {
  const Attr* refs = a.field("axes");
  axes(refs, "{", "");
  if (!number(a, "is_closed")) out += refs && !refs->items.empty() ? ", ?" : "?";
  out += "}";
  if (const Attr* p = a.field("priority")) out += str_cat("p", p->i);
}

void SdyPrinter::sharding(const Attr& a) {
  static constexpr const char* kReductions[] = {"", "max", "min"};
  const Attr* m = a.field("mesh");
  if (m && m->kind == AttrKind::kSymbol) {
    out += print_attr(*m);
  } else if (m) {
    out += "mesh<";
    mesh(*m);
    out += ">";
  }
  list(", [", a.field("dim_shardings"), "]", [&](const Attr& x) { dim_sharding(x); });
  const Attr* replicated = a.field("replicated_axes");
  const Attr* unreduced = a.field("unreduced_axes");
  if (replicated && !replicated->items.empty()) axes(replicated, ", replicated={", "}");
  if (unreduced && !unreduced->items.empty()) {
    int64_t r = number(a, "reduction_op");
    axes(unreduced, str_cat(", unreduced=", r > 0 && r < 3 ? kReductions[r] : "", "{").c_str(),
         "}");
  }
}

void SdyPrinter::mappings(const Attr* tensors) {
  list("(", tensors, ")", [&](const Attr& t) {
    list("[", t.field("dim_mappings"), "]", [&](const Attr& d) {
      const Attr* f = d.field("factor_indices");
      auto v = f ? int_list(*f) : Result<std::vector<int64_t>>(std::vector<int64_t>());
      if (!v.ok()) return;
      if (v->empty()) out += "*";
      for (int64_t k : *v) factor(k);
    });
  });
}

void SdyPrinter::rule(const Attr& a) {
  mappings(a.field("operand_mappings"));
  out += "->";
  mappings(a.field("result_mappings"));
  auto sizes = a.field("factor_sizes") ? int_list(*a.field("factor_sizes"))
                                       : Result<std::vector<int64_t>>(std::vector<int64_t>());
  out += " {";
  for (size_t k = 0; sizes.ok() && k < sizes->size(); ++k) {
    if (k) out += ", ";
    factor(static_cast<int64_t>(k));
    out += str_cat("=", (*sizes)[k]);
  }
  out += "}";
  for (const char* kind : {"reduction", "need_replication", "permutation", "blocked_propagation"}) {
    const Attr* f = a.field(str_cat(kind, "_factors"));
    auto v = f ? int_list(*f) : Result<std::vector<int64_t>>(std::vector<int64_t>());
    if (!v.ok() || v->empty()) continue;
    out += str_cat(" ", kind, "={");
    for (size_t k = 0; k < v->size(); ++k) {
      if (k) out += ", ";
      factor((*v)[k]);
    }
    out += "}";
  }
  if (number(a, "is_custom_rule")) out += ", custom";
}

void SdyPrinter::body(const Attr& a) {
  std::string_view n = a.name.substr(4);
  if (n == "mesh") return mesh(a);
  if (n == "sharding") return sharding(a);
  if (n == "op_sharding_rule") return rule(a);
  if (n == "dimension_sharding") return dim_sharding(a);
  if (n == "axis_ref") return axis(a);
  if (n == "axis_ref_list") return axes(a.field("value"));
  if (n == "manual_axes") {
    return list("{", a.field("axes"), "}", [&](const Attr& x) { out += print_attr(x); });
  }
  if (n == "sharding_per_value") {
    return list("[", a.field("shardings"), "]", [&](const Attr& x) {
      out += "<";
      sharding(x);
      out += ">";
    });
  }
  if (n == "list_of_axis_ref_lists") {
    return list("[", a.field("value"), "]", [&](const Attr& x) { axes(x.field("value")); });
  }
  if (n == "all_to_all_param_list") {
    return list("[", a.field("value"), "]", [&](const Attr& x) {
      axes(x.field("axes"));
      out += str_cat(": ", number(x, "src_dim"), "->", number(x, "tgt_dim"));
    });
  }
}

}  // namespace

std::string print_sdy_body(const Attr& attr) {
  SdyPrinter p;
  p.body(attr);
  return std::move(p.out);
}

}  // namespace braze::mlir
