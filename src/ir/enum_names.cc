// SPDX-License-Identifier: Apache-2.0
#include "ir/enum_names.h"

namespace braze {

namespace {

using Words = absl::Span<const std::string_view>;

constexpr std::string_view kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr std::string_view kCompareTypes[] = {"DEFAULT", "FLOAT", "TOTALORDER", "SIGNED",
                                              "UNSIGNED"};
constexpr std::string_view kPrecisions[] = {"default", "high", "highest"};
constexpr std::string_view kFfts[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr std::string_view kDistributions[] = {"rng_uniform", "rng_normal"};
constexpr std::string_view kAlgorithms[] = {"rng_default", "rng_three_fry", "rng_philox"};
constexpr std::string_view kTransposes[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
constexpr std::string_view kFusions[] = {"kLoop", "kInput", "kOutput", "kCustom"};
constexpr std::string_view kApiVersions[] = {"API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
                                             "API_VERSION_STATUS_RETURNING_UNIFIED",
                                             "API_VERSION_TYPED_FFI"};

}  // namespace

template <>
Words spellings<CompareDirection>() {
  return kDirections;
}
template <>
Words spellings<CompareType>() {
  return kCompareTypes;
}
template <>
Words spellings<Precision>() {
  return kPrecisions;
}
template <>
Words spellings<FftType>() {
  return kFfts;
}
template <>
Words spellings<RngDistribution>() {
  return kDistributions;
}
template <>
Words spellings<RngAlgorithm>() {
  return kAlgorithms;
}
template <>
Words spellings<TransposeA>() {
  return kTransposes;
}
template <>
Words spellings<FusionKind>() {
  return kFusions;
}
Words api_versions() { return kApiVersions; }

std::string list_of(Words words) {
  std::string out;
  for (std::string_view w : words) out += (out.empty() ? "" : ", ") + std::string(w);
  return out;
}

CompareType default_compare_type(Dtype t) {
  if (is_float(t) || is_complex(t)) return CompareType::kFloat;
  return is_signed_int(t) ? CompareType::kSigned : CompareType::kUnsigned;
}

}  // namespace braze
