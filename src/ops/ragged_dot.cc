// SPDX-License-Identifier: Apache-2.0
// ragged-dot: a dot whose lhs has one dimension cut into consecutive groups of given sizes.
//
// With b batching, m lhs free, k contracting, n rhs free dimensions and g groups, the ragged
// dimension is
//   m: lhs [b,m,k], rhs [g,b,k,n] → [b,m,n]: each row meets its group's rhs; rows of no group give
//   0 k: lhs [b,m,k], rhs [b,k,n] → [g,b,m,n]: the sum over k is taken group by group b: lhs
//   [b,m,k], rhs [b,k,n] → [b,m,n]: a plain dot
// Group sizes have shape [prefix…, g], where the prefix is all lhs batching dimensions followed by
// the m (or k) dimensions before the ragged one; sizes of shape [g] serve every prefix index.
#include <algorithm>

#include "ops/contraction_rules.h"
#include "ops/dim_rules.h"
#include "ops/sampling.h"

namespace braze {
namespace {

enum class Mode { kFree, kContracting, kBatch };

Mode mode_of(const RaggedDotAttrs& a) {
  if (contains(a.dot.lhs_batch, a.lhs_ragged[0])) return Mode::kBatch;
  return contains(a.dot.lhs_contracting, a.lhs_ragged[0]) ? Mode::kContracting : Mode::kFree;
}

// The dimensions of lhs that index group_sizes before its last dimension.
Dims prefix_dims(const RaggedDotAttrs& a, const Shape& lhs) {
  const int64_t ragged = a.lhs_ragged[0];
  Dims prefix;
  auto before = [&](const Dims& dims) {
    for (int64_t d : dims) {
      if (d == ragged) return;
      prefix.push_back(d);
    }
  };
  before(a.dot.lhs_batch);
  if (mode_of(a) == Mode::kContracting) before(a.dot.lhs_contracting);
  if (mode_of(a) == Mode::kFree) before(lhs_free_dims(a.dot, lhs));
  return prefix;
}

Dims rhs_columns(const RaggedDotAttrs& a, const Shape& rhs) {
  return axes_except(rhs.rank(),
                     joined(joined(a.dot.rhs_batch, a.dot.rhs_contracting), a.rhs_group));
}

Status check_groups(const RaggedDotAttrs& a, const Shape& lhs, const Shape& rhs,
                    const Shape& sizes) {
  constexpr std::string_view rule = "chlo.ragged_dot";
  if (a.lhs_ragged.size() != 1)
    return law(rule, "lhs must have exactly one ragged dimension, has ", a.lhs_ragged.size());
  TRY(check_range(rule, "lhs ragged dimension", a.lhs_ragged, lhs.rank()));
  TRY(check_range(rule, "rhs group dimension", a.rhs_group, rhs.rank()));
  TRY(check_unique(rule, "rhs group, batching and contracting dimensions",
                   joined(a.rhs_group, joined(a.dot.rhs_batch, a.dot.rhs_contracting))));
  const size_t groups = mode_of(a) == Mode::kFree ? 1 : 0;
  if (a.rhs_group.size() != groups)
    return law(rule, "rhs must have ", groups, " group dimensions, has ", a.rhs_group.size());
  if (!is_int(sizes.dtype) || sizes.rank() < 1)
    return law(rule, "group sizes must be an array of integers, got ", to_string(sizes, false));
  const Dims prefix = prefix_dims(a, lhs);
  if (sizes.rank() != 1) {
    bool fits = sizes.rank() == static_cast<int64_t>(prefix.size()) + 1;
    for (size_t i = 0; fits && i < prefix.size(); ++i)
      fits = dims_agree(sizes, static_cast<int64_t>(i), lhs, prefix[i]);
    if (!fits) {
      Dims want;
      for (int64_t d : prefix) want.push_back(lhs.dims[d]);
      return law(rule, "group sizes must have shape [", join(want), ",g] or [g], got ",
                 to_string(sizes, false));
    }
  }
  if (groups && !dims_agree(rhs, a.rhs_group[0], sizes, sizes.rank() - 1))
    return law(rule, "rhs group dimension has size ", rhs.dims[a.rhs_group[0]], ", but there are ",
               sizes.dims.back(), " groups");
  return absl::OkStatus();
}

Result<Shape> infer_ragged_dot(const InferContext& ctx) {
  TRY(check_form<RaggedDotAttrs>(ctx, 3));
  TRY(check_arrays(ctx, 0, 3));
  const auto& a = ctx.as<RaggedDotAttrs>();
  const Shape &lhs = ctx.operand(0), &rhs = ctx.operand(1), &sizes = ctx.operand(2);
  TRY(check_dot_dims(a.dot, lhs, rhs));
  TRY(check_groups(a, lhs, rhs, sizes));
  ASSIGN(Shape out, contraction_element("chlo.ragged_dot", lhs, rhs, ctx.proposed));
  if (mode_of(a) == Mode::kContracting) append_dim(out, sizes, sizes.rank() - 1);
  for (int64_t d : a.dot.lhs_batch) append_dim(out, lhs, d);
  for (int64_t d : lhs_free_dims(a.dot, lhs)) append_dim(out, lhs, d);
  for (int64_t d : rhs_columns(a, rhs)) append_dim(out, rhs, d);
  return out;
}

// The group of each element of lhs' ragged dimension, per prefix index; -1 beyond the last group.
class Groups {
 public:
  Groups(const RaggedDotAttrs& a, const Shape& lhs, const Literal& sizes)
      : prefix_(prefix_dims(a, lhs)), extent_(lhs.dims[a.lhs_ragged[0]]), lhs_dims_(lhs.dims) {
    const int64_t count = sizes.shape().dims.back();
    const int64_t rows = sizes.shape().rank() == 1 ? 1 : size_of(lhs, prefix_);
    shared_ = sizes.shape().rank() == 1;
    group_.assign(rows * extent_, -1);
    for (int64_t r = 0; r < rows; ++r) {
      int64_t at = 0;
      for (int64_t g = 0; g < count; ++g) {
        const int64_t n = std::clamp<int64_t>(sizes.get_int(r * count + g), 0, extent_ - at);
        std::fill_n(group_.begin() + r * extent_ + at, n, g);
        at += n;
      }
    }
  }
  // `index` is a full index into lhs.
  int64_t of(DimSpan index, int64_t ragged_dim) const {
    int64_t row = 0;
    if (!shared_)
      for (int64_t d : prefix_) row = row * lhs_dims_[d] + index[d];
    return group_[row * extent_ + index[ragged_dim]];
  }

 private:
  Dims prefix_;
  int64_t extent_;
  Dims lhs_dims_;
  bool shared_ = false;
  std::vector<int64_t> group_;
};

// Walks all (lhs element, rhs element) pairs that meet and adds each product to its output.
template <typename T>
void sum_products(const RaggedDotAttrs& a, const Literal& lhs, const Literal& rhs,
                  const Literal& sizes, Literal& out) {
  const Shape &ls = lhs.shape(), &rs = rhs.shape();
  if (lhs.elements() == 0 || out.elements() == 0) return;
  const Groups groups(a, ls, sizes);
  const Mode mode = mode_of(a);
  const Dims free = lhs_free_dims(a.dot, ls), columns = rhs_columns(a, rs);
  const std::vector<T> l = widen<T>(lhs), r = widen<T>(rhs);
  std::vector<T> sums(out.elements());
  const Dims rhs_step = strides(rs.dims);
  Dims column_sizes, column_steps;
  for (int64_t d : columns) {
    column_sizes.push_back(rs.dims[d]);
    column_steps.push_back(rhs_step[d]);
  }
  const std::vector<int64_t> column = offsets_of(column_sizes, column_steps);
  const int64_t n = static_cast<int64_t>(column.size());
  const int64_t rows = size_of(ls, a.dot.lhs_batch) * size_of(ls, free);
  Dims index(ls.rank(), 0);
  int64_t at = 0;
  do {
    int64_t row = 0, base = 0;
    for (int64_t d : a.dot.lhs_batch) row = row * ls.dims[d] + index[d];
    for (int64_t d : free) row = row * ls.dims[d] + index[d];
    for (size_t k = 0; k < a.dot.lhs_batch.size(); ++k)
      base += index[a.dot.lhs_batch[k]] * rhs_step[a.dot.rhs_batch[k]];
    for (size_t k = 0; k < a.dot.lhs_contracting.size(); ++k)
      base += index[a.dot.lhs_contracting[k]] * rhs_step[a.dot.rhs_contracting[k]];
    const T value = l[at++];
    if (mode != Mode::kBatch) {
      const int64_t g = groups.of(index, a.lhs_ragged[0]);
      if (g < 0) continue;
      if (mode == Mode::kContracting) row += g * rows;
      else base += g * rhs_step[a.rhs_group[0]];
    }
    T* sum = sums.data() + row * n;
    for (int64_t j = 0; j < n; ++j)
      sum[j] = wide_add<T>(sum[j], wide_mul<T>(value, r[base + column[j]]));
  } while (next_index(absl::MakeSpan(index), ls.dims));
  for (size_t i = 0; i < sums.size(); ++i) store_wide<T>(out, static_cast<int64_t>(i), sums[i]);
}

Result<Literal> eval_ragged_dot(const EvalContext& ctx) {
  ASSIGN(const Shape shape, actual_shape(ctx));
  Literal out(shape);
  with_wide(shape.dtype, [&](auto zero) {
    sum_products<decltype(zero)>(ctx.as<RaggedDotAttrs>(), ctx.operand(0), ctx.operand(1),
                                 ctx.operand(2), out);
  });
  return out;
}

Dims shifted(const Dims& dims) {
  Dims out = dims;
  for (int64_t& d : out) ++d;
  return out;
}

// pred over `full`: whether the index along `ragged` lies in the group that the index along `group`
// names; `prefix` are the dimensions of `full` that play the part of the prefix of group sizes.
Instr* in_group(Builder& b, Instr* sizes, DimSpan full, int64_t group, DimSpan prefix,
                int64_t ragged) {
  const int64_t g = sizes->shape.dims.back(), rank = sizes->shape.rank();
  Instr* wide = b.convert(Dtype::kS64, sizes);
  wide = b.op(Op::kMaximum, {wide, b.splat(wide->shape, 0)});
  // ends[…, g] = sum of sizes[…, h] for h ≤ g, as a product with a triangle of ones.
  const Shape square = Shape::array(Dtype::kS64, {g, g});
  Instr* triangle = b.convert(
      Dtype::kS64, b.compare(CompareDirection::kLe, b.iota(square, 0), b.iota(square, 1)));
  DotAttrs sum;
  sum.lhs_contracting = {rank - 1};
  sum.rhs_contracting = {0};
  Instr* ends = b.op(Op::kDot, {wide, triangle}, sum);
  Instr* begins = b.sub(ends, wide);
  Dims where;
  if (rank > 1) where.assign(prefix.begin(), prefix.end());
  where.push_back(group);
  Instr* position = b.iota(Shape::array(Dtype::kS64, full), ragged);
  return b.binary(
      Op::kAnd, b.compare(CompareDirection::kGe, position, b.broadcast(begins, full, where)),
      b.compare(CompareDirection::kLt, position, b.broadcast(ends, full, where)));
}

// All groups' products, of which each row keeps its own: nothing of another group, be it infinite
// or NaN, reaches a row.
Instr* expand_free(Builder& b, const RaggedDotAttrs& a, const Instr& i) {
  Instr *lhs = i.operand(0), *rhs = i.operand(1), *sizes = i.operand(2);
  const Dims free = lhs_free_dims(a.dot, lhs->shape), columns = rhs_free_dims(a.dot, rhs->shape);
  const Dims rows = joined(a.dot.lhs_batch, free);
  Shape all = Shape::scalar(i.shape.dtype);
  for (int64_t d : rows) append_dim(all, lhs->shape, d);
  for (int64_t d : columns) append_dim(all, rhs->shape, d);
  const int64_t group = static_cast<int64_t>(rows.size()) + position(columns, a.rhs_group[0]);
  Dims prefix;
  for (int64_t d : prefix_dims(a, lhs->shape)) prefix.push_back(position(rows, d));
  Instr* mask =
      in_group(b, sizes, all.dims, group, prefix, position(rows, a.lhs_ragged[0]));
  Instr* products = b.op_shaped(Op::kDot, all, {lhs, rhs}, a.dot);
  Instr* kept = b.select(mask, products, b.splat(all, 0));
  return b.reduce(is_pred(all.dtype) ? Op::kOr : Op::kAdd, kept, b.scalar(all.dtype, 0), {group});
}

// One operand repeated for each group, with zeros outside of it.
Instr* repeat_masked(Builder& b, const RaggedDotAttrs& a, Instr* x, Instr* sizes, const Shape& lhs,
                     bool is_lhs) {
  auto place = [&](int64_t lhs_dim) {
    if (is_lhs) return lhs_dim + 1;
    const int64_t k = position(a.dot.lhs_batch, lhs_dim);
    return 1 + (k >= 0 ? a.dot.rhs_batch[k]
                       : a.dot.rhs_contracting[position(a.dot.lhs_contracting, lhs_dim)]);
  };
  const Dims full = joined({sizes->shape.dims.back()}, x->shape.dims);
  Dims where, prefix;
  for (int64_t d = 0; d < x->shape.rank(); ++d) where.push_back(d + 1);
  for (int64_t d : prefix_dims(a, lhs)) prefix.push_back(place(d));
  Instr* repeated = b.broadcast(x, full, where);
  Instr* mask = in_group(b, sizes, full, 0, prefix, place(a.lhs_ragged[0]));
  return b.select(mask, repeated, b.splat(repeated->shape, 0));
}

Result<Instr*> expand_ragged_dot(Builder& b, const Instr& i) {
  const auto& a = i.as<RaggedDotAttrs>();
  Instr *lhs = i.operand(0), *rhs = i.operand(1), *sizes = i.operand(2);
  Instr* out = nullptr;
  switch (mode_of(a)) {
    case Mode::kBatch:
      out = b.op_shaped(Op::kDot, i.shape, {lhs, rhs}, a.dot);
      break;
    case Mode::kFree:
      out = expand_free(b, a, i);
      break;
    case Mode::kContracting: {
      DotAttrs dot = a.dot;
      for (Dims* d : {&dot.lhs_batch, &dot.lhs_contracting, &dot.rhs_batch, &dot.rhs_contracting})
        *d = shifted(*d);
      dot.lhs_batch.insert(dot.lhs_batch.begin(), 0);
      dot.rhs_batch.insert(dot.rhs_batch.begin(), 0);
      out = b.op_shaped(Op::kDot, i.shape,
                        {repeat_masked(b, a, lhs, sizes, lhs->shape, true),
                         repeat_masked(b, a, rhs, sizes, lhs->shape, false)},
                        dot);
      break;
    }
  }
  TRY(b.status());
  return out;
}

std::unique_ptr<Module> sample_ragged_dot(std::mt19937_64& rng) {
  Sampler s(rng, "ragged_dot");
  const int64_t b = s.uniform(1, 3), m = s.uniform(1, 6), k = s.uniform(1, 6), n = s.uniform(1, 4),
                g = s.uniform(1, 3);
  const Dtype t = s.number();
  const bool batched = s.chance(0.6), shared = s.chance(0.5);
  auto with_batch = [&](Dims d) { return batched ? joined({b}, d) : d; };
  RaggedDotAttrs a;
  if (batched) a.dot.lhs_batch = a.dot.rhs_batch = {0};
  const int64_t first = batched;
  a.dot.lhs_contracting = {first + 1};
  a.dot.rhs_contracting = {first};
  Dims rhs = with_batch({k, n}), sizes = shared ? Dims{g} : with_batch({g});
  switch (s.uniform(0, batched ? 2 : 1)) {
    case 0:
      a.lhs_ragged = {first};
      a.rhs_group = {0};
      a.dot.rhs_batch = shifted(a.dot.rhs_batch);
      a.dot.rhs_contracting = shifted(a.dot.rhs_contracting);
      rhs = joined({g}, rhs);
      break;
    case 1:
      a.lhs_ragged = {first + 1};
      break;
    default:
      a.lhs_ragged = {0};
      sizes = {g};
  }
  Instr* x = s.parameter(Shape::array(t, with_batch({m, k})));
  Instr* y = s.parameter(Shape::array(t, rhs));
  s.root(Op::kRaggedDot, {x, y, s.parameter(Shape::array(Dtype::kS32, sizes))}, a);
  return s.finish();
}

}  // namespace

OpDef ragged_dot_row() {
  return {
      .op = Op::kRaggedDot,
      .arity = 3,
      .attrs = attrs_index<RaggedDotAttrs>(),
      .infer = infer_ragged_dot,
      .eval = eval_ragged_dot,
      .expand = expand_ragged_dot,
      .cost = 2,
      .sample = sample_ragged_dot,
      .doc =
          "A dot over groups: one dimension of lhs is cut into consecutive groups, each of which "
          "meets its own rhs or gives its own result."};
}

}  // namespace braze
