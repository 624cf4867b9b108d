// SPDX-License-Identifier: Apache-2.0
// Results in the memory of donated arguments: which may be, and that they are right.
#include "plan/share.h"

#include <cstring>

#include "backend/compile.h"
#include "backend/read_module.h"
#include "gtest/gtest.h"

namespace braze {
namespace {

// Runs `hlo` with and without each pair in one memory; gives whether pair (argument, result) may share.
struct Shared {
  std::unique_ptr<Executable> x;
  explicit Shared(const char* hlo) {
    auto m = read_module(hlo);
    EXPECT_TRUE(m.ok()) << m.status();
    auto e = compile(std::move(*m));
    EXPECT_TRUE(e.ok()) << e.status();
    x = std::move(*e);
  }
  static std::vector<char> numbers(const Shape& s, int seed) {
    Literal l(s);
    for (int64_t i = 0; i < l.elements(); ++i) {
      if (is_float(s.dtype)) l.set_float(i, (i * 7 + seed * 3) % 11 - 4.5);
      else l.set_int(i, (i + seed) % 5);
    }
    return {l.bytes(), l.bytes() + l.size_bytes()};
  }
  bool may(int64_t argument, int64_t result) {
    const bool allowed = may_share(*x->plan(), argument, result);
    if (allowed) check(argument, result);
    return allowed;
  }
  void check(int64_t argument, int64_t result) {
    std::vector<std::vector<char>> in, alone, shared;
    std::vector<Shape> results = leaves(x->result());
    for (const Shape& p : x->parameters()) in.push_back(numbers(p, static_cast<int>(in.size())));
    for (const Shape& s : results) alone.emplace_back(s.bytes());
    shared = alone;
    run(in, alone, -1, -1);
    run(in, shared, argument, result);
    shared[result] = in[argument];
    EXPECT_EQ(alone, shared);
  }
  void run(std::vector<std::vector<char>>& in, std::vector<std::vector<char>>& out, int64_t argument,
           int64_t result) {
    std::vector<const void*> from;
    std::vector<void*> to;
    for (auto& b : in) from.push_back(b.data());
    for (auto& b : out) to.push_back(b.data());
    if (result >= 0) to[result] = in[argument].data();
    EXPECT_TRUE(x->run_raw(from, absl::MakeSpan(to)).ok());
  }
};

TEST(Share, ElementwiseUpdates) {
  Shared s(R"(HloModule m
ENTRY e {
  p = f32[1000] parameter(0)
  g = f32[1000] parameter(1)
  c = f32[] constant(0.1)
  b = f32[1000] broadcast(c), dimensions={}
  m = f32[1000] multiply(b, g)
  ROOT r = f32[1000] subtract(p, m)
})");
  EXPECT_TRUE(s.may(0, 0));
  EXPECT_TRUE(s.may(1, 0));
}

TEST(Share, NotWhereElementsMove) {
  Shared reversed(R"(HloModule m
ENTRY e {
  p = f32[1000] parameter(0)
  n = f32[1000] negate(p)
  ROOT r = f32[1000] reverse(n), dimensions={0}
})");
  EXPECT_FALSE(reversed.may(0, 0));
  Shared both(R"(HloModule m
ENTRY e {
  p = f32[8,8] parameter(0)
  t = f32[8,8] transpose(p), dimensions={1,0}
  ROOT r = f32[8,8] add(p, t)
})");
  EXPECT_FALSE(both.may(0, 0));
}

TEST(Share, NotWhereTheArgumentIsReadLater) {
  Shared s(R"(HloModule m
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }
ENTRY e {
  p = f32[64] parameter(0)
  zero = f32[] constant(0)
  d = f32[64] sort(p), dimensions={0}, to_apply=less
  a = f32[64] add(p, d)
  t = f32[] reduce(a, zero), dimensions={0}, to_apply=add
  b = f32[64] broadcast(t), dimensions={}
  q = f32[64] multiply(p, b)
  ROOT r = (f32[64], f32[64]) tuple(d, q)
}
less { x = f32[] parameter(0) y = f32[] parameter(1) ROOT l = pred[] compare(x, y), direction=LT }
)");
  EXPECT_FALSE(s.may(0, 0));
  s.may(0, 1);
}

TEST(Share, UpdatesOfSlices) {
  Shared s(R"(HloModule m
ENTRY e {
  cache = f32[64,16] parameter(0)
  row = f32[1,16] parameter(1)
  i = s32[] parameter(2)
  zero = s32[] constant(0)
  ROOT r = f32[64,16] dynamic-update-slice(cache, row, i, zero)
})");
  EXPECT_TRUE(s.may(0, 0));
}

TEST(Share, SeveralResults) {
  Shared s(R"(HloModule m
ENTRY e {
  p = f32[300] parameter(0)
  m = f32[300] parameter(1)
  g = f32[300] parameter(2)
  k = f32[] constant(0.9)
  kb = f32[300] broadcast(k), dimensions={}
  mk = f32[300] multiply(m, kb)
  m2 = f32[300] add(mk, g)
  p2 = f32[300] subtract(p, m2)
  ROOT r = (f32[300], f32[300]) tuple(p2, m2)
})");
  EXPECT_TRUE(s.may(0, 0));
  s.may(1, 1);  // whatever the answer, sharing must not change results
  s.may(2, 1);
  s.may(2, 0);
}

TEST(Share, NotAProduct) {
  Shared s(R"(HloModule m
ENTRY e {
  p = f32[32,32] parameter(0)
  q = f32[32,32] parameter(1)
  ROOT r = f32[32,32] dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})");
  EXPECT_FALSE(s.may(0, 0));
}

// What reads a table runs before the update of it, though the result names it later.
TEST(Share, ReadersGoBeforeTheUpdate) {
  Shared s(R"(HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }
add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }
ENTRY e {
  table = f32[50,16] parameter(0)
  at = s32[9,1] parameter(1)
  change = f32[9,16] parameter(2)
  updated = f32[50,16] scatter(table, at, change), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
  rows = f32[9,16] gather(table, at), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,16}
  both = f32[9,16] multiply(rows, change)
  ROOT r = (f32[50,16], f32[9,16]) tuple(updated, both)
})");
  EXPECT_TRUE(s.may(0, 0));
}

// An argument that is kept is copied before the update of it; large ones by all threads, in pieces.
TEST(Share, CopiesOfLargeArguments) {
  for (int64_t n : {131071, 131073, 300001}) {
    const std::string x = str_cat("f32[", n, "]");
    Shared s(str_cat("HloModule m\nENTRY e {\n  x = ", x, " parameter(0)\n  u = f32[3] parameter(1)\n  i = s32[] parameter(2)\n  ROOT r = ", x,
                     " dynamic-update-slice(x, u, i)\n}\n").c_str());
    std::vector<std::vector<char>> in, out{std::vector<char>(static_cast<size_t>(4 * n))};
    for (const Shape& p : s.x->parameters()) in.push_back(Shared::numbers(p, 3));
    s.run(in, out, -1, -1);
    int32_t at = 0;
    std::memcpy(&at, in[2].data(), 4);
    std::memcpy(in[0].data() + 4 * at, in[1].data(), 12);
    EXPECT_EQ(in[0], out[0]);
  }
}

int64_t large_copies(const Plan& p, const PlanSteps& steps) {
  int64_t n = 0;
  for (const PlanStep& s : steps) {
    n += s.kind == PlanStep::Kind::kCopy && p.buffers[s.inputs[0]].shape.bytes() >= 1000;
    for (const PlanSteps& inner : s.nested) n += large_copies(p, inner);
  }
  return n;
}

// In a loop: one row is read and another one written, in place; a reader of the new rows stays behind.
TEST(Share, LoopsReadBeforeTheyUpdate) {
  Shared s(R"(HloModule m
cond { s = (s32[], f32[64,16], f32[1,16]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(63) ROOT l = pred[] compare(i, n), direction=LT }
body {
  s = (s32[], f32[64,16], f32[1,16]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  zero = s32[] constant(0)
  j = s32[] add(i, one)
  x = f32[64,16] get-tuple-element(s), index=1
  sum = f32[1,16] get-tuple-element(s), index=2
  u = f32[64,16] dynamic-update-slice(x, sum, i, zero)
  c = f32[64,16] sort(x), dimensions={0}, to_apply=less
  old = f32[1,16] dynamic-slice(c, j, zero), dynamic_slice_sizes={1,16}
  new = f32[1,16] dynamic-slice(u, i, zero), dynamic_slice_sizes={1,16}
  t = f32[1,16] subtract(old, new)
  ROOT r = (s32[], f32[64,16], f32[1,16]) tuple(j, u, t)
}
less { x = f32[] parameter(0) y = f32[] parameter(1) ROOT l = pred[] compare(x, y), direction=LT }
ENTRY e {
  x = f32[64,16] parameter(0)
  row = f32[1,16] parameter(1)
  zero = s32[] constant(0)
  state = (s32[], f32[64,16], f32[1,16]) tuple(zero, x, row)
  loop = (s32[], f32[64,16], f32[1,16]) while(state), condition=cond, body=body
  y = f32[64,16] get-tuple-element(loop), index=1
  sum = f32[1,16] get-tuple-element(loop), index=2
  ROOT r = (f32[64,16], f32[1,16]) tuple(y, sum)
})");
  const Plan& p = *s.x->plan();
  for (const PlanStep& step : p.steps)
    if (step.kind == PlanStep::Kind::kWhile) {
      EXPECT_EQ(large_copies(p, step.nested[1]), 0);
    }
}

}  // namespace
}  // namespace braze
