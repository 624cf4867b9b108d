// SPDX-License-Identifier: Apache-2.0
// The attributes of a typed FFI call: a dictionary in MLIR text → the structs that handlers read.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "pjrt/ffi_abi.h"

namespace braze::pjrt::ffi {

// Owns everything that `attributes` points to.
class AttributeSet {
 public:
  // Text of a dictionary, "{uplo = 76 : ui8}"; empty: no attributes.
  static Result<std::shared_ptr<const AttributeSet>> parse(std::string_view dictionary);
  const Attributes& attributes() const { return *root_; }

 private:
  friend class Encoder;
  struct Dictionary {
    Attributes attributes;
    std::vector<AttributeType> types;
    std::vector<ByteSpan*> names;
    std::vector<void*> values;
  };
  std::string_view keep(std::string_view s) { return strings_.emplace_back(s); }
  std::deque<std::string> strings_;
  std::deque<ByteSpan> spans_;
  std::deque<Scalar> scalars_;
  std::deque<Array> arrays_;
  std::deque<Dictionary> dictionaries_;
  const Attributes* root_ = nullptr;
};

}  // namespace braze::pjrt::ffi
