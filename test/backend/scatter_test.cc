// SPDX-License-Identifier: Apache-2.0
// Scatters against the evaluator: duplicates, runs, negative and too large indices, windows of odd
// sizes, no updates at all; with the same bits from a kernel run by the interpreter.
#include <random>

#include "test/backend/agree.h"

namespace braze {
namespace {

struct Case {
  const char* type = "f32";
  const char* combine = "add";
  int64_t rows = 1, updates = 1, window = 0;  // 0: elements
  bool sorted = false;
};

std::string program(const Case& c) {
  // "keep": the update takes the place of what was there.
  const std::string combined = std::string_view(c.combine) == "keep" ? "copy(b)" : str_cat(c.combine, "(a, b)");
  std::string w = c.window ? str_cat(",", c.window) : "";
  return str_cat("HloModule s\nf { a = ", c.type, "[] parameter(0)\n b = ", c.type,
                 "[] parameter(1)\n ROOT r = ", c.type, "[] ", combined, " }\nENTRY e { x = ",
                 c.type, "[", c.rows, w, "] parameter(0)\n i = s32[", c.updates,
                 ",1] parameter(1)\n u = ", c.type, "[", c.updates, w, "] parameter(2)\n ROOT r = ",
                 c.type, "[", c.rows, w, "] scatter(x, i, u), update_window_dims={", c.window ? "1" : "",
                 "}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1",
                 c.sorted ? ", indices_are_sorted=true" : "", ", to_apply=f }\n");
}

std::vector<Literal> arguments(const Module& m, const Case& c, std::mt19937& rng) {
  std::vector<Literal> args;
  for (const Instr* p : m.entry()->params()) {
    Literal l(p->shape);
    std::vector<int64_t> index(static_cast<size_t>(l.elements()));
    // Some before the first row and past the last.
    for (int64_t& i : index)
      i = static_cast<int64_t>(rng() % static_cast<uint64_t>(c.rows + 4)) - 2;
    if (c.sorted) std::sort(index.begin(), index.end());
    for (int64_t i = 0; i < l.elements(); ++i) {
      if (p->parameter_number() == 1) l.set_int(i, index[static_cast<size_t>(i)]);
      else if (is_float(l.dtype())) l.set_float(i, static_cast<double>(rng() % 1000) / 512 - 1);
      else l.set_int(i, static_cast<int64_t>(rng() % 200));
    }
    args.push_back(std::move(l));
  }
  return args;
}

void check(const Case& c) {
  SCOPED_TRACE(program(c));
  auto m = parse_hlo(program(c));
  ASSERT_TRUE(m.ok()) << m.status();
  std::mt19937 rng(7);
  const std::vector<Literal> args = arguments(**m, c, rng);
  auto want = evaluate(**m, args);
  ASSERT_TRUE(want.ok()) << want.status();
  for (const char* backend : {"cpu", "kernel"}) {
    CompileOptions o;
    o.backend = backend;
    auto exe = compile((*m)->clone(), o);
    ASSERT_TRUE(exe.ok()) << exe.status();
    auto got = (*exe)->run(args);
    ASSERT_TRUE(got.ok()) << got.status();
    expect_close(*got, *want, 0);
  }
}

TEST(Scatter, Elements) {
  for (const char* type : {"f32", "f64", "bf16", "s32", "u8"})
    for (bool sorted : {false, true})
      for (int64_t rows : {1, 7, 100})
        for (int64_t updates : {1, 5, 333}) check({type, "add", rows, updates, 0, sorted});
}

TEST(Scatter, Windows) {
  for (int64_t window : {1, 3, 8, 9, 24, 64, 130})
    for (bool sorted : {false, true}) check({"f32", "add", 11, 50, window, sorted});
}

TEST(Scatter, OtherCombiners) {
  for (const char* combine : {"maximum", "minimum", "multiply"})
    for (bool sorted : {false, true}) check({"f32", combine, 9, 70, 0, sorted});
}

TEST(Scatter, PlainStores) {
  for (const char* type : {"f32", "s8", "s64", "c64", "pred"})
    for (bool sorted : {false, true})
      for (int64_t rows : {1, 6, 100})
        for (int64_t window : {0, 1, 16}) check({type, "keep", rows, 70, window, sorted});
}

TEST(Scatter, NoUpdates) {
  check({"f32", "add", 9, 0, 0, false});
  check({"f32", "add", 9, 0, 8, true});
}

// Windows of two dimensions at starts of two coordinates, some of which do not fit.
TEST(Scatter, WindowsOfTwoDimensions) {
  auto exe = agree(
      "HloModule s\nf { a = f32[] parameter(0)\n ROOT b = f32[] parameter(1) }\n"
      "ENTRY e { x = f32[5,6] parameter(0)\n i = s32[3,2] parameter(1)\n u = f32[3,2,3] parameter(2)\n"
      " ROOT r = f32[5,6] scatter(x, i, u), update_window_dims={1,2}, inserted_window_dims={},"
      " scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=f }\n");
  EXPECT_NE(exe, nullptr);
}

// Windows are the slow dimension of the updates, and overlap: the window of the later index stays.
TEST(Scatter, OverlappingWindowsComeInTheOrderOfTheIndices) {
  const std::string text =
      "HloModule s\nf { a = f32[] parameter(0)\n ROOT b = f32[] parameter(1) }\nENTRY e { x = f32[5] parameter(0)\n "
      "i = s32[2,1] constant({{0},{1}})\n u = f32[3,2] constant({{1,2},{3,4},{5,6}})\n ROOT r = f32[5] "
      "scatter(x, i, u), update_window_dims={0}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, "
      "index_vector_dim=1, to_apply=f }\n";
  for (const char* backend : {"cpu", "kernel", "reference"}) {
    auto m = parse_hlo(text);
    ASSERT_TRUE(m.ok()) << m.status();
    CompileOptions o;
    o.backend = backend;
    auto exe = compile(std::move(*m), o);
    ASSERT_TRUE(exe.ok()) << exe.status();
    auto got = (*exe)->run({ramp(Shape::array(Dtype::kF32, {5}), 0, 9)});
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(to_string(*got), "{1, 2, 4, 6, 9}") << backend;
  }
}

}  // namespace
}  // namespace braze
