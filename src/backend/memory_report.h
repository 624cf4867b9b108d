// SPDX-License-Identifier: Apache-2.0
// A plan's memory as text: every buffer with its place, who writes it and between which steps it lives.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace braze {

// Steps are numbered in the order of the text of the plan, nested ones included.
struct BufferLife {
  int64_t first = -1, last = -1;  // first write and last access; -1: never used
  const Instr* writer = nullptr;  // of the first write
};
std::vector<BufferLife> buffer_lives(const Plan& p);

// Bytes of the arena that are live at the fullest step, and that step.
struct Peak {
  int64_t bytes = 0, step = 0;
};
Peak arena_peak(const Plan& p);

std::string memory_report(const Plan& p);

}  // namespace braze
