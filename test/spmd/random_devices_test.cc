// SPDX-License-Identifier: Apache-2.0
// Random modules as programs of several replicas, with collectives between them and device numbers in their
// loops and branches: expanded, they give the bits that each device gives by itself.
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "analysis/verify.h"
#include "backend/conformance.h"
#include "eval/evaluator.h"
#include "ops/builder.h"
#include "passes/inline_calls.h"
#include "spmd/expand.h"
#include "test/fuzz/random_module.h"
#include "text/print.h"

namespace braze {
namespace {

constexpr int64_t kReplicas = 3;

std::string bytes_of(const Literal& l) {
  if (!l.shape().is_tuple()) return std::string(static_cast<const char*>(l.bytes()), l.size_bytes());
  std::string out;
  for (const Literal& p : l.parts()) out += bytes_of(p);
  return out;
}

void replace_but(Computation* c, Instr* old_value, Instr* value, Instr* keep) {
  const std::vector<Instr*> users = old_value->users;
  for (Instr* u : users)
    for (size_t k = 0; u != keep && k < u->operands.size(); ++k)
      if (u->operands[k] == old_value) c->set_operand(u, static_cast<int64_t>(k), value);
  if (c->root() == old_value) c->set_root(value);
}

bool is_plain_f32(const Instr& i) {
  return i.shape.is_array() && i.shape.is_static() && !i.shape.has_bounded_dim() &&
         i.shape.dtype == Dtype::kF32 && i.shape.layout.empty();
}

// In place of a value: what a collective makes of it.
void add_collective(std::mt19937_64& rng, Computation* c) {
  std::vector<Instr*> values;
  for (const auto& i : c->instrs())
    if (is_plain_f32(*i)) values.push_back(i.get());
  if (values.empty()) return;
  Instr* x = values[rng() % values.size()];
  Builder b(c);
  CollectiveAttrs a;
  Instr* y = nullptr;
  if (rng() % 2) {
    a.source_target_pairs = {{0, 1}, {1, 2}, {2, 0}};
    if (rng() % 2) a.source_target_pairs.pop_back();
    y = b.op(Op::kCollectivePermute, {x}, a);
  } else {
    a.replica_groups = {{2, 0, 1}};
    if (rng() % 2) a.replica_groups = {{1, 2}, {0}};
    y = b.op(Op::kAllReduce, {x}, a, {b.combiner(Op::kAdd, Dtype::kF32)});
  }
  if (b.status().ok()) replace_but(c, x, y, y);
}

// In place of a value: the value plus the replica's number.
void add_number(std::mt19937_64& rng, Computation* c) {
  std::vector<Instr*> values;
  for (const auto& i : c->instrs())
    if (is_plain_f32(*i)) values.push_back(i.get());
  if (values.empty()) return;
  Instr* x = values[rng() % values.size()];
  Builder b(c);
  Instr* id = b.convert(Dtype::kF32, b.op_shaped(Op::kReplicaId, Shape::scalar(Dtype::kU32), {}));
  if (x->shape.rank() > 0) id = b.broadcast(id, x->shape.dims, {});
  Instr* y = b.add(x, id);
  if (b.status().ok()) replace_but(c, x, y, y);
}

bool is_usable(const Module& m) {
  for (const Computation* c : computation_post_order(m))
    for (const auto& i : c->instrs())
      if (i->is(Op::kRng) || i->is(Op::kRngState) || i->is(Op::kInfeed) || i->is(Op::kOutfeed) ||
          i->is(Op::kSend) || i->is(Op::kRecv) || def(*i).has(kCollective) || i->shape.has_bounded_dim())
        return false;
  return true;
}

Literal changed(const Literal& l, int64_t replica) {
  if (!l.shape().is_array() || l.dtype() != Dtype::kF32) return l;
  Literal out = l;
  for (int64_t k = 0; k < out.elements(); ++k)
    out.set_float(k, l.get_float(k) * (1 - 0.75 * static_cast<double>(replica)));
  return out;
}

TEST(RandomDevices, AsEachByItself) {
  int checked = 0, device_loops = 0;
  for (uint64_t seed = 1; seed <= 250; ++seed) {
    fuzz::Case c = fuzz::random_case(seed);
    if (!c.module || !inline_calls(*c.module).ok() || !is_usable(*c.module)) continue;
    Module& m = *c.module;
    std::mt19937_64 rng(seed);
    for (int k = 0; k < 2; ++k) add_collective(rng, m.entry());
    for (Computation* called : computation_post_order(m))
      for (const auto& i : called->instrs()) {
        if (i->is(Op::kConditional)) add_number(rng, i->calls[0]);
        if (i->is(Op::kWhile)) add_number(rng, i->calls[1]), ++device_loops;
      }
    m.num_replicas = kReplicas;
    ASSERT_TRUE(verify(m).ok()) << seed << verify(m);
    std::vector<std::vector<Literal>> args(kReplicas);
    std::vector<Literal> flat;
    for (const Literal& l : c.args)
      for (int64_t r = 0; r < kReplicas; ++r) {
        args[r].push_back(changed(l, r));
        flat.push_back(args[r].back());
      }
    std::vector<Result<Literal>> want(kReplicas, Literal());
    auto grid = make_grid(kReplicas, 1, {});
    std::vector<std::thread> threads;
    for (int64_t r = 0; r < kReplicas; ++r)
      threads.emplace_back([&, r] {
        auto world = grid_world(grid, r, 0);
        EvalOptions o;
        o.world = world.get();
        want[r] = evaluate(m, args[r], o);
      });
    for (std::thread& t : threads) t.join();
    bool ok = true;
    for (const auto& w : want) ok &= w.ok();
    if (!ok) continue;
    auto expanded = spmd::expand_devices(m);
    ASSERT_TRUE(expanded.ok()) << seed << " " << expanded.status();
    ASSERT_TRUE(verify(m).ok()) << seed << " " << verify(m);
    auto got = evaluate(m, flat);
    ASSERT_TRUE(got.ok()) << seed << " " << got.status();
    for (int64_t r = 0; r < kReplicas; ++r)
      EXPECT_EQ(bytes_of(got->parts()[r]), bytes_of(*want[r])) << "seed " << seed << " replica " << r;
    ++checked;
  }
  EXPECT_GE(checked, 150);
  EXPECT_GE(device_loops, 10);
}

}  // namespace
}  // namespace braze
