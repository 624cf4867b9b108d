// SPDX-License-Identifier: Apache-2.0
// Gathers whose indices are computed: what is known of their range must be true, or memory outside the
// operand is read.
#include "test/backend/agree.h"

namespace braze {
namespace {

// Two set bits of an s2 count as -2, which lies before the operand and must be clamped.
TEST(Gather, IndicesThatCountBits) {
  for (const char* op : {"count-leading-zeros", "popcnt"})
    for (const char* t : {"s2", "u2", "s4", "u4", "s8"}) {
      const std::string text = str_cat(
          "HloModule g\nENTRY e {\n x = f32[6] parameter(0)\n c = ", t, "[64] parameter(1)\n n = ", t,
          "[64] ", op, "(c)\n i = s64[64] convert(n)\n r = s64[1,64] reshape(i)\n y = f32[6] negate(x)\n"
          " ROOT g = f32[64] gather(y, r), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0},"
          " index_vector_dim=0, slice_sizes={1}\n}\n");
      SCOPED_TRACE(text);
      EXPECT_NE(agree(text, 0), nullptr);
    }
}

}  // namespace
}  // namespace braze
