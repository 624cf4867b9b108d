// SPDX-License-Identifier: Apache-2.0
// The emit roads against eval: each elementwise row's scalar graph, interpreted on random and
// special values, gives eval's results: integers to the bit, floats within the budgets of
// scalar/math.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "ir/float_format.h"
#include "ops/elementwise.h"

namespace braze {
namespace {

using scalar::Graph;
using scalar::Scalar;
using scalar::Value;

// Variable 2k is operand k or its real part, 2k + 1 its imaginary part.
struct Variables : scalar::EvalEnv {
  absl::Span<const Literal> operands;
  int64_t i = 0;
  scalar::Cell variable(int64_t id) override {
    const Literal& l = operands[id / 2];
    const int64_t at = l.shape().is_scalar() ? 0 : i;
    if (is_complex(l.dtype())) {
      const auto z = l.get_complex(at);
      return {0, id % 2 ? z.imag() : z.real()};
    }
    if (is_float(l.dtype())) return {0, l.get_float(at)};
    return {l.get_int(at), 0};
  }
  scalar::Cell load(int64_t, Dtype, int64_t) override { return {}; }
};

// Ulps by which a row's result may differ; what is exact has none.
int64_t budget(const OpDef& row, Dtype t, Dtype operand) {
  if (is_complex(operand) && row.op == Op::kAbs) return 4;
  if (!row.has(kExpensive) || row.op == Op::kDivide || row.op == Op::kSqrt ||
      row.op == Op::kRemainder)
    return 0;
  return bit_size(real_of(t)) < 32 ? 1 : 4;
}

bool close(Dtype t, double a, double b, int64_t ulps) {
  return ulp_distance(format_of(t), a, b) <= ulps &&
         (a != 0 || b != 0 || ulps > 0 || std::signbit(a) == std::signbit(b));
}

bool agrees(const OpDef& row, Dtype operand, const Literal& got, const Literal& want) {
  const Dtype t = want.dtype();
  if (is_complex(t)) {
    const auto a = got.get_complex(0), b = want.get_complex(0);
    if (!std::isfinite(b.real()) || !std::isfinite(b.imag())) return true;
    double tolerance = t == Dtype::kC64 ? 1e-5 : 1e-13;
    if (row.op == Op::kAtan || row.op == Op::kAtanh) tolerance *= 100;  // not far from the poles
    if (row.op == Op::kAtan2) {  // a logarithm of numbers near 1; zeros' signs choose pi or -pi
      if (std::abs(std::abs(b.real()) - M_PI) < 1e-3) return true;
      return std::abs(a - b) <= 10 * tolerance * std::abs(b) + tolerance;
    }
    return std::abs(a - b) <= tolerance * std::abs(b) + 1e-35;
  }
  if (is_float(t)) return close(t, got.get_float(0), want.get_float(0), budget(row, t, operand));
  return got.get_int(0) == want.get_int(0);
}

std::string describe(absl::Span<const Literal> args, int64_t i) {
  std::string out;
  for (const Literal& l : args) {
    Literal one(Shape::scalar(l.dtype()));
    one.copy_element(0, l, l.shape().is_scalar() ? 0 : i);
    absl::StrAppend(&out, " ", cat_piece(name(l.dtype())), " ", to_string(one));
  }
  return out;
}

// Left to scalar/math: complex functions of infinities and NaNs, and the poles of atan and atanh.
bool out_of_scope(const OpDef& row, absl::Span<const Literal> args, int64_t i) {
  if (!row.has(kExpensive) || !is_complex(args[0].dtype())) return false;
  for (const Literal& l : args) {
    const auto z = l.get_complex(i);
    if (!std::isfinite(z.real()) || !std::isfinite(z.imag())) return true;
    const std::complex<double> square = z * z;
    if (row.op == Op::kAtan && std::abs(square + 1.0) < 0.02) return true;
    if (row.op == Op::kAtanh && std::abs(square - 1.0) < 0.02) return true;
  }
  return false;
}

void check(const OpDef& row, std::mt19937_64& rng, std::map<std::string, int>& failures) {
  auto m = row.sample(rng);
  ASSERT_NE(m, nullptr);
  const Instr& root = *m->entry()->root();
  std::vector<Literal> args;
  for (const Instr* o : root.operands) args.push_back(sample::literal(rng, o->shape, true));
  auto no_calls = [](const Computation&, absl::Span<const Literal>) -> Result<Literal> {
    return unimplemented("calls");
  };
  auto all = row.eval({root, args, no_calls});
  ASSERT_TRUE(all.ok()) << all.status();

  Graph g;
  std::vector<Value> values;
  for (size_t k = 0; k < args.size(); ++k) {
    const Dtype t = args[k].dtype();
    Value v{g.var(real_of(t), 2 * k)};
    if (is_complex(t)) v.im = g.var(real_of(t), 2 * k + 1);
    values.push_back(v);
  }
  const Value v = row.emit(g, root, values);
  ASSERT_EQ(v.is_complex(), is_complex(root.shape.dtype)) << name(row.op);
  ASSERT_EQ(g.type(v.re), real_of(root.shape.dtype)) << name(row.op);
  Variables env;
  env.operands = args;
  for (env.i = 0; env.i < all->elements(); ++env.i) {
    if (out_of_scope(row, args, env.i)) continue;
    Literal got(Shape::scalar(root.shape.dtype)), want(Shape::scalar(root.shape.dtype));
    want.copy_element(0, *all, env.i);
    const scalar::Cell re = evaluate(g, v.re, env);
    if (v.is_complex())
      got.set_complex(0, {re.f, evaluate(g, v.im, env).f});
    else if (is_float(root.shape.dtype))
      got.set_float(0, re.f);
    else
      got.set_int(0, re.i);
    if (agrees(row, args[0].dtype(), got, want)) continue;
    // A few of each kind tell enough.
    if (++failures[str_cat(name(row.op), name(args[0].dtype()))] <= 2)
      ADD_FAILURE() << name(row.op) << describe(args, env.i) << " gives " << to_string(got)
                    << ", not " << to_string(want);
  }
}

TEST(Emit, AgreesWithEval) {
  std::mt19937_64 rng(13);
  std::map<std::string, int> failures;
  for (auto family : {unary_rows, binary_rows, select_rows})
    for (const OpDef& row : family())
      for (int i = 0; row.emit && i < 30; ++i) check(row, rng, failures);
}

}  // namespace
}  // namespace braze
