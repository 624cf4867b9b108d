// SPDX-License-Identifier: Apache-2.0
// Evaluation of one op on given values, for the tests of the rows.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "ops/builder.h"

namespace braze {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Numbers = std::vector<double>;
using ComplexNumbers = std::vector<std::complex<double>>;

inline Literal floats(Dtype t, const Numbers& v) {
  Literal l(Shape::array(t, {static_cast<int64_t>(v.size())}));
  for (size_t i = 0; i < v.size(); ++i) l.set_float(i, v[i]);
  return l;
}
inline Literal ints(Dtype t, const std::vector<int64_t>& v) {
  Literal l(Shape::array(t, {static_cast<int64_t>(v.size())}));
  for (size_t i = 0; i < v.size(); ++i) l.set_int(i, v[i]);
  return l;
}
inline Literal complexes(Dtype t, const ComplexNumbers& v) {
  Literal l(Shape::array(t, {static_cast<int64_t>(v.size())}));
  for (size_t i = 0; i < v.size(); ++i) l.set_complex(i, v[i]);
  return l;
}

// The root of a computation without calls, row by row.
inline Result<Literal> run_plain(const Computation& c, absl::Span<const Literal> args) {
  std::map<const Instr*, Literal> values;
  for (const Instr* i : post_order(c)) {
    if (i->is(Op::kParameter)) {
      values[i] = args[i->parameter_number()];
      continue;
    }
    std::vector<Literal> operands;
    for (const Instr* o : i->operands) operands.push_back(values[o]);
    ASSIGN(values[i], def(*i).eval({*i, operands, run_plain}));
  }
  return values[c.root()];
}

// The value of `op`, or the error of its inference or evaluation.
inline Result<Literal> run(Op op, const std::vector<Literal>& args, Attrs attrs = NoAttrs{},
                           const Shape* result = nullptr) {
  Module m("one");
  Builder b(m.add_computation("main"));
  std::vector<Instr*> operands;
  for (size_t i = 0; i < args.size(); ++i) operands.push_back(b.parameter(i, args[i].shape()));
  Instr* i = result ? b.op_shaped(op, *result, operands, attrs) : b.op(op, operands, attrs);
  TRY(b.status());
  return def(op).eval({*i, args, run_plain});
}

// As run, of an op that must be legal.
inline Literal value(Op op, const std::vector<Literal>& args, Attrs attrs = NoAttrs{},
                     const Shape* result = nullptr) {
  auto r = run(op, args, attrs, result);
  EXPECT_TRUE(r.ok()) << name(op) << ": " << r.status();
  return r.ok() ? *r : Literal();
}

// Expects an error whose text contains `part`.
inline void expect_error(const Result<Literal>& r, std::string_view part) {
  ASSERT_FALSE(r.ok()) << "no error; expected: " << part;
  const std::string message(r.status().message());
  EXPECT_NE(message.find(part), std::string::npos) << message << "\nexpected: " << part;
}

// Equal numbers, where NaN equals NaN and zeros have their sign.
inline void expect_floats(const Literal& l, const Numbers& want) {
  ASSERT_EQ(l.elements(), static_cast<int64_t>(want.size()));
  for (size_t i = 0; i < want.size(); ++i) {
    const double got = l.get_float(i);
    EXPECT_TRUE(got == want[i] || (std::isnan(got) && std::isnan(want[i])))
        << "at " << i << ": " << got << ", not " << want[i];
    EXPECT_TRUE(want[i] != 0 || std::signbit(got) == std::signbit(want[i])) << "at " << i;
  }
}
inline void expect_ints(const Literal& l, const std::vector<int64_t>& want) {
  ASSERT_EQ(l.elements(), static_cast<int64_t>(want.size()));
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(l.get_int(i), want[i]) << "at " << i;
}
// Complex numbers within a distance relative to their magnitude.
inline void expect_near(const Literal& l, const ComplexNumbers& want, double tolerance) {
  ASSERT_EQ(l.elements(), static_cast<int64_t>(want.size()));
  for (size_t i = 0; i < want.size(); ++i) {
    const std::complex<double> got = l.get_complex(i);
    EXPECT_LE(std::abs(got - want[i]), tolerance * std::abs(want[i]))
        << "at " << i << ": " << got << " for " << want[i];
  }
}

}  // namespace braze
