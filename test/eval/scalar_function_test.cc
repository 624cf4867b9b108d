// SPDX-License-Identifier: Apache-2.0
// ScalarFunction's direct steps against the rows' evals, over all element types.
#include "ops/scalar_function.h"

#include <gtest/gtest.h>

#include <bit>

#include "ops/sample.h"
#include "test/eval/program.h"

namespace braze {
namespace {

constexpr Dtype kTypes[] = {
    Dtype::kPred, Dtype::kS4,  Dtype::kS8,  Dtype::kS16,      Dtype::kS32,    Dtype::kS64,
    Dtype::kU2,   Dtype::kU8,  Dtype::kU16, Dtype::kU32,      Dtype::kU64,    Dtype::kF16,
    Dtype::kBF16, Dtype::kF32, Dtype::kF64, Dtype::kF8E4M3FN, Dtype::kF8E5M2, Dtype::kC64};

bool same(const Cell& a, const Cell& b) {
  auto equal = [](double x, double y) {
    return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y) ||
           (std::isnan(x) && std::isnan(y));
  };
  return a.i == b.i && equal(a.f, b.f) && equal(a.im, b.im);
}

// Calls `body` both ways on random values.
void compare(const Computation& body, std::mt19937_64& rng) {
  SCOPED_TRACE(str_cat(name(body.root()->op), " ", to_string(body.root()->shape, false), " of ",
                       to_string(body.params()[0]->shape, false)));
  Module m("m");
  Computation* c = m.add_computation("main");
  Builder b(c);
  Instr* any = b.scalar(Dtype::kF32, 0);
  auto run = [](const Computation& f, absl::Span<const Literal> args) { return evaluate(f, args); };
  const EvalContext ctx{*any, {}, run};
  ScalarFunction direct(ctx, body), whole(ctx, body, false);
  EXPECT_TRUE(direct.is_direct());
  EXPECT_FALSE(whole.is_direct());
  for (int k = 0; k < 40; ++k) {
    std::vector<Cell> args;
    for (const Instr* p : body.params())
      args.push_back(load_cell(sample::literal(rng, p->shape, true), 0));
    Cell x, y;
    ASSERT_TRUE(direct.call(args, absl::MakeSpan(&x, 1)).ok());
    ASSERT_TRUE(whole.call(args, absl::MakeSpan(&y, 1)).ok());
    ASSERT_TRUE(same(x, y)) << x.f << " " << x.i << " not " << y.f << " " << y.i << " from "
                            << args[0].f << " " << args[0].i << ", " << args.back().f << " "
                            << args.back().i;
  }
}

TEST(ScalarFunction, BinaryAndUnarySteps) {
  std::mt19937_64 rng(3);
  for (Dtype t : kTypes)
    for (Op op : {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kDivide, Op::kRemainder, Op::kMinimum,
                  Op::kMaximum, Op::kAnd, Op::kOr, Op::kXor, Op::kNegate, Op::kAbs, Op::kNot,
                  Op::kPower}) {
      Program p;
      const Shape s = Shape::scalar(t);
      Computation* c = p.module.add_computation("f");
      Builder b(c);
      b.parameter(0, s);
      b.parameter(1, s);
      const auto& a = c->params();
      c->set_root(def(op).arity == 1 ? b.unary(op, a[0]) : b.binary(op, a[0], a[1]));
      if (b.status().ok()) compare(*c, rng);
    }
}

TEST(ScalarFunction, ComparisonsAndConversions) {
  std::mt19937_64 rng(4);
  for (Dtype t : kTypes) {
    const Shape s = Shape::scalar(t);
    for (auto d : {CompareDirection::kEq, CompareDirection::kNe, CompareDirection::kGe,
                   CompareDirection::kGt, CompareDirection::kLe, CompareDirection::kLt})
      for (auto type : {CompareType::kDefault, CompareType::kTotalOrder}) {
        Program p;
        Computation* c = p.module.add_computation("f");
        Builder b(c);
        b.parameter(0, s);
        b.parameter(1, s);
        c->set_root(b.op(Op::kCompare, {c->params()[0], c->params()[1]}, CompareAttrs{d, type}));
        if (b.status().ok()) compare(*c, rng);
      }
    for (Dtype to : kTypes) {
      Program p;
      Computation* c = p.module.add_computation("f");
      Builder b(c);
      b.parameter(0, s);
      c->set_root(b.convert(to, c->params()[0]));
      if (b.status().ok()) compare(*c, rng);
    }
  }
}

TEST(ScalarFunction, SelectsConstantsAndTuples) {
  Program p;
  const Shape s = Shape::scalar(Dtype::kF32);
  Computation* f = p.function({s, s}, [](Builder& b, auto& a) {
    Instr* less = b.compare(CompareDirection::kLt, a[0], a[1]);
    Instr* pair = b.tuple({b.mul(a[0], b.scalar(Dtype::kF32, 3)), b.unary(Op::kExp, a[1])});
    return b.tuple({b.select(less, b.element(pair, 0), b.element(pair, 1)), a[0]});
  });
  auto run = [](const Computation& c, absl::Span<const Literal> args) { return evaluate(c, args); };
  const EvalContext ctx{*f->root(), {}, run};
  ScalarFunction g(ctx, *f);
  EXPECT_TRUE(g.is_direct());
  Cell args[2], out[2];
  args[0].f = 2;
  args[1].f = 5;
  ASSERT_TRUE(g.call(args, absl::MakeSpan(out)).ok());
  EXPECT_EQ(out[0].f, 6);
  EXPECT_EQ(out[1].f, 2);
  args[1].f = 0;
  ASSERT_TRUE(g.call(args, absl::MakeSpan(out)).ok());
  EXPECT_EQ(out[0].f, 1);
}

TEST(ScalarFunction, CallsInsideRunByTheEvaluator) {
  Program p;
  const Shape s = Shape::scalar(Dtype::kS64);
  Computation* twice = p.function({s}, [](Builder& b, auto& a) { return b.add(a[0], a[0]); });
  Computation* f = p.function({s, s}, [&](Builder& b, auto& a) {
    return b.add(a[0], b.op(Op::kCall, {a[1]}, NoAttrs{}, {twice}));
  });
  Instr* r = p.b.op(Op::kReduce, {p.counting({4}), p.ints({}, {0})}, DimsAttrs{{0}}, {f});
  EXPECT_EQ(int_values(p.run(r)), std::vector<int64_t>({20}));
}

TEST(ScalarFunction, PlainCombiners) {
  Program p;
  const Shape s = Shape::scalar(Dtype::kF32);
  EXPECT_EQ(plain_combiner(*p.b.combiner(Op::kMaximum, Dtype::kF32)), Op::kMaximum);
  EXPECT_EQ(
      plain_combiner(*p.function({s, s}, [](Builder& b, auto& a) { return b.add(a[1], a[0]); })),
      Op::kAdd);
  EXPECT_EQ(
      plain_combiner(*p.function({s, s}, [](Builder& b, auto& a) { return b.add(a[0], a[0]); })),
      std::nullopt);
  EXPECT_EQ(
      plain_combiner(*p.function({s, s}, [](Builder& b, auto& a) { return b.sub(a[0], a[1]); })),
      std::nullopt);
}

}  // namespace
}  // namespace braze
