// SPDX-License-Identifier: Apache-2.0
// Running sums and products accumulate in a wider type on both engines: in 16-bit floats they would stop
// where one more term no longer counts, in f32 each of many steps would round.
#include <string>

#include "test/backend/agree.h"

namespace braze {
namespace {

// cumsum of n elements of type t; `pads` as "low_high".
std::string scan(const std::string& t, int64_t n, const std::string& pads, const std::string& op = "add") {
  const int64_t outs = pads == std::to_string(n) + "_0" || pads == "0_" + std::to_string(n) ? n + 1 : n;
  return "HloModule m\nf { a = " + t + "[] parameter(0)\n b = " + t + "[] parameter(1)\n ROOT r = " + t +
         "[] " + op + "(a, b) }\nENTRY e { x = " + t + "[2," + std::to_string(n) + "] parameter(0)\n z = " + t +
         "[] constant(" + (op == "or" ? "false" : op == "add" ? "0" : "1") + ")\n ROOT s = " + t + "[2," + std::to_string(outs) +
         "] reduce-window(x, z), window={size=1x" + std::to_string(n) + " pad=0_0x" + pads + "}, to_apply=f }";
}

Literal run(const std::string& text, const Literal& x, std::string_view backend) {
  auto m = parse_hlo(text);
  EXPECT_TRUE(m.ok()) << m.status();
  CompileOptions o;
  o.backend = std::string(backend);
  auto exe = compile(std::move(*m), o);
  EXPECT_TRUE(exe.ok()) << exe.status();
  auto got = (*exe)->run({x});
  EXPECT_TRUE(got.ok()) << got.status();
  return *got;
}

Literal filled(Dtype t, int64_t n, double v) {
  Literal l(Shape::array(t, {2, n}));
  for (int64_t i = 0; i < l.elements(); ++i) l.set_float(i, v);
  return l;
}

TEST(RunningSum, SixteenBitsDoNotStick) {
  for (const std::string backend : {"cpu", "kernel", "reference"}) {
    const Literal b = run(scan("bf16", 1000, "999_0"), filled(Dtype::kBF16, 1000, 1), backend);
    EXPECT_EQ(b.get_float(999), 1000) << backend;
    const Literal h = run(scan("f16", 4096, "0_4095"), filled(Dtype::kF16, 4096, 1), backend);
    EXPECT_EQ(h.get_float(0), 4096) << backend;
    const Literal e = run(scan("bf16", 1000, "1000_0"), filled(Dtype::kBF16, 1000, 1), backend);
    EXPECT_EQ(e.get_float(0), 0) << backend;
    EXPECT_EQ(e.get_float(1000), 1000) << backend;
  }
}

TEST(RunningSum, ManyStepsKeepTheirBits) {
  for (const std::string backend : {"cpu", "reference"}) {
    const int64_t n = 5000;
    const Literal s = run(scan("f32", n, "4999_0"), filled(Dtype::kF32, n, 0.1), backend);
    const double tenth = static_cast<float>(0.1);
    for (int64_t i : {7, 800, 4999}) EXPECT_EQ(s.get_float(i), static_cast<float>(tenth * double(i + 1))) << i;
    const Literal p = run(scan("f32", n, "4999_0", "multiply"), filled(Dtype::kF32, n, 1.001), backend);
    EXPECT_NEAR(p.get_float(n - 1), std::pow(static_cast<double>(1.001f), n), 1e-5);
  }
}

// Several rows side by side, or parts of a long row: every count of rows and every end of a part.
TEST(RunningSum, RowsAndParts) {
  for (const int64_t rows : {1, 3, 4, 9})
    for (const int64_t n : {50, 4096, 4099, 16385})
      for (const std::string pads : {"low", "high", "low exclusive", "high exclusive"})
        for (const std::string op : {"add", "maximum"}) {
          if (rows > 3 && n > 5000) continue;
          const bool low = pads.starts_with("low"), exclusive = pads.ends_with("exclusive");
          const int64_t pad = exclusive ? n : n - 1, outs = exclusive ? n + 1 : n;
          const std::string in = str_cat("s32[", rows, ",", n, "]"), out = str_cat("s32[", rows, ",", outs, "]");
          const std::string text = str_cat(
              "HloModule m\nf { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT r = s32[] ", op,
              "(a, b) }\nENTRY e { x = ", in, " parameter(0)\n i = ", in, " iota(), iota_dimension=1\n y = ", in,
              " subtract(i, x)\n k = ", in, " multiply(y, i)\n z = s32[] constant(3)\n s = ", out,
              " reduce-window(k, z), window={size=1x", n, " pad=0_0x", low ? str_cat(pad, "_0") : str_cat("0_", pad),
              "}, to_apply=f\n j = ", out, " iota(), iota_dimension=0\n ROOT t = ", out, " add(s, j) }\n");
          ASSERT_NE(agree(text, 0), nullptr) << text;
        }
}

TEST(RunningSum, LongRowsOfOtherTypes) {
  for (const std::string t : {"f64", "f32", "bf16", "c64", "u8", "pred"})
    for (const std::string pads : {"8999_0", "0_8999", "9000_0"})
      ASSERT_NE(agree(scan(t, 9000, pads, t == "pred" ? "or" : "add"), t == "bf16" ? 1e-2 : 1e-5), nullptr) << t;
}

TEST(RunningSum, EnginesAgree) {
  for (const std::string t : {"f32", "bf16", "f16", "f64"})
    for (const std::string pads : {"299_0", "0_299", "300_0", "0_300"}) agree(scan(t, 300, pads), 1e-6);
  agree(scan("bf16", 5, "4_0"), 1e-2);  // too short to be a scan
}

// The body of log-sum-exp in type t, as JAX writes it for cumlogsumexp.
std::string log_sum_exp(const std::string& t) {
  return "HloModule m\nf { a = " + t + "[] parameter(0)\n b = " + t + "[] parameter(1)\n m = " + t +
         "[] maximum(a, b)\n d = " + t + "[] subtract(a, b)\n p = pred[] compare(d, d), direction=NE\n s = " +
         t + "[] add(a, b)\n abs = " + t + "[] abs(d)\n n = " + t + "[] negate(abs)\n e = " + t +
         "[] exponential(n)\n l = " + t + "[] log-plus-one(e)\n q = " + t + "[] add(m, l)\n ROOT r = " + t +
         "[] select(p, s, q) }\n";
}

TEST(RunningSum, FoldsOfSixteenBitsByAnyBodyDoNotStick) {
  for (const std::string t : {"bf16", "f16"}) {
    const auto program = [&](const std::string& n, const std::string& fold) {
      return log_sum_exp(t) + "ENTRY e { x = " + t + "[2," + n + "] parameter(0)\n z = " + t +
             "[] constant(-inf)\n ROOT s = " + t + fold + ", to_apply=f }";
    };
    const std::string scan = program("300", "[2,300] reduce-window(x, z), window={size=1x300 pad=0_0x299_0}");
    const std::string fold = program("1000", "[2] reduce(x, z), dimensions={1}");
    const Dtype dtype = t == "f16" ? Dtype::kF16 : Dtype::kBF16;
    const auto log_of = [&](double n) { return Literal::scalar(dtype, std::log(n)).get_float(0); };
    for (const std::string backend : {"cpu", "kernel", "reference"}) {
      EXPECT_EQ(run(scan, filled(dtype, 300, 0), backend).get_float(599), log_of(300)) << t << ' ' << backend;
      EXPECT_EQ(run(fold, filled(dtype, 1000, 0), backend).get_float(1), log_of(1000)) << t << ' ' << backend;
    }
  }
}

// A body that rounds of itself says what it wants.
TEST(RunningSum, AConversionToSixteenBitsInTheBodyStays) {
  const std::string text =
      "HloModule m\nf { a = bf16[] parameter(0)\n b = bf16[] parameter(1)\n u = f32[] convert(a)\n v = f32[] "
      "convert(b)\n s = f32[] add(u, v)\n ROOT r = bf16[] convert(s) }\nENTRY e { x = bf16[2,1000] parameter(0)\n "
      "z = bf16[] constant(0)\n ROOT s = bf16[2] reduce(x, z), dimensions={1}, to_apply=f }";
  for (const std::string backend : {"cpu", "kernel", "reference"})
    EXPECT_EQ(run(text, filled(Dtype::kBF16, 1000, 1), backend).get_float(0), 256) << backend;
}

}  // namespace
}  // namespace braze
