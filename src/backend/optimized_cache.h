// SPDX-License-Identifier: Apache-2.0
// Modules after the passes, kept in the cache on disk beside the code: a program met before is neither
// optimized nor compiled again. Only for the standard pipeline: what is to be watched or changed while it
// runs (dumps, checks, fuel, chosen passes) runs.
#pragma once

#include <memory>
#include <vector>

#include "backend/compile.h"
#include "backend/debug_session.h"
#include "base/disk_cache.h"
#include "codegen/target.h"
#include "ir/module.h"

namespace braze {

class OptimizedCache {
 public:
  // Of module `m`, which was not optimized yet. `session` may be null.
  OptimizedCache(const Module& m, const CompileOptions& options, const codegen::Target& target, DebugSession* session);

  // The module after the passes; null if it is not there.
  std::unique_ptr<Module> find();
  // Keeps the module after the passes, if it is not too large.
  void keep(const Module& optimized);
  bool active() const { return disk_ != nullptr; }

 private:
  void note(std::string_view line);

  DiskCache* disk_ = nullptr;
  DebugSession* session_;
  std::vector<Literal> constants_;  // large ones of the module before the passes, which stay out of the files
  Hash128 key_;
};

}  // namespace braze
