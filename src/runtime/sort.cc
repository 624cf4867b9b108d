// SPDX-License-Identifier: Apache-2.0
#include "runtime/sort.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "analysis/sort_order.h"
#include "runtime/isa.h"

namespace braze {
namespace {

constexpr int64_t kRadixRow = 256;   // rows from this length on are radix sorted
constexpr int64_t kFew = 24;         // so few are selected by insertion
constexpr int64_t kLongRow = 16384;  // and these by wide digits, whose counts are large tables

// An array as rows along one dimension.
struct Rows {
  int64_t count, length, stride;
  int64_t base(int64_t r) const { return r / stride * stride * length + r % stride; }
};

Rows rows_of(const Shape& s, int64_t axis) {
  Rows r{0, s.dims[axis], strides(s.dims)[axis]};
  if (s.elements() > 0) r.count = s.elements() / r.length;
  return r;
}

// Maps an element's bits to an unsigned integer that orders as the element does.
template <typename U>
struct KeyMap {
  static constexpr U kSign = U{1} << (8 * sizeof(U) - 1);
  enum class Kind { kUnsigned, kSigned, kFloat } kind = Kind::kUnsigned;
  U infinity = 0;           // the bits of +infinity
  U invert = 0;             // all ones: descending
  bool replace_zero = false, replace_nan = false;
  U zero = 0, nan = 0;

  KeyMap(Dtype t, const SortOrder& o) {
    kind = is_float(t) ? Kind::kFloat : is_signed_int(t) ? Kind::kSigned : Kind::kUnsigned;
    if (t == Dtype::kF16) infinity = static_cast<U>(0x7c00);
    if (t == Dtype::kBF16) infinity = static_cast<U>(0x7f80);
    if (t == Dtype::kF32) infinity = static_cast<U>(0x7f800000);
    if (t == Dtype::kF64) infinity = static_cast<U>(0x7ff0000000000000);
    if (o.descending) invert = static_cast<U>(~U{0});
    replace_zero = o.zero || !o.total_order;
    zero = static_cast<U>(o.zero.value_or(0));
    replace_nan = o.nan.has_value();
    nan = static_cast<U>(o.nan.value_or(0));
  }
  KeyForm form() const {
    using To = KeyForm::Kind;
    return {kind == Kind::kFloat ? To::kFloat : kind == Kind::kSigned ? To::kSigned : To::kUnsigned, invert != 0};
  }
  bool is_nan(U bits) const { return static_cast<U>(bits & ~kSign) > infinity; }
  U operator()(U bits) const {
    if (kind == Kind::kSigned) {
      bits ^= kSign;
    } else if (kind == Kind::kFloat) {
      if (replace_zero && static_cast<U>(bits & ~kSign) == 0) bits = zero;
      if (replace_nan && is_nan(bits)) bits = nan;
      bits ^= bits & kSign ? static_cast<U>(~U{0}) : kSign;
    }
    return bits ^ invert;
  }
};

template <typename U>
struct Entry {
  U key;
  uint32_t position;
};

// Two arrays of a row's entries for each thread that gets rows.
template <typename U>
class Workspace {
 public:
  Workspace(const Pool& pool, const Rows& rows) : length_(rows.length) {
    const uint64_t threads = std::min<int64_t>(pool.threads(), rows.count);
    const uint64_t entries = 2 * static_cast<uint64_t>(length_) * threads;
    void* p = std::malloc(std::max<uint64_t>(1, entries) * sizeof(Entry<U>));
    data_.reset(static_cast<Entry<U>*>(p));
  }
  bool ok() const { return data_ != nullptr; }
  Entry<U>* of(int thread) { return data_.get() + 2 * length_ * thread; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  int64_t length_;
  std::unique_ptr<Entry<U>[], Free> data_;
};

// Sorts a[0, n) stably by key, b being room for as many; returns which of them holds the result.
// Least significant digit first; a digit that all keys share costs no pass.
template <int kBits, typename U>
Entry<U>* radix_sort(Entry<U>* a, Entry<U>* b, int64_t n) {
  constexpr int kSize = 1 << kBits;
  constexpr int kDigits = (8 * sizeof(U) + kBits - 1) / kBits;
  uint32_t counts[kDigits][kSize] = {};
  auto digit = [](U key, int d) { return static_cast<uint32_t>(key >> (d * kBits)) & (kSize - 1); };
  for (int64_t i = 0; i < n; ++i)
    for (int d = 0; d < kDigits; ++d) ++counts[d][digit(a[i].key, d)];
  for (int d = 0; d < kDigits; ++d) {
    uint32_t* at = counts[d];
    if (at[digit(a[0].key, d)] == n) continue;
    uint32_t sum = 0;
    for (int v = 0; v < kSize; ++v) sum += std::exchange(at[v], sum);
    for (int64_t i = 0; i < n; ++i) b[at[digit(a[i].key, d)]++] = a[i];
    std::swap(a, b);
  }
  return a;
}

// Sorts the n entries stably by key; they end in a or in the n entries after it.
template <typename U>
Entry<U>* sort_entries(Entry<U>* a, int64_t n) {
  if (n >= kLongRow && sizeof(U) > 2) return radix_sort<11>(a, a + n, n);
  if (n >= kRadixRow) return radix_sort<8>(a, a + n, n);
  std::stable_sort(a, a + n, [](const Entry<U>& x, const Entry<U>& y) { return x.key < y.key; });
  return a;
}

template <typename U>
void load(const KeyMap<U>& key, const U* from, const Rows& rows, bool backwards, Entry<U>* to) {
  for (int64_t i = 0; i < rows.length; ++i) {
    const int64_t p = backwards ? rows.length - 1 - i : i;
    to[i] = {key(from[p * rows.stride]), static_cast<uint32_t>(p)};
  }
}

template <typename U, int kBytes>
void permute_as(const Entry<U>* order, const Rows& rows, const char* from, char* to) {
  for (int64_t i = 0; i < rows.length; ++i)
    std::memcpy(to + i * rows.stride * kBytes, from + order[i].position * rows.stride * kBytes,
                kBytes);
}

// Writes one row of an operand in sorted order.
template <typename U>
void permute(const Entry<U>* order, const Rows& rows, int bytes, const char* from, char* to) {
  switch (bytes) {
    case 1: return permute_as<U, 1>(order, rows, from, to);
    case 2: return permute_as<U, 2>(order, rows, from, to);
    case 4: return permute_as<U, 4>(order, rows, from, to);
    case 8: return permute_as<U, 8>(order, rows, from, to);
    default: return permute_as<U, 16>(order, rows, from, to);
  }
}

template <int kBytes>
void permute_short_as(const uint8_t* positions, const ShortRows& r, const char* from, char* to) {
  for (int64_t i = 0; i < r.length; ++i)
    for (int64_t l = 0; l < r.rows; ++l)
      std::memcpy(to + (l * r.row_step + i * r.step) * kBytes,
                  from + (l * r.row_step + positions[i * kShortRows + l] * r.step) * kBytes, kBytes);
}

// Writes short rows of an operand in sorted order.
void permute_short(const uint8_t* positions, const ShortRows& rows, int bytes, const char* from, char* to) {
  switch (bytes) {
    case 1: return permute_short_as<1>(positions, rows, from, to);
    case 2: return permute_short_as<2>(positions, rows, from, to);
    case 4: return permute_short_as<4>(positions, rows, from, to);
    case 8: return permute_short_as<8>(positions, rows, from, to);
    default: return permute_short_as<16>(positions, rows, from, to);
  }
}

void sort_short(const ShortRows& rows, int bytes, uint8_t* positions) {
  const OrderKernels& kernels = isa_kernels().order;
  (bytes == 1 ? kernels.sort_short_1 : bytes == 2 ? kernels.sort_short_2 : kernels.sort_short_4)(rows, positions);
}

// So many rows to a task that handing one out is cheap beside it.
int64_t grain(const Rows& rows) {
  return std::max<int64_t>(1, 4096 / std::max<int64_t>(1, rows.length));
}

// Neighbouring rows together, in the lanes of vectors.
template <typename U>
void sort_short_rows(const Instr& instr, const SortOrder& order, const Rows& rows, const KeyMap<U>& key,
                     absl::Span<char* const> operands, absl::Span<char* const> results, Pool& pool) {
  ShortRows block{.keys = nullptr, .rows = 0, .length = rows.length, .row_step = rows.stride == 1 ? rows.length : 1,
                  .step = rows.stride, .backwards = order.ties_reversed, .form = key.form()};
  block.infinity = static_cast<uint32_t>(key.infinity);
  block.zero = static_cast<uint32_t>(key.zero), block.replace_zero = key.replace_zero;
  block.nan = static_cast<uint32_t>(key.nan), block.replace_nan = key.replace_nan;
  pool.run(rows.count, grain(rows), [&](int64_t begin, int64_t end, int) {
    uint8_t positions[kShortRow * kShortRows];
    ShortRows b = block;
    for (int64_t r = begin; r < end; r += b.rows) {
      b.rows = std::min(kShortRows, end - r);
      if (rows.stride > 1) b.rows = std::min(b.rows, rows.stride - r % rows.stride);
      const int64_t base = rows.base(r);
      b.keys = reinterpret_cast<const U*>(operands[order.key]) + base;
      sort_short(b, sizeof(U), positions);
      for (size_t k = 0; k < operands.size(); ++k) {
        const int bytes = byte_size(instr.operand(k)->shape.dtype);
        permute_short(positions, b, bytes, operands[k] + base * bytes, results[k] + base * bytes);
      }
    }
  });
}

template <typename U>
bool sort_rows_by(const Instr& instr, const SortOrder& order, absl::Span<char* const> operands,
                  absl::Span<char* const> results, Pool& pool) {
  const Shape& shape = instr.operand(order.key)->shape;
  const Rows rows = rows_of(shape, instr.as<SortAttrs>().dimension);
  const KeyMap<U> key(shape.dtype, order);
  const U* keys = reinterpret_cast<const U*>(operands[order.key]);
  if (is_float(shape.dtype) && !order.total_order &&
      std::any_of(keys, keys + shape.elements(), [&](U bits) { return key.is_nan(bits); }))
    return false;
  if (sizeof(U) <= 4 && rows.length <= kShortRow) {
    sort_short_rows(instr, order, rows, key, operands, results, pool);
    return true;
  }
  Workspace<U> space(pool, rows);
  if (!space.ok()) return false;
  pool.run(rows.count, grain(rows), [&](int64_t begin, int64_t end, int thread) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t base = rows.base(r);
      Entry<U>* sorted = space.of(thread);
      load(key, keys + base, rows, order.ties_reversed, sorted);
      sorted = sort_entries(sorted, rows.length);
      for (size_t k = 0; k < operands.size(); ++k) {
        const int bytes = byte_size(instr.operand(k)->shape.dtype);
        permute(sorted, rows, bytes, operands[k] + base * bytes, results[k] + base * bytes);
      }
    }
  });
  return true;
}

// f(U()) with U the unsigned integer of an element's size.
template <typename F>
auto with_bits(Dtype t, F&& f) {
  switch (byte_size(t)) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    default: return f(uint64_t{});
  }
}

// Sorts by several keys: stably by each, the least significant first.
bool sort_rows_by_keys(const Instr& instr, absl::Span<const SortOrder> orders,
                       absl::Span<char* const> operands, absl::Span<char* const> results, Pool& pool) {
  const Rows rows = rows_of(instr.operand(0)->shape, instr.as<SortAttrs>().dimension);
  for (const SortOrder& o : orders) {
    const Shape& s = instr.operand(o.key)->shape;
    if (!is_float(s.dtype) || o.total_order) continue;
    const bool nans = with_bits(s.dtype, [&](auto zero) {
      using U = decltype(zero);
      const KeyMap<U> key(s.dtype, o);
      const U* p = reinterpret_cast<const U*>(operands[o.key]);
      return std::any_of(p, p + s.elements(), [&](U bits) { return key.is_nan(bits); });
    });
    if (nans) return false;
  }
  Workspace<uint64_t> space(pool, rows);
  if (!space.ok()) return false;
  pool.run(rows.count, grain(rows), [&](int64_t begin, int64_t end, int thread) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t base = rows.base(r), n = rows.length;
      Entry<uint64_t>*a = space.of(thread), *sorted = a;
      for (int64_t i = 0; i < n; ++i)
        a[i].position = static_cast<uint32_t>(orders.back().ties_reversed ? n - 1 - i : i);
      for (size_t k = orders.size(); k-- > 0;) {
        const Dtype t = instr.operand(orders[k].key)->shape.dtype;
        with_bits(t, [&](auto zero) {
          using U = decltype(zero);
          const KeyMap<U> key(t, orders[k]);
          const U* p = reinterpret_cast<const U*>(operands[orders[k].key]) + base;
          for (int64_t i = 0; i < n; ++i)
            a[i] = {key(p[sorted[i].position * rows.stride]), sorted[i].position};
        });
        sorted = sort_entries(a, n);
      }
      for (size_t k = 0; k < operands.size(); ++k) {
        const int bytes = byte_size(instr.operand(k)->shape.dtype);
        permute(sorted, rows, bytes, operands[k] + base * bytes, results[k] + base * bytes);
      }
    }
  });
  return true;
}

template <typename U>
bool any_before(const U* bits, int64_t n, KeyForm form, U limit) {
  const OrderKernels& k = isa_kernels().order;
  if constexpr (sizeof(U) == 1) return k.any_before_1(bits, n, form, limit);
  else if constexpr (sizeof(U) == 2) return k.any_before_2(bits, n, form, limit);
  else if constexpr (sizeof(U) == 4) return k.any_before_4(bits, n, form, limit);
  else return k.any_before_8(bits, n, form, limit);
}

template <typename U>
bool comes_before(const Entry<U>& x, const Entry<U>& y) {
  return x.key != y.key ? x.key < y.key : x.position < y.position;
}

// The first k of a row's elements, in no order, at top. Candidates gather there and are thinned out
// to k when there are `room` of them; what is left sets the limit for later ones.
template <typename U>
void first_of_row(const KeyMap<U>& key, KeyForm form, const U* row, int64_t n, int64_t k, int64_t room,
                  Entry<U>* top) {
  constexpr int64_t kBlock = 64;
  int64_t count = k;
  for (int64_t i = 0; i < k; ++i) top[i] = {key(row[i]), static_cast<uint32_t>(i)};
  auto thin = [&] {
    std::nth_element(top, top + k - 1, top + count, comes_before<U>);
    count = k;
    return top[k - 1].key;
  };
  U limit = thin();
  for (int64_t begin = k; begin < n; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, n);
    if (!any_before(row + begin, end - begin, form, limit)) continue;
    for (int64_t i = begin; i < end; ++i) {
      const U v = key(row[i]);
      if (v >= limit) continue;
      top[count++] = {v, static_cast<uint32_t>(i)};
      if (count == room) limit = thin();
    }
  }
  thin();
}

// The same for small k: the best so far are kept in order.
template <typename U>
void first_few_of_row(const KeyMap<U>& key, KeyForm form, const U* row, int64_t n, int64_t k,
                      Entry<U>* top) {
  constexpr int64_t kBlock = 64, kPart = 16;
  int64_t count = 0;
  auto insert = [&](U v, int64_t position) {
    int64_t at = count < k ? count++ : k - 1;
    for (; at > 0 && v < top[at - 1].key; --at) top[at] = top[at - 1];
    top[at] = {v, static_cast<uint32_t>(position)};
  };
  for (int64_t i = 0; i < k; ++i) insert(key(row[i]), i);
  for (int64_t begin = k; begin < n; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, n);
    if (!any_before(row + begin, end - begin, form, top[k - 1].key)) continue;
    for (int64_t part = begin; part < end; part += kPart) {
      const int64_t last = std::min(part + kPart, end);
      if (!any_before(row + part, last - part, form, top[k - 1].key)) continue;
      for (int64_t i = part; i < last; ++i)
        if (const U v = key(row[i]); v < top[k - 1].key) insert(v, i);
    }
  }
}

template <typename U>
bool top_rows(const Instr& instr, absl::Span<char* const> operands,
              absl::Span<char* const> results, Pool& pool) {
  const auto& a = instr.as<TopKAttrs>();
  const Shape& shape = instr.operand(0)->shape;
  const Rows rows = rows_of(shape, shape.rank() - 1);
  SortOrder order;
  order.total_order = true;
  order.descending = a.largest;
  const KeyMap<U> key(shape.dtype, order);
  const U* in = reinterpret_cast<const U*>(operands[0]);
  U* values = reinterpret_cast<U*>(results[0]);
  int32_t* positions = reinterpret_cast<int32_t*>(results[1]);
  const KeyForm form{is_float(shape.dtype)        ? KeyForm::Kind::kFloat
                     : is_signed_int(shape.dtype) ? KeyForm::Kind::kSigned
                                                  : KeyForm::Kind::kUnsigned,
                     a.largest};
  if (a.k == 0) return true;
  const int64_t room = 2 * a.k + std::min<int64_t>(64, rows.length / 8 + 1);
  const bool few = a.k <= kFew, thins = room < rows.length / 2;
  Rows space_of = rows;
  if (few || thins) space_of.length = few ? kFew : room;
  Workspace<U> space(pool, space_of);
  if (!space.ok()) return false;
  pool.run(rows.count, grain(rows), [&](int64_t begin, int64_t end, int thread) {
    for (int64_t r = begin; r < end; ++r) {
      Entry<U>* top = space.of(thread);
      if (few) {
        first_few_of_row(key, form, in + r * rows.length, rows.length, a.k, top);
      } else if (thins) {
        first_of_row(key, form, in + r * rows.length, rows.length, a.k, room, top);
      } else {
        load(key, in + r * rows.length, rows, false, top);
        top = sort_entries(top, rows.length);
      }
      if (thins && !few) std::sort(top, top + a.k, comes_before<U>);
      for (int64_t i = 0; i < a.k; ++i) {
        values[r * a.k + i] = in[r * rows.length + top[i].position];
        positions[r * a.k + i] = static_cast<int32_t>(top[i].position);
      }
    }
  });
  return true;
}

bool has_key(Dtype t) {
  return is_int(t) || is_pred(t) || t == Dtype::kF16 || t == Dtype::kBF16 || t == Dtype::kF32 ||
         t == Dtype::kF64;
}

// True if any result shares bytes with any operand.
bool overlap(const Instr& instr, absl::Span<char* const> operands,
             absl::Span<char* const> results) {
  for (size_t r = 0; r < results.size(); ++r) {
    const Shape& to = instr.shape.is_tuple() ? instr.shape.tuple[r] : instr.shape;
    for (size_t k = 0; k < operands.size(); ++k)
      if (results[r] < operands[k] + instr.operand(k)->shape.bytes() &&
          operands[k] < results[r] + to.bytes())
        return true;
  }
  return false;
}

}  // namespace

bool run_sort(const Instr& instr, absl::Span<char* const> operands,
              absl::Span<char* const> results, Pool& pool) {
  std::optional<SortOrder> order;
  if (instr.is(Op::kSort)) order = sort_order(*instr.calls[0]);
  if (instr.is(Op::kTopK)) order.emplace();
  if (!order) return false;
  const Shape& keys = instr.operand(order->key)->shape;
  const int64_t axis = instr.is(Op::kSort) ? instr.as<SortAttrs>().dimension : keys.rank() - 1;
  if (!has_key(keys.dtype) || keys.dims[axis] > std::numeric_limits<int32_t>::max() ||
      overlap(instr, operands, results))
    return false;
  if (!order->then.empty()) {
    std::vector<SortOrder> orders = {*order};
    orders.insert(orders.end(), order->then.begin(), order->then.end());
    for (const SortOrder& o : orders)
      if (!has_key(instr.operand(o.key)->shape.dtype)) return false;
    return sort_rows_by_keys(instr, orders, operands, results, pool);
  }
  return with_bits(keys.dtype, [&](auto u) {
    using U = decltype(u);
    return instr.is(Op::kSort) ? sort_rows_by<U>(instr, *order, operands, results, pool)
                               : top_rows<U>(instr, operands, results, pool);
  });
}

}  // namespace braze
