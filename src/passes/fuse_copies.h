// SPDX-License-Identifier: Apache-2.0
// How often a kernel would compute an instruction for one element of its result: once for each
// position it is asked for. A chain whose links read their operand at several positions doubles (or
// quadruples) at each link, and must be cut:
//
//   b = pad(slice(a)) + pad(slice'(a)),  c = pad(slice(b)) + pad(slice'(b)), …
//
// Where an array is first asked for at several positions, what lies behind is worth as many computations
// only if it is a few steps: else it is cheaper through memory (a stencil of a stencil of a stencil).
//
// Values interleaved from arrays padded between their elements are cheap for a kernel whose loop makes
// neighbours together (loop/lower_loop), but once only: behind one such pad, positions are no longer
// regular, so what is interleaved there is computed in a kernel of its own.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/module.h"
#include "passes/fuse_groups.h"

namespace braze::fusion {

// Steps to compute an element of `i` from arrays in memory or those that are read in parts, should all that may
// share its kernel do so. An expensive operation counts as ten.
int64_t steps_behind(const Instr* i);

class Copies {
 public:
  // `i` begins a group: asked for at one position.
  void start(const Instr* i);
  // Notes that `i` joins the group of its users, which have all been noted; false, and not noted, if
  // it would be computed too often.
  bool join(const Instr* i);
  // Notes an instruction whose operands have been noted: call for all before the first join.
  void note(const Instr* i);
  // Is `i`, which has been noted by start() or join(), asked for at one position of its group's kernel?
  bool once(const Instr* i) const;
  // Would one kernel for both groups compute the first one's values again where the second reads them at other
  // positions, in more than a few steps?
  static bool repeats(const Group& made, const Group& reader);

 private:
  // Where something is computed, and for how many elements: what costs time. Values that are broadcast or read by a
  // reduction of rows are computed once for their row, so the place is the same.
  using Places = std::vector<std::pair<uint64_t, int64_t>>;
  struct Asked {
    std::vector<uint64_t> at;  // stand-ins for all positions asked for, sorted: they bound the kernel's size
    Places places;             // sorted
    double accepted = 1;       // computations of an element that were found to pay
  };

  static void add_places(const Instr* u, const Instr* i, const Places& asked, Places* all);
  bool behind_gaps(const Instr* i) const;

  absl::flat_hash_map<const Instr*, Asked> asked_;
  absl::flat_hash_set<const Instr*> interleaved_;  // elementwise of arrays padded between elements
  absl::flat_hash_set<const Instr*> behind_gaps_;  // members read through such a pad
};

}  // namespace braze::fusion
