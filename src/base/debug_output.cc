// SPDX-License-Identifier: Apache-2.0
#include "base/debug_output.h"

#include <cstdio>
#include <mutex>

#include "base/debug.h"

namespace braze::debug_output {
namespace {

struct State {
  std::mutex mutex;
  Sink sink;
  FILE* log = nullptr;
};
State& state() {
  static State* s = new State();
  return *s;
}

}  // namespace

void set(Sink sink) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().sink = std::move(sink);
}

void write(std::string_view text) {
  {
    std::lock_guard<std::mutex> lock(state().mutex);
    if (!state().sink && debug().level <= kDebugOff) return;
  }
  warn(text);
}

void warn(std::string_view text) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (s.sink) return s.sink(text);
  if (!s.log && !debug().log.empty()) s.log = std::fopen(debug().log.c_str(), "a");
  FILE* to = s.log ? s.log : stderr;
  std::fwrite(text.data(), 1, text.size(), to);
  std::fflush(to);
}

}  // namespace braze::debug_output
