// SPDX-License-Identifier: Apache-2.0
// Native cholesky and triangular-solve agree with the evaluator.
#include "runtime/factor.h"

#include "test/runtime/library_case.h"

namespace braze {
namespace {

struct Type {
  const char* name;
  double tolerance;
};
const Type kTypes[] = {{"f32", 2e-5}, {"f64", 1e-13}, {"c64", 2e-5}, {"c128", 1e-13}, {"f16", 2e-2}, {"bf16", 1e-1}};

std::string cholesky(const std::string& type, const std::string& batch, int64_t n, bool lower) {
  const std::string shape = type + "[" + batch + std::to_string(n) + "," + std::to_string(n) + "]";
  return "HloModule c\nENTRY main {\n a = " + shape + " parameter(0)\n ROOT r = " + shape +
         " cholesky(a), lower=" + (lower ? "true" : "false") + "\n}\n";
}

// Hermitian with a heavy diagonal; the triangle that isn't read holds NaNs.
Literal positive(const Shape& s, bool lower, uint64_t seed) {
  std::mt19937_64 rng(seed);
  Literal l = random_literal(s, rng);
  const int64_t n = s.dims.back();
  for (int64_t b = 0; b < l.elements() / std::max<int64_t>(1, n * n); ++b)
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const int64_t at = (b * n + i) * n + j;
        const double nan = std::nan("");
        if (i == j) is_complex(s.dtype) ? l.set_complex(at, {4.0 * n + i, 0}) : l.set_float(at, 4.0 * n + i);
        else if ((j < i) != lower) is_complex(s.dtype) ? l.set_complex(at, {nan, nan}) : l.set_float(at, nan);
      }
  return l;
}

TEST(Cholesky, Sizes) {
  for (const Type& t : kTypes)
    for (bool lower : {true, false}) {
      for (int64_t n : {0, 1, 2, 3, 8, 17, 64, 65, 128, 150}) {
        auto m = parse_hlo(cholesky(t.name, "", n, lower));
        ASSERT_TRUE(m.ok()) << m.status();
        const Literal a = positive((*m)->entry()->params()[0]->shape, lower, n);
        expect_native(**m, {a}, t.tolerance, t.name + std::to_string(n));
      }
      for (std::string batch : {"5,", "2,3,", "0,", "20,"})
        for (int64_t n : {3, 16, 33}) {
          auto m = parse_hlo(cholesky(t.name, batch, n, lower));
          ASSERT_TRUE(m.ok()) << m.status();
          const Literal a = positive((*m)->entry()->params()[0]->shape, lower, n);
          expect_native(**m, {a}, t.tolerance, t.name + batch + std::to_string(n));
        }
    }
}

TEST(Cholesky, NotDefinite) {
  for (const Type& t : kTypes)
    for (int64_t n : {1, 5, 140})
      for (int64_t at : {int64_t{0}, n - 1, n / 2})
        for (const auto& [value, batch] : {std::pair(-1.0, "3,"), {0.0, "3,"}, {std::nan(""), "3,"}, {-1.0, "21,"}}) {
          auto m = parse_hlo(cholesky(t.name, batch, n, true));
          ASSERT_TRUE(m.ok()) << m.status();
          Literal a = positive((*m)->entry()->params()[0]->shape, true, n);
          const int64_t i = n * n + at * n + at;  // of the second matrix
          is_complex(a.dtype()) ? a.set_complex(i, value) : a.set_float(i, value);
          expect_native(**m, {a}, t.tolerance, t.name + std::to_string(n));
        }
}

void expect_solve(const Type& t, const std::string& batch, int64_t n, int64_t count, int form) {
  const bool left = form & 1, lower = form & 2, unit = form & 4;
  const char* transposes[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
  const std::string type = t.name, side = std::to_string(n), other = std::to_string(count);
  const std::string b = type + "[" + batch + (left ? side + "," + other : other + "," + side) + "]";
  const std::string text = "HloModule s\nENTRY main {\n a = " + type + "[" + batch + side + "," + side +
                           "] parameter(0)\n b = " + b + " parameter(1)\n ROOT r = " + b +
                           " triangular-solve(a, b), left_side=" + (left ? "true" : "false") + ", lower=" +
                           (lower ? "true" : "false") + ", unit_diagonal=" + (unit ? "true" : "false") +
                           ", transpose_a=" + transposes[form / 8] + "\n}\n";
  auto m = parse_hlo(text);
  ASSERT_TRUE(m.ok()) << m.status() << text;
  Literal a = positive((*m)->entry()->params()[0]->shape, lower, n + form);
  // Small off the diagonal, so that unit triangles are well conditioned too.
  for (int64_t i = 0; i < a.elements(); ++i)
    is_complex(a.dtype()) ? a.set_complex(i, a.get_complex(i) / (4.0 * n)) : a.set_float(i, a.get_float(i) / (4.0 * n));
  std::mt19937_64 rng(form);
  const Literal rhs = random_literal((*m)->entry()->params()[1]->shape, rng);
  expect_native(**m, {a, rhs}, t.tolerance, text);
}

TEST(TriangularSolve, Forms) {
  for (const Type& t : kTypes)
    for (int form = 0; form < 24; ++form) {
      expect_solve(t, "", 5, 3, form);
      expect_solve(t, "", 37, 1, form);
      expect_solve(t, "2,", 19, 70, form);
      expect_solve(t, "", 70, 33, form);
      expect_solve(t, "21,", 5, 6, form);  // in lanes
    }
}

TEST(TriangularSolve, Empty) {
  expect_solve(kTypes[0], "0,", 3, 2, 0);
  expect_solve(kTypes[0], "2,", 0, 2, 1);
  expect_solve(kTypes[0], "2,", 3, 0, 1);
}

}  // namespace
}  // namespace braze
