// SPDX-License-Identifier: Apache-2.0
// A module as bytes and back, all of it: names, metadata, the order of instructions and of their users, so
// that whatever reads the copy does as with the original. For caches: bytes are read by the build that wrote
// them, and they are not a format to exchange programs in (text/ and frontend/ have those).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "base/status.h"
#include "ir/module.h"

namespace braze {

// The large arrays among the constants of a module, each storage once, in the order of its instructions.
std::vector<Literal> large_literals(const Module& m);

// Constants that share the storage of one of `known` are written as its number.
std::string module_bytes(const Module& m, absl::Span<const Literal> known = {});

// `known` holds the same arrays as when the bytes were written. Bytes that end too early are an error; whether
// they are the bytes once written is for the caller to know, by a checksum.
Result<std::unique_ptr<Module>> module_from_bytes(std::string_view bytes, absl::Span<const Literal> known = {});

}  // namespace braze
