// SPDX-License-Identifier: Apache-2.0
#include "eval/evaluator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/float_environment.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "ops/quantized.h"

namespace braze {
namespace {

// Computations calling each other nest native frames of evaluator and rows; real programs stay
// below 20.
constexpr int kMaxDepth = 256;

// Bytes of a value, saturating: sizes come from the program.
int64_t bytes_of(const Shape& s) {
  constexpr int64_t kHuge = INT64_MAX / 4;
  if (s.is_tuple()) {
    int64_t n = 0;
    for (const Shape& t : s.tuple) n = std::min(kHuge, n + bytes_of(t));
    return n;
  }
  int64_t n = byte_size(s.dtype);
  for (int64_t d : s.dims) {
    if (d == kUnknownDim) continue;
    if (d < 0 || __builtin_mul_overflow(n, d, &n)) return kHuge;
  }
  return std::min(n, kHuge);
}

// A value may take the place of `want`: equal types, and sizes where these are fixed.
bool fits(const Shape& got, const Shape& want) {
  if (got.dtype != want.dtype || got.dims.size() != want.dims.size() ||
      got.tuple.size() != want.tuple.size())
    return false;
  for (size_t i = 0; i < want.dims.size(); ++i) {
    if (want.dims[i] == kUnknownDim || got.dims[i] == want.dims[i]) continue;
    if (!want.is_dynamic(static_cast<int64_t>(i)) || got.dims[i] > want.dims[i]) return false;
  }
  for (size_t i = 0; i < want.tuple.size(); ++i)
    if (!fits(got.tuple[i], want.tuple[i])) return false;
  return true;
}

// Whether the row's own eval takes stored integers for what they are: ops that only move or pass
// values.
bool passes_quantized(const OpDef& row) {
  return row.has(kMovement) || row.step == Step::kControl || row.step == Step::kFree ||
         row.op == Op::kConstant || row.op == Op::kParameter;
}

bool quantized(const Instr& i) {
  if (i.shape.quant) return true;
  for (const Shape& t : i.shape.tuple)
    if (t.quant) return true;
  return std::any_of(i.operands.begin(), i.operands.end(),
                     [](const Instr* o) { return o->shape.quant != nullptr; });
}

// `l` cut to `dims` where it is larger, with zeros behind it where it is smaller.
Literal resized(const Literal& l, const Dims& dims) {
  Shape s = l.shape();
  s.dims = dims;
  s.layout.clear();
  s.dynamic.clear();
  Literal out(s);
  const Dims& from = l.shape().dims;
  Dims both = dims;
  for (size_t d = 0; d < both.size(); ++d) both[d] = std::min(both[d], from[d]);
  const int64_t item = byte_size(s.dtype), row = both.back() * item;
  if (std::find(both.begin(), both.end(), 0) != both.end()) return out;
  Dims index(dims.size(), 0);
  char* to = static_cast<char*>(out.mutable_bytes());
  do {
    std::memcpy(to + linear_index(index, dims) * item, l.bytes() + linear_index(index, from) * item, row);
    size_t d = dims.size() - 1;
    while (d-- > 0)
      if (++index[d] < both[d]) break;
      else index[d] = 0;
    if (d == static_cast<size_t>(-1)) return out;
  } while (true);
}

// Operands of an op that works element by element, some of a size that was decided while running: the first
// one that is bounded says how many elements count, as in passes/padded_rules.
void agree_on_sizes(const Instr& i, std::vector<Literal>* operands) {
  Dims size;
  bool differ = false;
  for (const Literal& l : *operands) {
    const Dims& d = l.shape().dims;
    if (d.empty()) continue;
    if (size.empty()) size = d;
    if (d.size() != size.size()) return;
    for (size_t k = 0; k < d.size(); ++k) {
      differ |= d[k] != size[k];
      size[k] = std::min(size[k], d[k]);
    }
  }
  if (!differ) return;
  for (size_t k = 0; k < size.size(); ++k)
    for (size_t j = operands->size(); j-- > 0;)
      if (i.operand(j)->shape.rank() == static_cast<int64_t>(size.size()) && i.operand(j)->shape.is_dynamic(k))
        size[k] = (*operands)[j].shape().dims[k];
  for (Literal& l : *operands)
    if (!l.shape().dims.empty() && l.shape().dims != size) l = resized(l, size);
}

// Storage is new, not shared with an operand: what counts against the memory limit.
bool allocates(const OpDef& row) {
  return row.step != Step::kFree && row.step != Step::kControl && row.op != Op::kConstant &&
         row.op != Op::kParameter;
}

// What a step allocates: its value, unless that shares its operands' storage, and what its row needs in
// the meantime.
struct Need {
  int64_t value = 0, scratch = 0;
};

int64_t elements_of(const Shape& s) {
  constexpr int64_t kMost = int64_t{1} << 40;
  if (!s.is_array()) return 0;
  return std::min(bytes_of(s) / std::max(byte_size(s.dtype), 1), kMost);
}

// An element in the type that sums are carried out in, and its offset while it is brought there.
int64_t wide_size(Dtype t) {
  return 16 + (is_complex(t) ? 2 : 1) * (real_of(t) == Dtype::kF64 ? 16 : 8);
}

int64_t scratch_of(const OpDef& row, absl::Span<const Shape* const> operands, const Shape& result) {
  const bool sorts = row.op == Op::kSort || row.op == Op::kTopK;
  const bool solves =
      row.op == Op::kFft || row.op == Op::kCholesky || row.op == Op::kTriangularSolve;
  const bool sums = (row.nest != Nest::kNone && row.nest != Nest::kDynamicUpdateSlice) ||
                    row.op == Op::kRaggedDot;
  int64_t n = 0;
  for (const Shape* o : operands) {
    const int64_t each = solves ? 96 : sorts ? 40 : sums ? wide_size(o->dtype) : 0;
    n += elements_of(*o) * each;
    if (row.op == Op::kCustomCall) n += 4 * std::min(bytes_of(*o), INT64_MAX / 64);
  }
  if (row.op == Op::kRaggedDot) n += elements_of(result) * wide_size(result.dtype);
  if (row.op == Op::kRngBitGenerator)
    for (const Shape& part : result.tuple) n += elements_of(part) * 8;
  return n;
}

Need need_of(const OpDef& row, absl::Span<const Shape* const> operands, const Shape& result,
             bool quantized) {
  Need n{allocates(row) ? bytes_of(result) : 0, scratch_of(row, operands, result)};
  if (!quantized) return n;  // the rest: in the expressed type
  n.scratch += elements_of(result) * 8;
  for (const Shape* o : operands) n.scratch += elements_of(*o) * 8;
  return n;
}

// Some size of the instruction is known only while it runs.
bool is_open(const Instr& i) {
  return !i.shape.is_static() || std::any_of(i.operands.begin(), i.operands.end(), [](const Instr* o) {
    return !o->shape.is_static();
  });
}

// need_of for the sizes at hand. Where the result's follow from data, as many bytes as the operands
// have: such rows evaluate their parts one by one, and each of these is asked for by itself.
Need need_now(const Instr& i, const OpDef& row, bool quantized, absl::Span<const Literal> operands) {
  std::vector<const Shape*> shapes;
  for (const Literal& l : operands) shapes.push_back(&l.shape());
  const auto inferred = row.infer({i.op, shapes, i.attrs, i.calls, &i.shape});
  if (inferred.ok() && inferred->is_static()) return need_of(row, shapes, *inferred, quantized);
  Need n = need_of(row, shapes, i.shape, quantized);
  int64_t all = 0;
  for (const Shape* s : shapes) all += std::min(bytes_of(*s), INT64_MAX / 64);
  if (n.value > 0) n.value = std::max(n.value, all);
  return n;
}

// No more than the machine has, whatever is asked for.
int64_t bounded_by_machine(int64_t bytes) {
  static const int64_t most = [] {
    const int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    return pages > 0 && page > 0 ? pages / 4 * 3 * page : INT64_MAX;
  }();
  return std::min(bytes, most);
}

constexpr std::string_view kTooLong = "evaluation takes more than ";
constexpr int64_t kStepsPerLook = 64;  // at the clock

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

constexpr int64_t kAskedFor = int64_t{16} << 20;

// Whether the system would give so many bytes now, and kAskedFor more.
bool has_memory(int64_t bytes) {
  const auto size = static_cast<size_t>(bytes + kAskedFor);
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return false;
  munmap(p, size);
  return true;
}

// A computation laid out for evaluation: steps in post order, values in numbered slots, each freed
// after its last use.
struct Layout {
  struct Step {
    const Instr* instr;
    const OpDef* row;
    int32_t operands, operand_count;  // in `slots`
    int32_t frees, free_count;        // in `slots`
    Need need;                        // if not `open`
    bool quantized, open;
  };
  std::vector<Step> steps;  // step k defines slot k
  std::vector<int32_t> slots;
  int32_t root = -1;
};

Layout::Step step_of(const Instr& i, const OpDef& row) {
  std::vector<const Shape*> shapes;
  for (const Instr* o : i.operands) shapes.push_back(&o->shape);
  const bool q = !passes_quantized(row) && quantized(i);
  return {&i, &row, 0, 0, 0, 0, need_of(row, shapes, i.shape, q), q, is_open(i)};
}

Result<Layout> lay_out(const Computation& c) {
  const std::vector<Instr*> order = post_order(c);
  Layout out;
  absl::flat_hash_map<const Instr*, int32_t> slot;
  slot.reserve(order.size());
  out.steps.reserve(order.size());
  for (const Instr* i : order) {
    const OpDef& row = def(*i);
    if (!row.eval) return unimplemented("'", i->name, "': no evaluation for ", name(i->op));
    if (static_cast<int>(i->attrs.index()) != row.attrs)
      return internal("'", i->name, "': attributes of another op than ", name(i->op));
    Layout::Step s = step_of(*i, row);
    s.operands = static_cast<int32_t>(out.slots.size());
    s.operand_count = static_cast<int32_t>(i->operands.size());
    for (const Instr* o : i->operands) {
      auto it = slot.find(o);
      if (it == slot.end())
        return internal("'", i->name, "' uses '", o->name, "', which is not before it");
      out.slots.push_back(it->second);
    }
    slot[i] = static_cast<int32_t>(out.steps.size());
    out.steps.push_back(s);
  }
  auto it = slot.find(c.root());
  if (it == slot.end()) return internal("'", c.name(), "' has no root");
  out.root = it->second;
  // Last uses, from the end.
  std::vector<bool> used(out.steps.size(), false);
  used[out.root] = true;
  std::vector<std::vector<int32_t>> frees(out.steps.size());
  for (int32_t k = static_cast<int32_t>(out.steps.size()) - 1; k >= 0; --k) {
    const Layout::Step& s = out.steps[k];
    if (!used[k]) frees[k].push_back(k);  // run for its effect only
    for (int32_t j = 0; j < s.operand_count; ++j) {
      const int32_t o = out.slots[s.operands + j];
      if (!used[o]) frees[k].push_back(o);
      used[o] = true;
    }
  }
  for (size_t k = 0; k < frees.size(); ++k) {
    out.steps[k].frees = static_cast<int32_t>(out.slots.size());
    out.steps[k].free_count = static_cast<int32_t>(frees[k].size());
    out.slots.insert(out.slots.end(), frees[k].begin(), frees[k].end());
  }
  return out;
}

// `home` is the module whose computations are laid out once. Rows evaluate parts of theirs in modules
// that they make and drop, whose computations may lie where others lay before; messages name the
// instruction at home for which that happens.
class Evaluator {
 public:
  Evaluator(const EvalOptions& o, const Module* home)
      : options_(o), home_(home), max_bytes_(bounded_by_machine(o.max_bytes)),
        cpu_end_(o.max_cpu_seconds > 0 ? cpu_seconds() + o.max_cpu_seconds : 0) {}

  Result<Literal> run(const Computation& c, absl::Span<const Literal> args) {
    if (depth_ >= kMaxDepth)
      return exhausted("'", c.name(), "': more than ", kMaxDepth, " nested calls");
    const Layout* layout = nullptr;
    std::unique_ptr<Layout> dropped;  // after this run
    if (auto it = layouts_.find(&c); c.module() == home_ && it != layouts_.end()) {
      layout = it->second.get();
    } else {
      if (!c.root()) return invalid("'", c.name(), "' has no root");
      ASSIGN(Layout fresh, lay_out(c));
      auto& place = c.module() == home_ ? layouts_[&c] : dropped;
      layout = (place = std::make_unique<Layout>(std::move(fresh))).get();
    }
    if (args.size() != c.params().size())
      return invalid("'", c.name(), "' takes ", c.params().size(), " arguments, got ", args.size());
    ++depth_;
    const int64_t live = live_bytes_;
    Result<Literal> value = run_steps(*layout, args);
    live_bytes_ = live;
    --depth_;
    return value;
  }

  Result<Literal> run_instr(const Instr& i, absl::Span<const Literal> operands) {
    const OpDef& row = def(i);
    if (!row.eval) return unimplemented("'", i.name, "': no evaluation for ", name(i.op));
    if (static_cast<int>(i.attrs.index()) != row.attrs || operands.size() != i.operands.size())
      return internal("'", i.name, "': wrong attributes or operands");
    int64_t held = 0;
    return step(step_of(i, row), operands, &held);
  }

 private:
  Result<Literal> run_steps(const Layout& layout, absl::Span<const Literal> args) {
    std::vector<Literal> values(layout.steps.size());
    std::vector<int64_t> held(layout.steps.size(), 0);
    std::vector<Literal> operands;
    for (size_t k = 0; k < layout.steps.size(); ++k) {
      const Layout::Step& s = layout.steps[k];
      if (s.instr->is(Op::kParameter)) {
        const int64_t n = s.instr->parameter_number();
        if (n < 0 || n >= static_cast<int64_t>(args.size()) ||
            !fits(args[n].shape(), s.instr->shape))
          return invalid("argument ", n, " must be ", to_string(s.instr->shape, false),
                         n >= 0 && n < static_cast<int64_t>(args.size())
                             ? absl::StrCat(", got ", to_string(args[n].shape(), false))
                             : "");
        values[k] = args[n];
        continue;
      }
      operands.clear();
      for (int32_t j = 0; j < s.operand_count; ++j)
        operands.push_back(values[layout.slots[s.operands + j]]);
      // Values used here for the last time live on in `operands` only.
      for (int32_t j = 0; j < s.free_count; ++j) {
        const int32_t slot = layout.slots[s.frees + j];
        if (slot != static_cast<int32_t>(k)) values[slot] = Literal();
      }
      if (s.instr->shape.has_bounded_dim() && s.row->has(kElementwise)) agree_on_sizes(*s.instr, &operands);
      ASSIGN(values[k], step(s, operands, &held[k]));
      for (int32_t j = 0; j < s.free_count; ++j) {
        const int32_t slot = layout.slots[s.frees + j];
        live_bytes_ -= held[slot];
        if (slot == static_cast<int32_t>(k)) values[slot] = Literal();
      }
    }
    return std::move(values[layout.root]);
  }

  Status count_step() {
    ++steps_;
    if (options_.max_steps > 0 && steps_ > options_.max_steps)
      return exhausted(kTooLong, options_.max_steps, " steps");
    if (cpu_end_ > 0 && steps_ % kStepsPerLook == 0 && cpu_seconds() > cpu_end_)
      return exhausted(kTooLong, options_.max_cpu_seconds, " s of processor time");
    return absl::OkStatus();
  }

  // Whether a step may allocate so much. What rows allocate is not checked one by one; the system is
  // asked here, before, whenever kAskedFor bytes come together.
  Status reserve(const Need& need, const Instr& i) {
    if (need.value > max_bytes_ - live_bytes_ - need.scratch)
      return exhausted(at(i), ": ", need.value, " bytes and ", need.scratch,
                       " of scratch exceed the evaluator's memory limit");
    unasked_ += need.value + need.scratch;
    if (unasked_ < kAskedFor) return absl::OkStatus();
    unasked_ = 0;
    if (has_memory(need.value + need.scratch)) return absl::OkStatus();
    return exhausted(at(i), ": no memory for ", need.value, " bytes and ", need.scratch, " of scratch");
  }

  // `held`: bytes that live on with the value.
  Result<Literal> step(const Layout::Step& s, absl::Span<const Literal> operands, int64_t* held) {
    TRY(count_step());
    const bool at_home = !named_ || (s.instr->parent && s.instr->parent->module() == home_);
    const Instr* outer = named_;
    if (at_home) named_ = s.instr;
    Result<Literal> value = checked_step(s, operands, held);
    named_ = outer;
    return value;
  }

  Result<Literal> checked_step(const Layout::Step& s, absl::Span<const Literal> operands,
                               int64_t* held) {
    const Instr& named = *named_;
    const Need need = s.open ? need_now(*s.instr, *s.row, s.quantized, operands) : s.need;
    TRY(reserve(need, named));
    live_bytes_ += *held = need.value;
    auto call = [this](const Computation& c, absl::Span<const Literal> args) {
      return run(c, args);
    };
    const EvalContext ctx{*s.instr, operands, call, options_.world};
    Result<Literal> value = s.quantized ? eval_quantized(ctx) : s.row->eval(ctx);
    if (!value.ok()) {
      if (absl::StartsWith(value.status().message(), "evaluating ")) return value;
      return note(at(named), value.status());
    }
    if (!fits(value->shape(), s.instr->shape))
      return internal(at(named), ": result has shape ", to_string(value->shape(), false),
                      ", not ", to_string(s.instr->shape, false));
    if (s.open && need.value > 0) {
      *held = bytes_of(value->shape());
      live_bytes_ += *held - need.value;
    }
    if (s.instr->shape.quant && !value->shape().quant) return value->reshaped(s.instr->shape);
    return value;
  }

  static std::string at(const Instr& i) {
    const std::string where = i.location();
    return str_cat("evaluating ", name(i.op), " '", i.name, "'", where.empty() ? "" : " at ",
                   where);
  }

  const EvalOptions& options_;
  const Module* home_;
  const int64_t max_bytes_;
  const double cpu_end_;  // by this thread's clock; 0: none
  const Instr* named_ = nullptr;
  absl::flat_hash_map<const Computation*, std::unique_ptr<Layout>> layouts_;
  int64_t steps_ = 0, live_bytes_ = 0, unasked_ = 0;
  int depth_ = 0;
};

}  // namespace

bool is_too_long(const Status& s) {
  return absl::IsResourceExhausted(s) && absl::StrContains(s.message(), {kTooLong.data(), kTooLong.size()});
}

Result<Literal> evaluate(const Module& m, absl::Span<const Literal> args, const EvalOptions& o) {
  if (!m.entry()) return invalid("module '", m.name(), "' has no entry");
  return evaluate(*m.entry(), args, o);
}

Result<Literal> evaluate(const Computation& c, absl::Span<const Literal> args,
                         const EvalOptions& o) {
  const FloatEnvironment floats;
  return Evaluator(o, c.module()).run(c, args);
}

Result<Literal> evaluate(const Instr& i, absl::Span<const Literal> operands, const EvalOptions& o) {
  const FloatEnvironment floats;
  return Evaluator(o, i.parent ? i.parent->module() : nullptr).run_instr(i, operands);
}

}  // namespace braze
