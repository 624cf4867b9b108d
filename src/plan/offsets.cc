// SPDX-License-Identifier: Apache-2.0
#include "plan/offsets.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace braze {
namespace {

constexpr size_t kMostBySize = 3000;  // ranges: the way by size looks at pairs of them

int64_t rounded(int64_t bytes) { return std::max<int64_t>((bytes + 63) / 64 * 64, 64); }

// Tightest-fit allocation of arena ranges; freed ranges merge.
class Arena {
 public:
  int64_t allocate(int64_t bytes) {
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it)
      if (it->second >= bytes && (best == free_.end() || it->second < best->second)) best = it;
    if (best != free_.end()) {
      const int64_t at = best->first, rest = best->second - bytes;
      free_.erase(best);
      if (rest > 0) free_[at + bytes] = rest;
      return at;
    }
    // Grow, taking a free range at the end along.
    int64_t at = top_;
    if (!free_.empty()) {
      auto last = std::prev(free_.end());
      if (last->first + last->second == top_) {
        at = last->first;
        free_.erase(last);
      }
    }
    top_ = at + bytes;
    return at;
  }
  void release(int64_t at, int64_t bytes) {
    auto it = free_.emplace(at, bytes).first;
    if (auto next = std::next(it); next != free_.end() && it->first + it->second == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
    if (it != free_.begin()) {
      auto before = std::prev(it);
      if (before->first + before->second == it->first) {
        before->second += it->second;
        free_.erase(it);
      }
    }
  }
  int64_t top() const { return top_; }

 private:
  std::map<int64_t, int64_t> free_;
  int64_t top_ = 0;
};

struct Event {
  int64_t time;
  size_t range;
  bool begins;
};

std::vector<Event> events(absl::Span<const Lifetime> ranges) {
  std::vector<Event> out;
  for (size_t i = 0; i < ranges.size(); ++i) {
    out.push_back({ranges[i].from, i, true});
    out.push_back({ranges[i].to, i, false});
  }
  std::sort(out.begin(), out.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
  return out;
}

Offsets by_time(absl::Span<const Lifetime> ranges, const std::vector<Event>& order) {
  Offsets out;
  out.at.resize(ranges.size());
  Arena arena;
  for (const Event& e : order) {
    const int64_t bytes = rounded(ranges[e.range].bytes);
    if (e.begins) {
      out.at[e.range] = arena.allocate(bytes);
    } else {
      arena.release(out.at[e.range], bytes);
    }
  }
  out.bytes = arena.top();
  return out;
}

// What no way can do without.
int64_t most_alive(absl::Span<const Lifetime> ranges, const std::vector<Event>& order) {
  int64_t now = 0, most = 0;
  for (const Event& e : order) {
    const int64_t bytes = rounded(ranges[e.range].bytes);
    now += e.begins ? bytes : -bytes;
    most = std::max(most, now);
  }
  return most;
}

Offsets by_size(absl::Span<const Lifetime> ranges) {
  Offsets out;
  out.at.resize(ranges.size());
  std::vector<size_t> order(ranges.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    if (ranges[a].bytes != ranges[b].bytes) return ranges[a].bytes > ranges[b].bytes;
    return ranges[a].from < ranges[b].from;
  });
  std::vector<size_t> placed;  // by offset
  for (size_t i : order) {
    const Lifetime& r = ranges[i];
    const int64_t bytes = rounded(r.bytes);
    int64_t best = -1, tightest = INT64_MAX, end = 0;
    for (size_t p : placed) {
      if (ranges[p].to <= r.from || r.to <= ranges[p].from) continue;
      const int64_t gap = out.at[p] - end;
      if (gap >= bytes && gap < tightest) best = end, tightest = gap;
      end = std::max(end, out.at[p] + rounded(ranges[p].bytes));
    }
    out.at[i] = best >= 0 ? best : end;
    out.bytes = std::max(out.bytes, out.at[i] + bytes);
    auto by_offset = [&](size_t a, size_t b) { return out.at[a] < out.at[b]; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), i, by_offset), i);
  }
  return out;
}

}  // namespace

Offsets assign_offsets(absl::Span<const Lifetime> ranges) {
  const std::vector<Event> order = events(ranges);
  Offsets out = by_time(ranges, order);
  if (ranges.size() > kMostBySize || out.bytes == most_alive(ranges, order)) return out;
  Offsets other = by_size(ranges);
  return other.bytes < out.bytes ? other : out;
}

}  // namespace braze
