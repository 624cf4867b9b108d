// SPDX-License-Identifier: Apache-2.0
// How a GemmSpec is computed: register tile, blocks, packing, work items. Chosen from the sizes and
// the target alone, so that plan_gemm and emit_gemm agree and results do not depend on threads.
//
// Work items are (batch, column block, group of row tiles), the row group fastest; consecutive
// items of one column block share their packed right side. The m rows of an outer row are cut into
// tiles of `mr` rows, the last `short_tiles` of them mr - 1; a column block is `block_panels`
// panels of nv vectors (the last block may have fewer), the last panel of all may be narrower. K is
// walked in blocks; the sums of a block are added to those of the blocks before.
#pragma once

#include <cstdint>

#include "codegen/contraction_emit.h"
#include "codegen/gemm.h"

namespace braze::codegen {

enum class GemmForm : uint8_t {
  kTiles,  // register tiles, the lanes along n
  kDot,    // few rows and a right side contiguous along k: the lanes along k, then summed
  kColumns,  // few columns and a left side contiguous along k: the same
  kTiny,   // every dimension below 8: unrolled, one item per batch element
};

constexpr int64_t kSlotBytes = 64;
constexpr int64_t kLongestSum = 4096;  // terms of one accumulator

struct GemmShape {
  // With k merged into at least two dimensions (padded by sizes of 1), and the batch dimensions
  // that are rows moved to `outer`, merged among themselves and with m.
  GemmSpec spec;
  std::vector<GemmBatchDim> outer;
  int64_t outer_rows = 1;          // product of their sizes
  std::vector<int64_t> row_sizes;  // the row dimensions as given, m last
  size_t k_given = 2;              // how many of k, from the innermost, load hooks are told
  GemmForm form = GemmForm::kTiles;
  int w = 1;  // lanes
  int64_t batches = 1;
  // Register tiles.
  int mr = 1, nv = 1;
  int64_t outer_tiles = 0, short_tiles = 0;  // of m, for each outer row
  int64_t row_tiles = 0;                     // of all rows
  int64_t panels = 0;  // of nv vectors; the last has last_nv, of which the last has last_lanes
  int last_nv = 1, last_lanes = 0;
  // Column blocks and row groups.
  int64_t block_panels = 1, col_blocks = 1, group_tiles = 1, row_groups = 1;
  int64_t max_groups = 0;  // most groups processed together
  // K blocks: all outer dimensions one at a time, the middle in blocks, the innermost in blocks. Where nothing is
  // packed, the one before the middle in blocks, too.
  int64_t top_block = 1, top_blocks = 1, mid_block = 1, mid_blocks = 1, inner_block = 1, inner_blocks = 1, k_blocks = 1;
  // Parts of the K blocks summed apart into the workspace; 1: none.
  int64_t parts = 1, blocks_per_part = 1;
  bool pack_a = false, pack_b = false;
  // Small integers and bf16: both sides packed as words of adjacent k; `shifted`: s8 on the left, packed as
  // u8 by adding 128, which a last row in each packed panel of b makes up for.
  WordProduct word = WordProduct::kNone;
  bool shifted = false;
  bool a_interleaved = false;  // packed a is [k][rows]; otherwise [row][k]
  bool mask_b = false;         // loads of b are masked in the last panel
  bool prepack = false;        // b is packed once, by a phase of its own, into the workspace
  bool far = false;           // b finds no room in the last level cache
  bool wide = false;          // items are few columns of all rows
  bool streamed = false;      // items are many columns of few rows, in short K blocks
  bool pack_in_tile = false;  // b is packed by the first row tile that reads it
  // If not 0: while a block of b is multiplied, the next one is brought to the second level cache: so many
  // lines at every (1 << ahead_shift)-th step, each row tile a part of the block.
  int ahead = 0, ahead_shift = 0;
  enum class Sums : uint8_t { kDirect, kOut, kScratch } sums = Sums::kDirect;
  // Byte sizes of the scratch areas, in this order: packed a, packed b, sums.
  int64_t a_bytes = 0, b_bytes = 0, c_bytes = 0;
  int64_t a_group = 1;       // row tiles of a packed at a time
  int64_t a_tile = 0;        // elements between packed tiles of a
  int64_t a_row = 0;         // elements between rows of a packed, not interleaved a
  int64_t b_rows = 0;        // rows of a packed b panel, padding included
  int64_t c_row = 0;         // elements between rows of sums
  int64_t work_row = 0;      // elements between rows of a part in the workspace
  int64_t packed_bytes = 0;  // of the prepacked b, at the start of the workspace

  int64_t k_top() const { return spec.k.size() < 3 ? 1 : spec.k[spec.k.size() - 3].size; }
  int64_t k_mid() const { return spec.k[spec.k.size() - 2].size; }
  int64_t k_inner() const { return spec.k.back().size; }
  int64_t k_total() const;
  int64_t words(int64_t k) const { return (k + word_elements(word) - 1) / word_elements(word); }
  bool has_slots() const { return word == WordProduct::kBf16; }  // behind packed data
  int64_t rows() const { return outer_rows * spec.m; }
  int64_t full_tiles() const { return outer_tiles - short_tiles; }
  int64_t items() const { return parts * batches * col_blocks * row_groups; }
};

// `hooked`: which of the operands are loaded, and the output stored, by hooks.
struct GemmHooked {
  bool lhs = false, rhs = false, out = false;
};
GemmShape shape_gemm(const GemmSpec& spec, const Target& target, GemmHooked hooked);
ContractionPlan plan_of(const GemmShape& shape, const Target& target, std::string_view name);

// The largest number of column vectors of a register tile of `rows` rows.
int tile_vectors(int rows, const Target& target);
int vector_registers(const Target& target);
// 2 * multiply-adds per cycle, about.
double flops_per_cycle(const Target& target, Dtype acc);

}  // namespace braze::codegen
