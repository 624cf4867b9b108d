// SPDX-License-Identifier: Apache-2.0
#include "pjrt/ffi_context.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "pjrt/execute_context.h"
#include "pjrt/queue.h"

namespace braze::pjrt::ffi {
namespace {

struct Types {
  struct Type {
    std::string name;
    void (*deleter)(void*);
  };
  std::mutex mutex;
  std::map<int64_t, Type> by_id;
  int64_t next = 1;
};
Types& types() {
  static Types* t = new Types;
  return *t;
}

std::atomic<const Api*> host_table{nullptr};

// Errors of ours that are alive; what handlers hand over besides is the host's. Few at a time.
struct OwnErrors {
  std::mutex mutex;
  std::set<const Error*> alive;
  static OwnErrors& all() {
    static OwnErrors* o = new OwnErrors;
    return *o;
  }
  bool has(const Error* e) {
    std::lock_guard<std::mutex> lock(mutex);
    return alive.count(e) > 0;
  }
};

Error* make_own(Status s) {
  auto* e = new Error{std::move(s), {}};
  e->text = std::string(e->status.message());
  OwnErrors& own = OwnErrors::all();
  std::lock_guard<std::mutex> lock(own.mutex);
  own.alive.insert(e);
  return e;
}
void destroy_own(Error* e) {
  OwnErrors& own = OwnErrors::all();
  {
    std::lock_guard<std::mutex> lock(own.mutex);
    own.alive.erase(e);
  }
  delete e;
}

// An error of the table's own functions.
Error* make(Status s) {
  const Api* host = host_table.load(std::memory_order_acquire);
  if (!host) return make_own(std::move(s));
  const std::string text(s.message());
  ErrorCreateArgs a = {};
  a.struct_size = sizeof(a);
  a.message = text.c_str();
  a.code = static_cast<int>(s.code());
  Error* e = host->error_create(&a);
  return e ? e : make_own(std::move(s));
}

// Threads for handlers that split their work.
struct Workers {
  Workers() : count(std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 64)),
              queues(new Queue[count]) {}
  int count;
  Queue* queues;
  std::atomic<unsigned> next{0};
};
Workers& workers() {
  static Workers* w = new Workers;
  return *w;
}

Error* error_create(ErrorCreateArgs* a) {
  return make_own(Status(static_cast<absl::StatusCode>(a->code), a->message ? a->message : ""));
}
void error_message(ErrorMessageArgs* a) {
  const Api* host = host_table.load(std::memory_order_acquire);
  if (host && !OwnErrors::all().has(a->error)) host->error_message(a);
  else a->message = a->error->text.c_str();
}
void error_destroy(ErrorDestroyArgs* a) {
  const Api* host = host_table.load(std::memory_order_acquire);
  if (!a->error) return;
  if (host && !OwnErrors::all().has(a->error)) host->error_destroy(a);
  else destroy_own(a->error);
}

Error* handler_register(HandlerRegisterArgs* a) {
  for (int s = 0; s < kStages; ++s) {
    if (!a->handlers[s]) continue;
    Status done = register_handler({a->name.data, a->name.size}, static_cast<Stage>(s),
                                   a->handlers[s], a->traits);
    if (!done.ok()) return make(std::move(done));
  }
  return nullptr;
}
Error* stream_get(StreamArgs* a) {
  a->stream = nullptr;
  return make(unimplemented("XLA FFI GPU context is not available: a CPU has no stream"));
}
Error* type_register(TypeRegisterArgs* a) {
  auto id = register_type({a->name.data, a->name.size}, a->type_id->id,
                          a->info ? a->info->deleter : nullptr);
  if (!id.ok()) return make(id.status());
  a->type_id->id = *id;
  return nullptr;
}
Error* context_get(ContextGetArgs* a) {
  const CallScope* scope = CallScope::current();
  if (scope)
    for (const auto& [id, data] : *scope->data)
      if (id == a->type_id->id || a->type_id->id == 0) {  // 0: whatever the host gave first
        a->data = data;
        return nullptr;
      }
  return make(not_found("the execution context has no data of type id ", a->type_id->id));
}
Error* state_set(StateArgs* a) {
  if (!a->context->state) return make(invalid("this call can have no state"));
  a->context->state->state = a->state;
  a->context->state->type = a->type_id->id;
  return nullptr;
}
Error* state_get(StateArgs* a) {
  if (!a->context->state || !a->context->state->state)
    return make(not_found("the call has no state: nothing was set when it was instantiated"));
  if (a->context->state->type != a->type_id->id)
    return make(invalid("the call's state is of another type"));
  a->state = a->context->state->state;
  return nullptr;
}
Error* memory_allocate(AllocateArgs* a) {
  const size_t align = std::max<size_t>(a->alignment, 64);
  if (align & (align - 1)) return make(invalid("alignment ", a->alignment, " is no power of two"));
  a->data = std::aligned_alloc(align, (std::max<size_t>(a->size, 1) + align - 1) / align * align);
  return a->data ? nullptr : make(exhausted("Out of memory allocating ", a->size, " bytes"));
}
Error* memory_free(FreeArgs* a) {
  std::free(a->data);
  return nullptr;
}
Error* thread_schedule(ScheduleArgs* a) {
  Workers& w = workers();
  w.queues[w.next++ % w.count].post([task = a->task, data = a->data] { task(data); });
  return nullptr;
}
Error* thread_count(NumThreadsArgs* a) {
  *a->count = workers().count;
  return nullptr;
}
Error* future_create(FutureCreateArgs* a) {
  a->future = new Future{std::make_shared<Completion>()};
  return nullptr;
}
Error* future_set(FutureSetArgs* a) {
  CompletionRef c = a->future->completion;  // the one who waits may free the future
  c->set(absl::OkStatus());
  return nullptr;
}
Error* future_error(FutureErrorArgs* a) {
  CompletionRef c = a->future->completion;
  c->set(from_error(a->error));
  return nullptr;
}
Error* run_id(RunIdArgs* a) {
  a->run_id = 0;
  return nullptr;
}
Error* device_ordinal(DeviceOrdinalArgs* a) {
  const CallScope* scope = CallScope::current();
  a->device = scope ? scope->device : 0;
  return nullptr;
}

Api make_api() {
  Api a = {};
  a.struct_size = sizeof(Api);
  a.version.struct_size = sizeof(ApiVersion);
  a.version.major = 0;
  a.version.minor = 3;
  a.error_create = error_create;
  a.error_message = error_message;
  a.error_destroy = error_destroy;
  a.handler_register = handler_register;
  a.stream_get = stream_get;
  a.type_register = type_register;
  a.context_get = context_get;
  a.state_set = state_set;
  a.state_get = state_get;
  a.memory_allocate = memory_allocate;
  a.memory_free = memory_free;
  a.thread_schedule = thread_schedule;
  a.thread_count = thread_count;
  a.future_create = future_create;
  a.future_set = future_set;
  a.future_error = future_error;
  a.run_id = run_id;
  a.device_ordinal = device_ordinal;
  return a;
}

}  // namespace

const Api* api() {
  static const Api a = make_api();
  return &a;
}

Status from_error(Error* e) {
  if (!e) return absl::OkStatus();
  if (host_table.load(std::memory_order_acquire) && !OwnErrors::all().has(e)) {
    ErrorMessageArgs m = {};
    m.struct_size = sizeof(m);
    m.error = e;
    error_message(&m);
    Status s = internal(m.message ? m.message : "");  // the host's table does not tell the code
    ErrorDestroyArgs d = {};
    d.struct_size = sizeof(d);
    d.error = e;
    error_destroy(&d);
    return s;
  }
  Status s = std::move(e->status);
  destroy_own(e);
  return s;
}

Status set_host_table(const Api* api) {
  if (!api || api->struct_size < offsetof(Api, handler_register) || api->version.major != 0 ||
      !api->error_create || !api->error_message || !api->error_destroy)
    return invalid("this is no table of the foreign function interface, version 0");
  host_table.store(api, std::memory_order_release);
  return absl::OkStatus();
}

void delete_state(int64_t type, void* state) {
  void (*deleter)(void*) = nullptr;
  {
    Types& t = types();
    std::lock_guard<std::mutex> lock(t.mutex);
    auto at = t.by_id.find(type);
    if (at != t.by_id.end()) deleter = at->second.deleter;
  }
  if (deleter) deleter(state);
}

Result<int64_t> register_type(std::string_view name, int64_t id, void (*deleter)(void*)) {
  Types& t = types();
  std::lock_guard<std::mutex> lock(t.mutex);
  for (auto& [known, type] : t.by_id)
    if (type.name == name) {
      if (id && id != known) return invalid("FFI type ", name, " has id ", known, ", not ", id);
      if (deleter) type.deleter = deleter;
      return known;
    }
  if (!id) {
    while (t.by_id.count(t.next)) ++t.next;
    id = t.next++;
  } else if (t.by_id.count(id)) {
    return invalid("FFI type id ", id, " is taken by ", t.by_id[id].name);
  }
  t.by_id[id] = {std::string(name), deleter};
  return id;
}

}  // namespace braze::pjrt::ffi
