// SPDX-License-Identifier: Apache-2.0
// What GEMM and convolution kernels share: the hooks by which a caller fuses its own code into
// them, and the description of the generated functions.
//
// A generated function is `void f(char** buffers, int64_t begin, int64_t end, char* scratch)`: it
// computes work items [begin, end) of the phase. Any split of [0, items) over any number of threads
// gives the same bits: items are disjoint in what they write, and the order of the additions for
// one output element depends on the shapes alone. `scratch` is private to the call, 64-byte
// aligned. Buffers are aligned as their elements are, no more.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace braze::codegen {

// What an epilogue has emitted for all rows of one vector of columns.
class EpilogueColumn {
 public:
  virtual ~EpilogueColumn() = default;
};

// Values handed to a hook. `index` are i64 coordinates: of the output for an epilogue, of the
// operand for a load. The lanes of the vector run along coordinate `lane_axis`, which is given for
// lane 0; the others hold for all lanes.
struct HookArgs {
  llvm::Value* acc = nullptr;      // epilogue: <lanes x acc type>; null for a load
  llvm::Value* buffers = nullptr;  // char**: the first argument of the kernel
  std::vector<llvm::Value*> index;
  int lane_axis = 0;
  int lanes = 1;
  llvm::Value* mask = nullptr;  // <lanes x i1>; null: every lane is valid
  EpilogueColumn* column = nullptr;  // epilogue: made by the column hook for these columns, or null
  std::vector<llvm::Value*> table;  // column hook: what the table hook gave for these columns, or nothing
};

// Epilogue: returns the value to store, <lanes x T> with T the LLVM type of `out` (or of `acc`: it
// is then converted), or null if the hook has done all stores itself. Lanes that the mask disables
// must not touch memory. Hooks may be called more than once (a copy per place of use).
using EpilogueHook = std::function<llvm::Value*(llvm::IRBuilderBase&, const HookArgs&)>;
// Emits what the epilogues of several rows of these columns have in common, where it dominates them. Coordinates that
// differ from row to row are null, as is `acc`.
using ColumnHook = std::function<std::unique_ptr<EpilogueColumn>(llvm::IRBuilderBase&, const HookArgs&)>;
// Emits values that depend on the column alone and are costly, a vector each: computed once for many rows. They have
// the type of `acc`.
using TableHook = std::function<std::vector<llvm::Value*>(llvm::IRBuilderBase&, const HookArgs&)>;
// Load: replaces the load of an operand (convert, dequantise, normalise); returns <lanes x acc
// type>. The operand is then packed, so that each element is loaded once per pass over it.
using LoadHook = std::function<llvm::Value*(llvm::IRBuilderBase&, const HookArgs&)>;
// Called at the entry of every function in which hooks will be called: loads pointers, scalars.
using EntryHook = std::function<void(llvm::IRBuilderBase&, llvm::Value* buffers)>;

struct ContractionHooks {
  EpilogueHook epilogue;
  ColumnHook column;  // may be null
  TableHook table;    // may be null
  int tables = 0;     // how many values it gives
  bool epilogue_of_sum = false;  // it returns a value that depends on `acc` alone, and stores nothing
  // Buffers that the epilogue reads at the output's own place, in elements of the output's size: asked for while
  // earlier sums are made.
  std::vector<int> read_in_place;
  LoadHook lhs, rhs;
  EntryHook entry;
};

// One generated function, to be run over [0, items) before the next phase starts.
struct ContractionPhase {
  std::string function;
  int64_t items = 0;
  int64_t grain = 1;  // fewest items worth giving to one thread (about 20k cycles of work)
  double flops = 0;   // of the whole phase
};

struct ContractionPlan {
  std::vector<ContractionPhase> phases;
  int64_t scratch_bytes = 0;  // per concurrent call
  int64_t workspace_bytes =
      0;  // shared by all calls and phases: buffers[workspace_buffer]; may be 0
};

}  // namespace braze::codegen
