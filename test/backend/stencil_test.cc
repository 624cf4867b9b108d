// SPDX-License-Identifier: Apache-2.0
// Stencils: arrays of which a window is made of shifted parts of the same array, or all of which is made of
// rolled copies. In a loop and alone, in every dimension, of every kind of element.
#include "loop/lower.h"
#include "passes/fuse.h"
#include "passes/known_windows.h"
#include "test/backend/agree.h"

namespace braze {
namespace {

std::string shape(const char* type, DimSpan dims) { return to_string(Shape::array(*dtype_from_hlo(type), dims), false); }

// %NEXT = x with the window [low, size - high) of each dimension made of its neighbours; `prefix` names the values.
std::string fixed_border(const char* type, DimSpan dims, int64_t low, int64_t high, const std::string& prefix) {
  const auto part = [&](size_t along, int64_t shift) {
    std::string s;
    for (size_t d = 0; d < dims.size(); ++d) {
      const int64_t by = d == along ? shift : 0;
      s += str_cat(d ? ", [" : "[", low + by, ":", dims[d] - high + by, "]");
    }
    return str_cat(" slice(x), slice={", s, "}\n");
  };
  Dims window;
  std::string starts;
  for (int64_t d : dims) window.push_back(d - low - high), starts += ", low";
  const std::string w = shape(type, window);
  std::string text = str_cat("  ", prefix, "c = ", w, part(0, 0)), sum = prefix + "c";
  for (size_t d = 0; d < dims.size(); ++d)
    for (int64_t shift : {-low, high}) {
      if (shift == 0) continue;
      const std::string n = str_cat(prefix, d, shift < 0 ? "l" : "r");
      text += str_cat("  ", n, " = ", w, part(d, shift), "  ", n, "s = ", w, " subtract(", n, ", ", sum, ")\n");
      sum = n + "s";
    }
  return str_cat(text, "  low = s32[] constant(", low, ")\n  ", prefix, "next = ", shape(type, dims), " dynamic-update-slice(x, ", sum, starts, ")\n");
}

const Dims kShapes[] = {{9}, {300}, {70, 64}, {66, 33}, {10, 12, 40}, {3, 70, 65}, {5, 4, 6, 34}, {40000}, {4, 33001}};

TEST(Stencil, FixedBorder) {
  for (const char* type : {"f32", "f64", "bf16", "s8", "c64"})
    for (const Dims& dims : kShapes)
      for (auto [low, high] : {std::pair{1, 1}, std::pair{0, 1}, std::pair{1, 0}}) {
        const std::string all = shape(type, dims);
        for (const char* last : {"copy", "negate"})
          agree(str_cat("HloModule t\nENTRY e {\n  x = ", all, " parameter(0)\n", fixed_border(type, dims, low, high, "a"),
                        "  ROOT r = ", all, " ", last, "(anext)\n}\n"), 0);
      }
}

TEST(Stencil, InLoops) {
  for (const char* type : {"f32", "s8"})
    for (const Dims& dims : kShapes)
      for (int64_t steps : {0, 1, 2, 5}) {
        const std::string all = shape(type, dims), state = str_cat("(s32[], ", all, ")");
        const std::string open = str_cat(" {\n  s = ", state, " parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n");
        agree(str_cat("HloModule t\ncond", open, "  n = s32[] constant(", steps, ")\n  ROOT r = pred[] compare(i, n), direction=LT\n}\nbody", open,
                      "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n  x = ", all, " get-tuple-element(s), index=1\n",
                      fixed_border(type, dims, 1, 1, "a"), "  ROOT r = ", state, " tuple(j, anext)\n}\nENTRY e {\n  x = ", all,
                      " parameter(0)\n  z = s32[] constant(0)\n  s = ", state, " tuple(z, x)\n  ROOT w = ", state,
                      " while(s), condition=cond, body=body\n}\n"), 1e-5);
      }
}

// Sums of what is shifted to the array's edges and beyond: gradients of stencils.
TEST(Stencil, PaddedSums) {
  for (const char* type : {"f32", "f64", "s8"})
    for (const Dims& dims : kShapes) {
      const std::string all = shape(type, dims);
      Dims window;
      std::string sum = "y", text, zeros;
      for (int64_t d : dims) window.push_back(d - 2), zeros += ", one";
      const std::string w = shape(type, window);
      std::string slices;
      for (size_t d = 0; d < dims.size(); ++d) slices += str_cat(d ? ", [1:" : "[1:", dims[d] - 1, "]");
      for (size_t d = 0; d < dims.size(); ++d)
        for (int64_t low : {0, 2}) {
          std::string padding;
          for (size_t e = 0; e < dims.size(); ++e) padding += str_cat(e ? "x" : "", e == d ? low : 1, "_", e == d ? 2 - low : 1);
          const std::string n = str_cat("p", d, low);
          text += str_cat("  ", n, " = ", all, " pad(v, z), padding=", padding, "\n  ", n, "s = ", all, " add(", sum, ", ", n, ")\n");
          sum = n + "s";
        }
      agree(str_cat("HloModule t\nENTRY e {\n  x = ", all, " parameter(0)\n  z = ", type, "[] constant(0)\n  zb = ", w,
                    " broadcast(z), dimensions={}\n  one = s32[] constant(1)\n  y = ", all, " dynamic-update-slice(x, zb", zeros, ")\n  v = ", w,
                    " slice(x), slice={", slices, "}\n", text, "  ROOT r = ", all, " negate(", sum, ")\n}\n"), 1e-6);
    }
}

TEST(Stencil, Rolled) {
  for (const char* type : {"f32", "f64", "s8", "c64"})
    for (const Dims& dims : kShapes) {
      const std::string all = shape(type, dims);
      std::string text, sum = "x";
      for (size_t d = 0; d < dims.size(); ++d)
        for (int64_t at : {int64_t{1}, dims[d] - 2}) {
          const auto part = [&](int64_t from, int64_t to) {
            std::string s;
            Dims size = dims;
            size[d] = to - from;
            for (size_t e = 0; e < dims.size(); ++e) s += str_cat(e ? ", [" : "[", e == d ? from : 0, ":", e == d ? to : dims[e], "]");
            return str_cat(shape(type, size), " slice(x), slice={", s, "}\n");
          };
          const std::string n = str_cat("r", d, "x", text.size());
          text += str_cat("  ", n, "h = ", part(at, dims[d]), "  ", n, "t = ", part(0, at), "  ", n, " = ", all, " concatenate(", n, "h, ", n,
                          "t), dimensions={", d, "}\n  ", n, "s = ", all, " subtract(", n, ", ", sum, ")\n");
          sum = n + "s";
        }
      agree(str_cat("HloModule t\nENTRY e {\n  x = ", all, " parameter(0)\n", text, "  ROOT r = ", all, " negate(", sum, ")\n}\n"), 1e-6);
    }
}

TEST(Stencil, LongConcatenations) {
  for (const char* type : {"f32", "bf16", "c64"})
    for (int64_t rows : {1, 3})
      for (auto [a, b] : {std::pair{20000, 20000}, std::pair{33000, 5}, std::pair{1, 50001}, std::pair{30001, 40003}}) {
        const auto array = [&](int64_t n) { return str_cat(type, "[", rows, ",", n, "]"); };
        agree(str_cat("HloModule t\nENTRY e {\n  x = ", array(a), " parameter(0)\n  y = ", array(b), " parameter(1)\n  c = ", array(a + b + a),
                      " concatenate(x, y, x), dimensions={1}\n  ROOT r = ", array(a + b + a), " negate(c)\n}\n"), 0);
      }
}

// The rows inside are not asked for anything, lane by lane.
TEST(Stencil, RowsInside) {
  const std::string all = "f32[70,80,64]";
  auto m = parse_hlo(str_cat("HloModule t\nENTRY e {\n  x = ", all, " parameter(0)\n", fixed_border("f32", {70, 80, 64}, 1, 1, "a"), "  ROOT r = ", all,
                             " negate(anext)\n}\n"));
  ASSERT_TRUE(m.ok());
  ASSERT_TRUE(known_windows(**m).ok());
  ASSERT_TRUE(fuse(**m, FuseOptions()).ok());
  ASSERT_EQ((*m)->entry()->root()->op, Op::kFusion);
  auto k = loop::lower(*(*m)->entry()->root()->calls[0], "t", loop::Facts());
  ASSERT_TRUE(k.ok()) << k.status();
  ASSERT_EQ(k->phases.size(), 1U);
  ASSERT_EQ(k->phases[0].body.size(), 2U);
  const std::string text = loop::to_string(*k);
  const std::string inside = text.substr(0, text.rfind("for v"));
  EXPECT_EQ(inside.find("select"), std::string::npos) << text;
  EXPECT_NE(text.find("select"), std::string::npos) << text;
}

}  // namespace
}  // namespace braze
