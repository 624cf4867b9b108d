// SPDX-License-Identifier: Apache-2.0
// Kernel: what one launch computes, as loop nests over a scalar DAG, as a contraction with an
// epilogue, or as a chain of two contractions with rows of loops between. Printable, checkable, and runnable by the interpreter (loop/interpret.h) at any time.
//
// A kernel runs its phases in order; a phase is a parallel loop over `items` whose body is a list of
// statements. Items of a phase write disjoint memory and never read what another item of the phase
// writes, so any split over threads gives the same bits. Buffers hold real elements: a complex array
// of n elements is a buffer of 2n real ones, re and im interleaved.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/attrs.h"
#include "scalar/scalar.h"

namespace braze::loop {

using scalar::Scalar;

enum class Role : uint8_t {
  kInput,
  kOutput,
  kInOut,      // read and written: the operand's memory becomes the result's
  kWorkspace,  // shared by all phases and threads of one launch
  kScratch,    // private to an item
  kTile,       // of a chain: only the rows of the tile at hand exist
};

struct Buffer {
  std::string name;
  Dtype dtype = Dtype::kF32;
  int64_t elements = 0;
  Role role = Role::kInput;
};

// Accumulators carried around a loop: before it `var`s are `init`; after each iteration they become
// `next`; after the loop `result`s hold the last ones. In a vector loop each lane has its own, started
// at `identity`, combined pairwise at the end (lhs, rhs → combined), and at last with `init`.
struct Accumulator {
  std::vector<int64_t> var, result;  // variable ids
  std::vector<Dtype> type;
  std::vector<Scalar> init, next;
  std::vector<Scalar> identity;      // for vector loops
  std::vector<int64_t> lhs, rhs;     // parameters of `combined`
  std::vector<Scalar> combined;
};

// kTile: inside a vector loop, as many iterations as that has lanes, in any order: what lies side by side along
// this loop's variable is read by vectors along it and transposed in registers.
enum class LoopKind : uint8_t { kSerial, kVector, kTile };

struct Stmt;

struct Loop {
  int64_t var = 0;
  int64_t extent = 0;       // the largest, if `count` is given
  Scalar count;             // iterations when they differ from item to item; absent: extent
  LoopKind kind = LoopKind::kSerial;
  std::vector<Accumulator> accumulators;
  std::vector<Stmt> body;
};

struct Store {
  int64_t buffer = 0;
  Scalar offset, value;
  Scalar condition;  // absent: always
};

// Binds a variable to a value at this point, before later stores change what it loads.
struct Let {
  int64_t var = 0;
  Dtype type = Dtype::kF32;
  Scalar value;
};

struct Stmt {
  enum class Kind : uint8_t { kLoop, kStore, kLet } kind = Kind::kStore;
  std::shared_ptr<Loop> loop;
  Store store;
  Let let;
};

struct Phase {
  int64_t items = 1;      // extent of the parallel loop
  int64_t item_var = -1;  // its variable
  int64_t grain = 1;      // fewest items worth a thread of its own
  int width = 1;          // lanes of this phase's vector loops
  // Items worked on together: each statement of the body that is a loop, with what stands before it, runs for all of
  // them before the next. So one item's reduction does not keep the others waiting.
  int64_t group = 1;
  std::vector<Stmt> body;
};
// The nodes that `body` and the loops in it need, and the variables bound there.
void collect(const std::vector<Stmt>& body, std::vector<Scalar>* roots, std::vector<int64_t>* vars);

// A matrix product or a convolution with what follows it on the output tile.
struct ContractionDim {
  int64_t size = 1, lhs = 0, rhs = 0, out = 0;  // strides in elements
};
// A step of an operand's first element that is known when the kernel runs: min(max(i, 0), most) * stride elements, where i
// is the only element of a buffer of that type (a dynamic slice's start).
struct DynamicStart {
  int64_t buffer = 0;
  Dtype type = Dtype::kS64;
  int64_t most = 0, stride = 0;
};
struct Contraction {
  bool is_conv = false;
  Dtype lhs = Dtype::kF32, rhs = Dtype::kF32, acc = Dtype::kF32;
  int64_t lhs_buffer = 0, rhs_buffer = 1;
  int64_t lhs_offset = 0, rhs_offset = 0;  // GEMM: elements from the buffer's start
  std::vector<DynamicStart> lhs_starts, rhs_starts;  // GEMM: added to these
  // GEMM: out[batch, m, n] = sum over k.
  std::vector<ContractionDim> batch, k;
  ContractionDim m, n;
  // Convolution: attributes and array dims, row-major buffers.
  ConvAttrs conv;
  Dims lhs_dims, rhs_dims, out_dims;
  // The raw product goes to `out_buffer` (also used for partial sums between K blocks).
  int64_t out_buffer = -1;
  Dtype out = Dtype::kF32;
  // Epilogue: stores in terms of `acc_var` (type acc) and the output's coordinates `index_vars`
  // (GEMM: batch…, m, n; convolution: batch, spatial…, feature). Empty: the product is stored.
  int64_t acc_var = -1;
  std::vector<int64_t> index_vars;
  std::vector<Store> epilogue;

  // GEMM: whether it is generated as the transposed product, so that the lanes, along n, have elements side by side.
  bool is_transposed() const {
    if (n.size == 1) return m.size > 1;
    return n.out != 1 && m.out == 1 && m.size > 1;
  }
};

// What comes before the contraction of a kernel whose left side is made row by row from the output of
// another product (attention): for a tile of rows, which stay in a near cache,
//   `first`        writes their products into a kTile buffer,
//   phases[0]      an item a row, makes of each the left side of the contraction, in a kTile buffer,
//   `contraction`  multiplies them with its right side.
// Tiles are [batch][rows], their rows next to each other in both buffers. The last tile of a batch begins
// early enough to be whole: rows that two tiles have are computed twice, to the same bits.
struct Chain {
  Contraction first;
  int64_t batches = 1, rows = 1, tile = 1;
  bool in_place = false;  // both tiles may be the same memory
  int64_t tiles() const { return (rows + tile - 1) / tile; }
};

struct Kernel {
  std::string name;
  scalar::Graph graph;
  std::vector<Buffer> buffers;  // inputs, outputs, then workspace and scratch, as numbered in loads
  std::vector<Phase> phases;
  std::shared_ptr<Contraction> contraction;  // instead of phases
  std::shared_ptr<Chain> chain;              // with a contraction and one phase
  int64_t next_var = 0;
  double flops = 0, bytes = 0;  // per launch, for reports

  int64_t new_var() { return next_var++; }
  int64_t scratch_bytes() const;  // of an item's kScratch buffers, each 64-byte aligned
  int64_t group_scratch_bytes() const;  // of all items worked on together
  int64_t workspace_bytes() const;
};

std::string to_string(const Kernel& k);

// Equal kernels (up to names) print equally under this form: the key of kernel deduplication.
std::string canonical_text(const Kernel& k);

}  // namespace braze::loop
