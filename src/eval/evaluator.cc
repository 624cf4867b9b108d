// SPDX-License-Identifier: Apache-2.0
#include "eval/evaluator.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

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

// The first elements of `l` in each dimension, as many as `dims` says.
Literal first_elements(const Literal& l, const Dims& dims) {
  Shape s = l.shape();
  s.dims = dims;
  s.layout.clear();
  s.dynamic.clear();
  Literal out(s);
  const int64_t item = byte_size(s.dtype), row = dims.back() * item;
  if (out.elements() == 0) return out;
  Dims index(dims.size(), 0);
  char* to = static_cast<char*>(out.mutable_bytes());
  do {
    std::memcpy(to, l.bytes() + linear_index(index, l.shape().dims) * item, row);
    to += row;
    size_t d = dims.size() - 1;
    while (d-- > 0)
      if (++index[d] < dims[d]) break;
      else index[d] = 0;
    if (d == static_cast<size_t>(-1)) return out;
  } while (true);
}

// Operands of an op that works element by element, some of a size that was decided while running:
// those that are static at the bound count as far as the smallest reaches.
void crop_to_smallest(std::vector<Literal>* operands) {
  Dims least;
  bool differ = false;
  for (const Literal& l : *operands) {
    const Dims& d = l.shape().dims;
    if (d.empty()) continue;
    if (least.empty()) least = d;
    if (d.size() != least.size()) return;
    for (size_t k = 0; k < d.size(); ++k) {
      differ |= d[k] != least[k];
      least[k] = std::min(least[k], d[k]);
    }
  }
  for (Literal& l : *operands)
    if (differ && !l.shape().dims.empty() && l.shape().dims != least) l = first_elements(l, least);
}

// Storage is new, not shared with an operand: what counts against the memory limit.
bool allocates(const OpDef& row) {
  return row.step != Step::kFree && row.step != Step::kControl && row.op != Op::kConstant &&
         row.op != Op::kParameter;
}

// Bytes a row's eval may need beside its value: operands in wider types, rows being sorted.
int64_t scratch_of(const OpDef& row, const Instr& i) {
  const bool sorts = row.op == Op::kSort || row.op == Op::kTopK;
  const bool solves =
      row.op == Op::kFft || row.op == Op::kCholesky || row.op == Op::kTriangularSolve;
  if (row.nest == Nest::kNone && !sorts && !solves) return 0;
  int64_t n = 0;
  for (const Instr* o : i.operands) {
    const int64_t element = std::max(byte_size(o->shape.dtype), 1);
    n += std::min<int64_t>(bytes_of(o->shape) / element, int64_t{1} << 50) * (solves ? 96 : sorts ? 40 : 16);
  }
  return n;
}

constexpr int64_t kAskedFor = int64_t{16} << 20;

// Whether the system would give so many bytes now. What rows allocate is not checked one by one; large
// requests are asked for here, before.
bool has_memory(int64_t bytes) {
  if (bytes < kAskedFor) return true;
  void* p = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return false;
  munmap(p, static_cast<size_t>(bytes));
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
    int64_t bytes;                    // of the new value; 0 if it shares its operands' storage
    int64_t scratch;                  // needed while it is computed
    bool quantized;
  };
  std::vector<Step> steps;  // step k defines slot k
  std::vector<int32_t> slots;
  int32_t root = -1;
};

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
    Layout::Step s{i, &row, static_cast<int32_t>(out.slots.size()),
                   static_cast<int32_t>(i->operands.size()), 0, 0, 0, 0, false};
    for (const Instr* o : i->operands) {
      auto it = slot.find(o);
      if (it == slot.end())
        return internal("'", i->name, "' uses '", o->name, "', which is not before it");
      out.slots.push_back(it->second);
    }
    s.bytes = allocates(row) ? bytes_of(i->shape) : 0;
    s.scratch = scratch_of(row, *i);
    s.quantized = !passes_quantized(row) && quantized(*i);
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

class Evaluator {
 public:
  explicit Evaluator(const EvalOptions& o) : options_(o) {}

  Result<Literal> run(const Computation& c, absl::Span<const Literal> args) {
    if (depth_ >= kMaxDepth)
      return exhausted("'", c.name(), "': more than ", kMaxDepth, " nested calls");
    const Layout* layout = nullptr;
    if (auto it = layouts_.find(&c); it != layouts_.end()) {
      layout = it->second.get();
    } else {
      if (!c.root()) return invalid("'", c.name(), "' has no root");
      ASSIGN(Layout fresh, lay_out(c));
      layout = (layouts_[&c] = std::make_unique<Layout>(std::move(fresh))).get();
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
    Layout::Step s{&i, &row, 0, 0, 0, 0, allocates(row) ? bytes_of(i.shape) : 0,
                   scratch_of(row, i), !passes_quantized(row) && quantized(i)};
    return step(s, operands);
  }

 private:
  Result<Literal> run_steps(const Layout& layout, absl::Span<const Literal> args) {
    std::vector<Literal> values(layout.steps.size());
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
      if (s.instr->shape.has_bounded_dim() && s.row->has(kElementwise)) crop_to_smallest(&operands);
      ASSIGN(values[k], step(s, operands));
      for (int32_t j = 0; j < s.free_count; ++j) {
        const int32_t slot = layout.slots[s.frees + j];
        live_bytes_ -= layout.steps[slot].bytes;
        if (slot == static_cast<int32_t>(k)) values[slot] = Literal();
      }
    }
    return std::move(values[layout.root]);
  }

  Result<Literal> step(const Layout::Step& s, absl::Span<const Literal> operands) {
    if (options_.max_steps > 0 && ++steps_ > options_.max_steps)
      return exhausted("evaluation takes more than ", options_.max_steps, " steps");
    if (s.bytes + s.scratch > options_.max_bytes - live_bytes_)
      return exhausted(at(*s.instr), ": ", s.bytes, " bytes and ", s.scratch,
                       " of scratch exceed the evaluator's memory limit");
    if (!has_memory(s.bytes + s.scratch))
      return exhausted(at(*s.instr), ": no memory for ", s.bytes, " bytes and ", s.scratch,
                       " of scratch");
    live_bytes_ += s.bytes;
    auto call = [this](const Computation& c, absl::Span<const Literal> args) {
      return run(c, args);
    };
    const EvalContext ctx{*s.instr, operands, call, options_.world};
    Result<Literal> value = s.quantized ? eval_quantized(ctx) : s.row->eval(ctx);
    if (!value.ok()) {
      if (absl::StartsWith(value.status().message(), "evaluating ")) return value;
      return note(at(*s.instr), value.status());
    }
    if (!fits(value->shape(), s.instr->shape))
      return internal(at(*s.instr), ": result has shape ", to_string(value->shape(), false),
                      ", not ", to_string(s.instr->shape, false));
    if (s.instr->shape.quant && !value->shape().quant) return value->reshaped(s.instr->shape);
    return value;
  }

  static std::string at(const Instr& i) {
    const std::string where = i.location();
    return str_cat("evaluating ", name(i.op), " '", i.name, "'", where.empty() ? "" : " at ",
                   where);
  }

  const EvalOptions& options_;
  absl::flat_hash_map<const Computation*, std::unique_ptr<Layout>> layouts_;
  int64_t steps_ = 0, live_bytes_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Literal> evaluate(const Module& m, absl::Span<const Literal> args, const EvalOptions& o) {
  if (!m.entry()) return invalid("module '", m.name(), "' has no entry");
  return evaluate(*m.entry(), args, o);
}

Result<Literal> evaluate(const Computation& c, absl::Span<const Literal> args,
                         const EvalOptions& o) {
  return Evaluator(o).run(c, args);
}

Result<Literal> evaluate(const Instr& i, absl::Span<const Literal> operands, const EvalOptions& o) {
  return Evaluator(o).run_instr(i, operands);
}

}  // namespace braze
