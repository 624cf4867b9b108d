// SPDX-License-Identifier: Apache-2.0
// Products of complex matrices, large ones as products of real ones.
#include "plan/plan.h"
#include "test/backend/agree.h"

namespace braze {
namespace {

std::string product(const std::string& type, int64_t m, int64_t k, int64_t n) {
  const std::string part = type == "c64" ? "f32" : "f64";
  std::string text = "HloModule t\nENTRY e {\n";
  int64_t number = 0;
  for (const auto& [name, rows] : {std::pair("a", m), std::pair("b", n)}) {
    const std::string dims = str_cat("[2,", rows, ",", k, "]");
    for (const char* half : {"r", "i"})
      text += str_cat("  ", name, half, " = ", part, dims, " parameter(", number++, ")\n");
    text += str_cat("  ", name, " = ", type, dims, " complex(", name, "r, ", name, "i)\n  ", name, "2 = ", type, dims, " multiply(", name,
                    ", ", name, ")\n");
  }
  const std::string dims = str_cat("[2,", m, ",", n, "]");
  return text + str_cat("  d = ", type, dims, " dot(a2, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
                        "rhs_contracting_dims={2}\n  s = ", part, dims, " real(d)\n  t = ", part, dims, " imag(d)\n  ROOT r = (",
                        part, dims, ", ", part, dims, ") tuple(s, t)\n}\n");
}

TEST(ComplexProduct, AgreesWithTheEvaluator) {
  for (const char* type : {"c64", "c128"})
    for (int64_t m : {1, 8, 33})
      for (int64_t n : {3, 8, 50})
        for (int64_t k : {1, 8, 70}) agree(product(type, m, k, n), std::string(type) == "c64" ? 2e-5 : 1e-13);
}

TEST(ComplexProduct, LargeOnesAreRealProducts) {
  auto exe = agree(product("c64", 64, 64, 64), 2e-5);
  ASSERT_NE(exe, nullptr);
  int64_t products = 0;
  for (const PlanStep& s : exe->plan()->steps)
    products += s.kind == PlanStep::Kind::kKernel && exe->plan()->kernels[s.kernel]->contraction != nullptr;
  EXPECT_EQ(products, 4);
}

}  // namespace
}  // namespace braze
