// SPDX-License-Identifier: Apache-2.0
#include "codegen/first_lanes.h"

#include <bit>

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"

namespace braze::codegen {

int known_first_lanes(llvm::Value* mask) {
  const auto* c = llvm::dyn_cast_or_null<llvm::Constant>(mask);
  if (!c) return 0;
  const auto n = static_cast<int>(llvm::cast<llvm::FixedVectorType>(c->getType())->getNumElements());
  const auto on = [&](int i) {
    const llvm::Constant* lane = c->getAggregateElement(static_cast<unsigned>(i));
    return lane && lane->isOneValue();
  };
  int first = 0;
  while (first < n && on(first)) ++first;
  for (int i = first; i < n; ++i)
    if (const llvm::Constant* lane = c->getAggregateElement(static_cast<unsigned>(i)); !lane || !lane->isNullValue()) return 0;
  return first;
}

llvm::SmallVector<LanePiece, 2> pieces_of(int n) {
  const int first = static_cast<int>(std::bit_floor(static_cast<unsigned>(n)));
  if (first == n) return {{0, n}};
  const int last = static_cast<int>(std::bit_ceil(static_cast<unsigned>(n - first)));
  return {{0, first}, {n - last, last}};
}

}  // namespace braze::codegen
