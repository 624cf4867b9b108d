// SPDX-License-Identifier: Apache-2.0
// FFT, triangular matrices, batch normalisation.
#include "frontend/stablehlo_attrs.h"
#include "frontend/stablehlo_scope.h"

namespace braze::stablehlo {
namespace {

void fft(OpImport& c) {
  FftAttrs a;
  a.length = c.dims("fft_length");
  const std::string_view t = c.choice("fft_type");
  if (t == "IFFT") a.type = FftType::kIfft;
  else if (t == "RFFT") a.type = FftType::kRfft;
  else if (t == "IRFFT") a.type = FftType::kIrfft;
  else c.check(t == "FFT", "unknown fft_type");
  c.bind(c.emit(Op::kFft, c.ins(), a));
}

void cholesky(OpImport& c) {
  c.bind(c.emit(Op::kCholesky, c.ins(), CholeskyAttrs{c.flag("lower")}));
}

void triangular_solve(OpImport& c) {
  TriangularSolveAttrs a{c.flag("left_side"), c.flag("lower"), c.flag("unit_diagonal")};
  const std::string_view t = c.choice("transpose_a");
  if (t == "TRANSPOSE") a.transpose_a = TransposeA::kTranspose;
  else if (t == "ADJOINT") a.transpose_a = TransposeA::kAdjoint;
  else c.check(t == "NO_TRANSPOSE" || t.empty(), "unknown transpose_a");
  c.bind(c.emit(Op::kTriangularSolve, c.ins(), a));
}

BatchNormAttrs batch_norm(OpImport& c) {
  const mlir::Attr* e = c.attr("epsilon");
  return {e ? e->f : 0, c.integer("feature_index")};
}

void batch_norm_training(OpImport& c) {
  c.bind_all(c.emit(Op::kBatchNormTraining, c.ins(), batch_norm(c)));
}
void batch_norm_inference(OpImport& c) {
  c.bind(c.emit(Op::kBatchNormInference, c.ins(), batch_norm(c)));
}
void batch_norm_grad(OpImport& c) {
  c.bind_all(c.emit(Op::kBatchNormGrad, c.ins(), batch_norm(c)));
}

constexpr Handler kHandlers[] = {
    {"stablehlo.fft", fft, 1, 1, 0},
    {"stablehlo.cholesky", cholesky, 1, 1, 0},
    {"stablehlo.triangular_solve", triangular_solve, 2, 1, 0},
    {"stablehlo.batch_norm_training", batch_norm_training, 3, 3, 0},
    {"stablehlo.batch_norm_inference", batch_norm_inference, 5, 1, 0},
    {"stablehlo.batch_norm_grad", batch_norm_grad, 5, 3, 0},
};

}  // namespace

absl::Span<const Handler> linalg_handlers() { return kHandlers; }

}  // namespace braze::stablehlo
