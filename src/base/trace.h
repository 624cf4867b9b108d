// SPDX-License-Identifier: Apache-2.0
// Trace: what ran when, for profilers. While none listens, a span costs one load.
//
// One trace at a time in a process; events beyond kMaxEvents are counted, not kept.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace braze::trace {

struct Event {
  std::string name;
  std::string_view category;     // "program", "kernel", "library", "loop", "compile"
  int64_t begin_ns = 0, end_ns = 0;  // since the epoch
  int64_t thread = 0;            // small numbers, in order of first use
};

inline constexpr int64_t kMaxEvents = 1'000'000;

extern std::atomic<bool> g_on;
inline bool on() { return g_on.load(std::memory_order_relaxed); }

// False if a trace runs already.
bool start();
struct Recording {
  std::vector<Event> events;
  int64_t begin_ns = 0, end_ns = 0;
  int64_t dropped = 0;
};
Recording stop();

int64_t now_ns();
void add(std::string_view name, std::string_view category, int64_t begin_ns);

// From here to the end of the scope. `name` must live as long.
class Span {
 public:
  Span(std::string_view name, std::string_view category)
      : name_(name), category_(category), begin_(on() ? now_ns() : 0) {}
  ~Span() {
    if (begin_) add(name_, category_, begin_);
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  std::string_view name_, category_;
  int64_t begin_;
};

}  // namespace braze::trace
