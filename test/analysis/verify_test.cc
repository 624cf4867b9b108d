// SPDX-License-Identifier: Apache-2.0
// Each law of the verifier, broken by hand.
#include "analysis/verify.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "text/parse.h"

namespace braze {
namespace {

std::unique_ptr<Module> sample() {
  ParseOptions options;
  options.check = false;
  auto m = parse_hlo(R"(HloModule m
f { p = f32[] parameter(0)
  ROOT n = f32[] negate(p) }
ENTRY e { a = f32[] parameter(0)
  b = f32[] parameter(1)
  s = f32[] add(a, b)
  ROOT c = f32[] call(s), to_apply=f })",
                     options);
  return *std::move(m);
}

Instr* named(const Module& m, std::string_view name) {
  for (auto& c : m.computations())
    for (auto& i : c->instrs())
      if (i->name == name) return i.get();
  return nullptr;
}

std::string broken(void (*breaks)(Module&)) {
  std::unique_ptr<Module> m = sample();
  EXPECT_TRUE(verify(*m).ok()) << verify(*m);
  breaks(*m);
  return std::string(verify(*m).message());
}

TEST(Verify, EveryLawHasItsMessage) {
  EXPECT_EQ(broken([](Module& m) { m.set_entry(nullptr); }), "the module has no entry computation");
  EXPECT_EQ(broken([](Module& m) { m.entry()->set_root(named(m, "n")); }),
            "computation 'e': no root");
  EXPECT_EQ(broken([](Module& m) { named(m, "s")->operands[0] = named(m, "p"); }),
            "computation 'e': 's': an operand is missing or of another computation");
  EXPECT_EQ(broken([](Module& m) { named(m, "s")->operands[0] = named(m, "b"); }),
            "computation 'e': 'a': its list of users is wrong");
  EXPECT_EQ(broken([](Module& m) { named(m, "a")->users.push_back(named(m, "s")); }),
            "computation 'e': 'a': a user is listed twice");
  EXPECT_EQ(broken([](Module& m) { m.entry()->set_operand(named(m, "s"), 0, named(m, "s")); }),
            "computation 'e': 's' depends on itself");
  EXPECT_EQ(
      broken([](Module& m) { named(m, "s")->extra().control_predecessors = {m.entry()->root()}; }),
      "computation 'e': 's' depends on itself");
  EXPECT_EQ(broken([](Module& m) { named(m, "b")->attrs = ParameterAttrs{0}; }),
            "computation 'e': parameter 1 is not listed at its number");
  EXPECT_EQ(broken([](Module& m) { named(m, "s")->attrs = IotaAttrs{}; }),
            "computation 'e': 's': add with another op's attributes");
  EXPECT_EQ(broken([](Module& m) { named(m, "s")->name = "a b"; }),
            "computation 'e': 'a b' is no legal name");
  EXPECT_EQ(broken([](Module& m) { named(m, "s")->name = "n"; }), "two instructions are named 'n'");
  EXPECT_EQ(broken([](Module& m) {
              named(m, "n")->op = Op::kCall;
              named(m, "n")->calls = {m.entry()};
            }),
            "'c': computation 'f' calls itself");
  EXPECT_EQ(broken([](Module& m) { named(m, "s")->calls = {m.computations()[0].get()}; }),
            "computation 'e': 's': add calls 0 computations, 1 given");
  EXPECT_EQ(broken([](Module& m) { m.buffer_donors = {2}; }),
            "buffer_donor: there is no parameter 2");
  EXPECT_NE(broken([](Module& m) {
              named(m, "s")->shape = Shape::array(Dtype::kF32, {2});
            }).find("result shape f32[2] given, f32[] inferred"),
            std::string::npos);
}

TEST(Verify, CorpusObeysTheLaws) {
  namespace fs = std::filesystem;
  fs::path root = fs::path(BRAZE_ROOT) / "../shared/models";
  if (!fs::exists(root)) root = fs::path(BRAZE_ROOT) / "../../shared/models";
  if (!fs::exists(root)) GTEST_SKIP() << "no ../shared/models here";
  for (auto& dir : fs::directory_iterator(root)) {
    std::string name = dir.path().filename().string();
    std::ifstream in(dir.path() / (name + ".hlo.txt"), std::ios::binary);
    if (!in || name.find("_tiny") == std::string::npos) continue;
    std::stringstream text;
    text << in.rdbuf();
    auto m = parse_hlo(text.str());
    ASSERT_TRUE(m.ok()) << name << ": " << m.status();
    EXPECT_TRUE(verify(**m).ok()) << name << ": " << verify(**m);
  }
}

}  // namespace
}  // namespace braze
