// SPDX-License-Identifier: Apache-2.0
#include "runtime/fft.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <type_traits>
#include <vector>

#include "runtime/fft_flat.h"
#include "runtime/isa.h"
#include "runtime/scratch.h"

namespace braze {
namespace {

constexpr int64_t kFlatLength = 1 << 15;  // from here on a line does not fit a core's cache in lanes
constexpr int64_t kMaxLength = int64_t{1} << 30;

bool is_inverse(FftType t) { return t == FftType::kIfft || t == FftType::kIrfft; }

// One dimension's transform: `outer` blocks of n lines' elements, `inner` apart.
struct Axis {
  int64_t outer, n, inner;
  int64_t lines() const { return outer * inner; }
};

template <typename T>
class FftCall : public LibraryCall {
 public:
  explicit FftCall(const Instr& instr)
      : type_(instr.as<FftAttrs>().type), in_(instr.operand(0)->shape), out_(instr.shape) {
    const auto& length = instr.as<FftAttrs>().length;
    for (int64_t n : length) {
      scale_ *= is_inverse(type_) ? 1.0 / static_cast<double>(std::max<int64_t>(n, 1)) : 1.0;
    }
    length_ = length.back();
    if (in_.elements() == 0 || out_.elements() == 0) return;
    const int64_t rank = out_.rank(), count = static_cast<int64_t>(length.size());
    const bool real = type_ == FftType::kRfft || type_ == FftType::kIrfft;
    half_ = real && length.back() % 2 == 0;
    // Non-last dimensions are transformed on the array of complex numbers.
    const Dims& dims = type_ == FftType::kIrfft ? in_.dims : out_.dims;
    for (int64_t d = 0; d < rank - count; ++d) transforms_ *= dims[d];
    for (int64_t d = rank - count; d < rank - 1; ++d) {
      Axis a{1, dims[d], 1};
      for (int64_t k = 0; k < d; ++k) a.outer *= dims[k];
      for (int64_t k = d + 1; k < rank; ++k) a.inner *= dims[k];
      axes_.push_back(a);
    }
    last_ = {out_.elements() / out_.dims.back(), half_ ? length.back() / 2 : length.back(), 1};
    for (const Axis& a : axes_) plan(a);
    plan(last_);
    if (half_) plan_half(length.back());
  }

  bool run(absl::Span<char* const> operands, absl::Span<char* const> results, Pool& pool) override {
    if (out_.elements() == 0) return true;
    if (in_.elements() == 0) {
      std::memset(results[0], 0, out_.bytes());
      return true;
    }
    const int64_t copy = copy_bytes(), line = line_bytes();
    Scratch::Lease lease(scratch_, copy + line + scratch_bytes(pool.threads()));
    if (!lease.data()) return false;
    Run r{reinterpret_cast<const T*>(operands[0]), reinterpret_cast<T*>(results[0]),
          reinterpret_cast<T*>(lease.data()), reinterpret_cast<T*>(lease.data() + copy),
          lease.data() + copy + line, pool};
    switch (type_) {
      case FftType::kFft:
      case FftType::kIfft: complex(r); break;
      case FftType::kRfft: from_real(r); break;
      case FftType::kIrfft: to_real(r); break;
    }
    mark_lost(r);
    return true;
  }

 private:
  static constexpr int64_t kL = fft_lanes<T>();
  struct Run {
    const T* in;
    T* out;
    T* copy;        // of the operand, between dimensions
    T* line;        // one odd line of reals as complex numbers
    char* scratch;  // of lines
    Pool& pool;
  };

  // Makes the transforms NaN whose operand isn't finite. Their first number, a sum of all operands, tells
  // that something may be, but of IRFFT, where imaginary parts cancel in it.
  void mark_lost(Run& r) const {
    const auto numbers = [](const Shape& s) { return s.bytes() / static_cast<int64_t>(sizeof(T)); };
    const int64_t from = numbers(in_) / transforms_, to = numbers(out_) / transforms_;
    const int64_t first = std::min<int64_t>(to, 2);
    r.pool.run(transforms_, std::max<int64_t>(1, 65536 / from),
               [&](int64_t begin, int64_t end, int) {
      for (int64_t t = begin; t < end; ++t) {
        T* out = r.out + t * to;
        if (type_ != FftType::kIrfft && all_finite(out, first)) continue;
        if (!all_finite(r.in + t * from, from))
          std::fill(out, out + to, std::numeric_limits<T>::quiet_NaN());
      }
    });
  }
  // No exponent is all ones.
  static bool all_finite(const T* x, int64_t n) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    constexpr Bits kInfinite = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
    bool lost = false;
    for (int64_t i = 0; i < n; ++i)
      lost |= (std::bit_cast<Bits>(x[i]) & kInfinite) == kInfinite;
    return !lost;
  }

  // Lines that are few or long are split; so are none that lanes serve better.
  bool flat(const Axis& a) const {
    return a.inner == 1 && FftFlat<T>::fits(a.n) && (a.lines() < kL || a.n >= kFlatLength);
  }
  void plan(const Axis& a) {
    if (flat(a)) {
      auto& f = flats_[a.n];
      if (!f) f = std::make_unique<FftFlat<T>>(a.n);
      return;
    }
    auto& l = lines_[a.n];
    if (!l) l = std::make_unique<FftLine<T>>(a.n);
  }
  // e^(-πi·k/m) for k ≤ m/2.
  void plan_half(int64_t n) {
    const int64_t m = n / 2;
    const UnitRoots roots(n);
    for (int64_t k = 0; 2 * k <= m; ++k) {
      double re, im;
      roots.get(k, &re, &im);
      half_roots_.push_back(static_cast<T>(re));
      half_roots_.push_back(static_cast<T>(im));
    }
  }

  int64_t copy_bytes() const {
    if (type_ != FftType::kIrfft || axes_.empty()) return 0;
    return (in_.bytes() + 63) / 64 * 64;
  }
  int64_t line_bytes() const {
    const bool real = type_ == FftType::kRfft || type_ == FftType::kIrfft;
    if (!real || half_ || !flat(last_)) return 0;
    return (last_.n * 2 * static_cast<int64_t>(sizeof(T)) + 63) / 64 * 64;
  }
  int64_t line_numbers(const Axis& a) const {
    return std::max(lines_.at(a.n)->capacity(), a.n + 1);
  }
  int64_t scratch_bytes(int threads) const {
    int64_t bytes = 64;
    auto need = [&](const Axis& a) {
      bytes = std::max(bytes, flat(a) ? flats_.at(a.n)->scratch_bytes(threads)
                                      : line_numbers(a) * 4 * kL * threads *
                                            static_cast<int64_t>(sizeof(T)));
    };
    for (const Axis& a : axes_) need(a);
    need(last_);
    return bytes;
  }

  // f(first line, lanes, buffer a, buffer b) for blocks of lines, in parallel.
  template <typename F>
  void blocks(const Axis& a, Run& r, F f) const {
    const int64_t numbers = line_numbers(a) * 2 * kL;
    const int64_t per_outer = (a.inner == 1 ? a.outer : a.inner) + kL - 1;
    const int64_t blocks = per_outer / kL, count = a.inner == 1 ? blocks : blocks * a.outer;
    T* space = reinterpret_cast<T*>(r.scratch);
    r.pool.run(count, std::max<int64_t>(1, 1024 / std::max<int64_t>(1, a.n)),
               [&](int64_t begin, int64_t end, int thread) {
      T* x = space + thread * 2 * numbers;
      for (int64_t i = begin; i < end; ++i) {
        const int64_t outer = a.inner == 1 ? 0 : i / blocks, first = i % blocks * kL;
        const int64_t lanes = std::min<int64_t>(kL, (a.inner == 1 ? a.outer : a.inner) - first);
        f(outer, first, lanes, x, x + numbers);
      }
    });
  }

  // A complex transform along one dimension; from and to may be the same.
  void transform(const Axis& a, const T* from, T* to, T scale, Run& r) const {
    const bool swap = is_inverse(type_);
    if (flat(a)) {
      for (int64_t o = 0; o < a.outer; ++o)
        flats_.at(a.n)->transform(from + 2 * a.n * o, to + 2 * a.n * o, swap, scale, r.scratch, r.pool);
      return;
    }
    const FftKernels<T>& kernels = fft_kernels<T>();
    const FftLine<T>& line = *lines_.at(a.n);
    blocks(a, r, [&](int64_t outer, int64_t first, int64_t lanes, T* x, T* y) {
      if (a.inner == 1) {
        const int64_t at = 2 * a.n * first;
        kernels.load_rows(x, from + at, a.n, a.n, lanes, swap);
        kernels.store_rows(to + at, line.transform(x, y), a.n, a.n, lanes, swap, scale);
      } else {
        const int64_t at = 2 * (outer * a.n * a.inner + first);
        kernels.load_columns(x, from + at, a.n, a.inner, lanes, swap);
        kernels.store_columns(to + at, line.transform(x, y), a.n, a.inner, lanes, swap, scale);
      }
    });
  }

  void complex(Run& r) const {
    transform(last_, r.in, r.out, static_cast<T>(scale_), r);
    for (const Axis& a : axes_) transform(a, r.out, r.out, T(1), r);
  }

  void from_real(Run& r) const {
    const int64_t n = length_, kept = n / 2 + 1;
    const FftKernels<T>& kernels = fft_kernels<T>();
    if (flat(last_)) {
      for (int64_t o = 0; o < last_.outer; ++o) from_real_line(r.in + o * n, r.out + 2 * o * kept, r);
    } else {
      const FftLine<T>& line = *lines_.at(last_.n);
      blocks(last_, r, [&](int64_t, int64_t first, int64_t lanes, T* x, T* y) {
        if (half_) kernels.load_rows(x, r.in + n * first, n / 2, n / 2, lanes, false);
        else kernels.load_real_rows(x, r.in + n * first, n, n, lanes);
        T* s = line.transform(x, y);
        if (half_) kernels.unpack_real(s, half_roots_.data(), n / 2);
        kernels.store_rows(r.out + 2 * kept * first, s, kept, kept, lanes, false, T(1));
      });
    }
    for (const Axis& a : axes_) transform(a, r.out, r.out, T(1), r);
  }

  void to_real(Run& r) const {
    const T* from = r.in;
    for (const Axis& a : axes_) {
      transform(a, from, r.copy, T(1), r);
      from = r.copy;
    }
    const int64_t n = length_, kept = n / 2 + 1;
    const FftKernels<T>& kernels = fft_kernels<T>();
    if (flat(last_)) {
      for (int64_t o = 0; o < last_.outer; ++o) to_real_line(from + 2 * o * kept, r.out + o * n, r);
      return;
    }
    const FftLine<T>& line = *lines_.at(last_.n);
    blocks(last_, r, [&](int64_t, int64_t first, int64_t lanes, T* x, T* y) {
      if (half_) {
        kernels.load_rows(x, from + 2 * kept * first, kept, kept, lanes, false);
        kernels.pack_real(x, half_roots_.data(), n / 2);
        exchange(x, n / 2);
        T* s = line.transform(x, y);
        kernels.store_rows(r.out + n * first, s, n / 2, n / 2, lanes, true, static_cast<T>(scale_));
      } else {
        kernels.load_rows(x, from + 2 * kept * first, kept, kept, lanes, true);
        mirror(x, n);
        T* s = line.transform(x, y);
        // Exchanged parts: the real one is second.
        kernels.store_real_rows(r.out + n * first, s + kL, n, n, lanes, static_cast<T>(scale_));
      }
    });
  }

  // Exchanges re and im of m numbers in lanes.
  static void exchange(T* x, int64_t m) {
    for (int64_t k = 0; k < m; ++k) std::swap_ranges(x + 2 * kL * k, x + 2 * kL * k + kL, x + 2 * kL * k + kL);
  }
  // Numbers kept … n-1 of a real signal's spectrum, whose parts are exchanged: re is second.
  static void mirror(T* x, int64_t n) {
    for (int64_t k = n / 2 + 1; k < n; ++k)
      for (int64_t l = 0; l < kL; ++l) {
        x[2 * kL * k + l] = -x[2 * kL * (n - k) + l];
        x[2 * kL * k + kL + l] = x[2 * kL * (n - k) + kL + l];
      }
  }

  // One long line of n reals.
  void from_real_line(const T* in, T* out, Run& r) const {
    const FftFlat<T>& line = *flats_.at(last_.n);
    if (!half_) return from_odd_line(in, out, r);
    const int64_t m = last_.n;
    line.transform(in, out, false, T(1), r.scratch, r.pool);
    out[2 * m] = out[0];
    out[2 * m + 1] = out[1];
    r.pool.run(m / 2 + 1, 4096, [&](int64_t begin, int64_t end, int) {
      for (int64_t k = begin; k < end; ++k) unpack(out + 2 * k, out + 2 * (m - k), &half_roots_[2 * k]);
    });
  }
  static void unpack(T* a, T* b, const T* w) {
    const T er = (a[0] + b[0]) * T(0.5), ei = (a[1] - b[1]) * T(0.5);
    const T qr = (a[1] + b[1]) * T(0.5), qi = (b[0] - a[0]) * T(0.5);
    const T tr = qr * w[0] - qi * w[1], ti = qr * w[1] + qi * w[0];
    if (a != b) {
      b[0] = er - tr;
      b[1] = ti - ei;
    }
    a[0] = er + tr;
    a[1] = ei + ti;
  }
  void to_real_line(const T* in, T* out, Run& r) const {
    if (!half_) return to_odd_line(in, out, r);
    const int64_t m = last_.n;
    T* z = out;  // n reals are m complex numbers
    r.pool.run(m / 2 + 1, 4096, [&](int64_t begin, int64_t end, int) {
      for (int64_t k = begin; k < end; ++k) {
        const T* a = in + 2 * k;
        const T* b = in + 2 * (m - k);
        const T* w = &half_roots_[2 * k];
        const T ai = k == 0 ? T(0) : a[1], bi = k == 0 ? T(0) : b[1];
        const T er = a[0] + b[0], ei = ai - bi, dr = a[0] - b[0], di = ai + bi;
        const T qr = dr * w[0] + di * w[1], qi = di * w[0] - dr * w[1];
        z[2 * k] = er - qi;
        z[2 * k + 1] = ei + qr;
        if (k != 0 && k != m - k) {
          z[2 * (m - k)] = er + qi;
          z[2 * (m - k) + 1] = qr - ei;
        }
      }
    });
    flats_.at(m)->transform(z, z, true, static_cast<T>(scale_), r.scratch, r.pool);
  }
  // Lines of odd length: as complex ones.
  void from_odd_line(const T* in, T* out, Run& r) const {
    const int64_t n = last_.n;
    for (int64_t k = 0; k < n; ++k) {
      r.line[2 * k] = in[k];
      r.line[2 * k + 1] = T(0);
    }
    flats_.at(n)->transform(r.line, r.line, false, T(1), r.scratch, r.pool);
    std::copy(r.line, r.line + 2 * (n / 2 + 1), out);
  }
  void to_odd_line(const T* in, T* out, Run& r) const {
    const int64_t n = last_.n;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t at = k <= n / 2 ? k : n - k;
      r.line[2 * k] = in[2 * at];
      r.line[2 * k + 1] = k <= n / 2 ? in[2 * at + 1] : -in[2 * at + 1];
    }
    flats_.at(n)->transform(r.line, r.line, true, static_cast<T>(scale_), r.scratch, r.pool);
    for (int64_t k = 0; k < n; ++k) out[k] = r.line[2 * k];
  }

  FftType type_;
  Shape in_, out_;
  int64_t transforms_ = 1;   // of all dimensions of `length`
  int64_t length_ = 1;       // of the last dimension
  double scale_ = 1;
  bool half_ = false;        // reals packed in pairs
  std::vector<Axis> axes_;   // all but the last
  Axis last_{1, 1, 1};       // n: complex numbers transformed
  std::map<int64_t, std::unique_ptr<FftLine<T>>> lines_;
  std::map<int64_t, std::unique_ptr<FftFlat<T>>> flats_;
  std::vector<T> half_roots_;
  Scratch scratch_;
};

}  // namespace

std::unique_ptr<LibraryCall> prepare_fft(const Instr& instr) {
  for (int64_t n : instr.as<FftAttrs>().length)
    if (n > kMaxLength) return nullptr;
  const Dtype t = instr.operand(0)->shape.dtype;
  if (t == Dtype::kF32 || t == Dtype::kC64) return std::make_unique<FftCall<float>>(instr);
  if (t == Dtype::kF64 || t == Dtype::kC128) return std::make_unique<FftCall<double>>(instr);
  return nullptr;
}

}  // namespace braze
