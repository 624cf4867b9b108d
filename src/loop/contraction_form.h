// SPDX-License-Identifier: Apache-2.0
// A dot as a Contraction: its operands as strided views of arrays in memory, its dimensions as batch, m, n
// and k, what follows it as the epilogue.
#pragma once

#include "base/status.h"
#include "ir/module.h"
#include "loop/elements.h"
#include "loop/kernel.h"

namespace braze::loop {

// Where an operand's elements are in the buffer that it is read from.
struct View {
  int64_t buffer = 0, offset = 0;
  std::vector<DynamicStart> starts;
  Dims strides;
};

// Follows transposes, broadcasts, slices, static or dynamic, and reshapes to a parameter, or to `held`, whose elements lie
// row-major in `held_buffer`; false if the operand is a view of neither.
bool view_of(const Instr* i, View& v, const Instr* held = nullptr, int64_t held_buffer = -1);

// Whether the generators know the element types; products are summed in `accumulate_in` of the result's.
bool has_generated_kernel(Dtype lhs, Dtype rhs, Dtype out);
inline Dtype accumulate_in(Dtype t) { return is_float(t) && byte_size(t) < 4 ? Dtype::kF32 : t; }

// A new coordinate of the output.
Scalar coordinate(Kernel& k, Contraction* c, int64_t extent);

// Where the elements of a product go.
struct Destination {
  const Instr* product = nullptr;
  std::vector<const Instr*> moves;  // transposes and then reshapes, each the only reader of the one before
  Dims strides;                     // of the product's dimensions, in what the last of them makes

  const Instr* value() const { return moves.empty() ? product : moves.back(); }
};
Destination destination_of(const Instr* product);
// Of a transposed result so many columns must lie beside each other, else storing it is another kernel's work.
constexpr int64_t kLeastStoredColumns = 8;

// Fills in the dimensions and coordinates of `to.product`, a dot, with operands of these strides; `index` becomes that of
// `to.value()` in terms of the coordinates.
void dot_form(Kernel& k, Elements& e, const Destination& to, const Dims& lhs, const Dims& rhs, Contraction* c, Index* index);

// Whether a convolution of arrays in memory multiplies each position's features with a matrix, its output having the
// positions innermost: with features first, as PyTorch lays images out. That is the product of the kernel with each image.
bool is_pointwise(const Instr* conv);
// As dot_form: the kernel is the left side, the positions are the columns.
void pointwise_form(Kernel& k, Elements& e, const Instr* conv, Contraction* c, Index* index);

// What `fused` computes of `to.value()` at `index` becomes the epilogue, stored to the outputs, of the same shape.
Status epilogue_form(Kernel& k, Elements& e, const Computation& fused, const Destination& to, const Index& index,
                     Contraction* c);

}  // namespace braze::loop
