// SPDX-License-Identifier: Apache-2.0
// How a ConvSpec is computed: as matrix products whose rows are output positions and whose sum runs
// over the window and the input features, reading the input in place or a padded copy of it.
//
// Base dilation splits the output into residue classes per dimension: in each, the taps that meet
// an element are an arithmetic progression, so a class is a convolution without base dilation.
// Internal to codegen.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/conv.h"
#include "codegen/gemm.h"

namespace braze::codegen {

// A spatial dimension of one residue class: output o = o' * out_step + out_first, tap w = w' *
// tap_step
// + tap_first, and the input position is base + o' * stride + w' * dilation.
struct ConvClassDim {
  int64_t out = 0, out_first = 0, out_step = 1;
  int64_t taps = 0, tap_first = 0, tap_step = 1;
  int64_t base = 0, stride = 1, dilation = 1;

  int64_t first() const { return base; }  // least and greatest position touched
  int64_t last() const { return base + (out - 1) * stride + (taps - 1) * dilation; }
};
struct ConvClass {
  std::vector<ConvClassDim> dims;
  bool empty() const;  // no output
  int64_t taps() const;
};

// The padded copy of the input, in the workspace, of the accumulator type: outer dimensions,
// spatial positions [lo, lo + size) in each dimension, then the innermost dimension, contiguous.
struct ConvStaging {
  enum class Inner : uint8_t { kFeature, kBatch, kSpatial };  // the last: nothing comes after the positions
  bool used = false;
  bool dilated = false;  // positions are those of the dilated input: zeros are inserted
  Inner inner = Inner::kFeature;
  std::vector<int64_t> lo, size, stride;
  int64_t in_batch = 0, in_feature = 0, in_group = 0;  // strides in the copy, as in ConvSpec
  int64_t elements = 0;
};

struct ConvShape {
  ConvSpec spec;  // reversal folded into negative strides
  std::vector<ConvClass> classes;
  ConvStaging staging;
  bool channelwise = false;  // lanes along the groups (depthwise)
  bool along_line = false;   // lanes along the last spatial dimension, else along the output features
  int64_t staging_bytes = 0;
};

ConvShape shape_conv(const ConvSpec& spec, bool lhs_hooked, bool rhs_hooked, const Target& target);

// The matrix product of a class. Its batch coordinates are {group, rows...}, the rows being `rows`
// in order: -1 the batch, i the spatial dimension i; the last row dimension is m. With lanes along a
// line the kernel is the left side: m are the features, n the last spatial dimension, not among `rows`.
struct ConvGemm {
  GemmSpec gemm;
  std::vector<int> rows;
  std::vector<int> k;  // as rows; -1: the input feature
};
ConvGemm gemm_of(const ConvShape& shape, const ConvClass& c);

}  // namespace braze::codegen
