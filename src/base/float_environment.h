// SPDX-License-Identifier: Apache-2.0
// FloatEnvironment: the default rounding and denormal numbers kept while it lives, whatever the host set for
// this thread. Hosts flush denormals to zero in threads of theirs, and threads inherit that.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace braze {

class FloatEnvironment {
 public:
#if defined(__SSE__)
  FloatEnvironment() : was_(_mm_getcsr()) {
    if ((was_ & ~kFlags) != kDefault) _mm_setcsr(kDefault);
  }
  ~FloatEnvironment() {
    if ((was_ & ~kFlags) != kDefault) _mm_setcsr(was_);
  }
#else
  FloatEnvironment() {}
#endif
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

#if defined(__SSE__)
 private:
  static constexpr unsigned kFlags = 0x3f;      // exceptions that occurred
  static constexpr unsigned kDefault = 0x1f80;  // all exceptions masked, to nearest, nothing flushed
  unsigned was_;
#endif
};

}  // namespace braze
