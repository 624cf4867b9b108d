// SPDX-License-Identifier: Apache-2.0
// Rows put together from pieces, elements that come several at a time, results that are reshaped at last.
#include "loop/lower.h"
#include "passes/fuse.h"
#include "test/backend/agree.h"

namespace braze {
namespace {

std::string program(const std::string& type, int64_t rows, int64_t columns, const std::string& body) {
  const std::string shape = str_cat(type, "[", rows, ",", columns, "]");
  return str_cat("HloModule t\nENTRY e {\n  x = ", shape, " parameter(0)\n  y = ", shape, " parameter(1)\n  z = ", type,
                 "[] constant(2)\n  m = ", shape, " multiply(x, y)\n", body, "}\n");
}

TEST(Pieces, ConcatenatedAndPadded) {
  for (const char* type : {"f32", "f64", "bf16", "s8", "c64"})
    for (int64_t rows : {1, 64, 70})
      for (int64_t columns : {5, 16, 33, 100}) {
        const auto shape = [&](int64_t r, int64_t c) { return str_cat(type, "[", r, ",", c, "]"); };
        agree(program(type, rows, columns, str_cat("  c = ", shape(rows, 3 * columns), " concatenate(m, x, y), dimensions={1}\n  ROOT r = ",
                                                   shape(rows, 3 * columns), " add(c, c)\n")), 0);
        agree(program(type, rows, columns, str_cat("  ROOT r = ", shape(rows + 3, columns + 4), " pad(m, z), padding=1_2x3_1\n")), 0);
        agree(program(type, rows, columns, str_cat("  ROOT r = ", shape(rows, columns + 38), " pad(m, z), padding=0_0x-2_40\n")), 0);
        const std::string tail = str_cat("  t = ", shape(rows, 2), " slice(m), slice={[0:", rows, "], [", columns - 2, ":", columns, "]}\n",
                                         "  h = ", shape(rows, columns - 2), " slice(m), slice={[0:", rows, "], [0:", columns - 2, "]}\n");
        agree(program(type, rows, columns, tail + str_cat("  q = ", shape(rows, columns), " concatenate(t, h), dimensions={1}\n  w = ",
                                                          shape(rows, columns), " reverse(q), dimensions={1}\n  ROOT r = (",
                                                          shape(rows, columns), ", ", shape(rows, columns), ") tuple(q, w)\n")), 0);
      }
}

TEST(Pieces, Repeated) {
  for (int64_t times : {2, 3, 4, 5})
    for (int64_t columns : {1, 7, 64}) {
      const std::string three = str_cat("f32[70,", columns, ",", times, "]"), flat = str_cat("f32[70,", columns * times, "]");
      agree(program("f32", 70, columns, str_cat("  b = ", three, " broadcast(m), dimensions={0,1}\n  ROOT r = ", flat, " reshape(b)\n")), 0);
      const std::string tiled = str_cat("f32[70,", times, ",", columns, "]");
      agree(program("f32", 70, columns, str_cat("  b = ", tiled, " broadcast(m), dimensions={0,2}\n  ROOT r = ", flat, " reshape(b)\n")), 0);
      agree(program("f32", 70, columns, str_cat("  b = ", tiled, " broadcast(m), dimensions={0,2}\n  r = ", flat, " reshape(b)\n  s = ", flat,
                                                " negate(r)\n  ROOT t = (", flat, ", ", flat, ") tuple(r, s)\n")), 0);
    }
}

// The last dimension of few elements, each from somewhere else: components of vectors, colours.
TEST(Pieces, Components) {
  for (int64_t n : {2, 3, 4})
    for (int64_t rows : {1, 9, 100}) {
      const std::string planes = str_cat("f32[", n, ",", rows, "]"), points = str_cat("f32[", rows, ",", n, "]");
      agree(str_cat("HloModule t\nENTRY e {\n  x = ", planes, " parameter(0)\n  y = ", points, " parameter(1)\n  t = ", points,
                    " transpose(x), dimensions={1,0}\n  ROOT r = ", points, " subtract(t, y)\n}\n"), 0);
    }
}

TEST(Pieces, AskNothingInTheLanes) {
  auto m = parse_hlo(program("f32", 70, 64, "  ROOT c = f32[70,128] concatenate(m, x), dimensions={1}\n"));
  ASSERT_TRUE(m.ok());
  ASSERT_TRUE(fuse(**m, FuseOptions()).ok());
  auto k = loop::lower(*(*m)->entry()->root()->calls[0], "t", loop::Facts());
  ASSERT_TRUE(k.ok()) << k.status();
  EXPECT_EQ(loop::to_string(*k).find("select"), std::string::npos) << loop::to_string(*k);
}

}  // namespace
}  // namespace braze
