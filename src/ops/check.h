// SPDX-License-Identifier: Apache-2.0
// The custom calls of StableHLO's test suite: check.expect_eq and its kin.
//
// Interface: compare_literals, register_check_calls. A check that fails is an error that tells how
// many elements differ and the first of them: index, value, expected value.
#pragma once

#include "base/status.h"
#include "ir/literal.h"

namespace braze {

enum class CheckKind : uint8_t {
  kEqual,   // same values; NaN equals NaN, the zeros equal each other
  kAlmost,  // |a − b| ≤ tolerance
  kClose,   // min_ulp ≤ steps between neighbouring values of the type ≤ max_ulp
};

struct CheckRule {
  CheckKind kind = CheckKind::kEqual;
  // What StableHLO's interpreter allows in the custom calls of these names.
  double tolerance = 1e-3;
  int64_t min_ulp = 0, max_ulp = 3;
  // Lets pass what differs by a few steps at the largest expected value, for kAlmost and kClose.
  bool loose = false;
};

// OK, or what differs.
Status compare_literals(const Literal& got, const Literal& expected, const CheckRule& rule);

// Counts checks that only the loose rule lets pass; strict is the default. For the whole process.
void set_loose_checks(bool loose);

// Adds check.expect_eq, check.expect_almost_eq, check.expect_close, check.eq and interpreter.print
// to the custom calls of the process.
Status register_check_calls();

}  // namespace braze
