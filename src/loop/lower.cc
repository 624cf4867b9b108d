// SPDX-License-Identifier: Apache-2.0
#include "loop/lower.h"

#include <algorithm>

#include "ops/op_def.h"

namespace braze::loop {
namespace {

void add_buffer(Kernel& k, const Shape& s, std::string_view name, Role role) {
  bool complex = is_complex(s.dtype);
  k.buffers.push_back({std::string(name), buffer_type(s.dtype),
                       s.elements() * (complex ? 2 : 1), role});
}

// Bytes of an input that a kernel reads: the parts, of one that is only sliced, gathered from or, if
// `in_place`, written to in parts.
double bytes_read(const Instr* p, bool in_place) {
  const auto all = static_cast<double>(p->shape.bytes());
  double parts = 0;
  for (const Instr* u : p->users) {
    if (u->operand(0) != p) return all;
    if (u->op == Op::kSlice || u->op == Op::kDynamicSlice || u->op == Op::kGather)
      parts += static_cast<double>(u->shape.bytes());
    else if (in_place && u->op == Op::kScatter)
      parts += static_cast<double>(u->operands.back()->shape.bytes());
    else if (!in_place || u->op != Op::kDynamicUpdateSlice) return all;
  }
  return std::min(all, parts);
}

void count_cost(Kernel& k, const Computation& fused) {
  const bool in_place = inout_parameter(fused, 0) >= 0;
  for (const Instr* p : fused.params()) k.bytes += bytes_read(p, in_place);
  for (const Instr* o : outputs(fused)) {
    const bool part = in_place && (o->op == Op::kDynamicUpdateSlice || o->op == Op::kScatter);
    const Instr* written = !part ? o : o->op == Op::kScatter ? o->operands.back() : o->operand(1);
    k.bytes += std::min(static_cast<double>(o->shape.bytes()),
                        static_cast<double>(written->shape.bytes()));
  }
  for (const Buffer& b : k.buffers)
    if (b.role == Role::kWorkspace) k.bytes += static_cast<double>(b.elements) * byte_size(b.dtype);
  for (auto& i : fused.instrs()) {
    if (i->op == Op::kParameter || i->op == Op::kConstant || !i->shape.is_array()) continue;
    const OpDef& row = def(*i);
    double n = static_cast<double>(i->shape.elements());
    if (i->op == Op::kReduce) n = static_cast<double>(i->operand(0)->shape.elements());
    if (i->op == Op::kDot) {
      for (int64_t d : i->as<DotAttrs>().lhs_contracting)
        n *= static_cast<double>(i->operand(0)->shape.dims[d]);
    } else if (i->op == Op::kConvolution) {
      const Shape& ker = i->operand(1)->shape;
      int64_t out = ker.dims[i->as<ConvAttrs>().dims.kernel_output];
      n *= static_cast<double>(ker.elements()) / static_cast<double>(std::max<int64_t>(out, 1));
    }
    if (!row.has(kMovement)) k.flops += n * row.cost;
  }
}

bool is_chain(const Computation& fused) {
  return std::count_if(fused.instrs().begin(), fused.instrs().end(),
                       [](const auto& i) { return i->op == Op::kDot; }) > 1;
}

void mark_stored(const std::vector<Stmt>& body, std::vector<bool>* buffers) {
  for (const Stmt& s : body) {
    if (s.kind == Stmt::Kind::kStore) (*buffers)[static_cast<size_t>(s.store.buffer)] = true;
    if (s.kind == Stmt::Kind::kLoop) mark_stored(s.loop->body, buffers);
  }
}

}  // namespace

std::vector<const Instr*> outputs(const Computation& fused) {
  const Instr* r = fused.root();
  if (r->op == Op::kTuple) return {r->operands.begin(), r->operands.end()};
  return {r};
}

const Instr* hero(const Computation& fused) {
  const Instr* found = nullptr;
  for (auto& i : fused.instrs()) {
    switch (i->op) {
      case Op::kDot: case Op::kConvolution: case Op::kScatter: case Op::kReduceWindow:
      case Op::kSelectAndScatter:
        return i.get();
      case Op::kDynamicUpdateSlice:
        if (inout_parameter(fused, 0) >= 0 && i.get() == outputs(fused)[0]) return i.get();
        break;
      case Op::kReduce:
        if (!is_tiny_reduction(*i) && !found) found = i.get();
        break;
      default: break;
    }
  }
  return found;
}

int64_t inout_parameter(const Computation& fused, int64_t k) {
  std::vector<const Instr*> outs = outputs(fused);
  if (outs.size() != 1 || k != 0) return -1;
  const Instr* o = outs[0];
  if (o->op != Op::kDynamicUpdateSlice && o->op != Op::kScatter) return -1;
  const Instr* target = o->operand(0);
  if (target->op != Op::kParameter) return -1;
  // The target is only written through the update: no other part of the fusion reads it, but for what
  // the update replaces.
  if (std::count(o->operands.begin(), o->operands.end(), target) != 1) return -1;
  const bool own = std::all_of(target->users.begin(), target->users.end(), [&](const Instr* u) {
    return u == o || reads_own_window(*u, *o);
  });
  return own ? target->parameter_number() : -1;
}

bool reads_own_window(const Instr& reader, const Instr& update) {
  if (update.op != Op::kDynamicUpdateSlice || reader.operands.empty() ||
      reader.operand(0) != update.operand(0) || reader.shape.dims != update.operand(1)->shape.dims)
    return false;
  const size_t rank = reader.shape.dims.size();
  if (reader.op == Op::kDynamicSlice)
    return std::equal(reader.operands.begin() + 1, reader.operands.end(), update.operands.begin() + 2,
                      update.operands.end());
  if (reader.op != Op::kSlice) return false;
  const auto& a = reader.as<SliceAttrs>();
  for (size_t d = 0; d < rank; ++d) {
    const Instr* start = update.operand(static_cast<int64_t>(d) + 2);
    const bool same = start->op == Op::kConstant && start->literal().get_int(0) == a.start[d] &&
                      (a.stride.empty() || a.stride[d] == 1 || reader.shape.dims[d] == 1);
    if (!same) return false;
  }
  return true;
}

void bind_parameters(Elements& e, const Computation& fused) {
  for (const Instr* p : fused.params()) e.bind_buffer(p, p->parameter_number());
}

Frame open_frame(Kernel& k, Elements& e, const Dims& space) {
  Frame f;
  const int64_t columns = space.empty() ? 1 : space.back();
  f.phase.items = columns == 0 ? 0 : product(space) / columns;
  f.phase.item_var = k.new_var();
  f.vector = std::make_shared<Loop>();
  f.vector->var = k.new_var();
  f.vector->extent = columns;
  f.vector->kind = LoopKind::kVector;
  const auto bounded = [&](int32_t var, int64_t extent) {
    return k.graph.index_var(var, std::max<int64_t>(extent, 1));
  };
  const DimSpan outer(space.data(), space.empty() ? 0 : space.size() - 1);
  f.index = e.delinearize(bounded(f.phase.item_var, f.phase.items), outer);
  if (!space.empty()) f.index.push_back(bounded(f.vector->var, columns));
  return f;
}

void close_frame(Kernel& k, Frame& f, double work, int width) {
  f.phase.body.push_back(make_loop(f.vector));
  f.phase.width = width;
  f.phase.grain = choose_grain(k, work);
  k.phases.push_back(std::move(f.phase));
}

std::vector<scalar::Value> open_accumulator(Kernel& k, Accumulator* a, const std::vector<scalar::Value>& start) {
  const auto part = [&](Scalar init) {
    a->var.push_back(k.new_var());
    a->result.push_back(k.new_var());
    a->type.push_back(k.graph.type(init));
    a->init.push_back(init);
    return k.graph.var(a->type.back(), a->var.back());
  };
  std::vector<scalar::Value> vars;
  for (const scalar::Value& v : start) {
    scalar::Value x{part(v.re), {}};
    if (v.im) x.im = part(v.im);
    vars.push_back(x);
  }
  return vars;
}

int choose_width(const Kernel& k, const Facts& facts, bool accumulates, int64_t index_nodes) {
  int bytes = 4, nodes = 0;
  for (int32_t i = 0; i < k.graph.size(); ++i) {
    const scalar::Node& n = k.graph[Scalar{i}];
    if (n.op == scalar::Op::kConst || n.op == scalar::Op::kVar) continue;
    bool data = n.op == scalar::Op::kLoad || is_float(n.type);
    if (data && n.type != Dtype::kS64) bytes = std::max(bytes, byte_size(n.type));
    ++nodes;
  }
  nodes -= static_cast<int>(index_nodes);
  int lanes = facts.lanes(bytes);
  if (nodes <= 24 && accumulates) return lanes * 4;
  // Narrow registers hide less: a heavy body waits for its own results unless another one is beside it.
  if (nodes <= 48 || facts.vector_bits < 512) return lanes * 2;
  return lanes;
}

int64_t choose_group(const Kernel& k, const Phase& p, const Facts& facts) {
  constexpr int64_t kMost = 8, kShort = 32;  // items; vectors of a row that are soon done
  int64_t passes = 0, row = 1;
  for (const Stmt& s : p.body) {
    if (s.kind != Stmt::Kind::kLoop) continue;
    if (s.loop->kind != LoopKind::kVector || s.loop->count) return 1;
    row = std::max(row, s.loop->extent);
    ++passes;
  }
  if (passes < 2 || p.width == 1 || row > kShort * p.width) return 1;
  std::vector<bool> used(k.buffers.size());
  for (int32_t i = 0; i < k.graph.size(); ++i)
    if (const scalar::Node& n = k.graph[Scalar{i}]; n.op == scalar::Op::kLoad) used[static_cast<size_t>(n.imm)] = true;
  mark_stored(p.body, &used);
  int64_t bytes = 0, all = 0;
  for (size_t i = 0; i < k.buffers.size(); ++i) {
    const Buffer& b = k.buffers[i];
    if (!used[i]) continue;
    bytes += std::min(row, b.elements) * byte_size(b.dtype);
    if (b.role != Role::kTile) all += b.elements * byte_size(b.dtype);
  }
  // Memory is read all the time, not in turns with the work on what was read.
  if (all > facts.l3_bytes / 4) return 1;
  int64_t group = 1;
  while (group < kMost && 2 * group <= p.items && 2 * group * bytes <= facts.l1_bytes / 2) group *= 2;
  return group;
}

int64_t choose_grain(const Kernel& k, double elements_per_item) {
  // About four nodes a vector-cycle; one thread should get some 10,000 cycles of work.
  double nodes = std::max<int32_t>(k.graph.size(), 8);
  double cycles = elements_per_item * nodes / 32 + 10;
  return std::max<int64_t>(1, static_cast<int64_t>(10000 / cycles));
}

Result<Kernel> lower(const Computation& fused, std::string_view name, const Facts& facts) {
  Kernel k;
  k.name = std::string(name);
  for (const Instr* p : fused.params()) add_buffer(k, p->shape, p->name, Role::kInput);
  std::vector<const Instr*> outs = outputs(fused);
  for (size_t i = 0; i < outs.size(); ++i) {
    if (!outs[i]->shape.is_array()) return unimplemented("kernel output of a non-array type");
    bool inout = inout_parameter(fused, static_cast<int64_t>(i)) >= 0;
    add_buffer(k, outs[i]->shape, outs[i]->name, inout ? Role::kInOut : Role::kOutput);
  }
  const Instr* h = hero(fused);
  Op op = h ? h->op : Op::kTuple;
  if (op == Op::kReduce) TRY(lower_reduce(k, fused, facts));
  else if (op == Op::kDot && is_chain(fused)) TRY(lower_chain(k, fused, facts));
  else if (op == Op::kDot || op == Op::kConvolution) TRY(lower_contraction(k, fused, facts));
  else if (op == Op::kScatter || op == Op::kDynamicUpdateSlice) TRY(lower_update(k, fused, facts));
  else if (op == Op::kReduceWindow || op == Op::kSelectAndScatter)
    TRY(lower_window(k, fused, facts));
  else TRY(lower_loop(k, fused, facts));
  count_cost(k, fused);
  return k;
}

}  // namespace braze::loop
