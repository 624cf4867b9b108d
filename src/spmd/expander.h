// SPDX-License-Identifier: Apache-2.0
// Expander: the rewriting behind expand.h, one instruction of the old module at a time.
//
// A value of the old module becomes a Value: one instruction of all devices, one for each device, or for a
// tuple a Value for each part. Equal instructions mean equal values: what is made from equal operands is
// made once, so comparing pointers tells what devices share.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ops/builder.h"
#include "ops/collectives.h"
#include "spmd/expand.h"
#include "spmd/propagate.h"
#include "spmd/tiling.h"

namespace braze::spmd {

class Expander;
struct Body;

// Results that are handed out in tiles are computed in tiles as far as elementwise ops lead to them and
// nobody needs the whole:
//
//   slice_k(concat(p0, p1, …) - lr * g)   =>   p_k - lr * slice_k(g)
class TileWise {
 public:
  TileWise(Expander& x, Body& body) : x_(x), body_(body) {}
  // First all results, then choose().
  void add(Instr* result, const Tiling* t);
  void choose();
  // Tile k of a value; the slice of one that is not computed in tiles.
  Instr* tile(Instr* i, const Tiling& t, int64_t k);

 private:
  bool fits(Instr* i, const Tiling** t) const;
  Instr* broadcast(Instr* i, const Shape& tile, const Dims& start);
  Instr* iota(Instr* i, const Shape& tile, const Dims& start);
  Expander& x_;
  Body& body_;
  absl::flat_hash_map<const Instr*, const Tiling*> results_, chosen_;
  absl::flat_hash_set<const Instr*> whole_;  // results that are cut in two ways
  std::map<std::pair<Instr*, int64_t>, Instr*> made_;
  std::map<std::pair<Instr*, Dims>, Instr*> filled_;  // by where and how large the part is
};

struct Value {
  std::vector<Instr*> copies;  // one, or one for each device
  std::vector<Value> parts;
  bool tuple = false;  // `parts` hold, not `copies`

  bool same() const { return !tuple && copies.size() == 1; }
  Instr* of(int64_t device) const { return copies[copies.size() == 1 ? 0 : device]; }
};

// A computation being written, with what was already made in it.
struct Body {
  explicit Body(Computation* c) : b(c) {}
  Builder b;
  std::map<std::pair<Instr*, int64_t>, Instr*> elements;
  std::map<std::vector<Instr*>, Instr*> tuples;
  std::map<std::pair<Instr*, std::vector<int64_t>>, Instr*> slices;
  std::map<std::pair<Dims, std::vector<Instr*>>, Instr*> assembled;
  std::map<std::pair<Dtype, int64_t>, Instr*> numbers;
  std::map<std::pair<Op, std::vector<Instr*>>, Instr*> sums;
  struct Terms {
    Tiling tiling;
    std::vector<Instr*> copies;  // by device
  };
  std::map<Instr*, Terms> terms;  // of sums that manual regions gave as unreduced values
};

// Which devices share a value: equal numbers, counted from 0 in order of first occurrence.
using Classes = std::vector<int64_t>;

class Expander {
 public:
  Expander(Module& m, MeshTable meshes)
      : module_(m), meshes_(std::move(meshes)), replicas_(m.num_replicas), partitions_(m.num_partitions) {}

  int64_t devices() const { return replicas_ * partitions_; }
  const MeshTable& meshes() const { return meshes_; }
  // How operands lie of calls that ask for it, and who else hears of it.
  void set_calls(CallTilings calls, std::function<Status(const Instr&, const Tiling&)> inspect) {
    calls_ = std::move(calls);
    inspect_ = std::move(inspect);
  }

  // The value of `c` on `arguments`, written into `body`.
  Result<Value> expand(Body& body, const Computation& c, absl::Span<const Value> arguments);

  // Tile of x; looks through concatenations.
  Instr* slice(Body& body, Instr* x, const Dims& start, const Dims& sizes);
  // The array whose tiles these are.
  Instr* assemble(Body& body, absl::Span<Instr* const> tiles, const Dims& counts);
  // Device d's part of x: its tile, as the first term of an unreduced one.
  Instr* piece(Body& body, Instr* x, const Shape& tile, const Tiling& t, int64_t d);
  // What device d sees of the whole, if copy k is what device k holds of it.
  Instr* gather(Body& body, absl::Span<Instr* const> copies, const Tiling& t, int64_t d);
  Value part(Body& body, const Value& v, int64_t k);
  // One instruction for all, or one for each device, of tuples too.
  std::vector<Instr*> whole(Body& body, const Value& v);

 private:
  using Values = absl::flat_hash_map<const Instr*, Value>;

  Result<Value> instruction(Body& body, Values& values, const Instr& i);
  Result<Value> generic(Body& body, const Values& values, const Instr& i);
  Instr* clone(Body& body, const Instr& i, absl::Span<Instr* const> operands);
  Result<Value> placed_call(Body& body, const Values& values, const Instr& i);
  Value barrier(Body& body, const Value& v, const Instr& i);
  bool has_device_ops(const Computation& c);
  bool has_device_ops(const Instr& i);

  // manual.cc: borders of manual regions
  Result<Tiling> border_tiling(const Instr& i, bool entering);
  Result<Value> enter_manual(Body& body, const Value& v, const Instr& i);
  Result<Value> leave_manual(Body& body, const Value& v, const Instr& i);

  // collectives.cc
  struct Exchange {
    std::vector<ProcessGroup> groups;  // by device
    std::vector<std::vector<int64_t>> members;  // by device: devices of its group
  };
  Result<Exchange> exchange(const Instr& i);
  Result<Value> collective(Body& body, const Values& values, const Instr& i);
  Result<std::vector<Instr*>> collective_operand(Body& body, const Instr& i, const Exchange& e,
                                                 const std::vector<Instr*>& v);
  Instr* combine(Body& body, const Instr& i, const std::vector<Instr*>& members);
  Value device_number(Body& body, const Instr& i);
  Instr* zeros(Body& body, const Shape& s);

  // terms.cc
  Instr* cut(Body& body, Instr* x, int64_t dim, int64_t count, int64_t k);
  Instr* term(Body& body, Instr* x, int64_t count, int64_t k);
  Instr* scatter_term(Body& body, Instr* x, int64_t count, int64_t k);
  bool part_into_terms(Body& body, Instr* x, const Shape& tile, const Tiling& t);

  // control.cc
  struct Loop;
  Result<Value> loop(Body& body, const Value& state, const Instr& i);
  Status loop_round(const Instr& i, Loop* l);
  Result<Value> branch(Body& body, const Values& values, const Instr& i);
  Result<Value> branch_same(Body& body, const Values& values, const Instr& i, Instr* which);
  Result<Value> branch_each(Body& body, const Values& values, const Instr& i);
  Value chosen(Body& body, const std::vector<Instr*>& condition, const Value& yes, const Value& no);
  Instr* masked(Body& body, Instr* condition, Instr* yes, Instr* no);
  Classes classes_of(const Value& v) const;

  Module& module_;
  MeshTable meshes_;
  int64_t replicas_, partitions_;
  CallTilings calls_;
  std::function<Status(const Instr&, const Tiling&)> inspect_;
  int64_t made_ = 0;
  int depth_ = 0;
  absl::flat_hash_map<const Computation*, bool> has_device_ops_;
};

}  // namespace braze::spmd
