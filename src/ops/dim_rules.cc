// SPDX-License-Identifier: Apache-2.0
#include "ops/dim_rules.h"

#include <algorithm>

namespace braze {

Status check_form(const InferContext& ctx, int attrs, int64_t operands, int64_t calls) {
  if (static_cast<int>(ctx.attrs.index()) != attrs)
    return invalid(name(ctx.op), ": attributes of another op");
  const auto count = static_cast<int64_t>(ctx.operands.size());
  if (operands >= 0 && count != operands)
    return invalid(name(ctx.op), ": takes ", operands, " operands, got ", count);
  const auto called = static_cast<int64_t>(ctx.calls.size());
  if (calls >= 0 && called != calls)
    return invalid(name(ctx.op), ": calls ", calls, " computations, got ", called);
  for (const Computation* c : ctx.calls) {
    if (!c || !c->root()) return invalid(name(ctx.op), ": a called computation has no root");
    for (const Instr* p : c->params())
      if (!p) return invalid(name(ctx.op), ": '", c->name(), "' lacks a parameter");
  }
  return absl::OkStatus();
}

Status check_arrays(const InferContext& ctx, size_t from, size_t to) {
  for (size_t i = from; i < to; ++i)
    if (!ctx.operand(i).is_array())
      return invalid(name(ctx.op), ": operand ", i, " must be an array, got ",
                     to_string(ctx.operand(i), false));
  return absl::OkStatus();
}

bool sizes_agree(int64_t a, int64_t b) { return a == b || a == kUnknownDim || b == kUnknownDim; }

bool dims_agree(const Shape& a, int64_t i, const Shape& b, int64_t j) {
  return sizes_agree(a.dims[i], b.dims[j]) || a.is_dynamic(i) || b.is_dynamic(j);
}

bool dims_agree(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  for (int64_t i = 0; i < a.rank(); ++i)
    if (!dims_agree(a, i, b, i)) return false;
  return true;
}

bool shapes_agree(const Shape& a, const Shape& b) {
  if (a.dtype != b.dtype || a.tuple.size() != b.tuple.size() || !dims_agree(a, b)) return false;
  for (size_t i = 0; i < a.tuple.size(); ++i)
    if (!shapes_agree(a.tuple[i], b.tuple[i])) return false;
  return true;
}

bool contains(DimSpan dims, int64_t d) {
  return std::find(dims.begin(), dims.end(), d) != dims.end();
}

bool is_unique(DimSpan dims) {
  Dims s(dims.begin(), dims.end());
  std::sort(s.begin(), s.end());
  return std::adjacent_find(s.begin(), s.end()) == s.end();
}

bool is_sorted(DimSpan dims) { return std::is_sorted(dims.begin(), dims.end()); }

int64_t position(DimSpan dims, int64_t d) {
  auto it = std::find(dims.begin(), dims.end(), d);
  return it == dims.end() ? -1 : it - dims.begin();
}

Dims joined(DimSpan a, DimSpan b) {
  Dims out(a.begin(), a.end());
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

Dims axes_except(int64_t rank, DimSpan without) {
  Dims out;
  for (int64_t i = 0; i < rank; ++i)
    if (!contains(without, i)) out.push_back(i);
  return out;
}

Status check_range(std::string_view rule, std::string_view what, DimSpan axes, int64_t limit) {
  for (int64_t a : axes)
    if (a < 0 || a >= limit)
      return law(rule, what, " must be in [0, ", limit, "), got {", join(axes), "}");
  return absl::OkStatus();
}

Status check_unique(std::string_view rule, std::string_view what, DimSpan axes) {
  if (is_unique(axes)) return absl::OkStatus();
  return law(rule, what, " must be unique, got {", join(axes), "}");
}

Status check_sorted(std::string_view rule, std::string_view what, DimSpan axes) {
  if (is_sorted(axes)) return absl::OkStatus();
  return law(rule, what, " must be sorted, got {", join(axes), "}");
}

Status check_equal(std::string_view rule, std::string_view what, int64_t got, int64_t want) {
  if (got == want) return absl::OkStatus();
  return law(rule, what, " must be ", want, ", got ", got);
}

void append_dim(Shape& to, const Shape& from, int64_t from_dim) {
  append_dim(to, from.dims[from_dim]);
  if (!from.is_dynamic(from_dim)) return;
  to.dynamic.resize(to.dims.size(), false);
  to.dynamic.back() = true;
}

void append_dim(Shape& to, int64_t size) {
  to.dims.push_back(size);
  if (!to.dynamic.empty()) to.dynamic.push_back(false);
}

bool promotable(const Shape& from, const Shape& to) {
  const Dtype a = from.dtype, b = to.dtype;
  if (from.quant || to.quant)
    return from.quant && to.quant && from.quant->expressed == to.quant->expressed &&
           bit_size(a) <= bit_size(b);
  if (a == b) return true;
  const bool one_kind = (is_int(a) && is_int(b)) || (is_float(a) && is_float(b)) ||
                        (is_complex(a) && is_complex(b));
  return one_kind && bit_size(a) <= bit_size(b);
}

Result<std::vector<Shape>> check_combiner(std::string_view rule, const Computation& body,
                                          absl::Span<const Shape* const> inputs) {
  const size_t n = inputs.size();
  const Shape& root = body.root()->shape;
  auto type = [&] {
    std::string s = "(";
    for (const Instr* p : body.params())
      absl::StrAppend(&s, s.size() > 1 ? ", " : "", to_string(p->shape, false));
    return absl::StrCat(s, ") -> ", to_string(root, false));
  };
  if (body.params().size() != 2 * n)
    return law(rule, "combiner '", body.name(), "' must take ", 2 * n, " scalars, has type ",
               type());
  std::vector<Shape> results;
  // XLA spells the result of a one-operand combiner as a scalar; a tuple of one is accepted too.
  if (root.is_tuple()) results = root.tuple;
  else results = {root};
  if (results.size() != n)
    return law(rule, "combiner '", body.name(), "' must return ", n, " scalars, has type ", type());
  for (size_t i = 0; i < n; ++i) {
    const Shape& e = results[i];
    const Shape& l = body.params()[i]->shape;
    const Shape& r = body.params()[n + i]->shape;
    if (!e.is_scalar() || !l.is_scalar() || !r.is_scalar() || l.dtype != e.dtype ||
        r.dtype != e.dtype)
      return law(rule, "combiner '", body.name(),
                 "' must have type (E0.., E0..) -> (E0..) over scalars, has type ", type());
    if (!promotable(*inputs[i], e))
      return law(rule, "element type ", name(inputs[i]->dtype), " of input ", i,
                 " is not promotable to ", name(e.dtype), " of combiner '", body.name(), "'");
  }
  return results;
}

Status check_predicate(std::string_view rule, const Computation& body,
                       absl::Span<const Shape* const> params) {
  const Shape& root = body.root()->shape;
  bool good = body.params().size() == params.size() && root.is_scalar() && is_pred(root.dtype);
  for (size_t i = 0; good && i < params.size(); ++i) {
    const Shape& p = body.params()[i]->shape;
    good = p.is_scalar() && p.dtype == params[i]->dtype;
  }
  if (good) return absl::OkStatus();
  std::string want;
  for (const Shape* p : params)
    absl::StrAppend(&want, want.empty() ? "" : ", ", std::string(name(p->dtype)), "[]");
  return law(rule, "'", body.name(), "' must have type (", want, ") -> pred[]");
}

Shape one_or_tuple(std::vector<Shape> shapes) {
  return shapes.size() == 1 ? std::move(shapes[0]) : Shape::tuple_of(std::move(shapes));
}

Literal one_or_tuple(std::vector<Literal> literals) {
  return literals.size() == 1 ? std::move(literals[0]) : Literal::tuple(std::move(literals));
}

Result<Shape> actual_shape(const EvalContext& ctx) {
  const Shape& own = ctx.instr.shape;
  if (own.is_static() && !own.has_bounded_dim()) return own;
  std::vector<const Shape*> shapes;
  for (const Literal& l : ctx.operands) shapes.push_back(&l.shape());
  InferContext infer{ctx.instr.op, shapes, ctx.instr.attrs, ctx.instr.calls, &own};
  return def(ctx.instr).infer(infer);
}

}  // namespace braze
