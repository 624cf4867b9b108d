// SPDX-License-Identifier: Apache-2.0
// Running programs.
//
// A call is prepared on the caller's thread: arguments are checked and held, results allocated, donated
// buffers given up. It then runs at once if it is short, or its host waits for it anyway, and nothing is in its way; else
// in order on its device's queue. Errors of the second kind are found in the results and in the completion event.
#include <algorithm>
#include <chrono>

#include "base/trace.h"
#include "pjrt/buffer.h"
#include "pjrt/error.h"
#include "pjrt/executable.h"
#include "pjrt/execute_context.h"
#include "pjrt/slots.h"
#include "pjrt/strided.h"

namespace braze::pjrt {
namespace {

// Handing a call to another thread costs some microseconds.
constexpr int64_t kInlineNs = 50'000;
// The longest call that runs on the thread of a host that waits for it: of a longer one that is nothing.
constexpr int64_t kAwaitedNs = 20'000'000;

thread_local const CallScope* t_scope = nullptr;

struct ShardCall {
  PJRT_Device* device = nullptr;
  absl::InlinedVector<Hold, 8> arguments;
  absl::InlinedVector<const void*, 8> argument_pointers;
  absl::InlinedVector<StorageRef, 4> results;
  absl::InlinedVector<void*, 4> result_pointers;
  std::vector<Dims> result_dims;  // empty unless the program decides them
  std::vector<std::pair<size_t, Dims>> argument_layouts;  // those that are not row-major
};

struct Call {
  CompiledRef compiled;
  absl::InlinedVector<ShardCall, 1> shards;
  UserData user_data;
};

bool is_donatable(const PJRT_ExecuteOptions* o, int64_t argument) {
  if (!o) return true;
  const int64_t* end = o->non_donatable_input_indices + o->num_non_donatable_input_indices;
  return std::find(o->non_donatable_input_indices, end, argument) == end;
}

Status check_argument(const PJRT_Buffer& b, const Shape& want, size_t k) {
  if (want.is_token()) return absl::OkStatus();  // hosts send an empty array or nothing of use
  if (b.dtype == want.dtype && b.dims == want.dims) return absl::OkStatus();
  if (b.device()->client->arguments_by_size && b.bytes() == want.bytes() &&
      (b.layout.empty() || is_row_major_order(b.layout)))
    return absl::OkStatus();
  return invalid("argument ", k, " is ", to_string(Shape::array(b.dtype, b.dims), false),
                 ", the program takes ", to_string(want, false));
}

Status hold_arguments(PJRT_Buffer* const* buffers, const ProgramFacts& f, ShardCall* s) {
  const size_t n = f.arguments.size();
  s->arguments.resize(n);
  s->argument_pointers.resize(n);
  for (size_t k = 0; k < n; ++k) {
    PJRT_Buffer& b = *buffers[k];
    TRY(check_argument(b, f.arguments[k], k));
    std::lock_guard<std::mutex> lock(b.mutex);
    if (!b.storage)
      return invalid("argument ", k, " of ", f.name, ": the buffer has been deleted or donated");
    s->arguments[k] = {b.storage, b.ready};
    s->argument_pointers[k] = b.storage->data();
    if (!b.layout.empty() && !is_row_major_order(b.layout)) s->argument_layouts.emplace_back(k, b.layout);
  }
  return absl::OkStatus();
}

// Takes the storage out of donated buffers. The call holds it too, until it has run.
Status give_up_donated(PJRT_Buffer* const* buffers, const ProgramFacts& f,
                       const PJRT_ExecuteOptions* o) {
  for (const Donation& d : f.donations) {
    if (!is_donatable(o, d.argument)) continue;
    for (size_t k = 0; k < f.arguments.size(); ++k)
      if (buffers[k] == buffers[d.argument] && static_cast<int64_t>(k) != d.argument)
        return invalid("Attempt to donate the same buffer twice in Execute() (arguments ", d.argument,
                       " and ", k, "), or to use it beside its donation");
  }
  for (const Donation& d : f.donations) {
    if (!is_donatable(o, d.argument)) continue;
    StorageRef gone;
    PJRT_Buffer& b = *buffers[d.argument];
    std::lock_guard<std::mutex> lock(b.mutex);
    gone = std::move(b.storage);
  }
  return absl::OkStatus();
}

// A donated argument's memory becomes its result's, if the program can work in place and nobody else
// has a hold on it.
void reuse_donated(const ProgramFacts& f, const PJRT_ExecuteOptions* o, ShardCall* s) {
  for (const Donation& d : f.donations) {
    if (!d.in_place || !is_donatable(o, d.argument) || !f.results[d.result].layout.empty()) continue;
    bool reordered = false;
    for (const auto& [k, layout] : s->argument_layouts)
      reordered |= static_cast<int64_t>(k) == d.argument;
    StorageRef& storage = s->arguments[d.argument].storage;
    if (!reordered && storage->exclusive() && storage->bytes() == f.results[d.result].bytes())
      s->results[d.result] = storage;
  }
}

Status allocate_results(const ProgramFacts& f, const PJRT_ExecuteOptions* o, ShardCall* s) {
  s->results.resize(f.results.size());
  s->result_pointers.resize(f.results.size());
  if (f.sized_by_run)
    for (const Shape& r : f.results) s->result_dims.push_back(r.dims);
  reuse_donated(f, o, s);
  for (size_t k = 0; k < f.results.size(); ++k) {
    if (s->results[k]) {
      s->result_pointers[k] = s->results[k]->data();
      continue;
    }
    ASSIGN(s->results[k], Storage::allocate(f.results[k].bytes(), s->device->use));
    s->result_pointers[k] = s->results[k]->data();
  }
  return absl::OkStatus();
}

// Arguments in another order than row-major are copied; `copies` keeps the copies alive.
Status reorder_arguments(const ProgramFacts& f, ShardCall& s, std::vector<StorageRef>* copies) {
  for (const auto& [k, layout] : s.argument_layouts) {
    const Shape& shape = f.arguments[k];
    const int64_t item = byte_size(shape.dtype);
    ASSIGN(StorageRef to, Storage::allocate(shape.bytes(), nullptr));
    copy_strided(to->data(), byte_strides(shape.dims, {}, item),
                 static_cast<const char*>(s.argument_pointers[k]),
                 byte_strides(shape.dims, layout, item), shape.dims, item);
    s.argument_pointers[k] = to->data();
    copies->push_back(std::move(to));
  }
  return absl::OkStatus();
}

struct Reordered {
  size_t result;
  StorageRef row_major;
};
Status redirect_results(const ProgramFacts& f, ShardCall& s, std::vector<Reordered>* out) {
  for (size_t k = 0; k < f.results.size(); ++k) {
    if (f.results[k].layout.empty() || is_row_major_order(f.results[k].layout)) continue;
    ASSIGN(StorageRef r, Storage::allocate(f.results[k].bytes(), nullptr));
    s.result_pointers[k] = r->data();
    out->push_back({k, std::move(r)});
  }
  return absl::OkStatus();
}
void reorder_results(const ProgramFacts& f, ShardCall& s, const std::vector<Reordered>& results) {
  for (const Reordered& r : results) {
    const Shape& shape = f.results[r.result];
    const int64_t item = byte_size(shape.dtype);
    copy_strided(s.results[r.result]->data(), byte_strides(shape.dims, shape.layout, item),
                 r.row_major->data(), byte_strides(shape.dims, {}, item), shape.dims, item);
  }
}

Status run(Call& c) {
  for (ShardCall& s : c.shards)
    for (Hold& h : s.arguments)
      if (h.ready) TRY(h.ready->wait());
  Program& p = *c.compiled->program;
  std::vector<StorageRef> copies;
  absl::InlinedVector<std::vector<Reordered>, 1> reordered(c.shards.size());
  absl::InlinedVector<Shard, 1> shards;
  for (size_t i = 0; i < c.shards.size(); ++i) {
    ShardCall& s = c.shards[i];
    TRY(reorder_arguments(p.facts(), s, &copies));
    TRY(redirect_results(p.facts(), s, &reordered[i]));
    shards.push_back({s.argument_pointers, absl::MakeSpan(s.result_pointers), s.result_dims.data(),
                      s.device->description.id});
  }
  CallScope scope(&c.user_data, c.shards[0].device->description.id, &p.states());
  const trace::Span span(p.facts().name, "program");
  const auto start = std::chrono::steady_clock::now();
  TRY(p.run(shards));
  const int64_t ns = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  // The shortest time seen, slowly forgotten: a first call also pays for what it warms up.
  const int64_t known = c.compiled->call_ns.load(std::memory_order_relaxed);
  c.compiled->call_ns.store(known < 0 ? ns : std::min(ns, known + known / 16 + 1),
                            std::memory_order_relaxed);
  for (size_t i = 0; i < c.shards.size(); ++i) reorder_results(p.facts(), c.shards[i], reordered[i]);
  return absl::OkStatus();
}

// Whether a call takes less than `most`, as far as is known.
bool is_shorter(const Compiled& c, int64_t most) {
  const int64_t known = c.call_ns.load(std::memory_order_relaxed);
  if (known >= 0) return known < most;
  const ProgramFacts& f = c.program->facts();
  return !f.has_loops && f.flops / 2 + f.bytes / 8 < most;
}

bool runs_inline(const PJRT_LoadedExecutable& x, const Call& c) {
  if (!x.client->asynchronous || Queue::on_queue_thread()) return true;
  if (c.compiled->program->facts().sized_by_run) return true;  // buffers are made when sizes are known
  if (!is_shorter(*c.compiled, c.compiled->host->waits_at_once() ? kAwaitedNs : kInlineNs)) return false;
  for (const ShardCall& s : c.shards) {
    if (!s.device->queue.idle()) return false;
    for (const Hold& h : s.arguments)
      if (!is_done(h.ready)) return false;
  }
  return true;
}

void hand_out(const ProgramFacts& f, const ShardCall& s, const CompletionRef& ready,
              PJRT_Buffer** out) {
  for (size_t k = 0; k < f.results.size(); ++k) {
    const Shape& shape = f.results[k];
    PJRT_Memory* memory = s.device->memory_list[0];
    if (const std::string& kind = f.result_memory_kinds[k]; kind != "device")
      for (PJRT_Memory* m : s.device->memory_list)
        if (m->kind == kind) memory = m;
    const Dims& dims = s.result_dims.empty() ? shape.dims : s.result_dims[k];
    out[k] = new_buffer(memory, shape.dtype, dims, s.results[k], ready);
    if (!shape.layout.empty() && !is_row_major_order(shape.layout)) out[k]->layout = shape.layout;
  }
}

Status prepare(const PJRT_LoadedExecutable_Execute_Args& a, Call* c) {
  PJRT_LoadedExecutable& x = *a.executable;
  const ProgramFacts& f = c->compiled->program->facts();
  if (x.deleted) return invalid("the executable has been deleted");
  if (a.num_args != f.arguments.size())
    return invalid("the program takes ", f.arguments.size(), " arguments, not ", a.num_args);
  const size_t shards = x.devices.empty() ? 1 : x.devices.size();
  if (a.num_devices != shards)
    return invalid("the program runs on ", shards, " devices, the call is for ", a.num_devices);
  if (a.options && (a.options->num_send_ops || a.options->num_recv_ops))
    return unimplemented("send and receive callbacks");
  c->shards.resize(shards);
  for (size_t i = 0; i < shards; ++i) {
    ShardCall& s = c->shards[i];
    s.device = a.execute_device ? a.execute_device
               : x.devices.empty() ? x.client->device_list[0] : x.devices[i];
    TRY(hold_arguments(a.argument_lists[i], f, &s));
  }
  for (size_t i = 0; !f.donations.empty() && i < shards; ++i)
    TRY(give_up_donated(a.argument_lists[i], f, a.options));
  for (ShardCall& s : c->shards) TRY(allocate_results(f, a.options, &s));
  if (a.options && a.options->context) c->user_data = a.options->context->data;
  return absl::OkStatus();
}

}  // namespace

CallScope::CallScope(const UserData* d, int device_id, ffi::States* s)
    : data(d), device(device_id), states(s), outer_(t_scope) {
  t_scope = this;
}
CallScope::~CallScope() { t_scope = outer_; }
const CallScope* CallScope::current() { return t_scope; }

Status LoadedExecutable_Execute(PJRT_LoadedExecutable_Execute_Args& a) {
  HostPattern::starts();
  Call c;
  c.compiled = a.executable->compiled;
  TRY(prepare(a, &c));
  const ProgramFacts& f = c.compiled->program->facts();
  CompletionRef done;
  if (runs_inline(*a.executable, c)) {
    TRY(run(c));
    for (size_t i = 0; i < c.shards.size(); ++i) hand_out(f, c.shards[i], nullptr, a.output_lists[i]);
  } else {
    done = std::make_shared<Completion>();
    for (size_t i = 0; i < c.shards.size(); ++i) hand_out(f, c.shards[i], done, a.output_lists[i]);
    Queue& queue = c.shards[0].device->queue;
    auto status = std::make_shared<Status>();
    queue.post(
        [call = std::make_shared<Call>(std::move(c)), status]() mutable {
          *status = run(*call);
          call = nullptr;  // arguments are free before anyone hears of the end
        },
        [status, done] { done->set(std::move(*status)); });
  }
  if (a.device_complete_events)
    for (size_t i = 0; i < a.num_devices; ++i) a.device_complete_events[i] = new_event(done);
  // Short calls run here in any case: what the host does after them needs no note.
  if (const Compiled& x = *a.executable->compiled; !is_shorter(x, kInlineNs)) HostPattern::returns(x.host);
  return absl::OkStatus();
}

Status ExecuteContext_Create(PJRT_ExecuteContext_Create_Args& a) {
  a.context = new PJRT_ExecuteContext;
  return absl::OkStatus();
}
Status ExecuteContext_Destroy(PJRT_ExecuteContext_Destroy_Args& a) {
  delete a.context;
  return absl::OkStatus();
}

}  // namespace braze::pjrt
