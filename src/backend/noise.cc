// SPDX-License-Identifier: Apache-2.0
#include "backend/noise.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "absl/container/flat_hash_set.h"
#include "base/floats.h"
#include "ir/float_format.h"
#include "ops/builder.h"
#include "ops/scalar_function.h"

namespace braze {
namespace {

// Noise has a value per element up to this size, else one per element of the last dimension.
constexpr int64_t kFullNoise = 1 << 14;

bool can_be_noisy(const Shape& s) {
  const Dtype t = real_of(s.dtype);
  return s.is_array() && is_float(t) && bit_size(t) >= 16 && s.is_static() && !s.has_bounded_dim() &&
         !s.quant;
}

// Sums and what is made of sums: their error is relative to the terms. So is that of a complex power:
// its exponential blows up what the logarithm rounds.
bool is_sum(const Instr& i) {
  switch (i.op) {
    case Op::kPower: return is_complex(i.shape.dtype);
    case Op::kReduce:
    case Op::kReduceWindow: {
      auto op = plain_combiner(*i.calls[0]);
      return !op || *op == Op::kAdd || *op == Op::kMultiply;
    }
    case Op::kSelectAndScatter: case Op::kScatter: case Op::kDot: case Op::kRaggedDot:
    case Op::kConvolution: case Op::kDynamicConv: case Op::kCholesky: case Op::kTriangularSolve:
    case Op::kFft: case Op::kBatchNormTraining: case Op::kBatchNormInference: case Op::kBatchNormGrad:
    case Op::kCustomCall: case Op::kAllReduce: case Op::kReduceScatter:
      return true;
    default: return false;
  }
}

// Terms of each sum, roughly.
double terms(const Instr& i) {
  const double out = std::max<double>(1, static_cast<double>(i.shape.is_array() ? i.shape.elements() : 1));
  double in = 1;
  for (const Instr* o : i.operands)
    if (o->shape.is_array() && o->shape.is_static()) in = std::max(in, static_cast<double>(o->shape.elements()));
  if (i.op == Op::kDot && i.operand(0)->shape.is_static()) {
    in = 1;
    for (int64_t d : i.as<DotAttrs>().lhs_contracting) in *= static_cast<double>(i.operand(0)->shape.dims[d]);
    return in;
  }
  if (i.op == Op::kPower) return 1;
  if (i.op == Op::kReduce) return in / out;
  if (i.op == Op::kReduceWindow) {
    in = 1;
    for (const WindowDim& w : i.as<WindowAttrs>().window) in *= static_cast<double>(w.size);
    return in;
  }
  return std::sqrt(in);
}

// Elementwise ops that engines compute within some units in the last place of each other.
bool is_inexact(const Instr& i) {
  const OpDef& row = def(i);
  if (!row.has(kElementwise)) return false;
  const bool complex = is_complex(i.shape.dtype) || (!i.operands.empty() && is_complex(i.operand(0)->shape.dtype));
  if (complex && (i.op == Op::kMultiply || i.op == Op::kDivide || i.op == Op::kSqrt || i.op == Op::kAbs ||
                  i.op == Op::kSign))
    return true;
  return row.has(kExpensive) && i.op != Op::kDivide && i.op != Op::kSqrt && i.op != Op::kRemainder;
}

class Noise {
 public:
  Noise(Module& m, uint64_t seed)
      : module_(m), rng_(seed), flips_nans_(seed % 2 == 1), definiteness_(seed / 2 % 2 ? 1 : -1),
        turns_(seed % 3 != 0) {}

  void run() {
    absl::flat_hash_set<const Computation*> scalar_bodies;
    for (const auto& c : module_.computations())
      for (const auto& i : c->instrs())
        if (i->op != Op::kWhile && i->op != Op::kConditional && i->op != Op::kCall && i->op != Op::kFusion)
          scalar_bodies.insert(i->calls.begin(), i->calls.end());
    for (const auto& c : module_.computations())
      if (!scalar_bodies.contains(c.get())) disturb(c.get());
  }

 private:
  void disturb(Computation* c) {
    std::vector<Instr*> before;
    for (const auto& i : c->instrs()) before.push_back(i.get());
    Builder b(c);
    for (Instr* i : before) {
      // Each step of a sum rounds what has been summed so far; where terms are alike, all in one
      // direction.
      amplitude_ = is_sum(*i) ? std::clamp(terms(*i) / 32, 1.0, 256.0) : 1;
      diagonal_ = i->op == Op::kCholesky ? definiteness_ : 0;
      if (is_sum(*i))
        for (size_t k = 0; k < i->operands.size(); ++k)
          if (can_be_noisy(i->operand(k)->shape)) c->set_operand(i, k, noisy(b, i->operand(k)));
      diagonal_ = 0;
      if ((is_sum(*i) || is_inexact(*i)) && can_be_noisy(i->shape)) replace(c, i, noisy(b, i));
    }
  }

  // All uses of `i` but the one in the product itself.
  void replace(Computation* c, Instr* i, Instr* by) {
    const std::vector<Instr*> users = i->users;
    for (Instr* u : users) {
      if (made_.contains(u)) continue;
      for (size_t k = 0; k < u->operands.size(); ++k)
        if (u->operand(k) == i) c->set_operand(u, k, by);
    }
    if (c->root() == i) c->set_root(by);
  }

  // `base` ± up to two units in the last place beside 1, in the shape of x.
  Instr* factors(Builder& b, const Shape& s, double base) {
    Dims dims = s.dims;
    if (braze::product(dims) > kFullNoise) dims.assign(1, dims.back() <= kFullNoise ? dims.back() : 1);
    const double unit = amplitude_ * std::ldexp(1.0, -format_of(s.dtype).mantissa_bits - 1);
    Literal l(Shape::array(s.dtype, dims));
    const bool matrices = base != 0 && dims.size() >= 2;
    const int64_t side = dims.empty() ? 1 : dims.back();
    for (int64_t k = 0, n = l.elements(); k < n; ++k) {
      const bool on_diagonal = matrices && k / side % side == k % side;
      const double shift = on_diagonal ? static_cast<double>(4 * (side + 1) * diagonal_) : 0;
      l.set_float(k, base + unit * (shift + static_cast<double>(static_cast<int64_t>(rng_() % 7) - 3)));
    }
    Instr* n = b.constant(std::move(l));
    if (dims == s.dims) return n;
    const bool one = dims[0] == 1;
    return b.broadcast(one ? b.reshape(n, {}) : n, s.dims, one ? Dims() : Dims{s.rank() - 1});
  }

  // Complex numbers are turned as well: their parts' errors are relative to the whole. Not in all copies:
  // numbers on an axis, where poles and branch cuts lie, mostly stay there.
  Instr* noisy(Builder& b, Instr* x) {
    const auto mine = [&](Instr* i) {
      made_.insert(i);
      return i;
    };
    if (!is_complex(x->shape.dtype)) {
      Instr* y = mine(b.mul(x, factors(b, x->shape, 1)));
      if (!flips_nans_) return y;
      // The sign of a NaN is open: total orders and the bits of it hang on it.
      Instr* nan = mine(b.compare(CompareDirection::kNe, y, y));
      return mine(b.select(nan, mine(b.unary(Op::kNegate, y)), y));
    }
    Instr *re = mine(b.unary(Op::kReal, x)), *im = mine(b.unary(Op::kImag, x));
    Instr* scale = factors(b, re->shape, 1);
    if (!turns_) return b.binary(Op::kComplex, b.mul(re, scale), b.mul(im, scale));
    Instr* turn = factors(b, re->shape, 0);
    return b.binary(Op::kComplex, b.sub(b.mul(re, scale), b.mul(im, turn)),
                    b.add(b.mul(im, scale), b.mul(re, turn)));
  }

  Module& module_;
  std::mt19937_64 rng_;
  const bool flips_nans_;
  // A factorization rounds as if the matrix had been another, by some units times its side: where an
  // eigenvalue is that small, whether there is a factor is open. Noise in single elements seldom finds
  // a definite matrix nearby; a heavier or lighter diagonal does.
  const int definiteness_;
  const bool turns_;  // complex numbers
  double amplitude_ = 1;
  int diagonal_ = 0;  // its sign while a matrix to be factored is disturbed
  absl::flat_hash_set<const Instr*> made_;
};

constexpr double kSpreads = 16;  // so many times what noise does is still noise
constexpr int64_t kUlps = 4;

double part(const Literal& l, int64_t i, int p) {
  const auto c = l.get_complex(i);
  return p ? c.imag() : c.real();
}

bool same_kind(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return true;
}

// Complex numbers with a part that is no number: which part of a product of infinities becomes NaN is
// left open.
bool both_odd(const Literal& a, const Literal& b, int64_t i) {
  const auto x = a.get_complex(i), y = b.get_complex(i);
  auto odd = [](std::complex<double> z) { return !std::isfinite(z.real()) || !std::isfinite(z.imag()); };
  return odd(x) && odd(y);
}

// Element i as a number. Complex elements are one: what rounds one part may turn the other.
bool element_agrees(const Literal& got, const Literal& want, absl::Span<const Literal> noisy, int64_t i) {
  const int parts = is_complex(want.dtype()) ? 2 : 1;
  double spread = 0, error = 0, size = 0;
  bool kinds = true, noisy_kinds = true;
  for (int p = 0; p < parts; ++p) {
    const double g = part(got, i, p), w = part(want, i, p);
    kinds = kinds && same_kind(g, w);
    for (const Literal& n : noisy) {
      const double v = part(n, i, p);
      noisy_kinds = noisy_kinds && same_kind(v, w);
      if (std::isfinite(v) && std::isfinite(w)) spread = std::max(spread, std::fabs(v - w));
    }
    if (std::isfinite(g) && std::isfinite(w)) error = std::max(error, std::fabs(g - w));
    if (std::isfinite(w)) size = std::max(size, std::fabs(w));
  }
  if (!kinds || !noisy_kinds) return kinds || !noisy_kinds || (parts == 2 && both_odd(got, want, i));
  const FloatFormat& f = format_of(want.dtype());
  const double least = std::ldexp(1.0, std::max(-1074, 1 - f.bias - f.mantissa_bits));
  const double ulp = std::max(least, std::ldexp(size, -f.mantissa_bits));
  return error <= kSpreads * spread + static_cast<double>(kUlps) * ulp;
}

bool floats_agree(const Literal& got, const Literal& want, absl::Span<const Literal> noisy,
                  std::string* why) {
  for (int64_t i = 0, n = want.elements(); i < n; ++i) {
    if (element_agrees(got, want, noisy, i)) continue;
    Literal a(Shape::scalar(want.dtype())), b = a;
    a.copy_element(0, got, i);
    b.copy_element(0, want, i);
    *why = str_cat("element ", i, " of ", to_string(want.shape(), false), " is ", to_string(a),
                   " instead of ", to_string(b));
    return false;
  }
  return true;
}

bool integers_agree(const Literal& got, const Literal& want, absl::Span<const Literal> noisy,
                    std::string* why) {
  int64_t wrong = 0, first = -1, moved = 0;
  for (int64_t i = 0, n = want.elements(); i < n; ++i) {
    if (got.get_int(i) != want.get_int(i) && wrong++ == 0) first = i;
    for (const Literal& l : noisy)
      if (l.get_int(i) != want.get_int(i)) {
        ++moved;
        break;
      }
  }
  if (wrong == 0 || (moved > 0 && wrong <= 4 + 4 * moved)) return true;
  *why = str_cat(wrong, " of ", want.elements(), " elements of ", to_string(want.shape(), false),
                 " differ, first at ", first, ": ", got.get_int(first), " instead of ", want.get_int(first),
                 " (noise moves ", moved, ")");
  return false;
}

}  // namespace

std::unique_ptr<Module> with_noise(const Module& m, uint64_t seed) {
  auto out = m.clone();
  Noise(*out, seed).run();
  return out;
}

bool agree_within_noise(const Literal& got, const Literal& want, absl::Span<const Literal> noisy,
                        std::string* why) {
  if (!compatible(got.shape(), want.shape())) {
    *why = str_cat("the shape is ", to_string(got.shape(), false), " instead of ",
                   to_string(want.shape(), false));
    return false;
  }
  if (want.shape().is_tuple()) {
    for (size_t k = 0; k < want.parts().size(); ++k) {
      std::vector<Literal> parts;
      for (const Literal& n : noisy) parts.push_back(n.parts()[k]);
      if (agree_within_noise(got.parts()[k], want.parts()[k], parts, why)) continue;
      *why = str_cat("part ", k, ": ", *why);
      return false;
    }
    return true;
  }
  if (!want.shape().is_array()) return true;
  const bool real = is_float(want.dtype()) || is_complex(want.dtype());
  return real ? floats_agree(got, want, noisy, why) : integers_agree(got, want, noisy, why);
}

}  // namespace braze
