// SPDX-License-Identifier: Apache-2.0
// Convolution kernels against plain loops in double: random windows, paddings, dilations, groups
// and layouts, with guarded buffers, hooks, and bit-equality under any split of the work.
#include "codegen/conv.h"

#include <algorithm>
#include <cmath>

#include "gtest/gtest.h"
#include "llvm/IR/IRBuilder.h"
#include "test/codegen/contraction_harness.h"

namespace braze::codegen {
namespace {

using testing::Aligned;
using testing::Guarded;
using testing::Kernel;

int64_t between(std::mt19937& rng, int64_t lo, int64_t hi) {
  return std::uniform_int_distribution<int64_t>(lo, hi)(rng);
}

struct Case {
  ConvSpec spec;
  int64_t lhs_extent = 1, rhs_extent = 1, out_extent = 1;
};

// Assigns dense strides to dims in memory order (first is outermost); returns the extent.
int64_t assign(const std::vector<std::pair<int64_t*, int64_t>>& dims) {
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    *dims[i].first = stride;
    stride *= dims[i].second;
  }
  return stride;
}

enum class Groups { kFeature, kBatch };
enum class Layout { kNhwc, kNchw, kShuffled };

// Fills in the strides for dense arrays of the layout.
Case dense(ConvSpec s, Layout layout, Groups groups, std::mt19937& rng) {
  Case c;
  const int64_t g = s.groups;
  int64_t in_n, in_c, k_i, k_o, out_n, out_c;
  using Dims = std::vector<std::pair<int64_t*, int64_t>>;
  const int64_t total_batch = groups == Groups::kBatch ? s.batch * g : s.batch;
  const int64_t total_in = groups == Groups::kBatch ? s.in_features : s.in_features * g;
  Dims in{{&in_n, total_batch}}, k, out{{&out_n, s.batch}};
  auto channels = [&](bool first) {
    if (first != (layout == Layout::kNchw)) return;
    in.push_back({&in_c, total_in});
    out.push_back({&out_c, s.out_features * g});
    if (layout == Layout::kNchw) {
      k.push_back({&k_o, s.out_features * g});
      k.push_back({&k_i, s.in_features});
    } else {
      k.push_back({&k_i, s.in_features});
      k.push_back({&k_o, s.out_features * g});
    }
  };
  channels(true);
  for (ConvSpatial& d : s.spatial) {
    in.push_back({&d.in_stride, d.in});
    k.push_back({&d.window_stride, d.window});
    out.push_back({&d.out_stride, d.out});
  }
  channels(false);
  if (layout == Layout::kShuffled) {
    std::shuffle(in.begin(), in.end(), rng);
    std::shuffle(k.begin(), k.end(), rng);
    std::shuffle(out.begin(), out.end(), rng);
  }
  c.lhs_extent = assign(in);
  c.rhs_extent = assign(k);
  c.out_extent = assign(out);
  s.in_batch = in_n, s.in_feature = in_c, s.rhs_in = k_i, s.rhs_out = k_o, s.out_batch = out_n,
  s.out_feature = out_c;
  s.in_group = groups == Groups::kBatch ? s.batch * in_n : s.in_features * in_c;
  s.rhs_group = s.out_features * k_o;
  s.out_group = s.out_features * out_c;
  c.spec = s;
  return c;
}

std::string describe(const ConvSpec& s) {
  std::string t =
      str_cat(name(s.lhs), " b=", s.batch, " g=", s.groups, " ci=", s.in_features,
              " co=", s.out_features, " in=", s.in_batch, ",", s.in_feature, ",", s.in_group,
              " rhs=", s.rhs_in, ",", s.rhs_out, " out=", s.out_batch, ",", s.out_feature);
  for (auto& d : s.spatial) {
    t += str_cat(" [in=", d.in, " w=", d.window, " out=", d.out, " s=", d.stride, " p=", d.pad_low,
                 " bd=", d.base_dilation, " wd=", d.window_dilation, d.reversed ? " rev" : "",
                 " strides=", d.in_stride, ",", d.window_stride, ",", d.out_stride, "]");
  }
  return t;
}

// Calls f for all coordinates below sizes.
template <typename F>
void each(const std::vector<int64_t>& sizes, F f) {
  std::vector<int64_t> at(sizes.size(), 0);
  for (int64_t n : sizes) {
    if (n == 0) return;
  }
  for (;;) {
    f(at);
    size_t i = sizes.size();
    while (i > 0 && ++at[i - 1] == sizes[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

// epilogue: x + 0.5 * feature - o_0 + n.
llvm::Value* shift(llvm::IRBuilderBase& b, const HookArgs& a) {
  const auto lanes = static_cast<unsigned>(a.lanes);
  llvm::Type* type = a.acc->getType();
  std::vector<llvm::Constant*> iota;
  for (unsigned i = 0; i < lanes; ++i) iota.push_back(b.getInt64(i));
  auto coordinate = [&](size_t i) {
    llvm::Value* v = b.CreateVectorSplat(lanes, a.index[i]);
    if (static_cast<int>(i) == a.lane_axis) v = b.CreateAdd(v, llvm::ConstantVector::get(iota));
    return b.CreateSIToFP(v, type);
  };
  llvm::Value* f = coordinate(a.index.size() - 1);
  llvm::Value* x = b.CreateFAdd(a.acc, b.CreateFMul(f, llvm::ConstantFP::get(type, 0.5)));
  x = b.CreateFAdd(x, coordinate(0));
  return a.index.size() > 2 ? b.CreateFSub(x, coordinate(1)) : x;
}

void check(const Case& c, const Target& target, bool hook, std::mt19937& rng) {
  const ConvSpec& s = c.spec;
  SCOPED_TRACE(describe(s) + (hook ? " hook" : "") + str_cat(" bits=", target.vector_bits));
  ContractionHooks hooks;
  if (hook) hooks.epilogue = shift;
  Kernel k = testing::compile_kernel(
      target, [&](llvm::Module& m) { return emit_conv(m, "k", s, target, hooks); });
  ASSERT_EQ(k.error, "");
  const auto plan = plan_conv(s, target, "k", hooks);
  ASSERT_TRUE(plan.ok());
  ASSERT_EQ(plan->workspace_bytes, k.plan.workspace_bytes);
  ASSERT_EQ(plan->phases.size(), k.plan.phases.size());
  Guarded lhs(static_cast<size_t>(c.lhs_extent * 4)), rhs(static_cast<size_t>(c.rhs_extent * 4));
  Guarded out(static_cast<size_t>(c.out_extent * 4)), again(out.size());
  std::uniform_real_distribution<float> u(-1, 1);
  for (int64_t i = 0; i < c.lhs_extent; ++i) lhs.as<float>()[i] = u(rng);
  for (int64_t i = 0; i < c.rhs_extent; ++i) rhs.as<float>()[i] = u(rng);
  std::memset(out.data(), 0x7f, out.size());
  std::memset(again.data(), 0x7f, again.size());
  Aligned work(static_cast<size_t>(k.plan.workspace_bytes));
  testing::run_split(k, {lhs.data(), rhs.data(), out.data(), work.data}, rng);
  testing::run_split(k, {lhs.data(), rhs.data(), again.data(), work.data}, rng);
  ASSERT_EQ(std::memcmp(out.data(), again.data(), out.size()), 0) << "result depends on the split";
  const size_t n = s.spatial.size();
  std::vector<int64_t> outs{s.batch, s.groups, s.out_features}, taps{s.in_features};
  for (auto& d : s.spatial) {
    outs.push_back(d.out);
    taps.push_back(d.window);
  }
  int errors = 0;
  each(outs, [&](const std::vector<int64_t>& o) {
    double sum = 0, mag = 0;
    each(taps, [&](const std::vector<int64_t>& w) {
      int64_t in = o[0] * s.in_batch + o[1] * s.in_group + w[0] * s.in_feature;
      int64_t at = w[0] * s.rhs_in + o[1] * s.rhs_group + o[2] * s.rhs_out;
      for (size_t i = 0; i < n; ++i) {
        const ConvSpatial& d = s.spatial[i];
        const int64_t p = o[i + 3] * d.stride + w[i + 1] * d.window_dilation - d.pad_low;
        if (p < 0 || p % d.base_dilation != 0 || p / d.base_dilation >= d.in) return;
        in += p / d.base_dilation * d.in_stride;
        at += (d.reversed ? d.window - 1 - w[i + 1] : w[i + 1]) * d.window_stride;
      }
      const double x = static_cast<double>(lhs.as<float>()[in]) * rhs.as<float>()[at];
      sum += x;
      mag += std::abs(x);
    });
    int64_t at = o[0] * s.out_batch + o[1] * s.out_group + o[2] * s.out_feature;
    for (size_t i = 0; i < n; ++i) at += o[i + 3] * s.spatial[i].out_stride;
    if (hook)
      sum += 0.5 * static_cast<double>(o[1] * s.out_features + o[2]) -
             static_cast<double>(n ? o[3] : 0) + static_cast<double>(o[0]);
    const double got = out.as<float>()[at];
    if (!(std::abs(got - sum) <= 1e-5 * (mag + 1) + 1e-6 * std::abs(sum)) && ++errors < 5) {
      ADD_FAILURE() << "n=" << o[0] << " g=" << o[1] << " f=" << o[2] << " o0=" << (n ? o[3] : 0)
                    << " got " << got << " want " << sum;
    }
  });
  ASSERT_EQ(errors, 0);
}

// A dimension whose output size follows from its paddings.
ConvSpatial spatial(int64_t in, int64_t window, int64_t stride, int64_t lo, int64_t hi, int64_t bd,
                    int64_t wd, bool rev) {
  ConvSpatial d{.in = in,
                .window = window,
                .stride = stride,
                .pad_low = lo,
                .base_dilation = bd,
                .window_dilation = wd,
                .reversed = rev};
  const int64_t base = in == 0 ? 0 : (in - 1) * bd + 1, reach = (window - 1) * wd + 1;
  const int64_t span = base + lo + hi - reach;
  d.out = span < 0 ? 0 : span / stride + 1;
  return d;
}

ConvSpatial random_spatial(std::mt19937& rng, int64_t most) {
  const int64_t window = between(rng, 1, 4);
  const bool plain = between(rng, 0, 2) != 0;
  return spatial(between(rng, 1, most), window, between(rng, 1, 3), between(rng, -1, window),
                 between(rng, -1, window), plain ? 1 : between(rng, 1, 3),
                 plain ? 1 : between(rng, 1, 3), between(rng, 0, 3) == 0);
}

const char* const kLevels[] = {"avx512", "avx2", "baseline"};

TEST(Conv, Random) {
  std::mt19937 rng(11);
  for (int i = 0; i < 160 && !::testing::Test::HasFatalFailure(); ++i) {
    ConvSpec s;
    const int64_t dims = between(rng, 0, 3);
    for (int64_t d = 0; d < dims; ++d)
      s.spatial.push_back(random_spatial(rng, dims == 1 ? 40 : dims == 2 ? 14 : 6));
    s.batch = between(rng, 1, 3);
    s.groups = between(rng, 0, 2) == 0 ? between(rng, 2, 5) : 1;
    s.in_features = between(rng, 1, 20);
    s.out_features = between(rng, 1, 40);
    const auto layout = static_cast<Layout>(between(rng, 0, 2));
    const Target target = testing::level_target(kLevels[i % 5 < 3 ? 0 : i % 5 - 2]);
    check(dense(s, layout, between(rng, 0, 3) ? Groups::kFeature : Groups::kBatch, rng), target,
          i % 2, rng);
  }
}

TEST(Conv, Depthwise) {
  std::mt19937 rng(12);
  for (int i = 0; i < 80 && !::testing::Test::HasFatalFailure(); ++i) {
    ConvSpec s;
    const int64_t dims = between(rng, 1, 2);
    for (int64_t d = 0; d < dims; ++d) s.spatial.push_back(random_spatial(rng, 30));
    s.batch = between(rng, 1, 2);
    s.groups = between(rng, 2, 90);
    const Target target = testing::level_target(kLevels[i % 5 < 3 ? 0 : i % 5 - 2]);
    check(dense(s, Layout::kNhwc, Groups::kFeature, rng), target, i % 2, rng);
  }
}

// The gradients of NHWC convolutions, as convolutions with exchanged roles.
TEST(Conv, Backward) {
  std::mt19937 rng(13);
  const Target target = testing::level_target("avx512");
  for (int i = 0; i < 40 && !::testing::Test::HasFatalFailure(); ++i) {
    const int64_t c = between(rng, 1, 40), f = between(rng, 1, 70), n = between(rng, 1, 4),
                  h = between(rng, 5, 15);
    const int64_t window = between(rng, 1, 3), stride = between(rng, 1, 2),
                  pad = between(rng, 0, window / 2);
    const int64_t out = (h + 2 * pad - window) / stride + 1;
    ConvSpec data;  // dX: lhs dY, window reversed, base dilation = stride
    data.batch = n, data.in_features = f, data.out_features = c;
    const int64_t lo = window - 1 - pad, hi = h - ((out - 1) * stride + 1) + window - 1 - lo;
    for (int d = 0; d < 2; ++d)
      data.spatial.push_back(spatial(out, window, 1, lo, hi, stride, 1, true));
    Case dx = dense(data, Layout::kNhwc, Groups::kFeature, rng);
    ASSERT_EQ(dx.spec.spatial[0].out, h);
    // The kernel stays [h, w, c, f]: its input feature is f.
    dx.spec.rhs_in = 1, dx.spec.rhs_out = f, dx.spec.rhs_group = c * f;
    dx.spec.spatial[0].window_stride = window * c * f, dx.spec.spatial[1].window_stride = c * f;
    check(dx, target, i % 2, rng);
    ConvSpec
        filter;  // dW: lhs X with batch and features exchanged, rhs dY, window dilation = stride
    filter.batch = c, filter.in_features = n, filter.out_features = f;
    for (int d = 0; d < 2; ++d) {
      ConvSpatial x = spatial(h, out, 1, pad, 0, 1, stride, false);
      x.out = window;
      x.in_stride = d ? c : h * c;
      x.window_stride = d ? f : out * f;
      x.out_stride = d ? c * f : window * c * f;
      filter.spatial.push_back(x);
    }
    filter.in_batch = 1, filter.in_feature = h * h * c, filter.rhs_in = out * out * f,
    filter.rhs_out = 1;
    filter.out_batch = f, filter.out_feature = 1;
    check({filter, n * h * h * c, n * out * out * f, window * window * c * f}, target, i % 2, rng);
  }
}

TEST(Conv, DepthwiseFilterGradient) {
  // dW[kh, kw, c] as a convolution with batch groups: each channel is a group of its own.
  std::mt19937 rng(14);
  const Target target = testing::level_target("avx512");
  for (int i = 0; i < 10 && !::testing::Test::HasFatalFailure(); ++i) {
    const int64_t c = between(rng, 3, 150), n = between(rng, 1, 3), h = between(rng, 5, 40),
                  window = 3;
    ConvSpec s;
    s.groups = c, s.in_features = n;
    s.in_batch = 1, s.in_feature = h * h * c, s.in_group = 1;
    s.rhs_in = h * h * c, s.rhs_out = 1, s.rhs_group = 1;
    s.out_batch = c, s.out_feature = 1, s.out_group = 1;
    for (int d = 0; d < 2; ++d) {
      ConvSpatial x = spatial(h, h, 1, 1, 1, 1, 1, false);
      x.in_stride = x.window_stride = d ? c : h * c;
      x.out_stride = d ? c : window * c;
      ASSERT_EQ(x.out, window);
      s.spatial.push_back(x);
    }
    check({s, n * h * h * c, n * h * h * c, window * window * c}, target, i % 2, rng);
  }
}

TEST(Conv, LoadHooks) {
  std::mt19937 rng(15);
  const Target target = testing::level_target("avx512");
  for (int i = 0; i < 40 && !::testing::Test::HasFatalFailure(); ++i) {
    ConvSpec spec;
    for (int64_t d = 0; d < 2; ++d) spec.spatial.push_back(random_spatial(rng, 10));
    spec.batch = between(rng, 1, 3);
    spec.groups = between(rng, 1, 3);
    spec.in_features = between(rng, 1, 20);
    spec.out_features = between(rng, 1, 40);
    Groups groups = between(rng, 0, 1) ? Groups::kFeature : Groups::kBatch;
    Case c = dense(spec, static_cast<Layout>(i % 2), groups, rng);
    const ConvSpec& s = c.spec;
    SCOPED_TRACE(describe(s));
    auto load = [&](llvm::IRBuilderBase& b, const HookArgs& a, bool left) -> llvm::Value* {
      std::vector<int64_t> strides;
      if (left) strides.push_back(s.in_batch);
      for (auto& d : s.spatial) strides.push_back(left ? d.in_stride : d.window_stride);
      strides.push_back(left ? s.in_feature : s.rhs_in);
      if (!left) strides.push_back(s.rhs_out);
      EXPECT_EQ(strides.size(), a.index.size());
      llvm::Value* offset = b.getInt64(0);
      for (size_t j = 0; j < strides.size(); ++j) {
        offset = b.CreateAdd(
            offset, b.CreateMul(a.index[j], b.getInt64(static_cast<uint64_t>(strides[j]))));
      }
      const int64_t step = strides[static_cast<size_t>(a.lane_axis)];
      std::vector<llvm::Constant*> lanes;
      for (int l = 0; l < a.lanes; ++l)
        lanes.push_back(b.getInt64(static_cast<uint64_t>(l * step)));
      const auto count = static_cast<unsigned>(a.lanes);
      llvm::Value* at =
          b.CreateAdd(b.CreateVectorSplat(count, offset), llvm::ConstantVector::get(lanes));
      llvm::Value* base =
          b.CreateLoad(b.getPtrTy(), b.CreateConstGEP1_64(b.getPtrTy(), a.buffers, left ? 0 : 1));
      auto* type = llvm::FixedVectorType::get(b.getFloatTy(), count);
      llvm::Value* mask =
          a.mask
              ? a.mask
              : llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(b.getInt1Ty(), count));
      llvm::Value* v =
          b.CreateMaskedGather(type, b.CreateGEP(b.getFloatTy(), base, at), llvm::Align(4), mask,
                               llvm::Constant::getNullValue(type));
      return b.CreateFMul(v, llvm::ConstantFP::get(type, left ? 2.0 : -0.5));
    };
    ContractionHooks hooks;
    hooks.lhs = [&](llvm::IRBuilderBase& b, const HookArgs& a) { return load(b, a, true); };
    if (i % 4 < 2)
      hooks.rhs = [&](llvm::IRBuilderBase& b, const HookArgs& a) { return load(b, a, false); };
    const float factor = 2.0f * (hooks.rhs ? -0.5f : 1.0f);
    Kernel with = testing::compile_kernel(
        target, [&](llvm::Module& m) { return emit_conv(m, "k", s, target, hooks); });
    Kernel plain = testing::compile_kernel(
        target, [&](llvm::Module& m) { return emit_conv(m, "k", s, target); });
    ASSERT_EQ(with.error + plain.error, "");
    Guarded lhs(static_cast<size_t>(c.lhs_extent * 4)), rhs(static_cast<size_t>(c.rhs_extent * 4));
    Guarded x(static_cast<size_t>(c.out_extent * 4)), y(x.size());
    std::memset(x.data(), 0, x.size());
    std::memset(y.data(), 0, y.size());
    for (int64_t j = 0; j < c.lhs_extent; ++j)
      lhs.as<float>()[j] = static_cast<float>(between(rng, -3, 3));
    for (int64_t j = 0; j < c.rhs_extent; ++j)
      rhs.as<float>()[j] = static_cast<float>(between(rng, -3, 3));
    Aligned work(
        static_cast<size_t>(std::max(with.plan.workspace_bytes, plain.plan.workspace_bytes)));
    testing::run_split(with, {lhs.data(), rhs.data(), x.data(), work.data}, rng);
    testing::run_split(plain, {lhs.data(), rhs.data(), y.data(), work.data}, rng);
    for (size_t j = 0; j < x.size() / 4; ++j)
      ASSERT_EQ(x.as<float>()[j], y.as<float>()[j] * factor) << j;
  }
}

TEST(Conv, RefusesWhatItCannotIndex) {
  const Target target = testing::level_target("avx512");
  ConvSpec s;
  s.batch = int64_t{1} << 40, s.in_features = int64_t{1} << 40;
  EXPECT_FALSE(plan_conv(s, target, "k").ok());
  // Two taps a million apart over ten elements: the padded copy would dwarf the input.
  ConvSpec far;
  far.in_features = 64;
  far.spatial = {{.in = 10, .window = 2, .out = 10, .pad_low = 0, .window_dilation = 1 << 20}};
  EXPECT_FALSE(conv_supported(far, target));
  ConvSpec large;  // an ordinary large training step is fine
  large.batch = 4096, large.in_features = 2048, large.out_features = 2048;
  for (int d = 0; d < 2; ++d)
    large.spatial.push_back({.in = 224, .window = 7, .out = 112, .stride = 2, .pad_low = 3});
  EXPECT_TRUE(plan_conv(large, target, "k").ok());
}

}  // namespace
}  // namespace braze::codegen
