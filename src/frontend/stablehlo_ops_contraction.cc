// SPDX-License-Identifier: Apache-2.0
// Contractions: dot, einsum, convolution.
#include <algorithm>

#include "frontend/stablehlo_attrs.h"
#include "frontend/stablehlo_scope.h"

namespace braze::stablehlo {
namespace {

void dot_general(OpImport& c) {
  const mlir::Attr* n = c.attr("dot_dimension_numbers");
  if (!c.check(n && n->is_struct("stablehlo.dot"),
               "needs dot_dimension_numbers = #stablehlo.dot<..>"))
    return;
  DotAttrs a = read_dot(c, *n);
  a.precision = read_precision(c);
  a.algorithm = read_dot_algorithm(c);
  c.bind(c.emit_typed(Op::kDot, c.ins(), a));
}

// Deprecated: the last dimension of the left side with the first of the right.
void dot(OpImport& c) {
  const int64_t rank = c.in(0)->shape.rank();
  if (!c.check(rank >= 1 && c.in(1)->shape.rank() >= 1, "dot needs operands of rank 1 or 2"))
    return;
  DotAttrs a;
  a.lhs_contracting = {rank - 1};
  a.rhs_contracting = {0};
  a.precision = read_precision(c);
  c.bind(c.emit_typed(Op::kDot, c.ins(), a));
}

void convolution(OpImport& c) {
  ConvAttrs a = read_conv(c);
  if (c.ok()) c.bind(c.emit_typed(Op::kConvolution, c.ins(), a));
}

Dims positions(std::string_view labels, std::string_view of) {
  Dims out;
  for (char l : of) out.push_back(static_cast<int64_t>(labels.find(l)));
  return out;
}

bool has(std::string_view labels, char l) { return labels.find(l) != std::string_view::npos; }

// Sums the dimensions whose label is not in `keep`.
Instr* sum_out(OpImport& c, Instr* x, std::string& labels, std::string_view keep) {
  Dims gone;
  std::string left;
  for (size_t i = 0; i < labels.size(); ++i)
    if (has(keep, labels[i])) left += labels[i];
    else gone.push_back(static_cast<int64_t>(i));
  if (gone.empty()) return x;
  labels = left;
  return c.b.reduce(Op::kAdd, x, c.b.scalar(x->shape.dtype, 0), gone);
}

// The dimensions of `x` in the order of `to`, spread over labels that `x` lacks.
Instr* arrange(OpImport& c, Instr* x, std::string_view labels, std::string_view to,
               DimSpan out_dims) {
  std::string present;
  for (char l : to)
    if (has(labels, l)) present += l;
  if (present != labels) x = c.b.transpose(x, positions(labels, present));
  return present == to ? x : c.b.broadcast(x, out_dims, positions(to, present));
}

bool split_config(OpImport& c, size_t operands, std::vector<std::string>& terms) {
  std::string config = c.text("einsum_config");
  config.erase(std::remove(config.begin(), config.end(), ' '), config.end());
  const size_t arrow = config.find("->");
  if (arrow == std::string::npos || config.find("...") != std::string::npos) {
    c.fail(unimplemented("einsum_config '", config, "': expected labels and '->'"));
    return false;
  }
  std::string in = config.substr(0, arrow);
  for (size_t from = 0;;) {
    const size_t comma = in.find(',', from);
    terms.push_back(in.substr(from, comma - from));
    if (comma == std::string::npos) break;
    from = comma + 1;
  }
  terms.push_back(config.substr(arrow + 2));
  bool ok = terms.size() == operands + 1;
  for (size_t k = 0; ok && k < terms.size(); ++k) {
    const Shape& s = k < operands ? c.in(k)->shape : c.type();
    ok = static_cast<int64_t>(terms[k].size()) == s.rank();
    for (size_t i = 0; ok && i < terms[k].size(); ++i)  // diagonals are not supported
      ok = terms[k].find(terms[k][i], i + 1) == std::string::npos;
  }
  return c.check(ok, "einsum_config does not fit the operands");
}

void unary_einsum(OpImport& c) {
  std::vector<std::string> terms;
  if (!split_config(c, 1, terms)) return;
  Instr* x = sum_out(c, c.in(0), terms[0], terms[1]);
  c.bind(arrange(c, x, terms[0], terms[1], c.type().dims));
}

void einsum(OpImport& c) {
  std::vector<std::string> terms;
  if (!split_config(c, 2, terms)) return;
  std::string l = terms[0], r = terms[1];
  const std::string& out = terms[2];
  Instr* a = sum_out(c, c.in(0), l, r + out);
  Instr* b = sum_out(c, c.in(1), r, l + out);
  std::string batch, contracted;
  for (char x : l)
    if (has(r, x)) (has(out, x) ? batch : contracted) += x;
  DotAttrs d;
  d.lhs_batch = positions(l, batch);
  d.rhs_batch = positions(r, batch);
  d.lhs_contracting = positions(l, contracted);
  d.rhs_contracting = positions(r, contracted);
  d.precision = read_precision(c);
  std::string labels = batch;
  Dims dims;
  for (int64_t i : d.lhs_batch) dims.push_back(a->shape.dims[i]);
  for (size_t i = 0; i < l.size(); ++i)
    if (!has(r, l[i])) labels += l[i], dims.push_back(a->shape.dims[i]);
  for (size_t i = 0; i < r.size(); ++i)
    if (!has(l, r[i])) labels += r[i], dims.push_back(b->shape.dims[i]);
  Instr* dot = c.b.op_shaped(Op::kDot, Shape::array(c.type().dtype, dims), {a, b}, d);
  c.bind(arrange(c, dot, labels, out, c.type().dims));
}

constexpr Handler kHandlers[] = {
    {"stablehlo.dot_general", dot_general, 2, 1, 0},
    {"stablehlo.dot", dot, 2, 1, 0},
    {"stablehlo.convolution", convolution, 2, 1, 0},
    {"stablehlo.einsum", einsum, 2, 1, 0},
    {"stablehlo.unary_einsum", unary_einsum, 1, 1, 0},
};

}  // namespace

absl::Span<const Handler> contraction_handlers() { return kHandlers; }

}  // namespace braze::stablehlo
