// SPDX-License-Identifier: Apache-2.0
// The op table: the families' rows, by opcode; and the checks of infer_shape.
#include <array>

#include "ops/op_def.h"

namespace braze {

namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 62;

using Table = std::array<OpDef, kOpCount>;

Table build_table() {
  Table table;
  for (int i = 0; i < kOpCount; ++i) table[i].op = static_cast<Op>(i);
  for (auto family :
       {unary_rows, binary_rows, select_rows, create_rows, movement_rows, dynamic_rows,
        indexed_rows, reduce_rows, dot_rows, conv_rows, sort_rows, control_rows, linalg_rows,
        effect_rows, collective_rows, rng_rows, quantized_rows})
    for (const OpDef& row : family()) table[static_cast<int>(row.op)] = row;
  return table;
}

Status check_size(Op op, const Shape& s) {
  for (const Shape& part : s.tuple) TRY(check_size(op, part));
  int64_t bytes = s.is_array() ? byte_size(s.dtype) : 0;
  for (int64_t d : s.dims) {
    if (d == kUnknownDim) continue;
    if (d < 0) return invalid(message_name(op), ": negative dimension in ", to_string(s, false));
    if (__builtin_mul_overflow(bytes, d > 0 ? d : 1, &bytes) || bytes > kMaxBytes)
      return invalid(message_name(op), ": shape ", to_string(s, false),
                     " is larger than 2^62 bytes");
  }
  return absl::OkStatus();
}

// What a program states may be less precise than what is inferred, as MLIR allows.
bool agrees(const Shape& inferred, const Shape& proposed) {
  if (inferred.dtype != proposed.dtype || inferred.dims.size() != proposed.dims.size() ||
      inferred.tuple.size() != proposed.tuple.size())
    return false;
  for (size_t i = 0; i < inferred.dims.size(); ++i)
    if (inferred.dims[i] != proposed.dims[i] && inferred.dims[i] != kUnknownDim &&
        proposed.dims[i] != kUnknownDim)
      return false;
  for (size_t i = 0; i < inferred.tuple.size(); ++i)
    if (!agrees(inferred.tuple[i], proposed.tuple[i])) return false;
  return true;
}

}  // namespace

const OpDef& def(Op op) {
  static const Table* table = new Table(build_table());
  return (*table)[static_cast<int>(op)];
}

std::string_view message_name(Op op) {
  const OpDef& row = def(op);
  return row.stablehlo.empty() ? name(op) : row.stablehlo;
}

Result<Shape> infer_shape(Op op, absl::Span<const Shape* const> operands, const Attrs& attrs,
                          absl::Span<Computation* const> calls, const Shape* proposed) {
  const OpDef& row = def(op);
  const std::string_view op_name = message_name(op);
  if (row.infer == nullptr) return unimplemented(op_name, ": no shape inference for this op");
  if (row.arity >= 0 && static_cast<int>(operands.size()) != row.arity)
    return invalid(op_name, ": ", operands.size(), " operands given, ", row.arity, " expected");
  if (static_cast<int>(attrs.index()) != row.attrs)
    return invalid(op_name, ": attributes of another op given");
  if (proposed != nullptr) TRY(check_size(op, *proposed));
  ASSIGN(Shape inferred, row.infer({op, operands, attrs, calls, proposed}));
  TRY(check_size(op, inferred));
  if (proposed == nullptr) return inferred;
  if (!agrees(inferred, *proposed))
    return invalid(op_name, ": result shape ", to_string(*proposed, false), " given, ",
                   to_string(inferred, false), " inferred");
  return *proposed;
}

}  // namespace braze
