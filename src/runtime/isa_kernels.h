// SPDX-License-Identifier: Apache-2.0
// What each isa_*.cc compiles: the table of isa.h for the instruction set named by BRAZE_ISA.
#include "runtime/isa.h"

#include "runtime/fft_lanes.h"
#include "runtime/order_lanes.h"
#include "runtime/solve_lanes.h"

namespace braze::BRAZE_ISA {

extern const IsaKernels kKernels;
const IsaKernels kKernels = {fft_table<float>(), fft_table<double>(), solve_table<float>(),
                            solve_table<double>(), order_table()};

}  // namespace braze::BRAZE_ISA
