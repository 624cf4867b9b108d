// SPDX-License-Identifier: Apache-2.0
// The evaluator itself: long chains, nesting, limits, arguments, error texts.
#include "eval/evaluator.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "test/eval/program.h"

namespace braze {
namespace {

using Ints = std::vector<int64_t>;

TEST(Evaluator, LongChains) {
  Program p;
  Instr* one = p.ints({}, {1});
  Instr* x = one;
  for (int i = 0; i < 100000; ++i) x = p.b.add(x, one);
  EXPECT_EQ(int_values(p.run(x)), Ints({100001}));
}

TEST(Evaluator, FreesValuesAfterTheirLastUse) {
  Program p;
  // 100 values of 256 KB each, of which few are alive at a time.
  Instr* x = p.b.splat(Shape::array(Dtype::kF32, {1 << 16}), 1);
  for (int i = 0; i < 100; ++i) x = p.b.unary(Op::kNegate, x);
  x = p.b.slice(x, {0}, {1});
  p.module.entry()->set_root(x);
  EvalOptions o;
  o.max_bytes = 1 << 20;
  EXPECT_EQ(float_values(evaluate(p.module, {}, o)), std::vector<double>({1}));
  o.max_bytes = 400 << 10;
  EXPECT_EQ(evaluate(p.module, {}, o).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Evaluator, HugeValuesAreRefused) {
  Program p;
  Instr* x = p.b.splat(Shape::array(Dtype::kF32, {int64_t{1} << 30, int64_t{1} << 20}), 1);
  auto v = p.run(x);
  EXPECT_EQ(v.status().code(), absl::StatusCode::kResourceExhausted) << v.status();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these reserve the address space
// Runs f in a child whose address space can grow by `bytes` only; what f returns.
int with_little_memory(int64_t bytes, const std::function<int()>& f) {
  const pid_t child = fork();
  if (child == 0) {
    int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t most = pages * sysconf(_SC_PAGESIZE) + bytes;
    const rlimit limit{most, most};
    _exit(setrlimit(RLIMIT_AS, &limit) == 0 ? f() : 99);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

TEST(Evaluator, NoMemoryIsAnError) {
  const auto run = [](Op op) {
    Program p;
    const Shape big = Shape::array(Dtype::kC128, {1 << 21});  // 32 MB
    Instr* x = p.b.splat(op == Op::kFft ? big : Shape::array(Dtype::kF64, {1 << 24}), 1);
    Instr* y = op == Op::kFft ? p.b.op(op, {x}, FftAttrs{FftType::kFft, {1 << 21}}) : p.b.unary(op, x);
    p.module.entry()->set_root(p.b.slice(y, {0}, {1}));
    const auto v = evaluate(p.module, {});
    return v.status().code() == absl::StatusCode::kResourceExhausted ? 1 : v.ok() ? 2 : 3;
  };
  // A value that does not fit, a value that does but for scratch.
  EXPECT_EQ(with_little_memory(int64_t{100} << 20, [&] { return run(Op::kNegate); }), 1);
  EXPECT_EQ(with_little_memory(int64_t{180} << 20, [&] { return run(Op::kFft); }), 1);
}

TEST(Evaluator, NoMemoryForManySmallValuesIsAnError) {
  const auto run = [] {
    Program p;
    std::vector<Instr*> all;
    for (int k = 0; k < 400; ++k) all.push_back(p.b.splat(Shape::array(Dtype::kF32, {1 << 17}), k));
    p.module.entry()->set_root(p.b.tuple(all));
    const auto v = evaluate(p.module, {});  // 200 MB, half a megabyte each
    return v.status().code() == absl::StatusCode::kResourceExhausted ? 1 : v.ok() ? 2 : 3;
  };
  EXPECT_EQ(with_little_memory(int64_t{100} << 20, run), 1);
}
#endif

// Sizes that data decides are looked at when they are known.
TEST(Evaluator, HugeDynamicValuesAreRefused) {
  const auto refused = [](const Result<Literal>& v) {
    EXPECT_EQ(v.status().code(), absl::StatusCode::kResourceExhausted) << v.status();
    return std::string(v.status().message());
  };
  const int64_t huge = int64_t{1} << 40;
  const Shape open = Shape::array(Dtype::kF32, {kUnknownDim});
  {
    Program p;
    const std::string why = refused(
        p.run(p.b.op_shaped(Op::kDynamicIota, open, {p.ints({1}, {huge})}, IotaAttrs{0})));
    EXPECT_NE(why.find("evaluating dynamic-iota"), std::string::npos) << why;
  }
  {
    Program p;
    refused(p.run(p.b.op_shaped(Op::kDynamicBroadcast, open, {p.floats({}, {1}), p.ints({1}, {huge})},
                                DimsAttrs{})));
  }
  {
    Program p;
    Instr* x = p.floats({2}, {1, 2});
    Instr* none = p.ints({1}, {0});
    refused(p.run(p.b.op_shaped(Op::kDynamicPad, open,
                                {x, p.floats({}, {0}), p.ints({1}, {huge}), none, none})));
  }
  {
    // Small ones make large ones: an outer product.
    Program p;
    Instr* x = p.b.op_shaped(Op::kDynamicIota, open, {p.ints({1}, {1 << 20})}, IotaAttrs{0});
    refused(p.run(p.b.op(Op::kDot, {x, x}, DotAttrs{})));
  }
}

// What lives on counts with the size it has.
TEST(Evaluator, DynamicValuesCount) {
  Program p;
  const Shape open = Shape::array(Dtype::kF32, {kUnknownDim});
  std::vector<Instr*> all;
  for (int k = 0; k < 8; ++k)
    all.push_back(p.b.op_shaped(Op::kDynamicIota, open, {p.ints({1}, {1 << 16})}, IotaAttrs{0}));
  p.module.entry()->set_root(p.b.tuple(all));
  ASSERT_TRUE(p.b.status().ok()) << p.b.status();
  EvalOptions o;
  o.max_bytes = (8 << 18) + 1024;
  EXPECT_TRUE(evaluate(p.module, {}, o).ok());
  o.max_bytes = 7 << 18;
  EXPECT_EQ(evaluate(p.module, {}, o).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(Evaluator, HugeShapesWithoutElementsCostNothing) {
  Program p;
  const int64_t huge = int64_t{1} << 40;
  Instr* x = p.b.constant(Literal(Shape::array(Dtype::kF32, {huge, 0})));
  Instr* y = p.b.constant(Literal(Shape::array(Dtype::kF32, {0, 0})));
  Instr* zero = p.floats({}, {0});
  Computation* add = p.b.combiner(Op::kAdd, Dtype::kF32);
  const Shape f = Shape::scalar(Dtype::kF32);
  Computation* less = p.function({f, f}, [](Builder& b, auto& a) {
    return b.compare(CompareDirection::kLt, a[0], a[1]);
  });
  DotAttrs dot;
  dot.lhs_contracting = {1};
  dot.rhs_contracting = {0};
  RaggedDotAttrs ragged;
  ragged.dot = dot;
  ragged.lhs_ragged = {1};
  ConvAttrs conv;
  conv.dims = {0, 1, 0, 1, 0, 1, {}, {}, {}};
  for (Instr* i : {p.b.reduce(Op::kAdd, x, zero, {0}), p.b.op(Op::kDot, {x, y}, dot),
                   p.b.op(Op::kRaggedDot, {x, y, p.ints({2}, {1, 1})}, ragged),
                   p.b.op(Op::kReduceWindow, {x, zero}, WindowAttrs{{{}, {}}}, {add}),
                   p.b.op(Op::kSelectAndScatter, {x, x, zero}, WindowAttrs{{{}, {}}}, {less, add}),
                   p.b.op(Op::kConvolution, {x, y}, conv),
                   p.b.op(Op::kSort, {x}, SortAttrs{0}, {less})}) {
    auto v = p.run(i);
    ASSERT_TRUE(v.ok()) << v.status();
    EXPECT_EQ(v->elements(), 0);
  }
}

TEST(Evaluator, NestedCallsAreBounded) {
  for (int depth : {200, 2000}) {
    Program p;
    const Shape s = Shape::scalar(Dtype::kS64);
    Computation* inner = p.function({s}, [](Builder& b, auto& a) { return b.add(a[0], a[0]); });
    for (int i = 0; i < depth; ++i)
      inner = p.function(
          {s}, [&](Builder& b, auto& a) { return b.op(Op::kCall, {a[0]}, NoAttrs{}, {inner}); });
    auto v = p.run(p.b.op(Op::kCall, {p.ints({}, {21})}, NoAttrs{}, {inner}));
    if (depth == 200) {
      EXPECT_EQ(int_values(v), Ints({42}));
    } else {
      EXPECT_EQ(v.status().code(), absl::StatusCode::kResourceExhausted);
      EXPECT_NE(v.status().message().find("nested calls"), std::string::npos) << v.status();
    }
  }
}

TEST(Evaluator, StepsAreBounded) {
  Program p;
  const Shape s = Shape::scalar(Dtype::kS64);
  Computation* always =
      p.function({s}, [](Builder& b, auto&) { return b.scalar(Dtype::kPred, 1); });
  Computation* next = p.function({s}, [](Builder& b, auto& a) { return b.add(a[0], a[0]); });
  p.module.entry()->set_root(p.b.op(Op::kWhile, {p.ints({}, {1})}, NoAttrs{}, {always, next}));
  ASSERT_TRUE(p.b.status().ok()) << p.b.status();
  EvalOptions o;
  o.max_steps = 10000;
  EXPECT_TRUE(is_too_long(evaluate(p.module, {}, o).status()));
  o = {};
  o.max_cpu_seconds = 0.01;
  EXPECT_TRUE(is_too_long(evaluate(p.module, {}, o).status()));
  o = {};
  o.max_bytes = 1;
  EXPECT_FALSE(is_too_long(evaluate(p.module, {}, o).status()));
}

TEST(Evaluator, ArgumentsAreChecked) {
  Program p;
  const Shape s = Shape::array(Dtype::kF32, {2});
  Instr* x = p.b.parameter(0, s);
  p.module.entry()->set_root(p.b.add(x, x));
  EXPECT_EQ(evaluate(p.module, {}).status().message(), "'main' takes 1 arguments, got 0");
  const Literal wrong(Shape::array(Dtype::kF32, {3}));
  EXPECT_EQ(evaluate(p.module, {wrong}).status().message(),
            "argument 0 must be f32[2], got f32[3]");
  EXPECT_EQ(float_values(evaluate(p.module, {Literal::of(Dtype::kF32, {2}, {1.0, 2.0})})),
            std::vector<double>({2, 4}));
}

TEST(Evaluator, BoundedDimensionsHoldSmallerValues) {
  Program p;
  Shape s = Shape::array(Dtype::kF32, {2, 5});
  s.dynamic = {false, true};
  Instr* x = p.b.parameter(0, s);
  Instr* sums = p.b.reduce(Op::kAdd, x, p.floats({}, {0}), {0});
  EXPECT_EQ(to_string(sums->shape, false), "f32[<=5]");
  DotAttrs a;
  a.lhs_contracting = a.rhs_contracting = {0};
  Instr* gram = p.b.op(Op::kDot, {x, x}, a);
  p.module.entry()->set_root(p.b.tuple({sums, gram}));
  ASSERT_TRUE(p.b.status().ok()) << p.b.status();
  auto v = evaluate(p.module, {Literal::of(Dtype::kF32, {2, 2}, {1.0, 2.0, 3.0, 4.0})});
  ASSERT_TRUE(v.ok()) << v.status();
  EXPECT_EQ(float_values(v->parts()[0]), std::vector<double>({4, 6}));
  EXPECT_EQ(float_values(v->parts()[1]), std::vector<double>({10, 14, 14, 20}));
  EXPECT_FALSE(evaluate(p.module, {Literal(Shape::array(Dtype::kF32, {2, 6}))}).ok());
}

// A static operand at the bound counts as far as the bounded one reaches.
TEST(Evaluator, BoundedMeetsStatic) {
  Program p;
  Shape s = Shape::array(Dtype::kF32, {3, 4});
  Shape bounded = s;
  bounded.dynamic = {true, false};
  Instr* x = p.b.parameter(0, bounded);
  Instr* y = p.b.parameter(1, s);
  p.module.entry()->set_root(p.b.add(x, y));
  ASSERT_TRUE(p.b.status().ok()) << p.b.status();
  auto v = evaluate(p.module, {Literal::of(Dtype::kF32, {2, 4}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}),
                               Literal::of(Dtype::kF32, {3, 4}, {10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0,
                                                                 80.0, 90.0, 0.0, 0.0, 0.0})});
  ASSERT_TRUE(v.ok()) << v.status();
  EXPECT_EQ(v->shape().dims, Dims({2, 4}));
  EXPECT_EQ(float_values(*v), std::vector<double>({11, 22, 33, 44, 55, 66, 77, 88}));
}

TEST(Evaluator, OneInstruction) {
  Program p;
  Instr* x = p.b.parameter(0, Shape::scalar(Dtype::kS32));
  Instr* sum = p.b.add(x, x);
  EXPECT_EQ(int_values(evaluate(
                *sum, {Literal::scalar_int(Dtype::kS32, 3), Literal::scalar_int(Dtype::kS32, 4)})),
            Ints({7}));
  EXPECT_FALSE(evaluate(*sum, {Literal::scalar_int(Dtype::kS32, 3)}).ok());
}

TEST(Evaluator, ErrorsNameTheInstruction) {
  Program p;
  Instr* feed = p.module.entry()->add(Op::kInfeed,
                                      Shape::tuple_of({Shape::scalar(Dtype::kF32), Shape::token()}),
                                      {}, ChannelAttrs{}, {}, "feed");
  p.module.entry()->set_root(feed);
  auto v = evaluate(p.module, {});
  EXPECT_FALSE(v.ok());
  EXPECT_NE(v.status().message().find("feed"), std::string::npos) << v.status();
}

}  // namespace
}  // namespace braze
