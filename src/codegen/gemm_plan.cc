// SPDX-License-Identifier: Apache-2.0
// shape_gemm: the choice of form, register tile, blocks and partition of a matrix product.
#include "codegen/gemm_plan.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace braze::codegen {
namespace {

constexpr int64_t kInnerBlock = 384;  // K steps between additions to the sums
constexpr int64_t kInnerBlockOneTile = kLongestSum, kInnerBlockWide = 256;
constexpr double kItemCycles = 10e3;  // work an item should have at least
constexpr double kGrainCycles = 20e3;
constexpr int64_t kLeastAhead = 128 << 10;  // bytes of b worth bringing ahead
constexpr int64_t kWideShares = 8;  // shares that the columns of a wide product should be even in
constexpr int64_t kWideItems = 32;
constexpr int64_t kWideRows = 40;  // with fewer, asking for blocks ahead is a tenth of the work: only if b is far
constexpr int64_t kCollidingRows = 12, kCollidingBytes = 1024;  // fewer, with vectors of 256 bits and b's rows so far apart
constexpr int64_t kPage = 4096, kMostInSet = 8;  // bytes; rows
constexpr int64_t kLine = 64, kSets = kPage / kLine;  // of a first level cache: in each way it has as many bytes as a page
constexpr int64_t kMostPages = 128, kLeastRepacked = 64;  // pages of a block read in place; row tiles that a copy pays for
constexpr int kFullRows = 4, kFullVectors = 3;  // a tile that takes all of 16 registers
// Streamed products: rows of the left side, the latter if b is in no cache; rows of b; shares of its columns; columns.
constexpr int64_t kStreamedRows = 8, kFarStreamedRows = 16, kStreamSteps = 16, kFarStreamSteps = 8;
constexpr int64_t kStreams = 8, kStreamLeast = 128, kStreamMost = 1024, kFarStreamMost = 4096;
// Few columns: rows that packing pays for, the most of a tile, work items.
constexpr int64_t kColumnRows = 32, kColumnTile = 12, kColumnItems = 8;
constexpr int64_t kLeastCopied = 3;  // row tiles, from which on a copy of b by the first of them pays

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

// Drops k dimensions of size 1 and merges neighbours that one stride covers on both sides; not if
// `keep`, as load hooks see the coordinates.
std::vector<GemmContractedDim> merged_k(const std::vector<GemmContractedDim>& k, bool keep) {
  std::vector<GemmContractedDim> out;
  for (const GemmContractedDim& d : k) {
    if (d.size == 0) return {{1, 0, 0}, {0, 1, 1}};
  }
  if (keep) out = k;  // padded below
  for (const GemmContractedDim& d : k) {
    if (d.size == 1 || keep) continue;
    if (!out.empty() && out.back().lhs == d.size * d.lhs && out.back().rhs == d.size * d.rhs) {
      out.back() = {out.back().size * d.size, d.lhs, d.rhs};
    } else {
      out.push_back(d);
    }
  }
  while (out.size() < 2) out.insert(out.begin(), {1, 0, 0});
  if (out.back().size == 1) out.back().lhs = out.back().rhs = 1;
  return out;
}

// Cycles of one K step of a register tile: multiply-adds, loads, or the latency of one chain. Loads
// of b come from a farther cache than those of a.
double tile_cost(int64_t rows, int64_t vectors) {
  const double fma = static_cast<double>(rows * vectors) / 2,
               loads = static_cast<double>(rows + vectors) / 2;
  return std::max({fma, loads, 4.0}) + 0.05 * static_cast<double>(rows) +
         0.12 * static_cast<double>(vectors);
}

// Splits `panels` into blocks of at most `most` panels, as even as a few more blocks allow.
int64_t even_blocks(int64_t panels, int64_t most) {
  const int64_t least = ceil_div(panels, most);
  int64_t best = least;
  for (int64_t n = least; n <= 2 * least && least > 1; ++n) {
    if (ceil_div(panels, n) * n < ceil_div(panels, best) * best) best = n;
  }
  return ceil_div(panels, ceil_div(panels, best));
}

// The most columns a block should have: its K block in half the second level cache.
int64_t most_columns(const GemmShape& s, const Target& target) {
  const int64_t kc = std::clamp<int64_t>(s.k_total(), 64, kInnerBlock);
  return target.l2_bytes / 2 / byte_size(s.spec.acc) / kc;
}

// Whether half of the first level cache has room for a K block of a panel of the usual width in a wide product, if it has
// kInnerBlockWide steps.
bool wide_is_near(const GemmShape& s, const Target& target, int64_t vectors) {
  return kInnerBlockWide * vectors * s.w * byte_size(s.spec.acc) <= target.l1_bytes / 2;
}

// A right side that is large and has more columns than the left side has rows: each part of it should be read, and
// packed, by one thread and once. So items are few columns of all rows, as long as the left side is read where it
// lies (else it would be packed for each item) and a K block of it stays in the second level cache.
bool is_wide(const GemmShape& s, const Target& target, GemmHooked hooked) {
  const GemmSpec& p = s.spec;
  const int64_t bytes = byte_size(p.acc), k = s.k_total();
  const int64_t block = std::min(k, wide_is_near(s, target, 2) ? kInnerBlockWide : kInnerBlock);
  const bool in_place = !hooked.lhs && p.lhs == p.acc && (p.k.back().lhs == 1 || p.k.back().size == 1);
  // Rows that find no room in a small first level cache come from far for each row tile, if no tile copies them.
  const bool collide = target.vector_bits <= 256 && p.k.back().rhs * byte_size(p.rhs) % kCollidingBytes == 0;
  return in_place && p.rows_in_all == 0 && s.rows() >= (collide ? kCollidingRows : kWideRows) && s.rows() < p.n &&
         k * p.n * byte_size(p.rhs) >= target.l2_bytes / 4 &&
         s.rows() * block * bytes <= target.l2_bytes / 2;
}

// A few rows times a large right side: as little arithmetic as there is on each line of it, it should come as memory likes to be
// read, by long runs of few rows. So its K blocks are short and its column blocks long, and what is added to the sums again
// and again is the output, which is small. More rows have work to hide memory behind, unless it is the last one.
bool is_streamed(const GemmShape& s, const Target& target, GemmHooked hooked) {
  const GemmSpec& p = s.spec;
  const int64_t bytes = s.k_total() * p.n * byte_size(p.rhs), rows = s.rows();
  const bool in_place = !hooked.rhs && p.rhs == p.acc && p.rhs_n == 1 && p.rows_in_all == 0;
  return target.vector_bits <= 256 && in_place && p.n >= kStreams * kStreamLeast && bytes >= target.l2_bytes &&
         rows >= (s.far ? 1 : 2) && rows <= (bytes > target.l3_bytes ? kFarStreamedRows : kStreamedRows);
}

// Cycles per K step of the whole output with a register tile of `rows` rows and `v` vectors, uneven
// column blocks and the number of code variants counted in.
double output_cost(const GemmShape& s, const Target& target, int64_t rows, int64_t v) {
  const int64_t m = s.spec.m, vectors = ceil_div(s.spec.n, s.w);
  const int64_t tiles = ceil_div(m, rows), even = ceil_div(m, tiles), shorter = even * tiles - m;
  const int64_t full = vectors / v, rest = vectors % v, panels = ceil_div(vectors, v);
  auto row_cost = [&](int64_t r) {
    return static_cast<double>(full) * tile_cost(r, v) + (rest ? tile_cost(r, rest) : 0);
  };
  const double cost =
      static_cast<double>(s.outer_rows) * static_cast<double>(tiles - shorter) * row_cost(even) +
      (shorter ? static_cast<double>(s.outer_rows * shorter) * row_cost(even - 1) : 0);
  double uneven = 1;
  if (s.wide && tiles * s.outer_rows > 1) {
    uneven = static_cast<double>(round_up(panels, kWideShares) * v) / static_cast<double>(vectors);
  } else {
    const int64_t blocks =
        even_blocks(panels, std::max<int64_t>(1, most_columns(s, target) / (v * s.w)));
    uneven = static_cast<double>(ceil_div(panels, blocks) * blocks) / static_cast<double>(panels);
  }
  return cost * (0.7 + 0.3 * uneven) * (1 + 0.02 * (rest != 0) + 0.01 * (shorter != 0));
}

// Rows of the left side that lie a multiple of a page apart, read where they are, share a set of the first level
// cache: more of them than it has ways would come from the second one at each step.
int64_t most_rows(const GemmSpec& p, GemmHooked hooked) {
  const bool in_place = !hooked.lhs && p.lhs == p.acc && p.k.back().lhs == 1;
  return in_place && p.lhs_m * byte_size(p.lhs) % kPage == 0 ? kMostInSet : 16;
}

// Picks the register tile of least cost.
void choose_tile(GemmShape& s, const Target& target, GemmHooked hooked) {
  const int64_t m = s.spec.m, vectors = ceil_div(s.spec.n, s.w), most_m = std::min(m, most_rows(s.spec, hooked));
  double best = 0;
  for (int rows = 1; rows <= most_m; ++rows) {
    // Wide panels read more of each row of the right side that comes from far: worth the last register.
    const bool fills = s.wide && rows == kFullRows && vector_registers(target) == 16 && target.fma;
    const int64_t most = std::min<int64_t>(fills ? kFullVectors : tile_vectors(rows, target), vectors);
    // Narrow panels cost passes over the left side: only the widest few.
    for (int64_t v = most; v >= 1 && v >= most - 2; --v) {
      const double cost = output_cost(s, target, rows, v);
      if (best != 0 && cost >= best * 0.999) continue;
      best = cost;
      s.outer_tiles = ceil_div(m, rows);
      s.mr = static_cast<int>(ceil_div(m, s.outer_tiles));
      s.nv = static_cast<int>(v);
      s.short_tiles = s.mr * s.outer_tiles - m;
    }
  }
  s.row_tiles = s.outer_rows * s.outer_tiles;
  s.panels = ceil_div(vectors, s.nv);
  s.last_nv = static_cast<int>(vectors - (s.panels - 1) * s.nv);
  s.last_lanes = static_cast<int>(s.spec.n - (vectors - 1) * s.w);
}

// kc: how many K steps one block may hold.
void choose_k_blocks(GemmShape& s, int64_t kc) {
  const int64_t inner = std::max<int64_t>(s.k_inner(), 1), mid = s.k_mid();
  s.inner_blocks = ceil_div(inner, kc);
  s.inner_block = std::min(inner, round_up(ceil_div(inner, s.inner_blocks), s.w));
  if (s.inner_blocks == 1) {
    s.mid_blocks = ceil_div(mid, std::max<int64_t>(1, kc / inner));
    s.mid_block = ceil_div(mid, s.mid_blocks);
  }
  s.mid_blocks = ceil_div(mid, s.mid_block);
  s.inner_blocks = ceil_div(inner, s.inner_block);
  s.top_blocks = s.k_top();
  s.k_blocks = s.top_blocks * s.mid_blocks * s.inner_blocks;
  for (size_t i = 0; i + 3 < s.spec.k.size(); ++i) s.k_blocks *= s.spec.k[i].size;
}

// Into how many parts a long sum should be split so that each thread reads a piece of both sides once: shares of the
// rows would each read all of a right side that no cache holds. The sums of the parts, written and read again, are to
// move less than the sides do; 1: none.
int64_t streamed_parts(const GemmShape& s, const Target& target) {
  const double m = static_cast<double>(s.rows()), n = static_cast<double>(s.spec.n),
               k = static_cast<double>(s.k_total());
  if (s.k_blocks < 8 || k * n * byte_size(s.spec.rhs) < 2.0 * static_cast<double>(target.l2_bytes)) return 1;
  const auto most = static_cast<int64_t>(std::min(k * (m + n) / (4 * m * n), 16.0));
  const int64_t parts = std::min(most, s.k_blocks / 2);
  return parts < 8 ? 1 : parts;
}

// Splits K into parts when the output alone has too few tiles to share between threads, or the sides are streamed.
void choose_parts(GemmShape& s, const Target& target, double cycles) {
  const int64_t tiles = s.batches * s.row_tiles * s.panels;
  if (cycles < 2e5 || s.k_blocks < 4) return;
  int64_t parts = s.wide ? 1 : streamed_parts(s, target);
  if (tiles < 32) parts = std::max(parts, std::min<int64_t>({32, s.k_blocks / 2, ceil_div(64, tiles)}));
  if (parts == 1) return;
  s.blocks_per_part = ceil_div(s.k_blocks, parts);
  s.parts = ceil_div(s.k_blocks, s.blocks_per_part);
}

bool is_dot_form(const GemmSpec& spec, const Target& target, int w) {
  const bool k_single = spec.k.size() == 2 && spec.k[0].size == 1;
  const int64_t most = vector_registers(target) == 32 ? 6 : 4;
  return k_single && spec.k[1].size >= w && spec.k[1].lhs == 1 && spec.k[1].rhs == 1 &&
         spec.m <= most && (spec.rhs_n != 1 || spec.n == 1);
}

// Rows of a tile with all columns in registers.
int64_t column_rows(const GemmShape& s, const Target& target) {
  const int64_t n = s.spec.n, most = std::clamp<int64_t>((vector_registers(target) - 1 - n) / n, 1, kColumnTile);
  return ceil_div(s.rows(), ceil_div(s.rows(), most));
}

// Whether lanes along k have more to do than those of the only vector of columns. Full ones have not, but rows that lie
// in memory one after another are read as it likes. What is packed of b is to stay near.
bool is_columns_form(const GemmShape& s, const Target& target, GemmHooked hooked) {
  const GemmSpec& p = s.spec;
  const int64_t k = s.k_inner(), line = round_up(k, s.w);
  if (!is_float(p.acc) || hooked.lhs || p.rows_in_all > 0 || p.k.back().lhs != 1 || k < 2 * s.w || 4 * k < 3 * line ||
      k > kLongestSum * s.w)
    return false;
  const bool single = s.k_total() == k;
  if (p.n > s.w || (8 * p.n > 7 * s.w && !single)) return false;
  if (!hooked.rhs && p.k.back().rhs == 1 && s.batches * ceil_div(s.rows(), column_rows(s, target)) >= kColumnItems) return true;
  return s.rows() >= kColumnRows && p.n * s.k_total() / k * line * byte_size(p.acc) <= target.l2_bytes / 4;
}

// Moves the last batch dimensions that share a right side to the rows, and merges what one stride
// covers; not if `keep`, as a load hook sees the coordinates.
void take_outer_rows(GemmShape& s, bool keep) {
  GemmSpec& p = s.spec;
  std::vector<GemmBatchDim> rows{{p.m, p.lhs_m, 0, p.out_m}};
  while (!p.batch.empty() && p.batch.back().rhs == 0) {
    const GemmBatchDim d = p.batch.back();
    p.batch.pop_back();
    s.batches /= d.size;
    s.row_sizes.insert(s.row_sizes.begin(), d.size);
    GemmBatchDim& inner = rows.front();
    const bool fits = d.lhs == inner.size * inner.lhs && d.out == inner.size * inner.out;
    if (keep || (d.size > 1 && inner.size > 1 && !fits)) {
      rows.insert(rows.begin(), d);
    } else if (inner.size == 1) {
      inner = d;
    } else {
      inner.size *= d.size;
    }
  }
  p.m = rows.back().size;
  p.lhs_m = p.m == 1 ? 0 : rows.back().lhs;
  p.out_m = rows.back().out;
  rows.pop_back();
  s.outer = rows;
  for (const GemmBatchDim& d : rows) s.outer_rows *= d.size;
}

// Small integers into s32 or bf16 into f32, at least a few rows, strides that packing reads well.
void choose_words(GemmShape& s, const Target& target, GemmHooked hooked) {
  const GemmSpec& p = s.spec;
  const bool bf16 = p.lhs == Dtype::kBF16 && p.rhs == Dtype::kBF16 && p.acc == Dtype::kF32 &&
                    target.avx512_bf16 && s.w == 16 && s.row_tiles > 1;
  auto small = [](Dtype t) { return t == Dtype::kS8 || t == Dtype::kU8 || t == Dtype::kS16; };
  const GemmContractedDim& inner = p.k.back();
  const bool ints = byte_size(p.acc) == 4 && is_int(p.acc) && small(p.lhs) && small(p.rhs);
  if ((!ints && !bf16) || hooked.lhs || hooked.rhs) return;
  if (s.rows() < 4 || inner.size < 4 || (inner.lhs != 1 && p.lhs_m != 1) ||
      (inner.rhs != 1 && p.rhs_n != 1))
    return;
  const bool bytes = target.vnni && p.rhs == Dtype::kS8 && byte_size(p.lhs) == 1;
  s.word = bf16 ? WordProduct::kBf16 : bytes ? WordProduct::kBytes : WordProduct::kPairs;
  s.shifted = bytes && p.lhs == Dtype::kS8;
}

// Whether the rows of a block of b, a power of two or pages apart, find no room in the first level cache or its page table
// while many row tiles read them again. With vectors of 512 bits the second level cache keeps up.
bool rows_collide(const GemmShape& s, const Target& target, int64_t stride) {
  if (target.vector_bits > 256 || s.row_tiles < kLeastRepacked) return false;
  const int64_t lines = ceil_div(s.nv * s.w * byte_size(s.spec.rhs), kLine);
  const int64_t apart = std::gcd(kSets, std::max<int64_t>(stride / kLine, 1));
  const int64_t sets = kSets / apart * std::min(lines, apart);
  return s.inner_block * lines > sets * 2 * kMostInSet || s.inner_block * stride > kMostPages * kPage;
}

void choose_packing(GemmShape& s, const Target& target, GemmHooked hooked) {
  if (s.k_total() == 0) return;  // an empty sum loads nothing
  if (s.word != WordProduct::kNone) {
    s.pack_a = s.pack_b = true;
    s.a_interleaved = s.spec.k.back().lhs != 1;
    return;
  }
  const GemmSpec& p = s.spec;
  if (p.in_place && !hooked.lhs && !hooked.rhs && p.rhs == p.acc && p.rhs_n == 1) {
    s.mask_b = true;
    return;
  }
  const GemmContractedDim& inner = p.k.back();
  const int64_t b_stride = std::abs(inner.rhs) * byte_size(p.rhs);
  s.pack_in_tile = s.wide && !hooked.rhs && p.rhs == p.acc && p.rhs_n == 1 && s.mid_block == 1 &&
                   inner.size > 1 && s.parts == 1 && s.row_tiles >= kLeastCopied;
  s.pack_b = s.pack_in_tile || hooked.rhs || (p.rhs != p.acc && s.row_tiles > 1) || (p.rhs_n != 1 && p.n > 1) ||
             (std::max(s.rows(), p.rows_in_all) >= 96 && inner.size > 1 &&
              (b_stride % 2048 == 0 || b_stride >= 8192 || rows_collide(s, target, b_stride)));
  s.mask_b = !s.pack_b;
  const bool strided = inner.lhs != 1 && inner.size > 1;
  // The few rows of a step that share a line are read as they lie.
  const bool in_line = p.lhs_m == 1 && s.outer_rows == 1 && std::abs(inner.lhs) * byte_size(p.lhs) <= kLine;
  s.pack_a = hooked.lhs || (s.panels > 1 && (p.lhs != p.acc || (strided && s.rows() > 1 && !in_line)));
  s.a_interleaved = p.lhs_m == 1 && strided && p.m > 1;
}

// How many K steps one block may hold.
int64_t most_steps(const GemmShape& s, const Target& target) {
  if (s.streamed) return s.far && s.rows() <= kStreamedRows ? kFarStreamSteps : kStreamSteps;
  if (s.row_tiles == 1) return kInnerBlockOneTile;
  // An item of a wide product reads a block of few columns for one tile of rows after another: from the first level
  // cache, if half of it is enough for a block.
  const bool near = s.wide && wide_is_near(s, target, s.nv);
  return (near ? kInnerBlockWide : kInnerBlock) * word_elements(s.word) * 4 / byte_size(s.spec.acc);
}

// A third dimension of K within a block, where the other two fill only part of it.
void choose_top(GemmShape& s, const Target& target) {
  if (s.pack_a || s.pack_b || s.parts > 1 || s.k_top() == 1 || s.mid_blocks * s.inner_blocks > 1) return;
  const int64_t fit = std::max<int64_t>(1, most_steps(s, target) / std::max<int64_t>(1, s.k_mid() * s.k_inner()));
  s.k_blocks /= s.top_blocks;
  s.top_block = ceil_div(s.k_top(), ceil_div(s.k_top(), fit));
  s.top_blocks = ceil_div(s.k_top(), s.top_block);
  s.k_blocks *= s.top_blocks;
}

void choose_sums(GemmShape& s, GemmHooked hooked) {
  using Sums = GemmShape::Sums;
  const bool one_block = s.parts > 1 ? s.blocks_per_part == 1 : s.k_blocks == 1;
  const bool plain =
      s.parts > 1 || (s.spec.out == s.spec.acc && (s.spec.out_n == 1 || s.spec.n == 1));
  const bool out_hook = hooked.out && s.parts == 1;
  if (one_block) {
    s.sums = plain && !out_hook ? Sums::kDirect : Sums::kScratch;
  } else {
    s.sums = plain && (!out_hook || s.spec.out_private) ? Sums::kOut : Sums::kScratch;
  }
}

void choose_blocks(GemmShape& s, const Target& target) {
  const int64_t bytes = byte_size(s.spec.acc), panel = s.nv * s.w;
  const double per_cycle = flops_per_cycle(target, s.spec.acc);
  const double column_cycles =
      2.0 * static_cast<double>(s.mr * s.k_total()) / per_cycle;  // one row tile
  int64_t cols = std::max(most_columns(s, target), panel);
  if (s.row_tiles == 1 && column_cycles > 0) {
    cols = std::min(cols, static_cast<int64_t>(kItemCycles / column_cycles));
  }
  if (s.wide) {
    const double cycles = column_cycles * static_cast<double>(s.row_tiles);
    cols = std::min(cols, static_cast<int64_t>(kItemCycles / cycles));
  }
  if (s.streamed) cols = std::clamp(s.spec.n / kStreams, kStreamLeast, s.far ? kFarStreamMost : kStreamMost);
  s.col_blocks = even_blocks(s.panels, std::max<int64_t>(1, cols / panel));
  s.block_panels = ceil_div(s.panels, s.col_blocks);
  s.c_row = s.block_panels * panel;
  const double tile_cycles = column_cycles * static_cast<double>(s.c_row);
  s.group_tiles = std::clamp<int64_t>(
      static_cast<int64_t>(kItemCycles / std::max(tile_cycles, 1.0)), 1, s.row_tiles);
  if (s.wide) {
    const int64_t groups = std::min(s.row_tiles, ceil_div(kWideItems, s.batches * s.col_blocks));
    s.group_tiles = std::max(s.group_tiles, ceil_div(s.row_tiles, groups));
  }
  int64_t c_tiles = 0;  // row tiles whose sums are in the scratch
  if (s.sums == GemmShape::Sums::kScratch) {
    const bool one_block = s.k_blocks == 1;
    const int64_t fit = std::max<int64_t>(1, target.l2_bytes / 2 / (s.mr * s.c_row * bytes));
    if (!one_block) s.group_tiles = std::min(s.group_tiles, fit);
    c_tiles = one_block ? 1 : fit / s.group_tiles * s.group_tiles;
    if (!one_block) s.max_groups = c_tiles / s.group_tiles;
    c_tiles = std::min(c_tiles, s.row_tiles);
  } else if (s.sums == GemmShape::Sums::kOut && s.k_blocks > 1 && s.parts == 1 && !s.wide) {
    // Sums that are added to for each block of K should stay in the second level cache meanwhile; rows that lie a
    // multiple of a page apart use few sets of it.
    const int64_t share = s.spec.out_m * byte_size(s.spec.out) % kPage == 0 ? 8 : 2;
    const int64_t fit = std::max<int64_t>(1, target.l2_bytes / share / (s.mr * s.c_row * bytes));
    s.group_tiles = std::min(s.group_tiles, fit);
    s.max_groups = fit / s.group_tiles;
  }
  s.row_groups = ceil_div(s.row_tiles, s.group_tiles);
  if (s.max_groups == 0) s.max_groups = s.row_groups;
  const int64_t words = s.mid_block * s.words(s.inner_block);  // packed steps of a block
  s.a_row = round_up(words, s.w) + s.w;
  s.b_rows = round_up(s.words(s.inner_block), s.w) + (s.mid_block - 1) * s.words(s.inner_block) +
             s.shifted;
  s.c_bytes = round_up(c_tiles * s.mr * s.c_row * bytes, 64);
  const int64_t slot = s.has_slots() ? kSlotBytes : 0;
  if (s.pack_b) s.b_bytes = round_up(s.b_rows * s.c_row * bytes, 64) + slot;
  if (s.pack_a) {
    // Rows that are contiguous along m are packed many at a time, to use whole cache lines.
    if (s.a_interleaved) s.a_group = std::min(s.row_tiles, ceil_div(96, s.mr));
    s.a_tile = round_up(s.a_interleaved ? words * s.mr + s.w : s.mr * s.a_row, 16);
    s.a_bytes = round_up(s.a_group * s.a_tile * bytes, 64) + slot;
  }
}

// Memory is slow to answer where the rows of a block of b lie apart: no stream that the processor would see. So
// tiles ask for the next block early, evenly over the row tiles that an eighth of the work has. Few rows do so only for
// what the last level cache does not keep: there is little work that the requests could hide behind.
void choose_ahead(GemmShape& s, const Target& target, GemmHooked hooked) {
  const GemmSpec& p = s.spec;
  const int64_t bytes = byte_size(p.rhs);
  if (hooked.rhs || s.prepack || p.rhs != p.acc || p.rhs_n != 1 || s.mid_block > 1 ||
      s.word != WordProduct::kNone || s.row_tiles < 2 ||
      s.k_blocks * s.col_blocks == 1 || s.k_total() * p.n * bytes < kLeastAhead)
    return;
  if (s.rows() < kWideRows && !s.far && !s.wide) return;
  s.ahead = static_cast<int>(ceil_div(s.nv * s.w * bytes, kSlotBytes));
  const int64_t tiles = s.wide ? s.row_tiles * std::min(s.col_blocks, kWideShares) / kWideShares : s.row_tiles / kWideShares;
  while (s.ahead_shift < 5 && 2 << s.ahead_shift <= tiles) ++s.ahead_shift;
}

// The register tile, the blocks of K and the parts that these are summed in.
void choose_steps(GemmShape& s, const Target& target, GemmHooked hooked) {
  const GemmSpec& p = s.spec;
  s.parts = 1;
  s.top_block = s.mid_block = 1;
  choose_tile(s, target, hooked);
  choose_words(s, target, hooked);
  choose_k_blocks(s, most_steps(s, target));
  const double flops =
      2.0 * static_cast<double>(s.batches * s.rows() * s.k_total()) * static_cast<double>(p.n);
  if (p.rows_in_all == 0 && !s.streamed) choose_parts(s, target, flops / flops_per_cycle(target, p.acc));
}

// The dot form walks n in groups of w columns; one item is a few of them.
void shape_dot(GemmShape& s, const Target& target) {
  const GemmSpec& p = s.spec;
  s.form = GemmForm::kDot;
  s.mr = static_cast<int>(p.m);
  s.row_tiles = s.outer_tiles = 1;
  s.panels = ceil_div(p.n, s.w);
  s.nv = s.last_nv = 1;
  s.last_lanes = static_cast<int>(p.n - (s.panels - 1) * s.w);
  choose_k_blocks(s, kInnerBlockOneTile);
  const double cycles =
      2.0 * static_cast<double>(p.m * s.k_inner()) * s.w / flops_per_cycle(target, p.acc);
  if (p.rows_in_all == 0) choose_parts(s, target, cycles * static_cast<double>(s.panels * s.batches));
  s.group_tiles = 1;
  s.row_groups = 1;
  s.block_panels = std::clamp<int64_t>(
      static_cast<int64_t>(kItemCycles / 2 / std::max(cycles, 1.0)), 1, s.panels);
  s.col_blocks = ceil_div(s.panels, s.block_panels);
  s.c_row = s.w;
  s.c_bytes = round_up(p.m * s.w * byte_size(p.acc), 64);
}

// A tile is a few rows and all columns.
void shape_columns(GemmShape& s, const Target& target, GemmHooked hooked) {
  const GemmSpec& p = s.spec;
  s.form = GemmForm::kColumns;
  s.mr = static_cast<int>(column_rows(s, target));
  s.row_tiles = ceil_div(s.rows(), s.mr);
  const double cycles = 2.0 * static_cast<double>(s.mr * s.k_total() * p.n) / flops_per_cycle(target, p.acc);
  s.group_tiles = std::clamp<int64_t>(static_cast<int64_t>(kItemCycles / std::max(cycles, 1.0)), 1, s.row_tiles);
  s.row_groups = s.max_groups = ceil_div(s.row_tiles, s.group_tiles);
  s.pack_b = hooked.rhs || p.k.back().rhs != 1;
  if (!s.pack_b) return;
  s.b_rows = s.k_total() / s.k_inner() * round_up(s.k_inner(), s.w);
  s.b_bytes = round_up(p.n * s.b_rows * byte_size(p.acc), 64);
}

}  // namespace

int64_t GemmShape::k_total() const {
  int64_t n = 1;
  for (const GemmContractedDim& d : spec.k) n *= d.size;
  return n;
}

int vector_registers(const Target& target) { return target.avx512 ? 32 : 16; }

int tile_vectors(int rows, const Target& target) {
  // Accumulators, one row of b and a broadcast must fit, with a register left over; without fused
  // multiply-add a product takes one more. A single row folds its loads of b into the arithmetic.
  const int usable =
      vector_registers(target) - 1 - (target.fma && target.vector_bits > 128 ? 0 : 1);
  if (rows == 1) return vector_registers(target) / 2;
  return (usable - 1) / (rows + 1);
}

double flops_per_cycle(const Target& target, Dtype acc) {
  return 4.0 * target.lanes(byte_size(acc));
}

GemmShape shape_gemm(const GemmSpec& spec, const Target& target, GemmHooked hooked) {
  GemmShape s;
  s.spec = spec;
  s.k_given = spec.k.size();

  s.spec.k = merged_k(spec.k, hooked.lhs || hooked.rhs);
  s.w = target.lanes(byte_size(spec.acc));
  for (const GemmBatchDim& d : spec.batch) s.batches *= d.size;
  if (spec.n == 1) s.spec.rhs_n = s.spec.out_n = 1;
  if (spec.m == 1) s.spec.lhs_m = 0;
  s.row_sizes = {spec.m};
  const GemmSpec& p = s.spec;
  if (s.batches == 0 || p.m == 0 || p.n == 0) {
    s.batches = 0;
    return s;
  }
  const bool ints = !is_float(p.acc);
  if (p.m <= 8 && p.n <= std::min(8, s.w) && s.k_total() <= 8 && !ints) {
    s.form = GemmForm::kTiny;
    s.row_groups = s.col_blocks = 1;
    return s;
  }
  take_outer_rows(s, hooked.lhs);
  if (s.outer_rows == 1 && is_dot_form(p, target, s.w)) {
    shape_dot(s, target);
  } else if (is_columns_form(s, target, hooked)) {
    shape_columns(s, target, hooked);
  } else {
    s.far = s.k_total() * p.n * byte_size(p.rhs) > target.l3_bytes / 2;
    s.streamed = is_streamed(s, target, hooked);
    s.wide = !s.streamed && is_wide(s, target, hooked);
    choose_steps(s, target, hooked);
    if (s.wide && (s.parts > 1 || s.row_tiles == 1)) {
      s.wide = false;
      choose_steps(s, target, hooked);
    }
    choose_packing(s, target, hooked);
    choose_top(s, target);
    choose_sums(s, hooked);
    choose_blocks(s, target);
  }
  s.work_row = round_up(p.n, s.w);
  s.prepack = s.pack_b && s.parts == 1 && (p.rows_in_all > 0 || s.max_groups < s.row_groups);
  if (s.prepack) {
    s.packed_bytes = s.batches * s.col_blocks * s.k_blocks * s.b_bytes;
    s.b_bytes = 0;
    s.pack_in_tile = false;
  }
  if (s.form == GemmForm::kTiles) choose_ahead(s, target, hooked);
  return s;
}

ContractionPlan plan_of(const GemmShape& s, const Target& target, std::string_view name) {
  ContractionPlan plan;
  const double outputs = static_cast<double>(s.batches * s.rows()) * static_cast<double>(s.spec.n);
  const double per_cycle = flops_per_cycle(target, s.spec.acc);
  auto phase = [&](std::string function, int64_t items, double flops, double all_cycles) {
    const double cycles = all_cycles / static_cast<double>(std::max<int64_t>(items, 1));
    const int64_t grain =
        std::max<int64_t>(1, static_cast<int64_t>(kGrainCycles / std::max(cycles, 1.0)));
    plan.phases.push_back(
        {std::move(function), items, std::min(grain, std::max<int64_t>(items, 1)), flops});
  };
  if (s.prepack) {
    phase(std::string(name) + ".pack", s.batches * s.col_blocks * s.k_blocks, 0,
          static_cast<double>(s.packed_bytes) / 16);
  }
  phase(std::string(name), s.batches == 0 ? 0 : s.items(),
        2 * outputs * static_cast<double>(s.k_total()),
        2 * outputs * static_cast<double>(s.k_total()) / per_cycle);
  plan.workspace_bytes = s.spec.workspace_offset + s.packed_bytes;
  plan.scratch_bytes = s.a_bytes + s.b_bytes + s.c_bytes;
  if (s.parts > 1) {
    phase(std::string(name) + ".sum", s.batches * s.rows(), 0,
          outputs * static_cast<double>(s.parts) / 8);
    plan.workspace_bytes += s.parts * s.batches * s.rows() * s.work_row * byte_size(s.spec.acc);
  }
  return plan;
}

}  // namespace braze::codegen
