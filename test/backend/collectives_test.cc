// SPDX-License-Identifier: Apache-2.0
// Collectives among several processes, in each of their ways to number groups; channels and feeds.
#include <thread>

#include "backend/conformance.h"
#include "test/eval/program.h"

namespace braze {
namespace {

struct GridProgram {
  Module* module = nullptr;
  std::vector<Literal> args;
};

// Runs program r·partitions + p as replica r, partition p, each on a thread; results by process.
Result<std::vector<Literal>> run_grid(std::vector<GridProgram> programs, int64_t replicas,
                                      int64_t partitions, std::vector<Literal> feed = {}) {
  auto grid = make_grid(replicas, partitions, std::move(feed));
  for (const GridProgram& p : programs) {
    p.module->num_replicas = replicas;
    p.module->num_partitions = partitions;
  }
  std::vector<Result<Literal>> results(programs.size(), Result<Literal>(internal("did not run")));
  std::vector<std::thread> threads;
  for (size_t k = 0; k < programs.size(); ++k)
    threads.emplace_back([&, k] {
      const auto at = static_cast<int64_t>(k);
      auto world = grid_world(grid, at / partitions, at % partitions);
      EvalOptions options;
      options.world = world.get();
      results[k] = evaluate(*programs[k].module->entry(), programs[k].args, options);
    });
  for (std::thread& t : threads) t.join();
  std::vector<Literal> out;
  for (Result<Literal>& r : results) {
    if (!r.ok()) return r.status();
    out.push_back(*r);
  }
  return out;
}

// A program of one parameter whose root is `op` of it.
struct Collective : Program {
  Collective(Op op, const Shape& in, CollectiveAttrs a, const Shape* result = nullptr, Op combiner = Op::kAdd) {
    Instr* x = b.parameter(0, in);
    std::vector<Computation*> calls;
    if (op == Op::kAllReduce || op == Op::kReduceScatter) calls.push_back(b.combiner(combiner, in.dtype));
    Instr* i = result ? b.op_shaped(op, *result, {x}, a, calls) : b.op(op, {x}, a, calls);
    module.entry()->set_root(i);
    EXPECT_TRUE(b.status().ok()) << b.status();
  }
  // Every process holds its own list; all of them run this program.
  Result<std::vector<std::vector<int64_t>>> run_all(std::vector<std::vector<int64_t>> in, int64_t replicas,
                                                    int64_t partitions) {
    const Shape& s = module.entry()->params()[0]->shape;
    std::vector<GridProgram> programs;
    for (const auto& v : in) {
      Literal l(s);
      for (size_t i = 0; i < v.size(); ++i) l.set_int(i, v[i]);
      programs.push_back({&module, {l}});
    }
    ASSIGN(const std::vector<Literal> out, run_grid(programs, replicas, partitions));
    std::vector<std::vector<int64_t>> values;
    for (const Literal& l : out) {
      values.emplace_back();
      for (int64_t i = 0; i < l.elements(); ++i) values.back().push_back(l.get_int(i));
    }
    return values;
  }
};

using Lists = std::vector<std::vector<int64_t>>;

void expect_lists(const Result<Lists>& got, const Lists& want) {
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, want);
}

const Shape kPair = Shape::array(Dtype::kS64, {2});

TEST(ProcessGrid, AllGather) {
  CollectiveAttrs a;
  a.replica_groups = {{0, 2}, {3, 1}};
  Collective p(Op::kAllGather, kPair, a);
  expect_lists(p.run_all({{1, 2}, {3, 4}, {5, 6}, {7, 8}}, 4, 1),
               {{1, 2, 5, 6}, {7, 8, 3, 4}, {1, 2, 5, 6}, {7, 8, 3, 4}});
}

TEST(ProcessGrid, AllReduceByReplicaByBothAndByDevice) {
  CollectiveAttrs a;
  a.replica_groups = {{0, 1}};
  Collective replicas(Op::kAllReduce, kPair, a);
  expect_lists(replicas.run_all({{1, 2}, {10, 20}, {3, 4}, {30, 40}}, 2, 2),
               {{4, 6}, {40, 60}, {4, 6}, {40, 60}});
  a.channel_id = 1;
  Collective both(Op::kAllReduce, kPair, a);
  expect_lists(both.run_all({{1, 2}, {10, 20}, {3, 4}, {30, 40}}, 2, 2), Lists(4, {44, 66}));
  a.use_global_device_ids = true;
  a.replica_groups = {{0, 3}, {1, 2}};
  Collective devices(Op::kAllReduce, kPair, a);
  expect_lists(devices.run_all({{1, 2}, {10, 20}, {3, 4}, {30, 40}}, 2, 2),
               {{31, 42}, {13, 24}, {13, 24}, {31, 42}});
}

TEST(ProcessGrid, ReduceScatter) {
  CollectiveAttrs a;
  a.replica_groups = {{0, 1}};
  Collective p(Op::kReduceScatter, Shape::array(Dtype::kS64, {4}), a);
  expect_lists(p.run_all({{1, 2, 3, 4}, {10, 20, 30, 40}}, 2, 1), {{11, 22}, {33, 44}});
}

TEST(ProcessGrid, AllToAll) {
  CollectiveAttrs a;
  a.replica_groups = {{0, 1}};
  a.dimension = 1;
  a.concat_dimension = 0;
  Collective p(Op::kAllToAll, Shape::array(Dtype::kS64, {1, 4}), a);
  expect_lists(p.run_all({{1, 2, 3, 4}, {5, 6, 7, 8}}, 2, 1), {{1, 2, 5, 6}, {3, 4, 7, 8}});
}

TEST(ProcessGrid, BroadcastAndPermute) {
  CollectiveAttrs a;
  a.replica_groups = {{2, 1}};
  Collective b(Op::kCollectiveBroadcast, kPair, a);
  expect_lists(b.run_all({{1, 2}, {3, 4}, {5, 6}}, 3, 1), {{0, 0}, {5, 6}, {5, 6}});
  CollectiveAttrs c;
  c.channel_id = 7;  // partitions
  c.source_target_pairs = {{0, 1}, {1, 2}};
  Collective p(Op::kCollectivePermute, kPair, c);
  expect_lists(p.run_all({{1, 2}, {3, 4}, {5, 6}}, 1, 3), {{0, 0}, {1, 2}, {3, 4}});
}

TEST(ProcessGrid, Ids) {
  Program p;
  Instr* r = p.b.op(Op::kReplicaId, {});
  Instr* ten = p.b.constant(Literal::scalar_int(Dtype::kU32, 10));
  p.module.entry()->set_root(p.b.add(p.b.mul(r, ten), p.b.op(Op::kPartitionId, {})));
  auto out = run_grid(std::vector<GridProgram>(6, {&p.module, {}}), 2, 3);
  ASSERT_TRUE(out.ok()) << out.status();
  std::vector<int64_t> ids;
  for (const Literal& l : *out) ids.push_back(l.get_int(0));
  EXPECT_EQ(ids, (std::vector<int64_t>{0, 1, 2, 10, 11, 12}));
}

TEST(ProcessGrid, SendAndReceive) {
  const ChannelAttrs channel{.channel_id = 3};
  Program from, to;
  Instr* sent = from.b.op(Op::kSend, {from.ints({2}, {4, 5}), from.b.op(Op::kAfterAll, {})}, channel);
  from.module.entry()->set_root(from.b.op(Op::kSendDone, {sent}, channel));
  const Shape state = Shape::tuple_of({kPair, Shape::scalar(Dtype::kU32), Shape::token()});
  Instr* got = to.b.op_shaped(Op::kRecv, state, {to.b.op(Op::kAfterAll, {})}, channel);
  to.module.entry()->set_root(to.b.element(to.b.op(Op::kRecvDone, {got}, channel), 0));
  ASSERT_TRUE(from.b.status().ok()) << from.b.status();
  ASSERT_TRUE(to.b.status().ok()) << to.b.status();
  auto out = run_grid({{&to.module, {}}, {&from.module, {}}}, 2, 1);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(int_values((*out)[0]), (std::vector<int64_t>{4, 5}));
}

TEST(ProcessGrid, Infeed) {
  Program p;
  const Shape fed = Shape::tuple_of({kPair, Shape::token()});
  Instr* in = p.b.op_shaped(Op::kInfeed, fed, {p.b.op(Op::kAfterAll, {})}, ChannelAttrs{});
  p.module.entry()->set_root(p.b.add(p.b.element(in, 0), p.b.element(in, 0)));
  ASSERT_TRUE(p.b.status().ok()) << p.b.status();
  auto out = run_grid({{&p.module, {}}}, 1, 1, {Literal::of(Dtype::kS64, {2}, {3, 4})});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(int_values((*out)[0]), (std::vector<int64_t>{6, 8}));
  EXPECT_FALSE(run_grid({{&p.module, {}}}, 1, 1).ok()) << "the feed is empty";
}

TEST(ProcessGrid, NamesAProcessOutOfRange) {
  CollectiveAttrs a;
  a.replica_groups = {{0, 5}};
  Collective p(Op::kAllReduce, kPair, a);
  EXPECT_NE(p.run_all({{1, 2}, {3, 4}}, 2, 1).status().message().find("0 <= replica_groups < 2"),
            std::string::npos);
}

// ---- laws ----

Status law_of(Op op, const Shape& in, const CollectiveAttrs& a, const Shape* result = nullptr) {
  Program p;
  Instr* x = p.b.parameter(0, in);
  std::vector<Computation*> calls;
  if (op == Op::kAllReduce || op == Op::kReduceScatter) calls.push_back(p.b.combiner(Op::kAdd, in.dtype));
  if (result) p.b.op_shaped(op, *result, {x}, a, calls);
  else p.b.op(op, {x}, a, calls);
  return p.b.status();
}

void expect_law(const Status& s, std::string_view part) {
  EXPECT_NE(s.message().find(absl::string_view(part.data(), part.size())), std::string::npos) << s;
}

TEST(Collectives, Laws) {
  CollectiveAttrs a;
  a.replica_groups = {{0, 1}};
  a.dimension = 1;
  expect_law(law_of(Op::kAllGather, kPair, a), "stablehlo.all_gather (C1)");
  expect_law(law_of(Op::kReduceScatter, kPair, a), "stablehlo.reduce_scatter (C2)");
  expect_law(law_of(Op::kAllToAll, kPair, a), "stablehlo.all_to_all (C1)");
  a.dimension = 0;
  expect_law(law_of(Op::kReduceScatter, Shape::array(Dtype::kS64, {3}), a), "stablehlo.reduce_scatter (C1)");
  expect_law(law_of(Op::kAllToAll, Shape::array(Dtype::kS64, {3}), a), "stablehlo.all_to_all (C2)");
  const Shape wrong = Shape::array(Dtype::kS64, {5});
  expect_law(law_of(Op::kAllGather, kPair, a, &wrong), "result shape");
  a.replica_groups = {{0, 0}};
  expect_law(law_of(Op::kAllGather, kPair, a), "stablehlo.all_gather (C2)");
  expect_law(law_of(Op::kAllReduce, kPair, a), "stablehlo.all_reduce (C1)");
  a.replica_groups = {{0, 1}};
  a.use_global_device_ids = true;
  expect_law(law_of(Op::kAllReduce, kPair, a), "stablehlo.all_reduce (C4)");
  CollectiveAttrs c;
  c.source_target_pairs = {{0, 1}, {0, 2}};
  expect_law(law_of(Op::kCollectivePermute, kPair, c), "stablehlo.collective_permute (C2)");
  c.source_target_pairs = {{0, 1}, {2, 1}};
  expect_law(law_of(Op::kCollectivePermute, kPair, c), "stablehlo.collective_permute (C3)");
  c.source_target_pairs = {{0, -1}};
  expect_law(law_of(Op::kCollectivePermute, kPair, c), "stablehlo.collective_permute (C4)");
}

}  // namespace
}  // namespace braze
