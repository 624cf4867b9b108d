// SPDX-License-Identifier: Apache-2.0
// The CHLO rewriter of a build that leaves chlo.cc out: no CHLO op is known.
#include "frontend/chlo.h"

namespace braze {

__attribute__((weak)) bool is_chlo_op(std::string_view) { return false; }

__attribute__((weak)) Result<std::vector<Instr*>> build_chlo(Builder&, std::string_view op,
                                                             absl::Span<Instr* const>, const ChloAttrs&,
                                                             absl::Span<const Shape>) {
  return unimplemented(op, ": this build has no CHLO");
}

}  // namespace braze
