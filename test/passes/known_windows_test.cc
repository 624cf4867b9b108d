// SPDX-License-Identifier: Apache-2.0
// Windows at known places: which become plain slices and updates, and what they compute, inside their array or not.
#include "passes/known_windows.h"

#include <gtest/gtest.h>

#include "test/backend/agree.h"
#include "text/print.h"

namespace braze {
namespace {

std::string rewritten(const std::string& text) {
  auto m = parse_hlo(text);
  EXPECT_TRUE(m.ok()) << m.status();
  if (!m.ok()) return "";
  EXPECT_TRUE(known_windows(**m).ok());
  return print_hlo(**m);
}
bool has(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

struct Case {
  const char* type;
  Dims dims, window, start;
};

// A scatter of one window; `row`: its first dimension is inserted. `combiner`: of parameters a, b.
std::string scatter(const Case& c, const std::string& combiner, bool row) {
  const auto shape = [](const char* type, DimSpan dims) { return to_string(Shape::array(*dtype_from_hlo(type), dims), false); };
  std::string index, windows, to;
  for (size_t d = 0; d < c.start.size(); ++d) {
    index += str_cat(d ? ", " : "", c.start[d]);
    to += str_cat(d ? "," : "", d);
    if (d >= (row ? 1U : 0U)) windows += str_cat(windows.empty() ? "" : ",", d - (row ? 1 : 0));
  }
  const Dims update(c.window.begin() + (row ? 1 : 0), c.window.end());
  return str_cat("HloModule t\ncomb {\n  a = ", c.type, "[] parameter(0)\n  b = ", c.type, "[] parameter(1)\n  ROOT r = ", c.type, "[] ", combiner,
                 "\n}\nENTRY e {\n  x = ", shape(c.type, c.dims), " parameter(0)\n  u = ", shape(c.type, update), " parameter(1)\n  i = s32[", c.start.size(),
                 "] constant({", index, "})\n  y = ", shape(c.type, c.dims), " add(x, x)\n  ROOT s = ", shape(c.type, c.dims),
                 " scatter(y, i, u), update_window_dims={", windows, "}, inserted_window_dims={", row ? "0" : "",
                 "}, scatter_dims_to_operand_dims={", to, "}, index_vector_dim=0, to_apply=comb\n}\n");
}

TEST(KnownWindows, Scatters) {
  for (const char* type : {"f32", "f64", "bf16", "s8", "u32", "c64"})
    for (const char* combiner : {"add(a, b)", "add(b, a)", "multiply(a, b)", "subtract(a, b)", "subtract(b, a)", "copy(b)"})
      for (const Case& c : {Case{type, {40, 50}, {38, 48}, {1, 1}}, Case{type, {40, 50}, {3, 4}, {36, 46}}, Case{type, {40, 50}, {3, 4}, {37, 47}},
                            Case{type, {9, 70, 40}, {7, 70, 38}, {1, 0, 1}}, Case{type, {40, 50}, {40, 50}, {0, 0}}, Case{type, {40, 50}, {3, 4}, {-1, 0}}}) {
        const std::string text = scatter(c, combiner, false);
        SCOPED_TRACE(text);
        if (!has(combiner, "copy")) EXPECT_FALSE(has(rewritten(text), " scatter(")) << rewritten(text);
        agree(text, type == std::string("bf16") ? 0.01 : 1e-6);
      }
}

TEST(KnownWindows, RowsAndReplacement) {
  for (int64_t start : {0, 3, 9, 10, -1}) {
    std::string text = scatter({"f32", {10, 70}, {1, 68}, {start, 1}}, "add(a, b)", true);
    EXPECT_FALSE(has(rewritten(text), " scatter("));
    EXPECT_EQ(has(rewritten(text), "dynamic-update-slice("), start >= 0 && start < 10);
    agree(text, 0);
    text.replace(text.find("ROOT r = f32[] add(a, b)"), 24, "k = f32[] add(a, b)\n  ROOT r = f32[] parameter(1)");
    text.replace(text.find("  b = f32[] parameter(1)"), 24, "");
    text.replace(text.find("k = f32[] add(a, b)\n"), 20, "");
    EXPECT_FALSE(has(rewritten(text), " scatter("));
    agree(text, 0);
  }
}

TEST(KnownWindows, ClampedStarts) {
  for (int64_t start : {-5, 0, 2, 7, 8, 100}) {
    const std::string head = str_cat("HloModule t\nENTRY e {\n  x = f32[10,40] parameter(0)\n  u = f32[3,38] parameter(1)\n  i = s32[] constant(", start,
                                     ")\n  one = s32[] constant(1)\n");
    agree(head + "  y = f32[10,40] negate(x)\n  ROOT r = f32[10,40] dynamic-update-slice(y, u, i, one)\n}\n", 0);
    agree(head + "  ROOT r = f32[10,40] dynamic-update-slice(x, u, i, one)\n}\n", 0);
    const std::string slice = head + "  s = f32[3,38] dynamic-slice(x, i, one), dynamic_slice_sizes={3,38}\n  ROOT r = f32[3,38] add(s, u)\n}\n";
    EXPECT_FALSE(has(rewritten(slice), "dynamic-slice("));
    agree(slice, 0);
    const std::string gather = str_cat("HloModule t\nENTRY e {\n  x = f32[10,40] parameter(0)\n  i = s32[2] constant({", start,
                                       ", 1})\n  ROOT g = f32[3,38] gather(x, i), offset_dims={0,1}, collapsed_slice_dims={}, start_index_map={0,1}, "
                                       "index_vector_dim=0, slice_sizes={3,38}\n}\n");
    EXPECT_FALSE(has(rewritten(gather), "gather("));
    agree(gather, 0);
  }
}

// The indices are made before the loop and handed through it.
TEST(KnownWindows, ThroughLoops) {
  const auto text = [](const char* next) {
    return str_cat("HloModule t\ncomb {\n  a = f32[] parameter(0)\n  ROOT b = f32[] parameter(1)\n}\ncond {\n  s = (s32[], f32[9,40], s32[2]) parameter(0)\n"
                   "  i = s32[] get-tuple-element(s), index=0\n  n = s32[] constant(5)\n  ROOT r = pred[] compare(i, n), direction=LT\n}\nbody {\n"
                   "  s = (s32[], f32[9,40], s32[2]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n  x = f32[9,40] get-tuple-element(s), index=1\n"
                   "  at = s32[2] get-tuple-element(s), index=2\n  c = s32[] constant(1)\n  j = s32[] add(i, c)\n  more = s32[2] add(at, at)\n"
                   "  w = f32[7,38] slice(x), slice={[1:8], [1:39]}\n  v = f32[7,38] slice(x), slice={[2:9], [0:38]}\n  u = f32[7,38] subtract(w, v)\n"
                   "  y = f32[9,40] scatter(x, at, u), update_window_dims={0,1}, inserted_window_dims={}, scatter_dims_to_operand_dims={0,1}, "
                   "index_vector_dim=0, to_apply=comb\n  ROOT r = (s32[], f32[9,40], s32[2]) tuple(j, y, ", next,
                   ")\n}\nENTRY e {\n  x = f32[9,40] parameter(0)\n  z = s32[] parameter(1)\n  c = s32[] constant(1)\n  at = s32[2] broadcast(c), dimensions={}\n"
                   "  s = (s32[], f32[9,40], s32[2]) tuple(z, x, at)\n  ROOT w = (s32[], f32[9,40], s32[2]) while(s), condition=cond, body=body\n}\n");
  };
  EXPECT_FALSE(has(rewritten(text("at")), " scatter("));
  EXPECT_TRUE(has(rewritten(text("more")), " scatter("));
  agree(text("at"), 0);
  agree(text("more"), 0);
}

TEST(KnownWindows, UpdatesMadeOfTheirWindow) {
  for (const char* type : {"f32", "s8", "c64"})
    for (int64_t rows : {1, 2, 9})
      for (const char* read : {"slice(y), slice={[0:R], [1:39]}", "dynamic-slice(y, i, one), dynamic_slice_sizes={R,38}", "slice(y), slice={[0:R], [2:40]}"}) {
        std::string how = read;
        while (how.find('R') != std::string::npos) how.replace(how.find('R'), 1, str_cat(rows));
        const bool dynamic = has(how, "dynamic");
        const std::string window = str_cat(type, "[", rows, ",38]"), array = str_cat(type, "[20,40]");
        agree(str_cat("HloModule t\nENTRY e {\n  x = ", array, " parameter(0)\n  u = ", window, " parameter(1)\n  i = s32[] ",
                      dynamic ? "parameter(2)" : "constant(0)", "\n  one = s32[] constant(1)\n  y = ", array, " add(x, x)\n  old = ", window, " ", how,
                      "\n  new = ", window, " multiply(old, u)\n  ROOT r = ", array, " dynamic-update-slice(y, new, i, one)\n}\n"), 1e-6);
      }
}

// Indices `type`[n,1] = start + step · iota, of rows (dimension 0) or columns of an array of `rows` by 60.
struct Steps {
  int64_t rows, n, start, step;
  const char* type = "s32";
};

std::string stepped_indices(const Steps& c) {
  const std::string v = str_cat(c.type, "[", c.n, "]");
  return str_cat("  k = ", v, " iota(), iota_dimension=0\n  st = ", c.type, "[] constant(", c.step, ")\n  sb = ", v,
                 " broadcast(st), dimensions={}\n  m = ", v, " multiply(sb, k)\n  of = ", c.type, "[] constant(", c.start,
                 ")\n  ob = ", v, " broadcast(of), dimensions={}\n  at = ", v, " add(m, ob)\n  z = ", c.type,
                 "[] constant(0)\n  zb = ", v, " broadcast(z), dimensions={}\n  neg = pred[", c.n,
                 "] compare(at, zb), direction=LT\n  end = ", v, " add(at, zb)\n  to = ", v, " select(neg, end, at)\n  i = ",
                 c.type, "[", c.n, ",1] broadcast(to), dimensions={0}\n");
}

std::string stepped_scatter(const Steps& c, const std::string& combiner, bool columns, bool given) {
  const std::string x = columns ? str_cat("f32[60,", c.rows, "]") : str_cat("f32[", c.rows, ",60]");
  const std::string u = columns ? str_cat("f32[60,", c.n, "]") : str_cat("f32[", c.n, ",60]");
  return str_cat("HloModule t", given ? ", input_output_alias={ {}: (0, {}, may-alias) }" : "",
                 "\ncomb {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] ", combiner, "\n}\nENTRY e {\n  x = ", x,
                 " parameter(0)\n  u = ", u, " parameter(1)\n", stepped_indices(c), "  ROOT s = ", x, " scatter(x, i, u), update_window_dims={",
                 columns ? 0 : 1, "}, inserted_window_dims={", columns ? 1 : 0, "}, scatter_dims_to_operand_dims={", columns ? 1 : 0,
                 "}, index_vector_dim=1, to_apply=comb\n}\n");
}

std::string stepped_gather(const Steps& c, bool columns) {
  const std::string x = columns ? str_cat("f32[60,", c.rows, "]") : str_cat("f32[", c.rows, ",60]");
  const std::string r = columns ? str_cat("f32[60,", c.n, "]") : str_cat("f32[", c.n, ",60]");
  return str_cat("HloModule t\nENTRY e {\n  x = ", x, " parameter(0)\n", stepped_indices(c), "  ROOT s = ", r, " gather(x, i), offset_dims={",
                 columns ? 0 : 1, "}, collapsed_slice_dims={", columns ? 1 : 0, "}, start_index_map={", columns ? 1 : 0,
                 "}, index_vector_dim=1, slice_sizes={", columns ? "60,1" : "1,60", "}\n}\n");
}

TEST(KnownWindows, EqualSteps) {
  struct {
    Steps steps;
    bool known;
  } const cases[] = {
      {{80, 40, 0, 2}, true}, {{80, 40, 1, 2}, true}, {{80, 20, 3, 3}, true}, {{80, 30, 7, 1}, true}, {{80, 80, 0, 1}, true},
      {{300, 100, 1, 2, "u8"}, true},
      {{80, 40, 2, 2}, false},         // the last place lies outside
      {{80, 3, -1, 2}, false},         // the first one
      {{80, 40, 5, 0}, false},         // one place, many times
      {{300, 100, 0, 2, "s8"}, false}  // wraps
  };
  for (const auto& [c, known] : cases)
    for (bool columns : {false, true}) {
      for (const char* combiner : {"copy(b)", "add(a, b)", "subtract(b, a)", "maximum(a, b)"}) {
        const std::string replacing = combiner == std::string("copy(b)") ? "add(a, b)" : combiner;
        std::string text = stepped_scatter(c, replacing, columns, false);
        if (combiner == std::string("copy(b)")) {
          const size_t at = text.find("  ROOT r"), to = text.find("}\nENTRY");
          text = text.substr(0, at) + text.substr(to);
          text.replace(text.find("  b = f32[] parameter(1)"), 3, "  ROOT b");
        }
        SCOPED_TRACE(text);
        EXPECT_EQ(has(rewritten(text), " scatter("), !known);
        agree(text, 1e-6);
      }
      const std::string text = stepped_gather(c, columns);
      SCOPED_TRACE(text);
      EXPECT_EQ(has(rewritten(text), " gather("), !known);
      agree(text, 0);
    }
}

// A scatter in the memory of an argument that is given up writes less, unless it writes single elements.
TEST(KnownWindows, RowsInEqualStepsInPlace) {
  EXPECT_TRUE(has(rewritten(stepped_scatter({80, 40, 0, 2}, "add(a, b)", false, true)), " scatter("));
  EXPECT_FALSE(has(rewritten(stepped_scatter({80, 40, 0, 2}, "add(a, b)", true, true)), " scatter("));
  EXPECT_TRUE(has(rewritten(stepped_scatter({80, 3, 0, 20}, "add(a, b)", true, true)), " scatter("));
}

// Two components, each along a dimension of the indices of its own; the first along the last.
TEST(KnownWindows, EqualStepsInTwoDimensions) {
  for (bool swapped : {false, true}) {
    const std::string row = swapped ? "1" : "0", column = swapped ? "0" : "1";
    const std::string shape = swapped ? "[20,15]" : "[15,20]";
    const std::string text = str_cat(
        "HloModule t\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\nENTRY e {\n"
        "  x = f32[30,61] parameter(0)\n  u = f32", shape, " parameter(1)\n  two = s32[] constant(2)\n  three = s32[] constant(3)\n"
        "  p = s32[15] iota(), iota_dimension=0\n  q = s32[20] iota(), iota_dimension=0\n  twos = s32[15] broadcast(two), dimensions={}\n"
        "  threes = s32[20] broadcast(three), dimensions={}\n  p2 = s32[15] multiply(p, twos)\n  q3 = s32[20] multiply(q, threes)\n  pb = s32",
        shape.substr(0, shape.size() - 1), ",1] broadcast(p2), dimensions={", row, "}\n  qb = s32", shape.substr(0, shape.size() - 1),
        ",1] broadcast(q3), dimensions={", column, "}\n  i = s32", shape.substr(0, shape.size() - 1),
        ",2] concatenate(pb, qb), dimensions={2}\n  s = f32[30,61] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0,1}, "
        "scatter_dims_to_operand_dims={0,1}, index_vector_dim=2, to_apply=add\n  g = f32", shape,
        " gather(x, i), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=2, slice_sizes={1,1}\n"
        "  ROOT t = (f32[30,61], f32", shape, ") tuple(s, g)\n}\n");
    SCOPED_TRACE(text);
    EXPECT_FALSE(has(rewritten(text), " scatter(") || has(rewritten(text), " gather("));
    agree(text, 0);
  }
}

}  // namespace
}  // namespace braze
