// SPDX-License-Identifier: Apache-2.0
// One instruction of HLO text: "[ROOT] name = shape opcode(operands), attribute=value, …".
#include <algorithm>

#include "ops/op_def.h"
#include "ops/spelled_op.h"
#include "text/parser.h"
#include "text/spelling.h"

namespace braze::text {

namespace {

std::string_view message_of(const Status& s) { return {s.message().data(), s.message().size()}; }

}  // namespace

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
  Result<SpelledOp> op = spelled_op(spelled);
  if (!op.ok()) return lex_.error(d.pos, message_of(op.status()));
  d.op = op->op;
  d.async = op->part;
  d.attrs = default_attrs(def(d.op).attrs);
  TRY(lex_.expect('(', "before the operands"));
  if (d.async == AsyncPart::kDone) d.attrs = NoAttrs{};
  TRY(operands(&d));
  TRY(lex_.expect(')', "after the operands"));
  TRY(attributes(&d));
  Instr* instr = nullptr;
  if (d.async == AsyncPart::kDone) {
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
  if (d->op == Op::kParameter && d->async == AsyncPart::kNone) {
    ASSIGN(int64_t n, lex_.integer());
    d->attrs = ParameterAttrs{n};
    return {};
  }
  if (d->op == Op::kConstant && d->async == AsyncPart::kNone) return constant_value(d);
  if (lex_.peek() == ')') return {};
  do {
    ASSIGN(Instr * o, operand());
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
    return lex_.error(start,
                      str_cat("'", n, "' is not defined before its use in this computation"));
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
    if (!d->seen.insert(std::string(n)).second)
      return lex_.error(start, str_cat("attribute '", n, "' is given twice"));
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
  static constexpr std::string_view kCallees[] = {"to_apply",
                                                  "calls",
                                                  "condition",
                                                  "body",
                                                  "select",
                                                  "scatter",
                                                  "true_computation",
                                                  "false_computation",
                                                  "branch_computations",
                                                  "called_computations"};
  if (std::find(std::begin(kCallees), std::end(kCallees), n) != std::end(kCallees))
    return callees(d, n);
  if (n == "frontend_attributes") {
    ASSIGN(d->extra().frontend_attributes, attribute_map());
    return {};
  }
  if (n == "backend_config" && lex_.peek() == '"') {
    ASSIGN(d->extra().backend_config, lex_.quoted());
    return {};
  }
  // Shardy's, which HLO has no braces for, are quoted.
  if (n == "sharding" && lex_.peek() == '"') {
    ASSIGN(d->extra().sharding, lex_.quoted());
    return {};
  }
  ASSIGN(std::string_view raw, lex_.raw_value());
  if (n == "sharding")
    d->extra().sharding = std::string(raw);
  else if (n == "backend_config")
    d->extra().backend_config = std::string(raw);
  else
    d->extra().other[std::string(n)] = std::string(raw);
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
  absl::flat_hash_set<Instr*> known;
  do {
    ASSIGN(Instr * i, operand());
    if (known.insert(i).second) d->extra().control_predecessors.push_back(i);
  } while (lex_.eat(','));
  return lex_.expect('}', "after the control predecessors");
}

Status Parser::metadata(Metadata* m) {
  TRY(lex_.expect('{', "to open the metadata"));
  while (!lex_.eat('}')) {
    std::string_view key = lex_.name();
    if (key.empty()) return lex_.expected("a metadata field or '}'");
    TRY(lex_.expect('=', str_cat("after ", key)));
    std::string* text = key == "op_type"       ? &m->op_type
                        : key == "op_name"     ? &m->op_name
                        : key == "source_file" ? &m->source_file
                                               : nullptr;
    int64_t frame = 0;
    int64_t* number = key == "source_line"      ? &m->source_line
                      : key == "source_column"  ? &m->source_column
                      : key == "stack_frame_id" ? &frame
                                                : nullptr;
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
        if (l.file > 0 && l.file <= static_cast<int64_t>(files_.size()))
          m->source_file = files_[l.file - 1];
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
  auto given = [&](std::string_view n) { return d->seen.contains(std::string(n)); };
  for (std::string_view n : required_attributes(d->op))
    if (!given(n))
      return lex_.error(d->pos, str_cat(name(d->op), " needs the attribute '", n, "'"));
  if (d->async == AsyncPart::kStart) {
    Result<Shape> s = unwrap_start(d->op, d->shape);
    if (!s.ok()) return lex_.error(d->pos, message_of(s.status()));
    d->shape = *std::move(s);
  }
  if (auto* a = std::get_if<CustomCallAttrs>(&d->attrs); a && given("operand_layout_constraints"))
    leaf_layouts(d->shape, &a->result_layouts);
  if (auto* a = std::get_if<CompareAttrs>(&d->attrs); a && !d->operands.empty())
    if (a->type == default_compare_type(d->operands[0]->shape.dtype))
      a->type = CompareType::kDefault;
  // XLA leaves false flags out.
  if (auto* a = std::get_if<TriangularSolveAttrs>(&d->attrs); a && !given("left_side"))
    a->left_side = false;
  if (auto* a = std::get_if<CollectiveAttrs>(&d->attrs); a && d->op == Op::kAllToAll) {
    // One operand is split and concatenated along one dimension; several are exchanged whole.
    if (given("dimensions") && !given("concat_dimension")) a->concat_dimension = a->dimension;
  }
  return {};
}

}  // namespace braze::text
