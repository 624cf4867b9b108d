// SPDX-License-Identifier: Apache-2.0
// What must hold of any module: texts and protos read back as they were printed, both engines give one
// answer, the same bits at any number of threads.
#pragma once

#include <string>

#include "test/fuzz/random_module.h"

namespace braze::fuzz {

enum class Verdict : uint8_t {
  kOk,
  kNoisy,       // agrees within what roundings explain
  kUnknown,     // the reference gives up (too long, or an error of the program)
  kDisagree,    // engines differ, or threads
  kRefused,     // the cpu engine does not run what the reference runs
  kText,        // print∘parse is not the identity, or the verifier refuses the module
  kCrash,       // by is_failing's child only
  kHang,
};
std::string_view name(Verdict v);
inline bool is_bad(Verdict v) { return v >= Verdict::kDisagree; }

struct Finding {
  Verdict verdict = Verdict::kOk;
  std::string text;
};

Finding check(const Case& c, uint64_t seed);

// Ends this process by a signal after so many seconds of processor time (a loop without end), or many
// times as long by the clock (a deadlock): a busy machine alone makes neither. Not inherited by forks.
void limit_time(int cpu_seconds);
// What limit_time's signals mean; empty: it is none of them.
std::string_view time_limit_text(int signal);

// check in a child process, so that crashes and hangs are findings too. The caller must have no threads.
Finding check_in_child(const Case& c, uint64_t seed, int cpu_seconds = 30);

// The smallest case found that fails in the same way.
Case shrink(Case c, const Finding& finding, uint64_t seed, int attempts = 600);

}  // namespace braze::fuzz
