// SPDX-License-Identifier: Apache-2.0
// Random instances of every row on three engines: the evaluator, interpreted kernels, compiled
// kernels. A difference between the first two is a wrong lowering, between the last two wrong code.
#include <gtest/gtest.h>

#include "backend/compare.h"
#include "backend/compile.h"
#include "ops/sample.h"
#include "text/parse.h"
#include "text/print.h"

namespace braze {
namespace {

using Family = absl::Span<const OpDef> (*)();
constexpr Family kFamilies[] = {
    unary_rows,   binary_rows, select_rows,     create_rows, movement_rows, dynamic_rows,
    indexed_rows, reduce_rows, dot_rows,        conv_rows,   sort_rows,     control_rows,
    linalg_rows,  effect_rows, collective_rows, rng_rows,    quantized_rows};
constexpr int kSamples = 40;  // interpreted
constexpr int kCompiled = 2;  // of these also compiled

// Which part of a complex function's value is NaN when an argument is not finite is not laid down.
bool any_complex(const Module& m) {
  for (auto& i : m.entry()->instrs())
    if (i->shape.is_array() && is_complex(i->shape.dtype)) return true;
  return false;
}

Result<Literal> value_on(const std::string& backend, const Module& m,
                         absl::Span<const Literal> args) {
  static const Debug off;
  CompileOptions o;
  o.backend = backend;
  o.debug = &off;
  ASSIGN(std::unique_ptr<Executable> exe, compile(m.clone(), o));
  return exe->run(args);
}

void expect_close(const std::string& backend, const Module& m, absl::Span<const Literal> args,
                  const Literal& want) {
  auto got = value_on(backend, m, args);
  ASSERT_TRUE(got.ok()) << backend << ": " << got.status() << "\n" << print_hlo(m);
  std::string why;
  ASSERT_TRUE(close_by_type(*got, want, &why)) << backend << ": " << why << "\n" << print_hlo(m);
}

TEST(Agreement, EveryRowOnEveryEngine) {
  std::mt19937_64 rng(11);
  int rows = 0;
  for (Family family : kFamilies)
    for (const OpDef& row : family()) {
      if (!row.sample) continue;
      ++rows;
      for (int k = 0; k < kSamples; ++k) {
        SCOPED_TRACE(str_cat(name(row.op), " sample ", k));
        auto m = row.sample(rng);
        if (!m) continue;
        std::vector<Literal> args;
        for (const Instr* p : m->entry()->params())
          args.push_back(sample::literal(rng, p->shape, k % 2 == 1 && !any_complex(*m)));
        auto want = value_on("reference", *m, args);
        if (!want.ok()) continue;  // it waits for other devices or feeds
        expect_close("kernel", *m, args, *want);
        if (k < kCompiled) expect_close("cpu", *m, args, *want);
      }
    }
  EXPECT_GT(rows, 100);
}

// Each part of a complex product reads both old parts: neither may be stored before both are read.
TEST(Agreement, ComplexScatterReadsBothPartsFirst) {
  auto m = parse_hlo(
      "HloModule s\nmul { a = c64[] parameter(0)\n b = c64[] parameter(1)\n ROOT r = c64[] "
      "multiply(a, b) }\n"
      "ENTRY e { x = c64[2] parameter(0)\n i = s32[3,1] parameter(1)\n u = c64[3] parameter(2)\n"
      " ROOT r = c64[2] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},"
      " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=mul }\n");
  ASSERT_TRUE(m.ok()) << m.status();
  using C = std::complex<double>;
  std::vector<Literal> args = {Literal::of<C>(Dtype::kC64, {2}, {{1, 2}, {3, 4}}),
                               Literal::of<int64_t>(Dtype::kS32, {3, 1}, {1, 0, 1}),
                               Literal::of<C>(Dtype::kC64, {3}, {{0, 1}, {2, 0}, {1, 1}})};
  for (const char* backend : {"reference", "kernel", "cpu"}) {
    auto v = value_on(backend, **m, args);
    ASSERT_TRUE(v.ok()) << v.status();
    EXPECT_EQ(v->get_complex(0), C(2, 4)) << backend;
    EXPECT_EQ(v->get_complex(1), C(-7, -1)) << backend;
  }
}

}  // namespace
}  // namespace braze
