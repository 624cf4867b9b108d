// SPDX-License-Identifier: Apache-2.0
// Products that read their operands through slices, reshapes and transposes, in place where these are
// only another view of the memory: against the evaluator.
#include "test/backend/agree.h"

namespace braze {
namespace {

constexpr const char* kPlain = ", lhs_contracting_dims={1}, rhs_contracting_dims={0}";
constexpr const char* kBatched =
    ", lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}";

std::string program(std::string lines) { return str_cat("HloModule v\nENTRY e {\n", lines, "}\n"); }

TEST(ViewOperand, Slices) {
  for (const char* t : {"f32", "f64", "bf16", "s32"})
    for (int64_t n : {1, 7, 33}) {
      const std::string text = program(str_cat(
          " x = ", t, "[19,40] parameter(0)\n w = ", t, "[31,70] parameter(1)\n a = ", t,
          "[13,11] slice(x), slice={[3:16],[29:40]}\n b = ", t, "[11,", n, "] slice(w), slice={[20:31],[5:",
          5 + n, "]}\n ROOT r = ", t, "[13,", n, "] dot(a, b)", kPlain, "\n"));
      SCOPED_TRACE(text);
      EXPECT_NE(agree(text, t[0] == 'b' ? 2e-2 : 1e-5), nullptr);
    }
}

// Queries and keys are parts of one array, which differ in nothing but where they start.
TEST(ViewOperand, HeadsOfOneArray) {
  for (const char* t : {"f32", "bf16"})
    for (int64_t s : {1, 5, 64}) {
      std::string lines = str_cat(" x = ", t, "[", s, ",144] parameter(0)\n");
      for (int k = 0; k < 3; ++k)
        lines += str_cat(" p", k, " = ", t, "[", s, ",48] slice(x), slice={[0:", s, "],[", 48 * k, ":",
                         48 * (k + 1), "]}\n s", k, " = ", t, "[", s, ",4,12] reshape(p", k, ")\n t", k,
                         " = ", t, "[4,", s, ",12] transpose(s", k, "), dimensions={1,0,2}\n");
      lines += str_cat(" d = ", t, "[4,", s, ",", s, "] dot(t0, t1)", kBatched, "\n e = ", t, "[4,", s, ",",
                       s, "] dot(t1, t2)", kBatched, "\n ROOT r = ", t, "[4,", s, ",", s,
                       "] subtract(d, e)\n");
      SCOPED_TRACE(lines);
      EXPECT_NE(agree(program(lines), t[0] == 'b' ? 5e-2 : 1e-5), nullptr);
    }
}

// A layer of weights that lie one behind the other, chosen when the program runs. `agree` fills integers with 0..4 by
// position, so each start is an element of a list: in range, or clamped at either end.
TEST(ViewOperand, DynamicSlices) {
  for (const char* t : {"f32", "f64", "bf16", "s32"})
    for (const char* index : {"s32", "s64", "u8"})
      for (const char* start : {"0", "2", "4"})
        for (int rows : {1, 5, 40}) {
          const std::string lines = str_cat(
              " w = ", t, "[3,24,17] parameter(0)\n x = ", t, "[", rows, ",24] parameter(1)\n list = ", index,
              "[5] parameter(2)\n one = ", index, "[1] slice(list), slice={[", start, ":", start[0] - '0' + 1, "]}\n two = ", index,
              "[1] constant({2})\n less = ", index, "[1] subtract(one, two)\n i = ", index, "[] reshape(less)\n z = ", index,
              "[] constant(0)\n l = ", t, "[1,24,17] dynamic-slice(w, i, z, z), dynamic_slice_sizes={1,24,17}\n m = ", t,
              "[24,17] reshape(l)\n p = ", t, "[", rows, ",17] dot(x, m)", kPlain, "\n j = ", index, "[] add(i, i)\n c = ", t,
              "[24,9] parameter(3)\n s = ", t, "[17,9] dynamic-slice(c, j, z), dynamic_slice_sizes={17,9}\n ROOT r = ", t, "[", rows,
              ",9] dot(p, s)", kPlain, "\n");
          SCOPED_TRACE(lines);
          auto exe = agree(program(lines), t[0] == 'b' ? 5e-2 : 1e-5);
          ASSERT_NE(exe, nullptr);
          if (t[0] == 'f' && rows == 40) EXPECT_LE(exe->stats().kernels, 4);  // two products, two starts
        }
}

// Attention whose keys and values are a layer of an array.
TEST(ViewOperand, DynamicSlicesOfAttention) {
  const std::string lines =
      " q = f32[4,64,16] parameter(0)\n kv = f32[3,4,100,16] parameter(1)\n list = s32[5] parameter(2)\n"
      " o = s32[1] slice(list), slice={[2:3]}\n i = s32[] reshape(o)\n z = s32[] constant(0)\n"
      " l = f32[1,4,100,16] dynamic-slice(kv, i, z, z, z), dynamic_slice_sizes={1,4,100,16}\n k = f32[4,100,16] reshape(l)\n"
      " s = f32[4,64,100] dot(q, k), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}\n"
      " low = f32[] constant(-inf)\n m = f32[4,64] reduce(s, low), dimensions={2}, to_apply=most\n"
      " mb = f32[4,64,100] broadcast(m), dimensions={0,1}\n d = f32[4,64,100] subtract(s, mb)\n e = f32[4,64,100] exponential(d)\n"
      " zero = f32[] constant(0)\n t = f32[4,64] reduce(e, zero), dimensions={2}, to_apply=sum\n"
      " tb = f32[4,64,100] broadcast(t), dimensions={0,1}\n p = f32[4,64,100] divide(e, tb)\n"
      " j = s32[] add(i, i)\n n = f32[1,4,100,16] dynamic-slice(kv, j, z, z, z), dynamic_slice_sizes={1,4,100,16}\n"
      " v = f32[4,100,16] reshape(n)\n ROOT r = f32[4,64,16] dot(p, v), lhs_batch_dims={0}, lhs_contracting_dims={2},"
      " rhs_batch_dims={0}, rhs_contracting_dims={1}\n";
  EXPECT_NE(agree("HloModule v\nmost { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] maximum(a, b) }\n"
                  "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT m = f32[] add(a, b) }\nENTRY e {\n" + lines + "}\n",
                  1e-5),
            nullptr);
}

// A loop over layers reads each where it lies, while what the loop carries changes.
TEST(ViewOperand, LoopOverLayers) {
  EXPECT_NE(agree("HloModule m\n"
                  "body { p = (s32[], f32[6,16], f32[5,16,16]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
                  " x = f32[6,16] get-tuple-element(p), index=1\n w = f32[5,16,16] get-tuple-element(p), index=2\n"
                  " z = s32[] constant(0)\n l = f32[1,16,16] dynamic-slice(w, i, z, z), dynamic_slice_sizes={1,16,16}\n"
                  " m = f32[16,16] reshape(l)\n d = f32[6,16] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                  " t = f32[6,16] tanh(d)\n u = f32[1,16,16] negate(l)\n v = f32[5,16,16] dynamic-update-slice(w, u, i, z, z)\n"
                  " one = s32[] constant(1)\n n = s32[] add(i, one)\n ROOT r = (s32[], f32[6,16], f32[5,16,16]) tuple(n, t, v) }\n"
                  "more { p = (s32[], f32[6,16], f32[5,16,16]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"
                  " e = s32[] constant(5)\n ROOT c = pred[] compare(i, e), direction=LT }\n"
                  "ENTRY e { x = f32[6,16] parameter(0)\n w = f32[5,16,16] parameter(1)\n z = s32[] constant(0)\n"
                  " s = (s32[], f32[6,16], f32[5,16,16]) tuple(z, x, w)\n"
                  " l = (s32[], f32[6,16], f32[5,16,16]) while(s), condition=more, body=body\n"
                  " a = f32[6,16] get-tuple-element(l), index=1\n b = f32[5,16,16] get-tuple-element(l), index=2\n"
                  " ROOT r = (f32[6,16], f32[5,16,16]) tuple(a, b) }\n",
                  1e-5),
            nullptr);
}

TEST(ViewOperand, Reshapes) {
  const char* rows[] = {
      // Dimensions of 1 come and go.
      " a = f32[6,1,35] parameter(0)\n l = f32[6,35] reshape(a)\n b = f32[1,35,9] parameter(1)\n"
      " r0 = f32[35,9] reshape(b)\n",
      // A split, then one half of it.
      " a = f32[12,35] parameter(0)\n s = f32[2,6,35] reshape(a)\n h = f32[1,6,35] slice(s),"
      " slice={[1:2],[0:6],[0:35]}\n l = f32[6,35] reshape(h)\n b = f32[5,7,9] parameter(1)\n"
      " r0 = f32[35,9] reshape(b)\n",
      // Not a view: the merged dimensions do not follow each other in memory.
      " a = f32[7,6,5] parameter(0)\n t = f32[6,7,5] transpose(a), dimensions={1,0,2}\n"
      " l = f32[6,35] reshape(t)\n b = f32[9,35] parameter(1)\n r0 = f32[35,9] transpose(b),"
      " dimensions={1,0}\n",
      // Not a view: rows of every other element, merged.
      " a = f32[6,9,7] parameter(0)\n s = f32[6,5,7] slice(a), slice={[0:6],[0:9:2],[0:7]}\n"
      " l = f32[6,35] reshape(s)\n b = f32[35,9] parameter(1)\n r0 = f32[35,9] reshape(b)\n",
      // What is reshaped is computed.
      " a = f32[6,5,7] parameter(0)\n n = f32[6,5,7] negate(a)\n l = f32[6,35] reshape(n)\n"
      " b = f32[35,9] parameter(1)\n r0 = f32[35,9] reshape(b)\n"};
  for (const char* row : rows) {
    const std::string text = program(str_cat(row, " ROOT r = f32[6,9] dot(l, r0)", kPlain, "\n"));
    SCOPED_TRACE(text);
    EXPECT_NE(agree(text, 1e-5), nullptr);
  }
}

TEST(ViewOperand, ComplexAndEmpty) {
  EXPECT_NE(agree(program(str_cat(" a = c64[9,4] parameter(0)\n l = c64[3,4] slice(a), slice={[2:5],[0:4]}\n"
                                  " b = c64[2,2,3] parameter(1)\n r0 = c64[4,3] reshape(b)\n"
                                  " ROOT r = c64[3,3] dot(l, r0)", kPlain, "\n")),
                  1e-5),
            nullptr);
  EXPECT_NE(agree(program(str_cat(" a = f32[9,4] parameter(0)\n l = f32[3,0] slice(a), slice={[2:5],[4:4]}\n"
                                  " b = f32[0,3] parameter(1)\n r0 = f32[0,3] reshape(b)\n"
                                  " ROOT r = f32[3,3] dot(l, r0)", kPlain, "\n")),
                  1e-5),
            nullptr);
}

}  // namespace
}  // namespace braze
