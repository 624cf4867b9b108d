// SPDX-License-Identifier: Apache-2.0
#include "text/print_attrs.h"

#include <algorithm>
#include <charconv>

#include "text/spelling.h"

namespace braze::text {

namespace {

// Shortest text that reads back as the same double, or the same float if it is one.
std::string number_text(double v) {
  char buffer[64];
  float f = static_cast<float>(v);
  auto end = static_cast<double>(f) == v ? std::to_chars(buffer, buffer + sizeof(buffer), f).ptr
                                         : std::to_chars(buffer, buffer + sizeof(buffer), v).ptr;
  return {buffer, end};
}

std::string braced(DimSpan v) { return str_cat("{", join(v), "}"); }

// The shape of each leaf of the operands, for operand_layout_constraints.
void leaves(const Shape& s, std::vector<const Shape*>* out) {
  if (!s.is_tuple()) out->push_back(&s);
  for (const Shape& t : s.tuple) leaves(t, out);
}

// One part of a window, "key=AxB": empty if every dimension has the default.
template <typename F>
void window_part(std::string* out, const char* key, const Window& w, F text) {
  bool plain =
      std::all_of(w.begin(), w.end(), [&](auto& d) { return text(d) == text(WindowDim{}); });
  if (plain && std::string_view(key) != "size") return;
  absl::StrAppend(out, out->back() == '{' ? "" : " ", key, "=");
  for (size_t i = 0; i < w.size(); ++i) absl::StrAppend(out, i ? "x" : "", text(w[i]));
}

std::string window_text(const Window& w) {
  std::string out = "{";
  if (!w.empty()) {
    window_part(&out, "size", w, [](const WindowDim& d) { return str_cat(d.size); });
    window_part(&out, "stride", w, [](const WindowDim& d) { return str_cat(d.stride); });
    window_part(&out, "pad", w,
                [](const WindowDim& d) { return str_cat(d.pad_low, "_", d.pad_high); });
    window_part(&out, "lhs_dilate", w, [](const WindowDim& d) { return str_cat(d.base_dilation); });
    window_part(&out, "rhs_dilate", w,
                [](const WindowDim& d) { return str_cat(d.window_dilation); });
    window_part(&out, "rhs_reversal", w,
                [](const WindowDim& d) { return str_cat(d.reversal ? 1 : 0); });
  }
  return out + "}";
}

// "bf01" for one array: '?' where a dimension has no role.
std::string labels(int64_t rank, char first_letter, int64_t first, char second_letter,
                   int64_t second, DimSpan spatial) {
  int64_t size = std::max({rank, first + 1, second + 1});
  for (int64_t d : spatial) size = std::max(size, d + 1);
  std::string out(std::clamp<int64_t>(size, 0, 64), '?');
  auto put = [&](int64_t at, char c) {
    if (at >= 0 && at < static_cast<int64_t>(out.size())) out[at] = c;
  };
  put(first, first_letter);
  put(second, second_letter);
  for (size_t i = 0; i < spatial.size(); ++i) put(spatial[i], static_cast<char>('0' + i));
  return out;
}

// Collects (name, text) of each field.
struct FieldWriter {
  const Instr& instr;
  std::vector<std::pair<std::string_view, std::string>> out;

  template <typename T>
  void operator()(std::string_view field, const T& v) {
    out.emplace_back(field, text(field, v));
  }
  void one_dim(std::string_view field, int64_t v) { out.emplace_back(field, str_cat("{", v, "}")); }
  void slice(std::string_view field, const Dims& start, const Dims& limit, const Dims& stride) {
    std::string s = "{";
    for (size_t i = 0; i < start.size(); ++i) {
      absl::StrAppend(&s, i ? ", [" : "[", start[i], ":", i < limit.size() ? limit[i] : 0);
      if (i < stride.size() && stride[i] != 1) absl::StrAppend(&s, ":", stride[i]);
      s += "]";
    }
    out.emplace_back(field, s + "}");
  }
  void padding(std::string_view field, const Dims& low, const Dims& high, const Dims& interior) {
    bool inside = std::any_of(interior.begin(), interior.end(), [](int64_t v) { return v != 0; });
    std::string s;
    for (size_t i = 0; i < low.size(); ++i) {
      absl::StrAppend(&s, i ? "x" : "", low[i], "_", i < high.size() ? high[i] : 0);
      if (inside) absl::StrAppend(&s, "_", interior[i]);
    }
    out.emplace_back(field, s);
  }
  void literal(const Literal&) {}
  void number(int64_t) {}

  std::string text(std::string_view field, int64_t v) const {
    if (field == "dimensions") return str_cat("{", v, "}");
    if (field == "api_version" && v >= 1 && v <= static_cast<int64_t>(api_versions().size()))
      return std::string(api_versions()[v - 1]);
    return str_cat(v);
  }
  std::string text(std::string_view, bool v) const { return v ? "true" : "false"; }
  std::string text(std::string_view, double v) const { return number_text(v); }
  std::string text(std::string_view field, const std::string& v) const {
    return field == "algorithm" ? v : quote(v);
  }
  std::string text(std::string_view, const Dims& v) const { return braced(v); }
  std::string text(std::string_view, const Window& v) const { return window_text(v); }
  std::string text(std::string_view, const ConvDims& v) const;
  std::string text(std::string_view, const std::vector<Precision>& v) const;
  std::string text(std::string_view, const ReplicaGroups& v) const;
  std::string text(std::string_view, const std::vector<std::pair<int64_t, int64_t>>& v) const;
  std::string text(std::string_view, const std::vector<OperandAlias>& v) const;
  std::string text(std::string_view field, const std::vector<Dims>& v) const;
  template <typename E>
  requires std::is_enum_v<E> std::string text(std::string_view, E v)
  const { return std::string(spell(v)); }
};

std::string FieldWriter::text(std::string_view, const ConvDims& v) const {
  auto rank = [](const Shape* s) { return s ? s->rank() : 0; };
  const Shape* lhs = instr.operands.empty() ? nullptr : &instr.operand(0)->shape;
  const Shape* rhs = instr.operands.size() < 2 ? nullptr : &instr.operand(1)->shape;
  return str_cat(
      labels(rank(lhs), 'b', v.input_batch, 'f', v.input_feature, v.input_spatial), "_",
      labels(rank(rhs), 'i', v.kernel_input, 'o', v.kernel_output, v.kernel_spatial), "->",
      labels(instr.shape.rank(), 'b', v.output_batch, 'f', v.output_feature, v.output_spatial));
}

std::string FieldWriter::text(std::string_view, const std::vector<Precision>& v) const {
  // All default says nothing.
  bool plain =
      std::all_of(v.begin(), v.end(), [](Precision p) { return p == Precision::kDefault; });
  if (plain) return "{}";
  std::string s = "{";
  for (size_t i = 0; i < v.size(); ++i) s += (i ? "," : "") + std::string(spell(v[i]));
  return s + "}";
}

std::string FieldWriter::text(std::string_view, const ReplicaGroups& v) const {
  std::string s = "{";
  for (size_t i = 0; i < v.size(); ++i) absl::StrAppend(&s, i ? "," : "", braced(v[i]));
  return s + "}";
}

std::string FieldWriter::text(std::string_view,
                              const std::vector<std::pair<int64_t, int64_t>>& v) const {
  std::string s = "{";
  for (size_t i = 0; i < v.size(); ++i)
    absl::StrAppend(&s, i ? "," : "", "{", v[i].first, ",", v[i].second, "}");
  return s + "}";
}

std::string FieldWriter::text(std::string_view, const std::vector<OperandAlias>& v) const {
  std::string s = "{";
  for (size_t i = 0; i < v.size(); ++i)
    absl::StrAppend(&s, i ? ", " : "", braced(v[i].output_index), ": (", v[i].operand, ", ",
                    braced(v[i].operand_index), ")");
  return s + "}";
}

std::string FieldWriter::text(std::string_view field, const std::vector<Dims>& v) const {
  if (field == "result_layouts" || v.empty()) return "{}";  // stands in the result's shape
  std::vector<const Shape*> shapes;
  for (const Instr* o : instr.operands) leaves(o->shape, &shapes);
  std::string s = "{";
  for (size_t i = 0; i < shapes.size(); ++i) {
    Shape with = *shapes[i];
    with.layout = i < v.size() && v[i].size() == with.dims.size() ? v[i] : Dims{};
    absl::StrAppend(&s, i ? ", " : "", to_string(with));
  }
  return s + "}";
}

// An all-to-all of one operand has dimensions={d}, and concat_dimension only where another than d;
// one of several operands has neither.
bool all_to_all_skips(const Instr& i, std::string_view field) {
  const auto* a = std::get_if<CollectiveAttrs>(&i.attrs);
  if (!a || i.op != Op::kAllToAll) return false;
  if (field == "dimensions") return a->concat_dimension < 0;
  return field == "concat_dimension" &&
         (a->concat_dimension < 0 || a->concat_dimension == a->dimension);
}

}  // namespace

void append_attrs(std::string* out, const Instr& i) {
  std::visit(
      [&](const auto& a) {
        FieldWriter mine{i, {}}, defaults{i, {}};
        a.fields(mine);
        std::decay_t<decltype(a)>().fields(defaults);
        for (size_t k = 0; k < mine.out.size(); ++k) {
          auto& [field, text] = mine.out[k];
          if (field == "backend_config" || all_to_all_skips(i, field)) continue;
          bool is_default = text == defaults.out[k].second;
          if (is_default && !always_printed(i.op, field)) continue;
          absl::StrAppend(out, ", ", cat_piece(attribute_name(i.op, field)), "=", text);
        }
      },
      i.attrs);
}

std::string braced_or_quoted(const std::string& s) { return is_braced(s) ? s : quote(s); }

}  // namespace braze::text
