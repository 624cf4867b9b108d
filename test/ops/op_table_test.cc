// SPDX-License-Identifier: Apache-2.0
// Laws of the op table: every opcode has a complete row, and every row's samples infer and
// evaluate.
#include <gtest/gtest.h>

#include <set>

#include "ops/builder.h"
#include "ops/op_def.h"
#include "ops/sample.h"

namespace braze {
namespace {

absl::Span<const OpDef> (*const kFamilies[])() = {
    unary_rows,   binary_rows, select_rows,     create_rows, movement_rows, dynamic_rows,
    indexed_rows, reduce_rows, dot_rows,        conv_rows,   sort_rows,     control_rows,
    linalg_rows,  effect_rows, collective_rows, rng_rows,    quantized_rows};

TEST(OpTable, EachOpcodeHasAtMostOneRow) {
  std::set<Op> seen;
  for (auto family : kFamilies)
    for (const OpDef& row : family())
      EXPECT_TRUE(seen.insert(row.op).second) << "second row of " << name(row.op);
}

TEST(OpTable, EachOpcodeHasARow) {
  std::string missing;
  for (int i = 0; i < kOpCount; ++i)
    if (def(static_cast<Op>(i)).infer == nullptr)
      absl::StrAppend(&missing, " ", cat_piece(name(static_cast<Op>(i))));
  EXPECT_EQ(missing, "");
}

TEST(OpTable, RowsAreComplete) {
  for (auto family : kFamilies)
    for (const OpDef& row : family()) {
      SCOPED_TRACE(name(row.op));
      EXPECT_NE(row.infer, nullptr);
      EXPECT_NE(row.sample, nullptr);
      EXPECT_FALSE(row.doc.empty());
      EXPECT_GE(row.cost, 0);
      EXPECT_LT(row.attrs, static_cast<int>(std::variant_size_v<Attrs>));
      EXPECT_TRUE(row.emit || row.index || row.nest != Nest::kNone || row.expand ||
                  row.step != Step::kNone)
          << "no road to native code";
    }
}

// Evaluates the root of a sample whose operands are its entry's parameters.
Result<Literal> evaluate_root(const Module& m, std::mt19937_64& rng) {
  const Instr& root = *m.entry()->root();
  std::vector<Literal> args;
  for (const Instr* o : root.operands) args.push_back(sample::literal(rng, o->shape, true));
  auto no_calls = [](const Computation&, absl::Span<const Literal>) -> Result<Literal> {
    return unimplemented("calls");
  };
  return def(root).eval({root, args, no_calls});
}

TEST(OpTable, SamplesOfArrayOpsInferAndEvaluate) {
  std::mt19937_64 rng(7);
  for (auto family : {unary_rows, binary_rows, select_rows, create_rows, movement_rows})
    for (const OpDef& row : family())
      for (int i = 0; i < 40; ++i) {
        SCOPED_TRACE(name(row.op));
        auto m = row.sample(rng);
        ASSERT_NE(m, nullptr);
        const Instr& root = *m->entry()->root();
        ASSERT_EQ(root.op, row.op);
        std::vector<const Shape*> shapes;
        for (const Instr* o : root.operands) shapes.push_back(&o->shape);
        auto inferred = infer_shape(root.op, shapes, root.attrs, root.calls, &root.shape);
        ASSERT_TRUE(inferred.ok()) << inferred.status();
        EXPECT_EQ(*inferred, root.shape);
        if (row.op == Op::kParameter) continue;
        auto value = evaluate_root(*m, rng);
        ASSERT_TRUE(value.ok()) << value.status();
        EXPECT_EQ(value->shape(), root.shape) << to_string(value->shape());
        EXPECT_EQ(value->size_bytes(), root.shape.bytes());
      }
}

TEST(OpTable, InferShapeChecksWhatHoldsForEveryOp) {
  const Shape s = Shape::array(Dtype::kF32, {2});
  auto add = infer_shape(Op::kAdd, {&s}, NoAttrs{}, {});
  EXPECT_EQ(add.status().message(), "add: 1 operands given, 2 expected");
  auto attrs = infer_shape(Op::kAdd, {&s, &s}, DimsAttrs{}, {});
  EXPECT_EQ(attrs.status().message(), "add: attributes of another op given");
  const Shape t = Shape::array(Dtype::kF32, {3});
  auto other = infer_shape(Op::kAdd, {&s, &s}, NoAttrs{}, {}, &t);
  EXPECT_EQ(other.status().message(), "add: result shape f32[3] given, f32[2] inferred");
  const Shape big = Shape::array(Dtype::kF32, {int64_t{1} << 40, int64_t{1} << 40});
  EXPECT_FALSE(infer_shape(Op::kIota, {}, IotaAttrs{0}, {}, &big).ok());
  const Shape negative = Shape::array(Dtype::kF32, {-3});
  EXPECT_FALSE(infer_shape(Op::kIota, {}, IotaAttrs{0}, {}, &negative).ok());
  Shape layout = s;
  layout.dims = {2, 2};
  layout.layout = {0, 1};
  const Shape plain = Shape::array(Dtype::kF32, {2, 2});
  EXPECT_EQ(*infer_shape(Op::kAdd, {&plain, &plain}, NoAttrs{}, {}, &layout), layout);
}

TEST(Builder, RemembersTheFirstError) {
  Module m("m");
  Computation* c = m.add_computation("main");
  Builder b(c);
  Instr* x = b.parameter(0, Shape::array(Dtype::kF32, {2}));
  Instr* y = b.parameter(1, Shape::array(Dtype::kF32, {3}));
  Instr* bad = b.add(x, y);
  ASSERT_NE(bad, nullptr);
  EXPECT_EQ(bad->shape, x->shape);
  b.unary(Op::kNot, x);
  EXPECT_EQ(b.status().message(), "add: operand shapes f32[2] and f32[3] differ (add_c1)");
  EXPECT_FALSE(Builder(c).parameter(-1, x->shape)->is(Op::kParameter));
}

TEST(Builder, ShortForms) {
  Module m("m");
  Computation* c = m.add_computation("main");
  m.set_entry(c);
  Builder b(c);
  Instr* x = b.parameter(0, Shape::array(Dtype::kF32, {2, 3}));
  EXPECT_EQ(b.splat(x->shape, 2)->shape, x->shape);
  EXPECT_EQ(b.convert(Dtype::kS32, x)->shape, Shape::array(Dtype::kS32, {2, 3}));
  EXPECT_EQ(b.convert(Dtype::kF32, x), x);
  EXPECT_EQ(b.broadcast(x, {2, 5, 3}, {0, 2})->shape, Shape::array(Dtype::kF32, {2, 5, 3}));
  EXPECT_EQ(b.reshape(x, {6})->shape, Shape::array(Dtype::kF32, {6}));
  EXPECT_EQ(b.transpose(x, {1, 0})->shape, Shape::array(Dtype::kF32, {3, 2}));
  EXPECT_EQ(b.slice(x, {0, 1}, {2, 3})->shape, Shape::array(Dtype::kF32, {2, 2}));
  EXPECT_EQ(b.compare(CompareDirection::kLt, x, x)->shape, Shape::array(Dtype::kPred, {2, 3}));
  EXPECT_EQ(b.iota(Shape::array(Dtype::kS32, {4}), 0)->shape, Shape::array(Dtype::kS32, {4}));
  Computation* add = b.combiner(Op::kAdd, Dtype::kF32);
  EXPECT_EQ(add, b.combiner(Op::kAdd, Dtype::kF32));
  EXPECT_NE(add, b.combiner(Op::kAdd, Dtype::kF64));
  EXPECT_TRUE(b.status().ok()) << b.status();
}

}  // namespace
}  // namespace braze
