// SPDX-License-Identifier: Apache-2.0
// The elementary functions as compiled code: error in units of the last place against long double
// libm, limits and special values, and agreement of widths, targets and the interpreter.
#include <bit>
#include <cmath>
#include <cstdio>
#include <random>

#include <gtest/gtest.h>

#include "scalar/float_format.h"
#include "scalar/math.h"
#include "scalar/real_math.h"
#include "test/codegen/scalar_loop.h"

namespace braze::codegen {
namespace {

using scalar::Expr;
using scalar::Graph;
using scalar::Scalar;
using scalar::Value;

using Ref = long double (*)(long double);
using Lifted = Value (*)(Graph&, Dtype, scalar::math::Args);

struct Function {
  const char* name;
  Lifted emit;
  Ref ref;
  double f32_ulp, f64_ulp;
  double low = -20, high = 20;  // where most of the interest is
};

long double logistic_ref(long double x) {
  return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}
long double rsqrt_ref(long double x) { return 1 / sqrtl(x); }

const Function kFunctions[] = {
    {"exp", scalar::math::exp, expl, 1.5, 1.5, -110, 95},
    {"expm1", scalar::math::expm1, expm1l, 3, 3, -5, 5},
    {"logistic", scalar::math::logistic, logistic_ref, 3, 3},
    {"tanh", scalar::math::tanh, tanhl, 3, 4, -10, 10},
    {"sinh", scalar::math::sinh, sinhl, 4, 4},
    {"cosh", scalar::math::cosh, coshl, 4, 4},
    {"log", scalar::math::log, logl, 1.5, 1.5, 0, 4},
    {"log1p", scalar::math::log1p, log1pl, 2, 2, -1, 4},
    {"asinh", scalar::math::asinh, asinhl, 4, 4, -4, 4},
    {"acosh", scalar::math::acosh, acoshl, 4, 4, 1, 10},
    {"atanh", scalar::math::atanh, atanhl, 4, 4, -1, 1},
    {"sqrt", scalar::math::sqrt, sqrtl, 0.5, 0.5, 0, 100},
    {"rsqrt", scalar::math::rsqrt, rsqrt_ref, 1.5, 1.5, 0, 100},
    {"cbrt", scalar::math::cbrt, cbrtl, 2, 2, -100, 100},
    {"erf", scalar::math::erf, erfl, 3, 2, -5, 5},
    {"sin", scalar::math::sin, sinl, 2, 2, -100, 100},
    {"cos", scalar::math::cos, cosl, 2, 2, -100, 100},
    {"tan", scalar::math::tan, tanl, 3, 3.5, -100, 100},
    {"asin", scalar::math::asin, asinl, 4, 4, -1, 1},
    {"acos", scalar::math::acos, acosl, 4, 4, -1, 1},
    {"atan", scalar::math::atan, atanl, 4, 4, -10, 10},
};

// f(inputs…) for all elements, at one width.
template <typename T>
class Runner {
 public:
  Runner(Lifted f, Dtype t, int operands, int width, const Target& target = host_target()) {
    const Scalar i = g_.index_var(1000, int64_t{1} << 40);
    std::vector<Value> args;
    ScalarLoop loop{g_, {}, {}, 1000, width, target};
    for (int k = 0; k < operands; ++k) {
      args.push_back({g_.load(t, k, i)});
      loop.buffers.push_back(k);
    }
    root = f(g_, t, args).re;
    loop.roots = {root};
    jit_ = std::move(*Jit::create());
    auto loaded = loop.load(*jit_);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    function_ = loaded.ok() ? *loaded : nullptr;
  }
  std::vector<T> operator()(std::vector<T> x, std::vector<T> y = {}) {
    std::vector<T> out(x.size());
    void* two[] = {x.data(), out.data()};
    void* three[] = {x.data(), y.data(), out.data()};
    function_(y.empty() ? two : three, static_cast<int64_t>(x.size()));
    return out;
  }
  const Graph& graph() const { return g_; }
  Scalar root;

 private:
  Graph g_;
  std::unique_ptr<Jit> jit_;
  ScalarLoop::Function* function_ = nullptr;
};

template <typename T>
long double ulp_of(long double v) {
  using Limits = std::numeric_limits<T>;
  v = std::min<long double>(fabsl(v), Limits::max());
  const int e = v == 0 ? Limits::min_exponent : std::max(ilogbl(v) + 1, Limits::min_exponent);
  return ldexpl(1, e - Limits::digits);
}

// Error of `got` in ulps; NaN and infinite results must be so exactly.
template <typename T>
double error_of(T got, long double want) {
  if (std::isnan(want) || std::isnan(got))
    return std::isnan(want) && std::isnan(got) ? 0 : INFINITY;
  const T rounded = static_cast<T>(want);
  if (got == rounded) {
    if (got == 0 && std::signbit(got) != std::signbit(rounded)) return INFINITY;
    if (!std::isfinite(got)) return 0;
  }
  const long double top = ldexpl(1, std::numeric_limits<T>::max_exponent);
  const long double g = std::isinf(got) ? copysignl(top, got) : static_cast<long double>(got);
  const long double w = std::isinf(want) ? copysignl(2 * top, want) : want;
  return static_cast<double>(fabsl(g - w) / ulp_of<T>(w));
}

std::vector<float> f32_samples(const Function& f) {
  std::vector<float> x;
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 6007)
    x.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  for (int i = 0; i < 400000; ++i)
    x.push_back(static_cast<float>(f.low + (f.high - f.low) * i / 400000.0));
  const float special[] = {0.f,
                           -0.f,
                           1.f,
                           -1.f,
                           INFINITY,
                           -INFINITY,
                           NAN,
                           1e-45f,
                           -1e-45f,
                           0x1p-126f,
                           88.722f,
                           88.723f,
                           88.7229f,
                           -103.97f,
                           -104.f,
                           -87.34f,
                           0.5f,
                           2.f,
                           1.0000001f,
                           0.99999994f,
                           3.4028235e38f,
                           -3.4028235e38f,
                           16367173.f * 0x1p72f,
                           0x1p24f};
  for (float v : special) x.push_back(v);
  // Near multiples of π/2.
  for (int k = 1; k < 60000; k += 7) x.push_back(static_cast<float>(k * M_PI_2));
  return x;
}

std::vector<double> f64_samples(const Function& f) {
  std::vector<double> x;
  std::mt19937_64 rng(1);
  for (int i = 0; i < 150000; ++i) x.push_back(std::bit_cast<double>(rng()));
  for (int i = 0; i < 150000; ++i)
    x.push_back(f.low + (f.high - f.low) * std::ldexp(static_cast<double>(rng() >> 11), -53));
  for (int i = 0; i < 50000; ++i)  // small exponents
    x.push_back(
        std::ldexp(static_cast<double>(static_cast<int64_t>(rng())), -63 - int(rng() % 60)));
  const double special[] = {0.,
                            -0.,
                            1,
                            -1,
                            INFINITY,
                            -INFINITY,
                            NAN,
                            5e-324,
                            -5e-324,
                            0x1p-1022,
                            709.78,
                            709.79,
                            710.4,
                            -745.1,
                            -745.2,
                            -708.4,
                            0.5,
                            2,
                            1.0000000000000002,
                            0.9999999999999999,
                            1.7976931348623157e308,
                            -1.7976931348623157e308,
                            6381956970095103 * 0x1p797,
                            0x1p53,
                            355,
                            710.475860073944};
  for (double v : special) x.push_back(v);
  for (int k = 1; k < 2000000; k += 171) x.push_back(k * M_PI_2);
  return x;
}

template <typename T>
void expect_budget(const Function& f, const std::vector<T>& x, const std::vector<T>& got,
                   double budget) {
  double worst = 0;
  T at = 0, result = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double e = error_of<T>(got[i], f.ref(x[i]));
    if (e > worst) {
      worst = e;
      at = x[i];
      result = got[i];
    }
  }
  std::printf("  %-9s %s %6.3f ulp at %.17g (%zu points)\n", f.name, sizeof(T) == 4 ? "f32" : "f64",
              worst, double(at), x.size());
  EXPECT_LE(worst, budget) << f.name << (sizeof(T) == 4 ? " f32" : " f64") << " at "
                           << ::testing::PrintToString(at) << ": " << result << ", not "
                           << static_cast<T>(f.ref(at));
}

TEST(Math, F32WithinBudget) {
  for (const Function& f : kFunctions) {
    const std::vector<float> x = f32_samples(f);
    expect_budget(f, x, Runner<float>(f.emit, Dtype::kF32, 1, 16)(x), f.f32_ulp);
  }
}

TEST(Math, F64WithinBudget) {
  for (const Function& f : kFunctions) {
    const std::vector<double> x = f64_samples(f);
    expect_budget(f, x, Runner<double>(f.emit, Dtype::kF64, 1, 8)(x), f.f64_ulp);
  }
}

template <typename T>
void expect_pairs(const char* name, Lifted f, Dtype t, long double (*ref)(long double, long double),
                  double budget, double low, double high) {
  std::vector<T> x, y;
  std::mt19937_64 rng(2);
  const auto uniform = [&](double a, double b) {
    return static_cast<T>(a + (b - a) * std::ldexp(static_cast<double>(rng() >> 11), -53));
  };
  const T special[] = {0,
                       -0.0,
                       1,
                       -1,
                       INFINITY,
                       -INFINITY,
                       NAN,
                       0.5,
                       -0.5,
                       2,
                       -2,
                       3,
                       -3,
                       1e30,
                       -1e30,
                       std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::max(),
                       std::numeric_limits<T>::lowest(),
                       T(1) + std::numeric_limits<T>::epsilon(),
                       1e9,
                       7.5};
  for (T a : special) {
    for (T b : special) {
      x.push_back(a);
      y.push_back(b);
    }
  }
  for (int i = 0; i < 300000; ++i) {
    x.push_back(uniform(low, high));
    y.push_back(i % 3 ? uniform(-20, 20) : static_cast<T>(static_cast<int>(rng() % 41) - 20));
    x.push_back(sizeof(T) == 4 ? std::bit_cast<float>(static_cast<uint32_t>(rng()))
                               : std::bit_cast<double>(rng()));
    y.push_back(i % 2 ? uniform(-1.5, 1.5)
                      : sizeof(T) == 4 ? std::bit_cast<float>(static_cast<uint32_t>(rng()))
                                       : std::bit_cast<double>(rng()));
    x.push_back(uniform(0.9, 1.1));  // results that come near overflow and underflow
    y.push_back(uniform(-1000, 1000));
  }
  const std::vector<T> got = Runner<T>(f, t, 2, sizeof(T) == 4 ? 16 : 8)(x, y);
  double worst = 0;
  size_t at = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double e = error_of<T>(got[i], ref(x[i], y[i]));
    if (e > worst) {
      worst = e;
      at = i;
    }
  }
  std::printf("  %-9s %s %6.3f ulp at %.17g, %.17g\n", name, sizeof(T) == 4 ? "f32" : "f64", worst,
              double(x[at]), double(y[at]));
  EXPECT_LE(worst, budget) << name << " of " << x[at] << ", " << y[at] << ": " << got[at]
                           << ", not " << static_cast<T>(ref(x[at], y[at]));
}

TEST(Math, TwoOperands) {
  expect_pairs<float>("power", scalar::math::power, Dtype::kF32, powl, 1, 0, 10);
  expect_pairs<double>("power", scalar::math::power, Dtype::kF64, powl, 2, 0, 10);
  expect_pairs<float>("atan2", scalar::math::atan2, Dtype::kF32, atan2l, 4, -10, 10);
  expect_pairs<double>("atan2", scalar::math::atan2, Dtype::kF64, atan2l, 4, -10, 10);
}

template <typename T>
void expect_constant_powers(Dtype t, double budget) {
  for (double y : {0.0, 1.0, 2.0, 3.0, 4.0, -1.0, -2.0, 0.5, -0.5, 1.5}) {
    Graph g;
    const Scalar i = g.index_var(1000, int64_t{1} << 40);
    const Value args[] = {{g.load(t, 0, i)}, {g.constant(t, y)}};
    ScalarLoop loop{g, {scalar::math::power(g, t, args).re}, {0}, 1000, 8, host_target()};
    auto jit = std::move(*Jit::create());
    auto f = loop.load(*jit);
    ASSERT_TRUE(f.ok()) << f.status();
    std::vector<T> x{0,   T(-0.0),  1,       -1,       INFINITY, -INFINITY,
                     NAN, T(1e-30), T(1e30), T(-1e30), T(-2)};
    for (int k = 0; k < 20000; ++k) x.push_back(static_cast<T>(std::exp((k - 10000) / 150.0)));
    std::vector<T> out(x.size());
    void* buffers[] = {x.data(), out.data()};
    (*f)(buffers, static_cast<int64_t>(x.size()));
    for (size_t k = 0; k < x.size(); ++k)
      ASSERT_LE(error_of<T>(out[k], powl(x[k], y)), budget)
          << x[k] << " to the " << y << ": " << out[k];
  }
}

TEST(Math, ConstantPowers) {
  expect_constant_powers<float>(Dtype::kF32, 2);
  expect_constant_powers<double>(Dtype::kF64, 2);
}

// Every value of the 16-bit types: within one place of the correctly rounded result.
TEST(Math, AllHalves) {
  for (Dtype t : {Dtype::kF16, Dtype::kBF16}) {
    std::vector<uint16_t> x(65536);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint16_t>(i);
    for (const Function& f : kFunctions) {
      const std::vector<uint16_t> got = Runner<uint16_t>(f.emit, t, 1, 16)(x);
      int off = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const long double want = f.ref(scalar::decode(t, x[i]));
        const uint64_t right = scalar::encode(t, static_cast<double>(want));
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(scalar::decode(t, got[i])))
              << f.name << " " << name(t) << " " << i;
          continue;
        }
        const int distance =
            std::abs(static_cast<int>(got[i] & 0x7fff) - static_cast<int>(right & 0x7fff));
        off += distance != 0;
        ASSERT_LE(distance, 1) << f.name << " " << name(t) << " of " << scalar::decode(t, x[i]);
        if ((right & 0x7fff) != 0) {
          ASSERT_EQ(got[i] >> 15, right >> 15) << f.name << " " << i;
        }
      }
      EXPECT_LE(off, 100) << f.name << " " << name(t);
    }
  }
}

struct OneElement : scalar::EvalEnv {
  double value = 0;
  scalar::Cell variable(int64_t) override { return {}; }
  scalar::Cell load(int64_t, Dtype, int64_t) override { return {.f = value}; }
};

template <typename T>
void expect_agreement(const Function& f, Dtype t, const std::vector<T>& all) {
  std::vector<T> x;
  for (size_t i = 0; i < all.size(); i += 401) x.push_back(all[i]);
  Runner<T> wide(f.emit, t, 1, 16);
  const std::vector<T> got = wide(x);
  const auto same = [](T a, T b) {
    return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
  };
  std::vector<std::pair<int, Target>> others{{1, host_target()}, {8, host_target()}};
  if (host_target().avx2) others.push_back({8, *target_named("avx2")});
  for (const auto& [width, target] : others) {
    const std::vector<T> other = Runner<T>(f.emit, t, 1, width, target)(x);
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_TRUE(same(got[i], other[i]))
          << f.name << " of " << x[i] << " at width " << width << " on " << target.cpu << ": "
          << got[i] << " vs " << other[i];
  }
  const Scalar root = wide.root;
  scalar::Interpreter interpreter(wide.graph(), {&root, 1});
  OneElement env;
  for (size_t i = 0; i < x.size(); ++i) {
    env.value = x[i];
    interpreter.run(env);
    ASSERT_TRUE(same(got[i], static_cast<T>(interpreter[root].f))) << f.name << " of " << x[i];
  }
}

TEST(Math, WidthsTargetsAndInterpreterAgree) {
  for (const Function& f : kFunctions) {
    expect_agreement<float>(f, Dtype::kF32, f32_samples(f));
    expect_agreement<double>(f, Dtype::kF64, f64_samples(f));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace braze::codegen
