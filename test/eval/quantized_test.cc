// SPDX-License-Identifier: Apache-2.0
// Quantized arithmetic: the specification's rule on known values, per tensor and per axis.
#include "ops/quantized.h"

#include "test/eval/program.h"

namespace braze {
namespace {

Shape quantized(Dtype storage, DimSpan dims, std::vector<double> scales, std::vector<int64_t> zeros,
                int64_t axis = -1) {
  Shape s = Shape::array(storage, dims);
  Quantization q;
  q.scales = std::move(scales);
  q.zero_points = std::move(zeros);
  q.axis = axis;
  const int bits = bit_size(storage);
  q.storage_min = is_signed_int(storage) ? -(int64_t{1} << (bits - 1)) : 0;
  q.storage_max = (int64_t{1} << (is_signed_int(storage) ? bits - 1 : bits)) - 1;
  s.quant = std::make_shared<Quantization>(std::move(q));
  return s;
}

Instr* quantize(Program& p, Instr* x, const Shape& s) {
  return p.b.op_shaped(Op::kUniformQuantize, s, {x});
}

TEST(Quantized, QuantizePerAxis) {
  Program p;
  const Shape s = quantized(Dtype::kS8, {2}, {0.1, 0.5}, {-30, -20}, 0);
  EXPECT_EQ(int_values(p.run(quantize(p, p.floats({2}, {4, 15}), s))), (std::vector<int64_t>{10, 10}));
}

TEST(Quantized, RequantizeAndBack) {
  Program p;
  const Shape from = quantized(Dtype::kS8, {2}, {0.1, 0.5}, {-30, -20}, 0);
  const Shape to = quantized(Dtype::kS8, {2}, {0.1, 0.2}, {-20, -30}, 0);
  Instr* x = quantize(p, p.floats({2}, {4, 15}), from);
  Instr* y = quantize(p, x, to);
  EXPECT_EQ(int_values(p.run(y)), (std::vector<int64_t>{20, 45}));
  auto real = p.run(p.b.unary(Op::kUniformDequantize, x));
  ASSERT_TRUE(real.ok()) << real.status();
  EXPECT_NEAR(real->get_float(0), 4, 1e-6);
  EXPECT_NEAR(real->get_float(1), 15, 1e-6);
}

TEST(Quantized, RoundsToEvenAndClamps) {
  Program p;
  const Shape s = quantized(Dtype::kS8, {6}, {2}, {0});
  const double nan = std::nan("");
  EXPECT_EQ(int_values(p.run(quantize(p, p.floats({6}, {1, 3, -1, 1e9, -1e9, nan}), s))),
            (std::vector<int64_t>{0, 2, 0, 127, -128, 0}));
}

TEST(Quantized, AddOfThreeScales) {
  Program p;
  const Shape a = quantized(Dtype::kS8, {2}, {0.1}, {-30}), b = quantized(Dtype::kS8, {2}, {0.5}, {-20});
  Instr* x = quantize(p, p.floats({2}, {1, 2}), a);
  Instr* y = quantize(p, p.floats({2}, {3, 4}), b);
  EXPECT_EQ(int_values(p.run(p.b.op_shaped(Op::kAdd, b, {x, y}))), (std::vector<int64_t>{-12, -8}));
}

TEST(Quantized, DotOfStoredIntegersAndHybrid) {
  Program p;
  const Shape lhs = quantized(Dtype::kS8, {1, 2}, {0.5}, {1});
  const Shape rhs = quantized(Dtype::kS8, {2, 2}, {1, 2}, {0, 0}, 1);
  const Shape out = quantized(Dtype::kS32, {1, 2}, {0.5, 1}, {0, 0}, 1);
  DotAttrs a;
  a.lhs_contracting = {1};
  a.rhs_contracting = {0};
  Instr* x = quantize(p, p.floats({1, 2}, {2, 3}), lhs);
  Instr* w = quantize(p, p.floats({2, 2}, {1, 4, 2, 6}), rhs);
  EXPECT_EQ(int_values(p.run(p.b.op_shaped(Op::kDot, out, {x, w}, a))), (std::vector<int64_t>{16, 26}));
  auto hybrid = p.run(p.b.op(Op::kDot, {p.floats({1, 2}, {2, 3}), w}, a));
  ASSERT_TRUE(hybrid.ok()) << hybrid.status();
  EXPECT_EQ(hybrid->get_float(0), 8);
  EXPECT_EQ(hybrid->get_float(1), 26);
}

TEST(Quantized, MovesKeepStoredIntegers) {
  Program p;
  const Shape s = quantized(Dtype::kS32, {3}, {1e-9}, {7});
  Instr* x = p.b.op_shaped(Op::kBitcastConvert, s,
                           {p.ints({3}, {2000000001, -2000000003, 5}, Dtype::kS32)});
  Instr* at = p.ints({}, {1}, Dtype::kS32);
  Instr* slice = p.b.op(Op::kDynamicSlice, {x, at}, DynamicSliceAttrs{{2}});
  EXPECT_EQ(int_values(p.run(slice)), (std::vector<int64_t>{-2000000003, 5}));
}

TEST(Quantized, ReduceSumsRealNumbers) {
  Program p;
  const Shape s = quantized(Dtype::kS8, {3}, {0.5}, {10}), scalar = quantized(Dtype::kS8, {}, {0.5}, {10});
  Instr* x = quantize(p, p.floats({3}, {1, 2, 3}), s);
  Instr* zero = quantize(p, p.floats({}, {0}), scalar);
  Computation* body = p.function({scalar, scalar}, [&](Builder& b, auto& params) {
    return b.op_shaped(Op::kAdd, scalar, {params[0], params[1]});
  });
  Instr* sum = p.b.op_shaped(Op::kReduce, scalar, {x, zero}, DimsAttrs{{0}}, {body});
  EXPECT_EQ(int_values(p.run(sum)), (std::vector<int64_t>{22}));
}

// Each reduction evaluates a body of its own, made and dropped with a module of its own: what one ran is
// not what the next runs, wherever it lies in memory.
TEST(Quantized, BodiesAreNotMistakenForEachOther) {
  Program p;
  const Shape s = quantized(Dtype::kS8, {3}, {0.5}, {10}), scalar = quantized(Dtype::kS8, {}, {0.5}, {10});
  const Shape flag = Shape::scalar(Dtype::kPred);
  Instr* x = quantize(p, p.floats({3}, {1, 2, 3}), s);
  Instr* zero = quantize(p, p.floats({}, {0}), scalar);
  Computation* same = p.function({flag}, [](Builder&, auto& a) { return a[0]; });
  std::vector<Instr*> all;
  constexpr Op kOps[] = {Op::kAdd, Op::kMaximum, Op::kMinimum};
  constexpr int64_t kWant[] = {22, 16, 10};
  for (size_t k = 0; k < 60; ++k) {
    const Op op = kOps[k % 3];
    Computation* body = p.function({scalar, scalar}, [&](Builder& b, auto& a) {
      Instr* yes = b.op(Op::kCall, {b.scalar(Dtype::kPred, 1)}, NoAttrs{}, {same});  // not a plain combiner
      return b.op_shaped(Op::kSelect, scalar, {yes, b.op_shaped(op, scalar, {a[0], a[1]}), a[0]});
    });
    all.push_back(p.b.op_shaped(Op::kReduce, scalar, {x, zero}, DimsAttrs{{0}}, {body}));
  }
  const auto v = p.run(p.b.tuple(all));
  ASSERT_TRUE(v.ok()) << v.status();
  for (size_t k = 0; k < all.size(); ++k) EXPECT_EQ(v->parts()[k].get_int(0), kWant[k % 3]) << k;
}

TEST(Quantized, ExpansionAgrees) {
  Program p;
  const Shape a = quantized(Dtype::kS8, {2, 2}, {0.25, 0.5}, {3, -4}, 1);
  const Shape out = quantized(Dtype::kS8, {2, 2}, {0.125}, {100});
  Instr* x = quantize(p, p.floats({2, 2}, {1, 2, -3, 4.2}), a);
  Instr* tanh = p.b.op_shaped(Op::kTanh, out, {x});
  const auto want = int_values(p.run(tanh));
  auto expanded = expand_quantized(p.b, *tanh);
  ASSERT_TRUE(expanded.ok()) << expanded.status();
  EXPECT_EQ(int_values(p.run(*expanded)), want);
}

TEST(Quantized, Laws) {
  Program p;
  Instr* x = p.floats({2}, {1, 2});
  const Shape good = quantized(Dtype::kS8, {2}, {1}, {0});
  auto error = [&](Instr* i) { return std::string(p.run(i).status().message()); };
  EXPECT_NE(error(p.b.op_shaped(Op::kUniformQuantize, Shape::array(Dtype::kS8, {2}), {x}))
                .find("quantized element type"), std::string::npos);
  Program q;
  Instr* y = q.floats({3}, {1, 2, 3});
  q.b.op_shaped(Op::kUniformQuantize, good, {y});
  EXPECT_NE(std::string(q.b.status().message()).find("uniform_quantize (C1)"), std::string::npos);
  Program r;
  r.b.op_shaped(Op::kUniformQuantize, good, {r.floats({2}, {1, 2}, Dtype::kF64)});
  EXPECT_NE(std::string(r.b.status().message()).find("uniform_quantize (C2)"), std::string::npos);
  Program t;
  t.b.unary(Op::kUniformDequantize, t.floats({2}, {1, 2}));
  EXPECT_NE(std::string(t.b.status().message()).find("uniform_dequantize (C2)"), std::string::npos);
}

}  // namespace
}  // namespace braze
