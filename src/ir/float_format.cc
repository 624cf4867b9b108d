// SPDX-License-Identifier: Apache-2.0
#include "ir/float_format.h"

namespace braze {

const FloatFormat& format_of(Dtype t) {
  switch (t) {
    case Dtype::kF4E2M1FN:
      return kF4E2M1FNFormat;
    case Dtype::kF6E2M3FN:
      return kF6E2M3FNFormat;
    case Dtype::kF6E3M2FN:
      return kF6E3M2FNFormat;
    case Dtype::kF8E3M4:
      return kF8E3M4Format;
    case Dtype::kF8E4M3:
      return kF8E4M3Format;
    case Dtype::kF8E4M3B11FNUZ:
      return kF8E4M3B11FNUZFormat;
    case Dtype::kF8E4M3FN:
      return kF8E4M3FNFormat;
    case Dtype::kF8E4M3FNUZ:
      return kF8E4M3FNUZFormat;
    case Dtype::kF8E5M2:
      return kF8E5M2Format;
    case Dtype::kF8E5M2FNUZ:
      return kF8E5M2FNUZFormat;
    case Dtype::kF8E8M0FNU:
      return kF8E8M0FNUFormat;
    case Dtype::kF16:
      return kF16Format;
    case Dtype::kBF16:
      return kBF16Format;
    case Dtype::kF32:
    case Dtype::kC64:
      return kF32Format;
    default:
      return kF64Format;
  }
}

double round_to(Dtype t, double v) {
  if (t == Dtype::kF32) return static_cast<float>(v);
  return is_float(t) ? round_to(format_of(t), v) : v;
}

}  // namespace braze
