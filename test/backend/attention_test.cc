// SPDX-License-Identifier: Apache-2.0
// Attention and its like, a product, a row program over its output and a product of that, as one kernel
// over tiles of rows: against the evaluator, and the same bits on any number of threads.
#include "test/backend/agree.h"

namespace braze {
namespace {

struct Attention {
  int64_t batch = 8, rows = 64, columns = 64, depth = 16, width = 16;
  std::string type = "f32";
  std::string mask = "none";  // none, causal, given, rows: some rows wholly masked
  bool residual = false;
};

std::string text(const Attention& a) {
  const std::string s = str_cat("[", a.batch, ",", a.rows, ",", a.columns, "]"), t = a.type;
  const std::string kept = str_cat("[", a.batch, ",", a.rows, "]");
  const std::string out = str_cat(t, "[", a.batch, ",", a.rows, ",", a.width, "]");
  std::string x = str_cat(
      "HloModule a\nmax { a = ", t, "[] parameter(0)\n b = ", t, "[] parameter(1)\n ROOT c = ", t,
      "[] maximum(a, b) }\nsum { a = ", t, "[] parameter(0)\n b = ", t, "[] parameter(1)\n ROOT c = ", t,
      "[] add(a, b) }\nENTRY e {\n q = ", t, "[", a.batch, ",", a.rows, ",", a.depth, "] parameter(0)\n k = ", t,
      "[", a.batch, ",", a.columns, ",", a.depth, "] parameter(1)\n v = ", t, "[", a.batch, ",", a.columns, ",",
      a.width, "] parameter(2)\n");
  if (a.mask == "given") x += str_cat(" given = pred", "[", a.rows, ",", a.columns, "] parameter(3)\n");
  else if (a.residual) x += str_cat(" r = ", out, " parameter(3)\n");
  x += str_cat(" d = ", t, s, " dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
               "rhs_contracting_dims={2}\n c = ", t, "[] constant(0.25)\n cb = ", t, s,
               " broadcast(c), dimensions={}\n scaled = ", t, s, " multiply(d, cb)\n low = ", t,
               "[] constant(-inf)\n");
  std::string scores = "scaled";
  if (a.mask != "none") {
    x += str_cat(" i = s32", s, " iota(), iota_dimension=1\n j = s32", s, " iota(), iota_dimension=2\n lows = ", t, s,
                 " broadcast(low), dimensions={}\n");
    if (a.mask == "causal") x += str_cat(" on = pred", s, " compare(i, j), direction=GE\n");
    if (a.mask == "given") x += str_cat(" on = pred", s, " broadcast(given), dimensions={1,2}\n");
    if (a.mask == "rows") x += str_cat(" on = pred", s, " compare(i, j), direction=GT\n");
    x += str_cat(" masked = ", t, s, " select(on, scaled, lows)\n");
    scores = "masked";
  }
  x += str_cat(" zero = ", t, "[] constant(0)\n m = ", t, kept, " reduce(", scores,
               ", low), dimensions={2}, to_apply=max\n mb = ", t, s, " broadcast(m), dimensions={0,1}\n s = ", t, s,
               " subtract(", scores, ", mb)\n e = ", t, s, " exponential(s)\n n = ", t, kept,
               " reduce(e, zero), dimensions={2}, to_apply=sum\n nb = ", t, s,
               " broadcast(n), dimensions={0,1}\n p = ", t, s, " divide(e, nb)\n ", a.residual ? "" : "ROOT ", "o = ",
               out, " dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
               "rhs_contracting_dims={1}\n");
  if (a.residual) x += str_cat(" ROOT sum = ", out, " add(o, r)\n");
  return x + "}\n";
}

double tolerance(const std::string& type) {
  return type == "f64" ? 1e-12 : type == "f32" ? 2e-6 : type == "f16" ? 4e-3 : 3e-2;
}

TEST(Attention, SizesAndMasks) {
  for (const char* type : {"f32", "f64", "bf16", "f16"})
    for (const char* mask : {"none", "causal", "given", "rows"})
      for (const Attention& a : {Attention{8, 64, 64, 16, 16}, Attention{3, 67, 131, 20, 7},
                                 Attention{16, 5, 90, 33, 48}, Attention{1, 130, 257, 8, 1}}) {
        Attention b = a;
        b.type = type, b.mask = mask;
        SCOPED_TRACE(text(b));
        agree(text(b), tolerance(type));
      }
}

TEST(Attention, ResidualAndOddShapes) {
  for (const char* type : {"f32", "bf16"})
    for (const Attention& a : {Attention{2, 65, 33, 1, 3}, Attention{9, 1, 700, 64, 64}, Attention{32, 17, 9, 2, 2},
                               Attention{1, 300, 1, 4, 4}, Attention{1, 999, 14, 5, 100}, Attention{64, 2, 40, 3, 5}}) {
      Attention b = a;
      b.type = type, b.residual = true;
      SCOPED_TRACE(text(b));
      agree(text(b), tolerance(type));
    }
}

// Values with NaNs, infinities and denormals; the bits are those of the two products and the rows alone,
// which depend on no other row: the first and last rows of every tile included.
TEST(Attention, SameBitsOnAnyNumberOfThreads) {
  for (const char* type : {"f32", "bf16"}) {
    Attention a{5, 83, 150, 16, 20};
    a.type = type, a.mask = "rows";
    std::vector<Literal> results;
    for (int threads : {1, 2, 3}) {
      auto m = parse_hlo(text(a));
      ASSERT_TRUE(m.ok()) << m.status();
      CompileOptions options;
      options.threads = threads;
      auto exe = compile(std::move(*m), options);
      ASSERT_TRUE(exe.ok()) << exe.status();
      std::vector<Literal> args;
      for (const Shape& s : (*exe)->parameters()) {
        Literal l = ramp(s, 0.031, -1.1);
        for (int64_t i = 7; i < l.elements(); i += 1009)
          l.set_float(i, i % 3 == 0 ? std::nan("") : i % 3 == 1 ? INFINITY : 1e-39);
        args.push_back(std::move(l));
      }
      auto got = (*exe)->run(args);
      ASSERT_TRUE(got.ok()) << got.status();
      results.push_back(std::move(*got));
    }
    for (const Literal& r : results)
      EXPECT_EQ(std::string(r.bytes(), r.size_bytes()), std::string(results[0].bytes(), results[0].size_bytes()));
  }
}

// [batch, row, head, depth], queries, keys and values arrays of their own or parts of one.
std::string heads(const std::string& t, const std::string& operands, bool values_first) {
  return str_cat(
      "HloModule a\nmax { a = ", t, "[] parameter(0)\n b = ", t, "[] parameter(1)\n ROOT c = ", t,
      "[] maximum(a, b) }\nsum { a = ", t, "[] parameter(0)\n b = ", t, "[] parameter(1)\n ROOT c = ", t,
      "[] add(a, b) }\nENTRY e {\n", operands, " qt = ", t, "[2,6,70,12] transpose(q), dimensions={0,2,1,3}\n"
      " d = ", t, "[2,6,70,70] dot(qt, k), lhs_batch_dims={0,1}, rhs_batch_dims={0,2}, lhs_contracting_dims={3}, "
      "rhs_contracting_dims={3}\n low = ", t, "[] constant(-inf)\n zero = ", t, "[] constant(0)\n"
      " m = ", t, "[2,6,70] reduce(d, low), dimensions={3}, to_apply=max\n"
      " mb = ", t, "[2,6,70,70] broadcast(m), dimensions={0,1,2}\n s = ", t, "[2,6,70,70] subtract(d, mb)\n"
      " e = ", t, "[2,6,70,70] exponential(s)\n n = ", t, "[2,6,70] reduce(e, zero), dimensions={3}, to_apply=sum\n"
      " nb = ", t, "[2,6,70,70] broadcast(n), dimensions={0,1,2}\n p = ", t, "[2,6,70,70] divide(e, nb)\n",
      values_first
          ? str_cat(" o = ", t, "[2,6,12,70] dot(v, p), lhs_batch_dims={0,2}, rhs_batch_dims={0,1}, "
                    "lhs_contracting_dims={1}, rhs_contracting_dims={3}\n ROOT r = ", t,
                    "[2,70,6,12] transpose(o), dimensions={0,3,1,2}\n}\n")
          : str_cat(" o = ", t, "[2,6,70,12] dot(p, v), lhs_batch_dims={0,1}, rhs_batch_dims={0,2}, "
                    "lhs_contracting_dims={3}, rhs_contracting_dims={1}\n ROOT r = ", t,
                    "[2,70,6,12] transpose(o), dimensions={0,2,1,3}\n}\n"));
}

TEST(Attention, HeadsInTheMiddle) {
  for (const std::string t : {"f32", "bf16"}) {
    std::string apart, parts = str_cat(" all = ", t, "[2,70,216] parameter(0)\n");
    const char* names[] = {"q", "k", "v"};
    for (int i = 0; i < 3; ++i) {
      apart += str_cat(" ", names[i], " = ", t, "[2,70,6,12] parameter(", i, ")\n");
      parts += str_cat(" part", i, " = ", t, "[2,70,72] slice(all), slice={[0:2], [0:70], [", 72 * i, ":", 72 * i + 72,
                       "]}\n ", names[i], " = ", t, "[2,70,6,12] reshape(part", i, ")\n");
    }
    for (const std::string& operands : {apart, parts})
      for (bool values_first : {false, true}) {
        SCOPED_TRACE(operands);
        agree(heads(t, operands, values_first), tolerance(t));
      }
  }
}

// Dimensions of size 1 anywhere, as where a group of one query head shares keys.
TEST(Attention, DimensionsOfOne) {
  const std::string x =
      "HloModule a\nmax { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] maximum(a, b) }\n"
      "ENTRY e {\n q0 = f32[2,50,8,16] parameter(0)\n q = f32[2,50,8,1,16] reshape(q0)\n k = f32[2,60,8,16] parameter(1)\n"
      " v = f32[2,60,8,16] parameter(2)\n d = f32[2,8,50,1,60] dot(q, k), lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, "
      "lhs_contracting_dims={4}, rhs_contracting_dims={3}\n t = f32[1,2,8,50,60] transpose(d), dimensions={3,0,1,2,4}\n"
      " low = f32[] constant(-inf)\n m = f32[1,2,8,50] reduce(t, low), dimensions={4}, to_apply=max\n"
      " mb = f32[1,2,8,50,60] broadcast(m), dimensions={0,1,2,3}\n p = f32[1,2,8,50,60] subtract(t, mb)\n"
      " o = f32[2,8,16,1,50] dot(v, p), lhs_batch_dims={0,2}, rhs_batch_dims={1,2}, lhs_contracting_dims={1}, "
      "rhs_contracting_dims={4}\n ROOT r = f32[2,8,16,1,50] negate(o)\n}\n";
  agree(x, 2e-5);
}

// Rows that look at other rows, or columns that are reduced, have no such kernel: they must still be right.
TEST(Attention, NotRowByRow) {
  const std::string head =
      "HloModule a\nsum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
      "ENTRY e {\n q = f32[8,40,16] parameter(0)\n k = f32[8,40,16] parameter(1)\n v = f32[8,40,16] parameter(2)\n"
      " zero = f32[] constant(0)\n d = f32[8,40,40] dot(q, k), lhs_batch_dims={0}, rhs_batch_dims={0}, "
      "lhs_contracting_dims={2}, rhs_contracting_dims={2}\n";
  const std::string tail =
      " o = f32[8,40,40] broadcast(n), dimensions={0,1}\n p = f32[8,40,40] multiply(x, o)\n"
      " ROOT r = f32[8,40,16] dot(p, v), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, "
      "rhs_contracting_dims={1}\n}\n";
  const std::string rows = " n = f32[8,40] reduce(x, zero), dimensions={2}, to_apply=sum\n";
  for (const std::string& part : std::vector<std::string>
       {" x = f32[8,40,40] reverse(d), dimensions={1}\n" + rows, " x = f32[8,40,40] reverse(d), dimensions={2}\n" + rows,
        " x = f32[8,40,40] transpose(d), dimensions={0,2,1}\n" + rows,
        " x = f32[8,40,40] negate(d)\n n = f32[8,40] reduce(x, zero), dimensions={1}, to_apply=sum\n",
        " y = f32[8,40,40] transpose(d), dimensions={0,2,1}\n x = f32[8,40,40] add(y, d)\n" + rows,
        " y = f32[8,40,40] reverse(d), dimensions={2}\n x = f32[8,40,40] multiply(y, d)\n" + rows}) {
    SCOPED_TRACE(part);
    agree(head + part + tail, 1e-3);
  }
}

}  // namespace
}  // namespace braze
