// SPDX-License-Identifier: Apache-2.0
// Random instances of the rows of linear algebra, effects, collectives, dynamic shapes and random
// numbers: they infer to their shapes and evaluate, and expansions agree with what they expand.
#include <gtest/gtest.h>

#include "eval/evaluator.h"
#include "ops/builder.h"
#include "ops/sample.h"

namespace braze {
namespace {

using Family = absl::Span<const OpDef> (*)();
constexpr Family kFamilies[] = {linalg_rows, effect_rows, collective_rows, dynamic_rows, rng_rows,
                                quantized_rows};

// Feeds zeros, swallows what it is given.
struct Feed : World {
  Result<Literal> infeed(const Instr&, const Shape& shape) override { return Literal(shape); }
  Status outfeed(const Instr&, const Literal&) override { return absl::OkStatus(); }
  Result<Literal> recv(const Instr&, const Shape& shape) override { return Literal(shape); }
  Status send(const Instr&, const Literal&) override { return absl::OkStatus(); }
};

Literal argument(std::mt19937_64& rng, const Shape& s) {
  if (s.is_array()) return sample::literal(rng, s, false);
  if (!s.is_tuple()) return Literal(s);
  std::vector<Literal> parts;
  for (const Shape& t : s.tuple) parts.push_back(argument(rng, t));
  return Literal::tuple(std::move(parts));
}

std::vector<Literal> arguments(const Module& m, std::mt19937_64& rng) {
  std::vector<Literal> args;
  for (const Instr* p : m.entry()->params()) args.push_back(argument(rng, p->shape));
  return args;
}

void expect_close(const Literal& got, const Literal& want) {
  ASSERT_EQ(got.parts().size(), want.parts().size());
  for (size_t i = 0; i < got.parts().size(); ++i) expect_close(got.parts()[i], want.parts()[i]);
  if (!got.shape().is_array()) return;
  ASSERT_TRUE(compatible(got.shape(), want.shape())) << to_string(got.shape());
  const Dtype t = got.dtype();
  const double tolerance = real_of(t) == Dtype::kF64   ? 1e-11
                           : real_of(t) == Dtype::kF32 ? 1e-4
                                                       : 0.02;
  for (int64_t i = 0; i < got.elements(); ++i) {
    if (!is_float(t) && !is_complex(t)) {
      ASSERT_EQ(got.get_int(i), want.get_int(i)) << "at " << i;
      continue;
    }
    const std::complex<double> g = is_complex(t) ? got.get_complex(i) : got.get_float(i);
    const std::complex<double> w = is_complex(t) ? want.get_complex(i) : want.get_float(i);
    if (std::isnan(w.real()) || std::isnan(w.imag()) || std::isinf(std::abs(w))) continue;
    ASSERT_LE(std::abs(g - w), tolerance * std::max(1.0, std::abs(w))) << "at " << i;
  }
}

TEST(LibrarySamples, InferAndEvaluate) {
  std::mt19937_64 rng(5);
  for (Family family : kFamilies)
    for (const OpDef& row : family())
      for (int k = 0; k < 60; ++k) {
        SCOPED_TRACE(str_cat(name(row.op), " sample ", k));
        auto m = row.sample(rng);
        ASSERT_NE(m, nullptr);
        const Instr& root = *m->entry()->root();
        ASSERT_EQ(root.op, row.op);
        std::vector<const Shape*> shapes;
        for (const Instr* o : root.operands) shapes.push_back(&o->shape);
        auto shape = infer_shape(root.op, shapes, root.attrs, root.calls, &root.shape);
        ASSERT_TRUE(shape.ok()) << shape.status();
        EXPECT_TRUE(compatible(*shape, root.shape));
        Feed feed;
        auto value = evaluate(*m, arguments(*m, rng), {.world = &feed});
        ASSERT_TRUE(value.ok()) << value.status();
        EXPECT_TRUE(compatible(value->shape(), root.shape)) << to_string(value->shape());
      }
}

TEST(LibrarySamples, ExpansionsAgree) {
  std::mt19937_64 rng(7);
  for (Family family : kFamilies)
    for (const OpDef& row : family())
      for (int k = 0; row.expand && k < 40; ++k) {
        SCOPED_TRACE(str_cat(name(row.op), " sample ", k));
        auto m = row.sample(rng);
        ASSERT_NE(m, nullptr);
        const auto args = arguments(*m, rng);
        Feed before, after;
        auto want = evaluate(*m, args, {.world = &before});
        ASSERT_TRUE(want.ok()) << want.status();
        Instr* root = m->entry()->root();
        Builder b(m->entry());
        auto expanded = row.expand(b, *root);
        ASSERT_TRUE(expanded.ok()) << expanded.status();
        ASSERT_TRUE(compatible((*expanded)->shape, root->shape)) << to_string((*expanded)->shape);
        m->entry()->set_root(*expanded);
        m->entry()->erase(root);
        auto got = evaluate(*m, args, {.world = &after});
        ASSERT_TRUE(got.ok()) << got.status();
        expect_close(*got, *want);
      }
}

}  // namespace
}  // namespace braze
