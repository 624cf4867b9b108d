// SPDX-License-Identifier: Apache-2.0
// Completion: something that becomes done once, well or with an error. PJRT_Event is a host's handle
// on one. What is done already and went well needs no object: a null Completion, and one handle for all.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/status.h"
#include "pjrt/c_api.h"

namespace braze::pjrt {

class Completion {
 public:
  bool done() const { return done_.load(std::memory_order_acquire); }
  // Once done. Callbacks that came before run here, on the calling thread; later ones run at once.
  void set(Status s);
  const Status& wait();
  void on_done(std::function<void(const Status&)> f);
  const Status& status() const { return status_; }  // once done

 private:
  std::atomic<bool> done_{false};
  Status status_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::function<void(const Status&)>> waiting_;
};
using CompletionRef = std::shared_ptr<Completion>;

// OK at once if `c` is null.
inline Status wait_for(const CompletionRef& c) { return c ? c->wait() : absl::OkStatus(); }
inline bool is_done(const CompletionRef& c) { return !c || c->done(); }

// The host destroys it. Null: done and well.
PJRT_Event* new_event(CompletionRef c);
PJRT_Event* ready_event();
PJRT_Event* failed_event(Status s);

}  // namespace braze::pjrt

struct PJRT_Event {
  braze::pjrt::CompletionRef completion;
};
