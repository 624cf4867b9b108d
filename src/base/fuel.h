// SPDX-License-Identifier: Apache-2.0
// Fuel: how many rewriting decisions one compilation may take, so that a wrong result is bisected to
// the decision that caused it.
//
// A pass asks take_fuel before each rewrite it could also leave out; without fuel it leaves it out.
// Programs compile and mean the same at any amount of fuel, only slower. A FuelScope on the stack sets
// the amount for its thread; without one there is no limit.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace braze {

class FuelScope {
 public:
  // `limit` < 0: no limit. `fired` is called for each decision taken, with its number from 1.
  using Fired = std::function<void(int64_t number, std::string_view pass, std::string_view what)>;
  explicit FuelScope(int64_t limit, Fired fired = nullptr);
  ~FuelScope();
  FuelScope(const FuelScope&) = delete;
  FuelScope& operator=(const FuelScope&) = delete;
  int64_t used() const { return used_; }
  const std::string& last() const { return last_; }  // "fuse add.3", the last decision taken

 private:
  friend bool take_fuel(std::string_view pass, std::string_view what);
  int64_t limit_, used_ = 0;
  std::string last_;
  Fired fired_;
  FuelScope* outer_;
};

// True if the rewrite of `what` (an instruction's name) may be done now; uses up a unit.
bool take_fuel(std::string_view pass, std::string_view what);

}  // namespace braze
