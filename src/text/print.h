// SPDX-License-Identifier: Apache-2.0
// Writes a module as HLO text, which parse_hlo (and XLA) read back.
//
// Interface: print_hlo and its options. Instructions are written in creation order where that is
// topological, else operands first. Printing what was parsed and parsing it again changes nothing.
#pragma once

#include <cstdint>
#include <string>

#include "ir/module.h"

namespace braze {

struct PrintOptions {
  bool percent = false;         // %name
  bool operand_shapes = false;  // add(f32[2]{0} %a, …)
  bool signatures = false;      // %comp (p: f32[2]) -> f32[2] {
  bool layouts = true;          // {1,0} of every result
  bool index_comments = true;   // /*index=5*/ in long tuples
  bool metadata = true;
  bool frontend_attributes = true;
  bool canonical_names = false;   // v0, v1 … in order of printing, live code only
  bool digest_constants = false;  // large constants as a hash of their bytes: not readable again
  int64_t max_constant = -1;      // constants of more elements are written as {...}; -1: none

  static PrintOptions short_form() { return {}; }
  // As XLA's HloModule::ToString does by default.
  static PrintOptions long_form() {
    return {.percent = true, .operand_shapes = true, .signatures = true};
  }
  // Independent of names, locations and dead code; for golden texts.
  static PrintOptions canonical() {
    return {.index_comments = false,
            .metadata = false,
            .frontend_attributes = false,
            .canonical_names = true};
  }
  // As canonical, for hashing.
  static PrintOptions for_hash() {
    PrintOptions o = canonical();
    o.digest_constants = true;
    return o;
  }
};

std::string print_hlo(const Module& m, const PrintOptions& options = {});
std::string print_computation(const Computation& c, const PrintOptions& options = {});
// One instruction without its line's indentation and end.
std::string print_instr(const Instr& i, const PrintOptions& options = {});

}  // namespace braze
