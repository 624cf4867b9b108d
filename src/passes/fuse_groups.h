// SPDX-License-Identifier: Apache-2.0
// Groups of instructions that will be one kernel each, while the fuse pass forms them.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/module.h"

namespace braze::fusion {

// A reduction whose terms are summed in a loop, not unrolled as a step of its reader.
bool is_big_reduce(const Instr& i);

struct Group {
  std::vector<Instr*> members;  // consumers first
  std::vector<Instr*> roots;    // what others read, each a kernel output
  bool heavy = false;           // holds a contraction, reduction, update or window
};

struct Groups {
  std::vector<Group> list;                         // merged-away groups are empty
  absl::flat_hash_map<const Instr*, int> of;       // instruction → its group
  absl::flat_hash_map<const Instr*, int64_t> position;  // in post order
  absl::flat_hash_set<const Instr*> copied;        // in no group: made again in each that reads them
};

// Merges groups that read each other's or the same values into kernels with several outputs:
//
//   m = f(g, m0); p = p0 - h(m)    two kernels, m written and read again
//     => (m, p) = one kernel       (an optimizer's update)
//   sum(x), sum(x * x)             two passes over x => one
//   y = f(x, sum(x, rows)), sum(y, columns)   x read, y written and read again => one pass
//
// and then moves what only one of them reads any more into it, where it walks rows.
//
// `has_kernel` tells if the merged group still has one kernel, `follows` if the first group, of one root, may
// be computed where the second reads it; `max_group` bounds a group's size.
void merge_outputs(Groups& groups, int64_t max_group,
                   const std::function<bool(const Group&)>& has_kernel,
                   const std::function<bool(const Group&, const Group&)>& follows,
                   const std::function<void(const Instr&, const Instr&, std::string_view)>& trace);

// Merges a product, the rows made of its output and the product that reads them:
//
//   s = dot(q, k); p = softmax(s); o = dot(p, v)    s and p written and read again
//     => o = one kernel                             (attention)
void merge_chains(Groups& groups, int64_t max_group, const std::function<bool(const Group&)>& has_kernel,
                  const std::function<void(const Instr&, const Instr&, std::string_view)>& trace);

}  // namespace braze::fusion
