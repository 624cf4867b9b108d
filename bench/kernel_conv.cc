// SPDX-License-Identifier: Apache-2.0
// Convolution kernel speed on the shapes of ResNet-50 and MobileNet, forward and backward: GF/s and
// the share of this machine's multiply-add peak, measured in the same run, on one and two threads.
#include "bench/kernel_bench.h"
#include "benchmark/benchmark.h"
#include "codegen/conv.h"
#include "llvm/IR/IRBuilder.h"

namespace braze::codegen {
namespace {

enum class Pass { kForward, kData, kFilter };

struct Shape {
  const char* name;
  int64_t batch, in, c, window, stride, pad, f;
  Pass pass = Pass::kForward;
  bool depthwise = false;
  bool nchw = false;  // and OIHW
  bool residual = false;
  int64_t out() const { return (in + 2 * pad - window) / stride + 1; }
  double flops() const {
    return 2.0 * static_cast<double>(batch * out() * out() * window * window * f) *
           (depthwise ? 1.0 : static_cast<double>(c));
  }
};

// NHWC input, HWIO kernel.
ConvSpec forward(const Shape& s) {
  const int64_t o = s.out();
  ConvSpec p;
  p.batch = s.batch;
  p.groups = s.depthwise ? s.c : 1;
  p.in_features = s.depthwise ? 1 : s.c;
  p.out_features = s.depthwise ? 1 : s.f;
  p.in_batch = s.in * s.in * s.c, p.out_batch = o * o * s.f;
  p.in_group = p.in_features, p.out_group = p.out_features, p.rhs_group = p.out_features;
  p.rhs_in = s.f;
  const int64_t k = p.in_features * s.f;
  for (int d = 0; d < 2; ++d) {
    p.spatial.push_back({.in = s.in,
                         .window = s.window,
                         .out = o,
                         .stride = s.stride,
                         .pad_low = s.pad,
                         .in_stride = d ? s.c : s.in * s.c,
                         .window_stride = d ? k : s.window * k,
                         .out_stride = d ? s.f : o * s.f});
  }
  if (s.nchw) {
    p.in_feature = s.in * s.in, p.out_feature = o * o;
    p.rhs_in = s.window * s.window, p.rhs_out = s.c * p.rhs_in;
    for (int d = 0; d < 2; ++d) {
      p.spatial[d].in_stride = d ? 1 : s.in;
      p.spatial[d].window_stride = d ? 1 : s.window;
      p.spatial[d].out_stride = d ? 1 : o;
    }
  }
  return p;
}

ConvSpec data_gradient(const Shape& s) {
  const int64_t o = s.out();
  ConvSpec p;
  p.batch = s.batch, p.in_features = s.f, p.out_features = s.c;
  p.in_batch = o * o * s.f, p.out_batch = s.in * s.in * s.c;
  p.rhs_in = 1, p.rhs_out = s.f;
  for (int d = 0; d < 2; ++d) {
    p.spatial.push_back({.in = o,
                         .window = s.window,
                         .out = s.in,
                         .stride = 1,
                         .pad_low = s.window - 1 - s.pad,
                         .base_dilation = s.stride,
                         .reversed = true,
                         .in_stride = d ? s.f : o * s.f,
                         .window_stride = d ? s.c * s.f : s.window * s.c * s.f,
                         .out_stride = d ? s.c : s.in * s.c});
  }
  return p;
}

ConvSpec filter_gradient(const Shape& s) {
  const int64_t o = s.out();
  ConvSpec p;
  p.batch = s.c, p.in_features = s.batch, p.out_features = s.f;
  p.in_batch = 1, p.in_feature = s.in * s.in * s.c, p.rhs_in = o * o * s.f, p.out_batch = s.f;
  for (int d = 0; d < 2; ++d) {
    p.spatial.push_back({.in = s.in,
                         .window = o,
                         .out = s.window,
                         .stride = 1,
                         .pad_low = s.pad,
                         .window_dilation = s.stride,
                         .in_stride = d ? s.c : s.in * s.c,
                         .window_stride = d ? s.f : o * s.f,
                         .out_stride = d ? s.c * s.f : s.window * s.c * s.f});
  }
  return p;
}

// A bias and a ReLU, as networks have.
llvm::Value* relu(llvm::IRBuilderBase& b, const HookArgs& a) {
  llvm::Value* zero = llvm::Constant::getNullValue(a.acc->getType());
  return b.CreateSelect(b.CreateFCmpOGT(a.acc, zero), a.acc, zero);
}

// Adds the element of a fourth buffer at the output's place.
HookArgs residual(llvm::IRBuilderBase& b, HookArgs a, int64_t o, int64_t f) {
  llvm::Type* ptr = b.getPtrTy();
  llvm::Value* base = b.CreateLoad(ptr, b.CreateConstGEP1_64(ptr, a.buffers, 3));
  auto mul = [&](llvm::Value* x, int64_t c) { return b.CreateMul(x, b.getInt64(static_cast<uint64_t>(c))); };
  llvm::Value* at = b.CreateAdd(mul(b.CreateAdd(mul(b.CreateAdd(mul(a.index[0], o), a.index[1]), o), a.index[2]), f), a.index[3]);
  llvm::Value* x = b.CreateAlignedLoad(a.acc->getType(), b.CreateGEP(b.getFloatTy(), base, at), llvm::Align(4));
  a.acc = b.CreateFAdd(a.acc, x);
  return a;
}

void run(benchmark::State& state, const Shape& s, int threads) {
  ConvSpec p = s.pass == Pass::kForward ? forward(s)
                     : s.pass == Pass::kData  ? data_gradient(s)
                                              : filter_gradient(s);
  const Target target = testing::level_target("avx512");
  ContractionHooks hooks;
  if (s.pass == Pass::kForward) hooks.epilogue = relu;
  const int64_t o = s.out();
  if (s.residual) {
    hooks.epilogue = [o, f = s.f](llvm::IRBuilderBase& b, const HookArgs& a) { return relu(b, residual(b, a, o, f)); };
    hooks.read_in_place = {3};
  }
  const int64_t x = s.batch * s.in * s.in * s.c, y = s.batch * s.out() * s.out() * s.f;
  const int64_t k = s.window * s.window * s.f * (s.depthwise ? 1 : s.c);
  std::vector<int64_t> bytes{4 * x, 4 * k, 4 * y};
  if (s.pass == Pass::kData) bytes = {4 * y, 4 * k, 4 * x};
  if (s.pass == Pass::kFilter) bytes = {4 * x, 4 * y, 4 * k};
  if (s.residual) bytes.push_back(4 * y), p.workspace_buffer = 4;
  bench::run_kernel(
      state, target, [&](llvm::Module& m) { return emit_conv(m, "k", p, target, hooks); }, bytes,
      s.flops(), threads);
}

constexpr Pass kD = Pass::kData, kF = Pass::kFilter;
const Shape kShapes[] = {
    {"conv1_7x7s2", 1, 224, 3, 7, 2, 3, 64},
    {"c64_3x3_56", 1, 56, 64, 3, 1, 1, 64},
    {"c128_3x3_28", 1, 28, 128, 3, 1, 1, 128},
    {"c256_3x3_14", 1, 14, 256, 3, 1, 1, 256},
    {"c512_3x3_7", 1, 7, 512, 3, 1, 1, 512},
    {"c128_3x3s2_56", 1, 56, 128, 3, 2, 1, 128},
    {"c256_3x3s2_28", 1, 28, 256, 3, 2, 1, 256},
    {"c64_1x1_256_56", 1, 56, 64, 1, 1, 0, 256},
    {"c256_1x1_64_56", 1, 56, 256, 1, 1, 0, 64},
    {"c512_1x1_128_28", 1, 28, 512, 1, 1, 0, 128},
    {"c1024_1x1_256_14", 1, 14, 1024, 1, 1, 0, 256},
    {"c512_1x1_2048_7", 1, 7, 512, 1, 1, 0, 2048},
    {"c2048_1x1_512_7", 1, 7, 2048, 1, 1, 0, 512},
    {"c64_1x1_256_56_res", 1, 56, 64, 1, 1, 0, 256, Pass::kForward, false, false, true},
    {"c128_1x1_512_28_res", 1, 28, 128, 1, 1, 0, 512, Pass::kForward, false, false, true},
    {"c256_1x1_1024_14_res", 1, 14, 256, 1, 1, 0, 1024, Pass::kForward, false, false, true},
    {"c512_1x1_2048_7_res", 1, 7, 512, 1, 1, 0, 2048, Pass::kForward, false, false, true},
    {"c256_1x1s2_512_56", 1, 56, 256, 1, 2, 0, 512},
    {"b8_c64_3x3_56", 8, 56, 64, 3, 1, 1, 64},
    {"b8_c512_3x3_7", 8, 7, 512, 3, 1, 1, 512},
    {"mnist_c1_3x3_32", 128, 28, 1, 3, 1, 1, 32},
    {"mnist_c32_3x3_64", 128, 14, 32, 3, 1, 1, 64},
    {"nchw_c64_3x3_56", 1, 56, 64, 3, 1, 1, 64, Pass::kForward, false, true},
    {"nchw_c512_3x3_7", 1, 7, 512, 3, 1, 1, 512, Pass::kForward, false, true},
    {"dw32_112", 1, 112, 32, 3, 1, 1, 32, Pass::kForward, true},
    {"dw144_56", 1, 56, 144, 3, 1, 1, 144, Pass::kForward, true},
    {"dw144s2_56", 1, 56, 144, 3, 2, 1, 144, Pass::kForward, true},
    {"dw384_14", 1, 14, 384, 3, 1, 1, 384, Pass::kForward, true},
    {"dw576_14", 1, 14, 576, 3, 1, 1, 576, Pass::kForward, true},
    {"dw960_7", 1, 7, 960, 3, 1, 1, 960, Pass::kForward, true},
    {"data_c64_3x3_56", 8, 56, 64, 3, 1, 1, 64, kD},
    {"data_c256_3x3_14", 8, 14, 256, 3, 1, 1, 256, kD},
    {"data_c512_3x3_7", 8, 7, 512, 3, 1, 1, 512, kD},
    {"data_c128_3x3s2_56", 8, 56, 128, 3, 2, 1, 128, kD},
    {"data_c256_1x1_64_56", 8, 56, 256, 1, 1, 0, 64, kD},
    {"filter_c64_3x3_56", 8, 56, 64, 3, 1, 1, 64, kF},
    {"filter_c256_3x3_14", 8, 14, 256, 3, 1, 1, 256, kF},
    {"filter_c512_3x3_7", 8, 7, 512, 3, 1, 1, 512, kF},
    {"filter_c256_1x1_64_56", 8, 56, 256, 1, 1, 0, 64, kF},
    {"filter_c64_1x1_256_56", 8, 56, 64, 1, 1, 0, 256, kF},
    {"filter_c256_1x1_128_56", 8, 56, 256, 1, 1, 0, 128, kF},
    {"filter_c256_1x1s2_512_56", 8, 56, 256, 1, 2, 0, 512, kF},
    {"filter_conv1", 8, 224, 3, 7, 2, 3, 64, kF},
};

}  // namespace
}  // namespace braze::codegen

int main(int argc, char** argv) {
  using namespace braze::codegen;
  for (const Shape& s : kShapes) {
    for (int threads : {1, 2}) {
      benchmark::RegisterBenchmark(
          (std::string("conv/") + s.name + "/" + std::to_string(threads)).c_str(),
          [s, threads](benchmark::State& st) { run(st, s, threads); })
          ->UseRealTime()
          ->MinTime(0.2);
    }
  }
  return braze::codegen::bench::bench_main(argc, argv);
}
