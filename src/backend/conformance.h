// SPDX-License-Identifier: Apache-2.0
// Runs StableHLO's own tests: programs that check their results with check.* ops, some on a grid of
// processes (interpreter.run_parallel).
//
// Interface: run_conformance_file, GridWorld. A file may hold several modules, parted by `//
// -----`; of each module @main is run, or all functions without arguments where there is no @main.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "ir/module.h"
#include "ops/op_def.h"

namespace braze {

// Runs a module that takes no arguments.
using Engine = std::function<Result<Literal>(std::unique_ptr<Module>)>;
// The reference evaluator.
Engine evaluator_engine();

struct ConformanceResult {
  std::string program;  // "file@function" or "file#2@function"
  enum Kind : uint8_t {
    kPassed,
    kLoosely /* within a few steps of the largest value only */,
    kDisabled /* the same, where the suite itself does not run the program */,
    kFailed,
    kReadOnly /* takes arguments: read and checked only */
  } kind = kPassed;
  std::string error;
};

std::vector<ConformanceResult> run_conformance_file(const std::string& path, const Engine& engine);

// One process of a grid whose processes exchange values in this address space, each on its own
// thread.
class Grid;
std::shared_ptr<Grid> make_grid(int64_t replicas, int64_t partitions, std::vector<Literal> feed);
std::unique_ptr<World> grid_world(std::shared_ptr<Grid> grid, int64_t replica, int64_t partition);

// Adds check.* and interpreter.* to the custom calls of the process.
Status register_conformance_calls();

}  // namespace braze
