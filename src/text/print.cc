// SPDX-License-Identifier: Apache-2.0
#include "text/print.h"

#include <algorithm>
#include <charconv>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/lexer.h"
#include "ir/order.h"
#include "text/print_attrs.h"
#include "text/spelling.h"
#include "xxhash.h"

namespace braze {

namespace {

using text::braced_or_quoted;
using text::quote;

// An attribute kept as it was spelled; quoted if it would not read back as one value.
std::string verbatim(const std::string& value) {
  Lexer lex(value, "");
  return lex.raw_value().ok() && lex.at_end() ? value : quote(value);
}

constexpr int64_t kDigestAbove = 16;  // elements

void leaf_shapes(Shape* s, std::vector<Shape*>* out) {
  if (!s->is_tuple()) out->push_back(s);
  for (Shape& t : s->tuple) leaf_shapes(&t, out);
}

class Printer {
 public:
  explicit Printer(const PrintOptions& o) : o_(o) {}

  std::string module(const Module& m);
  void computation(const Computation& c, bool is_entry);
  void instr(const Instr& i, bool is_root);
  std::string take() { return std::move(out_); }

 private:
  std::string label(const Instr& i);
  std::string label(const Computation& c);
  std::string shape_text(const Shape& s, bool layouts);
  Shape shape_with_layouts(const Instr& i);
  void header(const Module& m);
  void operands(const Instr& i);
  void literal(const Literal& l);
  void callees(const Instr& i);
  void quantization(const Shape& s);
  void extras(const Instr& i);
  void metadata(const Metadata& m);
  void attribute_map(const char* key, const std::map<std::string, std::string>& map);
  std::vector<Instr*> instrs(const Computation& c);
  std::vector<Computation*> computations(const Module& m);

  const PrintOptions& o_;
  std::string out_;
  absl::flat_hash_map<const void*, int64_t> numbers_;  // canonical names
};

std::string Printer::label(const Instr& i) {
  if (!o_.canonical_names) return (o_.percent ? "%" : "") + i.name;
  return str_cat(o_.percent ? "%v" : "v", numbers_.try_emplace(&i, numbers_.size()).first->second);
}

std::string Printer::label(const Computation& c) {
  if (!o_.canonical_names) return (o_.percent ? "%" : "") + c.name();
  return str_cat(o_.percent ? "%c" : "c", numbers_.try_emplace(&c, numbers_.size()).first->second);
}

std::string Printer::shape_text(const Shape& s, bool layouts) {
  if (!s.is_tuple()) return to_string(s, layouts);
  std::string out = "(";
  for (size_t i = 0; i < s.tuple.size(); ++i) {
    if (i) out += ", ";
    if (i && i % 5 == 0 && o_.index_comments) absl::StrAppend(&out, "/*index=", i, "*/");
    out += shape_text(s.tuple[i], layouts);
  }
  return out + ")";
}

// A custom call's result layouts stand in its shape.
Shape Printer::shape_with_layouts(const Instr& i) {
  Shape s = i.shape;
  const auto* a = std::get_if<CustomCallAttrs>(&i.attrs);
  if (!a || a->result_layouts.empty()) return s;
  std::vector<Shape*> leaves;
  leaf_shapes(&s, &leaves);
  for (size_t k = 0; k < leaves.size() && k < a->result_layouts.size(); ++k)
    if (leaves[k]->dims.size() == a->result_layouts[k].size())
      leaves[k]->layout = a->result_layouts[k];
  return s;
}

std::vector<Instr*> Printer::instrs(const Computation& c) {
  if (!o_.canonical_names) return stable_order(c);
  std::vector<Instr*> roots = c.params();
  for (Instr* i : post_order(c)) roots.push_back(i);
  return stable_order(roots);
}

// Canonical: in order of the calls of live code.
std::vector<Computation*> Printer::computations(const Module& m) {
  if (!o_.canonical_names) return stable_order(m);
  std::vector<Computation*> order;
  absl::flat_hash_set<Computation*> seen;
  std::vector<std::pair<Computation*, std::vector<Computation*>>> stack;
  auto open = [&](Computation* c) {
    if (!seen.insert(c).second) return;
    std::vector<Computation*> callees;
    for (Instr* i : instrs(*c)) callees.insert(callees.end(), i->calls.begin(), i->calls.end());
    std::reverse(callees.begin(), callees.end());
    stack.emplace_back(c, std::move(callees));
  };
  open(m.entry());
  while (!stack.empty()) {
    std::vector<Computation*>& todo = stack.back().second;
    if (todo.empty()) {
      order.push_back(stack.back().first);
      stack.pop_back();
      continue;
    }
    Computation* next = todo.back();
    todo.pop_back();
    open(next);
  }
  return order;
}

std::string Printer::module(const Module& m) {
  header(m);
  out_ += "\n";
  for (Computation* c : computations(m)) {
    computation(*c, c == m.entry());
    out_ += "\n";
  }
  return take();
}

void Printer::header(const Module& m) {
  absl::StrAppend(&out_, "HloModule ", o_.canonical_names ? "m" : m.name());
  if (m.is_scheduled) out_ += ", is_scheduled=true";
  if (!m.aliases.empty()) {
    out_ += ", input_output_alias={ ";
    for (size_t k = 0; k < m.aliases.size(); ++k) {
      const InputOutputAlias& a = m.aliases[k];
      absl::StrAppend(&out_, k ? ", {" : "{", join(a.output_index), "}: (", a.parameter, ", {",
                      join(a.parameter_index), "}, ", a.must_alias ? "must-alias)" : "may-alias)");
    }
    out_ += " }";
  }
  if (!m.buffer_donors.empty()) {
    out_ += ", buffer_donor={ ";
    for (size_t k = 0; k < m.buffer_donors.size(); ++k)
      absl::StrAppend(&out_, k ? ", (" : "(", m.buffer_donors[k], ", {})");
    out_ += " }";
  }
  if (const Computation* e = m.entry(); e && e->root()) {
    out_ += ", entry_computation_layout={(";
    for (size_t k = 0; k < e->params().size(); ++k) {
      bool given = k < m.entry_parameter_layouts.size();
      Shape s = given ? m.entry_parameter_layouts[k] : e->params()[k]->shape;
      if (!given) s.layout.clear();
      if (k) out_ += ", ";
      if (k && k % 5 == 0 && o_.index_comments) absl::StrAppend(&out_, "/*index=", k, "*/");
      out_ += shape_text(s, true);
    }
    Shape result = m.entry_result_layouts.empty() ? e->root()->shape : m.entry_result_layouts[0];
    if (m.entry_result_layouts.empty()) {
      std::vector<Shape*> leaves;
      leaf_shapes(&result, &leaves);
      for (Shape* s : leaves) s->layout.clear();
    }
    absl::StrAppend(&out_, ")->", shape_text(result, true), "}");
  }
  if (m.num_replicas != 1) absl::StrAppend(&out_, ", replica_count=", m.num_replicas);
  if (m.num_partitions != 1) absl::StrAppend(&out_, ", num_partitions=", m.num_partitions);
  for (auto& [key, value] : m.other) absl::StrAppend(&out_, ", ", key, "=", verbatim(value));
  if (!m.frontend_attributes.empty() && o_.frontend_attributes)
    attribute_map("frontend_attributes", m.frontend_attributes);
  out_ += "\n";
}

void Printer::computation(const Computation& c, bool is_entry) {
  absl::StrAppend(&out_, is_entry ? "ENTRY " : "", label(c));
  if (o_.signatures) {
    out_ += " (";
    for (size_t k = 0; k < c.params().size(); ++k) {
      const Instr& p = *c.params()[k];
      std::string name = o_.canonical_names ? label(p) : p.name;
      absl::StrAppend(&out_, k ? ", " : "", name, ": ", shape_text(p.shape, false));
    }
    absl::StrAppend(&out_, ") -> ", shape_text(c.root()->shape, false));
  }
  out_ += " {\n";
  for (const Instr* i : instrs(c)) {
    out_ += "  ";
    instr(*i, i == c.root());
    out_ += "\n";
  }
  out_ += "}\n";
}

void Printer::instr(const Instr& i, bool is_root) {
  absl::StrAppend(&out_, is_root ? "ROOT " : "", label(i), " = ",
                  shape_text(shape_with_layouts(i), o_.layouts), " ", cat_piece(name(i.op)), "(");
  operands(i);
  out_ += ")";
  text::append_attrs(&out_, i);
  callees(i);
  quantization(i.shape);
  extras(i);
}

void Printer::operands(const Instr& i) {
  if (i.op == Op::kParameter) {
    absl::StrAppend(&out_, i.parameter_number());
    return;
  }
  if (i.op == Op::kConstant) return literal(i.literal());
  for (size_t k = 0; k < i.operands.size(); ++k) {
    if (k) out_ += ", ";
    if (k && k % 5 == 0 && o_.index_comments && o_.operand_shapes)
      absl::StrAppend(&out_, "/*index=", k, "*/");
    const Instr& o = *i.operands[k];
    if (o_.operand_shapes)
      absl::StrAppend(&out_, shape_text(shape_with_layouts(o), o_.layouts), " ");
    out_ += label(o);
  }
}

void Printer::literal(const Literal& l) {
  if (l.shape().is_tuple()) {
    out_ += "(";
    for (size_t k = 0; k < l.parts().size(); ++k) {
      if (k) out_ += ", ";
      literal(l.parts()[k]);
    }
    out_ += ")";
    return;
  }
  const int64_t n = l.elements();
  if (n == 0) {  // its outer dimensions may be huge
    out_ += "{}";
  } else if (o_.digest_constants && n > kDigestAbove) {
    XXH128_hash_t h = XXH3_128bits(l.bytes(), l.size_bytes());
    absl::StrAppendFormat(&out_, "hash:%016x%016x", h.high64, h.low64);
  } else if (o_.max_constant >= 0 && n > o_.max_constant) {
    out_ += "{...}";
  } else if (is_pred(l.dtype()) && !l.shape().dims.empty()) {
    // XLA writes 1 and 0 in arrays.
    out_ += absl::StrReplaceAll(to_string(l), {{"true", "1"}, {"false", "0"}});
  } else {
    out_ += to_string(l);
  }
}

void Printer::callees(const Instr& i) {
  if (i.calls.empty()) return;
  if (std::string_view list = text::callee_list(i); !list.empty()) {
    absl::StrAppend(&out_, ", ", cat_piece(list), "={");
    for (size_t k = 0; k < i.calls.size(); ++k)
      absl::StrAppend(&out_, k ? ", " : "", label(*i.calls[k]));
    out_ += "}";
    return;
  }
  for (size_t k = 0; k < i.calls.size(); ++k)
    absl::StrAppend(&out_, ", ", cat_piece(text::callee_attribute(i, k)), "=", label(*i.calls[k]));
}

void Printer::quantization(const Shape& s) {
  Shape copy = s;
  std::vector<Shape*> leaves;
  leaf_shapes(&copy, &leaves);
  std::erase_if(leaves, [](Shape* l) { return !l->is_array(); });
  if (std::none_of(leaves.begin(), leaves.end(), [](Shape* l) { return l->quant != nullptr; }))
    return;
  out_ += ", quantization={";
  for (size_t k = 0; k < leaves.size(); ++k) {
    if (k) out_ += ", ";
    if (!leaves[k]->quant) {
      out_ += "none";
      continue;
    }
    const Quantization& q = *leaves[k]->quant;
    absl::StrAppend(&out_, "(", cat_piece(name(q.expressed)), ",", q.axis, ",", q.storage_min, ",",
                    q.storage_max, ",{");
    for (size_t j = 0; j < q.scales.size(); ++j) {
      char buffer[64];
      char* end = std::to_chars(buffer, buffer + sizeof(buffer), q.scales[j]).ptr;
      absl::StrAppend(&out_, j ? "," : "", absl::string_view(buffer, end - buffer));
    }
    absl::StrAppend(&out_, "},{", join(q.zero_points), "})");
  }
  out_ += "}";
}

void Printer::attribute_map(const char* key, const std::map<std::string, std::string>& map) {
  absl::StrAppend(&out_, ", ", key, "={");
  bool first = true;
  for (auto& [k, v] : map) {
    bool plain = !k.empty() && std::all_of(k.begin(), k.end(), is_name_char);
    absl::StrAppend(&out_, first ? "" : ",", plain ? k : quote(k), "=", braced_or_quoted(v));
    first = false;
  }
  out_ += "}";
}

void Printer::extras(const Instr& i) {
  const auto* custom = std::get_if<CustomCallAttrs>(&i.attrs);
  std::string config = custom ? custom->backend_config : "";
  if (i.extras) {
    const Extras& e = *i.extras;
    for (auto& [key, value] : e.other)
      absl::StrAppend(&out_, ", ", key, "=", verbatim(value));
    if (!e.sharding.empty()) absl::StrAppend(&out_, ", sharding=", verbatim(e.sharding));
    if (!e.frontend_attributes.empty() && o_.frontend_attributes)
      attribute_map("frontend_attributes", e.frontend_attributes);
    if (!e.control_predecessors.empty()) {
      out_ += ", control-predecessors={";
      for (size_t k = 0; k < e.control_predecessors.size(); ++k)
        absl::StrAppend(&out_, k ? ", " : "", label(*e.control_predecessors[k]));
      out_ += "}";
    }
    if (o_.metadata) metadata(e.metadata);
    if (!e.backend_config.empty()) config = e.backend_config;
  }
  if (!config.empty()) absl::StrAppend(&out_, ", backend_config=", braced_or_quoted(config));
}

void Printer::metadata(const Metadata& m) {
  if (m == Metadata{}) return;
  out_ += ", metadata={";
  const char* gap = "";
  auto text_field = [&](const char* key, const std::string& v) {
    if (v.empty()) return;
    absl::StrAppend(&out_, gap, key, "=", quote(v));
    gap = " ";
  };
  auto number_field = [&](const char* key, int64_t v) {
    if (v == 0) return;
    absl::StrAppend(&out_, gap, key, "=", v);
    gap = " ";
  };
  text_field("op_type", m.op_type);
  text_field("op_name", m.op_name);
  text_field("source_file", m.source_file);
  number_field("source_line", m.source_line);
  number_field("source_column", m.source_column);
  out_ += "}";
}

}  // namespace

std::string print_hlo(const Module& m, const PrintOptions& options) {
  return Printer(options).module(m);
}

std::string print_computation(const Computation& c, const PrintOptions& options) {
  Printer p(options);
  p.computation(c, c.module() && c.module()->entry() == &c);
  return p.take();
}

std::string print_instr(const Instr& i, const PrintOptions& options) {
  Printer p(options);
  p.instr(i, i.parent && i.parent->root() == &i);
  return p.take();
}

}  // namespace braze
