// SPDX-License-Identifier: Apache-2.0
#include "ops/rng_bits.h"

namespace braze {
namespace {

uint32_t rotate_left(uint32_t v, int by) { return (v << by) | (v >> (32 - by)); }

uint64_t joined(uint32_t low, uint32_t high) { return low | (uint64_t{high} << 32); }

std::array<uint32_t, 2> words(uint64_t v) {
  return {static_cast<uint32_t>(v), static_cast<uint32_t>(v >> 32)};
}

RandomBits threefry_bits(const std::vector<uint64_t>& state, DimSpan dims, int width) {
  RandomBits out;
  const std::array<uint32_t, 2> key = words(state[0]);
  const int64_t n = product(dims);
  out.values.resize(n);
  auto pair_at = [&](int64_t counter) {
    return threefry2x32(key, words(state[1] + static_cast<uint64_t>(counter)));
  };
  int64_t used = 0;
  if (width > 32) {
    for (int64_t i = 0; i < n; ++i) {
      const auto p = pair_at(i);
      out.values[i] = joined(p[0], p[1]);
    }
    used = n;
  } else if (dims.empty()) {
    out.values[0] = pair_at(0)[0];
    used = 1;
  } else {
    const int64_t d = threefry_split_dim(dims);
    int64_t inner = 1;
    for (size_t k = d + 1; k < dims.size(); ++k) inner *= dims[k];
    const int64_t size = dims[d], half = (size + 1) / 2;
    const int64_t outer = size == 0 ? 0 : n / (size * inner);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t h = 0; h < half; ++h)
        for (int64_t i = 0; i < inner; ++i) {
          const auto p = pair_at((o * half + h) * inner + i);
          const int64_t at = (o * size + 2 * h) * inner + i;
          out.values[at] = p[0];
          if (2 * h + 1 < size) out.values[at + inner] = p[1];
        }
    used = outer * half * inner;
  }
  out.state = {state[0], state[1] + static_cast<uint64_t>(used)};
  return out;
}

RandomBits philox_bits(const std::vector<uint64_t>& state, DimSpan dims, int width) {
  RandomBits out;
  const std::array<uint32_t, 2> key = words(state[0]);
  const bool long_state = state.size() >= 3;
  const uint64_t low = state[1], high = long_state ? state[2] : state[0];
  const int64_t n = product(dims), per_block = width > 32 ? 2 : 4;
  const int64_t blocks = (n + per_block - 1) / per_block;
  out.values.resize(n);
  for (int64_t b = 0; b < blocks; ++b) {
    const uint64_t l = low + static_cast<uint64_t>(b), h = high + (l < low);
    const auto lo = words(l), hi = words(h);
    const auto x = philox4x32(key, {lo[0], lo[1], hi[0], hi[1]});
    for (int64_t k = 0; k < per_block && b * per_block + k < n; ++k)
      out.values[b * per_block + k] = width > 32 ? joined(x[2 * k], x[2 * k + 1]) : x[k];
  }
  const uint64_t next = low + static_cast<uint64_t>(blocks);
  out.state = {state[0], next};
  if (long_state) {
    out.state.push_back(high + (next < low));
    out.state.resize(state.size());
  }
  return out;
}

}  // namespace

std::array<uint32_t, 2> threefry2x32(std::array<uint32_t, 2> key, std::array<uint32_t, 2> counter) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t ks[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAu};
  uint32_t a = counter[0] + ks[0], b = counter[1] + ks[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int r : kRotations[group % 2]) {
      a += b;
      b = rotate_left(b, r) ^ a;
    }
    a += ks[(group + 1) % 3];
    b += ks[(group + 2) % 3] + group + 1;
  }
  return {a, b};
}

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 2> key, std::array<uint32_t, 4> x) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t p = uint64_t{x[0]} * 0xD2511F53u, q = uint64_t{x[2]} * 0xCD9E8D57u;
    const auto pw = words(p), qw = words(q);
    x = {qw[1] ^ x[1] ^ key[0], qw[0], pw[1] ^ x[3] ^ key[1], pw[0]};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return x;
}

int64_t threefry_split_dim(DimSpan dims) {
  int64_t best = -1;
  for (size_t i = 0; i < dims.size(); ++i)
    if (dims[i] % 2 == 0) return static_cast<int64_t>(i);
  for (size_t i = 0; i < dims.size(); ++i)
    if (best < 0 || dims[i] > dims[best]) best = static_cast<int64_t>(i);
  return best;
}

RandomBits random_bits(RngAlgorithm algorithm, const std::vector<uint64_t>& state, DimSpan dims,
                       int width) {
  return algorithm == RngAlgorithm::kThreeFry ? threefry_bits(state, dims, width)
                                              : philox_bits(state, dims, width);
}

}  // namespace braze
