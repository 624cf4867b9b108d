// SPDX-License-Identifier: Apache-2.0
// Control: tuples, calls, loops, branches, map, fusion, and the ops that only order others.
//
// While and conditional take their called computations' arguments as HLO does: one operand for each
// parameter list (a tuple for several values).
#include "ops/dim_rules.h"
#include "ops/sampling.h"
#include "ops/scalar_function.h"

namespace braze {
namespace {

// A called computation's parameters against the values it gets.
Status check_arguments(std::string_view rule, const Computation& c,
                       absl::Span<const Shape* const> args) {
  if (c.params().size() != args.size())
    return law(rule, "'", c.name(), "' takes ", c.params().size(), " parameters, gets ",
               args.size());
  for (size_t k = 0; k < args.size(); ++k)
    if (!shapes_agree(c.params()[k]->shape, *args[k]))
      return law(rule, "parameter ", k, " of '", c.name(), "' is ",
                 to_string(c.params()[k]->shape, false), ", its argument ",
                 to_string(*args[k], false));
  return absl::OkStatus();
}

Result<Shape> infer_tuple(const InferContext& ctx) {
  TRY(check_form<NoAttrs>(ctx, -1));
  std::vector<Shape> parts;
  for (const Shape* s : ctx.operands) parts.push_back(*s);
  return Shape::tuple_of(std::move(parts));
}

Result<Literal> eval_tuple(const EvalContext& ctx) {
  return Literal::tuple(std::vector<Literal>(ctx.operands.begin(), ctx.operands.end()));
}

Result<Shape> infer_element(const InferContext& ctx) {
  TRY(check_form<IndexAttrs>(ctx, 1));
  const Shape& t = ctx.operand(0);
  if (!t.is_tuple())
    return invalid("get-tuple-element: operand must be a tuple, got ", to_string(t, false));
  const int64_t i = ctx.as<IndexAttrs>().index, n = static_cast<int64_t>(t.tuple.size());
  if (i < 0 || i >= n)
    return law("stablehlo.get_tuple_element (C1)", "index ", i, " is not in [0, ", n, ")");
  return t.tuple[i];
}

Result<Literal> eval_element(const EvalContext& ctx) {
  const auto i = static_cast<size_t>(ctx.as<IndexAttrs>().index);
  if (i >= ctx.operand(0).parts().size()) return internal("get-tuple-element: index out of range");
  return ctx.operand(0).parts()[i];
}

Result<Shape> infer_call(const InferContext& ctx) {
  TRY(check_form<NoAttrs>(ctx, -1, 1));
  TRY(check_arguments(name(ctx.op), *ctx.calls[0], ctx.operands));
  return ctx.calls[0]->root()->shape;
}

Result<Shape> infer_fusion(const InferContext& ctx) {
  TRY(check_form<FusionAttrs>(ctx, -1, 1));
  TRY(check_arguments(name(ctx.op), *ctx.calls[0], ctx.operands));
  return ctx.calls[0]->root()->shape;
}

Result<Literal> eval_call(const EvalContext& ctx) {
  return ctx.run(*ctx.instr.calls[0], ctx.operands);
}

Result<Shape> infer_while(const InferContext& ctx) {
  TRY(check_form<NoAttrs>(ctx, 1, 2));
  const Computation &cond = *ctx.calls[0], &body = *ctx.calls[1];
  TRY(check_arguments("stablehlo.while (C1)", cond, ctx.operands));
  const Shape& test = cond.root()->shape;
  if (!test.is_scalar() || !is_pred(test.dtype))
    return law("stablehlo.while (C1)", "condition '", cond.name(), "' must return pred[], returns ",
               to_string(test, false));
  TRY(check_arguments("stablehlo.while (C2)", body, ctx.operands));
  if (!shapes_agree(body.root()->shape, ctx.operand(0)))
    return law("stablehlo.while (C2)", "body '", body.name(), "' must return ",
               to_string(ctx.operand(0), false), ", returns ",
               to_string(body.root()->shape, false));
  return ctx.operand(0);
}

Result<Literal> eval_while(const EvalContext& ctx) {
  Literal state = ctx.operand(0);
  while (true) {
    ASSIGN(Literal go, ctx.run(*ctx.instr.calls[0], absl::MakeConstSpan(&state, 1)));
    if (!go.get_bool(0)) return state;
    ASSIGN(state, ctx.run(*ctx.instr.calls[1], absl::MakeConstSpan(&state, 1)));
  }
}

Result<Shape> infer_conditional(const InferContext& ctx) {
  TRY(check_form<NoAttrs>(ctx, -1, -1));
  if (ctx.operands.empty()) return invalid("conditional: needs a predicate or branch index");
  const Shape& which = ctx.operand(0);
  if (!which.is_scalar() || (!is_pred(which.dtype) && which.dtype != Dtype::kS32))
    return invalid("conditional: the first operand must be pred[] or s32[], got ",
                   to_string(which, false));
  const size_t n = ctx.calls.size();
  if (n == 0) return law("stablehlo.case (C1)", "needs at least one branch");
  if (is_pred(which.dtype) && n != 2)
    return law("stablehlo.if (C1)", "a predicate selects one of 2 branches, got ", n);
  if (ctx.operands.size() != n + 1)
    return invalid("conditional: takes one operand per branch (", n, "), got ",
                   ctx.operands.size() - 1);
  const std::string_view rule = is_pred(which.dtype) ? "stablehlo.if (C2)" : "stablehlo.case (C3)";
  for (size_t k = 0; k < n; ++k) {
    TRY(check_arguments("conditional", *ctx.calls[k], ctx.operands.subspan(k + 1, 1)));
    if (!shapes_agree(ctx.calls[k]->root()->shape, ctx.calls[0]->root()->shape))
      return law(rule, "branches must return one type, got ",
                 to_string(ctx.calls[0]->root()->shape, false), " and ",
                 to_string(ctx.calls[k]->root()->shape, false));
  }
  return ctx.calls[0]->root()->shape;
}

Result<Literal> eval_conditional(const EvalContext& ctx) {
  const auto n = static_cast<int64_t>(ctx.instr.calls.size());
  int64_t branch = ctx.operand(0).get_int(0);
  if (is_pred(ctx.operand(0).dtype())) branch = branch ? 0 : 1;
  else if (branch < 0 || branch >= n) branch = n - 1;
  return ctx.run(*ctx.instr.calls[branch], ctx.operands.subspan(branch + 1, 1));
}

Result<Shape> infer_map(const InferContext& ctx) {
  TRY(check_form<DimsAttrs>(ctx, -1, 1));
  if (ctx.operands.empty()) return law("stablehlo.map (C2)", "needs at least one input");
  TRY(check_arrays(ctx, 0, ctx.operands.size()));
  const Shape& first = ctx.operand(0);
  for (const Shape* s : ctx.operands)
    if (!dims_agree(first, *s))
      return law("stablehlo.map (C1)", "inputs must have one shape, got ", to_string(first, false),
                 " and ", to_string(*s, false));
  const Dims& dims = ctx.as<DimsAttrs>().dimensions;
  if (dims != axes_except(first.rank(), {}))
    return law("stablehlo.map (C3)", "dimensions must be all dimensions in order, got {",
               join(dims), "}");
  const Computation& c = *ctx.calls[0];
  bool good = c.params().size() == ctx.operands.size() && c.root()->shape.is_scalar();
  for (size_t k = 0; good && k < c.params().size(); ++k)
    good = c.params()[k]->shape.is_scalar() && c.params()[k]->shape.dtype == ctx.operand(k).dtype;
  if (!good)
    return law("stablehlo.map (C4)", "'", c.name(),
               "' must take a scalar of each input's element type and return a scalar");
  Shape out = first.with_dtype(c.root()->shape.dtype);
  out.quant = c.root()->shape.quant;
  return out;
}

Result<Literal> eval_map(const EvalContext& ctx) {
  ASSIGN(const Shape shape, actual_shape(ctx));
  Literal out(shape);
  ScalarFunction f(ctx, *ctx.instr.calls[0]);
  std::vector<Cell> args(ctx.operands.size());
  Cell result;
  for (int64_t i = 0, n = out.elements(); i < n; ++i) {
    for (size_t k = 0; k < args.size(); ++k) args[k] = load_cell(ctx.operand(k), i);
    TRY(f.call(args, absl::MakeSpan(&result, 1)));
    store_cell(out, i, result);
  }
  return out;
}

// The body's ops on whole arrays: elementwise ops as they are, constants broadcast.
Result<Instr*> expand_map(Builder& b, const Instr& i) {
  std::vector<std::pair<const Instr*, Instr*>> done;
  auto value_of = [&](const Instr* x) {
    for (auto& [from, to] : done)
      if (from == x) return to;
    return static_cast<Instr*>(nullptr);
  };
  for (Instr* x : post_order(*i.calls[0])) {
    Instr* to = nullptr;
    std::vector<Instr*> operands;
    for (Instr* o : x->operands) operands.push_back(value_of(o));
    if (x->is(Op::kParameter)) {
      to = i.operand(x->parameter_number());
    } else if (x->is(Op::kConstant)) {
      to = b.broadcast(b.constant(x->literal()), i.shape.dims, {});
    } else if (x->is(Op::kCopy) || x->is(Op::kReshape) || x->is(Op::kBroadcast)) {
      to = operands[0];
    } else if (def(*x).has(kElementwise) && x->shape.is_scalar()) {
      to = b.op_shaped(x->op, i.shape.with_dtype(x->shape.dtype), operands, x->attrs);
    } else {
      return unimplemented("map: '", x->name, "' (", name(x->op), ") is not elementwise");
    }
    done.push_back({x, to});
  }
  TRY(b.status());
  return value_of(i.calls[0]->root());
}

Result<Shape> infer_same(const InferContext& ctx) {
  TRY(check_form<NoAttrs>(ctx, 1));
  return ctx.operand(0);
}

Result<Literal> eval_same(const EvalContext& ctx) { return ctx.operand(0); }

Result<Shape> infer_after_all(const InferContext& ctx) {
  TRY(check_form<NoAttrs>(ctx, -1));
  for (const Shape* s : ctx.operands)
    if (!s->is_token())
      return law("stablehlo.after_all (I1)", "operands must be tokens, got ", to_string(*s, false));
  return Shape::token();
}

Result<Literal> eval_after_all(const EvalContext&) { return Literal(Shape::token()); }

Result<Shape> infer_add_dependency(const InferContext& ctx) {
  TRY(check_form<NoAttrs>(ctx, 2));
  if (!ctx.operand(1).is_token())
    return invalid("add-dependency: operand 1 must be a token, got ",
                   to_string(ctx.operand(1), false));
  return ctx.operand(0);
}

std::unique_ptr<Module> sample_tuple(std::mt19937_64& rng) {
  Sampler s(rng, "tuple");
  std::vector<Instr*> parts;
  for (int64_t n = s.uniform(0, 3); n > 0; --n)
    parts.push_back(s.parameter(Shape::array(s.dtype(), s.dims(0, 3, 4))));
  s.root(Op::kTuple, absl::MakeConstSpan(parts));
  return s.finish();
}

std::unique_ptr<Module> sample_element(std::mt19937_64& rng) {
  Sampler s(rng, "get_tuple_element");
  std::vector<Shape> parts;
  for (int64_t n = s.uniform(1, 3); n > 0; --n)
    parts.push_back(Shape::array(s.dtype(), s.dims(0, 3, 4)));
  const int64_t n = static_cast<int64_t>(parts.size());
  s.root(Op::kGetTupleElement, {s.parameter(Shape::tuple_of(parts))},
         IndexAttrs{s.uniform(0, n - 1)});
  return s.finish();
}

// x + y and x over arrays of `shape`, as a pair.
Computation* pair_body(Sampler& s, const Shape& shape) {
  Computation* c = s.computation("body", {shape, shape});
  Builder b(c);
  c->set_root(b.tuple({b.add(c->params()[0], c->params()[1]), c->params()[0]}));
  return c;
}

std::unique_ptr<Module> sample_call(std::mt19937_64& rng) {
  Sampler s(rng, "call");
  const Shape shape = Shape::array(s.number(), s.dims(0, 3, 4));
  s.root(Op::kCall, {s.parameter(shape), s.parameter(shape)}, NoAttrs{}, {pair_body(s, shape)});
  return s.finish();
}

std::unique_ptr<Module> sample_fusion(std::mt19937_64& rng) {
  Sampler s(rng, "fusion");
  const Shape shape = Shape::array(s.number(), s.dims(0, 3, 4));
  s.root(Op::kFusion, {s.parameter(shape), s.parameter(shape)}, FusionAttrs{},
         {pair_body(s, shape)});
  return s.finish();
}

// A loop over (count, value) that runs while count mod 8 is not 0.
std::unique_ptr<Module> sample_while(std::mt19937_64& rng) {
  Sampler s(rng, "while");
  const Shape value = Shape::array(s.number(), s.dims(0, 2, 4)), count = Shape::scalar(Dtype::kS32);
  const Shape state = Shape::tuple_of({count, value});
  Computation* cond = s.computation("condition", {state});
  {
    Builder b(cond);
    Instr* low = b.binary(Op::kAnd, b.element(cond->params()[0], 0), b.scalar(Dtype::kS32, 7));
    cond->set_root(b.compare(CompareDirection::kNe, low, b.scalar(Dtype::kS32, 0)));
  }
  Computation* body = s.computation("body", {state});
  {
    Builder b(body);
    Instr *n = b.element(body->params()[0], 0), *v = b.element(body->params()[0], 1);
    body->set_root(b.tuple({b.add(n, b.scalar(Dtype::kS32, 1)), b.add(v, v)}));
  }
  s.root(Op::kWhile, {s.parameter(state)}, NoAttrs{}, {cond, body});
  return s.finish();
}

std::unique_ptr<Module> sample_conditional(std::mt19937_64& rng) {
  Sampler s(rng, "conditional");
  const bool by_index = s.chance(0.5);
  const Shape shape = Shape::array(s.number(), s.dims(0, 2, 4));
  std::vector<Instr*> operands{
      s.parameter(Shape::scalar(by_index ? Dtype::kS32 : Dtype::kPred))};
  std::vector<Computation*> branches;
  for (int64_t n = by_index ? s.uniform(1, 4) : 2; n > 0; --n) {
    Computation* c = s.computation("branch", {shape});
    Builder b(c);
    c->set_root(b.binary(s.pick({Op::kAdd, Op::kMultiply, Op::kSubtract}), c->params()[0],
                         c->params()[0]));
    branches.push_back(c);
    operands.push_back(s.parameter(shape));
  }
  s.root(Op::kConditional, operands, NoAttrs{}, branches);
  return s.finish();
}

std::unique_ptr<Module> sample_map(std::mt19937_64& rng) {
  Sampler s(rng, "map");
  const Dims dims = s.dims(0, 3, 5);
  const Dtype t = s.number();
  Computation* c = s.computation("f", {Shape::scalar(t), Shape::scalar(t)});
  Builder b(c);
  Instr *x = c->params()[0], *y = c->params()[1];
  c->set_root(
      b.select(b.compare(CompareDirection::kLt, x, y), b.mul(x, b.scalar(t, 3)), b.sub(y, x)));
  s.root(Op::kMap, {s.parameter(Shape::array(t, dims)), s.parameter(Shape::array(t, dims))},
         DimsAttrs{axes_except(static_cast<int64_t>(dims.size()), {})}, {c});
  return s.finish();
}

template <Op O>
std::unique_ptr<Module> sample_same(std::mt19937_64& rng) {
  Sampler s(rng, name(O));
  Shape shape = Shape::array(s.dtype(), s.dims(0, 3, 4));
  if (s.chance(0.3)) shape = Shape::tuple_of({shape, Shape::scalar(s.dtype())});
  s.root(O, {s.parameter(shape)});
  return s.finish();
}

std::unique_ptr<Module> sample_after_all(std::mt19937_64& rng) {
  Sampler s(rng, "after_all");
  std::vector<Instr*> tokens;
  for (int64_t n = s.uniform(0, 3); n > 0; --n) tokens.push_back(s.parameter(Shape::token()));
  s.root(Op::kAfterAll, absl::MakeConstSpan(tokens));
  return s.finish();
}

std::unique_ptr<Module> sample_add_dependency(std::mt19937_64& rng) {
  Sampler s(rng, "add_dependency");
  Instr* value = s.parameter(Shape::array(s.dtype(), s.dims(0, 3, 4)));
  s.root(Op::kAddDependency, {value, s.parameter(Shape::token())});
  return s.finish();
}

}  // namespace

absl::Span<const OpDef> control_rows() {
  constexpr int kNoAttrs = attrs_index<NoAttrs>();
  static const OpDef rows[] = {
      {.op = Op::kTuple,
       .stablehlo = "tuple",
       .traits = kMovement,
       .attrs = kNoAttrs,
       .infer = infer_tuple,
       .eval = eval_tuple,
       .step = Step::kFree,
       .cost = 0,
       .sample = sample_tuple,
       .doc = "A tuple of its operands."},
      {.op = Op::kGetTupleElement,
       .stablehlo = "get_tuple_element",
       .arity = 1,
       .traits = kMovement,
       .attrs = attrs_index<IndexAttrs>(),
       .infer = infer_element,
       .eval = eval_element,
       .step = Step::kFree,
       .cost = 0,
       .sample = sample_element,
       .doc = "One element of a tuple."},
      {.op = Op::kCall,
       .stablehlo = "call",
       .traits = kCalls,
       .attrs = kNoAttrs,
       .infer = infer_call,
       .eval = eval_call,
       .step = Step::kControl,
       .sample = sample_call,
       .doc = "The value of a computation on the operands."},
      {.op = Op::kWhile,
       .stablehlo = "while",
       .arity = 1,
       .traits = kCalls,
       .attrs = kNoAttrs,
       .infer = infer_while,
       .eval = eval_while,
       .step = Step::kControl,
       .sample = sample_while,
       .doc = "Replaces its state by body(state) as long as condition(state) holds."},
      {.op = Op::kConditional,
       .stablehlo = "case",
       .traits = kCalls,
       .attrs = kNoAttrs,
       .infer = infer_conditional,
       .eval = eval_conditional,
       .step = Step::kControl,
       .sample = sample_conditional,
       .doc = "One of several computations on its operand: by predicate (true is the first) or by "
              "index, where an index out of range means the last."},
      {.op = Op::kMap,
       .stablehlo = "map",
       .traits = kCalls,
       .attrs = attrs_index<DimsAttrs>(),
       .infer = infer_map,
       .eval = eval_map,
       .expand = expand_map,
       .sample = sample_map,
       .doc = "A scalar computation on each element."},
      {.op = Op::kFusion,
       .traits = kCalls,
       .attrs = attrs_index<FusionAttrs>(),
       .infer = infer_fusion,
       .eval = eval_call,
       .step = Step::kControl,
       .sample = sample_fusion,
       .doc = "The value of a computation that becomes one kernel."},
      {.op = Op::kOptBarrier,
       .stablehlo = "optimization_barrier",
       .arity = 1,
       .attrs = kNoAttrs,
       .infer = infer_same,
       .eval = eval_same,
       .step = Step::kFree,
       .cost = 0,
       .sample = sample_same<Op::kOptBarrier>,
       .doc = "Its operand; nothing is moved or merged across it."},
      {.op = Op::kAfterAll,
       .stablehlo = "after_all",
       .attrs = kNoAttrs,
       .infer = infer_after_all,
       .eval = eval_after_all,
       .step = Step::kFree,
       .cost = 0,
       .sample = sample_after_all,
       .doc = "A token that comes after all its operands."},
      {.op = Op::kAddDependency,
       .arity = 2,
       .attrs = kNoAttrs,
       .infer = infer_add_dependency,
       .eval = eval_same,
       .step = Step::kFree,
       .cost = 0,
       .sample = sample_add_dependency,
       .doc = "Its first operand, available after the token."},
      {.op = Op::kDomain,
       .arity = 1,
       .attrs = kNoAttrs,
       .infer = infer_same,
       .eval = eval_same,
       .step = Step::kFree,
       .cost = 0,
       .sample = sample_same<Op::kDomain>,
       .doc = "Its operand; a border between sharding domains."},
  };
  return rows;
}

}  // namespace braze
