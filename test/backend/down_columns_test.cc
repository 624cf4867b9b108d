// SPDX-License-Identifier: Apache-2.0
// Row programs that also reduce down their columns: one kernel, the values of the evaluator on each engine
// and target, and the same bits for any number of threads.
#include <string>

#include "absl/strings/str_replace.h"
#include "test/backend/agree.h"

namespace braze {
namespace {

const char* const kCombiners =
    "HloModule m\n"
    "add { a = T[] parameter(0)\n b = T[] parameter(1)\n ROOT r = T[] add(a, b) }\n"
    "max { a = T[] parameter(0)\n b = T[] parameter(1)\n ROOT r = T[] maximum(a, b) }\n"
    "min { a = T[] parameter(0)\n b = T[] parameter(1)\n ROOT r = T[] minimum(a, b) }\n"
    "later { a = T[] parameter(0)\n b = T[] parameter(1)\n n = T[] negate(a)\n ROOT r = T[] subtract(b, n) }\n"
    "argmax { a = T[] parameter(0)\n i = s32[] parameter(1)\n b = T[] parameter(2)\n"
    " j = s32[] parameter(3)\n gt = pred[] compare(a, b), direction=GT\n eq = pred[] compare(a, b), direction=EQ\n"
    " lt = pred[] compare(i, j), direction=LT\n first = pred[] and(eq, lt)\n take = pred[] or(gt, first)\n"
    " v = T[] select(take, a, b)\n k = s32[] select(take, i, j)\n ROOT t = (T[], s32[]) tuple(v, k) }\n"
    "ENTRY e {\n z = T[] constant(0)\n l = T[] constant(-30000)\n h = T[] constant(30000)\n";

// R rows of C elements of type T, as [R,C]; @ stands for T[R,C].
struct Program {
  const char* name;
  const char* body;
  bool one_kernel = true;
};

const Program kPrograms[] = {
    {"GradientsOfANormalisation",
     " x = @ parameter(0)\n g = T[C] parameter(1)\n dy = @ parameter(2)\n gb = @ broadcast(g), dimensions={1}\n"
     " q = @ multiply(x, x)\n s = T[R] reduce(q, z), dimensions={1}, to_apply=add\n"
     " one = T[] constant(1)\n ones = T[R] broadcast(one), dimensions={}\n"
     " s1 = T[R] add(s, ones)\n i = T[R] rsqrt(s1)\n ib = @ broadcast(i), dimensions={0}\n n = @ multiply(x, ib)\n"
     " dn = @ multiply(dy, gb)\n p = @ multiply(dn, n)\n"
     " c = T[R] reduce(p, z), dimensions={1}, to_apply=add\n cb = @ broadcast(c), dimensions={0}\n"
     " w = @ multiply(n, cb)\n d = @ subtract(dn, w)\n dx = @ multiply(d, ib)\n yn = @ multiply(dy, n)\n"
     " dg = T[C] reduce(yn, z), dimensions={0}, to_apply=add\n db = T[C] reduce(dy, z), dimensions={0}, to_apply=add\n"
     " ROOT t = (@, T[C], T[C]) tuple(dx, dg, db)"},
    {"ValuesAfterEither",  // results along rows and of columns, with what is made of them
     " x = @ parameter(0)\n g = T[C] parameter(1)\n m = T[R] reduce(x, l), dimensions={1}, to_apply=max\n"
     " mb = @ broadcast(m), dimensions={0}\n d = @ subtract(x, mb)\n k = T[C] reduce(d, h), dimensions={0}, to_apply=min\n"
     " kg = T[C] multiply(k, g)\n n = T[R] negate(m)\n ROOT t = (T[R], T[C]) tuple(n, kg)", false},
    {"NoneNeedsAnother",
     " x = @ parameter(0)\n y = @ negate(x)\n s = T[R] reduce(y, z), dimensions={1}, to_apply=add\n"
     " c = T[C] reduce(x, l), dimensions={0}, to_apply=max\n ROOT t = (T[R], T[C], @) tuple(s, c, y)"},
    {"ExpensiveInBoth",
     " x = @ parameter(0)\n e = @ exponential(x)\n s = T[R] reduce(e, z), dimensions={1}, to_apply=add\n"
     " sb = @ broadcast(s), dimensions={0}\n y = @ divide(e, sb)\n"
     " c = T[C] reduce(y, z), dimensions={0}, to_apply=add\n ROOT t = (@, T[C]) tuple(y, c)"},
    {"Argmax",
     " x = @ parameter(0)\n i = s32[R,C] iota(), iota_dimension=0\n k = s32[] constant(0)\n"
     " s = T[R] reduce(x, z), dimensions={1}, to_apply=add\n sb = @ broadcast(s), dimensions={0}\n y = @ subtract(x, sb)\n"
     " r = (T[C], s32[C]) reduce(y, i, l, k), dimensions={0}, to_apply=argmax\n"
     " v = T[C] get-tuple-element(r), index=0\n a = s32[C] get-tuple-element(r), index=1\n"
     " ROOT t = (T[R], T[C], s32[C]) tuple(s, v, a)", false},
    {"RowsNeedColumns",
     " x = @ parameter(0)\n c = T[C] reduce(x, z), dimensions={0}, to_apply=add\n cb = @ broadcast(c), dimensions={1}\n"
     " y = @ subtract(x, cb)\n s = T[R] reduce(y, l), dimensions={1}, to_apply=max\n ROOT t = (T[R], T[C]) tuple(s, c)", false},
    {"AnUnknownCombiner",
     " x = @ parameter(0)\n s = T[R] reduce(x, l), dimensions={1}, to_apply=max\n"
     " c = T[C] reduce(x, z), dimensions={0}, to_apply=later\n ROOT t = (T[R], T[C]) tuple(s, c)", false},
};

std::string text(const char* body, std::string_view type, int64_t rows, int64_t columns) {
  const auto shaped = [&](std::string_view dims) { return str_cat(type, "[", dims, "]"); };
  const std::string r = str_cat(rows), c = str_cat(columns), all = str_cat(rows, ",", columns);
  return absl::StrReplaceAll(str_cat(kCombiners, body, "\n}\n"),
                             {{"@", shaped(all)}, {"T[R]", shaped(r)}, {"T[C]", shaped(c)}, {"T[]", shaped("")},
                              {"[R,C]", str_cat("[", all, "]")}, {"[C]", str_cat("[", c, "]")}});
}

Result<Literal> run(const std::string& program, const CompileOptions& o, int64_t* kernels) {
  ASSIGN(auto m, parse_hlo(program));
  ASSIGN(auto exe, compile(std::move(m), o));
  *kernels = exe->stats().kernels;
  std::vector<Literal> args;
  for (size_t k = 0; k < exe->parameters().size(); ++k)
    args.push_back(ramp(exe->parameters()[k], 0.013 * static_cast<double>(k + 1), -0.5));
  return exe->run(args);
}

class DownColumns : public testing::TestWithParam<Program> {};

TEST_P(DownColumns, Agrees) {
  for (const char* type : {"f32", "f64", "bf16"})
    for (auto [rows, columns] : {std::pair{64, 16}, {67, 33}, {300, 130}, {1031, 20}, {40, 700}}) {
      SCOPED_TRACE(str_cat(type, " ", rows, " ", columns));
      const double tolerance = type[0] == 'b' ? 0.1 : type[1] == '6' ? 1e-12 : 3e-5;
      auto exe = agree(text(GetParam().body, type, rows, columns), tolerance);
      ASSERT_NE(exe, nullptr);
      if (GetParam().one_kernel && rows > 40) {  // else too few items
        EXPECT_EQ(exe->stats().kernels, 1);
      }
    }
}

TEST_P(DownColumns, HasTheSameBitsOnOneThread) {
  for (auto [rows, columns] : {std::pair{4097, 50}, {20011, 17}, {150, 600}}) {
    const std::string program = text(GetParam().body, "f32", rows, columns);
    CompileOptions one, two;
    one.threads = 1, two.threads = 2;
    int64_t kernels = 0;
    auto a = run(program, one, &kernels), b = run(program, two, &kernels);
    ASSERT_TRUE(a.ok() && b.ok()) << a.status() << b.status();
    EXPECT_TRUE(*a == *b) << rows;
    if (GetParam().one_kernel) {
      EXPECT_EQ(kernels, 1);
    }
  }
}

TEST_P(DownColumns, AgreesOnEachTarget) {
  const std::string program = text(GetParam().body, "f32", 203, 75);
  CompileOptions reference;
  reference.backend = "reference";
  int64_t kernels = 0;
  auto want = run(program, reference, &kernels);
  ASSERT_TRUE(want.ok()) << want.status();
  for (const char* target : {"baseline", "avx2", "host"})
    for (const char* backend : {"cpu", "kernel"}) {
      CompileOptions o;
      o.target = target, o.backend = backend;
      auto got = run(program, o, &kernels);
      ASSERT_TRUE(got.ok()) << got.status();
      expect_close(*got, *want, 3e-5);
    }
}

INSTANTIATE_TEST_SUITE_P(All, DownColumns, testing::ValuesIn(kPrograms),
                         [](const auto& p) { return std::string(p.param.name); });

std::string over(const char* all, const char* entry) {
  return absl::StrReplaceAll(str_cat("HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
                                     " ROOT r = f32[] add(a, b) }\nENTRY e {\n z = f32[] constant(0)\n", entry, "\n}\n"),
                             {{"@", str_cat("f32", all)}});
}

TEST(DownColumnsOf, SeveralDimensions) {  // of a batch and its positions, all features
  auto exe = agree(over("[6,50,8,20]",
                        " x = @ parameter(0)\n s = f32[6,50] reduce(x, z), dimensions={2,3}, to_apply=add\n"
                        " sb = @ broadcast(s), dimensions={0,1}\n y = @ subtract(x, sb)\n"
                        " c = f32[8,20] reduce(y, z), dimensions={0,1}, to_apply=add\n"
                        " ROOT t = (f32[6,50], f32[8,20], @) tuple(s, c, y)"), 3e-5);
  ASSERT_NE(exe, nullptr);
  EXPECT_EQ(exe->stats().kernels, 1);
}

TEST(DownColumnsOf, EachOfABatch) {
  auto exe = agree(over("[7,90,40]",
                        " x = @ parameter(0)\n s = f32[7,90] reduce(x, z), dimensions={2}, to_apply=add\n"
                        " sb = @ broadcast(s), dimensions={0,1}\n y = @ subtract(x, sb)\n"
                        " c = f32[7,40] reduce(y, z), dimensions={1}, to_apply=add\n ROOT t = (@, f32[7,40]) tuple(y, c)"), 3e-5);
  ASSERT_NE(exe, nullptr);
  EXPECT_EQ(exe->stats().kernels, 1);
}

TEST(DownColumnsOf, AllOfABatchForEachPosition) {  // rows that lie apart: two kernels
  agree(over("[12,30,40]",
             " x = @ parameter(0)\n s = f32[12,30] reduce(x, z), dimensions={2}, to_apply=add\n"
             " sb = @ broadcast(s), dimensions={0,1}\n y = @ subtract(x, sb)\n"
             " c = f32[30,40] reduce(y, z), dimensions={0}, to_apply=add\n ROOT t = (@, f32[30,40]) tuple(y, c)"), 3e-5);
}

TEST(DownColumnsOf, ASquare) {  // rows and columns give results of one shape
  auto exe = agree(over("[96,96]",
                        " x = @ parameter(0)\n g = f32[96] parameter(1)\n s = f32[96] reduce(x, z), dimensions={1}, to_apply=add\n"
                        " sb = @ broadcast(s), dimensions={0}\n y = @ multiply(x, sb)\n"
                        " c = f32[96] reduce(y, z), dimensions={0}, to_apply=add\n cg = f32[96] multiply(c, g)\n"
                        " ROOT t = (f32[96], f32[96]) tuple(cg, s)"), 3e-5);
  ASSERT_NE(exe, nullptr);
  EXPECT_EQ(exe->stats().kernels, 1);
}

TEST(DownColumnsOf, BothTogether) {  // each alone may be computed along the other; their sum may not
  agree(over("[96,96]",
             " x = @ parameter(0)\n s = f32[96] reduce(x, z), dimensions={1}, to_apply=add\n"
             " sb = @ broadcast(s), dimensions={0}\n y = @ multiply(x, sb)\n"
             " c = f32[96] reduce(y, z), dimensions={0}, to_apply=add\n ROOT t = f32[96] add(c, s)"), 3e-5);
}

TEST(DownColumnsOf, ComplexValues) {
  agree("HloModule m\ncadd { a = c64[] parameter(0)\n b = c64[] parameter(1)\n ROOT r = c64[] add(a, b) }\n"
        "ENTRY e { x = f32[100,48] parameter(0)\n y = f32[100,48] parameter(1)\n c = c64[100,48] complex(x, y)\n"
        " z = c64[] constant((0, 0))\n s = c64[100] reduce(c, z), dimensions={1}, to_apply=cadd\n"
        " b = c64[100,48] broadcast(s), dimensions={0}\n d = c64[100,48] multiply(c, b)\n"
        " k = c64[48] reduce(d, z), dimensions={0}, to_apply=cadd\n rr = f32[48] real(k)\n ri = f32[48] imag(k)\n"
        " sr = f32[100] real(s)\n ROOT t = (f32[48], f32[48], f32[100]) tuple(rr, ri, sr) }", 3e-5);
}

}  // namespace
}  // namespace braze
