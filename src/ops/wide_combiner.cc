// SPDX-License-Identifier: Apache-2.0
#include "ops/wide_combiner.h"

namespace braze {
namespace {

bool is_narrow(const Shape& s) {
  return s.is_array() && is_float(s.dtype) && !is_complex(s.dtype) && bit_size(s.dtype) < 32;
}

// Ops that give one of their operands or a truth value: exact in any type.
bool rounds(Op op) {
  switch (op) {
    case Op::kParameter:
    case Op::kConstant:
    case Op::kTuple:
    case Op::kMaximum:
    case Op::kMinimum:
    case Op::kSelect:
    case Op::kClamp:
    case Op::kCompare:
    case Op::kNegate:
    case Op::kAbs: return false;
    default: return true;
  }
}

bool may_widen(const Instr& i) {
  if (i.shape.quant || !i.calls.empty()) return false;
  if (i.op == Op::kTuple) return i.parent->root() == &i;
  if (!i.shape.is_scalar()) return false;
  switch (i.op) {
    case Op::kBitcastConvert:
    case Op::kReducePrecision:
    case Op::kCustomCall: return false;
    case Op::kConvert: return !is_narrow(i.shape);
    default: return true;
  }
}

}  // namespace

Computation* widened(Module& into, const Computation& body) {
  bool gains = false;
  for (const auto& i : body.instrs()) {
    if (!may_widen(*i)) return nullptr;
    gains |= is_narrow(i->shape) && rounds(i->op);
  }
  if (!gains) return nullptr;
  Computation* c = into.clone_computation(body, body.name() + ".wide");
  for (const auto& i : c->instrs()) {
    if (i->op == Op::kTuple) {
      Shape s = i->shape;
      for (Shape& part : s.tuple)
        if (is_narrow(part)) part = part.with_dtype(Dtype::kF32);
      c->set_shape(i.get(), s);
    } else if (is_narrow(i->shape)) {
      if (i->is_constant())
        c->set_attrs(i.get(), ConstantAttrs{Literal::scalar(Dtype::kF32, i->literal().get_float(0))});
      c->set_shape(i.get(), i->shape.with_dtype(Dtype::kF32));
    }
  }
  return c;
}

}  // namespace braze
