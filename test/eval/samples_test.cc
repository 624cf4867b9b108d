// SPDX-License-Identifier: Apache-2.0
// Random instances of every row: they infer to their shapes and evaluate; plain combiners agree
// with general ones; expansions agree with what they expand.
#include <gtest/gtest.h>

#include "ops/sample.h"
#include "test/eval/program.h"

namespace braze {
namespace {

using Family = absl::Span<const OpDef> (*)();
constexpr Family kFamilies[] = {indexed_rows, reduce_rows, dot_rows,
                                conv_rows,    sort_rows,   control_rows};

std::vector<Literal> arguments(const Module& m, std::mt19937_64& rng, bool specials) {
  std::vector<Literal> args;
  for (const Instr* p : m.entry()->params())
    args.push_back(sample::literal(rng, p->shape, specials));
  return args;
}

Result<Shape> inferred(const Instr& i) {
  std::vector<const Shape*> shapes;
  for (const Instr* o : i.operands) shapes.push_back(&o->shape);
  return infer_shape(i.op, shapes, i.attrs, i.calls, &i.shape);
}

TEST(Samples, InferAndEvaluate) {
  std::mt19937_64 rng(5);
  for (Family family : kFamilies)
    for (const OpDef& row : family())
      for (int k = 0; k < 60; ++k) {
        SCOPED_TRACE(str_cat(name(row.op), " sample ", k));
        auto m = row.sample(rng);
        ASSERT_NE(m, nullptr);
        const Instr& root = *m->entry()->root();
        ASSERT_EQ(root.op, row.op);
        auto shape = inferred(root);
        ASSERT_TRUE(shape.ok()) << shape.status();
        EXPECT_TRUE(compatible(*shape, root.shape));
        auto value = evaluate(*m, arguments(*m, rng, k % 2));
        ASSERT_TRUE(value.ok()) << value.status();
        EXPECT_TRUE(compatible(value->shape(), root.shape)) << to_string(value->shape());
      }
}

// Makes the root combiner "a op b" into "a op copy(b)", which is not recognised as plain.
void hide_combiner(Module& m, Computation* body) {
  Instr* copy = body->add(Op::kCopy, body->params()[1]->shape, {body->params()[1]});
  body->set_operand(body->root(), 1, copy);
  (void)m;
}

double tolerance(Dtype t) {
  if (!is_float(t) && !is_complex(t)) return 0;
  switch (t) {
    case Dtype::kF64: case Dtype::kC128: return 1e-13;
    case Dtype::kF32: case Dtype::kC64: return 1e-4;
    case Dtype::kF16: return 0.05;
    default: return 0.25;
  }
}

TEST(Samples, PlainCombinersAgreeWithGeneralOnes) {
  std::mt19937_64 rng(6);
  for (Op op : {Op::kReduce, Op::kReduceWindow})
    for (int k = 0; k < 150; ++k) {
      auto m = def(op).sample(rng);
      ASSERT_NE(m, nullptr);
      const Instr& root = *m->entry()->root();
      if (root.shape.is_tuple()) continue;
      SCOPED_TRACE(str_cat(name(op), " sample ", k, " ", to_string(root.shape)));
      const auto args = arguments(*m, rng, false);
      auto plain = evaluate(*m, args);
      ASSERT_TRUE(plain.ok()) << plain.status();
      hide_combiner(*m, root.calls[0]);
      auto general = evaluate(*m, args);
      ASSERT_TRUE(general.ok()) << general.status();
      expect_near(*plain, *general, tolerance(root.shape.dtype));
    }
}

TEST(Samples, ExpansionsAgree) {
  std::mt19937_64 rng(7);
  for (Family family : kFamilies)
    for (const OpDef& row : family())
      for (int k = 0; row.expand && k < 60; ++k) {
        SCOPED_TRACE(str_cat(name(row.op), " sample ", k));
        auto m = row.sample(rng);
        ASSERT_NE(m, nullptr);
        const auto args = arguments(*m, rng, false);
        auto want = evaluate(*m, args);
        ASSERT_TRUE(want.ok()) << want.status();
        Instr* root = m->entry()->root();
        Builder b(m->entry());
        auto expanded = row.expand(b, *root);
        ASSERT_TRUE(expanded.ok()) << expanded.status();
        ASSERT_TRUE(compatible((*expanded)->shape, root->shape)) << to_string((*expanded)->shape);
        m->entry()->set_root(*expanded);
        auto got = evaluate(*m, args);
        ASSERT_TRUE(got.ok()) << got.status();
        expect_near(*want, *got, root->shape.is_tuple() ? 0 : tolerance(root->shape.dtype));
      }
}

// A convolution as a sum over all index combinations, straight from the definition.
Literal convolve_plainly(const ConvAttrs& a, const Literal& lhs, const Literal& rhs,
                         const Shape& shape) {
  Literal out(shape);
  const auto& d = a.dims;
  const Dims &ld = lhs.shape().dims, &rd = rhs.shape().dims;
  Dims index(shape.rank(), 0);
  for (int64_t o = 0; o < out.elements(); ++o, next_index(absl::MakeSpan(index), shape.dims)) {
    double sum = 0;
    Dims k(rd.size(), 0);
    if (rhs.elements() > 0) do {
      const int64_t f = index[d.output_feature];
      if (k[d.kernel_output] != f) continue;
      Dims at(ld.size(), 0);
      at[d.input_batch] = f / (rd[d.kernel_output] / a.batch_groups) * shape.dims[d.output_batch] +
                          index[d.output_batch];
      at[d.input_feature] =
          f / (rd[d.kernel_output] / a.feature_groups) * rd[d.kernel_input] + k[d.kernel_input];
      bool inside = true;
      for (size_t s = 0; s < a.window.size(); ++s) {
        const WindowDim& w = a.window[s];
        const int64_t tap =
            w.reversal ? w.size - 1 - k[d.kernel_spatial[s]] : k[d.kernel_spatial[s]];
        const int64_t p =
            index[d.output_spatial[s]] * w.stride + tap * w.window_dilation - w.pad_low;
        inside = inside && p >= 0 && p % w.base_dilation == 0 &&
                 p / w.base_dilation < ld[d.input_spatial[s]];
        at[d.input_spatial[s]] = p / w.base_dilation;
      }
      if (inside)
        sum += lhs.get_float(linear_index(at, ld)) * rhs.get_float(linear_index(k, rd));
    } while (next_index(absl::MakeSpan(k), rd));
    if (is_float(shape.dtype)) out.set_float(o, sum);
    else out.set_int(o, static_cast<int64_t>(sum));
  }
  return out;
}

TEST(Samples, ConvolutionsFollowTheDefinition) {
  std::mt19937_64 rng(8);
  for (int k = 0; k < 200; ++k) {
    SCOPED_TRACE(k);
    auto m = def(Op::kConvolution).sample(rng);
    ASSERT_NE(m, nullptr);
    const Instr& root = *m->entry()->root();
    if (is_complex(root.shape.dtype)) continue;
    const auto args = arguments(*m, rng, false);
    auto got = evaluate(*m, args);
    ASSERT_TRUE(got.ok()) << got.status();
    const Literal want = convolve_plainly(root.as<ConvAttrs>(), args[0], args[1], root.shape);
    expect_near(want, *got, root.shape.dtype == Dtype::kF64 ? 1e-13 : 1e-5);
  }
}

}  // namespace
}  // namespace braze
