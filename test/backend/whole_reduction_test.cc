// SPDX-License-Identifier: Apache-2.0
// Reductions to few elements together with what is as large as their operand: one kernel, all threads,
// the values of the evaluator, and the same bits for any number of threads.
#include <algorithm>
#include <string>

#include "runtime/pool.h"
#include "test/backend/agree.h"

namespace braze {
namespace {

const std::string kCombiners =
    "HloModule m\n"
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
    "max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }\n"
    "argmax { a = f32[] parameter(0)\n i = s32[] parameter(1)\n b = f32[] parameter(2)\n"
    " j = s32[] parameter(3)\n gt = pred[] compare(a, b), direction=GT\n eq = pred[] compare(a, b), direction=EQ\n"
    " lt = pred[] compare(i, j), direction=LT\n first = pred[] and(eq, lt)\n take = pred[] or(gt, first)\n"
    " v = f32[] select(take, a, b)\n k = s32[] select(take, i, j)\n ROOT t = (f32[], s32[]) tuple(v, k) }\n";

struct Program {
  const char* name;
  const char* entry;
  bool one_kernel = true;
};

const Program kPrograms[] = {
    {"Normalise",
     "ENTRY e { x = f32[70001] parameter(0)\n z = f32[] constant(0)\n s = f32[] reduce(x, z), dimensions={0}, "
     "to_apply=add\n b = f32[70001] broadcast(s), dimensions={}\n ROOT r = f32[70001] divide(x, b) }"},
    {"SoftmaxOfAll",
     "ENTRY e { x = f32[40,1000] parameter(0)\n l = f32[] constant(-inf)\n z = f32[] constant(0)\n"
     " m = f32[] reduce(x, l), dimensions={0,1}, to_apply=max\n mb = f32[40,1000] broadcast(m), dimensions={}\n"
     " d = f32[40,1000] subtract(x, mb)\n e = f32[40,1000] exponential(d)\n"
     " s = f32[] reduce(e, z), dimensions={0,1}, to_apply=add\n sb = f32[40,1000] broadcast(s), dimensions={}\n"
     " ROOT r = f32[40,1000] divide(e, sb) }"},
    {"ValuesAndTheirSum",
     "ENTRY e { x = f32[300,200] parameter(0)\n y = f32[300,200] tanh(x)\n z = f32[] constant(0)\n"
     " s = f32[] reduce(y, z), dimensions={0,1}, to_apply=add\n"
     " ROOT t = (f32[300,200], f32[]) tuple(y, s) }"},
    {"StencilAndLargestChange",
     "ENTRY e { x = f32[200,256] parameter(0)\n z = f32[] constant(0)\n l = f32[] constant(-inf)\n"
     " p = f32[202,258] pad(x, z), padding=1_1x1_1\n a = f32[200,256] slice(p), slice={[0:200], [1:257]}\n"
     " b = f32[200,256] slice(p), slice={[2:202], [1:257]}\n c = f32[200,256] slice(p), slice={[1:201], [0:256]}\n"
     " ab = f32[200,256] add(a, b)\n n = f32[200,256] subtract(ab, c)\n d = f32[200,256] subtract(n, x)\n"
     " w = f32[200,256] abs(d)\n m = f32[] reduce(w, l), dimensions={0,1}, to_apply=max\n"
     " ROOT t = (f32[200,256], f32[]) tuple(n, m) }"},
    {"MeanAndVarianceDownFewColumns",
     "ENTRY e { x = f32[9000,3] parameter(0)\n z = f32[] constant(0)\n n = f32[3] constant({9000, 9000, 9000})\n"
     " s = f32[3] reduce(x, z), dimensions={0}, to_apply=add\n m = f32[3] divide(s, n)\n"
     " mb = f32[9000,3] broadcast(m), dimensions={1}\n d = f32[9000,3] subtract(x, mb)\n"
     " q = f32[9000,3] multiply(d, d)\n v = f32[3] reduce(q, z), dimensions={0}, to_apply=add\n"
     " vb = f32[9000,3] broadcast(v), dimensions={1}\n o = f32[9000,3] divide(d, vb)\n"
     " ROOT t = (f32[9000,3], f32[3], f32[3]) tuple(o, m, v) }"},
    {"ArgmaxAndDistances",
     "ENTRY e { x = f32[50000] parameter(0)\n i = s32[50000] iota(), iota_dimension=0\n l = f32[] constant(-inf)\n"
     " k = s32[] constant(0)\n r = (f32[], s32[]) reduce(x, i, l, k), dimensions={0}, to_apply=argmax\n"
     " m = f32[] get-tuple-element(r), index=0\n j = s32[] get-tuple-element(r), index=1\n"
     " mb = f32[50000] broadcast(m), dimensions={}\n d = f32[50000] subtract(x, mb)\n"
     " ROOT t = (f32[50000], s32[]) tuple(d, j) }", false},
    {"ComplexSum",
     "cadd { a = c64[] parameter(0)\n b = c64[] parameter(1)\n ROOT r = c64[] add(a, b) }\n"
     "ENTRY e { x = f32[40000] parameter(0)\n y = f32[40000] parameter(1)\n c = c64[40000] complex(x, y)\n"
     " z = c64[] constant((0, 0))\n s = c64[] reduce(c, z), dimensions={0}, to_apply=cadd\n"
     " b = c64[40000] broadcast(s), dimensions={}\n ROOT d = c64[40000] subtract(c, b) }"},
    {"MiddleRowsKept",  // two rows, each long
     "ENTRY e { x = f32[30,2,1000] parameter(0)\n z = f32[] constant(0)\n"
     " s = f32[2] reduce(x, z), dimensions={0,2}, to_apply=add\n b = f32[30,2,1000] broadcast(s), dimensions={1}\n"
     " ROOT r = f32[30,2,1000] divide(x, b) }"},
    {"InPlace",
     "ENTRY e { x = f32[33000] parameter(0)\n z = f32[] constant(0)\n y = f32[33000] add(x, x)\n"
     " s = f32[] reduce(y, z), dimensions={0}, to_apply=add\n b = f32[33000] broadcast(s), dimensions={}\n"
     " q = f32[33000] divide(y, b)\n w = f32[33000] multiply(q, y)\n ROOT t = (f32[33000], f32[33000]) tuple(y, w) }"},
};

class WholeReduction : public testing::TestWithParam<Program> {};

TEST_P(WholeReduction, Agrees) {
  const std::string text = kCombiners + GetParam().entry;
  auto exe = agree(text, 2e-5);
  ASSERT_NE(exe, nullptr);
  if (GetParam().one_kernel) {
    EXPECT_EQ(exe->stats().kernels, 1);
  }
  // One thread and two.
  std::vector<Literal> args;
  for (const Shape& s : exe->parameters()) args.push_back(ramp(s, 0.007, -0.3));
  auto two = exe->run(args);
  ASSERT_TRUE(two.ok());
  CompileOptions o;
  o.threads = 1;
  auto m = parse_hlo(text);
  ASSERT_TRUE(m.ok());
  auto one = compile(std::move(*m), o);
  ASSERT_TRUE(one.ok());
  auto got = (*one)->run(args);
  ASSERT_TRUE(got.ok());
  EXPECT_TRUE(*got == *two);
}

// Outputs of the full size whose rows are a power of two apart are written a few rows at a time, with a rest.
TEST(WholeReductions, ColumnsOfRowsThatShareSetsOfTheCache) {
  for (int64_t rows : {7, 8, 64, 67, 700})
    for (int64_t columns : {256, 1024, 2304}) {
      const std::string all = str_cat("[", rows, ",", columns, "]"), kept = str_cat("[", columns, "]");
      agree(str_cat("HloModule t\nadd {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b)\n}\n",
                    "max {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] maximum(a, b)\n}\nENTRY e {\n",
                    " x = f32", all, " parameter(0)\n l = f32[] constant(-inf)\n z = f32[] constant(0)\n m = f32", kept,
                    " reduce(x, l), dimensions={0}, to_apply=max\n mb = f32", all, " broadcast(m), dimensions={1}\n d = f32", all,
                    " subtract(x, mb)\n y = f32", all, " exponential(d)\n s = f32", kept,
                    " reduce(y, z), dimensions={0}, to_apply=add\n sb = f32", all,
                    " broadcast(s), dimensions={1}\n ROOT r = f32", all, " divide(y, sb)\n}\n"), 1e-5);
    }
}

// Every schedule that a reduction of an iota may get: it has an index, but reads nothing.
TEST(WholeReductions, OfTheDiagonal) {
  for (int64_t rows : {1, 3, 64, 300})
    for (int64_t columns : {7, 128, 300})
      for (const char* dims : {"0,1", "0", "1"}) {
        const std::string all = str_cat("[", rows, ",", columns, "]");
        const std::string kept = dims[1] ? "" : str_cat(dims[0] == '0' ? columns : rows);
        agree(str_cat("HloModule t\nadd {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b)\n}\nENTRY e {\n",
                      " x = f32", all, " parameter(0)\n i = s32", all, " iota(), iota_dimension=0\n j = s32", all,
                      " iota(), iota_dimension=1\n p = pred", all, " compare(i, j), direction=EQ\n z = f32[] constant(0)\n zb = f32", all,
                      " broadcast(z), dimensions={}\n s = f32", all, " select(p, x, zb)\n ROOT r = f32[", kept,
                      "] reduce(s, z), dimensions={", dims, "}, to_apply=add\n}\n"), 1e-5);
      }
}

INSTANTIATE_TEST_SUITE_P(All, WholeReduction, testing::ValuesIn(kPrograms),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
}  // namespace braze
