// SPDX-License-Identifier: Apache-2.0
// How often a kernel would compute an instruction for one element of its result: once for each
// position it is asked for. A chain whose links read their operand at several positions doubles (or
// quadruples) at each link, and must be cut:
//
//   b = pad(slice(a)) + pad(slice'(a)),  c = pad(slice(b)) + pad(slice'(b)), …
//
// Values interleaved from arrays padded between their elements are cheap for a kernel whose loop makes
// neighbours together (loop/lower_loop), but once only: behind one such pad, positions are no longer
// regular, so what is interleaved there is computed in a kernel of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/module.h"

namespace braze::fusion {

class Copies {
 public:
  // `i` begins a group: asked for at one position.
  void start(const Instr* i) { positions_[i] = {0}; }
  // Notes that `i` joins the group of its users, which have all been noted; false, and not noted, if
  // it would be computed too often.
  bool join(const Instr* i);
  // Notes an instruction whose operands have been noted: call for all before the first join.
  void note(const Instr* i);
  // Is `i`, which has been noted by start() or join(), asked for at one position of its group's kernel?
  bool once(const Instr* i) const;

 private:
  bool behind_gaps(const Instr* i) const;

  // Stand-ins for the positions at which an instruction is asked for, sorted.
  absl::flat_hash_map<const Instr*, std::vector<uint64_t>> positions_;
  absl::flat_hash_set<const Instr*> interleaved_;  // elementwise of arrays padded between elements
  absl::flat_hash_set<const Instr*> behind_gaps_;  // members read through such a pad
};

}  // namespace braze::fusion
