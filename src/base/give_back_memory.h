// SPDX-License-Identifier: Apache-2.0
// Gives free memory back to the system. A compilation takes and frees tens of MiB in small pieces on several
// threads; what is free between pieces in use stays with the process, and grows for as long as programs are
// compiled, though what is in use does not.
//
// Interface: Compiling, on the stack of a compilation.
#pragma once

namespace braze {

class Compiling {
 public:
  Compiling();
  // When no other compilation runs, after some have run, and rarely enough to take under 1 % of the time.
  ~Compiling();
  Compiling(const Compiling&) = delete;
  Compiling& operator=(const Compiling&) = delete;
};

}  // namespace braze
