// SPDX-License-Identifier: Apache-2.0
// Recompilations made visible: at BRAZE_DEBUG=1 a second program of one function is told with the arguments
// that changed.
//
//   braze: step: compiled again, program 2: argument 0 is f32[1,100], was f32[1,10]
#pragma once

#include <string>
#include <string_view>

#include "pjrt/program.h"

namespace braze::pjrt {

// The function that a host's name of a program stands for: TensorFlow numbers its traces and appends
// attributes, __inference_step_12__XlaMustCompile_true_….3 is "step".
std::string function_of(std::string_view program_name);

// To be called for each compiled program; does nothing unless BRAZE_DEBUG asks.
void note_compilation(const ProgramFacts& f);

}  // namespace braze::pjrt
