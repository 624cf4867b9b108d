// SPDX-License-Identifier: Apache-2.0
// The index roads against eval: each element of a sample's result, computed by interpreting the
// scalar graph that `index` builds, has the bits eval gives it.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/elementwise.h"
#include "ops/op_def.h"
#include "ops/sample.h"

namespace braze {
namespace {

using scalar::Graph;
using scalar::Scalar;
using scalar::Value;

// Buffer 2k holds operand k's elements, or their real parts; 2k + 1 the imaginary parts.
struct Buffers : scalar::EvalEnv {
  absl::Span<const Literal> operands;
  Dims index;
  int64_t out_of_range = 0;
  scalar::Cell variable(int64_t id) override { return {index[id], 0}; }
  scalar::Cell load(int64_t buffer, Dtype, int64_t offset) override {
    const Literal& l = operands[buffer / 2];
    if (offset < 0 || offset >= l.elements()) {
      ++out_of_range;
      return {};
    }
    if (is_complex(l.dtype())) {
      const auto z = l.get_complex(offset);
      return {0, buffer % 2 ? z.imag() : z.real()};
    }
    if (is_float(l.dtype())) return {0, l.get_float(offset)};
    return {l.get_int(offset), 0};
  }
};

Value load_operand(Graph& g, const Instr& i, int64_t k, absl::Span<const Scalar> index,
                   Scalar condition) {
  const Shape& s = i.operand(k)->shape;
  EXPECT_EQ(index.size(), s.dims.size());
  Scalar offset = g.constant_int(Dtype::kS64, 0);
  for (size_t d = 0; d < index.size(); ++d)
    offset = g.add(g.mul(offset, g.constant_int(Dtype::kS64, s.dims[d])), index[d]);
  const Dtype t = real_of(s.dtype);
  Value v{g.load(t, 2 * k, offset, condition)};
  if (is_complex(s.dtype)) v.im = g.load(t, 2 * k + 1, offset, condition);
  return v;
}

void store(Literal& out, int64_t i, const Graph& g, const Value& v, Buffers& env) {
  const scalar::Cell re = evaluate(g, v.re, env);
  if (v.is_complex())
    out.set_complex(i, {re.f, evaluate(g, v.im, env).f});
  else if (is_float(out.dtype()))
    out.set_float(i, re.f);
  else
    out.set_int(i, re.i);
}

// Equal bits, but any NaN equals any: the interpreter's numbers are doubles and drop payloads.
bool same(const Literal& a, const Literal& b) {
  auto equal = [](double x, double y) {
    return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
  };
  const Dtype t = a.dtype();
  for (int64_t i = 0; i < a.elements(); ++i) {
    if (is_float(t) || is_complex(t)) {
      const auto x = a.get_complex(i), y = b.get_complex(i);
      if (!equal(x.real(), y.real()) || !equal(x.imag(), y.imag())) return false;
    } else if (a.get_int(i) != b.get_int(i)) {
      return false;
    }
  }
  return a.shape() == b.shape();
}

void check(const OpDef& row, std::mt19937_64& rng) {
  auto m = row.sample(rng);
  ASSERT_NE(m, nullptr);
  const Instr& root = *m->entry()->root();
  std::string what = str_cat(name(row.op), " to ", to_string(root.shape), " from");
  for (const Instr* o : root.operands) absl::StrAppend(&what, " ", to_string(o->shape));
  SCOPED_TRACE(what);
  std::vector<Literal> args;
  for (const Instr* o : root.operands) args.push_back(sample::literal(rng, o->shape));
  auto no_calls = [](const Computation&, absl::Span<const Literal>) -> Result<Literal> {
    return unimplemented("calls");
  };
  auto want = row.eval({root, args, no_calls});
  ASSERT_TRUE(want.ok()) << want.status();

  Graph g;
  std::vector<Scalar> index;
  for (int64_t d = 0; d < root.shape.rank(); ++d)
    index.push_back(g.index_var(d, std::max<int64_t>(root.shape.dims[d], 1)));
  auto operand = [&](int64_t k, absl::Span<const Scalar> at, Scalar condition) {
    return load_operand(g, root, k, at, condition);
  };
  const Value v = row.index({g, root, index, Dtype::kS64, operand, {}});
  ASSERT_EQ(v.is_complex(), is_complex(root.shape.dtype));
  EXPECT_EQ(g.type(v.re), real_of(root.shape.dtype));

  Buffers env;
  env.operands = args;
  env.index.assign(root.shape.rank(), 0);
  Literal got(want->shape());
  for (int64_t i = 0; i < got.elements(); ++i) {
    store(got, i, g, v, env);
    next_index(absl::MakeSpan(env.index), root.shape.dims);
  }
  EXPECT_EQ(env.out_of_range, 0);
  EXPECT_TRUE(same(got, *want)) << to_string(got) << "\nnot " << to_string(*want) << "\nby "
                                << to_string(g, v.re);
}

TEST(Index, AgreesWithEval) {
  std::mt19937_64 rng(11);
  for (auto family : {select_rows, create_rows, movement_rows, indexed_rows})
    for (const OpDef& row : family())
      for (int i = 0; row.index && i < 100; ++i) {
        check(row, rng);
        if (testing::Test::HasFailure()) return;
      }
}

}  // namespace
}  // namespace braze
