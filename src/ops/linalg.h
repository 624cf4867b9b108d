// SPDX-License-Identifier: Apache-2.0
// The rows of linalg_rows(), each in a file of its own family.
#pragma once

#include "ops/op_def.h"

namespace braze {

OpDef cholesky_row();              // linalg.cc
OpDef triangular_solve_row();
OpDef fft_row();                   // fft.cc
OpDef batch_norm_training_row();   // batch_norm.cc
OpDef batch_norm_inference_row();
OpDef batch_norm_grad_row();

}  // namespace braze
