// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels that read an array along another dimension than they write:
//
//   r[i, j] = a[j, i] + b[i, j]      a's neighbours lie along i, r's along j
//
// The space is walked in tiles of as many rows as a vector has lanes: a vector loop along j, in it
// a tile loop over rows. Code for a tile reads whole vectors along i and transposes them in
// registers, so that each cache line is read once. Where the first cache cannot keep the rows that are written
// because of the distance between them (a power of two), the loops change places: a tile's rows are written a block of
// columns at a time. Rows that fill no tile are computed by a second phase, line by line.
#include <algorithm>
#include <cstdlib>

#include "loop/lower.h"

namespace braze::loop {
namespace {

using scalar::Value;

constexpr int64_t kMostShuffled = 4;        // strides that vector loads and shuffles serve
constexpr int64_t kLeastTransposed = 1024;  // elements
constexpr int64_t kRowsPerItem = 64;        // neighbouring tiles share lines and pages
constexpr int64_t kColumnsPerItem = 2048;
constexpr int64_t kCollision = 1024;        // bytes between rows, of which multiples share few sets of the first cache
constexpr int64_t kMostBlock = 256, kBlockBytes = 1024;  // columns and bytes of a row written in one go

// The dimension along which most of the loads that are strided in the last one lie side by side;
// -1: none.
int64_t read_along(const Kernel& base, const Computation& fused, const Dims& dims) {
  Kernel k = base;
  Elements e(k);
  bind_parameters(e, fused);
  Index index;
  std::vector<int64_t> vars;
  for (int64_t d : dims) {
    vars.push_back(k.new_var());
    index.push_back(k.graph.index_var(vars.back(), std::max<int64_t>(d, 1)));
  }
  for (const Instr* o : outputs(fused)) e.element(o, index);
  if (!e.status().ok()) return -1;
  std::vector<int> votes(dims.size(), 0);
  for (int32_t i = 0; i < k.graph.size(); ++i) {
    const scalar::Node& n = k.graph[Scalar{i}];
    int64_t stride = 0;
    if (n.op != scalar::Op::kLoad || n.args[1] ||
        !k.graph.stride_in(n.args[0], vars.back(), &stride) || std::abs(stride) <= kMostShuffled)
      continue;
    for (size_t d = 0; d + 1 < dims.size(); ++d)
      if (k.graph.stride_in(n.args[0], vars[d], &stride) && std::abs(stride) == 1) ++votes[d];
  }
  const auto most = std::max_element(votes.begin(), votes.end());
  return most == votes.end() || *most == 0 ? -1 : most - votes.begin();
}

struct Space {
  Dims outer;  // all dimensions but the rows' and the last
  Dims dims;
  int64_t along = 0;  // the rows' dimension
  int64_t block = 0;  // columns of a row that are written in one go; 0: a tile's
};

int64_t columns_in_one_go(const Kernel& k, const Computation& fused, const Space& s, int most_bytes) {
  const Dims behind(s.dims.begin() + s.along + 1, s.dims.end());
  int64_t bytes = 1;
  for (size_t o = 0; o < outputs(fused).size(); ++o)
    bytes = std::max<int64_t>(bytes, byte_size(k.buffers[static_cast<size_t>(first_output(fused)) + o].dtype));
  const int64_t block = std::min({kMostBlock, kBlockBytes / most_bytes, s.dims.back()});
  return product(behind) * bytes % kCollision == 0 && s.dims.back() % block == 0 ? block : 0;
}

// Stores of all outputs at (outer, row, column).
void store_at(Kernel& k, Elements& e, const Computation& fused, const Space& s, const Index& outer,
              Scalar row, Scalar column, std::vector<Stmt>* body) {
  Index index = outer;
  index.insert(index.begin() + s.along, row);
  index.push_back(column);
  const std::vector<const Instr*> outs = outputs(fused);
  std::vector<Value> values;
  for (const Instr* o : outs) values.push_back(e.element(o, index));
  for (size_t o = 0; o < outs.size(); ++o)
    store_value(k, body, first_output(fused) + static_cast<int64_t>(o), e.offset(s.dims, index),
                values[o]);
}

std::shared_ptr<Loop> loop_over(Kernel& k, LoopKind kind, int64_t extent) {
  auto l = std::make_shared<Loop>();
  l->var = k.new_var();
  l->extent = extent;
  l->kind = kind;
  return l;
}

// Items of `rows` rows (a multiple of a tile's) by a chunk of columns.
Status add_tiles(Kernel& k, const Computation& fused, const Space& s, int width) {
  scalar::Graph& g = k.graph;
  const int64_t tiles = s.dims[s.along] / width, columns = s.dims.back();
  const int64_t per_item = std::min(tiles, kRowsPerItem / width);
  const int64_t blocks = (tiles + per_item - 1) / per_item;
  const int64_t chunks = (columns + kColumnsPerItem - 1) / kColumnsPerItem;
  Phase p;
  p.items = product(s.outer) * blocks * chunks;
  p.item_var = k.new_var();
  p.width = width;
  Elements e(k);
  bind_parameters(e, fused);
  const Index at = e.delinearize(g.index_var(p.item_var, std::max<int64_t>(p.items, 1)),
                                 {product(s.outer), blocks, chunks});
  const Scalar start = g.mul(at[2], e.index_const(kColumnsPerItem));
  const Scalar first_tile = g.mul(at[1], e.index_const(per_item));

  const int64_t most = std::min(columns, kColumnsPerItem), in_block = s.block > 0 ? s.block : most;
  auto vector = loop_over(k, LoopKind::kVector, in_block);
  auto tile_rows = loop_over(k, LoopKind::kSerial, per_item);
  if (tiles % per_item != 0)
    tile_rows->count = g.min(e.index_const(per_item), g.sub(e.index_const(tiles), first_tile));
  auto tile = loop_over(k, LoopKind::kTile, width);
  auto column_blocks = loop_over(k, LoopKind::kSerial, most / in_block);
  if (chunks > 1) {
    Loop& cut = s.block > 0 ? *column_blocks : *vector;
    const Scalar left = g.sub(e.index_const(columns), start);
    cut.count = g.min(e.index_const(cut.extent), s.block > 0 ? g.div(left, e.index_const(in_block)) : left);
  }

  const Scalar number = g.add(first_tile, g.index_var(tile_rows->var, per_item));
  const Scalar row = g.add(g.mul(number, e.index_const(width)), g.index_var(tile->var, width));
  Scalar column = g.add(start, g.index_var(vector->var, std::max<int64_t>(vector->extent, 1)));
  if (s.block > 0)
    column = g.add(column, g.mul(g.index_var(column_blocks->var, column_blocks->extent), e.index_const(in_block)));
  store_at(k, e, fused, s, e.delinearize(at[0], s.outer), row, column, &tile->body);
  p.grain = choose_grain(k, static_cast<double>(per_item * width * most));
  if (s.block > 0) {
    vector->body.push_back(make_loop(tile));
    tile_rows->body.push_back(make_loop(vector));
    column_blocks->body.push_back(make_loop(tile_rows));
    p.body.push_back(make_loop(column_blocks));
  } else {
    tile_rows->body.push_back(make_loop(tile));
    vector->body.push_back(make_loop(tile_rows));
    p.body.push_back(make_loop(vector));
  }
  k.phases.push_back(std::move(p));
  return e.status();
}

// The rows behind the last tile, an item each.
Status add_rest(Kernel& k, const Computation& fused, const Space& s, int width) {
  scalar::Graph& g = k.graph;
  const int64_t rows = s.dims[s.along] % width, first = s.dims[s.along] - rows;
  if (rows == 0) return absl::OkStatus();
  Phase p;
  p.items = product(s.outer) * rows;
  p.item_var = k.new_var();
  p.width = width;
  Elements e(k);
  bind_parameters(e, fused);
  const Index at = e.delinearize(g.index_var(p.item_var, std::max<int64_t>(p.items, 1)),
                                 {product(s.outer), rows});
  auto vector = loop_over(k, LoopKind::kVector, s.dims.back());
  store_at(k, e, fused, s, e.delinearize(at[0], s.outer), g.add(e.index_const(first), at[1]),
           g.index_var(vector->var, std::max<int64_t>(vector->extent, 1)), &vector->body);
  p.grain = choose_grain(k, static_cast<double>(vector->extent));
  p.body.push_back(make_loop(vector));
  k.phases.push_back(std::move(p));
  return e.status();
}

}  // namespace

bool lower_transpose(Kernel& k, const Computation& fused, const Facts& facts) {
  const Dims& dims = outputs(fused)[0]->shape.dims;
  if (dims.size() < 2 || product(dims) < kLeastTransposed) return false;
  int bytes = 1;
  for (const Buffer& b : k.buffers) bytes = std::max(bytes, byte_size(b.dtype));
  const int width = std::min(16, facts.lanes(bytes));
  Space s;
  s.dims = dims;
  s.along = read_along(k, fused, dims);
  if (s.along < 0 || width < 4 || dims[s.along] < width || dims.back() < width) return false;
  for (size_t d = 0; d + 1 < dims.size(); ++d)
    if (static_cast<int64_t>(d) != s.along) s.outer.push_back(dims[d]);
  s.block = columns_in_one_go(k, fused, s, bytes);
  Kernel out = k;
  if (!add_tiles(out, fused, s, width).ok() || !add_rest(out, fused, s, width).ok()) return false;
  k = std::move(out);
  return true;
}

}  // namespace braze::loop
