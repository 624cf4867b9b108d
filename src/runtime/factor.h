// SPDX-License-Identifier: Apache-2.0
// Native cholesky and triangular-solve, of single matrices and of batches.
//
// Interface: the prepare functions. Types narrower than f32 are computed in f32.
#pragma once

#include <memory>

#include "runtime/library.h"

namespace braze {

std::unique_ptr<LibraryCall> prepare_cholesky(const Instr& instr);          // cholesky.cc
// Of the custom calls lapack_<type>potrf_ffi, …trsm_ffi and …getrf_ffi, operands and results checked.
std::unique_ptr<LibraryCall> prepare_getrf(const Instr& instr);             // small_lu.cc
std::unique_ptr<LibraryCall> prepare_potrf(const Instr& instr);             // cholesky.cc
std::unique_ptr<LibraryCall> prepare_trsm(const Instr& instr);              // triangular_solve.cc
std::unique_ptr<LibraryCall> prepare_triangular_solve(const Instr& instr);  // triangular_solve.cc

}  // namespace braze
