// SPDX-License-Identifier: Apache-2.0
// Compile an HLO text on cpu, run it on made-up arguments, compare with the evaluator.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "backend/compile.h"
#include "eval/evaluator.h"
#include "text/parse.h"

namespace braze {

inline Literal ramp(const Shape& s, double scale, double shift) {
  Literal l(s);
  for (int64_t i = 0; i < l.elements(); ++i) {
    if (is_float(s.dtype)) l.set_float(i, shift + scale * static_cast<double>(i % 97));
    else l.set_int(i, i % 5);
  }
  return l;
}

inline void expect_close(const Literal& got, const Literal& want, double tolerance) {
  if (got.shape().is_tuple()) {
    ASSERT_EQ(got.parts().size(), want.parts().size());
    for (size_t k = 0; k < got.parts().size(); ++k) expect_close(got.parts()[k], want.parts()[k], tolerance);
    return;
  }
  ASSERT_EQ(got.elements(), want.elements());
  for (int64_t i = 0; i < got.elements(); ++i) {
    double w = want.get_float(i), g = got.get_float(i);
    if (std::isnan(w)) EXPECT_TRUE(std::isnan(g)) << i;
    else EXPECT_NEAR(g, w, tolerance * (1 + std::abs(w))) << i;
  }
}

// The executable, or null after a failed expectation.
inline std::unique_ptr<Executable> agree(std::string_view text, double tolerance = 1e-6) {
  auto m = parse_hlo(text);
  EXPECT_TRUE(m.ok()) << m.status();
  if (!m.ok()) return nullptr;
  std::unique_ptr<Module> reference = (*m)->clone();
  auto exe = compile(std::move(*m));
  EXPECT_TRUE(exe.ok()) << exe.status();
  if (!exe.ok()) return nullptr;
  std::vector<Literal> args;
  for (size_t k = 0; k < (*exe)->parameters().size(); ++k)
    args.push_back(ramp((*exe)->parameters()[k], 0.013 * static_cast<double>(k + 1), -0.5));
  auto want = evaluate(*reference, args);
  EXPECT_TRUE(want.ok()) << want.status();
  for (int run = 0; run < 2; ++run) {  // a second run must not see the first one's memory
    auto got = (*exe)->run(args);
    EXPECT_TRUE(got.ok()) << got.status();
    if (!got.ok() || !want.ok()) return nullptr;
    expect_close(*got, *want, tolerance);
  }
  return std::move(*exe);
}

}  // namespace braze
