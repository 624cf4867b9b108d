// SPDX-License-Identifier: Apache-2.0
// Bitcasts between layouts, as XLA writes them after it has chosen layouts: the bytes stay, in their order.
#include <gtest/gtest.h>

#include <string>

#include "backend/compile.h"
#include "frontend/hlo_proto.h"
#include "ops/builder.h"
#include "text/parse.h"
#include "text/print.h"

namespace braze {
namespace {

// 0, 1, 2 … of shape f32[3,4] through the program.
std::vector<float> run(std::unique_ptr<Module> m, std::string_view backend) {
  CompileOptions o;
  o.backend = std::string(backend);
  auto exe = compile(std::move(m), o);
  EXPECT_TRUE(exe.ok()) << exe.status();
  Literal x(Shape::array(Dtype::kF32, {3, 4}));
  for (int64_t i = 0; i < 12; ++i) x.set_float(i, static_cast<double>(i));
  auto got = (*exe)->run({x});
  EXPECT_TRUE(got.ok()) << got.status();
  std::vector<float> out;
  for (int64_t i = 0; i < got->elements(); ++i) out.push_back(static_cast<float>(got->get_float(i)));
  return out;
}

struct Case {
  std::string body;
  std::vector<float> want;
};
const Case kCases[] = {
    // The result's dimension 0 runs fastest.
    {"ROOT y = f32[4,3]{0,1} bitcast(x)", {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
    {"ROOT y = f32[2,6]{0,1} bitcast(x)", {0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11}},
    {"ROOT y = f32[2,3,2]{1,2,0} bitcast(x)", {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}},
    // The operand's does.
    {"c = f32[3,4]{0,1} copy(x)\n ROOT y = f32[4,3]{1,0} bitcast(c)", {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
    {"c = f32[3,4]{0,1} copy(x)\n ROOT y = f32[12]{0} bitcast(c)", {0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}},
    // Both: one bitcast undoes the other.
    {"c = f32[4,3]{0,1} bitcast(x)\n ROOT y = f32[12]{0} bitcast(c)", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
};

TEST(BitcastLayout, KeepsTheBytes) {
  for (const Case& c : kCases) {
    const std::string text = "HloModule m\nENTRY e { x = f32[3,4]{1,0} parameter(0)\n " + c.body + " }";
    for (const std::string backend : {"cpu", "kernel", "reference"}) {
      auto m = parse_hlo(text);
      ASSERT_TRUE(m.ok()) << m.status();
      EXPECT_EQ(run(std::move(*m), backend), c.want) << c.body << ' ' << backend;
    }
    auto m = parse_hlo(text);
    const std::string printed = print_hlo(**m);
    auto again = parse_hlo(printed);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(print_hlo(**again), printed);
  }
}

TEST(BitcastLayout, OfAProtoToo) {
  Module m("m");
  Computation* c = m.add_computation("e");
  m.set_entry(c);
  Builder b(c);
  Shape out = Shape::array(Dtype::kF32, {4, 3});
  out.layout = {0, 1};
  c->set_root(b.op_shaped(Op::kBitcast, out, {b.parameter(0, Shape::array(Dtype::kF32, {3, 4}))}));
  auto bytes = write_hlo_proto(m);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  auto read = read_any_hlo(*bytes);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(run(std::move(read->module), "cpu"), kCases[0].want);
}

}  // namespace
}  // namespace braze
