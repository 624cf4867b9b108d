// SPDX-License-Identifier: Apache-2.0
#include "pjrt/event.h"

#include "pjrt/error.h"
#include "pjrt/slots.h"

namespace braze::pjrt {
namespace {

PJRT_Event* const kReady = new PJRT_Event{nullptr};

}  // namespace

void Completion::set(Status s) {
  std::vector<std::function<void(const Status&)>> waiting;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (done()) return;
    status_ = std::move(s);
    done_.store(true, std::memory_order_release);
    waiting.swap(waiting_);
    wake_.notify_all();
  }
  for (auto& f : waiting) f(status_);
}

const Status& Completion::wait() {
  if (!done()) {
    std::unique_lock<std::mutex> lock(mutex_);
    wake_.wait(lock, [&] { return done(); });
  }
  return status_;
}

void Completion::on_done(std::function<void(const Status&)> f) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!done()) {
      waiting_.push_back(std::move(f));
      return;
    }
  }
  f(status_);
}

PJRT_Event* ready_event() { return kReady; }
PJRT_Event* new_event(CompletionRef c) {
  return c && !(c->done() && c->status().ok()) ? new PJRT_Event{std::move(c)} : kReady;
}
PJRT_Event* failed_event(Status s) {
  auto c = std::make_shared<Completion>();
  c->set(std::move(s));
  return new_event(std::move(c));
}

Status Event_Destroy(PJRT_Event_Destroy_Args& a) {
  if (a.event != kReady) delete a.event;
  return absl::OkStatus();
}
Status Event_IsReady(PJRT_Event_IsReady_Args& a) {
  a.is_ready = is_done(a.event->completion);
  return absl::OkStatus();
}
Status Event_Error(PJRT_Event_Error_Args& a) {
  const CompletionRef& c = a.event->completion;
  if (!c) return absl::OkStatus();
  if (!c->done()) return absl::FailedPreconditionError("the event is not ready: await it first");
  return c->status();
}
Status Event_Await(PJRT_Event_Await_Args& a) { return wait_for(a.event->completion); }

Status Event_OnReady(PJRT_Event_OnReady_Args& a) {
  const CompletionRef& c = a.event->completion;
  if (!c) {
    a.callback(nullptr, a.user_arg);
  } else {
    c->on_done([callback = a.callback, user = a.user_arg](const Status& s) {
      callback(to_error(s), user);
    });
  }
  return absl::OkStatus();
}

Status Event_Create(PJRT_Event_Create_Args& a) {
  a.event = new PJRT_Event{std::make_shared<Completion>()};
  return absl::OkStatus();
}
Status Event_Set(PJRT_Event_Set_Args& a) {
  const CompletionRef& c = a.event->completion;
  if (!c || c->done()) return absl::FailedPreconditionError("the event was set before");
  c->set(from_code(a.error_code, {a.error_message, a.error_message_size}));
  return absl::OkStatus();
}

}  // namespace braze::pjrt
