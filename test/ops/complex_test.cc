// SPDX-License-Identifier: Apache-2.0
// Complex functions and quotients at infinities, NaNs and signed zeros: eval and the scalar graph that
// kernels are made of give the same, which is what docs/semantics.md says.
#include "test/ops/one_op.h"

#include "ops/elementwise.h"

namespace braze {
namespace {

using C = std::complex<double>;
using scalar::Graph;
using scalar::Value;

constexpr double kPi = M_PI;

// Variable 2k is the real part of operand k, 2k + 1 the imaginary part.
struct Parts : scalar::EvalEnv {
  std::vector<C> args;
  scalar::Cell variable(int64_t id) override {
    const C z = args[id / 2];
    return {0, id % 2 ? z.imag() : z.real()};
  }
  scalar::Cell load(int64_t, Dtype, int64_t) override { return {}; }
};

// The graph's values for n operands.
std::vector<C> emitted(Op op, Dtype t, const std::vector<Literal>& args) {
  Module m("one");
  Builder b(m.add_computation("main"));
  std::vector<Instr*> operands;
  Graph g;
  std::vector<Value> values;
  for (size_t k = 0; k < args.size(); ++k) {
    operands.push_back(b.parameter(k, args[k].shape()));
    values.push_back({g.var(real_of(t), 2 * k), g.var(real_of(t), 2 * k + 1)});
  }
  const Instr* i = b.op(op, operands, NoAttrs{});
  const Value v = def(op).emit(g, *i, values);
  Parts env;
  std::vector<C> out;
  for (int64_t e = 0; e < args[0].elements(); ++e) {
    env.args.clear();
    for (const Literal& l : args) env.args.push_back(l.get_complex(e));
    const double re = evaluate(g, v.re, env).f;
    out.push_back({re, v.is_complex() ? evaluate(g, v.im, env).f : 0.0});
  }
  return out;
}

std::vector<C> evaluated(Op op, const std::vector<Literal>& args) {
  const Literal l = value(op, args);
  std::vector<C> out;
  for (int64_t e = 0; e < l.elements(); ++e)
    out.push_back(is_complex(l.dtype()) ? l.get_complex(e) : C(l.get_float(e)));
  return out;
}

// Both NaN, the same infinity, zeros of the same sign, or near in the measure of the whole number.
bool same_part(double a, double b, double room) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  if (a == 0 && b == 0) return std::signbit(a) == std::signbit(b);
  return std::abs(a - b) <= room;
}

bool same(C a, C b, double tolerance) {
  double size = 0;
  for (double part : {a.real(), a.imag(), b.real(), b.imag()})
    if (std::isfinite(part)) size = std::max(size, std::abs(part));
  const double room = tolerance * size;
  return same_part(a.real(), b.real(), room) && same_part(a.imag(), b.imag(), room);
}

// All pairs of special parts.
ComplexNumbers special_numbers() {
  const double parts[] = {0.0, -0.0, 1, 1.5, -1.5, 2, -2, 4, kInf, -kInf, kNan};
  ComplexNumbers out;
  for (double re : parts)
    for (double im : parts) out.push_back({re, im});
  return out;
}

void expect_agreement(Op op, Dtype t, const std::vector<Literal>& args, double tolerance) {
  const std::vector<C> want = evaluated(op, args), got = emitted(op, t, args);
  ASSERT_EQ(want.size(), got.size());
  int shown = 0;
  for (size_t e = 0; e < want.size(); ++e) {
    if (same(got[e], want[e], tolerance)) continue;
    // Of a logarithm of what lies near 1, where a lost bit gives zeros a sign or chooses π or −π.
    if (op == Op::kAtan2 && std::abs(want[e] - got[e]) < tolerance) continue;
    if (op == Op::kAtan2 && std::abs(std::abs(want[e].real()) - kPi) < 1e-6) continue;
    if (++shown > 4) continue;
    std::string of;
    for (const Literal& l : args) {
      const C z = l.get_complex(e);
      of += str_cat(" (", z.real(), ", ", z.imag(), ")");
    }
    ADD_FAILURE() << name(op) << of << " is " << got[e] << " in kernels, " << want[e] << " by eval";
  }
}

constexpr Op kUnary[] = {Op::kAbs,   Op::kSign, Op::kExp,   Op::kExpm1, Op::kLog,  Op::kLog1p,
                         Op::kLogistic, Op::kSqrt, Op::kRsqrt, Op::kCbrt, Op::kSin,  Op::kCos,
                         Op::kTan,   Op::kSinh, Op::kCosh,  Op::kTanh,  Op::kAsin, Op::kAcos,
                         Op::kAtan,  Op::kAsinh, Op::kAcosh, Op::kAtanh};
constexpr Op kBinary[] = {Op::kMultiply, Op::kDivide,  Op::kPower,
                          Op::kAtan2,    Op::kMaximum, Op::kMinimum};

TEST(ComplexSpecials, KernelsAgreeWithEval) {
  const ComplexNumbers z = special_numbers();
  ComplexNumbers x, y;
  for (const C& a : z)
    for (const C& b : z) x.push_back(a), y.push_back(b);
  for (Dtype t : {Dtype::kC64, Dtype::kC128}) {
    const double tolerance = t == Dtype::kC64 ? 1e-5 : 1e-13;
    for (Op op : kUnary) expect_agreement(op, t, {complexes(t, z)}, tolerance);
    for (Op op : kBinary) expect_agreement(op, t, {complexes(t, x), complexes(t, y)}, tolerance);
  }
}

struct Known {
  Op op;
  C z, result;
};

// What C's Annex G says, but for exp, sinh, cosh, tanh and tan of what has no limit, and for open signs, where the
// functions are odd, even and commute with conjugation.
constexpr Known kKnown[] = {
    {Op::kAbs, {kInf, kNan}, {kInf, 0}},
    {Op::kAbs, {kNan, -kInf}, {kInf, 0}},
    {Op::kSign, {-0.0, -0.0}, {0, 0}},
    {Op::kExp, {kNan, -0.0}, {kNan, -0.0}},
    {Op::kExp, {kInf, kInf}, {kNan, kNan}},
    {Op::kExp, {-kInf, kInf}, {kNan, kNan}},
    {Op::kExp, {-kInf, -2}, {-0.0, -0.0}},
    {Op::kExpm1, {-kInf, kNan}, {kNan, kNan}},
    {Op::kExpm1, {-kInf, kInf}, {kNan, kNan}},
    {Op::kExpm1, {-kInf, -2}, {-1, -0.0}},
    {Op::kExpm1, {-0.0, -0.0}, {-0.0, -0.0}},
    {Op::kLog, {-0.0, 0}, {-kInf, kPi}},
    {Op::kLog, {kNan, kInf}, {kInf, kNan}},
    {Op::kLog, {-kInf, kInf}, {kInf, 3 * kPi / 4}},
    {Op::kLog1p, {-1, 0}, {-kInf, 0}},
    {Op::kLogistic, {kInf, kNan}, {1, 0}},
    {Op::kLogistic, {-kInf, 0}, {0, 0}},
    {Op::kSqrt, {-kInf, kNan}, {kNan, kInf}},
    {Op::kSqrt, {kNan, -kInf}, {kInf, -kInf}},
    {Op::kSqrt, {-4, -0.0}, {0, -2}},
    {Op::kRsqrt, {0, 0}, {kInf, kNan}},
    {Op::kRsqrt, {4, 0.0}, {0.5, -0.0}},
    {Op::kRsqrt, {-kInf, -0.0}, {0, 0}},
    {Op::kSinh, {-0.0, kInf}, {-0.0, kNan}},
    {Op::kSinh, {-kInf, kInf}, {kNan, kNan}},
    {Op::kSinh, {kInf, -0.0}, {kInf, -0.0}},
    {Op::kSin, {kInf, -kInf}, {kNan, -kInf}},
    {Op::kSin, {kNan, -0.0}, {kNan, -0.0}},
    {Op::kCosh, {0, kInf}, {kNan, 0}},
    {Op::kCosh, {-kInf, kNan}, {kNan, kNan}},
    {Op::kCosh, {-kInf, 0}, {kInf, -0.0}},
    {Op::kCos, {kInf, kInf}, {kInf, kNan}},
    {Op::kTanh, {-0.0, kNan}, {kNan, kNan}},
    {Op::kTan, {kInf, 0}, {kNan, kNan}},
    {Op::kTanh, {kInf, 2}, {1, -0.0}},
    {Op::kTanh, {-kInf, -kInf}, {-1, -0.0}},
    {Op::kTan, {kNan, kInf}, {0, 1}},
    {Op::kAsin, {-kInf, -2}, {-kPi / 2, -kInf}},
    {Op::kAsin, {kInf, kInf}, {kPi / 4, kInf}},
    {Op::kAsin, {0, kNan}, {0, kNan}},
    {Op::kAsinh, {kNan, kInf}, {kInf, kNan}},
    {Op::kAcos, {-kInf, kInf}, {3 * kPi / 4, -kInf}},
    {Op::kAcos, {0, kNan}, {kPi / 2, kNan}},
    {Op::kAcosh, {0, kNan}, {kNan, kPi / 2}},
    {Op::kAcosh, {-kInf, -kInf}, {kInf, -3 * kPi / 4}},
    {Op::kAtanh, {1, 0}, {kInf, 0}},
    {Op::kAtanh, {kInf, kNan}, {0, kNan}},
    {Op::kAtanh, {-0.0, kNan}, {-0.0, kNan}},
    {Op::kAtan, {kNan, kInf}, {kNan, 0}},
};

TEST(ComplexSpecials, FollowAnnexG) {
  for (Dtype t : {Dtype::kC64, Dtype::kC128})
    for (const Known& k : kKnown) {
      const std::vector<Literal> args = {complexes(t, {k.z})};
      for (C got : {evaluated(k.op, args)[0], emitted(k.op, t, args)[0]})
        EXPECT_TRUE(same(got, k.result, 1e-6))
            << name(k.op) << k.z << " is " << got << ", not " << k.result;
    }
}

struct KnownPair {
  Op op;
  C x, y, result;
};

constexpr KnownPair kPairs[] = {
    // Products are plain.
    {Op::kMultiply, {kInf, 0}, {1, 0}, {kInf, kNan}},
    // A number by zero, infinity by a number, a number by infinity.
    {Op::kDivide, {1, -2}, {-0.0, 0}, {-kInf, kInf}},
    {Op::kDivide, {0, 0}, {0, 0}, {kNan, kNan}},
    {Op::kDivide, {kInf, kNan}, {1, 1}, {kInf, -kInf}},
    {Op::kDivide, {1, 2}, {kInf, kNan}, {0, 0}},
    {Op::kDivide, {kInf, 0}, {kInf, 0}, {kNan, kNan}},
    {Op::kPower, {kNan, kInf}, {0, 0}, {1, 0}},
    {Op::kPower, {0, 0}, {2, 1}, {0, 0}},
    {Op::kPower, {0, 0}, {-1, 0}, {kInf, kNan}},
};

TEST(ComplexSpecials, OfTwoOperands) {
  for (Dtype t : {Dtype::kC64, Dtype::kC128})
    for (const KnownPair& k : kPairs) {
      const std::vector<Literal> args = {complexes(t, {k.x}), complexes(t, {k.y})};
      for (C got : {evaluated(k.op, args)[0], emitted(k.op, t, args)[0]})
        EXPECT_TRUE(same(got, k.result, 1e-6))
            << name(k.op) << k.x << k.y << " is " << got << ", not " << k.result;
    }
}

}  // namespace
}  // namespace braze
