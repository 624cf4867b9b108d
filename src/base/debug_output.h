// SPDX-License-Identifier: Apache-2.0
// Where debug texts go. The library itself never prints: it writes here, and the host decides.
//
// A host sets a sink. Without one, texts go to the file that BRAZE_DEBUG's log=FILE names, else to
// standard error, and only if BRAZE_DEBUG asked for them. May be called from any thread; pieces of
// one call stay together.
#pragma once

#include <functional>
#include <string_view>

namespace braze::debug_output {

using Sink = std::function<void(std::string_view)>;

// Null: back to the default.
void set(Sink sink);
void write(std::string_view text);
// The same at level 0 too: what a user asked for cannot be done.
void warn(std::string_view text);

}  // namespace braze::debug_output
