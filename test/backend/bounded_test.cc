// SPDX-License-Identifier: Apache-2.0
// Programs with bounded dynamic dimensions give on cpu what the evaluator gives, for every size, and
// run as kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "backend/compile.h"
#include "eval/evaluator.h"
#include "passes/dynamic_padding.h"
#include "text/parse.h"

namespace braze {
namespace {

constexpr char kCombiners[] =
    "HloModule b\n"
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
    "max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }\n"
    "min { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT r = s32[] minimum(a, b) }\n"
    "mul { a = f64[] parameter(0)\n b = f64[] parameter(1)\n ROOT r = f64[] multiply(a, b) }\n"
    "xor { a = u8[] parameter(0)\n b = u8[] parameter(1)\n ROOT r = u8[] xor(a, b) }\n"
    "odd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] add(a, a)\n ROOT r = f32[] add(c, b) }\n";

Literal random_values(const Shape& s, std::mt19937_64& rng) {
  Literal l(s);
  for (int64_t i = 0; i < l.elements(); ++i) {
    const int64_t n = static_cast<int64_t>(rng() % 17) - 8;
    if (is_float(s.dtype)) l.set_float(i, static_cast<double>(n) / 4);
    else l.set_int(i, n);
  }
  return l;
}

// Equal dims, which the evaluator may call bounds, and equal elements.
void expect_equal(const Literal& got, const Literal& want, const std::string& what) {
  ASSERT_EQ(got.parts().size(), want.parts().size()) << what;
  for (size_t i = 0; i < got.parts().size(); ++i) expect_equal(got.parts()[i], want.parts()[i], what);
  ASSERT_EQ(join(got.shape().dims), join(want.shape().dims)) << what;
  EXPECT_EQ(to_string(got), to_string(want)) << what;
}

// The program on random arguments; bounded parameter dimensions take size `n`, and so do scalar s32
// parameters. `native`: it must not run on the evaluator.
void expect_agree(const std::string& text, int64_t n, bool native) {
  auto m = parse_hlo(kCombiners + text);
  ASSERT_TRUE(m.ok()) << m.status() << text;
  std::mt19937_64 rng(static_cast<uint64_t>(n) + 1);
  std::vector<Literal> args;
  for (const Instr* p : (*m)->entry()->params()) {
    Shape s = p->shape;
    for (int64_t d = 0; d < s.rank(); ++d)
      if (s.is_dynamic(d)) s.dims[d] = n;
    s.dynamic.clear();
    args.push_back(s.is_scalar() && s.dtype == Dtype::kS32 ? Literal::scalar_int(Dtype::kS32, n) : random_values(s, rng));
  }
  auto want = evaluate(**m, args);
  ASSERT_TRUE(want.ok()) << want.status() << text;
  auto exe = compile(std::move(*m));
  ASSERT_TRUE(exe.ok()) << exe.status() << text;
  EXPECT_EQ((*exe)->plan() != nullptr, native) << text;
  auto got = (*exe)->run(args);
  ASSERT_TRUE(got.ok()) << got.status() << text;
  expect_equal(*got, *want, text + " size " + std::to_string(n));
}

void expect_all_sizes(const std::string& text, int64_t bound, bool native = true, int64_t least = 0) {
  for (int64_t n : {bound, bound - 1, int64_t{1}, int64_t{0}, bound / 2})
    if (n >= least) expect_agree(text, n, native);
}

// A branch that is known to be taken, and whose result is as large as that of the other at most (tf.image.rot90).
TEST(Bounded, KnownBranchesOfSeveralSizes) {
  const std::string branches =
      "t { p = f32[2,4,3] parameter(0)\n x = f32[2,3,4] transpose(p), dimensions={0,2,1}\n z = f32[] constant(0)\n"
      " q = f32[2,4,4] pad(x, z), padding=0_0x0_1x0_0\n n = s32[] constant(3)\n"
      " s = f32[2,<=4,4] set-dimension-size(q, n), dimensions={1}\n ROOT r = (f32[2,<=4,4]) tuple(s) }\n"
      "f { p = f32[2,4,3] parameter(0)\n z = f32[] constant(0)\n q = f32[2,4,4] pad(p, z), padding=0_0x0_0x0_1\n"
      " n = s32[] constant(3)\n s = f32[2,4,<=4] set-dimension-size(q, n), dimensions={2}\n"
      " ROOT r = (f32[2,4,<=4]) tuple(s) }\n";
  auto entry = [](const char* condition) {
    return std::string("ENTRY e { x = f32[2,4,3] parameter(0)\n n = s32[] parameter(1)\n") + condition +
           " k = (f32[2,<=4,<=4]) conditional(c, x, x), true_computation=t, false_computation=f\n"
           " e = f32[2,<=4,<=4] get-tuple-element(k), index=0\n ROOT r = f32[2,<=4,<=4] reshape(e) }";
  };
  for (const char* c : {" c = pred[] constant(true)\n", " c = pred[] constant(false)\n"})
    expect_all_sizes(branches + entry(c), 4);
  const char* open = " z = s32[] constant(1)\n c = pred[] compare(n, z), direction=GT\n";
  expect_all_sizes(branches + entry(open), 4, false);
}

TEST(Bounded, ElementsAndSizes) {
  expect_all_sizes("ENTRY e { x = f32[6,4] parameter(0)\n n = s32[] parameter(1)\n"
                   " s = f32[<=6,4] set-dimension-size(x, n), dimensions={0}\n"
                   " a = f32[<=6,4] add(s, s)\n ROOT r = f32[<=6,4] exponential(a) }", 6);
  expect_all_sizes("ENTRY e { x = f32[<=6,4] parameter(0)\n y = f32[4] parameter(1)\n"
                   " b = f32[<=6,4] multiply(x, x)\n t = f32[4,<=6] transpose(b), dimensions={1,0}\n"
                   " n = s32[] get-dimension-size(t), dimensions={1}\n m = s32[] get-dimension-size(t), dimensions={0}\n"
                   " ROOT r = (f32[4,<=6], s32[], f32[4], s32[]) tuple(t, n, y, m) }", 6);
  expect_all_sizes("ENTRY e { x = f32[3,<=6,2] parameter(0)\n a = f32[3,<=6,2] reverse(x), dimensions={0,2}\n"
                   " s = f32[2,<=6,1] slice(a), slice={[1:3], [0:6], [0:1]}\n z = f32[] constant(7)\n"
                   " ROOT r = f32[2,<=6,4] pad(s, z), padding=0_0x0_0x1_2 }", 6);
}

TEST(Bounded, Reductions) {
  for (std::string d : {"{0}", "{1}", "{0,1}"}) {
    const std::string out = d == "{0}" ? "f32[3]" : d == "{1}" ? "f32[<=5]" : "f32[]";
    for (std::string f : {"add", "max"})
      expect_all_sizes("ENTRY e { x = f32[<=5,3] parameter(0)\n z = f32[] constant(2.5)\n ROOT r = " + out +
                       " reduce(x, z), dimensions=" + d + ", to_apply=" + f + " }", 5);
  }
  expect_all_sizes("ENTRY e { x = s32[40,<=5] parameter(0)\n z = s32[] constant(3)\n"
                   " ROOT r = s32[40] reduce(x, z), dimensions={1}, to_apply=min }", 5);
  expect_all_sizes("ENTRY e { x = f64[<=5,<=5] parameter(0)\n z = f64[] constant(3)\n"
                   " ROOT r = f64[] reduce(x, z), dimensions={0,1}, to_apply=mul }", 5);
  expect_all_sizes("ENTRY e { x = u8[<=9] parameter(0)\n z = u8[] constant(3)\n"
                   " ROOT r = u8[] reduce(x, z), dimensions={0}, to_apply=xor }", 9);
  // An unknown combiner has no identity: such a program stays on the evaluator.
  expect_all_sizes("ENTRY e { x = f32[<=5] parameter(0)\n z = f32[] constant(1)\n"
                   " ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=odd }", 5, false);
}

TEST(Bounded, PaddingIsNotSeen) {
  // Infinities and NaNs that arise in the padding must not reach what counts.
  expect_all_sizes("ENTRY e { x = f32[6] parameter(0)\n n = s32[] parameter(1)\n i = f32[6] iota(), iota_dimension=0\n"
                   " o = f32[] constant(0)\n zs = f32[6] broadcast(o), dimensions={}\n q = f32[6] divide(zs, zs)\n"
                   " p = pred[6] compare(i, x), direction=LT\n v = f32[6] select(p, i, i)\n"
                   " s = f32[<=6] set-dimension-size(v, n), dimensions={0}\n u = f32[<=6] divide(s, s)\n"
                   " w = f32[<=6] add(s, s)\n d = f32[] dot(w, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
                   " r = f32[] reduce(w, o), dimensions={0}, to_apply=max\n ROOT t = (f32[], f32[]) tuple(d, r) }", 6);
}

TEST(Bounded, Contractions) {
  expect_all_sizes("ENTRY e { x = f32[3,<=7] parameter(0)\n y = f32[<=7,4] parameter(1)\n"
                   " ROOT r = f32[3,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }", 7);
  expect_all_sizes("ENTRY e { x = f32[<=7,3] parameter(0)\n y = f32[3,<=7] parameter(1)\n"
                   " ROOT r = f32[<=7,<=7] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} }", 7);
}

TEST(Bounded, GatherAndScatter) {
  expect_all_sizes("ENTRY e { x = f32[9,2] parameter(0)\n i = s32[<=6] parameter(1)\n"
                   " ROOT r = f32[<=6,2] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
                   "start_index_map={0}, index_vector_dim=1, slice_sizes={1,2} }", 6);
  for (std::string f : {"add", "max"})
    expect_all_sizes("ENTRY e { x = f32[9,2] parameter(0)\n i = s32[<=6] parameter(1)\n u = f32[<=6,2] parameter(2)\n"
                     " ROOT r = f32[9,2] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, "
                     "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=" + f + " }", 6);
}

TEST(Bounded, GatherFromPadding) {
  for (std::string t : {"s32", "s64"})
    expect_all_sizes("ENTRY e { x = f32[<=6,2] parameter(0)\n i = " + t + "[5] parameter(1)\n"
                     " ROOT r = f32[5,2] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, "
                     "start_index_map={0}, index_vector_dim=1, slice_sizes={1,2} }", 6, true, 1);
  expect_all_sizes("ENTRY e { x = f32[<=6] parameter(0)\n i = s32[<=6] parameter(1)\n"
                   " ROOT r = f32[<=6] gather(x, i), offset_dims={}, collapsed_slice_dims={0}, "
                   "start_index_map={0}, index_vector_dim=1, slice_sizes={1} }", 6, true, 1);
}

// Windows that hold a padded dimension as a whole, against the program of static sizes.
TEST(Bounded, WholeWindows) {
  const std::string head = "HloModule b\nENTRY e { x = f32[4,", middle = "] parameter(0)\n i = s32[3,1] parameter(1)\n ROOT r = f32[",
                    tail = ",3] gather(x, i), offset_dims={0}, collapsed_slice_dims={0}, start_index_map={0}, "
                           "index_vector_dim=1, slice_sizes={1,";
  Literal i(Shape::array(Dtype::kS32, {3, 1}));
  for (int64_t k = 0; k < 3; ++k) i.set_int(k, 3 - k);
  for (int64_t n : {1, 4, 6}) {
    std::mt19937_64 rng(7);
    const Literal x = random_values(Shape::array(Dtype::kF32, {4, n}), rng);
    auto fixed = parse_hlo(absl::StrCat(head, n, middle, n, tail, n, "} }"));
    auto bounded = parse_hlo(absl::StrCat(head, "<=6", middle, "<=6", tail, "6} }"));
    ASSERT_TRUE(fixed.ok() && bounded.ok()) << fixed.status() << bounded.status();
    auto want = evaluate(**fixed, {x, i});
    auto exe = compile(std::move(*bounded));
    ASSERT_TRUE(want.ok() && exe.ok()) << want.status() << exe.status();
    auto got = (*exe)->run({x, i});
    ASSERT_TRUE(got.ok()) << got.status();
    expect_equal(*got, *want, "windows");
  }
}

TEST(Bounded, PadsAndSlices) {
  expect_all_sizes("ENTRY e { x = f32[<=6,2] parameter(0)\n z = f32[] constant(3)\n"
                   " ROOT r = f32[<=15,3] pad(x, z), padding=1_3_1x1_0 }", 6);
  expect_all_sizes("ENTRY e { x = f32[<=8] parameter(0)\n z = f32[] constant(3)\n p = f32[<=12] pad(x, z), padding=0_4\n"
                   " ROOT r = f32[<=8] slice(p), slice={[0:8]} }", 8);
  expect_all_sizes("ENTRY e { x = f32[<=8,3] parameter(0)\n ROOT r = f32[<=2,2] slice(x), slice={[1:7:3],[1:3]} }", 8);
}

// TensorFlow's sum over prefixes: parts of unequal sizes meet, the larger one first. What is behind the smaller
// one is what the array was padded with.
TEST(Bounded, UnequalParts) {
  const std::string text =
      "ENTRY e { x = f32[<=7] parameter(0)\n z = f32[] constant(0)\n p = f32[<=8] pad(x, z), padding=0_1\n"
      " a = f32[<=4] slice(p), slice={[0:8:2]}\n b = f32[<=4] slice(p), slice={[1:8:2]}\n"
      " s = f32[<=4] add(a, b)\n ROOT r = f32[<=5] pad(s, z), padding=1_0 }";
  expect_all_sizes(text, 7);
  auto m = parse_hlo("HloModule b\n" + text);
  ASSERT_TRUE(m.ok()) << m.status();
  Literal x(Shape::array(Dtype::kF32, {4}));
  for (int64_t k = 0; k < 4; ++k) x.set_float(k, static_cast<double>(k + 1));
  auto got = evaluate(**m, {x});  // of 1 2 3 4 0: 1 3 0 and 2 4
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->elements(), 4);
  const double want[] = {0, 3, 7, 0};
  for (int64_t k = 0; k < 4; ++k) EXPECT_EQ(got->get_float(k), want[k]) << k;
}

TEST(Bounded, ReshapesAndConcatenations) {
  expect_all_sizes("ENTRY e { x = f32[<=6,1] parameter(0)\n ROOT r = f32[<=6] reshape(x) }", 6);
  expect_all_sizes("ENTRY e { x = f32[<=6] parameter(0)\n ROOT r = f32[1,<=6,1] reshape(x) }", 6);
  expect_all_sizes("ENTRY e { x = f32[2,<=6,3] parameter(0)\n ROOT r = f32[2,<=18] reshape(x) }", 6);
  expect_all_sizes("ENTRY e { x = f32[<=6,2] parameter(0)\n y = f32[3,2] parameter(1)\n"
                   " ROOT r = f32[<=15,2] concatenate(x, y, x), dimensions={0} }", 6);
  expect_all_sizes("ENTRY e { x = f32[<=6,2] parameter(0)\n"
                   " ROOT r = f32[<=6,4] concatenate(x, x), dimensions={1} }", 6);
}

// Everything in one dimension, where what counts is not in front of the padding.
TEST(Bounded, MergedDimensions) {
  expect_all_sizes("ENTRY e { x = f32[3,<=6] parameter(0)\n ROOT r = f32[<=18] reshape(x) }", 6);
  expect_all_sizes("ENTRY e { x = f32[3,<=6,2] parameter(0)\n ROOT r = f32[1,<=36] reshape(x) }", 6);
  expect_all_sizes("ENTRY e { x = s8[2,<=6,<=6] parameter(0)\n ROOT r = s8[<=72] reshape(x) }", 6);
}

// Sizes that are scalar operands, as in HLO, and a list, as in StableHLO.
TEST(Bounded, ReshapesToSizesDecidedWhileRunning) {
  auto reshaped = [](const std::string& from, const std::string& n, const std::string& sizes, const std::string& to) {
    return "ENTRY e { x = " + from + " parameter(0)\n n = s32[] parameter(1)\n m = s32[] " + n +
           "\n two = s32[] constant(2)\n three = s32[] constant(3)\n d = " + to + " dynamic-reshape(x, " + sizes +
           ")\n ROOT r = " + to + " negate(d) }";
  };
  const std::string twice = "add(n, n)", same = "copy(n)";
  for (const std::string d : {"f32", "s8", "c64"}) {
    expect_all_sizes(reshaped(d + "[<=6,2]", twice, "m", d + "[<=12]"), 6);
    expect_all_sizes(reshaped(d + "[<=6,2]", same, "m, two", d + "[<=6,2]"), 6);
    expect_all_sizes(reshaped(d + "[<=6,6]", twice, "m, three", d + "[<=12,3]"), 6);
    expect_all_sizes(reshaped(d + "[<=6,2]", same, "two, m", d + "[2,<=6]"), 6);
    expect_all_sizes(reshaped(d + "[2,<=6]", same, "m, two", d + "[<=6,2]"), 6);
    expect_all_sizes(reshaped(d + "[2,<=6,3]", twice, "three, m", d + "[3,<=12]"), 6);
    expect_all_sizes(reshaped(d + "[<=6,<=6]", same, "m, n", d + "[<=8,<=7]"), 6);
    expect_all_sizes(reshaped(d + "[<=6,2]", same, "m, two", d + "[<=9,2]"), 6);
  }
  expect_all_sizes("ENTRY e { x = f32[2,<=6] parameter(0)\n n = s32[] parameter(1)\n l = s32[1] reshape(n)\n"
                   " t = s32[1] constant({2})\n s = s32[2] concatenate(l, t), dimensions={0}\n"
                   " ROOT r = f32[<=6,2] dynamic-reshape(x, s) }", 6);
}

// A static array may take sizes as well, if they fit.
// Loops and branches that carry arrays of fixed sizes, and decide sizes inside; in one, inside another.
constexpr char kInside[] =
    "f { p = (s32[], f32[6], s32[]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
    " x = f32[6] get-tuple-element(p), index=1\n n = s32[] get-tuple-element(p), index=2\n"
    " s = f32[<=6] set-dimension-size(x, n), dimensions={0}\n z = f32[] constant(0)\n"
    " a = f32[] reduce(s, z), dimensions={0}, to_apply=add\n b = f32[6] broadcast(a), dimensions={}\n"
    " h = f32[] constant(0.5)\n hb = f32[6] broadcast(h), dimensions={}\n y = f32[6] multiply(b, hb)\n"
    " d = f32[6] add(y, x)\n one = s32[] constant(1)\n j = s32[] add(i, one)\n"
    " ROOT r = (s32[], f32[6], s32[]) tuple(j, d, n) }\n"
    "c { p = (s32[], f32[6], s32[]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n t = s32[] constant(3)\n"
    " ROOT r = pred[] compare(i, t), direction=LT }\n"
    "w { x = f32[6] parameter(0)\n n = s32[] constant(4)\n z = s32[] constant(0)\n t = (s32[], f32[6], s32[]) tuple(z, x, n)\n"
    " l = (s32[], f32[6], s32[]) while(t), condition=c, body=f\n ROOT r = f32[6] get-tuple-element(l), index=1 }\n"
    "k { x = f32[6] parameter(0)\n ROOT r = f32[6] negate(x) }\n";

TEST(Bounded, InsideLoopsAndBranches) {
  expect_all_sizes(std::string(kInside) +
                   "ENTRY e { x = f32[6] parameter(0)\n n = s32[] parameter(1)\n z = s32[] constant(0)\n"
                   " t = (s32[], f32[6], s32[]) tuple(z, x, n)\n l = (s32[], f32[6], s32[]) while(t), condition=c, body=f\n"
                   " ROOT r = f32[6] get-tuple-element(l), index=1 }", 6);
  expect_all_sizes(std::string(kInside) +
                   "ENTRY e { x = f32[6] parameter(0)\n n = s32[] parameter(1)\n one = s32[] constant(1)\n"
                   " p = pred[] compare(n, one), direction=GT\n"
                   " ROOT r = f32[6] conditional(p, x, x), true_computation=w, false_computation=k }", 6);
}

// Forty levels, each of which runs the one below it in both branches: each is padded once.
TEST(Bounded, SharedBranches) {
  std::string text =
      "f0 { x = f32[6] parameter(0)\n n = s32[] constant(4)\n s = f32[<=6] set-dimension-size(x, n), dimensions={0}\n"
      " z = f32[] constant(0)\n a = f32[] reduce(s, z), dimensions={0}, to_apply=add\n"
      " ROOT b = f32[6] broadcast(a), dimensions={} }\n";
  for (int k = 1; k <= 40; ++k) {
    const std::string below = "f" + std::to_string(k - 1);
    text += "f" + std::to_string(k) + " { x = f32[6] parameter(0)\n s = f32[1] slice(x), slice={[0:1]}\n"
            " v = f32[] reshape(s)\n z = f32[] constant(0)\n p = pred[] compare(v, z), direction=GT\n"
            " ROOT r = f32[6] conditional(p, x, x), true_computation=" + below + ", false_computation=" + below + " }\n";
  }
  auto m = parse_hlo(kCombiners + text +
                     "ENTRY e { x = f32[6] parameter(0)\n p = pred[] parameter(1)\n"
                     " ROOT r = f32[6] conditional(p, x, x), true_computation=f40, false_computation=f0 }");
  ASSERT_TRUE(m.ok()) << m.status();
  auto padded = dynamic_padding(**m);
  ASSERT_TRUE(padded.ok()) << padded.status();
  EXPECT_LT(padded->module->instruction_count(), 2000);
}

TEST(Bounded, AnIllegalSizeInsideALoopIsAnError) {
  auto m = parse_hlo(kCombiners + std::string(kInside) +
                     "ENTRY e { x = f32[6] parameter(0)\n n = s32[] parameter(1)\n z = s32[] constant(0)\n"
                     " t = (s32[], f32[6], s32[]) tuple(z, x, n)\n l = (s32[], f32[6], s32[]) while(t), condition=c, body=f\n"
                     " ROOT r = f32[6] get-tuple-element(l), index=1 }");
  ASSERT_TRUE(m.ok()) << m.status();
  auto exe = compile(std::move(*m));
  ASSERT_TRUE(exe.ok()) << exe.status();
  ASSERT_TRUE((*exe)->plan() != nullptr);
  const Literal x(Shape::array(Dtype::kF32, {6}));
  EXPECT_FALSE((*exe)->run({x, Literal::scalar_int(Dtype::kS32, 7)}).ok());
  EXPECT_TRUE((*exe)->run({x, Literal::scalar_int(Dtype::kS32, 6)}).ok());
}

TEST(Bounded, SizesThatDoNotFitAReshape) {
  auto m = parse_hlo("HloModule b\nENTRY e { x = f32[6] parameter(0)\n n = s32[] parameter(1)\n"
                     " c = s32[] constant(2)\n ROOT r = f32[<=4,2] dynamic-reshape(x, n, c) }");
  ASSERT_TRUE(m.ok()) << m.status();
  const Literal x = Literal::of(Dtype::kF32, {6}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0});
  const auto at = [](int64_t n) { return Literal::scalar_int(Dtype::kS32, n); };
  for (int64_t n : {-3, 2, 4, 5}) EXPECT_FALSE(evaluate(**m, {x, at(n)}).ok()) << n;
  auto exe = compile(std::move(*m));
  ASSERT_TRUE(exe.ok()) << exe.status();
  ASSERT_TRUE((*exe)->plan() != nullptr);
  for (int64_t n : {-3, 2, 4, 5}) EXPECT_FALSE((*exe)->run({x, at(n)}).ok()) << n;
  auto got = (*exe)->run({x, at(3)});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(join(got->shape().dims), "3,2");
  for (int64_t k = 0; k < 6; ++k) EXPECT_EQ(got->get_float(k), static_cast<double>(k + 1));
}

TEST(Bounded, IllegalSizeIsAnError) {
  auto m = parse_hlo("HloModule b\nENTRY e { x = f32[6] parameter(0)\n n = s32[] parameter(1)\n"
                     " s = f32[<=6] set-dimension-size(x, n), dimensions={0}\n ROOT r = f32[<=6] negate(s) }");
  ASSERT_TRUE(m.ok()) << m.status();
  const Literal x(Shape::array(Dtype::kF32, {6}));
  auto exe = compile(std::move(*m));
  ASSERT_TRUE(exe.ok()) << exe.status();
  ASSERT_TRUE((*exe)->plan() != nullptr);
  for (int64_t n : {-1, 7}) EXPECT_FALSE((*exe)->run({x, Literal::scalar_int(Dtype::kS32, n)}).ok());
  EXPECT_FALSE((*exe)->run({Literal(Shape::array(Dtype::kF32, {5})), Literal::scalar_int(Dtype::kS32, 2)}).ok());
}

TEST(Bounded, SizesThatSayNothingAreDropped) {
  auto m = parse_hlo("HloModule b\nENTRY e { x = f32[6] parameter(0)\n n = s32[] constant(6)\n"
                     " s = f32[6] set-dimension-size(x, n), dimensions={0}\n ROOT r = f32[6] negate(s) }");
  ASSERT_TRUE(m.ok()) << m.status();
  auto exe = compile(std::move(*m));
  ASSERT_TRUE(exe.ok()) << exe.status();
  ASSERT_TRUE((*exe)->plan() != nullptr);
  const Literal x = Literal::of(Dtype::kF32, {6}, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0});
  Literal y(x.shape());
  const void* in[] = {x.bytes()};
  void* out[] = {y.mutable_bytes()};
  ASSERT_TRUE((*exe)->run_raw(in, out).ok());
  EXPECT_EQ(y.get_float(5), -6);
}

}  // namespace
}  // namespace braze
