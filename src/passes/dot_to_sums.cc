// SPDX-License-Identifier: Apache-2.0
#include "passes/dot_to_sums.h"

#include "absl/algorithm/container.h"
#include "base/fuel.h"
#include "ops/builder.h"

namespace braze {
namespace {

constexpr int64_t kMostColumns = 4;
constexpr int64_t kLeastBytes = 1 << 16;  // of a matrix worth not to be stored
constexpr int64_t kMostTerms = 32;        // of sums along the batch
constexpr int64_t kLeastBatch = 8;        // of the batch's fastest dimension
constexpr int64_t kManyProducts = 64;     // of two vectors each

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

int64_t terms(const Side& s) {
  int64_t k = 1;
  for (int64_t d : *s.contracting) k *= s.value->shape.dims[d];
  return k;
}

bool is_plain(const Instr& dot, const Side& vector, const Side& matrix) {
  const Dtype t = dot.shape.dtype;
  return (t == Dtype::kF32 || t == Dtype::kF64) && vector.value->shape.dtype == t &&
         matrix.value->shape.dtype == t && dot.as<DotAttrs>().algorithm.empty() &&
         dot.shape.is_static() &&
         !dot.shape.has_bounded_dim() && !matrix.value->shape.has_bounded_dim() &&
         !vector.value->shape.has_bounded_dim();
}

// Many products of vectors, each a number.
bool is_inner(const Instr& dot, const Side& matrix) {
  return matrix.columns() == 1 && dot.shape.elements() >= kManyProducts;
}

bool has_few_columns(const Side& matrix) {
  return matrix.columns() <= kMostColumns && matrix.value->shape.bytes() >= kLeastBytes && is_computed(*matrix.value);
}

bool runs_along_batch(const Side& matrix) {
  const Dims& dims = matrix.value->shape.dims;
  return dims.back() >= kLeastBatch && absl::c_linear_search(*matrix.batch, static_cast<int64_t>(dims.size()) - 1);
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

// The sums in the matrix's own order of dimensions.
Instr* sums_along_batch(Builder& b, const Instr& dot, const Side& vector, const Side& matrix) {
  // v's dimensions in the order in which the matrix has them.
  Dims at = *matrix.batch;
  at.insert(at.end(), matrix.contracting->begin(), matrix.contracting->end());
  Dims order(at.size());
  absl::c_iota(order, 0);
  absl::c_sort(order, [&](int64_t x, int64_t y) { return at[x] < at[y]; });
  Instr* v = arranged(b, vector.value, vector);
  if (!absl::c_is_sorted(order)) v = b.transpose(v, order);
  absl::c_sort(at);
  const Dims& dims = matrix.value->shape.dims;
  Instr* product = b.mul(b.broadcast(v, dims, at), matrix.value);
  Dims contracting = *matrix.contracting;
  absl::c_sort(contracting);
  Instr* sum = b.reduce(Op::kAdd, product, b.scalar(dot.shape.dtype, 0), contracting);
  // Of what is left, first the batch, then the free dimensions.
  Dims left;
  for (int64_t d = 0; d < static_cast<int64_t>(dims.size()); ++d)
    if (!absl::c_linear_search(contracting, d)) left.push_back(d);
  Dims permutation;
  for (const Dims& from : {*matrix.batch, matrix.free})
    for (int64_t d : from) permutation.push_back(absl::c_find(left, d) - left.begin());
  if (!absl::c_is_sorted(permutation)) sum = b.transpose(sum, permutation);
  return sum->shape.dims == dot.shape.dims ? sum : b.reshape(sum, dot.shape.dims);
}

// Sums of one product; that of 0 and -0 is 0.
Instr* outer(Builder& b, const Instr& dot, const Side& lhs, const Side& rhs) {
  Dims together, at_lhs, at_rhs;
  for (int64_t d : *lhs.batch) together.push_back(lhs.value->shape.dims[d]);
  const auto batch = static_cast<int64_t>(together.size());
  for (int64_t d = 0; d < batch; ++d) at_lhs.push_back(d), at_rhs.push_back(d);
  const auto place = [&](const Side& s, Dims* at) {
    for (int64_t d : s.free) {
      at->push_back(static_cast<int64_t>(together.size()));
      together.push_back(s.value->shape.dims[d]);
    }
  };
  const auto without_contracting = [&](const Side& s) {
    Dims order = *s.batch, dims;
    order.insert(order.end(), s.free.begin(), s.free.end());
    for (int64_t d : order) dims.push_back(s.value->shape.dims[d]);
    order.insert(order.end(), s.contracting->begin(), s.contracting->end());
    return b.reshape(absl::c_is_sorted(order) ? s.value : b.transpose(s.value, order), dims);
  };
  place(lhs, &at_lhs), place(rhs, &at_rhs);
  Instr* product = b.mul(b.broadcast(without_contracting(lhs), together, at_lhs),
                         b.broadcast(without_contracting(rhs), together, at_rhs));
  return b.add(product, b.broadcast(b.scalar(dot.shape.dtype, 0), together, {}));
}

using Rewrite = Instr* (*)(Builder&, const Instr& dot, const Side& vector, const Side& matrix);
Rewrite rewrite_of(const Instr& dot, const Side& vector, const Side& matrix) {
  if (!is_plain(dot, vector, matrix)) return nullptr;
  if (terms(vector) == 1) return outer;
  if (matrix.contracting->empty() || vector.columns() != 1) return nullptr;
  if (is_inner(dot, matrix)) return runs_along_batch(matrix) ? sums_along_batch : sums;
  if (has_few_columns(matrix)) return sums;
  return runs_along_batch(matrix) && terms(matrix) <= kMostTerms ? sums_along_batch : nullptr;
}

}  // namespace

Status dot_to_sums(Module& m) {
  for (Computation* c : computation_post_order(m)) {
    for (Instr* i : post_order(*c)) {
      if (!i->is(Op::kDot)) continue;
      const Side lhs = side(*i, 0), rhs = side(*i, 1);
      const Rewrite right = rewrite_of(*i, lhs, rhs), left = right ? nullptr : rewrite_of(*i, rhs, lhs);
      if ((!right && !left) || !take_fuel("dot-to-sums", i->name)) continue;
      Builder b(c);
      Instr* s = right ? right(b, *i, lhs, rhs) : left(b, *i, rhs, lhs);
      TRY(b.status());
      c->replace_uses(i, s);
    }
    c->erase_dead();
  }
  return absl::OkStatus();
}

}  // namespace braze
