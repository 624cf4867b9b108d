// SPDX-License-Identifier: Apache-2.0
#include "base/fuel.h"

namespace braze {
namespace {

thread_local FuelScope* current = nullptr;

}  // namespace

FuelScope::FuelScope(int64_t limit, Fired fired)
    : limit_(limit), fired_(std::move(fired)), outer_(current) {
  current = this;
}
FuelScope::~FuelScope() { current = outer_; }

bool take_fuel(std::string_view pass, std::string_view what) {
  FuelScope* f = current;
  if (!f) return true;
  if (f->limit_ >= 0 && f->used_ >= f->limit_) return false;
  ++f->used_;
  if (f->limit_ >= 0) f->last_.assign(pass).append(" ").append(what);
  if (f->fired_) f->fired_(f->used_, pass, what);
  return true;
}

}  // namespace braze
