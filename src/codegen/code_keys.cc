// SPDX-License-Identifier: Apache-2.0
#include "codegen/code_keys.h"

#include "codegen/build_id.h"
#include "loop/kernel_key.h"

namespace braze::codegen {
namespace {

// Steps by position: a loop is told by the number of steps before it.
class PlanWriter {
 public:
  PlanWriter(KeyWriter& out, const std::vector<const PlanStep*>& loops) : out_(out), loops_(loops) {}

  void steps(const PlanSteps& list) {
    out_.number(static_cast<int64_t>(list.size()));
    for (const PlanStep& s : list) {
      for (const PlanStep* l : loops_)
        if (l == &s) positions.push_back(count_);
      ++count_;
      out_.number(static_cast<int64_t>(s.kind));
      out_.number(s.kernel);
      out_.numbers(s.inputs);
      out_.numbers(s.offsets);
      out_.numbers(s.outputs);
      out_.number(s.workspace);
      out_.number(s.predicate);
      out_.number(static_cast<int64_t>(s.nested.size()));
      for (const PlanSteps& inner : s.nested) steps(inner);
    }
  }
  std::vector<int64_t> positions;  // of the loops, in order

 private:
  KeyWriter& out_;
  const std::vector<const PlanStep*>& loops_;
  int64_t count_ = 0;
};

}  // namespace

std::vector<Hash128> kernel_keys(const Plan& plan, const Target& target) {
  KeyWriter common;
  common.text(build_id());
  common.text(target.key());
  const Hash128 maker = common.finish();
  std::vector<Hash128> out;
  for (const auto& k : plan.kernels) {
    KeyWriter w;
    w.text("kernel");
    w.hash(maker);
    w.hash(loop::kernel_key(*k));
    out.push_back(w.finish());
  }
  return out;
}

std::vector<Hash128> driver_keys(const Plan& plan, const std::vector<const PlanStep*>& loops,
                                 const std::vector<Hash128>& kernels) {
  if (loops.empty()) return {};
  KeyWriter whole;
  whole.number(static_cast<int64_t>(kernels.size()));
  for (const Hash128& k : kernels) whole.hash(k);
  whole.number(static_cast<int64_t>(plan.buffers.size()));
  for (const PlanBuffer& b : plan.buffers) {
    whole.numbers(std::vector<int64_t>{static_cast<int64_t>(b.kind), b.index, b.offset,
                                       static_cast<int64_t>(b.shape.dtype), b.shape.is_array(),
                                       b.shape.is_array() ? b.shape.bytes() : 0});
  }
  PlanWriter writer(whole, loops);
  writer.steps(plan.steps);
  const Hash128 contents = whole.finish();
  std::vector<Hash128> out;
  for (int64_t position : writer.positions) {
    KeyWriter w;
    w.text("driver");
    w.hash(contents);
    w.number(position);
    out.push_back(w.finish());
  }
  return out;
}

Hash128 program_key(const std::vector<Hash128>& units) {
  KeyWriter w;
  w.text("program");
  for (const Hash128& u : units) w.hash(u);
  return w.finish();
}

std::string kernel_symbol(const Hash128& key) { return "kernel_" + to_hex(key); }
std::string driver_symbol(const Hash128& key) { return "loop_" + to_hex(key); }

}  // namespace braze::codegen
