// SPDX-License-Identifier: Apache-2.0
// MLIR text: attributes of the sharding dialect.
#include <charconv>

#include "frontend/mlir_text.h"

namespace braze::mlir {

// The part behind the name; the angle brackets of list attributes may be missing, as they are in
// the short forms of the ops.
const Attr* TextParser::sdy_attr(std::string_view name) {
  Deeper d(this);
  if (too_deep()) return nullptr;
  if (name == "sdy.mesh") return sdy_mesh();
  if (name == "sdy.sharding") return sdy_sharding();
  if (name == "sdy.op_sharding_rule") return sdy_rule();
  const char* at = p_;
  bool angle = accept("<");
  const Attr* a = nullptr;
  if (name == "sdy.sharding_per_value") {
    a = sdy_shardings();
  } else if (name == "sdy.manual_axes") {
    std::vector<const Attr*> axes;
    auto item = [&] {
      std::string_view s;
      return string(&s) && (axes.push_back(b_.string(s)), true);
    };
    if (!list("{", "}", item)) return nullptr;
    a = b_.structure(name, {{"axes", b_.array(axes)}});
  } else if (name == "sdy.axis_ref_list") {
    const Attr* v = sdy_axis_refs("{", "}");
    a = v ? b_.structure(name, {{"value", v}}) : nullptr;
  } else if (name == "sdy.list_of_axis_ref_lists") {
    std::vector<const Attr*> lists;
    auto item = [&] {
      const Attr* x = sdy_attr("sdy.axis_ref_list");
      return x && (lists.push_back(x), true);
    };
    if (!list("[", "]", item)) return nullptr;
    a = b_.structure(name, {{"value", b_.array(lists)}});
  } else if (name == "sdy.all_to_all_param_list") {
    a = sdy_all_to_all();
  } else if (name == "sdy.axis_ref") {
    a = sdy_axis_ref("sdy");
  } else if (name == "sdy.dimension_sharding") {
    a = sdy_dim_sharding();
  } else {
    if (!angle) return b_.make({.kind = AttrKind::kOpaque, .name = name});
    const char* body = p_;
    if (!skip_balanced('>')) return nullptr;
    return b_.make({.kind = AttrKind::kOpaque,
                    .name = name,
                    .text = {body, static_cast<size_t>(p_ - 1 - body)}});
  }
  if (!a) return fail(at, str_cat("expected #", name)), nullptr;
  return !angle || expect(">") ? a : nullptr;
}

// <["x"=2, "y"=4], device_ids=[1, 0]>
const Attr* TextParser::sdy_mesh() {
  if (!expect("<")) return nullptr;
  std::vector<const Attr*> axes;
  bool ok = list("[", "]", [&] {
    std::string_view name;
    int64_t size;
    if (!string(&name) || !expect("=") || !integer(&size)) return false;
    axes.push_back(
        b_.structure("sdy.mesh_axis", {{"name", b_.string(name)}, {"size", b_.i64(size)}}));
    return true;
  });
  if (!ok) return nullptr;
  std::vector<int64_t> ids;
  if (accept(",") && !(expect_word("device_ids") && expect("=") && int_dims(&ids))) return nullptr;
  if (!expect(">")) return nullptr;
  return b_.structure("sdy.mesh", {{"axes", b_.array(axes)}, {"device_ids", b_.dims(ids)}});
}

// (1)2
const Attr* TextParser::sdy_sub_axis(std::string_view dialect) {
  int64_t pre, size;
  if (!expect("(") || !integer(&pre) || !expect(")") || !integer(&size)) return nullptr;
  std::string_view name = dialect == "sdy" ? "sdy.sub_axis_info" : "stablehlo.sub_axis_info";
  return b_.structure(name, {{"pre_size", b_.i64(pre)}, {"size", b_.i64(size)}});
}

// "x" or "x":(1)2
const Attr* TextParser::sdy_axis_ref(std::string_view dialect) {
  std::string_view name;
  if (!string(&name)) return nullptr;
  std::vector<NamedAttr> fields = {{"name", b_.string(name)}};
  if (accept(":")) {
    const Attr* sub = sdy_sub_axis(dialect);
    if (!sub) return nullptr;
    fields.push_back({"sub_axis_info", sub});
  }
  return b_.structure("sdy.axis_ref", std::move(fields));
}

const Attr* TextParser::sdy_axis_refs(std::string_view open, std::string_view close) {
  std::vector<const Attr*> refs;
  auto item = [&] {
    const Attr* a = sdy_axis_ref("sdy");
    return a && (refs.push_back(a), true);
  };
  return list(open, close, item) ? b_.array(refs) : nullptr;
}

// {"x", "y":(1)2, ?}p1
const Attr* TextParser::sdy_dim_sharding() {
  std::vector<const Attr*> axes;
  bool closed = true;
  bool ok = list("{", "}", [&] {
    if (!closed) return fail("expected '}' behind '?'");
    if (accept("?")) return closed = false, true;
    const Attr* a = sdy_axis_ref("sdy");
    return a && (axes.push_back(a), true);
  });
  if (!ok) return nullptr;
  std::vector<NamedAttr> fields = {{"axes", b_.array(axes)}, {"is_closed", b_.boolean(closed)}};
  skip();
  if (p_ < end_ && *p_ == 'p') {
    const char* at = p_;
    std::string_view w = word();
    int64_t priority = 0;
    auto [stop, error] = std::from_chars(w.data() + 1, w.data() + w.size(), priority);
    if (error != std::errc() || stop != w.data() + w.size() || priority < 0) {
      return fail(at, "expected a priority such as p1"), nullptr;
    }
    fields.push_back({"priority", b_.i64(priority)});
  }
  return b_.structure("sdy.dimension_sharding", std::move(fields));
}

// <@mesh, [{"x"}, {?}], replicated={"y"}, unreduced=max{"z"}>
const Attr* TextParser::sdy_sharding() {
  if (!expect("<")) return nullptr;
  skip();
  const Attr* mesh = accept_word("mesh") ? sdy_mesh() : symbol();
  if (!mesh || !expect(",")) return nullptr;
  std::vector<const Attr*> dims;
  auto item = [&] {
    const Attr* a = sdy_dim_sharding();
    return a && (dims.push_back(a), true);
  };
  if (!list("[", "]", item)) return nullptr;
  const Attr* replicated = b_.array({});
  const Attr* unreduced = b_.array({});
  int64_t reduction = 0;
  while (accept(",")) {
    if (accept_word("replicated")) {
      if (!expect("=") || !(replicated = sdy_axis_refs("{", "}"))) return nullptr;
    } else {
      if (!expect_word("unreduced")) return nullptr;
      accept("=");
      reduction = accept_word("max") ? 1 : accept_word("min") ? 2 : 0;
      if (reduction == 0) accept_word("sum");
      if (!(unreduced = sdy_axis_refs("{", "}"))) return nullptr;
    }
  }
  if (!expect(">")) return nullptr;
  std::vector<NamedAttr> fields = {{"mesh", mesh},
                                   {"dim_shardings", b_.array(dims)},
                                   {"replicated_axes", replicated},
                                   {"unreduced_axes", unreduced}};
  if (reduction != 0) fields.push_back({"reduction_op", b_.i64(reduction)});
  return b_.structure("sdy.sharding", std::move(fields));
}

// [<@mesh, [..]>, ...]
const Attr* TextParser::sdy_shardings() {
  std::vector<const Attr*> items;
  auto item = [&] {
    const Attr* a = sdy_sharding();
    return a && (items.push_back(a), true);
  };
  if (!list("[", "]", item)) return nullptr;
  return b_.structure("sdy.sharding_per_value", {{"shardings", b_.array(items)}});
}

// [{"x"}: 0->1, ...]
const Attr* TextParser::sdy_all_to_all() {
  std::vector<const Attr*> items;
  bool ok = list("[", "]", [&] {
    const Attr* axes = sdy_axis_refs("{", "}");
    int64_t source, target;
    if (!axes || !expect(":") || !integer(&source) || !expect("->") || !integer(&target)) {
      return false;
    }
    items.push_back(
        b_.structure("sdy.all_to_all_param",
                     {{"axes", axes}, {"src_dim", b_.i64(source)}, {"tgt_dim", b_.i64(target)}}));
    return true;
  });
  if (!ok) return nullptr;
  return b_.structure("sdy.all_to_all_param_list", {{"value", b_.array(items)}});
}

// The first factor of `text`: i is 0, j is 1, ..., z is 17, z_1 is 18, ...
bool TextParser::sdy_factor(std::string_view* text, int64_t* out) {
  char c = text->front();
  if (c < 'i' || c > 'z') return fail("expected a factor from i to z");
  *out = c - 'i';
  text->remove_prefix(1);
  if (c != 'z' || !text->starts_with("_")) return true;
  int64_t n = 0;
  const char* start = text->data() + 1;
  auto [stop, error] = std::from_chars(start, text->data() + text->size(), n);
  if (error != std::errc() || n < 1 || n > (1 << 20)) return fail("expected a factor such as z_1");
  *out += n;
  text->remove_prefix(stop - text->data());
  return true;
}

// ([i, jk], [])
const Attr* TextParser::sdy_tensor_mappings() {
  std::vector<const Attr*> tensors;
  bool ok = list("(", ")", [&] {
    std::vector<const Attr*> dims;
    bool inner = list("[", "]", [&] {
      std::vector<int64_t> factors;
      if (!accept("*")) {
        std::string_view w = word();
        while (!w.empty()) {
          factors.push_back(0);
          if (!sdy_factor(&w, &factors.back())) return false;
        }
      }
      dims.push_back(b_.structure("sdy.dim_mapping", {{"factor_indices", b_.dims(factors)}}));
      return true;
    });
    if (!inner) return false;
    tensors.push_back(b_.structure("sdy.tensor_mapping", {{"dim_mappings", b_.array(dims)}}));
    return true;
  });
  return ok ? b_.array(tensors) : nullptr;
}

// reduction={k, l}, or nothing
const Attr* TextParser::sdy_factor_list(std::string_view keyword) {
  std::vector<int64_t> factors;
  if (accept_word(keyword)) {
    bool ok = expect("=") && list("{", "}", [&] {
                std::string_view w = word();
                if (w.empty()) return fail("expected a factor");
                factors.push_back(0);
                return sdy_factor(&w, &factors.back());
              });
    if (!ok) return nullptr;
  }
  return b_.dims(factors);
}

// <([i, k], [k, j])->([i, j]) {i=8, j=16, k=8} reduction={k}, custom>
const Attr* TextParser::sdy_rule() {
  if (!expect("<")) return nullptr;
  std::vector<NamedAttr> fields;
  const Attr* in = sdy_tensor_mappings();
  if (!in || !expect("->")) return nullptr;
  const Attr* result = sdy_tensor_mappings();
  if (!result) return nullptr;
  std::vector<int64_t> sizes;
  auto item = [&] {
    std::string_view w = word();
    int64_t index;
    if (w.empty()) return fail("expected a factor");
    sizes.push_back(0);
    return sdy_factor(&w, &index) && expect("=") && integer(&sizes.back());
  };
  if (peek('{') && !list("{", "}", item)) return nullptr;
  fields = {
      {"operand_mappings", in}, {"result_mappings", result}, {"factor_sizes", b_.dims(sizes)}};
  constexpr std::string_view kLists[][2] = {{"reduction", "reduction_factors"},
                                            {"need_replication", "need_replication_factors"},
                                            {"permutation", "permutation_factors"},
                                            {"blocked_propagation", "blocked_propagation_factors"}};
  for (const auto& [keyword, field] : kLists) {
    const Attr* a = sdy_factor_list(keyword);
    if (!a) return nullptr;
    fields.push_back({field, a});
  }
  bool custom = accept(",");
  if (custom && !expect_word("custom")) return nullptr;
  fields.push_back({"is_custom_rule", b_.boolean(custom)});
  return expect(">") ? b_.structure("sdy.op_sharding_rule", std::move(fields)) : nullptr;
}

}  // namespace braze::mlir
