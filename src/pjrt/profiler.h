// SPDX-License-Identifier: Apache-2.0
// The Profiler extension of PJRT: what base/trace.h records, as the XSpace proto that profilers of XLA
// read (TensorBoard, Perfetto through jax.profiler.trace).
#pragma once

#include <string>

#include "base/trace.h"
#include "pjrt/c_api.h"

namespace braze::pjrt {

PJRT_Extension_Base* profiler_extension(PJRT_Extension_Base* next);

// XSpace with one plane; a line per thread and category of events that ran on it.
std::string xspace_proto(const trace::Recording& r);

}  // namespace braze::pjrt
