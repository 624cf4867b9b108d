// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/random_module.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "ops/builder.h"
#include "ops/sample.h"

namespace braze::fuzz {
namespace {

using sample::Rng;

constexpr int64_t kMaxElements = 4096;

bool usable(const Shape& s) {
  return s.is_array() && s.is_static() && !s.has_bounded_dim() && !s.quant && s.elements() <= kMaxElements;
}

// Ops whose samples join in: no surroundings, no state, no shapes known at run time only.
bool joins(Op op) {
  switch (op) {
    case Op::kRng: case Op::kRngState: case Op::kInfeed: case Op::kOutfeed: case Op::kSend: case Op::kSendDone:
    case Op::kRecv: case Op::kRecvDone: case Op::kParameter: case Op::kSetDimensionSize:
    case Op::kDynamicBroadcast: case Op::kDynamicConv: case Op::kDynamicGather: case Op::kDynamicIota:
    case Op::kDynamicPad: case Op::kDynamicReshape: case Op::kDynamicReduceWindow:
    case Op::kRealDynamicSlice: case Op::kUniformQuantize: case Op::kUniformDequantize:
    case Op::kAllToAll: case Op::kAllGather: case Op::kReduceScatter: case Op::kDomain:
      return false;
    default: return def(op).sample != nullptr;
  }
}

const std::vector<Op>& joining_ops() {
  static const std::vector<Op> ops = [] {
    std::vector<Op> out;
    for (int k = 0; k < 512; ++k) {
      const Op op = static_cast<Op>(k);
      if (k > static_cast<int>(Op::kReplicaId)) break;
      if (joins(op)) out.push_back(op);
    }
    return out;
  }();
  return ops;
}

// Values made so far in one computation.
using Values = std::vector<Instr*>;

class Writer {
 public:
  explicit Writer(uint64_t seed) : rng_(seed) {}

  Case write() {
    Case c;
    c.module = std::make_unique<Module>("random");
    module_ = c.module.get();
    entry_ = module_->add_computation("main");
    module_->set_entry(entry_);
    Builder b(entry_);
    Values values;
    for (int64_t n = pick(1, 3); n > 0; --n) values.push_back(parameter(b));
    grow(b, values, pick(2, 14), 0);
    finish(b, values);
    if (!ok_) return {};
    const bool specials = chance(0.3);
    for (const Instr* p : entry_->params()) c.args.push_back(sample::literal(rng_, p->shape, specials));
    return c;
  }

 private:
  int64_t pick(int64_t lo, int64_t hi) { return sample::pick(rng_, lo, hi); }
  bool chance(double p) { return sample::chance(rng_, p); }
  Instr* any(const Values& v) { return v[pick(0, static_cast<int64_t>(v.size()) - 1)]; }

  Shape random_shape() {
    return sample::shape(rng_, kPredT | kIntT | kFloatT | kComplexT, 0, 4);
  }

  Instr* parameter(Builder& b) { return parameter(b, random_shape()); }
  Instr* parameter(Builder& b, const Shape& s) {
    return b.parameter(static_cast<int64_t>(b.computation()->params().size()), s);
  }

  // A value of this shape from nothing.
  Instr* fresh(Builder& b, const Shape& s) {
    if (b.computation() == entry_ && chance(0.8)) return parameter(b, s);
    if (s.dims.empty() || s.elements() <= 16 || chance(0.3)) return b.constant(sample::literal(rng_, s));
    return b.broadcast(b.constant(sample::literal(rng_, Shape::scalar(s.dtype))), s.dims, {});
  }

  // x in another type and of other sizes: converted, flattened, cut or padded, folded again.
  Instr* fit(Builder& b, Instr* x, const Shape& want) {
    if (x->shape.dtype != want.dtype) {
      if (is_complex(x->shape.dtype) && !is_complex(want.dtype))
        x = b.unary(chance(0.5) ? Op::kReal : Op::kImag, x);
      // Whether a small remainder is exactly zero hangs on every rounding.
      if (is_pred(want.dtype) && is_float(x->shape.dtype))
        x = b.compare(CompareDirection::kGt, x, b.splat(x->shape, 0));
      if (x->shape.dtype != want.dtype) x = b.convert(want.dtype, x);
    }
    if (x->shape.dims == want.dims) return x;
    if (x->shape.dims.empty()) return b.broadcast(x, want.dims, {});
    const int64_t have = x->shape.elements(), n = want.elements();
    if (have == n && chance(0.3) && x->shape.rank() == want.rank()) {
      Dims p = sample::permutation(rng_, x->shape.rank());
      x = b.transpose(x, p);
    }
    if (have != n) {
      x = b.reshape(x, {have});
      if (have > n) {
        const int64_t at = pick(0, have - n);
        x = b.slice(x, {at}, {at + n});
      } else {
        PadAttrs a;
        const int64_t low = pick(0, n - have);
        a.low = {low}, a.high = {n - have - low}, a.interior = {0};
        Instr* fill = b.constant(sample::literal(rng_, Shape::scalar(want.dtype)));
        x = b.op(Op::kPad, {x, fill}, a);
      }
    }
    return x->shape.dims == want.dims ? x : b.reshape(x, want.dims);
  }

  Instr* operand(Builder& b, const Values& values, const Shape& want) {
    if (chance(0.8)) {
      Values same;
      for (Instr* v : values)
        if (compatible(v->shape, want)) same.push_back(v);
      if (!same.empty()) return any(same);
    }
    if (values.empty() || chance(0.35)) return fresh(b, want);
    return fit(b, any(values), want);
  }

  void keep(Builder& b, Values& values, Instr* made) {
    if (made->shape.is_tuple()) {
      for (size_t k = 0; k < made->shape.tuple.size(); ++k)
        if (usable(made->shape.tuple[k])) values.push_back(b.element(made, static_cast<int64_t>(k)));
    } else if (usable(made->shape)) {
      values.push_back(made);
    }
  }

  // Convolutions leave open whether padding meets a weight, transforms whether factors of 1 and i are
  // multiplied with: 0 · inf.
  Instr* finite(Builder& b, Instr* x) {
    const Dtype t = x->shape.dtype;
    if (is_complex(t))
      return b.binary(Op::kComplex, finite(b, b.unary(Op::kReal, x)), finite(b, b.unary(Op::kImag, x)));
    if (!is_float(t)) return x;
    return b.select(b.unary(Op::kIsFinite, x), x, b.splat(x->shape, 1));
  }

  // A row's sample with its parameters bound to values.
  void join_sample(Builder& b, Values& values) {
    const auto& ops = joining_ops();
    const Op op = ops[pick(0, static_cast<int64_t>(ops.size()) - 1)];
    auto m = def(op).sample(rng_);
    if (!m) return;
    const Instr* root = m->entry()->root();
    if (root->op == Op::kParameter) return;
    // On its branch cut the sign of a zero that rounding made decides.
    if (op == Op::kAtan2 && is_complex(root->shape.dtype)) return;
    for (const Instr* p : m->entry()->params())
      if (!usable(p->shape)) return;
    if (!(root->shape.is_tuple() || usable(root->shape))) return;
    absl::flat_hash_map<const Instr*, Instr*> made;
    for (Instr* i : post_order(*m->entry())) {
      if (i->op == Op::kParameter) {
        // A normalisation of numbers whose squares overflow depends on how wide its sums are.
        const bool small = op == Op::kBatchNormGrad || op == Op::kBatchNormTraining;
        made[i] = small ? fresh(b, i->shape) : operand(b, values, i->shape);
        continue;
      }
      std::vector<Instr*> operands;
      for (Instr* o : i->operands) operands.push_back(made[o]);
      if (op == Op::kConvolution) operands[1] = finite(b, operands[1]);
      // An arg max that does not ask for NaN forgets what it met before one: its order shows.
      if ((op == Op::kReduce || op == Op::kReduceWindow) && root->shape.is_tuple())
        operands[0] = finite(b, operands[0]);
      // The sign of a NaN is open; total order and bits show it.
      if (op == Op::kSort || op == Op::kBitcastConvert)
        for (Instr*& o : operands) o = finite(b, o);
      if (op == Op::kFft) operands[0] = finite(b, operands[0]);
      std::vector<Computation*> calls;
      for (Computation* c : i->calls) calls.push_back(module_->clone_computation(*c));
      made[i] = b.op_shaped(i->op, i->shape, operands, i->attrs, calls);
      if (!note(b)) return;
    }
    keep(b, values, made[root]);
  }

  bool note(const Builder& b) { return ok_ = ok_ && b.status().ok(); }

  // Elementwise ops on what there is: these fuse.
  void elementwise(Builder& b, Values& values) {
    Instr* x = any(values);
    const Shape s = x->shape;
    const Dtype t = s.dtype;
    Instr* y = operand(b, values, s);
    Op op = Op::kAdd;
    if (is_pred(t)) {
      static constexpr Op kOps[] = {Op::kAnd, Op::kOr, Op::kXor, Op::kNot};
      op = kOps[pick(0, 3)];
    } else if (is_complex(t)) {
      static constexpr Op kOps[] = {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kNegate, Op::kExp};
      op = kOps[pick(0, 4)];
    } else if (is_float(t)) {
      static constexpr Op kOps[] = {Op::kAdd,  Op::kSubtract, Op::kMultiply, Op::kDivide, Op::kMaximum,
                                    Op::kMinimum, Op::kNegate, Op::kAbs, Op::kTanh, Op::kLogistic,
                                    Op::kSqrt, Op::kFloor, Op::kSign, Op::kSin, Op::kExp, Op::kRoundEven};
      op = kOps[pick(0, 15)];
    } else {
      static constexpr Op kOps[] = {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kDivide, Op::kRemainder,
                                    Op::kMaximum, Op::kMinimum, Op::kAnd, Op::kXor, Op::kShiftLeft,
                                    Op::kShiftRightA, Op::kShiftRightL, Op::kNot, Op::kNegate, Op::kClz};
      op = kOps[pick(0, 14)];
    }
    Instr* made = def(op).arity == 1 ? b.unary(op, x) : b.binary(op, x, y);
    if (!note(b)) return;
    if (chance(0.2) && !is_complex(t)) {
      static constexpr CompareDirection kDirections[] = {CompareDirection::kLt, CompareDirection::kEq,
                                                         CompareDirection::kGe, CompareDirection::kNe};
      Instr* p = b.compare(kDirections[pick(0, 3)], made, y);
      values.push_back(p);
      made = b.select(p, made, operand(b, values, s));
    }
    values.push_back(made);
  }

  // Any value, or now and then one of several vectors each way.
  Instr* array(Builder& b, const Values& values) {
    if (chance(0.7)) return any(values);
    const Dtype t = chance(0.7) ? Dtype::kF32 : Dtype::kF64;
    return fresh(b, Shape::array(t, {pick(1, 20), pick(1, 80)}));
  }

  void reduction(Builder& b, Values& values) {
    Instr* x = array(b, values);
    const Dtype t = x->shape.dtype;
    Dims axes;
    for (int64_t d = 0; d < x->shape.rank(); ++d)
      if (chance(0.6)) axes.push_back(d);
    Op op = Op::kAdd;
    double start = 0;
    if (is_pred(t)) op = chance(0.5) ? Op::kAnd : Op::kOr, start = op == Op::kAnd;
    else if (!is_complex(t) && chance(0.4)) op = chance(0.5) ? Op::kMaximum : Op::kMinimum;
    Instr* r = b.reduce(op, x, b.scalar(t, start), axes);
    values.push_back(r);
    Dims kept;
    for (int64_t d = 0; d < x->shape.rank(); ++d)
      if (!std::count(axes.begin(), axes.end(), d)) kept.push_back(d);
    if (note(b) && chance(0.5) && !is_pred(t))  // softmax and its kin
      values.push_back(b.binary(chance(0.5) ? Op::kSubtract : Op::kMultiply, x,
                                b.broadcast(r, x->shape.dims, kept)));
  }

  // A running reduction along one dimension, from either end.
  void running(Builder& b, Values& values) {
    Instr* x = array(b, values);
    const Dtype t = x->shape.dtype;
    if (x->shape.rank() == 0 || x->shape.elements() == 0 || is_complex(t)) return;
    const int64_t along = pick(0, x->shape.rank() - 1), size = x->shape.dims[along];
    Op op = chance(0.5) ? Op::kMaximum : Op::kMinimum;
    if (is_pred(t)) op = Op::kOr;
    else if (chance(0.3)) op = Op::kAdd;
    const bool forwards = chance(0.6);
    WindowAttrs a;
    a.window.resize(static_cast<size_t>(x->shape.rank()));
    WindowDim& w = a.window[along];
    w.size = size;
    (forwards ? w.pad_low : w.pad_high) = size - 1;
    double start = 0;
    if (is_float(t) && op != Op::kAdd) start = op == Op::kMaximum ? -INFINITY : INFINITY;
    values.push_back(b.op(Op::kReduceWindow, {x, b.scalar(t, start)}, a, {b.combiner(op, t)}));
  }

  // ---- control flow ----

  Computation* computation(std::string_view name) { return module_->add_computation(name); }

  Shape state_shape(const Values& values) {
    if (!values.empty() && chance(0.7)) return any(values)->shape;
    Shape s = random_shape();
    return s.elements() <= 512 ? s : Shape::scalar(s.dtype);
  }

  void loop(Builder& b, Values& values, int depth) {
    const Shape count = Shape::scalar(chance(0.7) ? Dtype::kS32 : Dtype::kS64);
    std::vector<Shape> parts{count};
    std::vector<Instr*> start{b.scalar(count.dtype, 0)};
    for (int64_t n = pick(1, 4); n > 0; --n) {
      parts.push_back(state_shape(values));
      start.push_back(operand(b, values, parts.back()));
    }
    const Shape state = Shape::tuple_of(parts);
    Computation *cond = computation("condition"), *body = computation("body");
    {
      Builder c(cond);
      Instr* p = c.parameter(0, state);
      Instr* n = c.scalar(count.dtype, static_cast<double>(pick(0, 4)));
      cond->set_root(c.compare(CompareDirection::kLt, c.element(p, 0), n));
      note(c);
    }
    {
      Builder c(body);
      Instr* p = c.parameter(0, state);
      Values inner, next;
      for (size_t k = 0; k < parts.size(); ++k) inner.push_back(c.element(p, static_cast<int64_t>(k)));
      next.push_back(c.add(inner[0], c.scalar(count.dtype, 1)));
      const Values before = inner;
      grow(c, inner, pick(1, 6), depth + 1);
      for (size_t k = 1; k < parts.size(); ++k)
        next.push_back(chance(0.25) ? before[k] : operand(c, inner, parts[k]));
      body->set_root(c.tuple(next));
      note(c);
    }
    if (!note(b)) return;
    keep(b, values, b.op(Op::kWhile, {b.tuple(start)}, NoAttrs{}, {{cond, body}}));
  }

  // A computation of one parameter, a tuple of some values or one of them, and the operand for it.
  std::pair<Computation*, Instr*> branch(Builder& b, const Values& values, const Shape& result, int depth) {
    Instr* in = any(values);
    if (chance(0.5)) in = b.tuple({in, any(values)});
    Computation* c = computation("branch");
    Builder inside(c);
    Instr* p = inside.parameter(0, in->shape);
    Values inner;
    keep(inside, inner, p);
    if (inner.empty()) inner.push_back(fresh(inside, result));
    grow(inside, inner, pick(0, 4), depth + 1);
    c->set_root(operand(inside, inner, result));
    note(inside);
    return {c, in};
  }

  void conditional(Builder& b, Values& values, int depth) {
    const bool by_index = chance(0.5);
    Instr* chosen = operand(b, values, Shape::scalar(by_index ? Dtype::kS32 : Dtype::kPred));
    const Shape result = state_shape(values);
    std::vector<Instr*> operands{chosen};
    std::vector<Computation*> branches;
    for (int64_t n = by_index ? pick(1, 3) : 2; n > 0; --n) {
      auto [c, in] = branch(b, values, result, depth);
      branches.push_back(c);
      operands.push_back(in);
    }
    if (note(b)) values.push_back(b.op(Op::kConditional, operands, NoAttrs{}, branches));
  }

  void call(Builder& b, Values& values, int depth) {
    auto [c, in] = branch(b, values, state_shape(values), depth);
    if (note(b)) values.push_back(b.op(Op::kCall, {in}, NoAttrs{}, {{c}}));
  }

  void grow(Builder& b, Values& values, int64_t steps, int depth) {
    for (; steps > 0 && note(b) && !values.empty(); --steps) {
      const int64_t die = pick(0, 99);
      if (depth < 2 && die < 6) loop(b, values, depth);
      else if (depth < 2 && die < 11) conditional(b, values, depth);
      else if (depth < 2 && die < 14) call(b, values, depth);
      else if (die < 45) elementwise(b, values);
      else if (die < 57) reduction(b, values);
      else if (die < 62) running(b, values);
      else join_sample(b, values);
    }
    note(b);
  }

  // The root: what nothing uses, as a tuple or one of it.
  void finish(Builder& b, const Values& values) {
    Values loose;
    for (Instr* v : values)
      if (v->users.empty() && v->op != Op::kParameter) loose.push_back(v);
    if (loose.empty()) loose.push_back(values.back());
    std::shuffle(loose.begin(), loose.end(), rng_);
    if (loose.size() > 6) loose.resize(6);
    const bool one = loose.size() == 1 && chance(0.7);
    entry_->set_root(one ? loose[0] : b.tuple(loose));
    note(b);
    entry_->erase_dead();
    module_->erase_dead_computations();
  }

  Rng rng_;
  Module* module_ = nullptr;
  Computation* entry_ = nullptr;
  bool ok_ = true;
};

}  // namespace

Case random_case(uint64_t seed) { return Writer(seed).write(); }

}  // namespace braze::fuzz
