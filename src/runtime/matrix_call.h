// SPDX-License-Identifier: Apache-2.0
// MatrixCall: what cholesky and triangular-solve share: stacks of row-major matrices of f32, f64 or
// complex numbers; narrower floats go through f32 copies.
#pragma once

#include <cstring>
#include <memory>

#include "ir/literal.h"
#include "ops/op_def.h"
#include "runtime/isa.h"
#include "runtime/library.h"
#include "runtime/scratch.h"

namespace braze {

// Kernels for real or complex numbers made of T.
template <typename T, bool kComplex>
struct MatrixKernels {
  static constexpr int64_t kParts = kComplex ? 2 : 1;
  static int64_t lanes() {
    return kComplex ? solve_kernels<T>().complex_lanes : solve_kernels<T>().lanes;
  }
  // Of panels for so many right-hand sides.
  static int64_t lanes_for(int64_t count) {
    const int64_t narrow = solve_kernels<T>().narrow_lanes;
    return !kComplex && count <= narrow ? narrow : lanes();
  }
  static void solve(T* x, int64_t step, const Triangle<T>& t, int64_t width) {
    if (!kComplex && width != lanes()) return solve_kernels<T>().narrow_solve(x, step, t);
    solve(x, step, t);
  }
  static void solve(T* x, int64_t step, const Triangle<T>& t) {
    (kComplex ? solve_kernels<T>().complex_solve : solve_kernels<T>().solve)(x, step, t);
  }
  static void update(T* c, int64_t c_row, const T* a, int64_t a_row, const T* panel, int64_t depth,
                     int64_t rows, int64_t width) {
    (kComplex ? solve_kernels<T>().complex_update
              : solve_kernels<T>().update)(c, c_row, a, a_row, panel, depth, rows, width);
  }
  static bool factor(T* a, int64_t row, int64_t n) {
    return (kComplex ? solve_kernels<T>().complex_factor : solve_kernels<T>().factor)(a, row, n);
  }
};

// `count` rows of a matrix into the lanes of a panel of n: panel[k][l] = from[l·row + k·column].
template <typename T, int64_t kParts>
void load_panel(T* panel, int64_t lanes, const T* from, int64_t row, int64_t column, int64_t count,
                int64_t n) {
  if (column == 1) {
    // Along the rows, as they lie in memory.
    for (int64_t l = 0; l < count; ++l)
      for (int64_t k = 0; k < kParts * n; ++k) panel[k * lanes + l] = from[kParts * l * row + k];
    for (int64_t k = 0; k < kParts * n; ++k)
      for (int64_t l = count; l < lanes; ++l) panel[k * lanes + l] = T(0);
    return;
  }
  for (int64_t k = 0; k < n; ++k)
    for (int64_t part = 0; part < kParts; ++part) {
      T* to = panel + (k * kParts + part) * lanes;
      const T* p = from + kParts * k * column + part;
      for (int64_t l = 0; l < count; ++l) to[l] = p[kParts * l * row];
      for (int64_t l = count; l < lanes; ++l) to[l] = T(0);
    }
}
template <typename T, int64_t kParts>
void store_panel(const T* panel, int64_t lanes, T* to, int64_t row, int64_t column, int64_t count,
                 int64_t n) {
  if (column == 1) {
    for (int64_t l = 0; l < count; ++l)
      for (int64_t k = 0; k < kParts * n; ++k) to[kParts * l * row + k] = panel[k * lanes + l];
    return;
  }
  for (int64_t k = 0; k < n; ++k)
    for (int64_t part = 0; part < kParts; ++part) {
      const T* from = panel + (k * kParts + part) * lanes;
      T* p = to + kParts * k * column + part;
      for (int64_t l = 0; l < count; ++l) p[kParts * l * row] = from[l];
    }
}

// Runs a call for f32 on arrays of a narrower float type.
class NarrowCall : public LibraryCall {
 public:
  NarrowCall(std::unique_ptr<LibraryCall> wide, const Instr& instr) : wide_(std::move(wide)), instr_(instr) {}
  bool run(absl::Span<char* const> operands, absl::Span<char* const> results,
           Pool& pool) override {
    std::vector<Literal> in;
    absl::InlinedVector<char*, 4> from;
    for (size_t k = 0; k < operands.size(); ++k) {
      const Shape& s = instr_.operand(static_cast<int64_t>(k))->shape;
      const Literal narrow = Literal::from_bytes(s, {operands[k], static_cast<size_t>(s.bytes())});
      in.emplace_back(s.with_dtype(Dtype::kF32));
      for (int64_t i = 0; i < narrow.elements(); ++i) in.back().set_float(i, narrow.get_float(i));
    }
    for (Literal& l : in) from.push_back(l.mutable_bytes());
    Literal out(instr_.shape.with_dtype(Dtype::kF32)), narrow(instr_.shape);
    char* to = out.mutable_bytes();
    if (!wide_->run(from, {&to, 1}, pool)) return false;
    for (int64_t i = 0; i < out.elements(); ++i) narrow.set_float(i, out.get_float(i));
    if (narrow.size_bytes() > 0) std::memcpy(results[0], narrow.bytes(), narrow.size_bytes());
    return true;
  }

 private:
  std::unique_ptr<LibraryCall> wide_;
  const Instr& instr_;
};

// Call<T, complex>(instr) for the element type of instr.
template <template <typename, bool> class Call>
std::unique_ptr<LibraryCall> matrix_call(const Instr& instr) {
  const Dtype t = instr.shape.dtype;
  if (t == Dtype::kF32) return std::make_unique<Call<float, false>>(instr);
  if (t == Dtype::kF64) return std::make_unique<Call<double, false>>(instr);
  if (t == Dtype::kC64) return std::make_unique<Call<float, true>>(instr);
  if (t == Dtype::kC128) return std::make_unique<Call<double, true>>(instr);
  if (!is_float(t)) return nullptr;
  return std::make_unique<NarrowCall>(std::make_unique<Call<float, false>>(instr), instr);
}

}  // namespace braze
