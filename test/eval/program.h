// SPDX-License-Identifier: Apache-2.0
// Program: a module of one computation on constants, for known answers.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "eval/evaluator.h"
#include "ops/builder.h"

namespace braze {

struct Program {
  Module module{"test"};
  Builder b{entry()};

  Computation* entry() {
    Computation* c = module.add_computation("main");
    module.set_entry(c);
    return c;
  }
  Instr* ints(DimSpan dims, std::initializer_list<int64_t> v, Dtype t = Dtype::kS64) {
    return b.constant(Literal::of(t, dims, v));
  }
  Instr* floats(DimSpan dims, std::initializer_list<double> v, Dtype t = Dtype::kF32) {
    return b.constant(Literal::of(t, dims, v));
  }
  // 1, 2, 3 … in row-major order.
  Instr* counting(DimSpan dims, Dtype t = Dtype::kS64) {
    Literal l(Shape::array(t, dims));
    for (int64_t i = 0; i < l.elements(); ++i) {
      if (is_float(t)) l.set_float(i, static_cast<double>(i + 1));
      else l.set_int(i, i + 1);
    }
    return b.constant(std::move(l));
  }
  // A computation whose root `make(builder, params)` returns.
  template <typename F>
  Computation* function(absl::Span<const Shape> params, F&& make) {
    Computation* c = module.add_computation("f");
    Builder inner(c);
    for (size_t i = 0; i < params.size(); ++i) inner.parameter(static_cast<int64_t>(i), params[i]);
    c->set_root(make(inner, c->params()));
    EXPECT_TRUE(inner.status().ok()) << inner.status();
    return c;
  }
  Result<Literal> run(Instr* root) {
    if (!b.status().ok()) return b.status();
    module.entry()->set_root(root);
    return evaluate(module, {});
  }
};

inline std::vector<int64_t> int_values(const Result<Literal>& l) {
  std::vector<int64_t> out;
  EXPECT_TRUE(l.ok()) << l.status();
  if (l.ok())
    for (int64_t i = 0; i < l->elements(); ++i) out.push_back(l->get_int(i));
  return out;
}

inline std::vector<double> float_values(const Result<Literal>& l) {
  std::vector<double> out;
  EXPECT_TRUE(l.ok()) << l.status();
  if (l.ok())
    for (int64_t i = 0; i < l->elements(); ++i) out.push_back(l->get_float(i));
  return out;
}

// Equal bits, or, for floats and complex numbers, within `tolerance` relative to the larger
// magnitude (NaN equals NaN).
inline void expect_near(const Literal& a, const Literal& b, double tolerance) {
  ASSERT_EQ(a.parts().size(), b.parts().size());
  for (size_t i = 0; i < a.parts().size(); ++i) expect_near(a.parts()[i], b.parts()[i], tolerance);
  if (a.shape().is_tuple() || a.shape().is_token()) return;
  ASSERT_TRUE(compatible(a.shape(), b.shape()))
      << to_string(a.shape(), false) << " and " << to_string(b.shape(), false);
  auto near = [&](double x, double y) {
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) == std::isnan(y);
    return x == y || std::fabs(x - y) <= tolerance * std::max({std::fabs(x), std::fabs(y), 1.0});
  };
  for (int64_t i = 0; i < a.elements(); ++i) {
    if (is_float(a.dtype())) {
      ASSERT_TRUE(near(a.get_float(i), b.get_float(i)))
          << "element " << i << ": " << a.get_float(i) << " and " << b.get_float(i);
    } else if (is_complex(a.dtype())) {
      const auto x = a.get_complex(i), y = b.get_complex(i);
      ASSERT_TRUE(near(x.real(), y.real()) && near(x.imag(), y.imag())) << "element " << i;
    } else {
      ASSERT_EQ(a.get_int(i), b.get_int(i)) << "element " << i;
    }
  }
}

}  // namespace braze
