// SPDX-License-Identifier: Apache-2.0
#include "frontend/stablehlo_scope.h"

#include "base/lexer.h"
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_attrs.h"
#include "frontend/stablehlo_types.h"

namespace braze::stablehlo {

using mlir::Attr;
using mlir::AttrKind;

Status OpImport::prepare() {
  for (mlir::ValueId v : op.operands) {
    auto it = scope.values.find(v);
    if (it == scope.values.end())
      return unimplemented("an operand comes from outside a region that can't capture values");
    ins_.push_back(it->second);
  }
  for (uint32_t k = 0; k < op.num_results; ++k) {
    ASSIGN(Shape s, import_type(scope.program.source.type(op.result(k))));
    types_.push_back(std::move(s));
  }
  return absl::OkStatus();
}

Shape OpImport::all_types() const {
  return types_.size() == 1 ? types_[0] : Shape::tuple_of(types_);
}

int64_t OpImport::integer(std::string_view attr_name, int64_t absent) {
  const Attr* a = op.attr(attr_name);
  if (!a) return absent;
  if (a->kind == AttrKind::kInt || a->kind == AttrKind::kBool) return a->i;
  fail(invalid("attribute ", attr_name, " must be an integer, got ", mlir::print_attr(*a)));
  return absent;
}

bool OpImport::flag(std::string_view attr_name) {
  const Attr* a = op.attr(attr_name);
  if (!a) return false;
  if (a->kind == AttrKind::kUnit) return true;
  if (a->kind == AttrKind::kBool || a->kind == AttrKind::kInt) return a->i != 0;
  fail(invalid("attribute ", attr_name, " must be a boolean, got ", mlir::print_attr(*a)));
  return false;
}

std::string OpImport::text(std::string_view attr_name) {
  const Attr* a = op.attr(attr_name);
  if (!a) return {};
  if (a->kind == AttrKind::kString || a->kind == AttrKind::kSymbol || a->kind == AttrKind::kEnum)
    return std::string(a->text);
  fail(invalid("attribute ", attr_name, " must be a string, got ", mlir::print_attr(*a)));
  return {};
}

std::string_view OpImport::choice(std::string_view attr_name) {
  const Attr* a = op.attr(attr_name);
  return a ? a->text : std::string_view();
}

Dims OpImport::dims(std::string_view attr_name) { return read_dims(*this, op.attr(attr_name)); }

Dims OpImport::dims_or(std::string_view attr_name, size_t count, int64_t absent) {
  Dims d = dims(attr_name);
  if (d.empty()) d.assign(count, absent);
  return d;
}

namespace {

bool quantized(const Shape& s) {
  for (const Shape& t : s.tuple)
    if (quantized(t)) return true;
  return s.quant != nullptr;
}

}  // namespace

Instr* OpImport::emit(Op o, absl::Span<Instr* const> operands, Attrs attrs,
                      absl::Span<Computation* const> calls) {
  const Shape declared = all_types();
  // A quantized result type is not a function of the operands.
  if (quantized(declared)) return emit_typed(o, operands, std::move(attrs), calls);
  Instr* i = b.op(o, operands, std::move(attrs), calls);
  return main_ = i;
}

Instr* OpImport::emit_typed(Op o, absl::Span<Instr* const> operands, Attrs attrs,
                            absl::Span<Computation* const> calls) {
  return main_ = b.op_shaped(o, all_types(), operands, std::move(attrs), calls);
}

void OpImport::bind(size_t k, Instr* value) {
  if (k >= types_.size() || !value) {
    fail(internal("result ", k, " of ", op.name, " does not exist"));
    return;
  }
  if (!main_) main_ = value;
  scope.values[op.result(k)] = value;
  if (!ok() || value->shape == types_[k]) return;
  if (quantized(types_[k]) || quantized(value->shape)) {
    if (value->shape.dtype != types_[k].dtype || value->shape.dims != types_[k].dims)
      fail(invalid("the result type ", to_string(types_[k], false), " does not match ",
                   to_string(value->shape, false)));
    return;
  }
  auto merged = merge_shapes(types_[k], value->shape);
  if (!merged.ok()) return fail(merged.status());
  if (value->shape == *merged) return;
  // A value that something else made (an identity) keeps its shape.
  const bool own = value->users.empty() && !value->is(Op::kParameter);
  if (own) b.computation()->set_shape(value, *merged);
}

void OpImport::bind_all(Instr* value) {
  if (!main_) main_ = value;
  if (types_.size() == 1) return bind(0, value);
  if (!ok()) return;
  if (!value->shape.is_tuple() || value->shape.tuple.size() != types_.size())
    return fail(
        invalid("expected ", types_.size(), " results, got ", to_string(value->shape, false)));
  Shape all = value->shape;
  for (size_t k = 0; k < types_.size(); ++k) {
    auto merged = merge_shapes(types_[k], all.tuple[k]);
    if (!merged.ok()) return fail(merged.status());
    all.tuple[k] = *merged;
  }
  if (!(all == value->shape) && !value->is(Op::kTuple)) b.computation()->set_shape(value, all);
  for (size_t k = 0; k < types_.size(); ++k)
    scope.values[op.result(k)] = b.element(value, static_cast<int64_t>(k));
}

Instr* OpImport::in_as(size_t k, Dtype t) {
  Instr* x = ins_[k];
  return x->shape.dtype == t || !x->shape.is_array() ? x : b.convert(t, x);
}

Instr* OpImport::spread(Instr* scalar, const Shape& like) {
  if (!scalar->shape.is_scalar() || like.rank() == 0 || !like.is_static()) return scalar;
  Instr* i = b.broadcast(scalar, like.dims, {});
  if (like.has_bounded_dim()) {
    Shape s = i->shape;
    s.dynamic = like.dynamic;
    b.computation()->set_shape(i, s);
  }
  return i;
}

Status op_error(const mlir::Module& source, const mlir::Op& op, const Status& why) {
  const std::string_view why_text(why.message().data(), why.message().size());
  // The error often begins with the op's name already.
  std::string said = str_cat(why_text.starts_with(op.name) ? "" : str_cat(op.name, ": "), why_text);
  const std::string where = mlir::to_string(op.loc);
  if (op.at && !source.text.empty()) {
    if (!where.empty()) said = str_cat(where, ": ", said);
    const Status at = Lexer(source.text, source.file)
                          .error(static_cast<size_t>(op.at - source.text.data()), said);
    said = std::string(at.message());
  } else if (!where.empty()) {
    said = str_cat(where, ": ", said);
  }
  constexpr size_t kMost = 8;
  auto list = [&](size_t n, auto id) {
    std::string out;
    for (size_t k = 0; k < n && k < kMost; ++k)
      out += str_cat(k ? ", " : "", mlir::print_type(source.type(id(k))));
    return n > kMost ? out + ", .." : out;
  };
  const std::string in = list(op.operands.size(), [&](size_t k) { return op.operands[k]; });
  const std::string out = list(op.num_results, [&](size_t k) { return op.result(uint32_t(k)); });
  return Status(why.code(), str_cat(said, "\n  in: ", op.name,
                                    " : (", in, ") -> (", out, ")"));
}

}  // namespace braze::stablehlo
