// SPDX-License-Identifier: Apache-2.0
// Collectives between the copies of a manual region. Sums run over a group in its order, whatever runs
// them; members whose copies are one share the result.
#include <algorithm>

#include "passes/inline_calls.h"
#include "spmd/expander.h"

namespace braze::spmd {
namespace {

void join_same(Value* v) {
  if (std::all_of(v->copies.begin(), v->copies.end(), [&](Instr* c) { return c == v->copies[0]; }))
    v->copies.resize(1);
}

// The op of a computation (a, b) -> op(a, b); kMap if it is another one.
Op plain_op(const Computation& c) {
  const Instr& r = *c.root();
  if (c.params().size() == 2 && r.operands.size() == 2 && def(r).has(kElementwise) && r.calls.empty() &&
      r.operand(0) == c.params()[0] && r.operand(1) == c.params()[1] && !r.is(Op::kCompare))
    return r.op;
  return Op::kMap;
}

}  // namespace

Instr* Expander::zeros(Body& body, const Shape& s) {
  Shape plain = s;
  plain.layout.clear();
  return body.b.splat(plain, 0);
}

Value Expander::device_number(Body& body, const Instr& i) {
  Value v;
  for (int64_t d = 0; d < devices(); ++d) {
    const int64_t n = i.is(Op::kPartitionId) ? d % partitions_ : d / partitions_;
    Instr*& c = body.numbers[{i.shape.dtype, n}];
    if (!c) c = body.b.constant(Literal::scalar_int(i.shape.dtype, n));
    v.copies.push_back(c);
  }
  join_same(&v);
  return v;
}

Result<Expander::Exchange> Expander::exchange(const Instr& i) {
  Exchange e;
  for (int64_t d = 0; d < devices(); ++d) {
    ASSIGN(ProcessGroup g,
           process_group(i, replicas_, partitions_, {d / partitions_, d % partitions_}));
    std::vector<int64_t> members;
    for (const Process& p : g.members) {
      if (p.replica >= replicas_ || p.partition >= partitions_)
        return invalid(name(i.op), " '", i.name, "': replica_groups name device ",
                       p.replica * partitions_ + p.partition, " of ", devices());
      members.push_back(p.replica * partitions_ + p.partition);
    }
    e.groups.push_back(std::move(g));
    e.members.push_back(std::move(members));
  }
  return e;
}

// ((m0 + m1) + m2) + …
Instr* Expander::combine(Body& body, const Instr& i, const std::vector<Instr*>& members) {
  const Computation& c = *i.calls[0];
  const Dtype t = c.root()->shape.dtype;
  auto typed = [&](Instr* x) { return x->shape.dtype == t ? x : body.b.convert(t, x); };
  Instr* sum = typed(members[0]);
  const Op op = plain_op(c);
  for (size_t k = 1; k < members.size(); ++k) {
    if (op != Op::kMap) {
      sum = body.b.op(op, {sum, typed(members[k])}, c.root()->attrs);
      continue;
    }
    DimsAttrs a;
    for (int64_t d = 0; d < sum->shape.rank(); ++d) a.dimensions.push_back(d);
    sum = body.b.op(Op::kMap, {sum, typed(members[k])}, a, {i.calls[0]});
  }
  return sum;
}

// What each device gets of one operand, given as one copy for each device.
Result<std::vector<Instr*>> Expander::collective_operand(Body& body, const Instr& i, const Exchange& e,
                                                         const std::vector<Instr*>& v) {
  const auto& a = i.as<CollectiveAttrs>();
  std::map<std::pair<std::vector<Instr*>, int64_t>, Instr*> known;
  std::vector<Instr*> out;
  for (int64_t d = 0; d < devices(); ++d) {
    const int64_t self = e.groups[d].self;
    std::vector<Instr*> parts;
    for (int64_t m : e.members[d]) parts.push_back(v[m]);
    if (self < 0 && !i.is(Op::kCollectiveBroadcast) && !i.is(Op::kCollectivePermute))
      return invalid(name(i.op), " '", i.name, "': replica_groups leave out device ", d);
    const auto count = static_cast<int64_t>(parts.size());
    auto piece = [&](Instr* x, int64_t k) {
      Dims start(x->shape.rank(), 0), sizes = x->shape.dims;
      sizes[a.dimension] /= count;
      start[a.dimension] = k * sizes[a.dimension];
      return slice(body, x, start, sizes);
    };
    auto joined = [&](const std::vector<Instr*>& xs, int64_t dim) {
      Dims counts(xs[0]->shape.rank(), 1);
      counts[dim] = static_cast<int64_t>(xs.size());
      return assemble(body, xs, counts);
    };
    auto once = [&](int64_t key, auto make) {
      Instr*& slot = known[{parts, key}];
      if (!slot) slot = make(), ++made_;
      return slot;
    };
    if ((i.is(Op::kReduceScatter) || i.is(Op::kAllToAll)) && v[d]->shape.dims[a.dimension] % count != 0)
      return invalid(name(i.op), " '", i.name, "': ", v[d]->shape.dims[a.dimension],
                     " elements in dimension ", a.dimension, " for ", count, " devices");
    switch (i.op) {
      case Op::kAllReduce:
        out.push_back(once(0, [&] { return combine(body, i, parts); }));
        break;
      case Op::kReduceScatter:
        out.push_back(piece(once(0, [&] { return combine(body, i, parts); }), self));
        break;
      case Op::kAllGather: out.push_back(joined(parts, a.dimension)); break;
      case Op::kAllToAll: {
        std::vector<Instr*> mine;
        for (Instr* x : parts) mine.push_back(piece(x, self));
        out.push_back(joined(mine, a.concat_dimension < 0 ? a.dimension : a.concat_dimension));
        break;
      }
      case Op::kCollectiveBroadcast:
        out.push_back(self < 0 ? once(1, [&] { return zeros(body, v[d]->shape); }) : parts[0]);
        break;
      case Op::kCollectivePermute: {
        Instr* got = nullptr;
        for (const auto& [from, to] : a.source_target_pairs) {
          if (from >= count || to >= count)
            return invalid(name(i.op), " '", i.name, "': source_target_pairs name {", from, ",", to,
                           "} of ", count, " devices");
          if (to == self) got = parts[from];
        }
        out.push_back(got ? got : once(2, [&] { return zeros(body, v[d]->shape); }));
        break;
      }
      default: return unimplemented(name(i.op), " '", i.name, "' over several devices");
    }
  }
  return out;
}

Result<Value> Expander::collective(Body& body, const Values& values, const Instr& i) {
  ASSIGN(const Exchange e, exchange(i));
  std::vector<std::vector<Instr*>> operands;
  for (const Instr* o : i.operands) {
    if (!o->shape.is_array()) return unimplemented(name(i.op), " of ", to_string(o->shape, false));
    operands.push_back(whole(body, values.at(o)));
    operands.back().resize(devices(), operands.back()[0]);
  }
  std::vector<Value> results;
  const bool exchanges =
      i.is(Op::kAllToAll) && i.shape.is_tuple() && i.operands.size() > 1 &&
      i.shape.tuple[0].dims == i.operand(0)->shape.dims &&
      static_cast<size_t>(e.members[0].size()) == i.operands.size() && i.as<CollectiveAttrs>().concat_dimension < 0;
  for (size_t k = 0; k < operands.size(); ++k) {
    Value v;
    if (exchanges) {
      // Operand j goes to member j.
      for (int64_t d = 0; d < devices(); ++d)
        v.copies.push_back(operands[e.groups[d].self][e.members[d][k]]);
    } else {
      ASSIGN(v.copies, collective_operand(body, i, e, operands[k]));
    }
    join_same(&v);
    results.push_back(std::move(v));
  }
  if (!i.shape.is_tuple()) return results[0];
  Value out;
  out.tuple = true;
  out.parts = std::move(results);
  return out;
}

}  // namespace braze::spmd
