// SPDX-License-Identifier: Apache-2.0
// Programs with unknown dimensions → programs of fixed shapes, given the shapes of the arguments.
//
//   p: f32[?,4]          p: f32[3,4]                  dynamic ops with constant shape operands →
//   static n = dim-size(p, 0)   n = 3                        ops; calls → one copy of the callee
//   for each set iota dims=[n]   →    iota s32[3]                  of argument shapes and small
//   known arguments
//
// Laws: shapes only get more precise; a shape_assertion that is false is an error with its own
// message; a dynamic op whose shape operand is no constant stays as it is.
#pragma once

#include "absl/types/span.h"
#include "base/status.h"
#include "ir/module.h"

namespace braze {

// `args`: the shapes of the entry's parameters, or none (those it declares are taken).
Status refine_shapes(Module& m, absl::Span<const Shape> args);

// True if something reachable from the entry has an unknown dimension, waits for its shape
// (dynamic-iota …) or asserts something about shapes.
bool has_unknown_shapes(const Module& m);

}  // namespace braze
