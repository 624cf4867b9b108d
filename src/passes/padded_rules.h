// SPDX-License-Identifier: Apache-2.0
// What each op does with operands that are padded to their bounds; the rules of dynamic_padding.
//
// Interface: padded_rule. A rule builds the op on the padded values and says which sizes its result's
// dimensions have. It may assume nothing of the elements beyond the sizes.
#pragma once

#include <vector>

#include "ops/builder.h"

namespace braze {

struct Padded {
  Instr* value = nullptr;  // of static shape
  // By dimension: its size (a scalar s32), null where all elements count. Empty: none has one.
  absl::InlinedVector<Instr*, 4> size;

  Instr* size_of(int64_t d) const { return size.empty() ? nullptr : size[d]; }
  void set_size(int64_t d, Instr* s) {
    if (s && size.empty()) size.assign(value->shape.rank(), nullptr);
    if (!size.empty()) size[d] = s;
  }
  bool is_padded() const {
    for (const Instr* s : size)
      if (s) return true;
    return false;
  }
};

// What the sizes decided while running must be.
struct Legality {
  Builder& b;
  Instr* truth = nullptr;  // a predicate that all of it holds; null: it does in any case

  void demand(Instr* p) { truth = truth ? b.binary(Op::kAnd, truth, p) : p; }
  // `size` (a scalar s32), demanded to be from 0 to `bound`, where it stays in any case.
  Instr* within(Instr* size, int64_t bound);
};

struct PaddedContext {
  Builder& b;
  const Instr& instr;
  absl::Span<const Padded> operands;
  std::vector<Padded>& results;  // one, or as many as the result tuple has elements
  Legality& legal;
};
using PaddedRule = Status (*)(PaddedContext&);

// Null: none.
PaddedRule padded_rule(const Instr& instr);

// The rules of reshapes; passes/padded_reshape.cc.
Status padded_reshape(PaddedContext& c);
Status padded_dynamic_reshape(PaddedContext& c);

// The shape with its bounds as sizes.
Shape static_shape(const Shape& s);

Instr* size_number(Builder& b, int64_t v);  // a scalar s32

// p's value with `fill` (a scalar) in the padding of the dimensions in `dims`.
Instr* fill_padding(Builder& b, const Padded& p, DimSpan dims, Instr* fill);

}  // namespace braze
