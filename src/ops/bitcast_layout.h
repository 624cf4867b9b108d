// SPDX-License-Identifier: Apache-2.0
// Bitcasts between layouts, as XLA writes them once it has chosen layouts: the same bytes read in another
// order.
//
// Interface: row_major_bitcasts, which the readers of HLO call on what they read. All other instructions mean
// the same in any layout.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

// y{Ly} = bitcast(x{Lx})  =>  transpose(bitcast(transpose(x))), the inner one of row-major arrays: those that
// have the bytes' order. Bitcasts of row-major arrays stay.
Status row_major_bitcasts(Module& m);

}  // namespace braze
