// SPDX-License-Identifier: Apache-2.0
// Rows of the collectives and of the ids of a device.
//
// Interface: collective_rows(). Operands may be several; so are the results, in a tuple. Data of the
// other members of a group come through World::exchange, member by member in group order; without a
// World there is one device, its own group.
#include "ops/collectives.h"

#include <algorithm>
#include <utility>

#include "ops/dim_rules.h"
#include "ops/op_def.h"
#include "ops/sampling.h"

namespace braze {
namespace {

constexpr int kAttrs = attrs_index<CollectiveAttrs>();

std::string rule(const InferContext& ctx, std::string_view code) {
  std::string s = str_cat("stablehlo.", def(ctx.op).stablehlo);
  return code.empty() ? s : str_cat(s, " (", code, ")");
}

// The laws that all collectives share, each under its own number.
struct GroupLaws {
  std::string_view unique, range, channel;
};

Status check_groups(const InferContext& ctx, const GroupLaws& laws) {
  const auto& a = ctx.as<CollectiveAttrs>();
  Dims all;
  for (const auto& group : a.replica_groups)
    for (int64_t id : group) {
      if (id < -1) return law(rule(ctx, laws.range), "0 <= replica_groups, got ", id);
      if (id >= 0) all.push_back(id);
    }
  if (!is_unique(all))
    return law(rule(ctx, laws.unique), "replica_groups must be unique, got {", join(all), "}");
  if (!laws.channel.empty() && a.use_global_device_ids && a.channel_id <= 0)
    return law(rule(ctx, laws.channel), "use_global_device_ids needs channel_id > 0, got ",
               a.channel_id);
  if (ctx.operands.empty()) return invalid(name(ctx.op), ": takes at least one operand");
  return check_arrays(ctx, 0, ctx.operands.size());
}

// Members per group as far as the attributes tell: 0 if they don't.
int64_t stated_group_size(const InferContext& ctx) {
  const auto& a = ctx.as<CollectiveAttrs>();
  const bool all_partitions_too = a.channel_id > 0 && !a.use_global_device_ids &&
                                  ctx.op != Op::kAllToAll && ctx.op != Op::kCollectiveBroadcast;
  if (a.replica_groups.empty() || all_partitions_too) return 0;
  return static_cast<int64_t>(a.replica_groups[0].size());
}

const Shape* proposed_part(const InferContext& ctx, size_t i) {
  if (!ctx.proposed) return nullptr;
  if (!ctx.proposed->is_tuple()) return i == 0 && ctx.operands.size() == 1 ? ctx.proposed : nullptr;
  return i < ctx.proposed->tuple.size() ? &ctx.proposed->tuple[i] : nullptr;
}

// The group size: stated, or read off the result's dimension d (`grows`: result = operand · size).
Result<int64_t> group_size(const InferContext& ctx, int64_t d, bool grows, std::string_view code) {
  const int64_t stated = stated_group_size(ctx);
  if (stated > 0) return stated;
  const Shape* out = proposed_part(ctx, 0);
  if (!out || out->rank() != ctx.operand(0).rank())
    return law(rule(ctx, code), "the size of a process group is unknown: give replica_groups or the "
               "result's shape");
  const int64_t from = ctx.operand(0).dims[d], to = out->dims[d];
  const int64_t large = grows ? to : from, small = grows ? from : to;
  if (large == kUnknownDim || small == kUnknownDim) return kUnknownDim;
  if (large == 0 && small == 0) return 1;
  if (small <= 0 || large == 0 || large % small != 0)
    return law(rule(ctx, code), "dimension ", d, " goes from ", from, " to ", to,
               ", which no group size explains");
  return large / small;
}

Shape results_of(const InferContext& ctx, std::vector<Shape> shapes) {
  if (ctx.proposed && ctx.proposed->is_tuple() && shapes.size() == 1)
    return Shape::tuple_of(std::move(shapes));
  return one_or_tuple(std::move(shapes));
}

Result<Shape> infer_all_gather(const InferContext& ctx) {
  TRY(check_form<CollectiveAttrs>(ctx, -1, 0));
  TRY(check_groups(ctx, {"C2", "C4", "C5"}));
  const int64_t d = ctx.as<CollectiveAttrs>().dimension;
  for (const Shape* s : ctx.operands)
    TRY(check_range(rule(ctx, "C1"), "all_gather_dim", {d}, s->rank()));
  ASSIGN(const int64_t size, group_size(ctx, d, true, "C6"));
  std::vector<Shape> out;
  for (const Shape* s : ctx.operands) {
    Shape shape = *s;
    shape.layout.clear();
    if (size == kUnknownDim) shape.dims[d] = kUnknownDim;
    else if (shape.dims[d] != kUnknownDim) shape.dims[d] *= size;
    out.push_back(std::move(shape));
  }
  return results_of(ctx, std::move(out));
}

// The element type a reducing collective ends with: the combiner's.
Result<Dtype> combined_type(const InferContext& ctx, std::string_view code) {
  const Shape scalar = Shape::scalar(ctx.operand(0).dtype);
  for (const Shape* s : ctx.operands)
    if (s->dtype != scalar.dtype)
      return law(rule(ctx, code), "operands must have one element type, got ",
                 to_string(scalar, false), " and ", to_string(*s, false));
  const Shape* inputs[] = {&scalar};
  ASSIGN(const std::vector<Shape> types, check_combiner(rule(ctx, code), *ctx.calls[0], inputs));
  return types[0].dtype;
}

Result<Shape> infer_all_reduce(const InferContext& ctx) {
  TRY(check_form<CollectiveAttrs>(ctx, -1, 1));
  TRY(check_groups(ctx, {"C1", "C3", "C4"}));
  std::vector<Shape> out;
  // Operands of several types may share a call only if the combiner's type suits them all.
  bool mixed = false;
  for (const Shape* s : ctx.operands) mixed |= s->dtype != ctx.operand(0).dtype;
  if (mixed) {
    for (const Shape* s : ctx.operands) out.push_back(s->with_dtype(s->dtype));
    return results_of(ctx, std::move(out));
  }
  ASSIGN(const Dtype t, combined_type(ctx, "C5"));
  for (const Shape* s : ctx.operands) {
    Shape shape = s->with_dtype(t);
    shape.quant = s->quant;
    out.push_back(std::move(shape));
  }
  return results_of(ctx, std::move(out));
}

Result<Shape> infer_reduce_scatter(const InferContext& ctx) {
  TRY(check_form<CollectiveAttrs>(ctx, -1, 1));
  TRY(check_groups(ctx, {"C3", "C5", "C6"}));
  const int64_t d = ctx.as<CollectiveAttrs>().dimension;
  for (const Shape* s : ctx.operands)
    TRY(check_range(rule(ctx, "C2"), "scatter_dimension", {d}, s->rank()));
  ASSIGN(const int64_t size, group_size(ctx, d, false, "C8"));
  ASSIGN(const Dtype t, combined_type(ctx, "C7"));
  std::vector<Shape> out;
  for (const Shape* s : ctx.operands) {
    Shape shape = s->with_dtype(t);
    shape.quant = s->quant;
    if (size == kUnknownDim || shape.dims[d] == kUnknownDim) {
      shape.dims[d] = kUnknownDim;
    } else {
      if (shape.dims[d] % size != 0)
        return law(rule(ctx, "C1"), "dim(operand, ", d, ") = ", shape.dims[d],
                   " must be a multiple of the group size ", size);
      shape.dims[d] /= size;
    }
    out.push_back(std::move(shape));
  }
  return results_of(ctx, std::move(out));
}

// HLO's form without a split dimension: operand k goes to member k.
bool exchanges_operands(const CollectiveAttrs& a, size_t operands) {
  return operands > 1 && a.concat_dimension < 0;
}

Result<Shape> infer_all_to_all(const InferContext& ctx) {
  TRY(check_form<CollectiveAttrs>(ctx, -1, 0));
  TRY(check_groups(ctx, {"C5", "C7", ""}));
  const auto& a = ctx.as<CollectiveAttrs>();
  std::vector<Shape> out;
  if (exchanges_operands(a, ctx.operands.size())) {
    const int64_t stated = stated_group_size(ctx);
    if (stated > 0) TRY(check_equal(rule(ctx, "C8"), "split_count", ctx.operands.size(), stated));
    for (const Shape* s : ctx.operands) {
      if (!shapes_agree(*s, ctx.operand(0)))
        return law(rule(ctx, "C9"), "operands must have one type, got ",
                   to_string(ctx.operand(0), false), " and ", to_string(*s, false));
      out.push_back(*s);
    }
    return Shape::tuple_of(std::move(out));
  }
  const int64_t split = a.dimension, concat = a.concat_dimension < 0 ? split : a.concat_dimension;
  for (const Shape* s : ctx.operands) {
    TRY(check_range(rule(ctx, "C1"), "split_dimension", {split}, s->rank()));
    TRY(check_range(rule(ctx, "C3"), "concat_dimension", {concat}, s->rank()));
  }
  int64_t size = stated_group_size(ctx);
  if (size == 0 && split == concat) size = 1;  // its shape is the operand's whatever the size
  if (size == 0) {
    ASSIGN(size, group_size(ctx, concat, true, "C8"));
  }
  for (const Shape* s : ctx.operands) {
    Shape shape = *s;
    shape.layout.clear();
    if (size != kUnknownDim && s->dims[split] != kUnknownDim && s->dims[split] % size != 0)
      return law(rule(ctx, "C2"), "dim(operand, ", split, ") = ", s->dims[split],
                 " must be a multiple of split_count ", size);
    if (split != concat) {
      if (size == kUnknownDim) shape.dims[split] = shape.dims[concat] = kUnknownDim;
      if (shape.dims[split] != kUnknownDim) shape.dims[split] /= size;
      if (shape.dims[concat] != kUnknownDim) shape.dims[concat] *= size;
    }
    out.push_back(std::move(shape));
  }
  return results_of(ctx, std::move(out));
}

Result<Shape> infer_collective_broadcast(const InferContext& ctx) {
  TRY(check_form<CollectiveAttrs>(ctx, -1, 0));
  TRY(check_groups(ctx, {"C1", "C2", ""}));
  std::vector<Shape> out;
  for (const Shape* s : ctx.operands) out.push_back(*s);
  return results_of(ctx, std::move(out));
}

Result<Shape> infer_collective_permute(const InferContext& ctx) {
  TRY(check_form<CollectiveAttrs>(ctx, -1, 0));
  TRY(check_groups(ctx, {"", "", ""}));
  Dims sources, targets;
  for (const auto& [from, to] : ctx.as<CollectiveAttrs>().source_target_pairs) {
    if (from < 0 || to < 0)
      return law(rule(ctx, "C4"), "0 <= source_target_pairs, got {", from, ",", to, "}");
    sources.push_back(from);
    targets.push_back(to);
  }
  TRY(check_unique(rule(ctx, "C2"), "source_target_pairs[:, 0]", sources));
  TRY(check_unique(rule(ctx, "C3"), "source_target_pairs[:, 1]", targets));
  std::vector<Shape> out;
  for (const Shape* s : ctx.operands) out.push_back(*s);
  return results_of(ctx, std::move(out));
}

Result<Shape> infer_id(const InferContext& ctx) {
  TRY(check_form<NoAttrs>(ctx, 0, 0));
  return Shape::scalar(Dtype::kU32);
}

// ---- evaluation ----

// What every member of the group holds: parts[member][operand].
struct Exchange {
  std::vector<std::vector<Literal>> parts;
  ProcessGroup group;
};

Result<Exchange> exchange(const EvalContext& ctx) {
  Exchange e;
  const Module* m = ctx.instr.parent ? ctx.instr.parent->module() : nullptr;
  const int64_t replicas = m ? m->num_replicas : 1, partitions = m ? m->num_partitions : 1;
  if (!ctx.world && replicas * partitions > 1)
    return unimplemented(name(ctx.instr.op), " '", ctx.instr.name, "': the program is for ", replicas,
                         " replicas of ", partitions, " partitions, but one device is connected");
  Process me;
  if (ctx.world) me = {ctx.world->replica_id(), ctx.world->partition_id()};
  ASSIGN(e.group, process_group(ctx.instr, replicas, partitions, me));
  if (!ctx.world) {
    e.parts.emplace_back(ctx.operands.begin(), ctx.operands.end());
    return e;
  }
  ASSIGN(const std::vector<Literal> all, ctx.world->exchange(ctx.instr, ctx.operands));
  const size_t n = ctx.operands.size();
  const size_t members = std::max<size_t>(e.group.members.size(), 1);
  if (all.size() != n * members)
    return internal(name(ctx.instr.op), ": the exchange gave ", all.size(), " values for ", members,
                    " members with ", n, " each");
  for (size_t k = 0; k < all.size(); ++k) {
    if (k % n == 0) e.parts.emplace_back();
    if (!same_dims(all[k].shape(), ctx.operand(k % n).shape()) ||
        all[k].dtype() != ctx.operand(k % n).dtype())
      return invalid(name(ctx.instr.op), " '", ctx.instr.name, "': members hold ",
                     to_string(all[k].shape(), false), " and ",
                     to_string(ctx.operand(k % n).shape(), false));
    e.parts.back().push_back(all[k]);
  }
  return e;
}

Literal results_of(const EvalContext& ctx, std::vector<Literal> parts) {
  if (ctx.instr.shape.is_tuple()) return Literal::tuple(std::move(parts));
  return std::move(parts[0]);
}

// Copies the box of `box` elements at `from_at` of `from` to `to_at` of `to`.
void copy_box(Literal& to, DimSpan to_at, const Literal& from, DimSpan from_at, DimSpan box) {
  if (product(box) == 0) return;
  Dims at(box.size(), 0), a(box.size()), b(box.size());
  do {
    for (size_t i = 0; i < at.size(); ++i) {
      a[i] = to_at[i] + at[i];
      b[i] = from_at[i] + at[i];
    }
    to.copy_element(linear_index(a, to.shape().dims), from, linear_index(b, from.shape().dims));
  } while (next_index(absl::MakeSpan(at), box));
}

// Joins literals along dimension d.
Literal joined_along(const std::vector<Literal>& parts, int64_t d) {
  Shape shape = parts[0].shape();
  shape.dynamic.clear();
  shape.dims[d] = 0;
  for (const Literal& p : parts) shape.dims[d] += p.shape().dims[d];
  Literal out(shape);
  Dims to(shape.dims.size(), 0);
  const Dims from(shape.dims.size(), 0);
  for (const Literal& p : parts) {
    copy_box(out, to, p, from, p.shape().dims);
    to[d] += p.shape().dims[d];
  }
  return out;
}

// Part k of `count` equal parts along dimension d.
Literal part_along(const Literal& whole, int64_t d, int64_t k, int64_t count) {
  Shape shape = whole.shape();
  shape.dynamic.clear();
  shape.dims[d] /= count;
  Literal out(shape);
  Dims from(shape.dims.size(), 0);
  from[d] = k * shape.dims[d];
  copy_box(out, Dims(shape.dims.size(), 0), whole, from, shape.dims);
  return out;
}

std::vector<Literal> column(const Exchange& e, size_t operand) {
  std::vector<Literal> out;
  for (const auto& member : e.parts) out.push_back(member[operand]);
  return out;
}

Status check_member(const EvalContext& ctx, const Exchange& e) {
  if (e.group.self >= 0) return absl::OkStatus();
  return invalid(name(ctx.instr.op), " '", ctx.instr.name,
                 "': replica_groups leave out this device");
}

Result<Literal> eval_all_gather(const EvalContext& ctx) {
  ASSIGN(const Exchange e, exchange(ctx));
  TRY(check_member(ctx, e));
  std::vector<Literal> out;
  for (size_t k = 0; k < ctx.operands.size(); ++k)
    out.push_back(joined_along(column(e, k), ctx.as<CollectiveAttrs>().dimension));
  return results_of(ctx, std::move(out));
}

Literal converted(const Literal& l, Dtype t) {
  if (l.dtype() == t) return l;
  Literal out(l.shape().with_dtype(t));
  for (int64_t i = 0; i < l.elements(); ++i) {
    if (is_complex(t)) out.set_complex(i, l.get_complex(i));
    else if (is_float(t)) out.set_float(i, l.get_float(i));
    else out.set_int(i, l.get_int(i));
  }
  return out;
}

// Combines the members' values element by element, in group order.
Result<Literal> combined(const EvalContext& ctx, const std::vector<Literal>& members) {
  const Computation& body = *ctx.instr.calls[0];
  const Dtype t = body.root()->shape.dtype;
  Literal out = converted(members[0], t);
  out.mutable_bytes();
  for (size_t m = 1; m < members.size(); ++m) {
    const Literal next = converted(members[m], t);
    for (int64_t i = 0; i < out.elements(); ++i) {
      Literal args[] = {Literal(Shape::scalar(t)), Literal(Shape::scalar(t))};
      args[0].copy_element(0, out, i);
      args[1].copy_element(0, next, i);
      ASSIGN(const Literal sum, ctx.run(body, args));
      out.copy_element(i, sum, 0);
    }
  }
  return out;
}

Result<Literal> eval_all_reduce(const EvalContext& ctx) {
  ASSIGN(const Exchange e, exchange(ctx));
  TRY(check_member(ctx, e));
  std::vector<Literal> out;
  for (size_t k = 0; k < ctx.operands.size(); ++k) {
    ASSIGN(Literal sum, combined(ctx, column(e, k)));
    out.push_back(std::move(sum));
  }
  return results_of(ctx, std::move(out));
}

Result<Literal> eval_reduce_scatter(const EvalContext& ctx) {
  ASSIGN(const Exchange e, exchange(ctx));
  TRY(check_member(ctx, e));
  const int64_t d = ctx.as<CollectiveAttrs>().dimension;
  const auto count = static_cast<int64_t>(e.parts.size());
  std::vector<Literal> out;
  for (size_t k = 0; k < ctx.operands.size(); ++k) {
    ASSIGN(const Literal sum, combined(ctx, column(e, k)));
    if (sum.shape().dims[d] % count != 0)
      return law("stablehlo.reduce_scatter (C1)", "dim(operand, ", d, ") = ", sum.shape().dims[d],
                 " must be a multiple of the group size ", count);
    out.push_back(part_along(sum, d, e.group.self, count));
  }
  return results_of(ctx, std::move(out));
}

Result<Literal> eval_all_to_all(const EvalContext& ctx) {
  ASSIGN(const Exchange e, exchange(ctx));
  TRY(check_member(ctx, e));
  const auto& a = ctx.as<CollectiveAttrs>();
  const auto count = static_cast<int64_t>(e.parts.size());
  std::vector<Literal> out;
  if (exchanges_operands(a, ctx.operands.size())) {
    if (count != static_cast<int64_t>(ctx.operands.size()))
      return law("stablehlo.all_to_all (C8)", "split_count is ", ctx.operands.size(),
                 ", the group has ", count, " members");
    for (const auto& member : e.parts) out.push_back(member[e.group.self]);
    return results_of(ctx, std::move(out));
  }
  const int64_t concat = a.concat_dimension < 0 ? a.dimension : a.concat_dimension;
  for (size_t k = 0; k < ctx.operands.size(); ++k) {
    if (ctx.operand(k).shape().dims[a.dimension] % count != 0)
      return law("stablehlo.all_to_all (C2)", "dim(operand, ", a.dimension,
                 ") must be a multiple of the group size ", count);
    std::vector<Literal> mine;
    for (const auto& member : e.parts)
      mine.push_back(part_along(member[k], a.dimension, e.group.self, count));
    out.push_back(joined_along(mine, concat));
  }
  return results_of(ctx, std::move(out));
}

Result<Literal> eval_collective_broadcast(const EvalContext& ctx) {
  ASSIGN(const Exchange e, exchange(ctx));
  std::vector<Literal> out;
  for (size_t k = 0; k < ctx.operands.size(); ++k)  // zeros where no group holds this device
    out.push_back(e.group.self < 0 ? Literal(ctx.operand(k).shape()) : e.parts[0][k]);
  return results_of(ctx, std::move(out));
}

Result<Literal> eval_collective_permute(const EvalContext& ctx) {
  ASSIGN(const Exchange e, exchange(ctx));
  std::vector<Literal> out;
  for (const Literal& l : ctx.operands) out.push_back(Literal(l.shape()));
  for (const auto& [from, to] : ctx.as<CollectiveAttrs>().source_target_pairs) {
    const auto members = static_cast<int64_t>(e.parts.size());
    if (from >= members || to >= members)
      return law("stablehlo.collective_permute (C4)", "source_target_pairs < ", members, ", got {",
                 from, ",", to, "}");
    if (to == e.group.self) out = e.parts[from];
  }
  return results_of(ctx, std::move(out));
}

Result<Literal> eval_partition_id(const EvalContext& ctx) {
  return Literal::scalar_int(Dtype::kU32, ctx.world ? ctx.world->partition_id() : 0);
}
Result<Literal> eval_replica_id(const EvalContext& ctx) {
  return Literal::scalar_int(Dtype::kU32, ctx.world ? ctx.world->replica_id() : 0);
}

// ---- random instances, of one device ----

std::unique_ptr<Module> sample_collective(std::mt19937_64& rng, Op op) {
  Sampler s(rng, "collective");
  const Dims dims = s.dims(1, 3, 5);
  const Dtype t = s.number();
  CollectiveAttrs a;
  a.replica_groups = {{0}};
  a.dimension = s.uniform(0, static_cast<int64_t>(dims.size()) - 1);
  if (op == Op::kAllToAll) a.concat_dimension = s.uniform(0, static_cast<int64_t>(dims.size()) - 1);
  if (op == Op::kCollectivePermute) {
    a.replica_groups.clear();
    a.dimension = 0;
    if (s.chance(0.7)) a.source_target_pairs = {{0, 0}};
  }
  Instr* x = s.parameter(Shape::array(t, dims));
  if (op == Op::kAllReduce || op == Op::kReduceScatter) {
    if (op == Op::kAllReduce) a.dimension = 0;
    s.root(op, {x}, a, {s.combiner(t)});
  } else {
    if (op == Op::kCollectiveBroadcast) a.dimension = 0;
    s.root(op, {x}, a);
  }
  return s.finish();
}

template <Op op>
std::unique_ptr<Module> sample(std::mt19937_64& rng) {
  return sample_collective(rng, op);
}

template <Op op>
std::unique_ptr<Module> sample_id(std::mt19937_64& rng) {
  Sampler s(rng, "id");
  s.root(op, {}, NoAttrs{});
  return s.finish();
}

OpDef collective(Op op, std::string_view spelling, uint32_t more_traits,
                 Result<Shape> (*infer)(const InferContext&),
                 Result<Literal> (*eval)(const EvalContext&),
                 std::unique_ptr<Module> (*sampler)(std::mt19937_64&), std::string_view doc) {
  return {.op = op,
          .stablehlo = spelling,
          .arity = -1,
          .traits = kEffect | kCollective | more_traits,
          .attrs = kAttrs,
          .infer = infer,
          .eval = eval,
          .step = Step::kCollective,
          .cost = 2,
          .sample = sampler,
          .doc = doc};
}

}  // namespace

absl::Span<const OpDef> collective_rows() {
  static const OpDef rows[] = {
      collective(Op::kAllGather, "all_gather", 0, infer_all_gather, eval_all_gather,
                 sample<Op::kAllGather>, "Joins the operands of a group along a dimension."),
      collective(Op::kAllReduce, "all_reduce", kCalls, infer_all_reduce, eval_all_reduce,
                 sample<Op::kAllReduce>, "Combines the operands of a group, for every member."),
      collective(Op::kAllToAll, "all_to_all", 0, infer_all_to_all, eval_all_to_all,
                 sample<Op::kAllToAll>,
                 "Splits along one dimension, hands part k to member k and joins what arrives."),
      collective(Op::kCollectiveBroadcast, "collective_broadcast", 0, infer_collective_broadcast,
                 eval_collective_broadcast, sample<Op::kCollectiveBroadcast>,
                 "Gives every member of a group the operand of its first; zeros outside."),
      collective(Op::kCollectivePermute, "collective_permute", 0, infer_collective_permute,
                 eval_collective_permute, sample<Op::kCollectivePermute>,
                 "Sends operands from source to target devices; zeros where none arrives."),
      collective(Op::kReduceScatter, "reduce_scatter", kCalls, infer_reduce_scatter,
                 eval_reduce_scatter, sample<Op::kReduceScatter>,
                 "Combines the operands of a group and gives member k part k."),
      {.op = Op::kPartitionId,
       .stablehlo = "partition_id",
       .arity = 0,
       .attrs = attrs_index<NoAttrs>(),
       .infer = infer_id,
       .eval = eval_partition_id,
       .step = Step::kCollective,
       .sample = sample_id<Op::kPartitionId>,
       .doc = "Number of this partition."},
      {.op = Op::kReplicaId,
       .stablehlo = "replica_id",
       .arity = 0,
       .attrs = attrs_index<NoAttrs>(),
       .infer = infer_id,
       .eval = eval_replica_id,
       .step = Step::kCollective,
       .sample = sample_id<Op::kReplicaId>,
       .doc = "Number of this replica."},
  };
  return rows;
}

}  // namespace braze
