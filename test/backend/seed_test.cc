// SPDX-License-Identifier: Apache-2.0
// The seed example, reduce_sum(x + y*z), and its relatives: one kernel, right values.
#include "agree.h"

namespace braze {
namespace {

std::string seed(int64_t n) {
  std::string s = "f32[" + std::to_string(n) + "]";
  return "HloModule seed\n"
         "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
         "ENTRY main { x = " + s + " parameter(0)\n y = " + s + " parameter(1)\n z = " + s +
         " parameter(2)\n m = " + s + " multiply(y, z)\n s = " + s + " add(x, m)\n"
         " i = f32[] constant(0)\n ROOT r = f32[] reduce(s, i), dimensions={0}, to_apply=add }\n";
}

TEST(Seed, OneKernelAndRightValue) {
  for (int64_t n : {0, 1, 5, 64, 1000, 16384, 100003, 1 << 20}) {
    auto exe = agree(seed(n), 1e-5);
    ASSERT_NE(exe, nullptr);
    EXPECT_EQ(exe->stats().launches, 1) << n;
    EXPECT_EQ(exe->stats().library_calls, 0) << n;
    // No intermediate array, only the sums of the parts that threads take.
    EXPECT_LE(exe->stats().arena_bytes, 1024) << n;
    ASSERT_NE(exe->plan(), nullptr);
    EXPECT_EQ(exe->plan()->steps.size(), 1u) << n;
  }
}

// The first of a few parts is longer than the others: sizes around every bound, every element once.
TEST(Seed, EveryElementIsInOnePart) {
  for (const int64_t bound : {8192, 9088, 16384, 17280, 24576, 25472, 32768, 33664, 40960})
    for (const int64_t n : {bound - 127, bound - 1, bound, bound + 1, bound + 65}) {
      const std::string s = "s64[" + std::to_string(n) + "]";
      auto exe = agree("HloModule parts\nadd { a = s64[] parameter(0)\n b = s64[] parameter(1)\n ROOT r = s64[] add(a, b) }\n"
                       "ENTRY main { x = " + s + " iota(), iota_dimension=0\n p = " + s + " parameter(0)\n y = " + s +
                       " multiply(x, p)\n i = s64[] constant(3)\n r = s64[] reduce(y, i), dimensions={0}, to_apply=add\n b = " + s +
                       " broadcast(r), dimensions={}\n q = " + s + " subtract(p, b)\n ROOT t = (s64[], " + s + ") tuple(r, q) }\n", 0);
      ASSERT_NE(exe, nullptr) << n;
    }
}

TEST(Seed, ThreadsDoNotChangeBits) {
  auto m = parse_hlo(seed(1 << 20));
  ASSERT_TRUE(m.ok());
  std::vector<Literal> args;
  for (int k = 0; k < 3; ++k) args.push_back(ramp(Shape::array(Dtype::kF32, {1 << 20}), 0.01 * (k + 1), -0.4));
  Literal first;
  for (int threads : {1, 2, 3}) {
    CompileOptions o;
    o.threads = threads;
    auto exe = compile((*m)->clone(), o);
    ASSERT_TRUE(exe.ok()) << exe.status();
    auto got = (*exe)->run(args);
    ASSERT_TRUE(got.ok()) << got.status();
    if (threads == 1) first = *got;
    EXPECT_TRUE(*got == first);
  }
}

TEST(Rows, ReductionsOverAnyDimension) {
  for (std::string dims : {"0", "1", "2", "0,1", "1,2", "0,2", "0,1,2"}) {
    std::string out = dims == "0" ? "5,37" : dims == "1" ? "3,37" : dims == "2" ? "3,5"
                      : dims == "0,1" ? "37" : dims == "1,2" ? "3" : dims == "0,2" ? "5" : "";
    auto exe = agree("HloModule r\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
                     "ENTRY main { x = f32[3,5,37] parameter(0)\n y = f32[3,5,37] multiply(x, x)\n i = f32[] constant(2)\n ROOT r = f32[" +
                         out + "] reduce(y, i), dimensions={" + dims + "}, to_apply=add }\n", 1e-5);
    ASSERT_NE(exe, nullptr);
    EXPECT_EQ(exe->stats().launches, 1) << dims;
  }
}

TEST(Dot, WithEpilogue) {
  auto exe = agree(
      "HloModule d\nENTRY main { x = f32[33,70] parameter(0)\n w = f32[70,45] parameter(1)\n b = f32[45] parameter(2)\n"
      " d = f32[33,45] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      " bb = f32[33,45] broadcast(b), dimensions={1}\n s = f32[33,45] add(d, bb)\n z = f32[] constant(0)\n"
      " zz = f32[33,45] broadcast(z), dimensions={}\n ROOT r = f32[33,45] maximum(s, zz) }\n", 1e-5);
  ASSERT_NE(exe, nullptr);
  EXPECT_EQ(exe->stats().launches, 1);
}

TEST(Control, LoopUpdatesInPlace) {
  auto exe = agree(
      "HloModule w\n"
      "cond { s = (s32[], f32[8]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(8)\n"
      " ROOT r = pred[] compare(i, n), direction=LT }\n"
      "body { s = (s32[], f32[8]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
      " x = f32[8] get-tuple-element(s), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)\n"
      " e = f32[1] dynamic-slice(x, i), dynamic_slice_sizes={1}\n two = f32[1] add(e, e)\n"
      " u = f32[8] dynamic-update-slice(x, two, i)\n ROOT t = (s32[], f32[8]) tuple(j, u) }\n"
      "ENTRY main { x = f32[8] parameter(0)\n i = s32[] constant(0)\n t = (s32[], f32[8]) tuple(i, x)\n"
      " w = (s32[], f32[8]) while(t), condition=cond, body=body\n ROOT r = f32[8] get-tuple-element(w), index=1 }\n", 1e-6);
  ASSERT_NE(exe, nullptr);
}

}  // namespace
}  // namespace braze
