// SPDX-License-Identifier: Apache-2.0
#include "pjrt/profiler.h"

#include <cstring>
#include <map>
#include <protozero/pbf_writer.hpp>

#include "base/status.h"

namespace braze::pjrt {
namespace {

// The profiler's own C interface, which the extension points to.
struct ProfilerError {
  std::string message;
  int code;
};
struct Profiler {
  bool running = false;
  trace::Recording recording;
  std::string bytes;
};
struct ErrorMessageArgs {
  size_t struct_size;
  void* state;
  const ProfilerError* error;
  const char* message;
  size_t message_size;
};
struct ErrorCodeArgs {
  size_t struct_size;
  void* state;
  const ProfilerError* error;
  int code;
};
struct ErrorDestroyArgs {
  size_t struct_size;
  void* state;
  ProfilerError* error;
};
struct CreateArgs {
  size_t struct_size;
  const char* options;
  size_t options_size;
  Profiler* profiler;
};
struct ProfilerArgs {  // of destroy, start, stop
  size_t struct_size;
  Profiler* profiler;
};
struct CollectArgs {
  size_t struct_size;
  Profiler* profiler;
  uint8_t* buffer;  // null: the profiler's own, which lives as long as it
  size_t size;
};
struct ProfilerApi {
  size_t struct_size;
  void* state;
  void (*error_destroy)(ErrorDestroyArgs*);
  void (*error_message)(ErrorMessageArgs*);
  ProfilerError* (*error_code)(ErrorCodeArgs*);
  ProfilerError* (*create)(CreateArgs*);
  ProfilerError* (*destroy)(ProfilerArgs*);
  ProfilerError* (*start)(ProfilerArgs*);
  ProfilerError* (*stop)(ProfilerArgs*);
  ProfilerError* (*collect)(CollectArgs*);
};

void error_destroy(ErrorDestroyArgs* a) { delete a->error; }
void error_message(ErrorMessageArgs* a) {
  a->message = a->error->message.data();
  a->message_size = a->error->message.size();
}
ProfilerError* error_code(ErrorCodeArgs* a) {
  a->code = a->error->code;
  return nullptr;
}
ProfilerError* create(CreateArgs* a) {
  a->profiler = new Profiler;
  return nullptr;
}
ProfilerError* stop(ProfilerArgs* a) {
  if (a->profiler->running) a->profiler->recording = trace::stop();
  a->profiler->running = false;
  return nullptr;
}
ProfilerError* destroy(ProfilerArgs* a) {
  stop(a);
  delete a->profiler;
  return nullptr;
}
ProfilerError* start(ProfilerArgs* a) {
  if (!trace::start())
    return new ProfilerError{"another profiler is running",
                             static_cast<int>(absl::StatusCode::kAlreadyExists)};
  a->profiler->running = true;
  return nullptr;
}
ProfilerError* collect(CollectArgs* a) {
  Profiler& p = *a->profiler;
  if (p.bytes.empty()) p.bytes = xspace_proto(p.recording);
  // Some hosts take the bytes where they lie; others come again with memory of their own.
  if (a->buffer) std::memcpy(a->buffer, p.bytes.data(), p.bytes.size());
  else a->buffer = reinterpret_cast<uint8_t*>(p.bytes.data());
  a->size = p.bytes.size();
  return nullptr;
}

struct ProfilerExtension {
  PJRT_Extension_Base base;
  ProfilerApi* api;
  int64_t trace_context;
};

using protozero::pbf_writer;

// A line's events; offsets count from the start of the recording, in picoseconds.
void write_line(pbf_writer& plane, int64_t id, std::string_view name, const trace::Recording& r,
                const std::vector<const trace::Event*>& events,
                std::map<std::string_view, int64_t>& names) {
  pbf_writer line(plane, 3);
  line.add_int64(1, id);
  line.add_string(2, name.data(), name.size());
  line.add_int64(3, r.begin_ns);
  line.add_int64(9, (r.end_ns - r.begin_ns) * 1000);
  for (const trace::Event* e : events) {
    const auto [at, fresh] = names.try_emplace(e->name, static_cast<int64_t>(names.size()) + 1);
    pbf_writer event(line, 4);
    event.add_int64(1, at->second);
    event.add_int64(2, std::max<int64_t>(e->begin_ns - r.begin_ns, 0) * 1000);
    event.add_int64(3, (e->end_ns - e->begin_ns) * 1000);
  }
}

}  // namespace

std::string xspace_proto(const trace::Recording& r) {
  std::map<std::pair<int64_t, std::string_view>, std::vector<const trace::Event*>> lines;
  for (const trace::Event& e : r.events) lines[{e.thread, e.category}].push_back(&e);
  std::string out;
  pbf_writer space(out);
  pbf_writer plane(space, 1);
  plane.add_int64(1, 1);
  plane.add_string(2, "/device:CUSTOM:Braze");
  std::map<std::string_view, int64_t> names;
  int64_t id = 0;
  for (const auto& [key, events] : lines)
    write_line(plane, ++id, str_cat(key.second, " (thread ", key.first, ")"), r, events, names);
  for (const auto& [name, number] : names) {
    pbf_writer entry(plane, 4);
    entry.add_int64(1, number);
    pbf_writer metadata(entry, 2);
    metadata.add_int64(1, number);
    metadata.add_string(2, name.data(), name.size());
  }
  return out;
}

PJRT_Extension_Base* profiler_extension(PJRT_Extension_Base* next) {
  static ProfilerApi api = {sizeof(ProfilerApi), nullptr, error_destroy, error_message, error_code,
                            create, destroy, start, stop, collect};
  static ProfilerExtension e = {
      {sizeof(ProfilerExtension), PJRT_Extension_Type_Profiler, nullptr}, &api, 0};
  e.base.next = next;
  return &e.base;
}

}  // namespace braze::pjrt
