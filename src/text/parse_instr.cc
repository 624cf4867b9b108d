// SPDX-License-Identifier: Apache-2.0
// One instruction of HLO text: "[ROOT] name = shape opcode(operands), attribute=value, …".
#include <algorithm>

#include "ops/op_def.h"
#include "text/parser.h"
#include "text/spelling.h"

namespace braze::text {

namespace {

// Levenshtein distance, for "did you mean".
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t best = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[b.size()];
}

std::string nearest_opcode(std::string_view spelled) {
  std::string best;
  size_t best_distance = spelled.size() / 3 + 2;
  if (spelled.size() > 40) return best;
  for (int i = 0; i < kOpCount; ++i) {
    std::string_view n = name(static_cast<Op>(i));
    if (size_t d = edit_distance(spelled, n); d < best_distance) best_distance = d, best = n;
  }
  return best;
}

bool eat_suffix(std::string_view* s, std::string_view suffix) {
  if (s->size() <= suffix.size() || s->substr(s->size() - suffix.size()) != suffix) return false;
  s->remove_suffix(suffix.size());
  return true;
}

}  // namespace

// Async pairs become the op itself at the place of the start; the done is another name for it.
Result<Op> Parser::opcode(std::string_view spelled, size_t pos, Draft* d) {
  if (std::optional<Op> op = op_from_hlo(spelled)) return *op;
  std::string_view base = spelled;
  if (eat_suffix(&base, "-done") || eat_suffix(&base, "-update")) {
    if (base == "async" || op_from_hlo(base)) {
      d->async = Draft::kDone;
      return Op::kOptBarrier;  // never built
    }
  } else if (eat_suffix(&base, "-start")) {
    d->async = Draft::kStart;
    if (base == "async") return Op::kCall;
    if (std::optional<Op> op = op_from_hlo(base)) return *op;
  }
  std::string near = nearest_opcode(spelled);
  return lex_.error(pos, str_cat("unknown opcode '", spelled, "'",
                                 near.empty() ? "" : str_cat("; did you mean '", near, "'?")));
}

Status Parser::instruction(Computation* c, Instr** root, Instr** last) {
  bool is_root = lex_.eat_word("ROOT");
  lex_.eat('%');
  Draft d;
  lex_.skip_space();
  size_t name_pos = lex_.pos();
  d.name = std::string(lex_.name());
  if (d.name.empty()) return lex_.expected("an instruction or '}'");
  if (values_.contains(d.name))
    return lex_.error(name_pos, str_cat("'", d.name, "' is defined twice in this computation"));
  TRY(lex_.expect('=', "after the instruction's name"));
  ASSIGN(d.shape, shape());
  lex_.skip_space();
  d.pos = lex_.pos();
  std::string_view spelled = lex_.name();
  if (spelled.empty()) return lex_.expected("an opcode");
  ASSIGN(d.op, opcode(spelled, d.pos, &d));
  d.attrs = default_attrs(def(d.op).attrs);
  TRY(lex_.expect('(', "before the operands"));
  if (d.async == Draft::kDone) d.attrs = NoAttrs{};
  TRY(operands(&d));
  TRY(lex_.expect(')', "after the operands"));
  TRY(attributes(&d));
  Instr* instr = nullptr;
  if (d.async == Draft::kDone) {
    if (d.operands.size() != 1) return lex_.error(d.pos, str_cat(spelled, " takes one operand"));
    instr = d.operands[0];
  } else {
    TRY(add(c, &d, &instr));
  }
  values_[d.name] = instr;
  if (is_root && *root) return lex_.error(name_pos, "the computation has two ROOT instructions");
  if (is_root) *root = instr;
  *last = instr;
  return {};
}

Status Parser::add(Computation* c, Draft* d, Instr** out) {
  TRY(complete(d));
  if (!std::holds_alternative<NoAttrs>(d->attrs) && d->op == Op::kParameter) {
    const int64_t number = std::get<ParameterAttrs>(d->attrs).number;
    // Their density is checked at the end; a wild number must not size a table.
    if (number < 0 || number >= static_cast<int64_t>(lex_.remaining() + lex_.pos()))
      return lex_.error(d->pos, str_cat("parameter number ", number, " is out of range"));
    if (number < static_cast<int64_t>(c->params().size()) && c->params()[number])
      return lex_.error(d->pos, str_cat("parameter ", number, " is defined twice"));
  }
  Instr* i = c->add(d->op, d->shape, d->operands, std::move(d->attrs), {}, d->name);
  i->extras = std::move(d->extras);
  pending_.push_back({i, d->pos, std::move(d->callees)});
  *out = i;
  return {};
}

Status Parser::operands(Draft* d) {
  if (d->op == Op::kParameter && d->async == Draft::kSync) {
    ASSIGN(int64_t n, lex_.integer());
    d->attrs = ParameterAttrs{n};
    return {};
  }
  if (d->op == Op::kConstant && d->async == Draft::kSync) return constant_value(d);
  if (lex_.peek() == ')') return {};
  do {
    ASSIGN(Instr* o, operand());
    d->operands.push_back(o);
  } while (lex_.eat(','));
  return {};
}

Status Parser::constant_value(Draft* d) {
  if (lex_.peek() == ')' && d->shape.is_tuple() && d->shape.tuple.empty()) {
    d->attrs = ConstantAttrs{Literal::tuple({})};
    return {};
  }
  ASSIGN(Literal l, literal(d->shape));
  d->attrs = ConstantAttrs{std::move(l)};
  return {};
}

Result<Instr*> Parser::operand() {
  lex_.skip_space();
  size_t start = lex_.pos();
  if (lex_.peek_raw() != '%') {
    // A shape, or the name itself.
    bool has_shape = lex_.peek_raw() == '(';
    if (!has_shape) has_shape = dtype_from_hlo(lex_.name()) && lex_.peek_raw() == '[';
    lex_.seek(start);
    if (has_shape) TRY(shape().status());
  }
  lex_.eat('%');
  lex_.skip_space();
  start = lex_.pos();
  std::string_view n = lex_.name();
  if (n.empty()) return lex_.expected("an operand");
  auto it = values_.find(std::string(n));
  if (it == values_.end())
    return lex_.error(start, str_cat("'", n, "' is not defined before its use in this computation"));
  return it->second;
}

Status Parser::attributes(Draft* d) {
  while (lex_.eat(',')) {
    lex_.skip_space();
    size_t start = lex_.pos();
    std::string_view n = lex_.name();
    if (n.empty()) return lex_.expected("an attribute");
    if (lex_.peek_raw() != '=') return lex_.expected(str_cat("'=' after attribute ", n));
    lex_.seek(lex_.pos() + 1);
    if (std::find(d->seen.begin(), d->seen.end(), n) != d->seen.end())
      return lex_.error(start, str_cat("attribute '", n, "' is given twice"));
    d->seen.emplace_back(n);
    TRY(attribute(d, n));
  }
  return {};
}

Status Parser::attribute(Draft* d, std::string_view n) {
  if (n == "metadata") return metadata(&d->extra().metadata);
  if (n == "control-predecessors") return control_predecessors(d);
  if (n == "quantization") return quantization(&d->shape);
  ASSIGN(bool known, parse_field(*this, d->op, n, &d->attrs));
  if (known) return {};
  static constexpr std::string_view kCallees[] = {
      "to_apply", "calls", "condition", "body", "select", "scatter", "true_computation",
      "false_computation", "branch_computations", "called_computations"};
  if (std::find(std::begin(kCallees), std::end(kCallees), n) != std::end(kCallees)) return callees(d, n);
  if (n == "frontend_attributes") {
    ASSIGN(d->extra().frontend_attributes, attribute_map());
    return {};
  }
  if (n == "backend_config" && lex_.peek() == '"') {
    ASSIGN(d->extra().backend_config, lex_.quoted());
    return {};
  }
  ASSIGN(std::string_view raw, lex_.raw_value());
  if (n == "sharding") d->extra().sharding = std::string(raw);
  else if (n == "backend_config") d->extra().backend_config = std::string(raw);
  else d->extra().other[std::string(n)] = std::string(raw);
  return {};
}

Status Parser::callees(Draft* d, std::string_view n) {
  bool second = n == "body" || n == "scatter" || n == "false_computation";
  bool fixed = second || n == "condition" || n == "select" || n == "true_computation";
  bool list = lex_.eat('{');
  if (list && lex_.eat('}')) return {};
  do {
    lex_.eat('%');
    lex_.skip_space();
    size_t start = lex_.pos();
    std::string_view c = lex_.name();
    if (c.empty()) return lex_.expected("a computation's name");
    d->callees.push_back({fixed ? second : d->callees.size(), std::string(c), start});
  } while (list && lex_.eat(','));
  return list ? lex_.expect('}', "after the computations") : Status();
}

Status Parser::control_predecessors(Draft* d) {
  TRY(lex_.expect('{', "to open the control predecessors"));
  if (lex_.eat('}')) return {};
  do {
    ASSIGN(Instr* i, operand());
    std::vector<Instr*>& all = d->extra().control_predecessors;
    if (std::find(all.begin(), all.end(), i) == all.end()) all.push_back(i);
  } while (lex_.eat(','));
  return lex_.expect('}', "after the control predecessors");
}

Status Parser::metadata(Metadata* m) {
  TRY(lex_.expect('{', "to open the metadata"));
  while (!lex_.eat('}')) {
    std::string_view key = lex_.name();
    if (key.empty()) return lex_.expected("a metadata field or '}'");
    TRY(lex_.expect('=', str_cat("after ", key)));
    std::string* text = key == "op_type" ? &m->op_type : key == "op_name" ? &m->op_name
                        : key == "source_file" ? &m->source_file : nullptr;
    int64_t frame = 0;
    int64_t* number = key == "source_line" ? &m->source_line : key == "source_column" ? &m->source_column
                      : key == "stack_frame_id" ? &frame : nullptr;
    if (text) {
      ASSIGN(*text, lex_.quoted());
    } else if (number) {
      ASSIGN(*number, lex_.integer());
    } else {
      TRY(lex_.raw_value().status());
    }
    if (frame > 0 && frame <= static_cast<int64_t>(frames_.size()) && m->source_file.empty()) {
      int64_t at = frames_[frame - 1].location;
      if (at > 0 && at <= static_cast<int64_t>(locations_.size())) {
        const FileLocation& l = locations_[at - 1];
        if (l.file > 0 && l.file <= static_cast<int64_t>(files_.size())) m->source_file = files_[l.file - 1];
        m->source_line = l.line;
        m->source_column = l.column;
      }
    }
    lex_.eat(',');
  }
  return {};
}

namespace {

void leaf_layouts(const Shape& s, std::vector<Dims>* out) {
  if (!s.is_tuple()) out->push_back(s.layout);
  for (const Shape& t : s.tuple) leaf_layouts(t, out);
}

}  // namespace

// What depends on several attributes at once.
Status Parser::complete(Draft* d) {
  auto given = [&](std::string_view n) {
    return std::find(d->seen.begin(), d->seen.end(), n) != d->seen.end();
  };
  for (std::string_view n : required_attributes(d->op))
    if (!given(n)) return lex_.error(d->pos, str_cat(name(d->op), " needs the attribute '", n, "'"));
  if (d->async == Draft::kStart) TRY(unwrap_start(d));
  if (auto* a = std::get_if<CustomCallAttrs>(&d->attrs); a && given("operand_layout_constraints"))
    leaf_layouts(d->shape, &a->result_layouts);
  // XLA leaves false flags out.
  if (auto* a = std::get_if<TriangularSolveAttrs>(&d->attrs); a && !given("left_side")) a->left_side = false;
  if (auto* a = std::get_if<CollectiveAttrs>(&d->attrs); a && d->op == Op::kAllToAll) {
    // One operand is split and concatenated along one dimension; several are exchanged whole.
    if (given("dimensions") && !given("concat_dimension")) a->concat_dimension = a->dimension;
  }
  return {};
}

// The shape of x-start holds operands and results; the plain op has the results only.
Status Parser::unwrap_start(Draft* d) {
  if (d->op == Op::kAllReduce) return {};
  size_t part = d->op == Op::kCopy ? 0 : 1;
  if (!d->shape.is_tuple() || d->shape.tuple.size() <= part)
    return lex_.error(d->pos, str_cat("the shape of an asynchronous ", name(d->op), " is a tuple of operand, result …"));
  Shape result = d->shape.tuple[part];
  d->shape = std::move(result);
  return {};
}

}  // namespace braze::text
