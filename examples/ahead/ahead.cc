// SPDX-License-Identifier: Apache-2.0
// Runs a model that was compiled when this program was built.
#include <cstdio>

#include "ranking.h"

int main() {
  shop::Ranking ranking;  // with the runtime's threads
  float* features = ranking.arg0_data();
  for (int i = 0; i < 18; ++i) features[i] = static_cast<float>(i * 7 % 5);
  const float weights[] = {1, 0.5f, -0.25f};
  ranking.set_arg1_data(weights);  // the caller's memory, without a copy
  if (!ranking.Run()) {
    std::fprintf(stderr, "%s\n", ranking.error_msg());
    return 1;
  }
  for (int i = 0; i < 6; ++i) {
    const int item = ranking.result1_data()[i];
    std::printf("item %d: %.3f\n", item, ranking.result0_data()[item]);
  }
}
