// SPDX-License-Identifier: Apache-2.0
#include "backend/memory_report.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_format.h"

namespace braze {
namespace {

class Walker {
 public:
  explicit Walker(const Plan& p) : p_(p), lives_(p.buffers.size()) {}
  std::vector<BufferLife> run() {
    walk(p_.steps);
    for (int64_t b : p_.result_buffers) lives_[b].last = std::max(lives_[b].last, next_);
    return std::move(lives_);
  }
  int64_t steps() const { return next_; }

 private:
  void touch(int64_t b, int64_t at, const Instr* writer) {
    if (b < 0) return;
    BufferLife& l = lives_[b];
    if (l.first < 0) l.first = at, l.writer = writer;
    l.last = std::max(l.last, at);
  }
  void walk(const PlanSteps& steps) {
    for (const PlanStep& s : steps) {
      const int64_t at = next_++;
      for (int64_t b : s.inputs) touch(b, at, nullptr);
      for (int64_t b : s.outputs) touch(b, at, s.instr);
      if (s.nested.empty()) continue;
      touch(s.predicate, at, s.instr);
      for (const PlanSteps& inner : s.nested) walk(inner);
      // What existed before the loop and is used in it lives until its end, as its state does.
      const int64_t end = next_ - 1;
      for (int64_t b : s.outputs) touch(b, end, s.instr);
      touch(s.predicate, end, s.instr);
      if (s.kind != PlanStep::Kind::kWhile) continue;
      for (BufferLife& l : lives_)
        if (l.first >= 0 && l.first <= at && l.last > at) l.last = end;
    }
  }

  const Plan& p_;
  std::vector<BufferLife> lives_;
  int64_t next_ = 0;
};

int64_t bytes_of(const PlanBuffer& b) { return b.shape.is_array() ? b.shape.bytes() : 0; }

}  // namespace

std::vector<BufferLife> buffer_lives(const Plan& p) { return Walker(p).run(); }

Peak arena_peak(const Plan& p) {
  std::vector<BufferLife> lives = buffer_lives(p);
  std::map<int64_t, int64_t> change;  // live bytes added at a step
  for (size_t i = 0; i < p.buffers.size(); ++i) {
    const PlanBuffer& b = p.buffers[i];
    if (b.kind != PlanBuffer::Kind::kArena || lives[i].first < 0) continue;
    change[lives[i].first] += bytes_of(b);
    change[lives[i].last + 1] -= bytes_of(b);
  }
  Peak peak;
  int64_t now = 0;
  for (auto& [step, bytes] : change) {
    now += bytes;
    if (now > peak.bytes) peak = {now, step};
  }
  return peak;
}

namespace {

// Ranges of the arena that a step uses for itself alone.
void workspaces(const Plan& p, const PlanSteps& steps, int64_t* number, std::string* out) {
  for (const PlanStep& s : steps) {
    const int64_t at = (*number)++;
    if (s.workspace >= 0)
      *out += absl::StrFormat("step %d, %s: workspace at offset %d\n", at,
                              s.instr ? s.instr->name : std::string(), s.workspace);
    for (const PlanSteps& inner : s.nested) workspaces(p, inner, number, out);
  }
}

}  // namespace

std::string memory_report(const Plan& p) {
  std::vector<BufferLife> lives = buffer_lives(p);
  constexpr std::string_view kKinds[] = {"arena", "argument", "constant", "result"};
  int64_t total[4] = {};
  for (const PlanBuffer& b : p.buffers) total[static_cast<int>(b.kind)] += bytes_of(b);
  Peak peak = arena_peak(p);
  std::string out = absl::StrFormat(
      "arguments %d bytes, results %d bytes, constants %d bytes\n"
      "arena %d bytes; its buffers would take %d side by side; %d live at step %d, the fullest\n\n"
      "%-7s %-9s %12s %12s  %-11s %-24s %s\n",
      total[1], total[3], total[2], p.arena_bytes, total[0], peak.bytes, peak.step, "buffer",
      "kind", "offset", "bytes", "steps", "written by", "shape");
  for (size_t i = 0; i < p.buffers.size(); ++i) {
    const PlanBuffer& b = p.buffers[i];
    const BufferLife& l = lives[i];
    const bool arena = b.kind == PlanBuffer::Kind::kArena;
    std::string steps = l.first < 0 ? "unused" : str_cat(l.first, "-", l.last);
    out += absl::StrFormat("%-7s %-9s %12d %12d  %-11s %-24s %s\n", str_cat("%", i),
                           std::string(kKinds[static_cast<int>(b.kind)]),
                           arena ? b.offset : b.index, bytes_of(b), steps,
                           l.writer ? l.writer->name : "-", to_string(b.shape, false));
  }
  int64_t number = 0;
  workspaces(p, p.steps, &number, &out);
  return out;
}

}  // namespace braze
