// SPDX-License-Identifier: Apache-2.0
// The messages that bad HLO text gets, word for word.
#include <gtest/gtest.h>

#include "text/parse.h"

namespace braze {
namespace {

struct Case {
  const char* text;
  const char* message;
};

std::string error_of(const char* text) {
  ParseOptions options;
  options.file = "f.hlo";
  Result<std::unique_ptr<Module>> m = parse_hlo(text, options);
  return m.ok() ? "OK" : std::string(m.status().message());
}

constexpr Case kCases[] = {
    {"", "f.hlo:1:1: expected a computation, found the end of the text\n  \n  ^"},
    {"HloModule m\nENTRY e {\n  a = f32[2] parameter(0)\n  ROOT b = f32[2] ad(a, a)\n}",
     "f.hlo:4:19: unknown opcode 'ad'; did you mean 'add'?\n    ROOT b = f32[2] ad(a, a)\n         "
     "           ^"},
    {"HloModule m, entry_computation_layout={(f32[3]{0})->f32[2]{0}}\nENTRY e { a = f32[2] parameter(0) }",
     "f.hlo:1:14: entry_computation_layout: parameter 0 is f32[3] there and f32[2] in the entry\n  HloModule m, "
     "entry_computation_layout={(f32[3]{0})->f32[2]{0}}\n               ^"},
    {"HloModule m\nENTRY e {\n  ROOT b = f32[2] negate(a)\n}",
     "f.hlo:3:26: 'a' is not defined before its use in this computation\n    ROOT b = f32[2] "
     "negate(a)\n"
     "                           ^"},
    {"HloModule m\nENTRY e { ROOT b = f32[2 parameter(0) }",
     "f.hlo:2:26: expected ']' after the dimensions, found 'parameter'\n  ENTRY e { ROOT b = f32[2 "
     "parameter(0) }\n"
     "                           ^"},
    {"HloModule m\nENTRY e { ROOT b = f33[2] parameter(0) }",
     "f.hlo:2:20: expected a shape, found 'f33'\n  ENTRY e { ROOT b = f33[2] parameter(0) }\n      "
     "               ^"},
    {"HloModule m\nENTRY e { a = f32[] parameter(0)\n a = f32[] parameter(1) }",
     "f.hlo:3:2: 'a' is defined twice in this computation\n   a = f32[] parameter(1) }\n   ^"},
    {"HloModule m\nENTRY e { a = f32[] parameter(1) }",
     "f.hlo:2:7: computation 'e' lacks parameter 0\n  ENTRY e { a = f32[] parameter(1) }\n        "
     "^"},
    {"HloModule m\nENTRY e { a = f32[] parameter(999999999) }",
     "f.hlo:2:21: parameter number 999999999 is out of range\n  ENTRY e { a = f32[] "
     "parameter(999999999) }\n"
     "                      ^"},
    {"HloModule m\nENTRY e { c = s8[2] constant({1, 300}) }",
     "f.hlo:2:34: 300 is out of range of s8\n  ENTRY e { c = s8[2] constant({1, 300}) }\n"
     "                                   ^"},
    {"HloModule m\nENTRY e { c = s8[2] constant({1}) }",
     "f.hlo:2:32: expected ',' (2 elements are due here, 1 given), found '}'\n  ENTRY e { c = "
     "s8[2] constant({1}) }\n"
     "                                 ^"},
    {"HloModule m\nENTRY e { c = f32[4] constant({...}) }",
     "f.hlo:2:31: the constant's value was left out of the text; print it with large constants, or "
     "ask for a "
     "made-up value (fill_elided)\n  ENTRY e { c = f32[4] constant({...}) }\n                      "
     "          ^"},
    {"HloModule m\nENTRY e { i = s32[4] iota() }",
     "f.hlo:2:22: iota needs the attribute 'iota_dimension'\n  ENTRY e { i = s32[4] iota() }\n"
     "                       ^"},
    {"HloModule m\nENTRY e { a = f32[] parameter(0)\nROOT c = pred[] compare(a, a), direction=XX }",
     "f.hlo:3:42: expected one of EQ, NE, GE, GT, LE, LT, found 'XX'\n"
     "  ROOT c = pred[] compare(a, a), direction=XX }\n                                           "
     "^"},
    {"HloModule m\nENTRY e { a = f32[] parameter(0)\nROOT c = f32[] call(a), to_apply=g }",
     "f.hlo:3:34: there is no computation 'g'\n  ROOT c = f32[] call(a), to_apply=g }\n"
     "                                   ^"},
    {"HloModule m\nENTRY e { a = f32[] parameter(0)\nROOT c = f32[] call(a), to_apply=e }",
     "'c': computation 'e' calls itself"},
    {"HloModule m\nENTRY e { a = f32[] parameter(0)\nROOT c = f32[] while(a), body=e }",
     "f.hlo:3:16: while lacks one of its computations\n  ROOT c = f32[] while(a), body=e }\n"
     "                 ^"},
    {"HloModule m\nENTRY e { a = f32[] parameter(0), sharding={x",
     "f.hlo:2:44: the bracket that opens here is not closed\n  ENTRY e { a = f32[] parameter(0), "
     "sharding={x\n"
     "                                             ^"},
    {"HloModule m, replica_count=0\nENTRY e { a = f32[] parameter(0) }",
     "f.hlo:1:14: replica_count must be positive\n  HloModule m, replica_count=0\n               "
     "^"},
    {"HloModule m, input_output_alias={ {}: (3, {}, may-alias) }\nENTRY e { a = f32[] parameter(0) "
     "}",
     "f.hlo:1:14: input_output_alias: there is no parameter 3\n  HloModule m, input_output_alias={ {}: (3, {}, "
     "may-alias) }\n               ^"},
    {"HloModule m\nENTRY e { a = f32[1,1] parameter(0)\nROOT c = f32[1,1] convolution(a, a), "
     "dim_labels=bf_iq->bf }",
     "f.hlo:3:49: dim_labels: 'q' is unknown or repeated in 'iq'\n"
     "  ROOT c = f32[1,1] convolution(a, a), dim_labels=bf_iq->bf }\n"
     "                                                  ^"},
};

TEST(ParseErrors, SayWhereAndWhat) {
  for (const Case& c : kCases) EXPECT_EQ(error_of(c.text), c.message) << c.text;
}

TEST(ParseErrors, LongLinesAreCutAroundTheCaret) {
  std::string text =
      "HloModule m\nENTRY e { a = f32[] parameter(0), x=\"" + std::string(500, 'y') + "\", = }";
  std::string message = error_of(text.c_str());
  EXPECT_LT(message.size(), 400u);
  EXPECT_NE(message.find("…"), std::string::npos);
}

TEST(ParseErrors, EveryPrefixOfAProgramIsRefusedOrRead) {
  const std::string text =
      "HloModule m, entry_computation_layout={(f32[2]{0})->f32[2]{0}}\n"
      "f { ROOT p = f32[2] parameter(0) }\n"
      "ENTRY e { a = f32[2]{0} parameter(0), metadata={op_name=\"x\"}\n"
      "k = f32[2]{0} constant({1, -inf})\n"
      "ROOT c = f32[2]{0} call(a), to_apply=f, control-predecessors={k} }";
  // A prefix is a program only after the first or the last computation.
  const size_t first = text.find("ENTRY") - 1;
  for (size_t n = 0; n < text.size(); ++n) {
    std::string part = text.substr(0, n);
    EXPECT_EQ(parse_hlo(part).ok(), n == first || n == first + 1) << part;
  }
}

}  // namespace
}  // namespace braze
