// SPDX-License-Identifier: Apache-2.0
#include "pjrt/host_pattern.h"

#include <algorithm>
#include <chrono>

namespace braze::pjrt {
namespace {

constexpr int64_t kAtOnceNs = 200'000;  // what a host's own code takes between the two
constexpr int32_t kLate = 8;            // a wait that comes later takes back so many; few of them may be an interruption

int64_t now_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The last call that this thread started and has not waited for.
struct Last {
  std::shared_ptr<HostPattern> pattern;
  int64_t returned_ns = 0;
};
thread_local Last t_last;

}  // namespace

void HostPattern::note(int32_t change) {
  waits_.store(std::clamp(waits_.load(std::memory_order_relaxed) + change, 0, kMost), std::memory_order_relaxed);
}

void HostPattern::starts() {
  if (!t_last.pattern) return;
  t_last.pattern->note(-kMost);
  t_last.pattern = nullptr;
}

void HostPattern::returns(std::shared_ptr<HostPattern> pattern) { t_last = {std::move(pattern), now_ns()}; }

void HostPattern::waits() {
  if (!t_last.pattern) return;
  t_last.pattern->note(now_ns() - t_last.returned_ns < kAtOnceNs ? 1 : -kLate);
  t_last.pattern = nullptr;
}

}  // namespace braze::pjrt
