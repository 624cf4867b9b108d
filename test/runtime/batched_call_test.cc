// SPDX-License-Identifier: Apache-2.0
// LAPACK's custom calls on batches: cut into parts they give the evaluator's bits at any number of
// threads; potrf has kernels of its own, and LAPACK's word where there is no factor.
#include "runtime/batched_call.h"

#include "base/status.h"
#include "ops/lapack.h"
#include "test/runtime/library_case.h"

namespace braze {
namespace {

std::string program(const std::string& target, const std::string& options, const std::string& operand,
                    const std::string& results) {
  return str_cat("HloModule t\nENTRY e {\n  a = ", operand, " parameter(0)\n  ROOT r = (", results,
                 ") custom-call(a), custom_call_target=\"", target, "\", api_version=API_VERSION_TYPED_FFI, "
                 "backend_config={", options, "}\n}\n");
}

void expect_parts(const std::string& text) {
  SCOPED_TRACE(text);
  auto m = parse_hlo(text);
  ASSERT_TRUE(m.ok()) << m.status();
  std::mt19937_64 rng(5);
  const Literal a = random_literal((*m)->entry()->params()[0]->shape, rng);
  auto want = evaluate(**m, {a});
  ASSERT_TRUE(want.ok()) << want.status();
  for (int threads : {1, 2, 3}) EXPECT_TRUE(run_native(**m, {a}, threads) == *want) << threads;
}

TEST(BatchedCall, SameBitsAsTheWhole) {
  expect_parts(program("lapack_sgetrf_ffi", "", "f32[300,7,9]", "f32[300,7,9], s32[300,7], s32[300]"));
  expect_parts(program("lapack_zgetrf_ffi", "", "c128[5,40,6,6]", "c128[5,40,6,6], s32[5,40,6], s32[5,40]"));
  expect_parts(program("lapack_cgeqrf_ffi", "", "c64[130,12,8]", "c64[130,12,8], c64[130,8]"));
  expect_parts(program("lapack_dsyevd_ffi", "mode = 86 : ui8, uplo = 76 : ui8", "f64[40,20,20]",
                       "f64[40,20,20], f64[40,20], s32[40]"));
  expect_parts(program("lapack_sgesdd_ffi", "mode = 83 : ui8", "f32[70,15,10]",
                       "f32[70,15,10], f32[70,10], f32[70,15,10], f32[70,10,10], s32[70]"));
  expect_parts(program("Qr", "", "f32[90,16,16]", "f32[90,16,16], f32[90,16]"));
}

TEST(BatchedCall, WholeWhereThereIsNothingToCut) {
  for (const char* shape : {"f32[7,9]", "f32[1,7,9]", "f32[2,2,2]", "f32[0,7,9]", "f32[4,0,9]"}) {
    const std::string s = shape, batch = s.substr(4, s.rfind(',') - 4);  // and the rows, the fewer
    auto m = parse_hlo(program("lapack_sgeqrf_ffi", "", s, str_cat(s, ", f32[", batch, "]")));
    ASSERT_TRUE(m.ok()) << m.status();
    EXPECT_EQ(prepare_library(*(*m)->entry()->root()), nullptr) << s;
  }
}

// Small matrices have kernels of their own: LAPACK's pivots and info, and factors close to its.
TEST(BatchedCall, SmallGetrf) {
  struct Type { const char *letter, *name; double tolerance; };
  const double none[] = {INFINITY, NAN};
  for (const Type& t : {Type{"s", "f32", 1e-4}, Type{"d", "f64", 1e-12}})
    for (int64_t n : {1, 2, 3, 4, 7, 16})
      for (int64_t batch : {4, 37}) {
        const std::string size = str_cat("[", batch, ",", n, ",", n, "]");
        auto m = parse_hlo(program(str_cat("lapack_", t.letter, "getrf_ffi"), "", t.name + size,
                                   str_cat(t.name, size, ", s32[", batch, ",", n, "], s32[", batch, "]")));
        ASSERT_TRUE(m.ok()) << m.status();
        std::mt19937_64 rng(static_cast<uint64_t>(n));
        Literal a = random_literal((*m)->entry()->params()[0]->shape, rng);
        for (int64_t i = 0; i < n; ++i) a.set_float((2 * n + i) * n + n / 2, 0);  // matrix 2 has no full rank
        a.set_float(n * n, none[n % 2]);                                       // matrix 1 is not finite
        auto want = evaluate(**m, {a});
        ASSERT_TRUE(want.ok()) << want.status();
        const Literal got = run_native(**m, {a}, 1);
        EXPECT_TRUE(run_native(**m, {a}, 3) == got);
        EXPECT_LE(distance(got.parts()[0], want->parts()[0]), t.tolerance) << t.name << size;
        EXPECT_TRUE(got.parts()[1] == want->parts()[1]) << t.name << size;
        EXPECT_TRUE(got.parts()[2] == want->parts()[2]) << t.name << size;
      }
}

std::string potrf(const char* letter, const std::string& type, const std::string& batch, int64_t n, bool lower) {
  const std::string a = str_cat(type, "[", batch, n, ",", n, "]");
  const std::string info = batch.empty() ? "s32[]" : str_cat("s32[", batch.substr(0, batch.size() - 1), "]");
  return program(str_cat("lapack_", letter, "potrf_ffi"), str_cat("uplo = ", lower ? 76 : 85, " : ui8"), a,
                 str_cat(a, ", ", info));
}

// Close to LAPACK, in all elements and every info; matrix number 1 of each batch has no factor.
TEST(BatchedCall, Potrf) {
  struct Type { const char *letter, *name; double tolerance; };
  for (const Type& t : {Type{"s", "f32", 2e-5}, Type{"d", "f64", 1e-13}, Type{"c", "c64", 2e-5}, Type{"z", "c128", 1e-13}})
    for (bool lower : {true, false})
      for (const char* batch : {"", "5,", "3,2,", "0,"})
        for (int64_t n : {0, 1, 2, 9, 16, 65, 140}) {
          auto m = parse_hlo(potrf(t.letter, t.name, batch, n, lower));
          ASSERT_TRUE(m.ok()) << m.status();
          const Shape s = (*m)->entry()->params()[0]->shape;
          std::mt19937_64 rng(n);
          Literal a = random_literal(s, rng);
          for (int64_t k = 0; k < a.elements(); ++k) {
            const int64_t b = k / (n * n), i = k / n % n, j = k % n;
            if (i != j) continue;
            const double d = b == 1 && i == n / 2 ? -1 : 4.0 * static_cast<double>(n + i);
            is_complex(s.dtype) ? a.set_complex(k, {d, 0}) : a.set_float(k, d);
          }
          auto want = evaluate(**m, {a});
          ASSERT_TRUE(want.ok()) << want.status();
          const Literal got = run_native(**m, {a}, 1);
          EXPECT_TRUE(run_native(**m, {a}, 3) == got);
          EXPECT_LE(distance(got.parts()[0], want->parts()[0]), t.tolerance) << t.name << batch << n << lower;
          EXPECT_TRUE(got.parts()[1] == want->parts()[1]) << t.name << batch << n << lower;
        }
}

// Every form, for one matrix and several, close to LAPACK.
TEST(BatchedCall, Trsm) {
  for (const std::string type : {"f32", "c128"})
    for (const std::string batch : {"", "3,"})
      for (int side : {'L', 'R'})
        for (int uplo : {'L', 'U'})
          for (int trans : {'N', 'T', 'C'})
            for (int diag : {'N', 'U'}) {
              const int64_t n = 19, count = 6;
              const std::string a = str_cat(type, "[", batch, n, ",", n, "]");
              const std::string x = side == 'L' ? str_cat(type, "[", batch, n, ",", count, "]")
                                                : str_cat(type, "[", batch, count, ",", n, "]");
              const std::string text = str_cat(
                  "HloModule t\nENTRY e {\n  a = ", a, " parameter(0)\n  x = ", x, " parameter(1)\n  ROOT r = ", x,
                  " custom-call(a, x), custom_call_target=\"lapack_", type == "f32" ? "s" : "z",
                  "trsm_ffi\", api_version=API_VERSION_TYPED_FFI, backend_config={side = ", side, " : ui8, uplo = ",
                  uplo, " : ui8, trans_x = ", trans, " : ui8, diag = ", diag, " : ui8}\n}\n");
              auto m = parse_hlo(text);
              ASSERT_TRUE(m.ok()) << m.status();
              std::mt19937_64 rng(3);
              Literal triangle = random_literal((*m)->entry()->params()[0]->shape, rng);
              for (int64_t k = 0; k < triangle.elements(); ++k) {
                const double scale = k / n % n == k % n ? 2 : 0.1;  // well conditioned, unit or not
                is_complex(triangle.dtype()) ? triangle.set_complex(k, triangle.get_complex(k) * scale)
                                             : triangle.set_float(k, triangle.get_float(k) * scale);
              }
              const Literal right = random_literal((*m)->entry()->params()[1]->shape, rng);
              expect_native(**m, {triangle, right}, type == "f32" ? 1e-4 : 1e-12, text);
            }
}

}  // namespace
}  // namespace braze
