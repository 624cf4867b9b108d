// SPDX-License-Identifier: Apache-2.0
// HloModuleProto, HloProto and HloSnapshot → Module.
//
// Ids of the proto name instructions within their computation. Callees are resolved at the end.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "base/lexer.h"
#include "frontend/hlo_proto.h"
#include "frontend/hlo_proto_io.h"
#include "ops/bitcast_layout.h"
#include "ops/laws.h"
#include "ops/listed_sizes.h"
#include "ops/op_def.h"
#include "ops/replica_groups.h"
#include "ops/spelled_op.h"

namespace braze {

namespace proto {

absl::Span<const std::string_view> dot_algorithms() {
  static constexpr std::string_view kNames[] = {"",
                                                "dot_any_f8_any_f8_f32",
                                                "dot_any_f8_any_f8_f32_fast_accum",
                                                "dot_f16_f16_f16",
                                                "dot_f16_f16_f32",
                                                "dot_bf16_bf16_bf16",
                                                "dot_bf16_bf16_f32",
                                                "dot_bf16_bf16_f32_x3",
                                                "dot_bf16_bf16_f32_x6",
                                                "dot_tf32_tf32_f32",
                                                "dot_tf32_tf32_f32_x3",
                                                "dot_f32_f32_f32",
                                                "dot_f64_f64_f64",
                                                "dot_bf16_bf16_f32_x9"};
  return kNames;
}

namespace {

// Newer XLA's ids of instructions have the computation's in the upper half, where operands may lack it.
int64_t local_id(int64_t id) { return id & 0xffffffff; }

struct FileLocation {
  int64_t file = 0, line = 0, column = 0;
};

// An instruction's fields that do not depend on its opcode.
struct InstrDraft {
  std::string_view bytes;  // the message
  std::string name;
  std::string_view opcode, shape, literal, sharding;
  int64_t id = 0, stack_frame = 0, all_reduce_id = 0, delta = 0, schedule = 0;
  bool composite = false, constrained = false;
  std::vector<int64_t> operands, controls, callees;
  Metadata metadata;
  std::string backend_config;
  std::map<std::string, std::string> attributes;
  std::vector<std::string_view> operand_shapes;
  std::vector<int64_t> replicated;
  ReplicaGroups groups;
};

struct CompDraft {
  std::string_view bytes;
  std::string name;
  int64_t id = 0, root = 0;
  std::vector<std::string_view> instrs;
};

class ModuleReader {
 public:
  explicit ModuleReader(const ProtoReadOptions& options) : options_(options) {}
  Result<std::unique_ptr<Module>> read(std::string_view bytes);

 private:
  struct Pending {
    Instr* instr;
    std::vector<int64_t> callees;
  };
  Status header(std::string_view bytes);
  Status program_shape(std::string_view bytes);
  Status stack_frames(std::string_view bytes);
  Status schedule(std::string_view bytes);
  Status computation(const CompDraft& draft);
  Result<InstrDraft> draft(std::string_view bytes);
  Status order(const CompDraft& comp, std::vector<InstrDraft>* drafts);
  Status instruction(Computation* c, InstrDraft& d);
  Result<Attrs> attributes(Op op, const InstrDraft& d, const Shape& shape);
  Status extras(Instr* i, InstrDraft& d);
  void locate(Metadata* m, int64_t frame) const;
  Status finish();

  const ProtoReadOptions& options_;
  std::unique_ptr<Module> module_;
  std::string entry_name_;
  int64_t entry_id_ = 0;
  std::vector<CompDraft> drafts_;
  std::vector<std::string_view> files_;
  std::vector<FileLocation> locations_;
  std::vector<int64_t> frames_;  // location of each
  absl::flat_hash_map<int64_t, std::vector<int64_t>> sequences_;
  absl::flat_hash_map<int64_t, Computation*> computations_;
  absl::flat_hash_map<int64_t, Instr*> values_;
  std::vector<Pending> pending_;
};

// Names may hold anything; HLO's hold letters, digits and "_.-".
std::string legal_name(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (!is_name_char(c)) c = '_';
  return out.empty() ? "unnamed" : out;
}

void attribute_map(Reader& io, uint32_t number, std::map<std::string, std::string>& map) {
  io.message(number, [&](Reader& sub) {
    sub.message(1, [&, key = std::string(), first = true](Reader& entry) mutable {
      std::string value;
      entry(1, key);
      entry(2, value);
      if (entry.tag() == 2)
        map[key] = value;
      else if (first)
        map[key];
      first = false;
    });
  });
}

Result<std::unique_ptr<Module>> ModuleReader::read(std::string_view bytes) {
  module_ = std::make_unique<Module>("module");
  TRY(header(bytes));
  if (drafts_.empty()) return invalid("malformed HLO proto: no computations");
  for (const CompDraft& d : drafts_) TRY(computation(d));
  TRY(finish());
  TRY(row_major_bitcasts(*module_));
  return std::move(module_);
}

Status ModuleReader::header(std::string_view bytes) {
  Status status;
  std::string name;
  std::string_view host_shape, frames, sequences;
  std::vector<std::string_view> computations;
  Reader::all(message_of(bytes), status, [&](Reader& io) {
    io(kModuleName, name), io(kEntryName, entry_name_), io(kEntryId, entry_id_);
    io(kComputations, computations), io(kHostShape, host_shape), io(kStackFrames, frames);
    io(kModuleSchedule, sequences);
    io.message(kAliases, [&](Reader& sub) {
      sub.each(1, module_->aliases, [](Reader& e, InputOutputAlias& a) { fields(e, a); });
    });
    io.message(kDonors, [&](Reader& sub) {
      std::vector<InputOutputAlias> donors;
      sub.each(1, donors,
               [](Reader& e, InputOutputAlias& a) { e(1, a.parameter), e(2, a.parameter_index); });
      for (auto& d : donors)
        if (d.parameter_index.empty()) module_->buffer_donors.push_back(d.parameter);
    });
    attribute_map(io, kModuleAttributes, module_->frontend_attributes);
  });
  TRY(status);
  module_->set_name(legal_name(name));
  TRY(program_shape(host_shape));
  TRY(stack_frames(frames));
  TRY(schedule(sequences));
  for (std::string_view b : computations) {
    CompDraft d;
    d.bytes = b;
    Reader::all(message_of(b), status, [&](Reader& io) {
      io(kCompName, d.name), io(kCompInstrs, d.instrs), io(kCompId, d.id), io(kCompRoot, d.root);
    });
    TRY(status);
    drafts_.push_back(std::move(d));
  }
  return {};
}

bool all_row_major(const Shape& s) {
  return is_row_major(s) && std::all_of(s.tuple.begin(), s.tuple.end(), all_row_major);
}

Status ModuleReader::program_shape(std::string_view bytes) {
  Status status;
  std::vector<std::string_view> params;
  std::string_view result;
  Reader::all(message_of(bytes), status, [&](Reader& io) { io(1, params), io(2, result); });
  TRY(status);
  std::vector<Shape> shapes;
  for (std::string_view p : params) {
    ASSIGN(Shape s, read_shape(p));
    shapes.push_back(std::move(s));
  }
  if (!std::all_of(shapes.begin(), shapes.end(), all_row_major))
    module_->entry_parameter_layouts = shapes;
  if (result.empty()) return {};
  ASSIGN(Shape s, read_shape(result));
  if (!all_row_major(s)) module_->entry_result_layouts = {s};
  return {};
}

Status ModuleReader::stack_frames(std::string_view bytes) {
  Status status;
  Reader::all(message_of(bytes), status, [&](Reader& io) {
    io(1, files_);
    io.each(3, locations_,
            [](Reader& e, FileLocation& l) { e(1, l.file), e(3, l.line), e(4, l.column); });
    io.each(4, frames_, [](Reader& e, int64_t& location) { e(1, location); });
  });
  return status;
}

Status ModuleReader::schedule(std::string_view bytes) {
  if (bytes.empty()) return {};
  module_->is_scheduled = true;
  Status status;
  Reader::all(message_of(bytes), status, [&](Reader& io) {
    int64_t computation = 0;
    std::vector<int64_t> ids;
    io.message(1, [&](Reader& entry) {
      entry(1, computation);
      entry.message(2, [&](Reader& sequence) { sequence(1, ids); });
    });
    sequences_[computation] = std::move(ids);
  });
  return status;
}

void ModuleReader::locate(Metadata* m, int64_t frame) const {
  if (!m->source_file.empty() || frame < 1 || frame > static_cast<int64_t>(frames_.size())) return;
  int64_t at = frames_[frame - 1];
  if (at < 1 || at > static_cast<int64_t>(locations_.size())) return;
  const FileLocation& l = locations_[at - 1];
  if (l.file >= 1 && l.file <= static_cast<int64_t>(files_.size()))
    m->source_file = std::string(files_[l.file - 1]);
  m->source_line = l.line;
  m->source_column = l.column;
}

Result<InstrDraft> ModuleReader::draft(std::string_view bytes) {
  InstrDraft d;
  d.bytes = bytes;
  Status status;
  Dims iota_dims, iota_perm;
  int64_t iota_groups_count = 0, iota_size = 0;
  auto group = [](Reader& e, std::vector<int64_t>& ids) { e(1, ids); };
  Reader::all(message_of(bytes), status, [&](Reader& io) {
    io(kName, d.name), io(kOpcode, d.opcode), io(kShape, d.shape), io(kLiteral, d.literal),
        io(kId, d.id);
    io(kOperandIds, d.operands), io(kControlIds, d.controls), io(kCalledIds, d.callees);
    io(kSharding, d.sharding), io(kBackendConfig, d.backend_config),
        io(kAllReduceId, d.all_reduce_id);
    io(kConstrainLayout, d.constrained), io(kOperandShapes, d.operand_shapes), io(kDelta, d.delta);
    io(kSchedule, d.schedule), io(kIsComposite, d.composite);
    io.message(kMetadata, [&](Reader& sub) { fields(sub, d.metadata), sub(15, d.stack_frame); });
    io.message(kParameterReplication, [&](Reader& sub) { sub(1, d.replicated); });
    attribute_map(io, kFrontendAttributes, d.attributes);
    io.each(kReplicaGroups, d.groups, group);
    io.message(kDeviceList, [&](Reader& sub) {
      sub.each(1, d.groups, group);
      sub.message(2, [&](Reader& iota) {
        iota(1, iota_groups_count), iota(2, iota_size), iota(3, iota_dims), iota(4, iota_perm);
      });
    });
  });
  TRY(status);
  if (iota_groups_count > 0) {
    ASSIGN(d.groups, iota_groups(iota_groups_count, iota_size, iota_dims, iota_perm));
  }
  locate(&d.metadata, d.stack_frame);
  return d;
}

// Puts instructions into the order of the schedule, if there is one that fits.
Status ModuleReader::order(const CompDraft& comp, std::vector<InstrDraft>* drafts) {
  auto it = sequences_.find(comp.id);
  if (it == sequences_.end() || it->second.size() != drafts->size()) return {};
  absl::flat_hash_map<int64_t, size_t> place;
  for (size_t i = 0; i < it->second.size(); ++i) place[local_id(it->second[i])] = i;
  if (place.size() != drafts->size()) return {};
  for (const InstrDraft& d : *drafts)
    if (!place.contains(local_id(d.id))) return {};
  std::sort(drafts->begin(), drafts->end(), [&](const InstrDraft& a, const InstrDraft& b) {
    return place.at(local_id(a.id)) < place.at(local_id(b.id));
  });
  return {};
}

Status ModuleReader::computation(const CompDraft& comp) {
  Computation* c = module_->add_computation(legal_name(comp.name));
  if (!computations_.emplace(comp.id, c).second)
    return invalid("malformed HLO proto: computation ids repeat");
  bool is_entry = entry_id_ ? comp.id == entry_id_ : comp.name == entry_name_;
  if (is_entry || !module_->entry()) module_->set_entry(c);
  std::vector<InstrDraft> drafts;
  for (std::string_view b : comp.instrs) {
    ASSIGN(InstrDraft d, draft(b));
    drafts.push_back(std::move(d));
  }
  TRY(order(comp, &drafts));
  values_.clear();
  for (InstrDraft& d : drafts) TRY(instruction(c, d));
  if (c->size() == 0) return invalid("malformed HLO proto: computation '", c->name(), "' is empty");
  for (size_t i = 0; i < c->params().size(); ++i)
    if (!c->params()[i])
      return invalid("malformed HLO proto: computation '", c->name(), "' lacks parameter ", i);
  auto root = values_.find(local_id(comp.root));
  if (root == values_.end())
    return invalid("malformed HLO proto: computation '", c->name(), "' lacks its root");
  c->set_root(root->second);
  return {};
}

template <size_t... I>
Attrs attrs_at(int index, std::index_sequence<I...>) {
  Attrs a;
  (void)((static_cast<int>(I) == index && (a.emplace<I>(), true)) || ...);
  return a;
}

// Zero is not what these fields mean when they are absent.
void mend_zeros(Attrs* attrs) {
  auto mend = [](Window& w) {
    for (WindowDim& d : w) {
      if (d.stride == 0) d.stride = 1;
      if (d.window_dilation == 0) d.window_dilation = 1;
      if (d.base_dilation == 0) d.base_dilation = 1;
    }
  };
  if (auto* a = std::get_if<ConvAttrs>(attrs)) {
    mend(a->window);
    if (a->feature_groups == 0) a->feature_groups = 1;
    if (a->batch_groups == 0) a->batch_groups = 1;
  }
  if (auto* a = std::get_if<WindowAttrs>(attrs)) mend(a->window);
  if (auto* a = std::get_if<CustomCallAttrs>(attrs); a && a->api_version == 0) a->api_version = 1;
  if (auto* a = std::get_if<CollectiveAttrs>(attrs))
    a->channel_id = std::max<int64_t>(a->channel_id, 0);
}

void leaf_layouts(const Shape& s, std::vector<Dims>* out) {
  if (!s.is_tuple()) out->push_back(s.layout);
  for (const Shape& t : s.tuple) leaf_layouts(t, out);
}

Result<Attrs> ModuleReader::attributes(Op op, const InstrDraft& d, const Shape& shape) {
  Attrs attrs = attrs_at(def(op).attrs, std::make_index_sequence<std::variant_size_v<Attrs>>());
  Status status;
  std::visit(
      [&](auto& a) {
        Resetter zero;
        fields(zero, op, a);
        if constexpr (std::is_same_v<std::decay_t<decltype(a)>, CollectiveAttrs>)
          a.concat_dimension = -1;
        Reader::all(message_of(d.bytes), status, [&](Reader& io) { fields(io, op, a); });
      },
      attrs);
  TRY(status);
  mend_zeros(&attrs);
  if (auto* a = std::get_if<ConstantAttrs>(&attrs)) {
    ASSIGN(a->value, read_literal(d.literal));
    if (!compatible(a->value.shape(), shape))
      return invalid("malformed HLO proto: constant '", d.name,
                     "' has another shape than its value");
  }
  if (auto* a = std::get_if<CollectiveAttrs>(&attrs)) {
    a->replica_groups = d.groups;
    if (d.all_reduce_id > 0 && a->channel_id == 0) a->channel_id = d.all_reduce_id;
  }
  if (auto* a = std::get_if<CustomCallAttrs>(&attrs); a && d.constrained) {
    for (std::string_view b : d.operand_shapes) {
      ASSIGN(Shape s, read_shape(b));
      leaf_layouts(s, &a->operand_layouts);
    }
    leaf_layouts(shape, &a->result_layouts);
  }
  if (auto* a = std::get_if<ParameterAttrs>(&attrs))
    if (a->number < 0 || a->number > static_cast<int64_t>(d.bytes.size()) * 1024)
      return invalid("malformed HLO proto: parameter number ", a->number);
  return attrs;
}

Status ModuleReader::instruction(Computation* c, InstrDraft& d) {
  ASSIGN(SpelledOp spelled, spelled_op(d.opcode));
  std::vector<Instr*> operands;
  for (int64_t id : d.operands) {
    auto it = values_.find(local_id(id));
    if (it == values_.end())
      return invalid("malformed HLO proto: an operand of '", d.name, "' is not defined before it");
    operands.push_back(it->second);
  }
  if (spelled.part == AsyncPart::kDone) {
    if (operands.size() != 1)
      return invalid("malformed HLO proto: ", d.opcode, " takes one operand");
    values_[local_id(d.id)] = operands[0];
    return {};
  }
  ASSIGN(Shape shape, read_shape(d.shape));
  if (spelled.part == AsyncPart::kStart) {
    ASSIGN(shape, unwrap_start(spelled.op, shape));
  }
  ASSIGN(Attrs attrs, attributes(spelled.op, d, shape));
  if (auto* a = std::get_if<CompareAttrs>(&attrs); a && !operands.empty())
    if (a->type == default_compare_type(operands[0]->shape.dtype)) a->type = CompareType::kDefault;
  if (auto* p = std::get_if<ParameterAttrs>(&attrs); p && spelled.op == Op::kParameter) {
    if (p->number < static_cast<int64_t>(c->params().size()) && c->params()[p->number])
      return invalid("malformed HLO proto: parameter ", p->number, " is defined twice");
  }
  Instr* i = c->add(spelled.op, shape, operands, std::move(attrs), {}, legal_name(d.name));
  if (!values_.emplace(local_id(d.id), i).second)
    return invalid("malformed HLO proto: instruction ids repeat");
  // XLA lists the body of a while first.
  if (i->op == Op::kWhile && d.callees.size() == 2) std::swap(d.callees[0], d.callees[1]);
  pending_.push_back({i, std::move(d.callees)});
  return extras(i, d);
}

Status ModuleReader::extras(Instr* i, InstrDraft& d) {
  if (d.metadata != Metadata{}) i->extra().metadata = d.metadata;
  if (!d.sharding.empty()) {
    HloSharding s;
    Status status;
    Reader::all(message_of(d.sharding), status, [&](Reader& io) { fields(io, s); });
    TRY(status);
    i->extra().sharding = print_sharding(s);
  }
  if (!d.attributes.empty()) i->extra().frontend_attributes = std::move(d.attributes);
  if (!d.backend_config.empty() && i->op != Op::kCustomCall)
    i->extra().backend_config = d.backend_config;
  for (int64_t id : d.controls) {
    auto it = values_.find(local_id(id));
    if (it == values_.end())
      return invalid("malformed HLO proto: a control predecessor is not defined");
    i->extra().control_predecessors.push_back(it->second);
  }
  if (d.composite) i->extra().other["is_composite"] = "true";
  if (d.delta) i->extra().other["delta"] = str_cat(d.delta);
  if (d.schedule == 1) i->extra().other["schedule"] = "SCHEDULE_LATEST";
  if (d.schedule == 2) i->extra().other["schedule"] = "SCHEDULE_EARLIEST";
  if (!d.replicated.empty()) {
    std::string s = "{";
    for (int64_t v : d.replicated)
      s += std::string(s.size() > 1 ? "," : "") + (v ? "true" : "false");
    i->extra().other["parameter_replication"] = s + "}";
  }
  return {};
}

Status ModuleReader::finish() {
  for (Pending& p : pending_) {
    std::vector<Computation*> calls;
    for (int64_t id : p.callees) {
      auto it = computations_.find(id);
      if (it == computations_.end())
        return invalid("malformed HLO proto: '", p.instr->name, "' calls an unknown computation");
      calls.push_back(it->second);
    }
    if (!calls.empty()) p.instr->parent->set_calls(p.instr, calls);
    TRY(check_callee_count(*p.instr));
  }
  TRY(check_call_graph(*module_));
  TRY(list_reshape_sizes(*module_));
  if (options_.check)
    for (Pending& p : pending_) TRY(check_shape(*p.instr));
  return check_header(*module_);
}

// The bytes of the message that is field `n`.
Result<std::string_view> submessage(std::string_view bytes, uint32_t n) {
  Status status;
  std::string_view out;
  Reader::all(message_of(bytes), status, [&](Reader& io) { io(n, out); });
  TRY(status);
  return out;
}

Result<HloSnapshot> read_snapshot(std::string_view bytes, const ProtoReadOptions& options) {
  HloSnapshot s;
  Status status;
  std::string_view hlo, result;
  std::vector<std::string_view> arguments;
  Reader::all(message_of(bytes), status,
              [&](Reader& io) { io(1, hlo), io(2, arguments), io(3, result), io(4, s.platform); });
  TRY(status);
  ASSIGN(std::string_view module, submessage(hlo, 1));
  ASSIGN(s.module, ModuleReader(options).read(module));
  for (std::string_view a : arguments) {
    ASSIGN(Literal l, read_literal(a));
    s.arguments.push_back(std::move(l));
  }
  if (!result.empty()) {
    ASSIGN(s.result, read_literal(result));
  }
  return s;
}

}  // namespace
}  // namespace proto

Result<std::unique_ptr<Module>> read_hlo_module_proto(std::string_view bytes,
                                                      const ProtoReadOptions& options) {
  return proto::guarded([&] { return proto::ModuleReader(options).read(bytes); });
}

Result<std::unique_ptr<Module>> read_hlo_proto(std::string_view bytes,
                                               const ProtoReadOptions& options) {
  return proto::guarded([&]() -> Result<std::unique_ptr<Module>> {
    ASSIGN(std::string_view module, proto::submessage(bytes, 1));
    return proto::ModuleReader(options).read(module);
  });
}

Result<HloSnapshot> read_hlo_snapshot(std::string_view bytes, const ProtoReadOptions& options) {
  return proto::guarded([&] { return proto::read_snapshot(bytes, options); });
}

Result<HloSnapshot> read_any_hlo(std::string_view bytes, const ProtoReadOptions& options) {
  Result<HloSnapshot> snapshot = read_hlo_snapshot(bytes, options);
  if (snapshot.ok()) return snapshot;
  HloSnapshot s;
  Result<std::unique_ptr<Module>> m = read_hlo_module_proto(bytes, options);
  Status first = m.status();
  if (!m.ok()) m = read_hlo_proto(bytes, options);
  if (!m.ok()) return first;
  s.module = *std::move(m);
  return s;
}

}  // namespace braze
