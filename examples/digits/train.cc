// SPDX-License-Identifier: Apache-2.0
// Trains a two-layer classifier on the handwritten digits of scikit-learn (1,797 images of 8×8 pixels)
// from an exported StableHLO training step: digits_train DATA.npz train_step.mlir predict.mlir
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "backend/compile.h"
#include "backend/read_module.h"
#include "base/npy.h"

namespace {

using namespace braze;  // NOLINT: an example

constexpr int kPixels = 64, kHidden = 128, kClasses = 10, kBatch = 64, kTrain = 1500, kEpochs = 30;

Result<std::unique_ptr<Executable>> load(const char* file) {
  ASSIGN(std::string bytes, read_file(file));
  ReadOptions options;
  options.file = file;
  ASSIGN(std::unique_ptr<Module> m, read_module(bytes, options));
  return compile(std::move(m));
}

Literal uniform(DimSpan dims, double limit, std::mt19937& rng) {
  Literal l(Shape::array(Dtype::kF32, dims));
  std::uniform_real_distribution<float> u(static_cast<float>(-limit), static_cast<float>(limit));
  for (float& x : l.mutable_data<float>()) x = u(rng);
  return l;
}

Status train(const char* data_file, const char* step_file, const char* predict_file) {
  ASSIGN(std::string bytes, read_file(data_file));
  ASSIGN(std::vector<NpyArray> data, read_npz(bytes));
  if (data.size() != 2) return invalid(data_file, ": expected the arrays x and y");
  const auto* x = reinterpret_cast<const float*>(data[0].bytes.data());
  const auto* y = reinterpret_cast<const int32_t*>(data[1].bytes.data());
  int n = static_cast<int>(data[1].bytes.size() / sizeof(int32_t));

  ASSIGN(std::unique_ptr<Executable> step, load(step_file));
  ASSIGN(std::unique_ptr<Executable> predict, load(predict_file));
  std::printf("training step: %d kernels a step, compiled in %.0f ms\n",
              static_cast<int>(step->stats().launches), step->stats().total_ms);

  std::mt19937 rng(1);
  std::vector<Literal> state = {
      uniform({kPixels, kHidden}, std::sqrt(6.0 / kPixels), rng), Literal(Shape::array(Dtype::kF32, {kHidden})),
      uniform({kHidden, kClasses}, std::sqrt(3.0 / kHidden), rng), Literal(Shape::array(Dtype::kF32, {kClasses}))};
  for (int k = 0; k < 4; ++k) state.emplace_back(state[static_cast<size_t>(k)].shape());

  std::vector<int> order(kTrain);
  std::iota(order.begin(), order.end(), 0);
  double ms = 0;
  int steps = 0;
  for (int epoch = 1; epoch <= kEpochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), rng);
    double loss = 0;
    int batches = kTrain / kBatch;
    for (int b = 0; b < batches; ++b) {
      Literal images(Shape::array(Dtype::kF32, {kBatch, kPixels}));
      Literal labels(Shape::array(Dtype::kS32, {kBatch}));
      for (int i = 0; i < kBatch; ++i) {
        int at = order[static_cast<size_t>(b * kBatch + i)];
        std::memcpy(images.mutable_data<float>().data() + i * kPixels, x + at * kPixels, kPixels * sizeof(float));
        labels.mutable_data<int32_t>()[static_cast<size_t>(i)] = y[at];
      }
      std::vector<Literal> args = state;
      args.push_back(images);
      args.push_back(labels);
      auto t0 = std::chrono::steady_clock::now();
      ASSIGN(Literal result, step->run(args));
      ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - t0).count();
      ++steps;
      for (size_t k = 0; k < state.size(); ++k) state[k] = result.parts()[k];
      loss += result.parts()[8].get_float(0) / batches;
    }
    if (epoch == 1 || epoch % 5 == 0) std::printf("epoch %2d   loss %.4f\n", epoch, loss);
  }
  std::vector<Literal> args(state.begin(), state.begin() + 4);
  Literal test(Shape::array(Dtype::kF32, {n - kTrain, kPixels}));
  std::memcpy(test.mutable_bytes(), x + kTrain * kPixels, static_cast<size_t>(test.size_bytes()));
  args.push_back(test);
  ASSIGN(Literal digits, predict->run(args));
  int right = 0;
  for (int i = 0; i < n - kTrain; ++i) right += digits.get_int(i) == y[kTrain + i];
  std::printf("test accuracy %.1f %% (%d of %d)\nstep time %.3f ms\n", 100.0 * right / (n - kTrain), right,
              n - kTrain, ms / steps);
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s DATA.npz train_step.mlir predict.mlir\n", argv[0]);
    return 2;
  }
  Status s = train(argv[1], argv[2], argv[3]);
  if (s.ok()) return 0;
  std::fprintf(stderr, "digits: %s\n", std::string(s.message()).c_str());
  return 1;
}
