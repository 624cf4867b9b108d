// SPDX-License-Identifier: Apache-2.0
// sort of several arrays together by a comparator computation, and topk.
//
// The reference sort is a merge sort: stable always, and safe with comparators that are no order at
// all.
#include <bit>
#include <cmath>
#include <numeric>

#include "ops/dim_rules.h"
#include "ops/sampling.h"
#include "ops/scalar_function.h"

namespace braze {
namespace {

Result<Shape> infer_sort(const InferContext& ctx) {
  TRY(check_form<SortAttrs>(ctx, -1, 1));
  if (ctx.operands.empty()) return law("stablehlo.sort (C1)", "needs at least one input");
  TRY(check_arrays(ctx, 0, ctx.operands.size()));
  const Shape& first = ctx.operand(0);
  std::vector<const Shape*> pairs;
  std::vector<Shape> results;
  for (const Shape* s : ctx.operands) {
    if (!dims_agree(first, *s))
      return law("stablehlo.sort (C3)", "inputs must have one shape, got ", to_string(first, false),
                 " and ", to_string(*s, false));
    pairs.insert(pairs.end(), {s, s});
    results.push_back(*s);
  }
  TRY(check_range("stablehlo.sort (C4)", "dimension", {ctx.as<SortAttrs>().dimension},
                  first.rank()));
  TRY(check_predicate("stablehlo.sort (C5)", *ctx.calls[0], pairs));
  return one_or_tuple(std::move(results));
}

// Sorts `order` stably by less(a, b) → Result<bool>, merging runs of doubling length.
template <typename F>
Status merge_sort(std::vector<int64_t>& order, F&& less) {
  const size_t n = order.size();
  std::vector<int64_t> merged(n);
  for (size_t run = 1; run < n; run *= 2) {
    for (size_t begin = 0; begin < n; begin += 2 * run) {
      const size_t middle = std::min(begin + run, n), end = std::min(begin + 2 * run, n);
      size_t a = begin, b = middle;
      for (size_t at = begin; at < end; ++at) {
        bool second = a == middle;
        if (!second && b < end) {
          ASSIGN(second, less(order[b], order[a]));
        }
        merged[at] = second ? order[b++] : order[a++];
      }
    }
    order.swap(merged);
  }
  return absl::OkStatus();
}

// Calls f(base, stride) for each row of `dims` along `axis`.
template <typename F>
Status for_each_row(const Dims& dims, int64_t axis, F&& f) {
  const int64_t stride = strides(dims)[axis], n = dims[axis];
  const int64_t rows = product(dims) == 0 ? 0 : product(dims) / n;
  for (int64_t r = 0; r < rows; ++r) TRY(f(r / stride * stride * n + r % stride, stride));
  return absl::OkStatus();
}

Result<Literal> eval_sort(const EvalContext& ctx) {
  const size_t count = ctx.operands.size();
  const Dims& dims = ctx.operand(0).shape().dims;
  const int64_t axis = ctx.as<SortAttrs>().dimension, n = dims[axis];
  std::vector<Literal> outs(ctx.operands.begin(), ctx.operands.end());
  if (outs[0].elements() == 0) return one_or_tuple(std::move(outs));
  ScalarFunction comparator(ctx, *ctx.instr.calls[0]);
  std::vector<std::vector<Cell>> rows(count, std::vector<Cell>(n));
  std::vector<Cell> args(2 * count);
  std::vector<int64_t> order(n);
  auto less = [&](int64_t a, int64_t b) -> Result<bool> {
    for (size_t k = 0; k < count; ++k) {
      args[2 * k] = rows[k][a];
      args[2 * k + 1] = rows[k][b];
    }
    Cell result;
    TRY(comparator.call(args, absl::MakeSpan(&result, 1)));
    return result.i != 0;
  };
  TRY(for_each_row(dims, axis, [&](int64_t base, int64_t stride) -> Status {
    for (size_t k = 0; k < count; ++k)
      for (int64_t i = 0; i < n; ++i) rows[k][i] = load_cell(ctx.operand(k), base + i * stride);
    std::iota(order.begin(), order.end(), 0);
    TRY(merge_sort(order, less));
    for (size_t k = 0; k < count; ++k)
      for (int64_t i = 0; i < n; ++i)
        outs[k].copy_element(base + i * stride, ctx.operand(k), base + order[i] * stride);
    return absl::OkStatus();
  }));
  return one_or_tuple(std::move(outs));
}

Result<Shape> infer_topk(const InferContext& ctx) {
  TRY(check_form<TopKAttrs>(ctx, 1));
  TRY(check_arrays(ctx, 0, 1));
  const Shape& in = ctx.operand(0);
  if (in.rank() < 1) return invalid("topk: operand must have at least one dimension");
  if (is_complex(in.dtype)) return invalid("topk: complex numbers have no order");
  const int64_t k = ctx.as<TopKAttrs>().k;
  if (k < 0 || (in.dims.back() != kUnknownDim && k > in.dims.back()))
    return invalid("topk: k = ", k, " is not in [0, ", in.dims.back(), "]");
  Shape values = in;
  values.layout.clear();
  values.dims.back() = k;
  if (!values.dynamic.empty()) values.dynamic.back() = false;
  Shape indices = values.with_dtype(Dtype::kS32);
  return Shape::tuple_of({std::move(values), std::move(indices)});
}

// Integers that order as the elements do: floats by their total order.
int64_t order_key(const Literal& l, int64_t at) {
  if (is_float(l.dtype())) {
    const auto bits = std::bit_cast<int64_t>(l.get_float(at));
    return bits < 0 ? bits ^ INT64_MAX : bits;
  }
  const int64_t v = l.get_int(at);
  return is_unsigned_int(l.dtype()) ? v ^ INT64_MIN : v;
}

Result<Literal> eval_topk(const EvalContext& ctx) {
  ASSIGN(const Shape shape, actual_shape(ctx));
  const auto& a = ctx.as<TopKAttrs>();
  const Literal& in = ctx.operand(0);
  Literal values(shape.tuple[0]), indices(shape.tuple[1]);
  const Dims& dims = in.shape().dims;
  const int64_t axis = in.shape().rank() - 1, n = dims[axis];
  std::vector<int64_t> order(in.elements() == 0 ? 0 : n);
  int64_t row = 0;
  TRY(for_each_row(dims, axis, [&](int64_t base, int64_t) -> Status {
    auto before = [&](int64_t x, int64_t y) -> Result<bool> {
      const int64_t p = order_key(in, base + x), q = order_key(in, base + y);
      return a.largest ? p > q : p < q;
    };
    std::iota(order.begin(), order.end(), 0);
    TRY(merge_sort(order, before));
    for (int64_t i = 0; i < a.k; ++i) {
      values.copy_element(row * a.k + i, in, base + order[i]);
      indices.set_int(row * a.k + i, order[i]);
    }
    ++row;
    return absl::OkStatus();
  }));
  return Literal::tuple({std::move(values), std::move(indices)});
}

std::unique_ptr<Module> sample_sort(std::mt19937_64& rng) {
  Sampler s(rng, "sort");
  const Dims dims = s.dims(1, 3, 8);
  std::vector<Instr*> operands;
  std::vector<Shape> params;
  for (int64_t k = s.uniform(1, 3); k > 0; --k) {
    const Dtype t = params.empty() ? s.number() : s.dtype();
    operands.push_back(s.parameter(Shape::array(t, dims)));
    params.insert(params.end(), 2, Shape::scalar(t));
  }
  Computation* c = s.computation("less", params);
  Builder b(c);
  CompareAttrs compare{s.pick({CompareDirection::kLt, CompareDirection::kGt})};
  if (is_float(params[0].dtype) && s.chance(0.7)) compare.type = CompareType::kTotalOrder;
  c->set_root(b.op(Op::kCompare, {c->params()[0], c->params()[1]}, compare));
  const SortAttrs a{s.uniform(0, static_cast<int64_t>(dims.size()) - 1), true};
  Computation* calls[] = {c};
  s.root(Op::kSort, absl::MakeConstSpan(operands), a, calls);
  return s.finish();
}

std::unique_ptr<Module> sample_topk(std::mt19937_64& rng) {
  Sampler s(rng, "topk");
  const Dims dims = s.dims(1, 3, 8);
  s.root(Op::kTopK, {s.parameter(Shape::array(s.number(), dims))},
         TopKAttrs{s.uniform(0, dims.back()), s.chance(0.7)});
  return s.finish();
}

}  // namespace

absl::Span<const OpDef> sort_rows() {
  static const OpDef rows[] = {
      {.op = Op::kSort,
       .stablehlo = "sort",
       .traits = kCalls,
       .attrs = attrs_index<SortAttrs>(),
       .infer = infer_sort,
       .eval = eval_sort,
       .step = Step::kLibrary,
       .cost = 20,
       .sample = sample_sort,
       .doc =
           "Sorts arrays together along a dimension; the comparator is \"less than\" and gets the "
           "operands' elements in pairs."},
      {.op = Op::kTopK,
       .arity = 1,
       .attrs = attrs_index<TopKAttrs>(),
       .infer = infer_topk,
       .eval = eval_topk,
       .step = Step::kLibrary,
       .cost = 20,
       .sample = sample_topk,
       .doc =
           "The k largest (or smallest) elements of each row in order, and their positions; equal "
           "elements by position, floats by their total order."},
  };
  return rows;
}

}  // namespace braze
