// SPDX-License-Identifier: Apache-2.0
#include "base/debug.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

namespace braze {
namespace {

TEST(Debug, CommaListOfKnobs) {
  Debug d = parse_debug("3,dump=/tmp/d,pass=^fuse$,check,verify=2,fuel=137", "");
  EXPECT_EQ(d.level, 3);
  EXPECT_EQ(d.dump_dir, "/tmp/d");
  EXPECT_TRUE(d.check);
  EXPECT_EQ(d.verify, 2);
  EXPECT_EQ(d.fuel, 137);
  EXPECT_TRUE(d.dump_text);
  EXPECT_TRUE(d.dumps_pass("fuse"));
  EXPECT_FALSE(d.dumps_pass("fuse2"));
  EXPECT_TRUE(d.dumps_module("anything"));
  EXPECT_TRUE(d.unknown.empty());
}

TEST(Debug, Defaults) {
  Debug d = parse_debug("", "");
  EXPECT_EQ(d.level, 0);
  EXPECT_EQ(d.verify, 1);
  EXPECT_EQ(d.fuel, -1);
  EXPECT_FALSE(d.dumps());
  EXPECT_FALSE(d.dumps_pass("x"));
}

TEST(Debug, XlaFlags) {
  Debug d = parse_debug("",
                        "  --xla_dump_to=/x --xla_dump_hlo_as_dot --xla_dump_hlo_as_text=false\n"
                        "--xla_dump_hlo_pass_re='a|b' --xla_force_host_platform_device_count=8 "
                        "--xla_gpu_foo=1 --xla_bar");
  EXPECT_EQ(d.dump_dir, "/x");
  EXPECT_TRUE(d.dump_dot);
  EXPECT_FALSE(d.dump_text);
  EXPECT_TRUE(d.dumps_pass("b2"));
  EXPECT_EQ(d.host_devices, 8);
  EXPECT_EQ(d.unknown, (std::vector<std::string>{"--xla_gpu_foo=1", "--xla_bar"}));
}

TEST(Debug, WhatUsersTryForThreadsAndCode) {
  Debug d = parse_debug("", "--xla_cpu_multi_thread_eigen=false --xla_cpu_max_isa=AVX2");
  EXPECT_EQ(d.threads, 1);
  EXPECT_EQ(d.target, "avx2");
  EXPECT_EQ(parse_debug("", "intra_op_parallelism_threads=3").threads, 3);
  EXPECT_EQ(parse_debug("", "--intra_op_parallelism_threads=4").threads, 4);
  d = parse_debug("target=abacus", "");
  EXPECT_EQ(d.target, "");
  EXPECT_EQ(d.unknown, std::vector<std::string>{"target=abacus"});
}

TEST(Debug, OwnKnobsWinAndBadValuesAreReported) {
  Debug d = parse_debug("dump=/mine,fuel=lots,verify,nonsense,,check=maybe", "--xla_dump_to=/xla");
  EXPECT_EQ(d.dump_dir, "/mine");
  EXPECT_EQ(d.unknown,
            (std::vector<std::string>{"fuel=lots", "verify", "nonsense", "check=maybe"}));
}

TEST(Debug, NumbersOutOfRangeAreReported) {
  Debug d = parse_debug("7,fuel=-1,verify=9,threads=-4,2", "--xla_force_host_platform_device_count=-3");
  EXPECT_EQ(d.level, 2);
  EXPECT_EQ(d.fuel, -1);
  EXPECT_EQ(d.verify, 1);
  EXPECT_EQ(d.threads, 0);
  EXPECT_EQ(d.host_devices, 0);
  EXPECT_EQ(d.unknown, (std::vector<std::string>{"--xla_force_host_platform_device_count=-3", "7", "fuel=-1",
                                                 "verify=9", "threads=-4"}));
}

TEST(Debug, RegexThatIsNoneMatchesAsText) {
  EXPECT_TRUE(regex_matches("a[", "xa[y"));
  EXPECT_FALSE(regex_matches("a[", "xay"));
  EXPECT_TRUE(regex_matches(".*", ""));
}

TEST(Debug, EveryKnobIsDocumented) {
  std::ifstream in(BRAZE_ROOT "/docs/debugging.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  for (const DebugKnob& k : debug_knobs()) {
    // Companions of a flag are written short: --xla_dump_hlo_as_text, `_as_proto`.
    std::string name(k.name);
    if (name.substr(0, 14) == "--xla_dump_hlo" && page.find(name) == std::string::npos) name = name.substr(14);
    EXPECT_NE(page.find(name), std::string::npos) << k.name;
  }
  for (const DebugKnob& k : debug_knobs()) EXPECT_FALSE(k.doc.empty()) << k.name;
}

}  // namespace
}  // namespace braze
