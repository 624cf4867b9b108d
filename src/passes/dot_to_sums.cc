// SPDX-License-Identifier: Apache-2.0
#include "passes/dot_to_sums.h"

#include "absl/algorithm/container.h"
#include "base/fuel.h"
#include "ops/builder.h"

namespace braze {
namespace {

constexpr int64_t kMostColumns = 4;
constexpr int64_t kLeastBytes = 1 << 16;  // of a matrix worth not to be stored

// An operand, its dimensions sorted by role.
struct Side {
  Instr* value;
  const Dims *batch, *contracting;
  Dims free;
  int64_t columns() const {
    int64_t n = 1;
    for (int64_t d : free) n *= value->shape.dims[d];
    return n;
  }
};

Side side(const Instr& dot, int64_t k) {
  const auto& a = dot.as<DotAttrs>();
  Side s{dot.operand(k), k == 0 ? &a.lhs_batch : &a.rhs_batch, k == 0 ? &a.lhs_contracting : &a.rhs_contracting, {}};
  for (int64_t d = 0; d < s.value->shape.rank(); ++d)
    if (!absl::c_linear_search(*s.batch, d) && !absl::c_linear_search(*s.contracting, d)) s.free.push_back(d);
  return s;
}

bool is_computed(const Instr& i) { return def(i).emit && !i.operands.empty(); }

bool applies(const Instr& dot, const Side& vector, const Side& matrix) {
  const Dtype t = dot.shape.dtype;
  return (t == Dtype::kF32 || t == Dtype::kF64) && vector.value->shape.dtype == t &&
         matrix.value->shape.dtype == t && dot.as<DotAttrs>().algorithm.empty() &&
         !matrix.contracting->empty() && vector.columns() == 1 && matrix.columns() <= kMostColumns &&
         dot.shape.is_static() && !dot.shape.has_bounded_dim() && !matrix.value->shape.has_bounded_dim() &&
         !vector.value->shape.has_bounded_dim() && matrix.value->shape.bytes() >= kLeastBytes &&
         is_computed(*matrix.value);
}

// Without dimensions of size 1 beyond its batch and contracting ones; these in order: batch, contracting.
Instr* arranged(Builder& b, Instr* value, const Side& s) {
  Dims order = *s.batch;
  order.insert(order.end(), s.contracting->begin(), s.contracting->end());
  order.insert(order.end(), s.free.begin(), s.free.end());
  Instr* x = absl::c_is_sorted(order) ? value : b.transpose(value, order);
  Dims dims = x->shape.dims;
  dims.resize(s.batch->size() + s.contracting->size());
  return dims == x->shape.dims ? x : b.reshape(x, dims);
}

// Column n of the matrix: [batch…, contracting…].
Instr* column(Builder& b, const Side& m, int64_t n) {
  Dims start(m.value->shape.dims.size(), 0), limit = m.value->shape.dims;
  for (size_t k = m.free.size(); k-- > 0;) {
    const int64_t d = m.free[k], size = m.value->shape.dims[d];
    start[d] = n % size;
    limit[d] = start[d] + 1;
    n /= size;
  }
  return arranged(b, b.slice(m.value, start, limit), m);
}

Instr* sums(Builder& b, const Instr& dot, const Side& vector, const Side& matrix) {
  Instr* v = arranged(b, vector.value, vector);
  Instr* zero = b.scalar(dot.shape.dtype, 0);
  Dims contracting;
  for (size_t k = 0; k < matrix.contracting->size(); ++k)
    contracting.push_back(static_cast<int64_t>(matrix.batch->size() + k));
  std::vector<Instr*> columns;
  for (int64_t n = 0; n < matrix.columns(); ++n) {
    Instr* sum = b.reduce(Op::kAdd, b.mul(v, column(b, matrix, n)), zero, contracting);
    Dims dims = sum->shape.dims;
    dims.push_back(1);
    columns.push_back(b.reshape(sum, dims));
  }
  Instr* all = columns[0];
  if (columns.size() > 1) all = b.op(Op::kConcatenate, columns, DimsAttrs{{all->shape.rank() - 1}});
  return all->shape.dims == dot.shape.dims ? all : b.reshape(all, dot.shape.dims);
}

}  // namespace

Status dot_to_sums(Module& m) {
  for (Computation* c : computation_post_order(m)) {
    for (Instr* i : post_order(*c)) {
      if (!i->is(Op::kDot)) continue;
      const Side lhs = side(*i, 0), rhs = side(*i, 1);
      const bool right = applies(*i, lhs, rhs);
      if ((!right && !applies(*i, rhs, lhs)) || !take_fuel("dot-to-sums", i->name)) continue;
      Builder b(c);
      Instr* s = right ? sums(b, *i, lhs, rhs) : sums(b, *i, rhs, lhs);
      TRY(b.status());
      c->replace_uses(i, s);
    }
    c->erase_dead();
  }
  return absl::OkStatus();
}

}  // namespace braze
