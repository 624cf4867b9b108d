// SPDX-License-Identifier: Apache-2.0
// Vector kernels of the library, compiled once per instruction set.
//
// Interface: isa_kernels() is the table for this processor. The files isa_*.cc compile the same
// headers (*_lanes.h) with different flags; those include nothing that could leave code for a newer
// processor in a function shared with others.
#pragma once

#include "runtime/fft_kernels.h"
#include "runtime/order_kernels.h"
#include "runtime/solve_kernels.h"

namespace braze {

struct IsaKernels {
  FftKernels<float> fft_f32;
  FftKernels<double> fft_f64;
  SolveKernels<float> solve_f32;
  SolveKernels<double> solve_f64;
  OrderKernels order;
};

namespace isa_baseline { extern const IsaKernels kKernels; }
namespace isa_avx2 { extern const IsaKernels kKernels; }
namespace isa_avx512 { extern const IsaKernels kKernels; }

const IsaKernels& isa_kernels();

template <typename T>
const FftKernels<T>& fft_kernels() {
  if constexpr (sizeof(T) == 4) return isa_kernels().fft_f32;
  else return isa_kernels().fft_f64;
}
template <typename T>
const SolveKernels<T>& solve_kernels() {
  if constexpr (sizeof(T) == 4) return isa_kernels().solve_f32;
  else return isa_kernels().solve_f64;
}

}  // namespace braze
