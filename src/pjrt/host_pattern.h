// SPDX-License-Identifier: Apache-2.0
// HostPattern: whether a host waits for a program as soon as it has started it. Then nothing is gained by handing the
// call to the device's thread, and two wakings are lost: such calls run on the host's own thread. Hosts that do other
// work first, or start the next call without waiting, keep the hand-over.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace braze::pjrt {

// Of one executable. A thread's calls and waits in turn say what the host does.
class HostPattern {
 public:
  bool waits_at_once() const { return waits_.load(std::memory_order_relaxed) >= kEnough; }

  // The calling thread is to start a call: what it started before, and has not waited for, counts against that.
  static void starts();
  // The call of an executable with this pattern was started, or done: it returns to the host now.
  static void returns(std::shared_ptr<HostPattern> pattern);
  // The calling thread asks for the end of something.
  static void waits();

 private:
  static constexpr int32_t kEnough = 16, kMost = 32;
  void note(int32_t change);
  std::atomic<int32_t> waits_{0};  // that followed at once, lately; none since a call that was not waited for
};

}  // namespace braze::pjrt
