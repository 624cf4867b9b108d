// SPDX-License-Identifier: Apache-2.0
// Custom calls that are tensor ops in disguise: top-k in its exact, approximate and dynamic forms, ops
// that StableHLO lacks and JAX or MHLO export by name, and JAX's sparse and tridiagonal helpers.
//
// The approximate top-k is exact here: recall 1.
#include <algorithm>
#include <numeric>

#include "ops/custom_call.h"
#include "ops/dim_rules.h"
#include "ops/tridiagonal.h"

namespace braze {
namespace {

// ---- sorting by a comparator ----

// Along dimension d of the arrays, the positions that the comparator ranks first, in its order; `count`
// of them. `arrays` have one shape; the comparator takes (a, a') per array.
Result<std::vector<Literal>> best_along(const EvalContext& ctx, absl::Span<const Literal> arrays,
                                        int64_t d, int64_t count) {
  if (ctx.instr.calls.empty()) return invalid("needs a comparator among its called computations");
  const Computation& comparator = *ctx.instr.calls[0];
  if (comparator.params().size() != 2 * arrays.size())
    return invalid("its comparator must take ", 2 * arrays.size(), " scalars, got ",
                   comparator.params().size());
  const Dims& dims = arrays[0].shape().dims;
  const int64_t n = dims[d], outer = product(DimSpan(dims).first(d));
  const int64_t inner = product(DimSpan(dims).subspan(d + 1));
  if (count > n) return invalid("asks for ", count, " of ", n, " elements");
  std::vector<Literal> out;
  for (const Literal& l : arrays) {
    Shape shape = l.shape();
    shape.dims[d] = count;
    out.emplace_back(shape);
  }
  Status failure;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      auto before = [&](int64_t x, int64_t y) {
        std::vector<Literal> args;
        for (const Literal& l : arrays)
          for (int64_t k : {x, y}) {
            args.emplace_back(Shape::scalar(l.dtype()));
            args.back().copy_element(0, l, (o * n + k) * inner + i);
          }
        Result<Literal> r = ctx.run(comparator, args);
        if (!r.ok()) failure = r.status();
        return r.ok() && r->get_bool(0);
      };
      // Insertion into a list of the best: no order is assumed of the comparator.
      std::vector<int64_t> best;
      for (int64_t k = 0; k < n && failure.ok(); ++k) {
        size_t at = best.size();
        while (at > 0 && before(k, best[at - 1])) --at;
        if (static_cast<int64_t>(at) >= count) continue;
        best.insert(best.begin() + static_cast<int64_t>(at), k);
        if (static_cast<int64_t>(best.size()) > count) best.pop_back();
      }
      TRY(failure);
      for (size_t a = 0; a < arrays.size(); ++a)
        for (int64_t k = 0; k < count; ++k)
          out[a].copy_element((o * count + k) * inner + i, arrays[a],
                              (o * n + best[k]) * inner + i);
    }
  return out;
}

// ---- top-k ----

Status check_top_k(const CustomCallAttrs&, absl::Span<const Shape* const> operands,
                   const Shape& result) {
  if (operands.empty() || !operands[0]->is_array() || operands[0]->rank() < 1)
    return invalid("operand 0 must be an array of rank 1 or more");
  const Shape& in = *operands[0];
  if (!result.is_tuple() || result.tuple.size() != 2)
    return invalid("its result must be (values, indices), got ", to_string(result, false));
  Shape want = in;
  want.layout.clear();
  want.dims.back() = result.tuple[0].dims.empty() ? 0 : result.tuple[0].dims.back();
  const Shape indices = want.with_dtype(Dtype::kS32);
  if (want.dims.back() > in.dims.back() || !shapes_agree(want, result.tuple[0]) ||
      !shapes_agree(indices, result.tuple[1]))
    return invalid("(values, s32 indices) of at most ", in.dims.back(), " per row, got ",
                   to_string(result, false), " for ", to_string(in, false));
  return absl::OkStatus();
}

Result<Literal> top_k(const EvalContext& ctx, int64_t k) {
  const std::string& config = ctx.as<CustomCallAttrs>().backend_config;
  const Literal& in = ctx.operand(0);
  if (in.shape().rank() < 1 || k < 0 || k > in.shape().dims.back())
    return invalid("asks for ", k, " elements per row of ", to_string(in.shape(), false));
  if (!ctx.instr.calls.empty()) {
    Literal at(in.shape().with_dtype(Dtype::kS32));
    const int64_t n = in.shape().dims.back();
    for (int64_t i = 0; i < at.elements(); ++i) at.set_int(i, i % n);
    std::vector<Literal> arrays = {in, at};
    // Some comparators take only the values; the indices follow them.
    if (ctx.instr.calls[0]->params().size() == 4) {
      ASSIGN(std::vector<Literal> best, best_along(ctx, arrays, in.shape().rank() - 1, k));
      return Literal::tuple(std::move(best));
    }
  }
  ASSIGN(const int64_t largest, dictionary_int(config, "largest", 1));
  return eval_scratch(ctx, Op::kTopK, {in}, TopKAttrs{k, largest != 0});
}

Result<Literal> eval_top_k(const EvalContext& ctx) {
  const Shape& values = ctx.instr.shape.tuple[0];
  return top_k(ctx, values.dims.back());
}

Result<Literal> eval_dynamic_top_k(const EvalContext& ctx) {
  if (ctx.operands.size() != 2 || ctx.operand(1).elements() != 1)
    return invalid("takes an array and k");
  return top_k(ctx, ctx.operand(1).get_int(0));
}

// Operands: arrays…, an initial value for each…, and k in the dynamic form.
Result<Literal> approx_top_k(const EvalContext& ctx, size_t extra) {
  const size_t count = (ctx.operands.size() - extra) / 2;
  if (count < 1 || ctx.operands.size() != 2 * count + extra)
    return invalid("takes arrays and an initial value for each, got ", ctx.operands.size(),
                   " operands");
  const std::string& config = ctx.as<CustomCallAttrs>().backend_config;
  ASSIGN(int64_t d, dictionary_int(config, "reduction_dim", -1));
  const Shape& in = ctx.operand(0).shape();
  if (d < 0) d += in.rank();
  TRY(check_range("ApproxTopK", "reduction_dim", {d}, in.rank()));
  int64_t k = 0;
  if (extra) {
    k = ctx.operand(2 * count).get_int(0);
  } else {
    const Shape& out = ctx.instr.shape.is_tuple() ? ctx.instr.shape.tuple[0] : ctx.instr.shape;
    k = out.rank() == in.rank() ? out.dims[d] : -1;
  }
  if (k < 0) return invalid("its result must have the rank of its operands");
  ASSIGN(std::vector<Literal> best, best_along(ctx, ctx.operands.first(count), d, k));
  return ctx.instr.shape.is_tuple() ? Literal::tuple(std::move(best)) : best[0];
}

Result<Literal> eval_approx_top_k(const EvalContext& ctx) { return approx_top_k(ctx, 0); }
Result<Literal> eval_dynamic_approx_top_k(const EvalContext& ctx) { return approx_top_k(ctx, 1); }

Result<Literal> eval_dynamic_reduce_window(const EvalContext& ctx) {
  return eval_scratch(ctx, Op::kDynamicReduceWindow, ctx.operands, WindowAttrs{});
}

// ---- elementwise ops by name ----

Status check_unary(const CustomCallAttrs&, absl::Span<const Shape* const> operands,
                   const Shape& result) {
  if (operands.size() == 1 && shapes_agree(*operands[0], result)) return absl::OkStatus();
  return invalid("takes one operand of the result's shape ", to_string(result, false));
}

template <Op op>
Result<Literal> eval_unary(const EvalContext& ctx) {
  return eval_scratch(ctx, op, ctx.operands, NoAttrs{});
}

// ---- JAX helpers ----

// Matrix in compressed sparse rows (values, row starts, column numbers) times a dense vector or matrix.
Result<Literal> eval_csr(const EvalContext& ctx) {
  if (ctx.operands.size() != 4) return invalid("takes 4 operands, got ", ctx.operands.size());
  const Literal &values = ctx.operand(0), &starts = ctx.operand(1), &columns = ctx.operand(2);
  const Literal& rhs = ctx.operand(3);
  const Shape& shape = ctx.instr.shape;
  const int64_t rows = shape.rank() ? shape.dims[0] : 0, width = shape.rank() > 1 ? shape.dims[1] : 1;
  const int64_t inner = rhs.shape().rank() ? rhs.shape().dims[0] : 0;
  if (starts.elements() != rows + 1 || columns.elements() != values.elements() ||
      rhs.elements() != inner * width || rhs.dtype() != values.dtype())
    return invalid("shapes of the sparse and dense parts don't fit ", to_string(shape, false));
  Literal out(shape);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < width; ++c) {
      std::complex<double> sum = 0;
      for (int64_t k = starts.get_int(r); k < starts.get_int(r + 1); ++k) {
        if (k < 0 || k >= values.elements()) return invalid("row starts are out of range");
        const int64_t at = columns.get_int(k);
        if (at < 0 || at >= inner) return invalid("column ", at, " is out of range");
        const int64_t from = at * width + c;
        sum += is_complex(shape.dtype) ? values.get_complex(k) * rhs.get_complex(from)
                                       : values.get_float(k) * rhs.get_float(from);
      }
      if (is_complex(shape.dtype)) out.set_complex(r * width + c, sum);
      else if (is_float(shape.dtype)) out.set_float(r * width + c, sum.real());
      else out.set_int(r * width + c, static_cast<int64_t>(sum.real()));
    }
  return out;
}

}  // namespace

absl::Span<const CustomCallDef> tensor_calls() {
  static const CustomCallDef calls[] = {
      {"TopK", check_top_k, eval_top_k},
      {"mhlo.topk", check_top_k, eval_top_k},
      {"stablehlo.dynamic_top_k", nullptr, eval_dynamic_top_k},
      {"ApproxTopK", nullptr, eval_approx_top_k},
      {"stablehlo.dynamic_approx_top_k", nullptr, eval_dynamic_approx_top_k},
      {"stablehlo.dynamic_reduce_window", nullptr, eval_dynamic_reduce_window},
      {"mhlo.acos", check_unary, eval_unary<Op::kAcos>},
      {"mhlo.acosh", check_unary, eval_unary<Op::kAcosh>},
      {"mhlo.asin", check_unary, eval_unary<Op::kAsin>},
      {"mhlo.asinh", check_unary, eval_unary<Op::kAsinh>},
      {"mhlo.atan", check_unary, eval_unary<Op::kAtan>},
      {"mhlo.atanh", check_unary, eval_unary<Op::kAtanh>},
      {"mhlo.cosh", check_unary, eval_unary<Op::kCosh>},
      {"mhlo.erf", check_unary, eval_unary<Op::kErf>},
      {"mhlo.sinh", check_unary, eval_unary<Op::kSinh>},
      {"mhlo.tan", check_unary, eval_unary<Op::kTan>},
      {"cpu_csr_sparse_dense_ffi", nullptr, eval_csr},
      {"tridiagonal_solve_perturbed_ffi", check_tridiagonal, eval_tridiagonal},
  };
  return calls;
}

}  // namespace braze
