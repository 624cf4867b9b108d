// SPDX-License-Identifier: Apache-2.0
// Remainders of floats are exact: what fmod gives, bit for bit, at every size of the quotient.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "backend/compile.h"
#include "text/parse.h"

namespace braze {
namespace {

TEST(Remainder, IsExact) {
  constexpr int64_t kCount = 4096;
  const double special[] = {0.0, -0.0, 1, -1, 0.7, 3, 1e30, -1e-30, 5e-324, 1e-45, INFINITY, -INFINITY, NAN};
  for (Dtype t : {Dtype::kF32, Dtype::kF64, Dtype::kF16, Dtype::kBF16}) {
    const std::string type = std::string(name(t)) + "[" + std::to_string(kCount) + "]";
    auto m = parse_hlo("HloModule r\nENTRY e { x = " + type + " parameter(0)\n y = " + type + " parameter(1)\n ROOT r = " + type +
                       " remainder(x, y) }");
    ASSERT_TRUE(m.ok()) << m.status();
    const Shape s = (*m)->entry()->params()[0]->shape;
    auto exe = compile(std::move(*m));
    ASSERT_TRUE(exe.ok()) << exe.status();
    std::mt19937_64 rng(1);
    std::normal_distribution<double> normal;
    Literal x(s), y(s);
    for (int64_t i = 0; i < kCount; ++i) {
      const double divisor = normal(rng) * std::exp2(static_cast<double>(rng() % 16));
      y.set_float(i, divisor);
      switch (rng() % 4) {
        case 0: x.set_float(i, normal(rng) * std::exp2(static_cast<double>(rng() % 60) - 20)); break;
        case 1: x.set_float(i, y.get_float(i) * static_cast<double>(rng() % 5000)); break;  // almost a multiple
        case 2: x.set_float(i, std::nextafter(y.get_float(i) * static_cast<double>(rng() % 99), 0)); break;
        default: x.set_float(i, special[rng() % std::size(special)]), y.set_float(i, special[rng() % std::size(special)]);
      }
    }
    auto got = (*exe)->run({x, y});
    ASSERT_TRUE(got.ok()) << got.status();
    for (int64_t i = 0; i < kCount; ++i) {
      const double want = std::fmod(x.get_float(i), y.get_float(i)), r = got->get_float(i);
      EXPECT_TRUE(std::isnan(want) ? std::isnan(r) : want == r && std::signbit(want) == std::signbit(r))
          << type << " " << x.get_float(i) << " " << y.get_float(i) << ": " << r << ", not " << want;
    }
  }
}

}  // namespace
}  // namespace braze
