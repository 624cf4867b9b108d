// SPDX-License-Identifier: Apache-2.0
// The terms of an unreduced sum, where the op that sums is seen: each device gets the part of the sum over its
// part of what is summed, as it would on a machine of its own. Any other split has the same sum.
#include <algorithm>

#include "spmd/expander.h"

namespace braze::spmd {
namespace {

bool adds(const Computation& c) {
  const Instr& r = *c.root();
  return c.params().size() == 2 && r.is(Op::kAdd) && r.operand(0) != r.operand(1) &&
         r.operand(0)->is(Op::kParameter) && r.operand(1)->is(Op::kParameter);
}

bool is_zero(const Instr& i) {
  return i.is_constant() && i.shape.rank() == 0 && i.literal().get_complex(0) == std::complex<double>(0);
}

bool has(const Dims& v, int64_t k) { return std::find(v.begin(), v.end(), k) != v.end(); }

}  // namespace

Instr* Expander::cut(Body& body, Instr* x, int64_t dim, int64_t count, int64_t k) {
  Dims start(x->shape.rank(), 0), sizes = x->shape.dims;
  sizes[dim] /= count;
  start[dim] = k * sizes[dim];
  return slice(body, x, start, sizes);
}

// Term k of `count` of x; null if it is not known how to part it.
Instr* Expander::term(Body& body, Instr* x, int64_t count, int64_t k) {
  // Sums of what is unreduced itself are left alone.
  for (Instr* o : x->operands)
    if (body.terms.contains(o)) return nullptr;
  switch (x->op) {
    case Op::kConcatenate: {
      // The parts of an argument.
      if (static_cast<int64_t>(x->operands.size()) != count) return nullptr;
      for (const Instr* o : x->operands)
        if (!o->is(Op::kParameter)) return nullptr;
      std::vector<Instr*> parts;
      for (int64_t j = 0; j < count; ++j)
        parts.push_back(j == k ? x->operand(j) : zeros(body, x->operand(j)->shape));
      return body.b.op(Op::kConcatenate, parts, x->attrs);
    }
    case Op::kReshape: {
      Instr* inner = term(body, x->operand(0), count, k);
      return inner ? body.b.reshape(inner, x->shape.dims) : nullptr;
    }
    case Op::kDot: {
      const auto& a = x->as<DotAttrs>();
      for (size_t j = 0; j < a.lhs_contracting.size(); ++j) {
        const int64_t l = a.lhs_contracting[j], r = a.rhs_contracting[j];
        if (x->operand(0)->shape.dims[l] % count != 0) continue;
        Instr* parts[] = {cut(body, x->operand(0), l, count, k), cut(body, x->operand(1), r, count, k)};
        return body.b.op_shaped(Op::kDot, x->shape, parts, x->attrs);
      }
      return nullptr;
    }
    case Op::kReduce: {
      if (x->operands.size() != 2 || !adds(*x->calls[0]) || !is_zero(*x->operand(1))) return nullptr;
      for (int64_t d : x->as<DimsAttrs>().dimensions)
        if (x->operand(0)->shape.dims[d] % count == 0)
          return body.b.op(Op::kReduce, {cut(body, x->operand(0), d, count, k), x->operand(1)}, x->attrs,
                           x->calls);
      return nullptr;
    }
    case Op::kScatter: return scatter_term(body, x, count, k);
    default: return nullptr;
  }
}

// Part k of the updates, onto what was there for the first term and onto zeros for the others.
Instr* Expander::scatter_term(Body& body, Instr* x, int64_t count, int64_t k) {
  const auto& a = x->as<ScatterAttrs>();
  if (x->operands.size() != 3 || !adds(*x->calls[0])) return nullptr;
  Instr *base = x->operand(0), *indices = x->operand(1), *updates = x->operand(2);
  int64_t from = 0;  // the dimension of indices behind the next scatter dimension of updates
  for (int64_t d = 0; d < updates->shape.rank(); ++d) {
    if (has(a.update_window_dims, d)) continue;
    if (from == a.index_vector_dim) ++from;
    if (from >= indices->shape.rank()) return nullptr;
    if (!has(a.scatter_indices_batching_dims, from) && updates->shape.dims[d] % count == 0) {
      Instr* parts[] = {k == 0 ? base : zeros(body, base->shape), cut(body, indices, from, count, k),
                        cut(body, updates, d, count, k)};
      return body.b.op(Op::kScatter, parts, a, x->calls);
    }
    ++from;
  }
  return nullptr;
}

bool Expander::part_into_terms(Body& body, Instr* x, const Shape& tile, const Tiling& t) {
  if (t.reduction != Op::kAdd) return false;
  std::vector<Instr*> terms;
  for (int64_t k = 0; k < t.terms; ++k) {
    terms.push_back(term(body, x, t.terms, k));
    if (!terms.back()) return false;
  }
  Body::Terms known = {t, {}};
  for (int64_t d = 0; d < devices(); ++d)
    known.copies.push_back(slice(body, terms[t.term_of(d)], tile_start(tile, t, t.tile_of(d)), tile.dims));
  body.terms[x] = std::move(known);
  return true;
}

}  // namespace braze::spmd
