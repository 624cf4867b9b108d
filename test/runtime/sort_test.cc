// SPDX-License-Identifier: Apache-2.0
// Native sort and topk give the evaluator's bits, for every comparator they claim to know.
#include "runtime/sort.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "backend/compile.h"
#include "eval/evaluator.h"
#include "text/parse.h"

namespace braze {
namespace {

// Many duplicates; for floats also zeros of both signs, infinities and, if asked, NaNs of both.
Literal values(const Shape& s, std::mt19937_64& rng, bool nans) {
  Literal l(s);
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const bool wide = rng() % 2;
  for (int64_t i = 0; i < l.elements(); ++i) {
    if (!is_float(s.dtype)) {
      l.set_int(i, wide ? static_cast<int64_t>(rng()) : static_cast<int64_t>(rng() % 20) - 10);
      continue;
    }
    const double special[] = {0.0, -0.0, infinity, -infinity, nans ? nan : 1, nans ? -nan : -1};
    const double number = static_cast<int64_t>(rng() % 41) - 20;
    l.set_float(i, rng() % 4 == 0 ? special[rng() % 6]
                                  : wide ? std::ldexp(static_cast<double>(rng() % 4096), -8) - 8
                                         : number / 4);
  }
  return l;
}

// Runs the root of the module's entry, whose operands are the parameters, natively; false if
// run_sort leaves it to others, and then checks that it wrote nothing.
bool native(const Module& m, const std::vector<Literal>& args, int threads, Literal* out) {
  const Instr& root = *m.entry()->root();
  std::vector<Literal> copies = args, results;
  std::vector<char*> from, to;
  for (const Shape& s : leaves(root.shape)) results.emplace_back(s);
  for (const Instr* o : root.operands) from.push_back(copies[o->parameter_number()].mutable_bytes());
  for (Literal& l : results) to.push_back(l.mutable_bytes());
  Pool pool(threads);
  const bool done = run_sort(root, from, to, pool);
  for (const Literal& l : results) EXPECT_TRUE(done || l == Literal(l.shape()));
  *out = root.shape.is_tuple() ? Literal::tuple(std::move(results)) : results[0];
  return done;
}

// Native at several thread counts, and compiled, against the evaluator.
void expect_agree(const std::string& text, bool nans, bool known, uint64_t seed) {
  auto m = parse_hlo(text);
  ASSERT_TRUE(m.ok()) << m.status() << text;
  std::mt19937_64 rng(seed);
  std::vector<Literal> args;
  for (const Instr* p : (*m)->entry()->params()) args.push_back(values(p->shape, rng, nans));
  auto want = evaluate(**m, args);
  ASSERT_TRUE(want.ok()) << want.status();
  for (int threads : {1, 3}) {
    Literal got;
    ASSERT_EQ(native(**m, args, threads, &got), known) << text;
    EXPECT_TRUE(!known || got == *want) << text;
  }
  auto exe = compile(std::move(*m));
  ASSERT_TRUE(exe.ok()) << exe.status();
  auto got = (*exe)->run(args);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_TRUE(*got == *want) << text;
}

// A sort of `count` operands, the first of type t and the others f32, u8, f64, …, by `body`, whose
// parameters are p0, p1 (of operand 0), p2, …
std::string sort_text(const std::string& t, const std::string& dims, int axis, int count,
                      const std::string& body) {
  const std::string types[] = {t, "f32", "u8", "c128"};
  std::string params, entry, shapes, names;
  for (int k = 0; k < count; ++k) {
    const std::string n = std::to_string(k), shape = types[k] + "[" + dims + "]";
    for (int side : {2 * k, 2 * k + 1})
      params += " p" + std::to_string(side) + " = " + types[k] + "[] parameter(" +
                std::to_string(side) + ")\n";
    entry += " x" + n + " = " + shape + " parameter(" + n + ")\n";
    shapes += (k ? ", " : "") + shape;
    names += (k ? ", x" : "x") + n;
  }
  return "HloModule s\nless {\n" + params + body + "}\nENTRY main {\n" + entry + " ROOT r = " +
         (count > 1 ? "(" + shapes + ")" : shapes) + " sort(" + names + "), dimensions={" +
         std::to_string(axis) + "}, is_stable=true, to_apply=less\n}\n";
}

std::string compare(const std::string& sides, const std::string& direction, const std::string& type) {
  return " ROOT r = pred[] compare(" + sides + "), direction=" + direction +
         (type.empty() ? "" : ", type=" + type) + "\n";
}

// Both parameters with zeros and NaNs made one, as front ends write it.
std::string canonical(const std::string& t, const std::string& direction) {
  std::string s;
  for (std::string p : {"p0", "p1"})
    s += " z" + p + " = " + t + "[] constant(0)\n n" + p + " = " + t + "[] constant(nan)\n" +
         " e" + p + " = pred[] compare(" + p + ", z" + p + "), direction=EQ\n" +
         " a" + p + " = " + t + "[] select(e" + p + ", z" + p + ", " + p + ")\n" +
         " u" + p + " = pred[] compare(" + p + ", " + p + "), direction=NE\n" +
         " b" + p + " = " + t + "[] select(u" + p + ", n" + p + ", a" + p + ")\n";
  return s + compare("bp0, bp1", direction, "TOTALORDER");
}

struct Form {
  std::string dims;
  int axis, count;
};
const Form kForms[] = {{"7", 0, 1},      {"1000", 0, 2},    {"3,300", 1, 3}, {"300,5", 0, 2},
                       {"4,9,5", 1, 4},  {"2,257,3", 1, 2}, {"0", 0, 2},     {"3,0,2", 1, 2},
                       {"0,4", 1, 1},    {"1", 0, 2},       {"256", 0, 1},
                       {"35,9", 1, 3},   {"9,50", 0, 2},    {"2,17,20", 1, 2}, {"20,64", 1, 1},
                       {"64,3", 0, 1},   {"18,65", 1, 1}};

TEST(Sort, Floats) {
  uint64_t seed = 1;
  for (std::string t : {"f32", "f64", "f16", "bf16"})
    for (const Form& f : kForms)
      for (std::string direction : {"LT", "GT", "LE", "GE"}) {
        ++seed;
        const std::string sides = seed % 2 ? "p0, p1" : "p1, p0";
        auto text = [&](const std::string& body) { return sort_text(t, f.dims, f.axis, f.count, body); };
        expect_agree(text(compare(sides, direction, "TOTALORDER")), true, true, seed);
        expect_agree(text(compare(sides, direction, "FLOAT")), false, true, seed);
        expect_agree(text(canonical(t, direction)), true, true, seed);
      }
}

TEST(Sort, Integers) {
  uint64_t seed = 1;
  for (std::string t : {"s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "s4", "u4", "pred"})
    for (const Form& f : kForms)
      for (std::string direction : {"LT", "GT", "GE"}) {
        ++seed;
        const std::string sides = seed % 2 ? "p0, p1" : "p1, p0";
        expect_agree(sort_text(t, f.dims, f.axis, f.count, compare(sides, direction, "")), false, true,
                     seed);
      }
}

TEST(Sort, LongRowsHaveWideDigits) {
  for (std::string t : {"f32", "s64", "u16"})
    expect_agree(sort_text(t, "20000", 0, 2, compare("p0, p1", "LT", "")), false, true, 5);
}

TEST(Sort, KeyIsAnyOperand) {
  expect_agree(sort_text("s32", "400,2", 0, 3, compare("p4, p5", "GT", "UNSIGNED")), false, true, 7);
  expect_agree(sort_text("s32", "40", 0, 2, compare("p3, p2", "LT", "")), false, true, 8);
}

TEST(Sort, LeavesTheRestToTheEvaluator) {
  // NaNs under the partial order, no order at all, mixed operands, other computations.
  expect_agree(sort_text("f32", "300", 0, 2, compare("p0, p1", "LT", "FLOAT")), true, false, 9);
  expect_agree(sort_text("s32", "30", 0, 2, compare("p0, p1", "NE", "")), false, false, 10);
  expect_agree(sort_text("f32", "30", 0, 2, compare("p0, p3", "LT", "")), false, false, 11);
  expect_agree(sort_text("f32", "30", 0, 1, compare("p0, p0", "LT", "")), false, false, 12);
  expect_agree(sort_text("f32", "30", 0, 1,
                         " a = f32[] abs(p0)\n b = f32[] abs(p1)\n" + compare("a, b", "LT", "")),
               false, false, 13);
  // One side only made canonical.
  expect_agree(sort_text("f32", "30", 0, 1,
                         " z = f32[] constant(0)\n e = pred[] compare(p0, z), direction=EQ\n"
                         " a = f32[] select(e, z, p0)\n" + compare("a, p1", "LT", "TOTALORDER")),
               false, false, 14);
}

TEST(Sort, RefusesResultsOverOperands) {
  auto m = parse_hlo(sort_text("f32", "8", 0, 1, compare("p0, p1", "LT", "")));
  ASSERT_TRUE(m.ok()) << m.status();
  float x[8] = {3, 1, 2, 0, 7, 6, 5, 4};
  char* p[] = {reinterpret_cast<char*>(x)};
  Pool pool(1);
  EXPECT_FALSE(run_sort(*(*m)->entry()->root(), p, p, pool));
  EXPECT_EQ(x[0], 3);
}

// Two and three keys, in both forms that front ends write.
TEST(Sort, SeveralKeys) {
  uint64_t seed = 1000;
  for (std::string t : {"f32", "s32", "u8", "f64"})
    for (const Form& f : kForms) {
      if (f.count < 2) continue;
      for (std::string direction : {"LT", "GT"})
        for (std::string type : {"TOTALORDER", "FLOAT"}) {
          if (t[0] != 'f' && type == "FLOAT") continue;
          const std::string kind = t[0] == 'f' ? ", type=" + type : "";
          const std::string both = " e = pred[] compare(p0, p1), direction=EQ" + kind + "\n l = pred[] compare(p0, p1), direction=" +
                                   direction + kind + "\n s = pred[] compare(p3, p2), direction=LT, type=TOTALORDER\n";
          ++seed;
          expect_agree(sort_text(t, f.dims, f.axis, f.count, both + " ROOT r = pred[] select(e, s, l)\n"), type == "TOTALORDER",
                       true, seed);
          expect_agree(sort_text(t, f.dims, f.axis, f.count,
                                 both + " a = pred[] and(e, s)\n ROOT r = pred[] or(l, a)\n"),
                       type == "TOTALORDER", true, seed);
          if (f.count < 3) continue;
          const std::string third = both + " q = pred[] compare(p2, p3), direction=EQ, type=TOTALORDER\n u = pred[] compare(p4, p5), direction=GE\n"
                                    " v = pred[] select(q, u, s)\n ROOT r = pred[] select(e, v, l)\n";
          expect_agree(sort_text(t, f.dims, f.axis, f.count, third), type == "TOTALORDER", true, seed);
        }
    }
}

TEST(TopK, AllTypes) {
  uint64_t seed = 1;
  for (std::string t : {"f32", "f64", "f16", "bf16", "s8", "s32", "u16", "u64"})
    for (std::string dims : {"7", "3,300", "2,5,9", "4,0", "0,3", "1000"})
      for (std::string largest : {"true", "false"})
        for (int64_t k : {0, 1, 3, 7, 30, 300}) {
          Shape s = *parse_shape(t + "[" + dims + "]");
          k = std::min(k, s.dims.back());
          Shape out = s;
          out.dims.back() = k;
          const std::string v = to_string(out, false), i = to_string(out.with_dtype(Dtype::kS32), false);
          expect_agree("HloModule t\nENTRY main {\n x = " + t + "[" + dims + "] parameter(0)\n ROOT r = (" +
                           v + ", " + i + ") topk(x), k=" + std::to_string(k) + ", largest=" + largest + "\n}\n",
                       true, true, ++seed);
        }
}

}  // namespace
}  // namespace braze
