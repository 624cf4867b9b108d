// SPDX-License-Identifier: Apache-2.0
// GEMM kernels against plain loops in double: random specs over forms, layouts, types and targets,
// with guarded buffers, hooks, and bit-equality under any split of the work.
#include "codegen/gemm.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "codegen/gemm_plan.h"
#include "gtest/gtest.h"
#include "llvm/IR/IRBuilder.h"
#include "test/codegen/contraction_harness.h"

namespace braze::codegen {
namespace {

using testing::Aligned;
using testing::Guarded;
using testing::Kernel;

int64_t pick(std::mt19937& rng, std::vector<int64_t> v) {
  return v[std::uniform_int_distribution<size_t>(0, v.size() - 1)(rng)];
}
int64_t between(std::mt19937& rng, int64_t lo, int64_t hi) {
  return std::uniform_int_distribution<int64_t>(lo, hi)(rng);
}

double read(Dtype t, const char* p, int64_t i) {
  switch (t) {
    case Dtype::kF32:
      return reinterpret_cast<const float*>(p)[i];
    case Dtype::kF64:
      return reinterpret_cast<const double*>(p)[i];
    case Dtype::kS32:
      return reinterpret_cast<const int32_t*>(p)[i];
    case Dtype::kS16:
      return reinterpret_cast<const int16_t*>(p)[i];
    case Dtype::kS8:
      return reinterpret_cast<const int8_t*>(p)[i];
    case Dtype::kU8:
      return reinterpret_cast<const uint8_t*>(p)[i];
    case Dtype::kBF16: {
      const uint32_t bits = static_cast<uint32_t>(reinterpret_cast<const uint16_t*>(p)[i]) << 16;
      float f;
      std::memcpy(&f, &bits, 4);
      return f;
    }
    case Dtype::kF16:
      return static_cast<double>(reinterpret_cast<const _Float16*>(p)[i]);
    default:
      return 0;
  }
}

void fill(Dtype t, char* p, size_t n, std::mt19937& rng) {
  for (size_t i = 0; i < n; ++i) {
    const float f = std::uniform_real_distribution<float>(-1, 1)(rng);
    const auto r = static_cast<uint32_t>(rng());
    switch (t) {
      case Dtype::kF32:
        reinterpret_cast<float*>(p)[i] = f;
        break;
      case Dtype::kF64:
        reinterpret_cast<double*>(p)[i] = f;
        break;
      case Dtype::kF16:
        reinterpret_cast<_Float16*>(p)[i] = static_cast<_Float16>(f);
        break;
      case Dtype::kBF16: {
        uint32_t bits;
        std::memcpy(&bits, &f, 4);
        reinterpret_cast<uint16_t*>(p)[i] = static_cast<uint16_t>(bits >> 16);
        break;
      }
      case Dtype::kS32:
        reinterpret_cast<int32_t*>(p)[i] = static_cast<int32_t>(r % 2001) - 1000;
        break;
      case Dtype::kS16:
        reinterpret_cast<int16_t*>(p)[i] = static_cast<int16_t>(r % 201) - 100;
        break;
      default:
        p[i] = static_cast<char>(r);
        break;
    }
  }
}

// Lays out dimensions (sizes) in a random order with random padding; returns strides and extent.
std::vector<int64_t> layout(const std::vector<int64_t>& sizes, std::mt19937& rng, bool pad,
                            int64_t* extent, int preferred_last) {
  std::vector<size_t> order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), rng);
  if (preferred_last >= 0) {
    auto it = std::find(order.begin(), order.end(), static_cast<size_t>(preferred_last));
    std::swap(*it, order.front());
  }
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  if (pad && between(rng, 0, 7) == 0) stride = 2;
  for (size_t i : order) {
    strides[i] = stride;
    stride *= sizes[i];
    if (pad) stride += between(rng, 0, 3);
  }
  *extent = 1;
  for (size_t i = 0; i < sizes.size(); ++i)
    *extent += std::max<int64_t>(sizes[i] - 1, 0) * strides[i];
  return strides;
}

struct Sizes {
  std::vector<int64_t> batch, k;
  int64_t m, n;
};

struct Case {
  GemmSpec spec;
  int64_t lhs_extent, rhs_extent, out_extent;
};

Case random_case(const Sizes& z, Dtype lhs, Dtype rhs, Dtype acc, Dtype out, std::mt19937& rng) {
  Case c;
  GemmSpec& s = c.spec;
  s.lhs = lhs, s.rhs = rhs, s.acc = acc, s.out = out;
  s.m = z.m, s.n = z.n;
  const int nb = static_cast<int>(z.batch.size()), nk = static_cast<int>(z.k.size());
  std::vector<int64_t> ls = z.batch, rs = z.batch, os = z.batch;
  ls.push_back(z.m);
  rs.push_back(z.n);
  ls.insert(ls.end(), z.k.begin(), z.k.end());
  rs.insert(rs.end(), z.k.begin(), z.k.end());
  os.push_back(z.m);
  os.push_back(z.n);
  const bool pad = between(rng, 0, 1) != 0;
  const int lhs_last =
      between(rng, 0, 4) == 0 ? -1 : nb + static_cast<int>(between(rng, 0, 1)) * nk;
  const int rhs_last =
      between(rng, 0, 4) == 0 ? -1 : nb + static_cast<int>(between(rng, 0, 1)) * nk;
  const auto l = layout(ls, rng, pad, &c.lhs_extent, lhs_last);
  const auto r = layout(rs, rng, pad, &c.rhs_extent, rhs_last);
  const auto o = layout(os, rng, pad, &c.out_extent, between(rng, 0, 5) == 0 ? -1 : nb + 1);
  // Sometimes the last batch dimensions share the right side.
  const int shared = between(rng, 0, 2) == 0 ? static_cast<int>(between(rng, 0, nb - 1)) : nb;
  for (int i = 0; i < nb; ++i) s.batch.push_back({z.batch[i], l[i], i >= shared ? 0 : r[i], o[i]});
  s.lhs_m = l[nb], s.rhs_n = r[nb], s.out_m = o[nb], s.out_n = o[nb + 1];
  for (int i = 0; i < nk; ++i) s.k.push_back({z.k[i], l[nb + 1 + i], r[nb + 1 + i]});
  return c;
}

std::string describe(const GemmSpec& s) {
  std::string t =
      str_cat(name(s.lhs), " ", name(s.rhs), " ", name(s.acc), " ", name(s.out), " m=", s.m,
              " n=", s.n, " lhs_m=", s.lhs_m, " rhs_n=", s.rhs_n, " out=", s.out_m, ",", s.out_n);
  for (auto& d : s.batch) t += str_cat(" batch(", d.size, ":", d.lhs, ",", d.rhs, ",", d.out, ")");
  for (auto& d : s.k) t += str_cat(" k(", d.size, ":", d.lhs, ",", d.rhs, ")");
  return t;
}

// epilogue: max(x + n, 0) - m; the lanes take their own n.
llvm::Value* shift_relu(llvm::IRBuilderBase& b, const HookArgs& a) {
  const auto lanes = static_cast<unsigned>(a.lanes);
  llvm::Type* type = a.acc->getType();
  const bool fp = type->isFPOrFPVectorTy();
  std::vector<llvm::Constant*> iota;
  for (unsigned i = 0; i < lanes; ++i) iota.push_back(b.getInt64(i));
  llvm::Value* n =
      b.CreateAdd(b.CreateVectorSplat(lanes, a.index.back()), llvm::ConstantVector::get(iota));
  llvm::Value* m = b.CreateVectorSplat(lanes, a.index[a.index.size() - 2]);
  llvm::Value* zero = llvm::Constant::getNullValue(type);
  if (fp) {
    llvm::Value* x = b.CreateFAdd(a.acc, b.CreateSIToFP(n, type));
    x = b.CreateSelect(b.CreateFCmpOGT(x, zero), x, zero);
    return b.CreateFSub(x, b.CreateSIToFP(m, type));
  }
  llvm::Value* x = b.CreateAdd(a.acc, b.CreateIntCast(n, type, true));
  x = b.CreateSelect(b.CreateICmpSGT(x, zero), x, zero);
  return b.CreateSub(x, b.CreateIntCast(m, type, true));
}

void check(const Case& c, const Target& target, bool hook, std::mt19937& rng) {
  const GemmSpec& s = c.spec;
  SCOPED_TRACE(describe(s) + (hook ? " hook" : "") + str_cat(" bits=", target.vector_bits));
  ContractionHooks hooks;
  if (hook) hooks.epilogue = shift_relu;
  Kernel k = testing::compile_kernel(
      target, [&](llvm::Module& m) { return emit_gemm(m, "k", s, target, hooks); });
  ASSERT_EQ(k.error, "");
  Guarded lhs(static_cast<size_t>(c.lhs_extent * byte_size(s.lhs))),
      rhs(static_cast<size_t>(c.rhs_extent * byte_size(s.rhs)));
  Guarded out(static_cast<size_t>(c.out_extent * byte_size(s.out))), again(out.size());
  fill(s.lhs, lhs.data(), static_cast<size_t>(c.lhs_extent), rng);
  fill(s.rhs, rhs.data(), static_cast<size_t>(c.rhs_extent), rng);
  std::memset(out.data(), 0x7f, out.size());
  std::memset(again.data(), 0x7f, again.size());
  Aligned work(static_cast<size_t>(k.plan.workspace_bytes));
  testing::run_split(k, {lhs.data(), rhs.data(), out.data(), work.data}, rng);
  testing::run_split(k, {lhs.data(), rhs.data(), again.data(), work.data}, rng);
  ASSERT_EQ(std::memcmp(out.data(), again.data(), out.size()), 0) << "result depends on the split";

  std::vector<char> written(out.size(), 0);
  int64_t batches = 1, kt = 1;
  for (auto& d : s.batch) batches *= d.size;
  for (auto& d : s.k) kt *= d.size;
  double eps = is_float(s.acc)
                   ? (s.acc == Dtype::kF64 ? 1e-15 : 1e-6) * std::sqrt(static_cast<double>(kt)) * 2
                   : 0;
  double out_eps = s.out == Dtype::kBF16 ? 0.004 : s.out == Dtype::kF16 ? 0.0005 : 0;
  int errors = 0;
  for (int64_t b = 0; b < batches; ++b) {
    int64_t lo = 0, ro = 0, oo = 0, rest = b;
    for (size_t i = s.batch.size(); i-- > 0;) {
      const int64_t x = rest % s.batch[i].size;
      rest /= s.batch[i].size;
      lo += x * s.batch[i].lhs, ro += x * s.batch[i].rhs, oo += x * s.batch[i].out;
    }
    std::vector<int64_t> lk(static_cast<size_t>(kt)), rk(static_cast<size_t>(kt));
    for (int64_t q = 0; q < kt; ++q) {
      int64_t r = q, x = 0, y = 0;
      for (size_t i = s.k.size(); i-- > 0;) {
        x += r % s.k[i].size * s.k[i].lhs, y += r % s.k[i].size * s.k[i].rhs;
        r /= s.k[i].size;
      }
      lk[static_cast<size_t>(q)] = x, rk[static_cast<size_t>(q)] = y;
    }
    for (int64_t m = 0; m < s.m; ++m) {
      for (int64_t n = 0; n < s.n; ++n) {
        double sum = 0, mag = 0;
        for (size_t q = 0; q < lk.size(); ++q) {
          const double x = read(s.lhs, lhs.data(), lo + m * s.lhs_m + lk[q]) *
                           read(s.rhs, rhs.data(), ro + n * s.rhs_n + rk[q]);
          sum += x;
          mag += std::abs(x);
        }
        if (hook)
          sum = std::max(sum + static_cast<double>(n), 0.0) - static_cast<double>(m),
          mag += static_cast<double>(n + m);
        const int64_t at = oo + m * s.out_m + n * s.out_n;
        const double got = read(s.out, out.data(), at);
        for (int i = 0; i < byte_size(s.out); ++i)
          written[static_cast<size_t>(at * byte_size(s.out) + i)] = 1;
        if (!(std::abs(got - sum) <= eps * (mag + 1) + out_eps * std::abs(sum)) && ++errors < 5) {
          ADD_FAILURE() << "b=" << b << " m=" << m << " n=" << n << " got " << got << " want "
                        << sum;
        }
      }
    }
  }
  for (size_t i = 0; i < written.size(); ++i) {
    if (!written[i]) {
      ASSERT_EQ(out.data()[i], 0x7f) << "stray store at byte " << i;
    }
  }
  ASSERT_EQ(errors, 0);
}

Sizes random_sizes(std::mt19937& rng) {
  const int64_t kind = between(rng, 0, 7);
  auto dim = [&] {
    return pick(rng, {1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 32, 33, 48, 63, 64, 65, 80, 100, 130});
  };
  Sizes z{{}, {dim()}, dim(), dim()};
  if (kind == 0)
    z = {{between(rng, 1, 40)}, {between(rng, 1, 8)}, between(rng, 1, 8), between(rng, 1, 8)};
  if (kind == 1) z = {{}, {between(rng, 300, 1500)}, between(rng, 1, 40), between(rng, 1, 150)};
  if (kind == 2) z = {{}, {between(rng, 1, 700)}, between(rng, 1, 6), between(rng, 1, 300)};
  if (kind == 3)
    z = {{3, 2}, {dim(), between(rng, 1, 3)}, between(rng, 1, 40), between(rng, 1, 70)};
  if (kind == 4)
    z = {{}, {between(rng, 1, 5), between(rng, 1, 9), between(rng, 1, 40)}, dim(), dim()};
  if (kind == 5) z = {{}, {between(rng, 5000, 20000)}, between(rng, 1, 20), between(rng, 1, 20)};
  if (kind == 7) z = {{2, between(rng, 1, 9)}, {dim()}, between(rng, 1, 20), between(rng, 1, 70)};
  if (kind == 6) z = {{}, {pick(rng, {256, 512})}, between(rng, 48, 60), pick(rng, {512, 1024})};
  return z;
}

const char* const kLevels[] = {"avx512", "avx2", "baseline"};

TEST(Gemm, RandomF32) {
  std::mt19937 rng(1);
  for (int i = 0; i < 200 && !::testing::Test::HasFatalFailure(); ++i) {
    const Target target = testing::level_target(kLevels[i % 5 < 3 ? 0 : i % 5 - 2]);
    check(random_case(random_sizes(rng), Dtype::kF32, Dtype::kF32, Dtype::kF32, Dtype::kF32, rng),
          target, i % 2, rng);
  }
}

TEST(Gemm, RandomOtherTypes) {
  std::mt19937 rng(2);
  using D = Dtype;
  const Dtype types[][4] = {
      {D::kF64, D::kF64, D::kF64, D::kF64},   {D::kBF16, D::kBF16, D::kF32, D::kBF16},
      {D::kBF16, D::kBF16, D::kF32, D::kF32}, {D::kF16, D::kF16, D::kF32, D::kF16},
      {D::kS8, D::kS8, D::kS32, D::kS32},     {D::kU8, D::kS8, D::kS32, D::kS32},
                            {D::kU8, D::kU8, D::kS32, D::kS32},   {D::kS8, D::kS16, D::kS32, D::kS32},
      {D::kS16, D::kS16, D::kS32, D::kS32},   {D::kS32, D::kS32, D::kS32, D::kS32},
      {D::kBF16, D::kF32, D::kF32, D::kF32}};
  for (int i = 0; i < 220 && !::testing::Test::HasFatalFailure(); ++i) {
    const auto& t = types[i % 11];
    Target target = testing::level_target(kLevels[i % 5 < 3 ? 0 : i % 5 - 2]);
    const Case c = random_case(random_sizes(rng), t[0], t[1], t[2], t[3], rng);
    if (!gemm_supported(c.spec, target)) continue;
    check(c, target, i % 2, rng);
  }
}

// A right side of many columns: items of few columns and all rows, with whole and ragged panels, rows of rows, blocks
// of K, and the next block asked for early, past the end of the array too.
TEST(Gemm, WideRightSide) {
  std::mt19937 rng(5);
  for (int i = 0; i < 24 && !::testing::Test::HasFatalFailure(); ++i) {
    const Target target = testing::level_target(kLevels[i % 4 < 2 ? 0 : i % 4 - 1]);
    Sizes z{{}, {between(rng, 300, 1000)}, between(rng, 40, 80), between(rng, 260, 700)};
    if (i % 3 == 0) z = {{between(rng, 8, 12)}, {between(rng, 300, 800)}, between(rng, 5, 9), between(rng, 260, 600)};
    Case c = random_case(z, Dtype::kF32, Dtype::kF32, Dtype::kF32, Dtype::kF32, rng);
    for (GemmBatchDim& d : c.spec.batch) d.rhs = 0;
    check(c, target, i % 2, rng);
  }
  GemmSpec s;
  s.m = 196, s.n = 1024, s.lhs_m = 256, s.out_m = 1024;
  s.k = {{256, 1, 1024}};
  Result<ContractionPlan> plan = plan_gemm(s, testing::level_target("avx512"), "k");
  ASSERT_TRUE(plan.ok());
  EXPECT_GE(plan->phases[0].items, 16);
}

// Rows a page apart share a set of the first level cache, unless they are packed.
TEST(Gemm, RowsAPageApartMakeSmallTiles) {
  const Target target = testing::level_target("avx512");
  GemmSpec s;
  s.m = 1024, s.n = 7, s.lhs_m = 1000, s.rhs_n = 1, s.out_m = 7;
  s.k = {{1000, 1, 7}};
  const int free = shape_gemm(s, target, {}).mr;
  s.lhs_m = 1024;
  EXPECT_LE(shape_gemm(s, target, {}).mr, 8);
  EXPECT_EQ(shape_gemm(s, target, {.lhs = true}).mr, free);
  if (target.avx512) {
    EXPECT_GT(free, 8);
  }
}

// A few rows have too little work to hide requests behind, unless their right side comes from memory, or its rows collide in
// the cache (with vectors of 256 bits): then it is copied, too.
TEST(Gemm, FewRowsAskForFarBlocksOnly) {
  Target target = testing::level_target("avx512");
  GemmSpec s;
  s.m = 32, s.n = 2048, s.lhs_m = 512, s.rhs_n = 1, s.out_m = 2048;
  s.k = {{512, 1, 2048}};
  target.l3_bytes = 32 << 20;
  EXPECT_EQ(shape_gemm(s, target, {}).ahead > 0, !target.avx512);
  EXPECT_EQ(shape_gemm(s, target, {}).pack_in_tile, !target.avx512);
  target.l3_bytes = 0;
  EXPECT_GT(shape_gemm(s, target, {}).ahead, 0);
}

// A few rows times a right side that no near cache holds: short K blocks and long column blocks, ragged at their ends.
TEST(Gemm, FewRowsReadLongRuns) {
  std::mt19937 rng(6);
  for (int i = 0; i < 16 && !::testing::Test::HasFatalFailure(); ++i) {
    Target target = testing::level_target(i % 4 ? "avx2" : "baseline");
    target.l2_bytes = 64 << 10;
    target.l3_bytes = i % 2 ? 64 << 10 : 32 << 20;
    Sizes z{{}, {between(rng, 15, 70)}, between(rng, 2, i % 2 ? 16 : 8), between(rng, 2048, 2900)};
    if (i % 5 == 0) z.batch = {between(rng, 2, 3)};
    Case c = random_case(z, Dtype::kF32, Dtype::kF32, Dtype::kF32, Dtype::kF32, rng);
    c.spec.rhs_n = 1;
    c.spec.k[0].rhs = z.n;
    for (GemmBatchDim& d : c.spec.batch) d.rhs = z.n * z.k[0];
    c.rhs_extent = z.n * z.k[0] * (z.batch.empty() ? 1 : z.batch[0]);
    EXPECT_TRUE(shape_gemm(c.spec, target, {}).streamed);
    check(c, target, i % 3 == 0, rng);
  }
}

TEST(Gemm, EmptySumAndEmptyOutput) {
  std::mt19937 rng(3);
  const Target target = testing::level_target("avx512");
  Sizes z{{2}, {0}, 9, 40};
  check(random_case(z, Dtype::kF32, Dtype::kF32, Dtype::kF32, Dtype::kF32, rng), target, true, rng);
  GemmSpec s;
  s.m = 0;
  s.n = 4;
  s.k = {{3, 1, 1}};
  Kernel k = testing::compile_kernel(target,
                                     [&](llvm::Module& m) { return emit_gemm(m, "k", s, target); });
  ASSERT_EQ(k.error, "");
  EXPECT_EQ(k.plan.phases[0].items, 0);
}

TEST(Gemm, LoadHooks) {
  // Hooks double the left side and negate the right side, in each form.
  std::mt19937 rng(4);
  const Target target = testing::level_target("avx512");
  for (int i = 0; i < 40 && !::testing::Test::HasFatalFailure(); ++i) {
    Sizes z = random_sizes(rng);
    Case c = random_case(z, Dtype::kF32, Dtype::kF32, Dtype::kF32, Dtype::kF32, rng);
    const GemmSpec& s = c.spec;
    SCOPED_TRACE(describe(s));
    auto load = [&](llvm::IRBuilderBase& b, const HookArgs& a, bool left) -> llvm::Value* {
      std::vector<int64_t> strides;
      for (auto& d : s.batch) strides.push_back(left ? d.lhs : d.rhs);
      if (left) strides.push_back(s.lhs_m);
      for (auto& d : s.k) strides.push_back(left ? d.lhs : d.rhs);
      if (!left) strides.push_back(s.rhs_n);
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
      llvm::Value* at = b.CreateAdd(b.CreateVectorSplat(static_cast<unsigned>(a.lanes), offset),
                                    llvm::ConstantVector::get(lanes));
      llvm::Value* base =
          b.CreateLoad(b.getPtrTy(), b.CreateConstGEP1_64(b.getPtrTy(), a.buffers, left ? 0 : 1));
      auto* type = llvm::FixedVectorType::get(b.getFloatTy(), static_cast<unsigned>(a.lanes));
      llvm::Value* mask = a.mask ? a.mask
                                 : llvm::Constant::getAllOnesValue(llvm::FixedVectorType::get(
                                       b.getInt1Ty(), static_cast<unsigned>(a.lanes)));
      llvm::Value* v =
          b.CreateMaskedGather(type, b.CreateGEP(b.getFloatTy(), base, at), llvm::Align(4), mask,
                               llvm::Constant::getNullValue(type));
      return b.CreateFMul(v, llvm::ConstantFP::get(type, left ? 2.0 : -0.5));
    };
    ContractionHooks hooks;
    if (i % 3 != 1)
      hooks.lhs = [&](llvm::IRBuilderBase& b, const HookArgs& a) { return load(b, a, true); };
    if (i % 3 != 0)
      hooks.rhs = [&](llvm::IRBuilderBase& b, const HookArgs& a) { return load(b, a, false); };
    const float factor = (hooks.lhs ? 2.0f : 1.0f) * (hooks.rhs ? -0.5f : 1.0f);
    Kernel with = testing::compile_kernel(
        target, [&](llvm::Module& m) { return emit_gemm(m, "k", s, target, hooks); });
    Kernel plain = testing::compile_kernel(
        target, [&](llvm::Module& m) { return emit_gemm(m, "k", s, target); });
    ASSERT_EQ(with.error + plain.error, "");
    Guarded lhs(static_cast<size_t>(c.lhs_extent * 4)), rhs(static_cast<size_t>(c.rhs_extent * 4));
    Guarded a(static_cast<size_t>(c.out_extent * 4)), b(a.size());
    std::memset(a.data(), 0, a.size());
    std::memset(b.data(), 0, b.size());
    fill(s.lhs, lhs.data(), static_cast<size_t>(c.lhs_extent), rng);
    fill(s.rhs, rhs.data(), static_cast<size_t>(c.rhs_extent), rng);
    Aligned work(
        static_cast<size_t>(std::max(with.plan.workspace_bytes, plain.plan.workspace_bytes)));
    testing::run_split(with, {lhs.data(), rhs.data(), a.data(), work.data}, rng);
    testing::run_split(plain, {lhs.data(), rhs.data(), b.data(), work.data}, rng);
    for (size_t j = 0; j < a.size() / 4; ++j) {
      ASSERT_NEAR(a.as<float>()[j], b.as<float>()[j] * factor, 1e-2) << j;
    }
  }
}

}  // namespace
}  // namespace braze::codegen
