// SPDX-License-Identifier: Apache-2.0
#include "loop/elements.h"

#include <limits>

#include "ops/op_def.h"
#include "ops/scalar_function.h"

namespace braze::loop {
namespace {

using scalar::Value;

constexpr int kMaxDepth = 2000;
constexpr int32_t kMaxNodes = 60000;

Value literal_value(scalar::Graph& g, const Literal& l, int64_t at) {
  Dtype t = l.dtype();
  if (is_complex(t)) {
    std::complex<double> c = l.get_complex(at);
    return {g.constant(real_of(t), c.real()), g.constant(real_of(t), c.imag())};
  }
  if (is_float(t)) return {g.constant(t, l.get_float(at)), {}};
  return {g.constant_int(t, l.get_int(at)), {}};
}

}  // namespace

bool is_tiny_reduction(const Instr& i) {
  if (i.op == Op::kReduce) {
    int64_t n = 1;
    for (int64_t d : i.as<DimsAttrs>().dimensions) n *= i.operand(0)->shape.dims[d];
    return n <= kTinyReduction;
  }
  return false;
}

Value combine_in(scalar::Graph& g, Op op, Dtype t, Value a, Value b) {
  Instr wide, operand;
  wide.op = op;
  wide.shape = operand.shape = Shape::scalar(t);
  wide.operands = {&operand, &operand};
  return def(op).emit(g, wide, {a, b});
}

Value Elements::fail(Status s, Dtype t) {
  if (status_.ok()) status_ = std::move(s);
  Dtype r = is_array(t) ? real_of(t) : Dtype::kF32;
  Value zero{is_float(r) ? g_.constant(r, 0) : g_.constant_int(r, 0), {}};
  if (is_complex(t)) zero.im = zero.re;
  return zero;
}

void Elements::bind_value(const Instr* i, absl::Span<const Scalar> index,
                          std::vector<Value> parts) {
  bound_[i] = {Index(index.begin(), index.end()), std::move(parts)};
}

Scalar Elements::offset(DimSpan dims, absl::Span<const Scalar> index) {
  Dims s = strides(dims);
  Scalar sum = index_const(0);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    sum = g_.add(sum, g_.mul(index[d], index_const(s[d])));
  }
  return sum;
}

Index Elements::delinearize(Scalar linear, DimSpan dims) {
  Index out(dims.size());
  Scalar rest = linear;
  for (int64_t d = static_cast<int64_t>(dims.size()) - 1; d >= 0; --d) {
    bool outermost = true;
    for (int64_t e = 0; e < d; ++e) outermost &= dims[e] == 1;
    if (dims[d] == 1) {
      out[d] = index_const(0);
    } else if (outermost) {
      out[d] = rest;
      rest = index_const(0);
    } else {
      out[d] = g_.rem(rest, index_const(dims[d]));
      rest = g_.div(rest, index_const(dims[d]));
    }
  }
  return out;
}

Value Elements::load(int64_t buffer, const Shape& shape, absl::Span<const Scalar> index,
                     Scalar condition) {
  Scalar at = offset(shape.dims, index);
  Dtype t = buffer_type(shape.dtype);
  if (!is_complex(shape.dtype)) return {g_.load(t, buffer, at, condition), {}};
  Scalar twice = g_.mul(at, index_const(2));
  return {g_.load(t, buffer, twice, condition),
          g_.load(t, buffer, g_.add(twice, index_const(1)), condition)};
}

Value Elements::constant(const Instr* i, absl::Span<const Scalar> index) {
  const Literal& l = i->literal();
  if (l.elements() == 1) return literal_value(g_, l, 0);
  if (l.elements() > 16)
    return fail(unimplemented("constant '", i->name, "' is not a kernel argument"), i->shape.dtype);
  Scalar at = offset(i->shape.dims, index);
  Value v = literal_value(g_, l, l.elements() - 1);
  for (int64_t k = l.elements() - 2; k >= 0; --k) {
    Value e = literal_value(g_, l, k);
    Scalar here = g_.eq(at, index_const(k));
    v.re = g_.select(here, e.re, v.re);
    if (v.im) v.im = g_.select(here, e.im, v.im);
  }
  return v;
}

Value Elements::element(const Instr* i, absl::Span<const Scalar> index, Scalar condition) {
  std::vector<int64_t> key{reinterpret_cast<int64_t>(i), condition.id};
  for (Scalar s : index) key.push_back(s.id);
  if (auto m = memo_.find(key); m != memo_.end()) return m->second;
  if (depth_ >= kMaxDepth || g_.size() > kMaxNodes)
    return fail(exhausted("the fusion is too large to lower"), i->shape.dtype);
  ++depth_;
  Value v = build(i, index, condition);
  --depth_;
  memo_.emplace(std::move(key), v);
  return v;
}

Value Elements::build(const Instr* i, absl::Span<const Scalar> index, Scalar condition) {
  if (auto b = buffers_.find(i); b != buffers_.end())
    return load(b->second, i->shape, index, condition);
  const Instr* source = i->op == Op::kGetTupleElement ? i->operand(0) : i;
  int64_t part = i->op == Op::kGetTupleElement ? i->as<IndexAttrs>().index : 0;
  if (auto b = bound_.find(source); b != bound_.end()) {
    if (b->second.index.size() != index.size() ||
        !std::equal(index.begin(), index.end(), b->second.index.begin()))
      return fail(unimplemented("'", i->name, "' is read at another index than it is computed at"),
                  i->shape.dtype);
    return b->second.parts[part];
  }
  if (i->op == Op::kConstant) return constant(i, index);
  if (is_tiny_reduction(*source)) return tiny_reduce(source, part, index, condition);
  const OpDef& row = def(*i);
  if (row.emit) {
    absl::InlinedVector<Value, 3> args;
    for (const Instr* o : i->operands)
      args.push_back(element(o, o->shape.dims.empty() ? absl::Span<const Scalar>() : index,
                             condition));
    return row.emit(g_, *i, args);
  }
  if (row.index) {
    auto operand = [&](int64_t k, absl::Span<const Scalar> at, Scalar c) {
      if (condition) c = c ? g_.logical_and(condition, c) : condition;
      return element(i->operand(k), at, c);
    };
    return row.index(IndexContext{g_, *i, index, Dtype::kS64, operand, condition});
  }
  return fail(unimplemented("no element-wise lowering for ", name(i->op), " '", i->name, "'"),
              i->shape.dtype);
}

Value Elements::tiny_reduce(const Instr* i, int64_t part, absl::Span<const Scalar> index,
                            Scalar condition) {
  int64_t n = static_cast<int64_t>(i->operands.size()) / 2;
  const Dims& in = i->operand(0)->shape.dims;
  const Dims& red = i->as<DimsAttrs>().dimensions;
  std::vector<Value> acc;
  for (int64_t k = 0; k < n; ++k) acc.push_back(element(i->operand(n + k), {}, condition));
  Dims extents, at;
  for (int64_t d : red) extents.push_back(in[d]);
  at.assign(extents.size(), 0);
  if (product(extents) == 0) return acc[part];
  // Narrow floats add up in f32 here as in the larger reductions.
  const auto known = n == 1 ? plain_combiner(*i->calls[0]) : std::nullopt;
  const Dtype t = i->shape.dtype;
  const bool widens = known && is_float(t) && byte_size(t) < 4 && !is_complex(t);
  if (widens) acc[0] = {g_.cast(Dtype::kF32, acc[0].re), {}};
  do {
    Index full(in.size());
    int64_t kept = 0, r = 0;
    for (size_t d = 0; d < in.size(); ++d) {
      bool reduced = std::find(red.begin(), red.end(), static_cast<int64_t>(d)) != red.end();
      if (!reduced) full[d] = index[kept++];
    }
    for (int64_t d : red) full[d] = index_const(at[r++]);
    if (widens) {
      const Value v = element(i->operand(0), full, condition);
      acc[0] = combine_in(g_, *known, Dtype::kF32, acc[0], {g_.cast(Dtype::kF32, v.re), {}});
      continue;
    }
    std::vector<Value> args = acc;
    for (int64_t k = 0; k < n; ++k) args.push_back(element(i->operand(k), full, condition));
    acc = apply(*i->calls[0], args);
    if (acc.size() <= static_cast<size_t>(part)) return fail(internal("bad combiner"), i->shape.dtype);
  } while (next_index(absl::MakeSpan(at), extents));
  if (widens) acc[0] = {g_.cast(t, acc[0].re), {}};
  return acc[part];
}

std::vector<Value> Elements::apply(const Computation& c, absl::Span<const Value> args) {
  Elements inner(k_);
  for (size_t p = 0; p < c.params().size() && p < args.size(); ++p)
    inner.bind_value(c.params()[p], {}, {args[p]});
  std::vector<Value> out;
  const Instr* root = c.root();
  if (root->op == Op::kTuple) {
    for (const Instr* o : root->operands) out.push_back(inner.element(o, {}));
  } else {
    out.push_back(inner.element(root, {}));
  }
  if (!inner.status().ok() && status_.ok()) status_ = inner.status();
  return out;
}

void store_value(Kernel& k, std::vector<Stmt>* body, int64_t buffer, Scalar offset, Value v,
                 Scalar condition) {
  scalar::Graph& g = k.graph;
  auto push = [&](Scalar at, Scalar value) {
    Stmt s;
    s.kind = Stmt::Kind::kStore;
    s.store = {buffer, at, value, condition};
    body->push_back(std::move(s));
  };
  if (!v.is_complex()) return push(offset, v.re);
  Scalar twice = g.mul(offset, g.constant_int(Dtype::kS64, 2));
  push(twice, v.re);
  push(g.add(twice, g.constant_int(Dtype::kS64, 1)), v.im);
}

Stmt make_loop(std::shared_ptr<Loop> l) {
  Stmt s;
  s.kind = Stmt::Kind::kLoop;
  s.loop = std::move(l);
  return s;
}

std::optional<Op> known_combiner(const Computation& c) {
  const Instr* r = c.root();
  if (c.params().size() != 2 || r->operands.size() != 2) return std::nullopt;
  bool direct = (r->operand(0) == c.params()[0] && r->operand(1) == c.params()[1]) ||
                (r->operand(0) == c.params()[1] && r->operand(1) == c.params()[0]);
  if (!direct || c.params()[0] == c.params()[1]) return std::nullopt;
  switch (r->op) {
    case Op::kAdd: case Op::kMultiply: case Op::kMinimum: case Op::kMaximum: case Op::kAnd:
    case Op::kOr: case Op::kXor:
      return r->op;
    default:
      return std::nullopt;
  }
}

Value combiner_identity(scalar::Graph& g, Op op, Dtype t) {
  Dtype r = real_of(t);
  auto number = [&](double f, int64_t i) {
    return is_float(r) ? g.constant(r, f) : g.constant_int(r, i);
  };
  constexpr double inf = std::numeric_limits<double>::infinity();
  int bits = bit_size(r);
  int64_t smin = bits >= 64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (bits - 1));
  int64_t smax = ~smin;
  if (bits < 64) smax = (int64_t{1} << (bits - 1)) - 1;
  int64_t umax = bits >= 64 ? -1 : (int64_t{1} << bits) - 1;
  bool is_unsigned = is_unsigned_int(r) || is_pred(r);
  switch (op) {
    case Op::kAdd:
      if (is_complex(t)) return {g.constant(r, -0.0), g.constant(r, -0.0)};
      return {number(-0.0, 0), {}};
    case Op::kMultiply:
      if (is_complex(t)) return {g.constant(r, 1), g.constant(r, 0)};
      return {number(1, 1), {}};
    case Op::kMinimum: return {number(inf, is_unsigned ? umax : smax), {}};
    case Op::kMaximum: return {number(-inf, is_unsigned ? 0 : smin), {}};
    case Op::kAnd: return {g.constant_int(r, is_unsigned ? umax : -1), {}};
    default: return {g.constant_int(r, 0), {}};
  }
}

}  // namespace braze::loop
