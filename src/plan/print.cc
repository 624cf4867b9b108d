// SPDX-License-Identifier: Apache-2.0
// Plans as text, and counts of their steps.
#include "plan/plan.h"

namespace braze {
namespace {

int64_t count(const PlanSteps& steps, PlanStep::Kind kind) {
  int64_t n = 0;
  for (const PlanStep& s : steps) {
    n += s.kind == kind;
    for (const PlanSteps& inner : s.nested) n += count(inner, kind);
  }
  return n;
}

void print(const Plan& p, const PlanSteps& steps, int depth, std::string* out) {
  auto list = [&](const std::vector<int64_t>& v) {
    std::string t;
    for (int64_t b : v) t += str_cat(t.empty() ? "" : " ", "%", b);
    return t;
  };
  for (const PlanStep& s : steps) {
    out->append(depth * 2, ' ');
    std::string label = s.instr ? s.instr->name : std::string();
    switch (s.kind) {
      case PlanStep::Kind::kKernel:
        *out += str_cat(list(s.outputs), " = kernel ", p.kernels[s.kernel]->name, "(", list(s.inputs), ")\n");
        break;
      case PlanStep::Kind::kLibrary:
        *out += str_cat(list(s.outputs), " = library ", name(s.instr->op), " ", label, "(", list(s.inputs), ")\n");
        break;
      case PlanStep::Kind::kCopy: *out += str_cat(list(s.outputs), " = copy ", list(s.inputs), "\n"); break;
      default:
        *out += str_cat(s.kind == PlanStep::Kind::kWhile ? "while %" : "conditional %", s.predicate, " -> ",
                        list(s.outputs), "\n");
        for (const PlanSteps& inner : s.nested) {
          out->append(depth * 2, ' ');
          *out += "{\n";
          print(p, inner, depth + 1, out);
          out->append(depth * 2, ' ');
          *out += "}\n";
        }
    }
  }
}

}  // namespace

int64_t Plan::kernel_launches() const { return count(steps, PlanStep::Kind::kKernel); }
int64_t Plan::library_calls() const { return count(steps, PlanStep::Kind::kLibrary); }

std::string to_string(const Plan& p) {
  std::string out = str_cat("plan: arena ", p.arena_bytes, " bytes, ", p.kernels.size(), " kernels\n");
  constexpr std::string_view kKinds[] = {"arena", "argument", "constant", "result"};
  for (size_t i = 0; i < p.buffers.size(); ++i) {
    const PlanBuffer& b = p.buffers[i];
    bool arena = b.kind == PlanBuffer::Kind::kArena;
    out += str_cat("%", i, " ", kKinds[static_cast<int>(b.kind)], " ", arena ? b.offset : b.index, " ",
                   to_string(b.shape, false), "\n");
  }
  print(p, p.steps, 0, &out);
  return out;
}

}  // namespace braze
