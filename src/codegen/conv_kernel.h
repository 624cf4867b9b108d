// SPDX-License-Identifier: Apache-2.0
// The parts of the convolution generator. Internal to codegen.
#pragma once

#include <string>

#include "codegen/contraction_emit.h"
#include "codegen/conv_plan.h"

namespace braze::codegen {

// The phase that makes the padded copy of the input; one item is a line of the last spatial
// dimension.
int64_t staging_items(const ConvShape& s);
void emit_conv_staging(Emit& e, const ConvShape& s, const ContractionHooks& hooks,
                       const std::string& name);

// A class of a channelwise convolution: lanes along the groups, taps outside the input skipped.
int64_t channelwise_items(const ConvShape& s, const ConvClass& c, const Target& target);
void emit_conv_channelwise(Emit& e, const ConvShape& s, const ConvClass& c,
                           const ContractionHooks& hooks, const std::string& name);

}  // namespace braze::codegen
