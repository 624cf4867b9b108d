// SPDX-License-Identifier: Apache-2.0
#include "codegen/code_pool.h"

#include <algorithm>
#include <deque>
#include <mutex>

namespace braze::codegen {
namespace {

constexpr int64_t kKeptBytes = 16 << 20;  // of code, whether or not anybody uses it
constexpr int64_t kLinkedBytes = 32 << 10;  // that linked code takes beside its objects: pages, symbols
constexpr size_t kFewest = 1024;          // entries worth a look for dead ones

struct CodePool {
  std::mutex mutex;
  absl::flat_hash_map<Hash128, std::weak_ptr<const LoadedCode>> units;
  std::deque<LoadedCodeRef> kept;  // the newest last
  int64_t kept_bytes = 0;
  size_t sweep_at = kFewest;
};

CodePool& pool() {
  static CodePool* const p = new CodePool();  // never destroyed: used at exit, too
  return *p;
}

}  // namespace

int64_t LoadedCode::bytes() const {
  int64_t n = kLinkedBytes;
  for (const CodeObject& o : objects) n += static_cast<int64_t>(o.bytes.size());
  return n;
}

LoadedCodeRef find_code(const Hash128& unit) {
  CodePool& p = pool();
  std::lock_guard<std::mutex> lock(p.mutex);
  auto it = p.units.find(unit);
  return it == p.units.end() ? nullptr : it->second.lock();
}

void share_code(LoadedCodeRef code) {
  std::vector<LoadedCodeRef> dropped;  // destroyed after the lock is
  CodePool& p = pool();
  std::lock_guard<std::mutex> lock(p.mutex);
  for (const auto& [key, unit] : code->units) {
    auto& place = p.units[key];
    if (place.expired()) place = code;
  }
  p.kept_bytes += code->bytes();
  p.kept.push_back(std::move(code));
  while (p.kept_bytes > kKeptBytes && p.kept.size() > 1) {
    p.kept_bytes -= p.kept.front()->bytes();
    dropped.push_back(std::move(p.kept.front()));
    p.kept.pop_front();
  }
  if (p.units.size() < p.sweep_at) return;
  absl::erase_if(p.units, [](const auto& u) { return u.second.expired(); });
  p.sweep_at = std::max(kFewest, 2 * p.units.size());
}

void forget_code() {
  std::deque<LoadedCodeRef> dropped;
  CodePool& p = pool();
  std::lock_guard<std::mutex> lock(p.mutex);
  p.units.clear();
  dropped.swap(p.kept);
  p.kept_bytes = 0;
}

}  // namespace braze::codegen
