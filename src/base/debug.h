// SPDX-License-Identifier: Apache-2.0
// The debug knobs: BRAZE_DEBUG and the flags of XLA_FLAGS that users know.
//
// BRAZE_DEBUG is a comma list: a number is the level of the ladder below, the rest are the rows of
// debug_knobs(): "3,dump=/tmp/d,pass=fuse,check,verify=2,fuel=137". XLA_FLAGS is a list of --xla_…
// flags separated by white space. What is not known is collected in `unknown`, to be reported once
// by whoever may print; nothing here prints or fails.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace braze {

// Each level adds to those below it.
enum DebugLevel : int64_t {
  kDebugOff = 0,
  kDebugPhases = 1,   // phases and times
  kDebugKernels = 2,  // kernels with cost and share of the roofline
  kDebugModules = 3,  // the module after each pass that changed it
  kDebugKernelIr = 4,
  kDebugCode = 5,   // LLVM IR and assembly
  kDebugRules = 6,  // every rule that fires
};

struct Debug {
  int64_t level = 0;
  std::string dump_dir;  // where dumps go; empty: none
  std::string log;       // file for debug texts; empty: standard error
  std::string pass;      // only passes whose name this matches
  std::string module;    // only modules whose name this matches
  bool check = false;    // evaluate before and after each pass and compare
  int64_t verify = 1;    // 0 never, 1 after the pipeline, 2 after each pass
  int64_t fuel = -1;     // rewrites that may fire in all; -1: no limit
  bool dump_text = false, dump_proto = false, dump_dot = false, dump_html = false;
  bool dump_snapshots = false;       // each run's arguments and result
  bool large_constants = true;       // false: constants over ten elements are written as {...}
  int64_t max_modules = -1;          // modules to dump; -1: all
  std::string disabled_passes;       // comma list
  bool disable_all_passes = false;
  int64_t threads = 0;       // of the process's pool; 0: one per core it may use
  std::string target;        // code for this level instead of the host's
  int64_t host_devices = 0;  // CPU devices to present; 0: as many as the plug-in's own options say
  std::vector<std::string> unknown;

  // Anything to do for a compilation?
  bool active() const { return dumps() || level > 0 || check || verify > 1 || fuel >= 0; }
  bool dumps() const { return !dump_dir.empty(); }
  bool dumps_module(std::string_view name) const;
  bool dumps_pass(std::string_view name) const;
};

// What was not understood, as a sentence for the user: once per process, then "".
std::string ignored_flags_note();

Debug parse_debug(std::string_view braze_debug, std::string_view xla_flags);
// From the environment, read once. XLA_FLAGS may be the name of a file that holds the flags.
const Debug& debug();

// A row of the table, for the documentation.
struct DebugKnob {
  std::string_view name;   // "verify" or "--xla_dump_to"
  std::string_view value;  // "", "N", "DIR", "REGEX"
  std::string_view doc;
};
std::vector<DebugKnob> debug_knobs();

// POSIX extended regular expressions, searched for anywhere in `text`. A pattern that is none
// matches as plain text.
bool regex_matches(std::string_view pattern, std::string_view text);

}  // namespace braze
