// SPDX-License-Identifier: Apache-2.0
// Hosts flush denormals in threads of theirs; programs keep them all the same, in the caller's thread and in
// those that the pool starts from it.
#include "base/float_environment.h"

#include <cstring>
#include <thread>

#include "test/backend/agree.h"

#if defined(__SSE__)
namespace braze {
namespace {

constexpr unsigned kFlushing = 0x9fc0;  // denormal operands and results are zero

TEST(FloatEnvironment, IsPutBack) {
  const unsigned was = _mm_getcsr();
  _mm_setcsr(kFlushing);
  {
    const FloatEnvironment floats;
    EXPECT_EQ(_mm_getcsr() & 0xffc0, 0x1f80u);
  }
  EXPECT_EQ(_mm_getcsr() & 0xffc0, kFlushing);
  _mm_setcsr(was);
}

TEST(FloatEnvironment, DenormalsAreKeptWhateverTheHostDoes) {
  int64_t zeros = -1;
  const Literal x = [] {
    Literal l(Shape::array(Dtype::kF32, {300000}));
    for (int64_t i = 0; i < l.elements(); ++i) l.set_float(i, 1e-38);
    return l;
  }();
  std::thread host([&] {
    _mm_setcsr(kFlushing);
    auto m = parse_hlo(
        "HloModule m\nENTRY e { x = f32[300000] parameter(0)\n c = f32[] constant(0.125)\n"
        " b = f32[300000] broadcast(c), dimensions={}\n ROOT r = f32[300000] multiply(x, b) }");
    ASSERT_TRUE(m.ok());
    for (const std::string backend : {"cpu", "reference"}) {
      CompileOptions o;
      o.threads = 2;  // threads of its own, started here
      o.backend = backend;
      auto exe = compile((*m)->clone(), o);
      ASSERT_TRUE(exe.ok()) << exe.status();
      for (int k = 0; k < 5; ++k) {
        auto got = (*exe)->run({x});
        ASSERT_TRUE(got.ok()) << got.status();
        zeros = 0;
        for (int64_t i = 0; i < got->elements(); ++i) {
          uint32_t bits;
          std::memcpy(&bits, got->bytes() + 4 * i, 4);
          zeros += bits == 0;
        }
        EXPECT_EQ(zeros, 0) << backend;
      }
    }
  });
  host.join();
  EXPECT_EQ(zeros, 0);
}

}  // namespace
}  // namespace braze
#endif
