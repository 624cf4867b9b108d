// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <chrono>
#include <mutex>

namespace braze::trace {
namespace {

struct State {
  std::mutex mutex;
  Recording recording;
};
State& state() {
  static State* s = new State;
  return *s;
}

int64_t thread_number() {
  static std::atomic<int64_t> next{1};
  thread_local const int64_t mine = next++;
  return mine;
}

}  // namespace

std::atomic<bool> g_on{false};

int64_t now_ns() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool start() {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (on()) return false;
  s.recording = {};
  s.recording.begin_ns = now_ns();
  g_on.store(true, std::memory_order_relaxed);
  return true;
}

Recording stop() {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  g_on.store(false, std::memory_order_relaxed);
  Recording out = std::move(s.recording);
  s.recording = {};
  out.end_ns = now_ns();
  return out;
}

void add(std::string_view name, std::string_view category, int64_t begin_ns) {
  const int64_t end = now_ns(), thread = thread_number();
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (!on()) return;
  if (static_cast<int64_t>(s.recording.events.size()) >= kMaxEvents) {
    ++s.recording.dropped;
    return;
  }
  s.recording.events.push_back({std::string(name), category, begin_ns, end, thread});
}

}  // namespace braze::trace
