// SPDX-License-Identifier: Apache-2.0
// How far two values are apart, for people and for verdicts.
#pragma once

#include <string>

#include "ir/literal.h"

namespace braze {

struct Difference {
  double max_abs = 0, max_rel = 0;   // over finite pairs; rel to the larger magnitude of the expected array
  int64_t max_ulp = 0;               // of real floats
  int64_t differing = 0, elements = 0;
  int64_t nonfinite_mismatch = 0;    // NaN or infinity on one side only
  std::string first;                 // "at [1,2]: 3 instead of 4"
};
// Values of one shape; tuples are compared leaf by leaf into one summary.
Difference difference(const Literal& got, const Literal& expected);
std::string to_string(const Difference& d);

// Agreement of two engines: integers equal; floats within rtol·|e| + atol·max|e|.
struct Tolerance {
  double rtol = 1e-5, atol_rel = 1e-5;
  double mismatch_ok = 0;            // share of integers that may differ
};
Tolerance default_tolerance(Dtype t);
bool close(const Literal& got, const Literal& expected, const Tolerance& t, std::string* why);
// close, each array by the tolerance of its own type.
bool close_by_type(const Literal& got, const Literal& expected, std::string* why);

}  // namespace braze
