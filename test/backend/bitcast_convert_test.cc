// SPDX-License-Identifier: Apache-2.0
// The same bits as another type.
#include "test/backend/agree.h"

namespace braze {
namespace {

// All codes of 4 bits: registers hold negative integers with their sign, floats without.
TEST(BitcastConvert, FourBits) {
  agree("HloModule t\nENTRY e {\n p = s4[16] iota(), iota_dimension=0\n f = f4e2m1fn[16] bitcast-convert(p)\n"
        " u = u4[16] bitcast-convert(f)\n g = f4e2m1fn[16] bitcast-convert(u)\n n = f4e2m1fn[16] negate(g)\n"
        " s = s4[16] bitcast-convert(n)\n w = f32[16] convert(f)\n ROOT r = (f32[16], u4[16], s4[16]) tuple(w, u, s)\n}\n", 0);
}

}  // namespace
}  // namespace braze
