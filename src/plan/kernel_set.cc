// SPDX-License-Identifier: Apache-2.0
#include "plan/kernel_set.h"

#include "loop/lower.h"
#include "loop/structure_key.h"

namespace braze {
namespace {

// Where the operands of a product begin becomes part of the step, so that products that differ in
// nothing else share their kernel.
std::vector<int64_t> take_offsets(loop::Kernel& k, size_t inputs) {
  std::vector<int64_t> offsets;
  if (!k.contraction || k.chain) return offsets;
  loop::Contraction& c = *k.contraction;
  if (c.lhs_buffer == c.rhs_buffer) return offsets;
  auto take = [&](int64_t buffer, int64_t* offset) {
    if (*offset == 0) return;
    for (int32_t n = 0; n < k.graph.size(); ++n) {
      const scalar::Node& node = k.graph[scalar::Scalar{n}];
      if (node.op == scalar::Op::kLoad && node.imm == buffer) return;
    }
    offsets.resize(inputs);
    offsets[static_cast<size_t>(buffer)] = *offset * byte_size(k.buffers[static_cast<size_t>(buffer)].dtype);
    *offset = 0;
  };
  take(c.lhs_buffer, &c.lhs_offset);
  take(c.rhs_buffer, &c.rhs_offset);
  return offsets;
}

}  // namespace

const LoweredKernel& KernelSet::lowered(const Computation& fused, std::string_view name) {
  auto [it, fresh] = lowered_.try_emplace(loop::computation_key(fused));
  LoweredKernel& out = it->second;
  if (!fresh) return out;
  auto made = loop::lower(fused, name, options_.facts);
  if (!made.ok()) return out;
  auto k = std::make_unique<loop::Kernel>(std::move(made).value());
  out.workspace = k->workspace_bytes() + (options_.workspace_bytes ? options_.workspace_bytes(*k) : 0);
  out.offsets = take_offsets(*k, fused.params().size());
  auto [place, added] = by_text_.try_emplace(loop::canonical_text(*k), static_cast<int64_t>(list_.size()));
  if (added) list_.push_back(std::move(k));
  out.kernel = place->second;
  return out;
}

}  // namespace braze
