// SPDX-License-Identifier: Apache-2.0
// The registry of handlers, and calls of them.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "ops/custom_call.h"
#include "pjrt/element_type.h"
#include "pjrt/execute_context.h"
#include "pjrt/ffi.h"
#include "pjrt/ffi_attributes.h"
#include "pjrt/ffi_context.h"
#include "pjrt/strided.h"

namespace braze::pjrt::ffi {
namespace {

struct Bundle {
  Handler* handlers[kStages] = {};
};

struct Registry {
  std::mutex mutex;
  absl::flat_hash_map<std::string, Bundle> bundles;
  absl::flat_hash_map<std::string, std::shared_ptr<const AttributeSet>> attributes;
};
Registry& registry() {
  static Registry* r = new Registry;
  return *r;
}

Result<Bundle> find(std::string_view target) {
  Registry& r = registry();
  std::lock_guard<std::mutex> lock(r.mutex);
  auto at = r.bundles.find(std::string(target));
  if (at == r.bundles.end() || !at->second.handlers[static_cast<int>(Stage::kExecute)])
    return not_found("No FFI handler registered for ", target, " on a platform Host");
  return at->second;
}

// Programs call again and again with the same few texts.
Result<std::shared_ptr<const AttributeSet>> attributes_of(const std::string& text) {
  constexpr size_t kMaxKept = 4096;
  Registry& r = registry();
  {
    std::lock_guard<std::mutex> lock(r.mutex);
    auto at = r.attributes.find(text);
    if (at != r.attributes.end()) return at->second;
  }
  ASSIGN(auto set, AttributeSet::parse(text));
  std::lock_guard<std::mutex> lock(r.mutex);
  if (r.attributes.size() >= kMaxKept) r.attributes.clear();
  r.attributes[text] = set;
  return set;
}

void add_leaves(const Shape& s, std::vector<const Shape*>* out) {
  if (!s.is_tuple()) return out->push_back(&s);
  for (const Shape& t : s.tuple) add_leaves(t, out);
}

// Buffers of one side of a call, some of them copied into the order the call asks for.
struct Side {
  std::vector<const Shape*> shapes;
  std::vector<Buffer> buffers;
  std::vector<ValueType> types;
  std::vector<void*> pointers;
  std::deque<Dims> dims;
  std::vector<std::vector<char>> copies;
  std::vector<const Dims*> orders;  // of the copied ones, else null

  void add(const Shape& s, void* data) {
    Dims& d = dims.emplace_back(s.dims);
    Buffer b = {};
    b.struct_size = sizeof(Buffer);
    b.dtype = to_primitive_type(s.dtype);
    b.data = data;
    b.rank = static_cast<int64_t>(d.size());
    b.dims = d.data();
    buffers.push_back(b);
  }
  void wrap(Values* v) {
    for (Buffer& b : buffers) pointers.push_back(&b);
    types.assign(buffers.size(), ValueType::kBuffer);
    v->struct_size = sizeof(Values);
    v->size = static_cast<int64_t>(buffers.size());
    v->types = types.data();
    v->values = pointers.data();
  }
};

const Dims* other_order(const std::vector<Dims>& layouts, size_t k, const Shape& s) {
  if (k >= layouts.size() || !s.is_array() || layouts[k].size() != s.dims.size()) return nullptr;
  return is_row_major_order(layouts[k]) ? nullptr : &layouts[k];
}

Status run_stage(Handler* handler, CallFrame& frame, Stage stage) {
  if (!handler) return absl::OkStatus();
  frame.stage = stage;
  frame.future = nullptr;
  TRY(from_error(handler(&frame)));
  if (!frame.future) return absl::OkStatus();
  Status s = frame.future->completion->wait();
  delete frame.future;
  return s;
}

Status instantiate(Handler* handler, const CallFrame& whole, States::Entry& entry) {
  std::lock_guard<std::mutex> lock(entry.mutex);
  if (entry.instantiated) return absl::OkStatus();
  CallFrame frame = whole;
  frame.arguments.size = frame.results.size = 0;
  TRY(run_stage(handler, frame, Stage::kInstantiate));
  entry.instantiated = true;
  return absl::OkStatus();
}

// Operands in the order the call states, aliased ones in their result's memory.
void fill_sides(const Instr& instr, absl::Span<const void* const> operands,
                absl::Span<void* const> results, Side* in, Side* out) {
  const auto& a = instr.as<CustomCallAttrs>();
  for (const Instr* o : instr.operands) add_leaves(o->shape, &in->shapes);
  add_leaves(instr.shape, &out->shapes);
  for (size_t k = 0; k < out->shapes.size(); ++k) {
    const Shape& s = *out->shapes[k];
    const Dims* order = other_order(a.result_layouts, k, s);
    out->orders.push_back(order);
    if (order) out->copies.emplace_back(s.bytes());
    out->add(s, order ? out->copies.back().data() : results[k]);
  }
  for (size_t k = 0; k < in->shapes.size(); ++k) {
    const Shape& s = *in->shapes[k];
    void* data = const_cast<void*>(operands[k]);
    if (const Dims* order = other_order(a.operand_layouts, k, s)) {
      const int64_t item = byte_size(s.dtype);
      in->copies.emplace_back(s.bytes());
      copy_strided(in->copies.back().data(), byte_strides(s.dims, *order, item),
                   static_cast<const char*>(data), byte_strides(s.dims, {}, item), s.dims, item);
      data = in->copies.back().data();
    }
    for (const OperandAlias& alias : a.aliases) {
      const size_t result = alias.output_index.empty() ? 0 : alias.output_index[0];
      if (alias.operand != static_cast<int64_t>(k) || result >= out->buffers.size()) continue;
      if (s.bytes() > 0) std::memcpy(out->buffers[result].data, data, s.bytes());
      data = out->buffers[result].data;
    }
    in->add(s, data);
  }
}

void store_results(absl::Span<void* const> results, const Side& out) {
  for (size_t k = 0; k < out.shapes.size(); ++k) {
    if (!out.orders[k]) continue;
    const Shape& s = *out.shapes[k];
    const int64_t item = byte_size(s.dtype);
    copy_strided(static_cast<char*>(results[k]), byte_strides(s.dims, {}, item),
                 static_cast<const char*>(out.buffers[k].data),
                 byte_strides(s.dims, *out.orders[k], item), s.dims, item);
  }
}

Status call(const Instr& instr, absl::Span<const void* const> operands,
            absl::Span<void* const> results) {
  const auto& a = instr.as<CustomCallAttrs>();
  ASSIGN(const Bundle bundle, find(a.target));
  ASSIGN(const std::shared_ptr<const AttributeSet> attributes, attributes_of(a.backend_config));
  Side in, out;
  fill_sides(instr, operands, results, &in, &out);
  Context context;
  CallFrame frame = {};
  frame.struct_size = offsetof(CallFrame, future);  // what handlers compare with
  frame.api = api();
  frame.context = &context;
  frame.attributes = attributes->attributes();
  in.wrap(&frame.arguments);
  out.wrap(&frame.results);
  States alone;  // for calls outside of a program of the plugin
  const CallScope* scope = CallScope::current();
  if (Handler* h = bundle.handlers[static_cast<int>(Stage::kInstantiate)]) {
    States& states = scope && scope->states ? *scope->states : alone;
    context.state = &states.of(&instr);
    TRY(instantiate(h, frame, *context.state));
  }
  for (Stage s : {Stage::kPrepare, Stage::kInitialize, Stage::kExecute})
    TRY(run_stage(bundle.handlers[static_cast<int>(s)], frame, s));
  store_results(results, out);
  return absl::OkStatus();
}

void add_pointers(const Literal& l, std::vector<const void*>* out) {
  if (!l.shape().is_tuple()) return out->push_back(l.bytes());
  for (const Literal& p : l.parts()) add_pointers(p, out);
}
void add_pointers(Literal& l, std::vector<void*>* out) {
  if (!l.shape().is_tuple()) return out->push_back(l.mutable_bytes());
  for (Literal& p : l.mutable_parts()) add_pointers(p, out);
}

Result<Literal> eval(const EvalContext& ctx) {
  std::vector<const void*> in;
  for (const Literal& l : ctx.operands) add_pointers(l, &in);
  Literal result(ctx.instr.shape);
  std::vector<void*> out;
  add_pointers(result, &out);
  TRY(call(ctx.instr, in, out));
  return result;
}

}  // namespace

States::~States() {
  for (auto& [instr, e] : entries_)
    if (e->state) delete_state(e->type, e->state);
}
States::Entry& States::of(const Instr* i) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto& e = entries_[i];
  if (!e) e = std::make_unique<Entry>();
  return *e;
}

Status register_handler(std::string_view name, Stage stage, Handler* handler, uint32_t) {
  if (name.empty() || !handler) return invalid("an FFI handler needs a name and a function");
  {
    Registry& r = registry();
    std::lock_guard<std::mutex> lock(r.mutex);
    r.bundles[std::string(name)].handlers[static_cast<int>(stage)] = handler;
  }
  const CustomCallDef* known = find_custom_call(name);
  if (known && known->eval != eval) return absl::OkStatus();
  CustomCallDef d;
  d.target = name;
  d.eval = eval;
  d.raw = call;
  return known ? absl::OkStatus() : register_custom_call(d);
}

bool is_known(std::string_view target) { return find_custom_call(target) != nullptr; }

}  // namespace braze::pjrt::ffi
