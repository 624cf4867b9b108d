// SPDX-License-Identifier: Apache-2.0
#include "ops/scalar_function.h"

#include "ops/scalar_steps.h"

namespace braze {

Cell load_cell(const Literal& l, int64_t at) {
  Cell c;
  const Dtype t = l.dtype();
  if (is_float(t)) {
    c.f = l.get_float(at);
  } else if (is_complex(t)) {
    const std::complex<double> v = l.get_complex(at);
    c.f = v.real();
    c.im = v.imag();
  } else {
    c.i = l.get_int(at);
  }
  return c;
}

void store_cell(Literal& l, int64_t at, const Cell& c) {
  const Dtype t = l.dtype();
  if (is_float(t)) l.set_float(at, c.f);
  else if (is_complex(t)) l.set_complex(at, {c.f, c.im});
  else l.set_int(at, is_pred(t) ? c.i != 0 : c.i);
}

int64_t wrap_to(Dtype t, int64_t v) {
  if (is_pred(t)) return v != 0;
  const int shift = 64 - bit_size(t);
  const auto bits = static_cast<uint64_t>(v) << shift;
  if (is_signed_int(t)) return static_cast<int64_t>(bits) >> shift;
  return static_cast<int64_t>(bits >> shift);
}

ScalarFunction::ScalarFunction(const EvalContext& ctx, const Computation& body, bool direct)
    : ctx_(ctx), body_(body) {
  direct_ = direct && decode();
}

bool ScalarFunction::decode() {
  for (const Instr* p : body_.params()) {
    if (!p->shape.is_scalar() || p->shape.quant) return false;
    places_.push_back({p, {static_cast<int32_t>(cells_.size())}});
    cells_.emplace_back();
  }
  const std::vector<Instr*> order = post_order(body_);
  if (order.size() > 64) return false;  // places_ is searched linearly
  for (const Instr* i : order)
    if (!i->is(Op::kParameter) && !decode(*i)) return false;
  for (auto& [instr, cells] : places_)
    if (instr == body_.root()) results_ = cells;
  return !results_.empty();
}

bool ScalarFunction::decode(const Instr& i) {
  const OpDef& row = def(i);
  if (i.shape.quant || row.has(kEffect) || row.has(kCalls) || row.has(kCollective)) return false;
  std::vector<int32_t> args;
  for (const Instr* o : i.operands)
    for (auto& [instr, cells] : places_)
      if (instr == o) args.insert(args.end(), cells.begin(), cells.end());
  switch (i.op) {
    case Op::kTuple:
      for (const Instr* o : i.operands)
        if (!o->shape.is_scalar()) return false;
      places_.push_back({&i, args});
      return true;
    case Op::kGetTupleElement: {
      const int64_t at = i.as<IndexAttrs>().index;
      if (at < 0 || at >= static_cast<int64_t>(args.size())) return false;
      places_.push_back({&i, {args[at]}});
      return true;
    }
    default:
      break;
  }
  if (!i.shape.is_scalar()) return false;
  for (const Instr* o : i.operands)
    if (!o->shape.is_scalar() || o->shape.quant) return false;
  if (args.size() != i.operands.size()) return false;
  if (i.is(Op::kCopy) || i.is(Op::kReshape) || i.is(Op::kBroadcast)) {
    places_.push_back({&i, args});
    return true;
  }
  Step s;
  s.instr = &i;
  s.type = i.shape.dtype;
  s.from = i.operands.empty() ? s.type : i.operands[0]->shape.dtype;
  s.out = static_cast<int32_t>(cells_.size());
  cells_.emplace_back();
  places_.push_back({&i, {s.out}});
  if (i.is_constant()) {
    cells_.back() = load_cell(i.literal(), 0);
    return true;
  }
  if (!args.empty()) s.a = args[0];
  if (args.size() > 1) s.b = args[1];
  if (args.size() > 2) s.c = args[2];
  s.fn = direct_step(i);
  s.args = std::move(args);
  steps_.push_back(std::move(s));
  return true;
}

Status ScalarFunction::run_row(const Step& s) {
  absl::InlinedVector<Literal, 3> operands;
  for (size_t k = 0; k < s.args.size(); ++k) {
    operands.emplace_back(Shape::scalar(s.instr->operands[k]->shape.dtype));
    store_cell(operands.back(), 0, cells_[s.args[k]]);
  }
  EvalContext inner{*s.instr, operands, ctx_.run, ctx_.world};
  ASSIGN(Literal value, def(*s.instr).eval(inner));
  cells_[s.out] = load_cell(value, 0);
  return absl::OkStatus();
}

Status ScalarFunction::run_whole(absl::Span<const Cell> args, absl::Span<Cell> results) {
  absl::InlinedVector<Literal, 4> values;
  for (size_t k = 0; k < args.size(); ++k) {
    values.emplace_back(Shape::scalar(body_.params()[k]->shape.dtype));
    store_cell(values.back(), 0, args[k]);
  }
  ASSIGN(Literal out, ctx_.run(body_, values));
  const bool many = out.shape().is_tuple();
  if ((many ? out.parts().size() : 1) != results.size())
    return internal("'", body_.name(), "' returned another number of values");
  for (size_t k = 0; k < results.size(); ++k)
    results[k] = load_cell(many ? out.parts()[k] : out, 0);
  return absl::OkStatus();
}

Status ScalarFunction::call(absl::Span<const Cell> args, absl::Span<Cell> results) {
  if (args.size() != body_.params().size())
    return internal("'", body_.name(), "': wrong arguments");
  if (!direct_) return run_whole(args, results);
  if (results.size() != results_.size()) return internal("'", body_.name(), "': wrong results");
  std::copy(args.begin(), args.end(), cells_.begin());
  for (const Step& s : steps_) {
    if (s.fn) s.fn(s, cells_.data());
    else TRY(run_row(s));
  }
  for (size_t k = 0; k < results.size(); ++k) results[k] = cells_[results_[k]];
  return absl::OkStatus();
}

std::optional<Op> plain_combiner(const Computation& body) {
  const Instr* root = body.root();
  if (!root || body.params().size() != 2 || !root->shape.is_scalar() || root->operands.size() != 2)
    return std::nullopt;
  switch (root->op) {
    case Op::kMinimum: case Op::kMaximum:
      if (is_complex(root->shape.dtype)) return std::nullopt;
      break;
    case Op::kAdd: case Op::kMultiply: case Op::kAnd: case Op::kOr: case Op::kXor:
      break;
    default:
      return std::nullopt;
  }
  const Instr* p = body.params()[0];
  const Instr* q = body.params()[1];
  const bool plain = (root->operand(0) == p && root->operand(1) == q) ||
                     (root->operand(0) == q && root->operand(1) == p);
  if (!plain || p->shape.dtype != root->shape.dtype || q->shape.dtype != root->shape.dtype ||
      root->shape.quant)
    return std::nullopt;
  return root->op;
}

}  // namespace braze
