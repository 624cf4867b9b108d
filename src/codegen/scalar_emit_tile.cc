// SPDX-License-Identifier: Apache-2.0
// Tiles: as many iterations of a loop as a vector has lanes, of which each wants a strided vector
// from memory that the next one's neighbours lie beside.
//
//   lane j of iteration u: a[j·stride + u]     W whole vectors a[j·stride …], transposed in
//   registers
#include <algorithm>
#include <cstdlib>

#include "codegen/scalar_emit_impl.h"
#include "llvm/IR/Constants.h"

namespace braze::codegen {
namespace {

using llvm::Value;
using scalar::Node;

// Half of the elements of x and y: blocks of `block` elements, in the order that `pick` gives for
// the block's number.
template <typename F>
Value* blocks_of(llvm::IRBuilderBase& b, Value* x, Value* y, int width, int block, F pick) {
  llvm::SmallVector<int, 64> lanes(width);
  for (int i = 0; i < width; ++i) lanes[i] = pick(i / block) * block + i % block;
  return b.CreateShuffleVector(x, y, lanes);
}

// Row i's element j becomes row j's element i: first within 128-bit parts, by unpacking, then the
// parts.
void transpose(llvm::IRBuilderBase& b, std::vector<Value*>& rows, int in_part) {
  const int width = static_cast<int>(rows.size()), parts = width / in_part;
  std::vector<Value*> next(rows.size());
  for (int n = in_part; n > 1; n /= 2) {
    for (int g = 0; g < width; g += in_part)
      for (int i = 0; i < in_part / 2; ++i)
        for (int high = 0; high < 2; ++high)
          // In each part: its elements from the low or high half of x's and y's, in turn.
          next[g + 2 * i + high] =
              blocks_of(b, rows[g + i], rows[g + i + in_part / 2], width, 1, [&](int e) {
                const int part = e / in_part, at = e % in_part;
                return (at % 2) * width + part * in_part + high * (in_part / 2) + at / 2;
              });
    rows.swap(next);
  }
  for (int n = parts; n > 1; n /= 2) {
    for (int k = 0; k < in_part; ++k)
      for (int i = 0; i < parts / 2; ++i)
        for (int odd = 0; odd < 2; ++odd)
          next[(i + odd * (parts / 2)) * in_part + k] =
              blocks_of(b, rows[2 * i * in_part + k], rows[(2 * i + 1) * in_part + k], width,
                        in_part, [&](int part) { return 2 * part + odd; });
    rows.swap(next);
  }
}

}  // namespace

std::vector<Scalar> ScalarEmitter::transposable(absl::Span<const Scalar> roots, int64_t var) {
  Impl& e = *impl_;
  std::vector<Scalar> out, todo(roots.begin(), roots.end());
  absl::flat_hash_map<int32_t, bool> seen;
  while (!todo.empty()) {
    const Scalar s = todo.back();
    todo.pop_back();
    if (!s || !e.g.depends_on(s, var) || !seen.emplace(s.id, true).second) continue;
    const Node& n = e.g[s];
    int64_t along = 0;
    if (n.op == scalar::Op::kLoad && !n.args[1] && e.buffers.contains(n.imm) &&
        byte_size(n.type) * e.width >= 16 && e.g.stride_in(n.args[0], var, &along) && std::abs(along) == 1) {
      const Access a = e.access_of_offset(n.args[0]);
      if (a.kind == Access::kStrided && std::abs(a.stride) > kMaxShuffleStride) out.push_back(s);
    }
    for (Scalar a : n.args) todo.push_back(a);
  }
  return out;
}

std::vector<Value*> ScalarEmitter::load_transposed(Scalar load, int64_t var) {
  Impl& e = *impl_;
  const Node& n = e.g[load];
  const BufferBinding& buffer = e.buffers[n.imm];
  const int64_t stride = e.access_of_offset(n.args[0]).stride;
  llvm::Type* element = memory_type(e.b.getContext(), n.type);
  auto* type = llvm::FixedVectorType::get(element, e.width);
  const llvm::Align align = Impl::element_align(buffer, n.type);
  int64_t along = 1;
  e.g.stride_in(n.args[0], var, &along);
  Value* base = e.address(buffer, n.type, e.get(n.args[0], Mode::kBase), e.g.type(n.args[0]));
  if (along < 0) base = e.b.CreateConstGEP1_64(element, base, 1 - e.width);
  std::vector<Value*> rows;
  for (int j = 0; j < e.width; ++j) {
    Value* p = e.b.CreateConstGEP1_64(element, base, j * stride);
    if (e.mask) p = e.b.CreateSelect(e.b.CreateExtractElement(e.mask, j), p, e.zeros());
    Value* row = e.b.CreateAlignedLoad(type, p, align);
    rows.push_back(e.mask ? row : e.attach(row, buffer, true));
  }
  transpose(e.b, rows, 16 / byte_size(n.type));
  if (along < 0) std::reverse(rows.begin(), rows.end());
  for (Value*& row : rows) row = e.to_register(n.type, row);
  return rows;
}

void ScalarEmitter::bind_load(Scalar load, Value* value) {
  impl_->remember(Impl::key(load, Mode::kVector), value);
}

}  // namespace braze::codegen
