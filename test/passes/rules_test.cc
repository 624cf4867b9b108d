// SPDX-License-Identifier: Apache-2.0
// Both sides of every rewrite rule: programs on which it fires, which then mean the same to the bit on
// special values, and programs just outside, which must stay as they are. The rules come from the tables of
// the passes: one without a program for each side fails.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "analysis/verify.h"
#include "backend/pipeline.h"
#include "eval/evaluator.h"
#include "passes/cleanup.h"
#include "passes/control.h"
#include "passes/complex_dot.h"
#include "passes/dot_to_sums.h"
#include "passes/expand.h"
#include "passes/flat_tuples.h"
#include "passes/known_windows.h"
#include "passes/loop_invariants.h"
#include "passes/loop_weights.h"
#include "passes/repeated_dot.h"
#include "passes/sort_to_topk.h"
#include "passes/transposed_dot.h"
#include "text/parse.h"
#include "text/print.h"

namespace braze {
namespace {

struct Row {
  std::string_view rule;
  bool fires;
  std::string text;  // computations, then the lines of the entry
  std::string functions = "";
};

// Infinities, NaNs, zeros, denormals, extremes: every pair of them meets in two arguments.
double special_float(Dtype t, int64_t i) {
  static const double kValues[] = {0.0,      -0.0,     1.5,   -2,         INFINITY, -INFINITY, NAN,
                                   1e-40,    -1e-310,  3e38,  -1.7e308,   0x1p-24,  65504,     1};
  const double v = kValues[static_cast<uint64_t>(i) % std::size(kValues)];
  return t == Dtype::kF64 || std::abs(v) < 1e39 || std::isinf(v) ? v : 2;
}
int64_t special_int(Dtype t, int64_t i) {
  const int64_t width = std::max<int64_t>(8 * byte_size(t), 1);
  const int64_t least = is_signed_int(t) ? static_cast<int64_t>(~uint64_t{0} << (width - 1)) : 0;
  const int64_t most = is_signed_int(t) ? ~least : static_cast<int64_t>(~uint64_t{0} >> (64 - width));
  const int64_t values[] = {0, 1, most, least, 7, is_signed_int(t) ? -1 : most - 1, 3};
  return values[static_cast<uint64_t>(i) % std::size(values)];
}

Literal special(const Shape& s, int64_t shift, int64_t stride) {
  Literal l(s);
  if (s.is_tuple()) {
    for (Literal& p : l.mutable_parts()) p = special(p.shape(), ++shift, stride);
    return l;
  }
  for (int64_t i = 0; i < l.elements(); ++i) {
    const int64_t k = shift + i / stride;
    if (is_complex(s.dtype)) l.set_complex(i, {special_float(s.dtype, k), special_float(s.dtype, k / 3)});
    else if (is_float(s.dtype)) l.set_float(i, special_float(s.dtype, k));
    else if (is_pred(s.dtype)) l.set_int(i, k % 2);
    else l.set_int(i, special_int(s.dtype, k));
  }
  return l;
}

// Bits, but that NaNs are equal whatever their signs.
bool same_values(const Literal& a, const Literal& b) {
  if (a.shape() != b.shape()) return false;
  if (a.shape().is_tuple()) {
    for (size_t k = 0; k < a.parts().size(); ++k)
      if (!same_values(a.parts()[k], b.parts()[k])) return false;
    return true;
  }
  if (a == b) return true;
  if (!is_float(a.dtype())) return false;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.get_float(i), y = b.get_float(i);
    if (std::isnan(x) && std::isnan(y)) continue;
    if (x != y || std::signbit(x) != std::signbit(y)) return false;
  }
  return true;
}

using Pass = Status (*)(Module&);

Pass pass_of(std::string_view rule) {
  if (rule.starts_with("control:")) return simplify_control;
  if (rule.starts_with("expand:")) return expand;
  if (rule.starts_with("sort-to-topk:")) return sort_to_topk;
  if (rule.starts_with("transposed-dot:")) return transposed_dot;
  if (rule.starts_with("dot-to-sums:")) return dot_to_sums;
  if (rule.starts_with("complex-dot:")) return complex_dot;
  if (rule.starts_with("repeated-dot:")) return repeated_dot;
  if (rule.starts_with("known-windows:")) return known_windows;
  if (rule.starts_with("flat-tuples:")) return flat_tuples;
  if (rule.starts_with("loop-invariants:")) return loop_invariants;
  if (rule.starts_with("loop-weights:")) return [](Module& m) { return loop_weights(m, 256); };
  return cleanup;
}

void check(const Row& row) {
  const std::string text = "HloModule m\n" + row.functions + "ENTRY main {\n" + row.text + "}\n";
  auto m = parse_hlo(text);
  ASSERT_TRUE(m.ok()) << m.status() << "\n" << text;
  auto before = (*m)->clone();
  const std::string was = print_hlo(**m);
  const Status s = pass_of(row.rule)(**m);
  ASSERT_TRUE(s.ok()) << s << text;
  ASSERT_TRUE(verify(**m).ok()) << verify(**m) << "\n" << print_hlo(**m);
  EXPECT_EQ(print_hlo(**m) != was, row.fires) << row.rule << " on\n" << was << "gives\n" << print_hlo(**m);
  for (int round = 0; round < 4; ++round) {
    std::vector<Literal> args;
    for (const Instr* p : before->entry()->params())
      args.push_back(special(p->shape, round + static_cast<int64_t>(args.size()),
                             args.size() % 2 ? 14 : 1));
    const auto want = evaluate(*before, args), got = evaluate(**m, args);
    if (want.status().code() == absl::StatusCode::kUnimplemented && !row.fires) return;  // outfeed
    ASSERT_TRUE(want.ok()) << want.status() << text;
    ASSERT_TRUE(got.ok()) << got.status() << print_hlo(**m);
    EXPECT_TRUE(same_values(*want, *got)) << row.rule << ": " << to_string(*want) << " became "
                                          << to_string(*got) << "\n" << print_hlo(**m);
  }
}

const std::string kX = " x = f32[14] parameter(0)\n", kY = " y = f32[14] parameter(1)\n";
const std::string kMatrix = " x = f32[14,14] parameter(0)\n";

std::vector<Row> cleanup_rows() {
  return {
      {"copy", true, kX + " c = f32[14] copy(x)\n ROOT r = f32[14] negate(c)\n"},
      // x + 0 is 0 where x is -0; x - x and 0·x are NaN at infinities.
      {"copy", false,
       kX + " z = f32[] constant(0)\n b = f32[14] broadcast(z), dimensions={}\n"
            " ROOT r = f32[14] add(x, b)\n"},
      {"copy", false, kX + " ROOT r = f32[14] subtract(x, x)\n"},
      {"copy", false,
       kX + " z = f32[] constant(0)\n b = f32[14] broadcast(z), dimensions={}\n"
            " ROOT r = f32[14] multiply(x, b)\n"},
      {"copy", false, kX + " o = f32[14] opt-barrier(x)\n ROOT r = f32[14] negate(o)\n"},
      {"reshape to the same shape", true, kX + " s = f32[14] reshape(x)\n ROOT r = f32[14] negate(s)\n"},
      {"reshape to the same shape", false, kX + " s = f32[2,7] reshape(x)\n ROOT r = f32[2,7] negate(s)\n"},
      {"conversion to the same type", true, kX + " c = f32[14] convert(x)\n ROOT r = f32[14] abs(c)\n"},
      // There and back loses bits; integers wrap.
      {"conversion to the same type", false,
       kX + " h = bf16[14] convert(x)\n ROOT r = f32[14] convert(h)\n"},
      {"conversion to the same type", false,
       " x = s32[14] parameter(0)\n h = s8[14] convert(x)\n ROOT r = s32[14] convert(h)\n"},
      {"conversion to the same type", false,
       " x = s32[14] parameter(0)\n h = f32[14] convert(x)\n ROOT r = s32[14] convert(h)\n"},
      {"transpose in order", true,
       kMatrix + " t = f32[14,14] transpose(x), dimensions={0,1}\n ROOT r = f32[14,14] negate(t)\n"},
      {"transpose in order", false,
       kMatrix + " t = f32[14,14] transpose(x), dimensions={1,0}\n ROOT r = f32[14,14] negate(t)\n"},
      {"reduction of a transpose", true,
       kMatrix + " t = f32[14,14] transpose(x), dimensions={1,0}\n l = f32[] constant(-inf)\n"
                 " ROOT r = f32[14] reduce(t, l), dimensions={1}, to_apply=most\n",
       "most { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] maximum(a, b) }\n"},
      {"reduction of a transpose", true,
       " x = s32[2,3,4,5] parameter(0)\n t = s32[5,4,2,3] transpose(x), dimensions={3,2,0,1}\n z = s32[] constant(0)\n"
       " ROOT r = s32[5,2,3] reduce(t, z), dimensions={1}, to_apply=sum\n",
       "sum { a = s32[] parameter(0) b = s32[] parameter(1) ROOT m = s32[] add(b, a) }\n"},
      {"reduction of a transpose", false,  // rows of a product that are read again
       kMatrix + " d = f32[14,14] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                 " t = f32[14,14] transpose(d), dimensions={1,0}\n l = f32[] constant(-inf)\n"
                 " m = f32[14] reduce(t, l), dimensions={1}, to_apply=most\n b = f32[14,14] broadcast(m), dimensions={0}\n"
                 " ROOT r = f32[14,14] subtract(t, b)\n",
       "most { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] maximum(a, b) }\n"},
      {"reduction of a transpose", false,  // an order that counts
       kMatrix + " t = f32[14,14] transpose(x), dimensions={1,0}\n l = f32[] constant(0)\n"
                 " ROOT r = f32[14] reduce(t, l), dimensions={1}, to_apply=less\n",
       "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] subtract(a, b) }\n"},
      {"broadcast in order", true,
       kMatrix + " t = f32[14,14] broadcast(x), dimensions={0,1}\n ROOT r = f32[14,14] negate(t)\n"},
      {"broadcast in order", false,
       kX + " t = f32[14,14] broadcast(x), dimensions={1}\n ROOT r = f32[14,14] negate(t)\n"},
      {"broadcast that only adds dimensions of 1", true,
       kX + " t = f32[1,14,1] broadcast(x), dimensions={1}\n ROOT r = f32[1,14,1] negate(t)\n"},
      {"broadcast that only adds dimensions of 1", false,
       kX + " t = f32[2,14] broadcast(x), dimensions={1}\n ROOT r = f32[2,14] negate(t)\n"},
      {"reverse of dimensions of 1", true,
       " x = f32[14,1,1] parameter(0)\n v = f32[14,1,1] reverse(x), dimensions={1,2}\n ROOT r = f32[14,1,1] negate(v)\n"},
      {"reverse of dimensions of 1", false,
       " x = f32[2,1] parameter(0)\n v = f32[2,1] reverse(x), dimensions={0,1}\n ROOT r = f32[2,1] negate(v)\n"},
      {"convolution with a reversed kernel", true,
       " x = f32[1,5,6,2] parameter(0)\n k = f32[2,3,2,4] parameter(1)\n v = f32[2,3,2,4] reverse(k), dimensions={1}\n"
       " ROOT r = f32[1,4,6,4] convolution(x, v), window={size=2x3 pad=0_0x1_1}, dim_labels=b01f_01io->b01f\n"},
      {"convolution with a reversed kernel", true,  // reversed twice
       " x = f32[1,5,6,2] parameter(0)\n k = f32[2,3,2,4] parameter(1)\n v = f32[2,3,2,4] reverse(k), dimensions={1,0}\n"
       " ROOT r = f32[1,4,6,4] convolution(x, v), window={size=2x3 pad=0_0x1_1 rhs_reversal=1x0}, dim_labels=b01f_01io->b01f\n"},
      {"convolution with a reversed kernel", false,  // features, too
       " x = f32[1,5,6,2] parameter(0)\n k = f32[2,3,2,4] parameter(1)\n v = f32[2,3,2,4] reverse(k), dimensions={0,2}\n"
       " ROOT r = f32[1,4,6,4] convolution(x, v), window={size=2x3 pad=0_0x1_1}, dim_labels=b01f_01io->b01f\n"},
      {"convolution with a reversed kernel", false,  // the input is
       " x = f32[1,5,6,2] parameter(0)\n k = f32[2,3,2,4] parameter(1)\n v = f32[1,5,6,2] reverse(x), dimensions={1}\n"
       " ROOT r = f32[1,4,6,4] convolution(v, k), window={size=2x3 pad=0_0x1_1}, dim_labels=b01f_01io->b01f\n"},
      {"element of a tuple", true,
       kX + kY + " t = (f32[14], f32[14]) tuple(x, y)\n e = f32[14] get-tuple-element(t), index=1\n"
                 " ROOT r = f32[14] subtract(x, e)\n"},
      {"element of a tuple", false,
       " t = (f32[14], s32[14]) parameter(0)\n e = f32[14] get-tuple-element(t), index=0\n"
       " ROOT r = f32[14] negate(e)\n"},
      {"value of constants", true,
       " c = f32[4] constant({nan, -0, inf, 3e38})\n d = f32[4] constant({1, 0, -inf, 3e38})\n"
       " ROOT r = f32[4] add(c, d)\n"},
      {"value of constants", true,
       " c = s32[3] constant({-2147483648, 7, 0})\n d = s32[3] constant({-1, 0, 0})\n"
       " ROOT r = s32[3] divide(c, d)\n"},
      {"value of constants", true, " c = f32[2] constant({1e-40, -0})\n ROOT r = bf16[2] convert(c)\n"},
      {"value of constants", false,
       " c = f32[] constant(-0)\n b = f32[65] broadcast(c), dimensions={}\n ROOT r = f32[65] negate(b)\n"},
      {"value of constants", false,
       " c = u64[2] constant({1, 2})\n"
       " ROOT r = (u64[2], u32[3]) rng-bit-generator(c), algorithm=rng_default\n"},
      {"equal instructions", true,
       kX + " a = f32[14] exponential(x)\n b = f32[14] exponential(x)\n ROOT r = f32[14] subtract(a, b)\n"},
      {"equal instructions", false,
       kX + kY + " a = pred[14] compare(x, y), direction=LT\n b = pred[14] compare(x, y), direction=GE\n"
                 " ROOT r = pred[14] xor(a, b)\n"},
      // Not the same: subtraction does not commute, 0 is not -0.
      {"equal instructions", false,
       kX + kY + " a = f32[14] subtract(x, y)\n b = f32[14] subtract(y, x)\n ROOT r = f32[14] add(a, b)\n"},
      {"equal instructions", false,
       " a = f32[] constant(0)\n b = f32[] constant(-0)\n ROOT r = (f32[], f32[]) tuple(a, b)\n"},
      {"equal instructions", false,
       kX + " a = f32[14] opt-barrier(x)\n b = f32[14] opt-barrier(x)\n ROOT r = f32[14] add(a, b)\n"},
      {"dead code", true, kX + " d = f32[14] exponential(x)\n ROOT r = f32[14] negate(x)\n"},
      {"dead code", false,
       kX + " t = token[] after-all()\n o = token[] outfeed(x, t), outfeed_shape=f32[14]\n"
            " ROOT r = f32[14] negate(x)\n"},
  };
}

std::string loop(const std::string& test, const std::string& step, const std::string& type = "s32",
                 const std::string& work = "multiply(a, a)") {
  return "condition {\n s = (" + type + "[], f32[14]) parameter(0)\n i = " + type +
         "[] get-tuple-element(s), index=0\n" + test + "}\nbody {\n s = (" + type +
         "[], f32[14]) parameter(0)\n i = " + type + "[] get-tuple-element(s), index=0\n"
         " a = f32[14] get-tuple-element(s), index=1\n b = f32[14] " + work + "\n k = " + type +
         "[] constant(" + step + ")\n j = " + type + "[] add(i, k)\n ROOT t = (" + type +
         "[], f32[14]) tuple(j, b)\n}\n";
}
std::string start(const std::string& first, const std::string& type = "s32") {
  return kX + " z = " + type + "[] constant(" + first + ")\n s = (" + type + "[], f32[14]) tuple(z, x)\n"
         " w = (" + type + "[], f32[14]) while(s), condition=condition, body=body\n"
         " ROOT r = f32[14] get-tuple-element(w), index=1\n";
}
std::string below(const std::string& n, const std::string& type = "s32", const std::string& d = "LT") {
  return " n = " + type + "[] constant(" + n + ")\n ROOT c = pred[] compare(i, n), direction=" + d + "\n";
}

std::vector<Row> control_rows() {
  const std::string branches =
      "f {\n a = f32[14] parameter(0)\n ROOT r = f32[14] negate(a)\n}\n"
      "g {\n a = f32[14] parameter(0)\n ROOT r = f32[14] abs(a)\n}\n";
  const std::string by_index = ", branch_computations={f, g}\n";
  return {
      {"control: loops of known length", true, start("0"), loop(below("3"), "1")},
      {"control: loops of known length", true, start("5"), loop(below("-1", "s32", "GT"), "-2")},
      {"control: loops of known length", true, start("3"), loop(below("3"), "1")},  // none
      {"control: loops of known length", true, start("7", "u32"), loop(below("9", "u32"), "1", "u32")},
      // The counter comes near the end of its type; it has a narrow type; there are too many turns.
      {"control: loops of known length", false, start("2147483640"),
       loop(below("2147483646", "s32", "LE"), "1")},
      {"control: loops of known length", false, start("120", "s8"), loop(below("126", "s8"), "1", "s8")},
      {"control: loops of known length", false, start("0"), loop(below("1000"), "1")},
      {"control: branch of a constant", true,
       kX + kY + " p = pred[] constant(false)\n"
                 " ROOT r = f32[14] conditional(p, x, y), true_computation=f, false_computation=g\n",
       branches},
      {"control: branch of a constant", true,
       kX + kY + " p = s32[] constant(-5)\n ROOT r = f32[14] conditional(p, x, y)" + by_index, branches},
      {"control: branch of a constant", true,
       kX + kY + " p = s32[] constant(2)\n ROOT r = f32[14] conditional(p, x, y)" + by_index, branches},
      {"control: branch of a constant", false,
       kX + kY + " p = s32[] parameter(2)\n ROOT r = f32[14] conditional(p, x, y)" + by_index, branches},
  };
}

std::vector<Row> other_rows() {
  const std::string by_value =
      "by {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n"
      " ROOT r = pred[] compare(a, b), direction=LT, type=";
  const std::string sorted =
      kMatrix + " s = f32[14,14] sort(x), dimensions={1}, to_apply=by\n"
                " ROOT r = f32[14,3] slice(s), slice={[0:14], [0:3]}\n";
  const std::string product =
      " x = f32[14,5] parameter(0)\n y = f32[5,3] parameter(1)\n"
      " d = f32[14,3] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  const std::string window = " x = f32[14] parameter(0)\n u = f32[3] parameter(1)\n";
  const std::string last = "last {\n a = f32[] parameter(0)\n ROOT b = f32[] parameter(1)\n}\n";
  const std::string every = "every {\n a = pred[] parameter(0)\n b = pred[] parameter(1)\n ROOT r = pred[] and(a, b)\n}\n";
  const std::string scattered =
      " ROOT s = f32[14] scatter(x, i, u), update_window_dims={0}, inserted_window_dims={}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=last\n";
  const std::string twice = "f {\n a = f32[] parameter(0)\n ROOT r = f32[] add(a, a)\n}\n";
  // x = x · w, so many times.
  const std::string powers = " x = f32[4,256] parameter(0)\n w = f32[256,256] parameter(1)\n z = s32[] constant(0)\n"
                             " s = (s32[], f32[4,256], f32[256,256]) tuple(z, x, w)\n"
                             " l = (s32[], f32[4,256], f32[256,256]) while(s), condition=c, body=b\n"
                             " ROOT r = f32[4,256] get-tuple-element(l), index=1\n";
  auto turns = [](int64_t n, const char* matrix = " w = f32[256,256] get-tuple-element(s), index=2\n") {
    return str_cat("c {\n s = (s32[], f32[4,256], f32[256,256]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
                   " n = s32[] constant(", n, ")\n ROOT r = pred[] compare(i, n), direction=LT\n}\n"
                   "b {\n s = (s32[], f32[4,256], f32[256,256]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
                   " o = s32[] constant(1)\n j = s32[] add(i, o)\n x = f32[4,256] get-tuple-element(s), index=1\n"
                   , matrix, " y = f32[4,256] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                   " m = f32[256,256] get-tuple-element(s), index=2\n"
                   " ROOT t = (s32[], f32[4,256], f32[256,256]) tuple(j, y, m)\n}\n");
  };
  const char* const negated = " v = f32[256,256] get-tuple-element(s), index=2\n w = f32[256,256] negate(v)\n";
  return {
      {"loop-invariants: operand of a product", true, powers, turns(2, negated)},
      {"loop-invariants: operand of a product", false, powers, turns(1, negated)},
      {"loop-weights: a matrix that stays", true, powers, turns(32)},
      {"loop-weights: a matrix that stays", false, powers, turns(31)},
      {"expand: op with an expansion", true,
       kX + " ROOT r = f32[14] map(x), dimensions={0}, to_apply=f\n", twice},
      {"expand: op with an expansion", false, kX + kY + " ROOT r = f32[14] atan2(x, y)\n"},
      {"sort-to-topk: first of a total order", true, sorted, by_value + "TOTALORDER\n}\n"},
      // -0 equals 0 here, and NaN is no number.
      {"sort-to-topk: first of a total order", false, sorted, by_value + "FLOAT\n}\n"},
      {"transposed-dot: free dimensions exchanged", true,
       product + " ROOT r = f32[3,14] transpose(d), dimensions={1,0}\n"},
      {"transposed-dot: free dimensions exchanged", false,
       product + " t = f32[3,14] transpose(d), dimensions={1,0}\n"
                 " ROOT r = (f32[14,3], f32[3,14]) tuple(d, t)\n"},
      {"dot-to-sums: few computed columns", true,
       " v = f32[5000] parameter(0)\n x = f32[5000,4] parameter(1)\n y = f32[5000,4] negate(x)\n"
       " ROOT d = f32[4] dot(v, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"},
      {"dot-to-sums: few computed columns", false,
       " v = f32[5000] parameter(0)\n x = f32[5000,5] parameter(1)\n y = f32[5000,5] negate(x)\n"
       " ROOT d = f32[5] dot(v, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"},
      {"repeated-dot: equal rows", true,
       " v = f32[5] parameter(0)\n x = f32[4,5,3] broadcast(v), dimensions={1}\n y = f32[5,6] parameter(1)\n"
       " ROOT d = f32[4,3,6] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"},
      {"repeated-dot: equal rows", true,
       " s = f32[] parameter(0)\n x = f32[2,4,5] broadcast(s), dimensions={}\n y = f32[2,6,5] parameter(1)\n"
       " ROOT d = f32[2,6,4] dot(y, x), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}\n"},
      {"repeated-dot: equal rows", true,
       " v = f32[3] parameter(0)\n x = f32[2,5,3] broadcast(v), dimensions={2}\n y = f32[6,5,3] parameter(1)\n"
       " ROOT d = f32[3,2,6] dot(x, y), lhs_batch_dims={2}, rhs_batch_dims={2}, lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"},
      {"repeated-dot: equal rows", false,
       " v = f32[4] parameter(0)\n x = f32[4,5] broadcast(v), dimensions={0}\n y = f32[5,6] parameter(1)\n"
       " ROOT d = f32[4,6] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"},
      {"known-windows: a scatter of one window", true,
       window + " i = s32[1] constant({2})\n" + scattered, last},
      {"known-windows: a scatter of one window", false,
       window + " i = s32[1] parameter(2)\n" + scattered, last},
      {"known-windows: a slice at a known place", true,
       window + " i = s32[] constant(20)\n ROOT s = f32[3] dynamic-slice(x, i), dynamic_slice_sizes={3}\n"},
      {"known-windows: a slice at a known place", false,
       window + " i = s32[] parameter(2)\n ROOT s = f32[3] dynamic-slice(x, i), dynamic_slice_sizes={3}\n"},
      {"known-windows: a known choice", true,
       kX + kY + " a = s32[2] constant({1, 2})\n c = pred[2] compare(a, a), direction=EQ\n t = pred[] constant(true)\n"
       " k = pred[] reduce(c, t), dimensions={0}, to_apply=every\n p = pred[14] broadcast(k), dimensions={}\n"
       " ROOT r = f32[14] select(p, x, y)\n", every},
      {"known-windows: a known choice", false,
       kX + kY + " p = pred[14] compare(x, y), direction=LT\n ROOT r = f32[14] select(p, x, y)\n"},
      {"flat-tuples: inner tuples of a loop's state", true,
       kX + " p = pred[] constant(false)\n t = (f32[14]) tuple(x)\n s = ((f32[14]), pred[]) tuple(t, p)\n"
            " w = ((f32[14]), pred[]) while(s), condition=c, body=b\n v = (f32[14]) get-tuple-element(w), index=0\n"
            " ROOT r = f32[14] get-tuple-element(v), index=0\n",
       "c {\n s = ((f32[14]), pred[]) parameter(0)\n ROOT r = pred[] get-tuple-element(s), index=1\n}\n"
       "b {\n ROOT s = ((f32[14]), pred[]) parameter(0)\n}\n"},
      {"flat-tuples: inner tuples of a loop's state", false,
       kX + " p = pred[] constant(false)\n s = (f32[14], pred[]) tuple(x, p)\n"
            " w = (f32[14], pred[]) while(s), condition=c, body=b\n ROOT r = f32[14] get-tuple-element(w), index=0\n",
       "c {\n s = (f32[14], pred[]) parameter(0)\n ROOT r = pred[] get-tuple-element(s), index=1\n}\n"
       "b {\n ROOT s = (f32[14], pred[]) parameter(0)\n}\n"},
      {"complex-dot: large ones", true,  // one row, summed along those of the matrix
       " x = c64[1,70] parameter(0)\n w = c64[80,70] parameter(1)\n"
       " ROOT r = c64[1,80] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"},
      {"complex-dot: large ones", false,  // along its columns
       " x = c64[1,70] parameter(0)\n w = c64[70,80] parameter(1)\n"
       " ROOT r = c64[1,80] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"},
      {"complex-dot: large ones", true,
       " x = c64[8,9] parameter(0)\n y = c64[9,10] parameter(1)\n"
       " ROOT d = c64[8,10] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"},
      {"complex-dot: large ones", false,
       " x = c64[7,9] parameter(0)\n y = c64[9,10] parameter(1)\n"
       " ROOT d = c64[7,10] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"},
  };
}

std::vector<Row> all_rows() {
  std::vector<Row> rows = cleanup_rows();
  for (auto& more : {control_rows(), other_rows()}) rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

TEST(Rules, FireWhereTheyMayAndNowhereElse) {
  for (const Row& row : all_rows()) check(row);
}

TEST(Rules, EachHasBothSides) {
  std::set<std::string> fires, stays;
  for (const Row& r : all_rows()) (r.fires ? fires : stays).insert(std::string(r.rule));
  std::set<std::string> rules = {"equal instructions", "dead code"};
  for (const CleanupRule& r : cleanup_rules()) rules.insert(std::string(r.name));
  for (const std::string& r : rules) {
    EXPECT_TRUE(fires.contains(r)) << "no program on which '" << r << "' fires";
    EXPECT_TRUE(stays.contains(r)) << "no program just outside of '" << r << "'";
  }
  // Passes with rules of their own; those that rearrange everything have tests of their own.
  const std::set<std::string_view> whole = {"inline", "cleanup", "recompute", "fuse"};
  for (const PassRow& p : pass_table()) {
    if (whole.contains(p.name)) continue;
    for (auto* side : {&fires, &stays}) {
      bool found = false;
      for (const std::string& r : *side) found |= r.starts_with(std::string(p.name) + ":");
      EXPECT_TRUE(found) << "no program " << (side == &fires ? "of" : "just outside of") << " pass " << p.name;
    }
  }
}

}  // namespace
}  // namespace braze
