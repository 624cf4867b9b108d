// SPDX-License-Identifier: Apache-2.0
#include "ops/laws.h"

#include <algorithm>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "ops/op_def.h"

namespace braze {

namespace {

struct CalleeCount {
  size_t least, most;
};

constexpr size_t kAnyNumber = 1 << 20;

CalleeCount callee_count(Op op) {
  switch (op) {
    case Op::kReduce:
    case Op::kReduceWindow:
    case Op::kDynamicReduceWindow:
    case Op::kScatter:
    case Op::kSort:
    case Op::kMap:
    case Op::kCall:
    case Op::kAllReduce:
    case Op::kReduceScatter:
    case Op::kFusion:
      return {1, 1};
    case Op::kWhile:
    case Op::kSelectAndScatter:
      return {2, 2};
    case Op::kConditional:
      return {1, kAnyNumber};
    case Op::kCustomCall:
      return {0, kAnyNumber};
    case Op::kTopK:
      return {0, 1};  // older XLA gives it a comparator
    default:
      return {0, 0};
  }
}

// The sub-shape at `index`, or nullptr.
const Shape* at_index(const Shape& s, DimSpan index) {
  const Shape* at = &s;
  for (int64_t k : index) {
    if (k < 0 || k >= static_cast<int64_t>(at->tuple.size())) return nullptr;
    at = &at->tuple[k];
  }
  return at;
}

std::string braced(DimSpan index) { return str_cat("{", join(index), "}"); }

Status check_layouts(const Module& m) {
  const Computation& entry = *m.entry();
  if (!m.entry_parameter_layouts.empty()) {
    if (m.entry_parameter_layouts.size() != entry.params().size())
      return invalid("entry_computation_layout has ", m.entry_parameter_layouts.size(),
                     " parameters, the entry has ", entry.params().size());
    for (size_t i = 0; i < entry.params().size(); ++i)
      if (!compatible(m.entry_parameter_layouts[i], entry.params()[i]->shape))
        return invalid("entry_computation_layout: parameter ", i, " is ",
                       to_string(m.entry_parameter_layouts[i], false), " there and ",
                       to_string(entry.params()[i]->shape, false), " in the entry");
  }
  if (m.entry_result_layouts.size() > 1)
    return invalid("entry_computation_layout: more than one result");
  if (!m.entry_result_layouts.empty() &&
      !compatible(m.entry_result_layouts[0], entry.root()->shape))
    return invalid("entry_computation_layout: the result is ",
                   to_string(m.entry_result_layouts[0], false), " there and ",
                   to_string(entry.root()->shape, false), " in the entry");
  return {};
}

}  // namespace

Status check_shape(const Instr& i) {
  if (!def(i.op).infer) return {};
  absl::InlinedVector<const Shape*, 4> shapes;
  for (const Instr* o : i.operands) shapes.push_back(&o->shape);
  Result<Shape> s = infer_shape(i.op, shapes, i.attrs, i.calls, &i.shape);
  if (!s.ok()) {
    std::string where = i.location();
    return note(str_cat("'", i.name, "'", where.empty() ? "" : str_cat(" (", where, ")")),
                s.status());
  }
  return {};
}

Status check_size(const Shape& s) {
  constexpr int64_t kMaxBytes = int64_t{1} << 46;
  constexpr size_t kMaxRank = 64;
  for (const Shape& t : s.tuple) TRY(check_size(t));
  if (s.dims.size() > kMaxRank) return invalid("an array of ", s.dims.size(), " dimensions");
  // Zero dimensions are left aside: strides are products too.
  int64_t n = std::max(1, byte_size(s.dtype));
  for (int64_t d : s.dims) {
    if (d == 0 || d == kUnknownDim) continue;
    if (d < 0) return invalid("a dimension cannot be negative");
    if (d > kMaxBytes / n) return invalid("the array is too large");
    n *= d;
  }
  return {};
}

Status check_callee_count(const Instr& i) {
  auto [least, most] = callee_count(i.op);
  if (i.calls.size() >= least && i.calls.size() <= most) return {};
  return invalid("'", i.name, "': ", name(i.op), " calls ",
                 most == kAnyNumber ? str_cat("at least ", least) : str_cat(least),
                 least == 1 ? " computation, " : " computations, ", i.calls.size(), " given");
}

Status check_call_graph(const Module& m) {
  absl::flat_hash_map<const Computation*, int> depth;  // of the calls below; 0 while being visited
  struct Frame {
    const Computation* c;
    size_t instr = 0, call = 0;
    int deepest = 0;
  };
  std::vector<Frame> stack;
  for (auto& start : m.computations()) {
    if (!depth.try_emplace(start.get(), 0).second) continue;
    stack.push_back({start.get()});
    while (!stack.empty()) {
      Frame& f = stack.back();
      if (f.instr == f.c->instrs().size()) {
        const int mine = depth[f.c] = f.deepest + 1;
        if (mine > kMaxCallDepth)
          return invalid("calls nest more than ", kMaxCallDepth, " deep below computation '",
                         f.c->name(), "'");
        stack.pop_back();
        if (!stack.empty()) stack.back().deepest = std::max(stack.back().deepest, mine);
        continue;
      }
      const Instr& i = *f.c->instrs()[f.instr];
      if (f.call == i.calls.size()) {
        ++f.instr;
        f.call = 0;
        continue;
      }
      const Computation* callee = i.calls[f.call++];
      auto [it, fresh] = depth.try_emplace(callee, 0);
      if (fresh)
        stack.push_back({callee});
      else if (it->second == 0)
        return invalid("'", i.name, "': computation '", callee->name(), "' calls itself");
      else
        f.deepest = std::max(f.deepest, it->second);
    }
  }
  return {};
}

Status check_header(const Module& m) {
  const Computation& entry = *m.entry();
  const int64_t params = static_cast<int64_t>(entry.params().size());
  std::set<Dims> taken;
  for (const InputOutputAlias& a : m.aliases) {
    if (!taken.insert(a.output_index).second)
      return invalid("input_output_alias: two parameters are to become part ", braced(a.output_index), " of the result");
    if (a.parameter < 0 || a.parameter >= params)
      return invalid("input_output_alias: there is no parameter ", a.parameter);
    if (!at_index(entry.params()[a.parameter]->shape, a.parameter_index))
      return invalid("input_output_alias: parameter ", a.parameter, " has no part ",
                     braced(a.parameter_index));
    if (!at_index(entry.root()->shape, a.output_index))
      return invalid("input_output_alias: the result has no part ", braced(a.output_index));
  }
  for (int64_t d : m.buffer_donors)
    if (d < 0 || d >= params) return invalid("buffer_donor: there is no parameter ", d);
  return check_layouts(m);
}

}  // namespace braze
