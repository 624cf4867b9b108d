// SPDX-License-Identifier: Apache-2.0
// Module → HloModuleProto, HloProto and HloSnapshot. Ids are given in order of writing, from 1 on.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "frontend/hlo_proto.h"
#include "frontend/hlo_proto_io.h"
#include "ir/order.h"

namespace braze {

namespace proto {
namespace {

class ModuleWriter {
 public:
  Status write(Writer& w, const Module& m);

 private:
  Status computation(Writer& w, const Computation& c, bool is_fusion);
  Status instruction(Writer& w, const Instr& i);
  Status collective(Writer& w, const CollectiveAttrs& a);
  void custom_call(Writer& w, const Instr& i, const CustomCallAttrs& a);
  Status extras(Writer& w, const Instr& i);
  void header(Writer& w, const Module& m);
  void schedule(Writer& w);

  absl::flat_hash_map<const Computation*, int64_t> computations_;
  absl::flat_hash_map<const Instr*, int64_t> instrs_;
  std::vector<std::pair<int64_t, std::vector<int64_t>>> sequences_;
  int64_t next_ = 1;
};

// Shapes of the parameters and the result, and the names of the parameters, which XLA insists on.
void program_shape(Writer& w, absl::Span<const Shape> params, const Shape& result,
                   const Computation& c) {
  for (const Shape& s : params) w.message(1, [&](Writer& sub) { write_shape(sub, s); });
  w.message(2, [&](Writer& sub) { write_shape(sub, result); });
  for (const Instr* p : c.params()) w(3, p->name);
}

void attribute_map(Writer& w, uint32_t number, const std::map<std::string, std::string>& map) {
  if (map.empty()) return;
  w.message(number, [&](Writer& sub) {
    for (auto& [k, v] : map)
      sub.message(1, [&, &k = k, &v = v](Writer& entry) { entry(1, k), entry(2, v); });
  });
}

void set_leaf_layouts(Shape* s, absl::Span<const Dims> layouts, size_t* k) {
  if (!s->is_tuple()) {
    if (*k < layouts.size() && layouts[*k].size() == s->dims.size()) s->layout = layouts[*k];
    ++*k;
  }
  for (Shape& t : s->tuple) set_leaf_layouts(&t, layouts, k);
}

void clear_layouts(Shape* s) {
  s->layout.clear();
  for (Shape& t : s->tuple) clear_layouts(&t);
}

void ModuleWriter::header(Writer& w, const Module& m) {
  w(kModuleName, m.name());
  w(kEntryName, m.entry()->name());
  w(kModuleId, int64_t{1});
  w(kEntryId, computations_.at(m.entry()));
  std::vector<Shape> params = m.entry_parameter_layouts;
  if (params.empty())
    for (Instr* p : m.entry()->params()) {
      params.push_back(p->shape);
      clear_layouts(&params.back());
    }
  Shape result =
      m.entry_result_layouts.empty() ? m.entry()->root()->shape : m.entry_result_layouts[0];
  if (m.entry_result_layouts.empty()) clear_layouts(&result);
  w.message(kHostShape, [&](Writer& sub) { program_shape(sub, params, result, *m.entry()); });
  if (!m.aliases.empty())
    w.message(kAliases, [&](Writer& sub) {
      sub.each(1, m.aliases, [](Writer& e, InputOutputAlias& a) { fields(e, a); });
    });
  if (!m.buffer_donors.empty())
    w.message(kDonors, [&](Writer& sub) {
      sub.each(1, m.buffer_donors, [](Writer& e, int64_t& p) { e(1, p); });
    });
  attribute_map(w, kModuleAttributes, m.frontend_attributes);
}

void ModuleWriter::schedule(Writer& w) {
  w.message(kModuleSchedule, [&](Writer& sub) {
    sub.each(1, sequences_, [](Writer& entry, auto& s) {
      entry(1, s.first);
      entry.message(2, [&](Writer& ids) { ids(1, s.second); });
    });
  });
}

Status ModuleWriter::write(Writer& w, const Module& m) {
  std::vector<Computation*> all = stable_order(m);
  absl::flat_hash_set<const Computation*> fused;
  for (Computation* c : all) {
    computations_[c] = next_++;
    for (auto& i : c->instrs())
      if (i->op == Op::kFusion) fused.insert(i->calls.begin(), i->calls.end());
  }
  header(w, m);
  for (Computation* c : all) {
    Status status;
    w.message(kComputations,
              [&](Writer& sub) { status = computation(sub, *c, fused.contains(c)); });
    TRY(status);
  }
  if (m.is_scheduled) schedule(w);
  return {};
}

Status ModuleWriter::computation(Writer& w, const Computation& c, bool is_fusion) {
  w(kCompName, c.name());
  std::vector<int64_t> sequence;
  for (Instr* i : stable_order(c)) {
    sequence.push_back(instrs_[i] = next_++);
    Status status;
    w.message(kCompInstrs, [&](Writer& sub) { status = instruction(sub, *i); });
    TRY(status);
  }
  if (!is_fusion) sequences_.emplace_back(computations_.at(&c), std::move(sequence));
  std::vector<Shape> params;
  for (Instr* p : c.params()) params.push_back(p->shape);
  w.message(kCompShape, [&](Writer& sub) { program_shape(sub, params, c.root()->shape, c); });
  w(kCompId, computations_.at(&c));
  w(kCompRoot, instrs_.at(c.root()));
  w(kCompIsFusion, is_fusion);
  return {};
}

Status check_writable(const Shape& s) {
  for (const Shape& t : s.tuple) TRY(check_writable(t));
  if (bit_size(s.dtype) == 6)
    return unimplemented("HLO protos have no element type ", name(s.dtype));
  if (s.quant) return unimplemented("HLO protos have no quantized types");
  return {};
}

Status ModuleWriter::instruction(Writer& w, const Instr& i) {
  TRY(check_writable(i.shape));
  w(kName, i.name);
  w(kOpcode, name(i.op));
  Shape shape = i.shape;
  if (auto* a = std::get_if<CustomCallAttrs>(&i.attrs)) {
    size_t k = 0;
    set_leaf_layouts(&shape, a->result_layouts, &k);
    custom_call(w, i, *a);
  }
  w.message(kShape, [&](Writer& sub) { write_shape(sub, shape); });
  w(kId, instrs_.at(&i));
  std::vector<int64_t> ids;
  for (Instr* o : i.operands) ids.push_back(instrs_.at(o));
  if (!ids.empty()) w(kOperandIds, ids);
  ids.clear();
  for (Computation* c : i.calls) ids.push_back(computations_.at(c));
  if (i.op == Op::kWhile && ids.size() == 2) std::swap(ids[0], ids[1]);
  if (!ids.empty()) w(kCalledIds, ids);
  Attrs attrs = i.attrs;
  std::visit([&](auto& a) { fields(w, i.op, a); }, attrs);
  if (i.op == Op::kConstant) {
    Status status;
    w.message(kLiteral, [&](Writer& sub) { status = write_literal(sub, i.literal()); });
    TRY(status);
  }
  if (auto* a = std::get_if<CollectiveAttrs>(&i.attrs)) TRY(collective(w, *a));
  if (i.op == Op::kOutfeed)
    w.message(kOutfeedShape, [&](Writer& sub) { write_shape(sub, i.operand(0)->shape); });
  return extras(w, i);
}

Status ModuleWriter::collective(Writer& w, const CollectiveAttrs& a) {
  if (a.concat_dimension >= 0 && a.concat_dimension != a.dimension)
    return unimplemented("HLO's all-to-all splits and joins along one dimension");
  if (a.replica_groups.empty()) return {};
  w.message(kDeviceList, [&](Writer& sub) {
    sub.each(1, a.replica_groups, [](Writer& e, std::vector<int64_t>& ids) { e(1, ids); });
  });
  return {};
}

void ModuleWriter::custom_call(Writer& w, const Instr& i, const CustomCallAttrs& a) {
  if (a.operand_layouts.empty() && a.result_layouts.empty()) return;
  w(kConstrainLayout, true);
  size_t k = 0;
  for (Instr* o : i.operands) {
    Shape s = o->shape;
    set_leaf_layouts(&s, a.operand_layouts, &k);
    w.message(kOperandShapes, [&](Writer& sub) { write_shape(sub, s); });
  }
}

Status ModuleWriter::extras(Writer& w, const Instr& i) {
  if (!i.extras) return {};
  Extras e = *i.extras;
  if (e.metadata != Metadata{}) w.message(kMetadata, [&](Writer& sub) { fields(sub, e.metadata); });
  // Shardings by axes of a mesh have no form in HLO.
  if (!e.sharding.empty() && e.sharding[0] == '{') {
    ASSIGN(HloSharding s, parse_sharding(e.sharding));
    w.message(kSharding, [&](Writer& sub) { fields(sub, s); });
  }
  attribute_map(w, kFrontendAttributes, e.frontend_attributes);
  if (i.op != Op::kCustomCall) w(kBackendConfig, e.backend_config);
  std::vector<int64_t> ids;
  for (Instr* p : e.control_predecessors) ids.push_back(instrs_.at(p));
  if (!ids.empty()) w(kControlIds, ids);
  w(kIsComposite, e.other["is_composite"] == "true");
  int64_t delta = 0;
  if (absl::SimpleAtoi(e.other["delta"], &delta)) w(kDelta, delta);
  const std::string& when = e.other["schedule"];
  w(kSchedule, int64_t{when == "SCHEDULE_LATEST" ? 1 : when == "SCHEDULE_EARLIEST" ? 2 : 0});
  if (const std::string& r = e.other["parameter_replication"]; r.size() > 2)
    w.message(kParameterReplication, [&](Writer& sub) {
      Dims flags;
      for (absl::string_view f : absl::StrSplit(absl::string_view(r).substr(1, r.size() - 2), ','))
        flags.push_back(f == "true");
      sub(1, flags);
    });
  return {};
}

}  // namespace
}  // namespace proto

Result<std::string> write_hlo_module_proto(const Module& m) {
  std::string out;
  proto::Writer w(&out);
  TRY(proto::ModuleWriter().write(w, m));
  return out;
}

Result<std::string> write_hlo_proto(const Module& m) {
  ASSIGN(std::string module, write_hlo_module_proto(m));
  std::string out;
  proto::Writer w(&out);
  w.raw().add_message(1, module);
  return out;
}

Result<std::string> write_hlo_snapshot(const HloSnapshot& s) {
  ASSIGN(std::string hlo, write_hlo_proto(*s.module));
  std::string out;
  proto::Writer w(&out);
  w.raw().add_message(1, hlo);
  Status status;
  for (const Literal& l : s.arguments) {
    w.message(2, [&](proto::Writer& sub) { status = proto::write_literal(sub, l); });
    TRY(status);
  }
  if (s.result)
    w.message(3, [&](proto::Writer& sub) { status = proto::write_literal(sub, *s.result); });
  TRY(status);
  w(4, s.platform);
  return out;
}

}  // namespace braze
