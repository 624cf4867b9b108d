// SPDX-License-Identifier: Apache-2.0
// gather and scatter with HLO's dimension numbers, batching dimensions included.
//
// gather clamps its starts; scatter leaves out an update window that is not wholly inside its
// array.
#include "ops/gather_scatter.h"

#include "ops/dim_rules.h"
#include "ops/sampling.h"
#include "ops/scalar_function.h"

namespace braze {
namespace {

// Sizes of the index array without the dimension of index vectors.
Shape batch_shape(const Shape& indices, int64_t index_vector_dim) {
  Shape out = Shape::scalar(indices.dtype);
  for (int64_t d = 0; d < indices.rank(); ++d)
    if (d != index_vector_dim) append_dim(out, indices, d);
  return out;
}

// The laws on batching dimensions, which gather and scatter share. `rules`: (C13)-(C17) of gather
// by name.
struct BatchingRules {
  std::string_view unique, range, vector_dim, count, sizes;
};

Status check_batching(const BatchingRules& r, const Shape& operand, const Shape& indices,
                      const Dims& operand_dims, const Dims& index_dims, int64_t index_vector_dim) {
  TRY(check_unique(r.unique, "indices batching dimensions", index_dims));
  TRY(check_range(r.range, "indices batching dimensions", index_dims, indices.rank()));
  if (contains(index_dims, index_vector_dim))
    return law(r.vector_dim, "index_vector_dim ", index_vector_dim,
               " can't be a batching dimension");
  TRY(check_equal(r.count, "number of indices batching dimensions",
                  static_cast<int64_t>(index_dims.size()),
                  static_cast<int64_t>(operand_dims.size())));
  for (size_t i = 0; i < operand_dims.size(); ++i)
    if (!dims_agree(operand, operand_dims[i], indices, index_dims[i]))
      return law(r.sizes, "batching dimensions ", operand_dims[i], " and ", index_dims[i],
                 " have sizes ", operand.dims[operand_dims[i]], " and ",
                 indices.dims[index_dims[i]]);
  return absl::OkStatus();
}

// The length of an index vector against the dimensions it addresses.
Status check_index_vector(std::string_view range_rule, std::string_view count_rule,
                          const Shape& indices, int64_t index_vector_dim, const Dims& map) {
  if (!is_int(indices.dtype))
    return invalid("indices must be integers, got ", to_string(indices, false));
  TRY(check_range(range_rule, "index_vector_dim", {index_vector_dim}, indices.rank() + 1));
  const int64_t n = index_vector_dim < indices.rank() ? indices.dims[index_vector_dim] : 1;
  if (n == kUnknownDim) return absl::OkStatus();
  return check_equal(count_rule, "number of indexed dimensions", static_cast<int64_t>(map.size()),
                     n);
}

Status check_gather(const GatherAttrs& a, const Shape& in, const Shape& indices) {
  const int64_t rank = in.rank();
  TRY(check_equal("stablehlo.gather (C1)", "number of offset, collapsed and batching dimensions",
                  static_cast<int64_t>(a.offset_dims.size() + a.collapsed_slice_dims.size() +
                                       a.operand_batching_dims.size()),
                  rank));
  TRY(check_index_vector("stablehlo.gather (C2)", "stablehlo.gather (C3)", indices,
                         a.index_vector_dim, a.start_index_map));
  TRY(check_unique("stablehlo.gather (C4)", "offset_dims", a.offset_dims));
  TRY(check_sorted("stablehlo.gather (C4)", "offset_dims", a.offset_dims));
  const int64_t result_rank = indices.rank() - (a.index_vector_dim < indices.rank()) +
                              static_cast<int64_t>(a.offset_dims.size());
  TRY(check_range("stablehlo.gather (C5)", "offset_dims", a.offset_dims, result_rank));
  TRY(check_unique("stablehlo.gather (C6)", "collapsed_slice_dims and operand_batching_dims",
                   joined(a.collapsed_slice_dims, a.operand_batching_dims)));
  TRY(check_sorted("stablehlo.gather (C7)", "collapsed_slice_dims", a.collapsed_slice_dims));
  TRY(check_range("stablehlo.gather (C8)", "collapsed_slice_dims", a.collapsed_slice_dims, rank));
  TRY(check_equal("stablehlo.gather (C20)", "number of slice sizes",
                  static_cast<int64_t>(a.slice_sizes.size()), rank));
  for (int64_t d : a.collapsed_slice_dims)
    if (a.slice_sizes[d] > 1)
      return law("stablehlo.gather (C9)", "slice size of collapsed dimension ", d, " is ",
                 a.slice_sizes[d]);
  TRY(check_sorted("stablehlo.gather (C10)", "operand_batching_dims", a.operand_batching_dims));
  TRY(check_range("stablehlo.gather (C11)", "operand_batching_dims", a.operand_batching_dims,
                  rank));
  for (int64_t d : a.operand_batching_dims)
    if (a.slice_sizes[d] > 1)
      return law("stablehlo.gather (C12)", "slice size of batching dimension ", d, " is ",
                 a.slice_sizes[d]);
  TRY(check_batching({"stablehlo.gather (C13)", "stablehlo.gather (C14)", "stablehlo.gather (C15)",
                      "stablehlo.gather (C16)", "stablehlo.gather (C17)"},
                     in, indices, a.operand_batching_dims, a.start_indices_batching_dims,
                     a.index_vector_dim));
  TRY(check_unique("stablehlo.gather (C18)", "start_index_map and operand_batching_dims",
                   joined(a.start_index_map, a.operand_batching_dims)));
  TRY(check_range("stablehlo.gather (C19)", "start_index_map", a.start_index_map, rank));
  for (int64_t d = 0; d < rank; ++d)
    if (a.slice_sizes[d] < 0 || (in.dims[d] != kUnknownDim && a.slice_sizes[d] > in.dims[d]))
      return law("stablehlo.gather (C21)", "slice size ", a.slice_sizes[d], " of dimension ", d,
                 " is not in [0, ", in.dims[d], "]");
  return absl::OkStatus();
}

// Operand dimensions that offsets run over, in the order of offset_dims.
Dims offset_operand_dims(const GatherAttrs& a, int64_t rank) {
  return axes_except(rank, joined(a.collapsed_slice_dims, a.operand_batching_dims));
}

Result<Shape> infer_gather(const InferContext& ctx) {
  TRY(check_form<GatherAttrs>(ctx, 2));
  TRY(check_arrays(ctx, 0, 2));
  const auto& a = ctx.as<GatherAttrs>();
  const Shape &in = ctx.operand(0), &indices = ctx.operand(1);
  TRY(check_gather(a, in, indices));
  const Shape batch = batch_shape(indices, a.index_vector_dim);
  const Dims offsets = offset_operand_dims(a, in.rank());
  Shape out = Shape::scalar(in.dtype);
  out.quant = in.quant;
  int64_t next_batch = 0, next_offset = 0;
  const int64_t rank = batch.rank() + static_cast<int64_t>(offsets.size());
  for (int64_t d = 0; d < rank; ++d) {
    if (contains(a.offset_dims, d)) append_dim(out, a.slice_sizes[offsets[next_offset++]]);
    else append_dim(out, batch, next_batch++);
  }
  return out;
}

// Row-major position in the index array of component k of the index vector at `batch_index`.
int64_t index_position(const Shape& indices, int64_t index_vector_dim, DimSpan batch_index,
                       int64_t k) {
  int64_t at = 0, next = 0;
  for (int64_t d = 0; d < indices.rank(); ++d)
    at = at * indices.dims[d] + (d == index_vector_dim ? k : batch_index[next++]);
  return at;
}

// The place in a batch index of dimension d of the index array.
int64_t batch_place(int64_t d, int64_t index_vector_dim) {
  return d < index_vector_dim ? d : d - 1;
}

Result<Literal> eval_gather(const EvalContext& ctx) {
  const auto& a = ctx.as<GatherAttrs>();
  const Literal &in = ctx.operand(0), &indices = ctx.operand(1);
  ASSIGN(const Shape shape, actual_shape(ctx));
  Literal out(shape);
  const Dims& dims = in.shape().dims;
  for (size_t d = 0; d < dims.size(); ++d)
    if (a.slice_sizes[d] > dims[d]) return invalid("gather: slice size exceeds dimension ", d);
  const Dims step = strides(dims), offsets = offset_operand_dims(a, in.shape().rank());
  const Dims batch_dims = axes_except(shape.rank(), a.offset_dims);
  Dims index(shape.rank(), 0), batch(batch_dims.size(), 0), at(dims.size(), 0);
  for (int64_t o = 0, n = out.elements(); o < n;
       ++o, next_index(absl::MakeSpan(index), shape.dims)) {
    for (size_t i = 0; i < batch.size(); ++i) batch[i] = index[batch_dims[i]];
    std::fill(at.begin(), at.end(), 0);
    for (size_t k = 0; k < a.start_index_map.size(); ++k) {
      const int64_t d = a.start_index_map[k];
      const int64_t where =
          index_position(indices.shape(), a.index_vector_dim, batch, static_cast<int64_t>(k));
      at[d] = clamped_index(indices, where, dims[d] - a.slice_sizes[d]);
    }
    for (size_t i = 0; i < a.operand_batching_dims.size(); ++i)
      at[a.operand_batching_dims[i]] =
          batch[batch_place(a.start_indices_batching_dims[i], a.index_vector_dim)];
    for (size_t i = 0; i < offsets.size(); ++i) at[offsets[i]] += index[a.offset_dims[i]];
    int64_t from = 0;
    for (size_t d = 0; d < at.size(); ++d) from += at[d] * step[d];
    out.copy_element(o, in, from);
  }
  return out;
}

scalar::Value index_gather(const IndexContext& ctx) {
  const auto& a = ctx.instr.as<GatherAttrs>();
  scalar::Graph& g = ctx.g;
  const Shape &in = ctx.instr.operand(0)->shape, &indices = ctx.instr.operand(1)->shape;
  absl::InlinedVector<scalar::Scalar, 6> batch;
  for (int64_t d : axes_except(ctx.instr.shape.rank(), a.offset_dims))
    batch.push_back(ctx.index[d]);
  absl::InlinedVector<scalar::Scalar, 6> at(in.rank(), g.constant_int(ctx.index_type, 0));
  for (size_t k = 0; k < a.start_index_map.size(); ++k) {
    absl::InlinedVector<scalar::Scalar, 6> where;
    size_t next = 0;
    for (int64_t d = 0; d < indices.rank(); ++d)
      where.push_back(d == a.index_vector_dim
                          ? g.constant_int(ctx.index_type, static_cast<int64_t>(k))
                          : batch[next++]);
    const int64_t d = a.start_index_map[k];
    at[d] = clamped_start(g, ctx.operand(1, where, ctx.condition).re, in.dims[d] - a.slice_sizes[d],
                          ctx.index_type);
  }
  for (size_t i = 0; i < a.operand_batching_dims.size(); ++i)
    at[a.operand_batching_dims[i]] =
        batch[batch_place(a.start_indices_batching_dims[i], a.index_vector_dim)];
  const Dims offsets = offset_operand_dims(a, in.rank());
  for (size_t i = 0; i < offsets.size(); ++i)
    at[offsets[i]] = g.add(at[offsets[i]], ctx.index[a.offset_dims[i]]);
  return ctx.operand(0, at, ctx.condition);
}

// Operand dimensions that an update's window runs over, in the order of update_window_dims.
Dims window_operand_dims(const ScatterAttrs& a, int64_t rank) {
  return axes_except(rank, joined(a.inserted_window_dims, a.input_batching_dims));
}

Status check_scatter_dims(const ScatterAttrs& a, const Shape& in, const Shape& indices,
                          const Shape& updates) {
  const int64_t rank = in.rank();
  TRY(check_equal("stablehlo.scatter (C2)", "number of window, inserted and batching dimensions",
                  static_cast<int64_t>(a.update_window_dims.size() + a.inserted_window_dims.size() +
                                       a.input_batching_dims.size()),
                  rank));
  TRY(check_unique("stablehlo.scatter (C7)", "update_window_dims", a.update_window_dims));
  TRY(check_sorted("stablehlo.scatter (C7)", "update_window_dims", a.update_window_dims));
  TRY(check_range("stablehlo.scatter (C8)", "update_window_dims", a.update_window_dims,
                  updates.rank()));
  TRY(check_unique("stablehlo.scatter (C9)", "inserted_window_dims and input_batching_dims",
                   joined(a.inserted_window_dims, a.input_batching_dims)));
  TRY(check_sorted("stablehlo.scatter (C10)", "inserted_window_dims", a.inserted_window_dims));
  TRY(check_range("stablehlo.scatter (C11)", "inserted_window_dims", a.inserted_window_dims, rank));
  TRY(check_sorted("stablehlo.scatter (C12)", "input_batching_dims", a.input_batching_dims));
  TRY(check_range("stablehlo.scatter (C13)", "input_batching_dims", a.input_batching_dims, rank));
  TRY(check_index_vector("stablehlo.scatter (C22)", "stablehlo.scatter (C19)", indices,
                         a.index_vector_dim, a.scatter_dims_to_operand_dims));
  TRY(check_batching(
      {"stablehlo.scatter (C14)", "stablehlo.scatter (C15)", "stablehlo.scatter (C16)",
       "stablehlo.scatter (C17)", "stablehlo.scatter (C18)"},
      in, indices, a.input_batching_dims, a.scatter_indices_batching_dims, a.index_vector_dim));
  TRY(check_unique("stablehlo.scatter (C20)",
                   "scatter_dims_to_operand_dims and input_batching_dims",
                   joined(a.scatter_dims_to_operand_dims, a.input_batching_dims)));
  return check_range("stablehlo.scatter (C21)", "scatter_dims_to_operand_dims",
                     a.scatter_dims_to_operand_dims, rank);
}

Status check_updates(const ScatterAttrs& a, const Shape& in, const Shape& indices,
                     const Shape& updates) {
  constexpr std::string_view rule = "stablehlo.scatter (C4)";
  const Shape batch = batch_shape(indices, a.index_vector_dim);
  TRY(check_equal(rule, "rank of updates", updates.rank(),
                  batch.rank() + static_cast<int64_t>(a.update_window_dims.size())));
  const Dims window = window_operand_dims(a, in.rank());
  int64_t next_batch = 0, next_window = 0;
  for (int64_t d = 0; d < updates.rank(); ++d) {
    if (contains(a.update_window_dims, d)) {
      const int64_t limit = in.dims[window[next_window++]];
      if (updates.dims[d] != kUnknownDim && limit != kUnknownDim && updates.dims[d] > limit)
        return law(rule, "window dimension ", d, " of updates (", updates.dims[d],
                   ") exceeds the input's (", limit, ")");
    } else if (!dims_agree(updates, d, batch, next_batch)) {
      return law(rule, "dimension ", d, " of updates (", updates.dims[d],
                 ") must be that of the indices (", batch.dims[next_batch], ")");
    } else {
      ++next_batch;
    }
  }
  return absl::OkStatus();
}

Result<Shape> infer_scatter(const InferContext& ctx) {
  TRY(check_form<ScatterAttrs>(ctx, -1, 1));
  if (ctx.operands.size() < 3 || ctx.operands.size() % 2 == 0)
    return law("stablehlo.scatter (C5)",
               "takes as many updates as inputs, at least one, and indices between; got ",
               ctx.operands.size(), " operands");
  TRY(check_arrays(ctx, 0, ctx.operands.size()));
  const size_t n = ctx.operands.size() / 2;
  const auto& a = ctx.as<ScatterAttrs>();
  const Shape &in = ctx.operand(0), &indices = ctx.operand(n), &updates = ctx.operand(n + 1);
  for (size_t k = 0; k < n; ++k) {
    if (!dims_agree(in, ctx.operand(k)))
      return law("stablehlo.scatter (C1)", "inputs must have one shape, got ", to_string(in, false),
                 " and ", to_string(ctx.operand(k), false));
    if (!dims_agree(updates, ctx.operand(n + 1 + k)))
      return law("stablehlo.scatter (C3)", "updates must have one shape, got ",
                 to_string(updates, false), " and ", to_string(ctx.operand(n + 1 + k), false));
    if (ctx.operand(k).dtype != ctx.operand(n + 1 + k).dtype)
      return law("stablehlo.scatter (C6)", "updates must have their inputs' element types, got ",
                 name(ctx.operand(k).dtype), " and ", name(ctx.operand(n + 1 + k).dtype));
  }
  TRY(check_scatter_dims(a, in, indices, updates));
  TRY(check_updates(a, in, indices, updates));
  ASSIGN(std::vector<Shape> results,
         check_combiner("stablehlo.scatter (C23)", *ctx.calls[0], ctx.operands.subspan(0, n)));
  for (Shape& r : results) {
    Shape s = in.with_dtype(r.dtype);
    s.quant = r.quant;
    r = std::move(s);
  }
  return one_or_tuple(std::move(results));
}

// The start in the input of the window at one index of the index array; false if it is out of
// bounds.
bool window_start(const ScatterAttrs& a, const Literal& indices, DimSpan batch, DimSpan dims,
                  DimSpan sizes, absl::Span<int64_t> start) {
  std::fill(start.begin(), start.end(), 0);
  for (size_t k = 0; k < a.scatter_dims_to_operand_dims.size(); ++k) {
    const int64_t at =
        index_position(indices.shape(), a.index_vector_dim, batch, static_cast<int64_t>(k));
    // As an unsigned value beyond 2^63 an index reads as negative, which is out of bounds as well.
    start[a.scatter_dims_to_operand_dims[k]] = indices.get_int(at);
  }
  for (size_t i = 0; i < a.input_batching_dims.size(); ++i)
    start[a.input_batching_dims[i]] =
        batch[batch_place(a.scatter_indices_batching_dims[i], a.index_vector_dim)];
  for (size_t d = 0; d < dims.size(); ++d)
    if (start[d] < 0 || start[d] > dims[d] - sizes[d]) return false;
  return true;
}

Result<Literal> eval_scatter(const EvalContext& ctx) {
  const auto& a = ctx.as<ScatterAttrs>();
  const size_t n = ctx.operands.size() / 2;
  const Literal &indices = ctx.operand(n), &first_update = ctx.operand(n + 1);
  const Dims &dims = ctx.operand(0).shape().dims, &update_dims = first_update.shape().dims;
  ASSIGN(const Shape shape, actual_shape(ctx));
  std::vector<Literal> outs;
  for (size_t k = 0; k < n; ++k) {
    const Shape& s = shape.is_tuple() ? shape.tuple[k] : shape;
    if (s.dtype == ctx.operand(k).dtype()) {
      outs.push_back(ctx.operand(k));
      continue;
    }
    outs.emplace_back(s);
    for (int64_t i = 0, m = outs[k].elements(); i < m; ++i)
      store_cell(outs[k], i, load_cell(ctx.operand(k), i));
  }
  const int64_t rank = static_cast<int64_t>(dims.size());
  const Dims window = window_operand_dims(a, rank), step = strides(dims);
  const Dims batch_dims =
      axes_except(static_cast<int64_t>(update_dims.size()), a.update_window_dims);
  Dims sizes(rank, 1), start(rank, 0), batch(batch_dims.size(), 0), index(update_dims.size(), 0);
  for (size_t i = 0; i < window.size(); ++i)
    sizes[window[i]] = update_dims[a.update_window_dims[i]];
  ScalarFunction body(ctx, *ctx.instr.calls[0]);
  std::vector<Cell> args(2 * n);
  // Window after window: where windows overlap, those of later indices come later.
  Dims order = batch_dims, extents;
  order.insert(order.end(), a.update_window_dims.begin(), a.update_window_dims.end());
  for (int64_t d : order) extents.push_back(update_dims[d]);
  Dims walk(order.size(), 0);
  for (int64_t done = 0, m = first_update.elements(); done < m;
       ++done, next_index(absl::MakeSpan(walk), extents)) {
    for (size_t i = 0; i < order.size(); ++i) index[order[i]] = walk[i];
    const int64_t u = linear_index(index, update_dims);
    for (size_t i = 0; i < batch.size(); ++i) batch[i] = walk[i];
    if (!window_start(a, indices, batch, dims, sizes, absl::MakeSpan(start))) continue;
    int64_t at = 0;
    for (size_t i = 0; i < window.size(); ++i) start[window[i]] += index[a.update_window_dims[i]];
    for (int64_t d = 0; d < rank; ++d) at += start[d] * step[d];
    for (size_t k = 0; k < n; ++k) {
      args[k] = load_cell(outs[k], at);
      args[n + k] = load_cell(ctx.operand(n + 1 + k), u);
    }
    TRY(body.call(args, absl::MakeSpan(args).subspan(0, n)));
    for (size_t k = 0; k < n; ++k) store_cell(outs[k], at, args[k]);
  }
  return shape.is_tuple() ? Literal::tuple(std::move(outs)) : std::move(outs[0]);
}

// A random division of an operand's dimensions: batching, indexed and plain, with window sizes.
struct RandomIndexing {
  Dims operand, indices, batching, index_batching, map, sizes, dropped, offsets;
  int64_t index_vector_dim = 0, batch_rank = 0;
};

RandomIndexing random_indexing(Sampler& s) {
  RandomIndexing r;
  r.operand = s.dims(1, 4, 5);
  const int64_t rank = static_cast<int64_t>(r.operand.size());
  Dims batch = s.dims(0, 2, 4);
  r.sizes.assign(rank, 1);
  for (int64_t d = 0; d < rank; ++d) {
    if (s.chance(0.2) && r.batching.size() < batch.size()) {
      batch[r.batching.size()] = r.operand[d];
      r.index_batching.push_back(static_cast<int64_t>(r.batching.size()));
      r.batching.push_back(d);
      continue;
    }
    if (s.chance(0.6)) r.map.push_back(d);
    if (s.chance(0.4)) r.dropped.push_back(d);
    else r.sizes[d] = s.uniform(1, r.operand[d]);
  }
  for (int64_t i = static_cast<int64_t>(r.map.size()) - 1; i > 0; --i)
    std::swap(r.map[i], r.map[s.uniform(0, i)]);
  r.batch_rank = static_cast<int64_t>(batch.size());
  r.indices = batch;
  r.index_vector_dim = s.uniform(0, r.batch_rank);
  if (r.map.size() == 1 && s.chance(0.3)) {
    r.index_vector_dim = r.batch_rank;  // implied: the indices are scalars
  } else {
    r.indices.insert(r.indices.begin() + r.index_vector_dim, static_cast<int64_t>(r.map.size()));
    for (int64_t& d : r.index_batching) d += d >= r.index_vector_dim;
  }
  const int64_t windows = rank - static_cast<int64_t>(r.batching.size() + r.dropped.size());
  Dims all = s.permutation(r.batch_rank + windows);
  r.offsets.assign(all.begin(), all.begin() + windows);
  std::sort(r.offsets.begin(), r.offsets.end());
  return r;
}

std::unique_ptr<Module> sample_gather(std::mt19937_64& rng) {
  Sampler s(rng, "gather");
  const RandomIndexing r = random_indexing(s);
  const GatherAttrs a{r.offsets, r.dropped, r.map,
                      r.batching, r.index_batching, r.index_vector_dim, r.sizes, false};
  s.root(Op::kGather,
         {s.parameter(Shape::array(s.dtype(), r.operand)),
          s.parameter(Shape::array(s.index_dtype(), r.indices))},
         a);
  return s.finish();
}

std::unique_ptr<Module> sample_scatter(std::mt19937_64& rng) {
  Sampler s(rng, "scatter");
  const RandomIndexing r = random_indexing(s);
  const ScatterAttrs a{r.offsets, r.dropped, r.map, r.batching, r.index_batching,
                       r.index_vector_dim, false, false};
  Dims updates, batch = r.indices, window;
  if (r.index_vector_dim < static_cast<int64_t>(batch.size()) &&
      static_cast<int64_t>(batch.size()) > r.batch_rank)
    batch.erase(batch.begin() + r.index_vector_dim);
  for (int64_t d :
       axes_except(static_cast<int64_t>(r.operand.size()), joined(r.dropped, r.batching)))
    window.push_back(r.sizes[d]);
  size_t next_batch = 0, next_window = 0;
  for (int64_t d = 0; d < static_cast<int64_t>(batch.size() + window.size()); ++d)
    updates.push_back(contains(r.offsets, d) ? window[next_window++] : batch[next_batch++]);
  const Shape indices = Shape::array(s.index_dtype(), r.indices);
  const Dtype t = s.dtype();
  if (s.chance(0.2)) {  // two arrays at once, each combined by its own op
    const Dtype u = s.number();
    Computation* c = s.computation(
        "combine", {Shape::scalar(t), Shape::scalar(u), Shape::scalar(t), Shape::scalar(u)});
    Builder b(c);
    c->set_root(b.tuple({c->params()[2], b.add(c->params()[1], c->params()[3])}));
    s.root(Op::kScatter,
           {s.parameter(Shape::array(t, r.operand)), s.parameter(Shape::array(u, r.operand)),
            s.parameter(indices), s.parameter(Shape::array(t, updates)),
            s.parameter(Shape::array(u, updates))},
           a, {c});
    return s.finish();
  }
  s.root(Op::kScatter,
         {s.parameter(Shape::array(t, r.operand)), s.parameter(indices),
          s.parameter(Shape::array(t, updates))},
         a, {s.combiner(t)});
  return s.finish();
}

}  // namespace

OpDef gather_row() {
  return {.op = Op::kGather,
          .stablehlo = "gather",
          .arity = 2,
          .traits = kMovement,
          .attrs = attrs_index<GatherAttrs>(),
          .infer = infer_gather,
          .eval = eval_gather,
          .index = index_gather,
          .sample = sample_gather,
          .doc = "Slices of an array at starts that another array holds, clamped into the array."};
}

OpDef scatter_row() {
  return {.op = Op::kScatter,
          .stablehlo = "scatter",
          .traits = kCalls,
          .attrs = attrs_index<ScatterAttrs>(),
          .infer = infer_scatter,
          .eval = eval_scatter,
          .nest = Nest::kScatter,
          .sample = sample_scatter,
          .doc =
              "Combines update windows into an array at starts that another array holds; windows "
              "that are not wholly inside are dropped."};
}

}  // namespace braze
