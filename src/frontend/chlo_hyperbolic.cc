// SPDX-License-Identifier: Apache-2.0
// cosh and sinh of CHLO in the form that programs written for it expect: from exponentials of x ∓ ln 2,
// which do not overflow before the result does. The sum rounds, so large results are a few units of the
// last place off; the ops cosh and sinh of HLO text are not.
#include "frontend/chlo_math.h"

namespace braze::chlo {

namespace {
constexpr double kLogHalf = -0.69314718055994529;
}  // namespace

Num cosh(Num x) {
  return exp(x + kLogHalf) + exp(kLogHalf - x);
}

// Close to 0 the exponentials cancel.
Num sinh(Num x) {
  return select(abs(x) < 1, x.unary(Op::kSinh), exp(x + kLogHalf) - exp(kLogHalf - x));
}

}  // namespace braze::chlo
