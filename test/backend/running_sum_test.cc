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
         "[] constant(" + (op == "add" ? "0" : "1") + ")\n ROOT s = " + t + "[2," + std::to_string(outs) +
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

TEST(RunningSum, EnginesAgree) {
  for (const std::string t : {"f32", "bf16", "f16", "f64"})
    for (const std::string pads : {"299_0", "0_299", "300_0", "0_300"}) agree(scan(t, 300, pads), 1e-6);
  agree(scan("bf16", 5, "4_0"), 1e-2);  // too short to be a scan
}

}  // namespace
}  // namespace braze
