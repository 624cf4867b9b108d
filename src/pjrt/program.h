// SPDX-License-Identifier: Apache-2.0
// Program: a compiled program as the plugin runs it, on one logical device or on several at once.
//
// A call names, per logical device (replica-major), one pointer per argument leaf and per result leaf,
// row-major. How a program spreads over devices is behind run(): SingleProgram runs the compiler's
// Executable; a partitioned one takes the same shards.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "backend/compile.h"
#include "pjrt/compile_options.h"
#include "pjrt/ffi.h"

namespace braze::pjrt {

struct Shard {
  absl::Span<const void* const> arguments;
  absl::Span<void* const> results;
  Dims* result_dims = nullptr;  // per result; a run sets those of results whose size it decides
  int device = 0;  // id, for callees that ask
};

// A result that may take an argument's memory.
struct Donation {
  int64_t argument = 0;
  int64_t result = -1;  // -1: any, or none
  bool in_place = false;  // the result may be computed where the argument lies
};

// What holds of a program, of one shard's point of view.
struct ProgramFacts {
  std::string name;
  std::vector<Shape> arguments, results;  // leaves; with the layouts that the program states
  std::vector<Donation> donations;
  std::vector<std::string> argument_memory_kinds, result_memory_kinds;
  std::vector<std::string> argument_shardings, result_shardings;  // OpSharding protos; may be empty
  std::string fingerprint;
  bool has_loops = false;   // so that `work` bounds nothing
  bool sized_by_run = false;  // results have bounded dimensions; a result's bytes are those it fills
  double flops = 0, bytes = 0, transcendentals = 0;
  int64_t temporary_bytes = 0, code_bytes = 0;
};

class Program {
 public:
  virtual ~Program() = default;
  const ProgramFacts& facts() const { return facts_; }
  // All logical devices of one call. The caller's thread may be used; returns when all are done.
  virtual Status run(absl::Span<const Shard> shards) = 0;
  // The optimised module as HloModuleProto.
  virtual Result<std::string> module_proto() const = 0;
  // The compiled code, for compile_program in another process.
  virtual std::string code_image() const = 0;
  ffi::States& states() { return states_; }

 protected:
  ProgramFacts facts_;

 private:
  ffi::States states_;
};

// `code`: any form that read_module knows. `image`: code_image of the same program, or empty; what does
// not fit this build and machine is compiled anew.
Result<std::unique_ptr<Program>> compile_program(std::string_view code, const ProgramOptions& options,
                                                 std::string_view image = {});

}  // namespace braze::pjrt
