// SPDX-License-Identifier: Apache-2.0
#include "passes/complex_dot.h"

#include <algorithm>

#include "base/fuel.h"
#include "ops/builder.h"

namespace braze {
namespace {

// Rows, columns and terms: smaller products are better done in a loop. Of fewer rows a loop is good if it runs along the
// columns of a matrix, for up to three of them.
constexpr int64_t kFewest = 8, kFewestOfMatrix = 64, kFewestRows = 4;

bool sums_along_rows(const Instr& matrix, const Dims& contracting) {
  return std::find(contracting.begin(), contracting.end(), matrix.shape.rank() - 1) != contracting.end();
}

bool is_large(const Instr& dot) {
  const auto& a = dot.as<DotAttrs>();
  const Dims& lhs = dot.operand(0)->shape.dims;
  int64_t terms = 1, batch = 1;
  for (int64_t d : a.lhs_contracting) terms *= lhs[d];
  for (int64_t d : a.lhs_batch) batch *= lhs[d];
  const int64_t rows = dot.operand(0)->shape.elements() / std::max<int64_t>(terms * batch, 1);
  const int64_t columns = dot.operand(1)->shape.elements() / std::max<int64_t>(terms * batch, 1);
  if (std::min({rows, columns, terms}) >= kFewest) return true;
  const bool along = rows > columns ? sums_along_rows(*dot.operand(0), a.lhs_contracting)
                                    : sums_along_rows(*dot.operand(1), a.rhs_contracting);
  return std::min(terms, std::max(rows, columns)) >= kFewestOfMatrix && (along || std::min(rows, columns) >= kFewestRows);
}

bool is_complex_product(const Instr& i) {
  return i.op == Op::kDot && is_complex(i.shape.dtype) &&
         i.operand(0)->shape.dtype == i.shape.dtype && i.operand(1)->shape.dtype == i.shape.dtype &&
         !i.shape.has_bounded_dim() && is_large(i);
}

Instr* in_real_ones(Builder& b, const Instr& dot) {
  Instr* re[2];
  Instr* im[2];
  for (int64_t k = 0; k < 2; ++k) {
    re[k] = b.unary(Op::kReal, dot.operand(k));
    im[k] = b.unary(Op::kImag, dot.operand(k));
  }
  Shape shape = dot.shape;
  shape.dtype = real_of(dot.shape.dtype);
  const auto product = [&](Instr* x, Instr* y) {
    return b.op_shaped(Op::kDot, shape, {x, y}, dot.attrs);
  };
  Instr* real = b.sub(product(re[0], re[1]), product(im[0], im[1]));
  Instr* imaginary = b.add(product(re[0], im[1]), product(im[0], re[1]));
  return b.op(Op::kComplex, {real, imaginary});
}

}  // namespace

Status complex_dot(Module& m) {
  for (Computation* c : computation_post_order(m)) {
    std::vector<Instr*> found;
    for (auto& i : c->instrs())
      if (is_complex_product(*i)) found.push_back(i.get());
    for (Instr* i : found) {
      if (!take_fuel("complex-dot", i->name)) continue;
      Builder b(c);
      Instr* replacement = in_real_ones(b, *i);
      TRY(b.status());
      c->replace_uses(i, replacement);
      c->erase(i);
    }
  }
  return absl::OkStatus();
}

}  // namespace braze
