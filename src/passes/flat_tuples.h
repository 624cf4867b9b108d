// SPDX-License-Identifier: Apache-2.0
// flat-tuples: loops and conditionals carry arrays, not tuples of tuples, as TensorFlow's lists are:
//
//   while (s32[], (f32[50], s32[]))   =>   while (s32[], f32[50], s32[])
//
// so that what is known of single arrays (in place, invariant, unused) holds for the parts of inner tuples, too.
#pragma once

#include "base/status.h"
#include "ir/module.h"

namespace braze {

Status flat_tuples(Module& m);

}  // namespace braze
