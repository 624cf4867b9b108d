// SPDX-License-Identifier: Apache-2.0
// The windowed rows of the reduce family.
#pragma once

#include "ops/op_def.h"

namespace braze {

OpDef reduce_window_row();
OpDef select_and_scatter_row();

}  // namespace braze
