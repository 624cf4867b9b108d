// SPDX-License-Identifier: Apache-2.0
// What BRAZE_DEBUG and XLA_FLAGS ask of one compilation: files in the dump folder and texts for the
// debug output. The one place for it, so that every host (tool, C++ API, plugins) has it.
//
// Files are named as XLA names them: module_0007.NAME.before_optimizations.txt,
// module_0007.NAME.0002.cpu.after_cleanup.before_fuse.txt, …cpu_after_optimizations.txt and
// …cpu_after_optimizations-buffer-assignment.txt, ….ir-no-opt.ll, ….ir-with-opt.ll, ….o, ….s, and
// ….input.EXT with the program as it was read. A file that cannot be written is reported to the
// debug output and never fails the compilation.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "backend/compile.h"
#include "base/debug.h"
#include "base/fuel.h"
#include "codegen/target.h"
#include "ir/module.h"

namespace braze {

// Keeps the bytes a module was read from until it is compiled; does nothing unless dumps are on.
void remember_source(const Module& m, std::string_view bytes);
// The same bytes for a copy of the module.
void remember_copy(const Module& from, const Module& copy);

class DebugSession {
 public:
  // Null if nothing is asked for.
  static std::shared_ptr<DebugSession> start(const Module& m, const Debug& d);

  void before_pass(std::string_view pass, const Module& m);
  void after_pass(std::string_view pass, std::string_view next, const Module& m, bool changed);
  void optimized(const Module& m);
  void compiled(const Plan& p, const codegen::Target& target, const CompileStats& s);
  // A whole line for the debug output, at level 1 and above.
  void note(std::string_view line);
  FuelScope::Fired fired();
  // Writes ….snapshot.N.pb: the program, one run's arguments and its result.
  bool wants_snapshots() const;
  void snapshot(absl::Span<const Literal> args, const Literal& result);

 private:
  DebugSession(const Debug& d) : d_(d) {}
  void write(std::string_view suffix, std::string_view bytes);
  void write_module(std::string_view stage, const Module& m);
  void say(int64_t level, std::string_view text);
  void show_kernels(const Plan& p, const codegen::Target& target);
  void write_code(const Plan& p, const codegen::Target& target);

  Debug d_;
  std::string prefix_;  // DIR/module_0007.NAME; empty: no dumps of this module
  std::string name_;
  std::unique_ptr<Module> original_;  // for snapshots
  int64_t pass_number_ = 0;
  bool dump_failed_ = false;
  std::atomic<int64_t> snapshots_{0};  // runs may come from several threads
};

}  // namespace braze
