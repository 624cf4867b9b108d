// SPDX-License-Identifier: Apache-2.0
#include "passes/sort_to_topk.h"

#include <algorithm>
#include <vector>

#include "analysis/sort_order.h"
#include "base/fuel.h"
#include "ops/builder.h"

namespace braze {
namespace {

// Floats must be compared by their total order, of which topk takes the greater first; of equal
// elements the earlier comes first.
bool orders_as_topk(const Instr& sort, bool* largest) {
  const auto order = sort_order(*sort.calls[0]);
  if (!order || order->key != 0 || order->ties_reversed || order->nan ||
      !order->then.empty()) return false;
  const Dtype t = sort.operand(0)->shape.dtype;
  if (is_float(t) ? !order->total_order || order->zero : !is_int(t)) return false;
  *largest = order->descending;
  return true;
}

// The k of slice [0:k] along the last dimension of all of `value`; -1: something else.
int64_t prefix(const Instr& slice, const Instr& value) {
  if (!slice.is(Op::kSlice)) return -1;
  const auto& a = slice.as<SliceAttrs>();
  const int64_t last = value.shape.rank() - 1;
  for (int64_t d = 0; d <= last; ++d)
    if (a.start[d] != 0 || a.stride[d] != 1 || (d < last && a.limit[d] != value.shape.dims[d]))
      return -1;
  return a.limit[last];
}

struct Found {
  bool largest = true;
  int64_t k = 0;
  std::vector<std::pair<Instr*, int64_t>> slices;  // and the sort's result they are of
};

bool add_slices(Instr* value, int64_t result, const Instr* root, Found* f) {
  if (value == root) return false;
  for (Instr* u : value->users) {
    const int64_t k = prefix(*u, *value);
    if (k < 0) return false;
    f->k = std::max(f->k, k);
    f->slices.emplace_back(u, result);
  }
  return true;
}

// Selecting pays for a small part of each row.
bool is_small(const Found& f, const Shape& x) {
  return !f.slices.empty() && f.k <= std::max<int64_t>(1, x.dims.back() / 4);
}

bool find(const Computation& c, Instr* sort, Found* f) {
  const Shape& x = sort->operand(0)->shape;
  const int64_t last = x.rank() - 1;
  if (sort->operands.size() > 2 || sort->as<SortAttrs>().dimension != last || x.quant ||
      x.has_bounded_dim() || !orders_as_topk(*sort, &f->largest))
    return false;
  if (sort->operands.size() == 1) return add_slices(sort, 0, c.root(), f) && is_small(*f, x);
  const Instr* iota = sort->operand(1);
  if (!iota->is(Op::kIota) || iota->as<IotaAttrs>().iota_dimension != last || !is_int(iota->shape.dtype))
    return false;
  if (sort == c.root()) return false;
  for (Instr* u : sort->users)
    if (!u->is(Op::kGetTupleElement) || !add_slices(u, u->as<IndexAttrs>().index, c.root(), f))
      return false;
  return is_small(*f, x);
}

Status replace(Computation* c, Instr* sort, const Found& f) {
  Builder b(c);
  Instr* top = b.op(Op::kTopK, {sort->operand(0)}, TopKAttrs{f.k, f.largest});
  TRY(b.status());
  for (auto [slice, result] : f.slices) {
    Instr* v = b.element(top, result);
    if (v->shape.dtype != slice->shape.dtype) v = b.convert(slice->shape.dtype, v);
    if (v->shape.dims != slice->shape.dims) {
      Dims start(v->shape.rank(), 0);
      v = b.slice(v, start, slice->shape.dims);
    }
    TRY(b.status());
    c->replace_uses(slice, v);
  }
  c->erase_dead();
  return absl::OkStatus();
}

}  // namespace

Status sort_to_topk(Module& m) {
  for (Computation* c : computation_post_order(m)) {
    std::vector<Instr*> sorts;
    for (auto& i : c->instrs())
      if (i->is(Op::kSort)) sorts.push_back(i.get());
    for (Instr* sort : sorts) {
      Found f;
      if (find(*c, sort, &f) && take_fuel("sort-to-topk", sort->name)) TRY(replace(c, sort, f));
    }
  }
  return absl::OkStatus();
}

}  // namespace braze
