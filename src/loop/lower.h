// SPDX-License-Identifier: Apache-2.0
// lower: a fused computation → a scheduled Kernel.
//
// The computation's parameters become the kernel's input buffers in order, the elements of its root
// tuple (or its root) the output buffers after them. One file per kind of kernel:
//   lower_loop.cc         elementwise and movement, one or more outputs over one iteration space
//   lower_pieces.cc       the same, rows put together from pieces
//   lower_transpose.cc    the same, of arrays read along another dimension than written, in tiles
//   lower_reduce.cc       reductions and row programs (softmax, normalisations)
//   lower_reduce_down.cc  row programs that also reduce down their columns (gradients of normalisations)
//   lower_contraction.cc  dot and convolution with an epilogue
//   lower_chain.cc        dot, row program, dot (attention) on tiles of rows
//   lower_update.cc       dynamic-update-slice and scatter, in place
//   lower_window.cc       reduce-window
//   lower_scan.cc         running sums and the like
//   lower_select.cc       select-and-scatter
// An error means: no such kernel exists; the caller splits the fusion or falls back.
#pragma once

#include <functional>
#include <string_view>

#include "base/status.h"
#include "ir/module.h"
#include "loop/elements.h"
#include "loop/kernel.h"
#include "ops/window_math.h"

namespace braze::loop {

// What schedules read of the target.
struct Facts {
  int vector_bits = 512;
  int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20, l3_bytes = 16 << 20;
  // Whether there is a generated kernel for a contraction; absent: for all. Others become plain loops.
  std::function<bool(const Contraction&)> can_contract;
  // Only whether there is a kernel is asked: the first will do, not the best.
  bool trial = false;
  int lanes(int bytes) const { return vector_bits / 8 / bytes; }
};

Result<Kernel> lower(const Computation& fused, std::string_view name, const Facts& facts);

// The instructions whose values the computation returns.
std::vector<const Instr*> outputs(const Computation& fused);

// What decides the kind of kernel: the contraction, reduction, update or window op, or null.
const Instr* hero(const Computation& fused);

// Operand whose memory the output `k` must start as (kInOut), or -1.
int64_t inout_parameter(const Computation& fused, int64_t k);

// Whether `reader` is the slice of an update's array that the update overwrites.
bool reads_own_window(const Instr& reader, const Instr& update);

// Lowerings by kind.
Status lower_loop(Kernel& k, const Computation& fused, const Facts& facts);
// False, and `k` as it was, if `values`, the results or what they are before a reshape, are not of
// this kind.
bool lower_pieces(Kernel& k, const Computation& fused, absl::Span<const Instr* const> values,
                  const Facts& facts);
// False, and `k` as it was, if nothing is read so or there are too few rows.
bool lower_transpose(Kernel& k, const Computation& fused, const Facts& facts);
Status lower_reduce(Kernel& k, const Computation& fused, const Facts& facts);
Status lower_contraction(Kernel& k, const Computation& fused, const Facts& facts);
Status lower_chain(Kernel& k, const Computation& fused, const Facts& facts);
Status lower_update(Kernel& k, const Computation& fused, const Facts& facts);
Status lower_window(Kernel& k, const Computation& fused, const Facts& facts);
Status lower_scan(Kernel& k, const Computation& fused, const Facts& facts, const Scan& scan);
Status lower_select_and_scatter(Kernel& k, const Computation& fused, const Facts& facts);

// Binds the parameters of `fused` to the kernel's input buffers.
void bind_parameters(Elements& e, const Computation& fused);
// Number of the kernel's first output buffer.
inline int64_t first_output(const Computation& fused) {
  return static_cast<int64_t>(fused.params().size());
}

// A phase whose items run over all but the last dimension of `space`, with a vector loop along it.
struct Frame {
  Phase phase;
  std::shared_ptr<Loop> vector;
  Index index;  // into `space`
};
Frame open_frame(Kernel& k, Elements& e, const Dims& space);
// Ends the phase: `work` is that of one item in elements, `width` in lanes.
void close_frame(Kernel& k, Frame& f, double work, int width);

// A variable of `a` for each real part of `start`, where it starts; the variables.
std::vector<scalar::Value> open_accumulator(Kernel& k, Accumulator* a, const std::vector<scalar::Value>& start);

// Lanes for a phase: light bodies get several registers per value, which hides latency. `accumulates`:
// its loops carry accumulators. `index_nodes`: so many nodes are made once an item.
int choose_width(const Kernel& k, const Facts& facts, bool accumulates, int64_t index_nodes = 0);
// Items of a phase worked on together: those of short rows in several passes, a few, so that they stay in the first cache.
int64_t choose_group(const Kernel& k, const Phase& p, const Facts& facts);
// Fewest items worth a thread, from the work of one item in elements.
int64_t choose_grain(const Kernel& k, double elements_per_item);

}  // namespace braze::loop
