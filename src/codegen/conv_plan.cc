// SPDX-License-Identifier: Apache-2.0
// shape_conv: residue classes of base dilation, the need for a padded copy, and the matrix product.
#include "codegen/conv_plan.h"

#include <algorithm>
#include <numeric>

namespace braze::codegen {
namespace {

constexpr int64_t kMostClasses = 16;  // beyond, zeros are inserted instead
constexpr int64_t kLineKernel = 128 << 10;  // bytes of a kernel that lines are multiplied with
constexpr int64_t kStridedSum = 160;        // terms
constexpr int64_t kLongLine = 8;            // elements

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t floor_mod(int64_t a, int64_t b) { return ((a % b) + b) % b; }

// The residue classes of one dimension.
std::vector<ConvClassDim> classes_of(const ConvSpatial& d, bool dilated) {
  if (dilated || d.base_dilation == 1) {
    return {{d.out, 0, 1, d.window, 0, 1, -d.pad_low, d.stride, d.window_dilation}};
  }
  const int64_t b = d.base_dilation;
  const int64_t out_step = b / std::gcd(b, d.stride), tap_step = b / std::gcd(b, d.window_dilation);
  std::vector<ConvClassDim> out;
  for (int64_t r = 0; r < out_step; ++r) {
    ConvClassDim c;
    c.out_first = r;
    c.out_step = out_step;
    c.out = r < d.out ? ceil_div(d.out - r, out_step) : 0;
    c.tap_step = tap_step;
    c.stride = out_step * d.stride / b;
    c.dilation = tap_step * d.window_dilation / b;
    for (int64_t w = 0; w < std::min(tap_step, d.window); ++w) {
      const int64_t position = r * d.stride + w * d.window_dilation - d.pad_low;
      if (floor_mod(position, b) != 0) continue;
      c.tap_first = w;
      c.taps = ceil_div(d.window - w, tap_step);
      c.base = position / b;
      break;
    }
    out.push_back(c);
  }
  return out;
}

void cross(std::vector<ConvClass>& classes, const std::vector<ConvClassDim>& dim) {
  std::vector<ConvClass> next;
  for (const ConvClass& c : classes) {
    for (const ConvClassDim& d : dim) {
      next.push_back(c);
      next.back().dims.push_back(d);
    }
  }
  classes = std::move(next);
}

// Positions in [0, in) only, for every class that has terms.
bool fits(const ConvShape& s) {
  for (const ConvClass& c : s.classes) {
    if (c.empty() || c.taps() == 0) continue;
    for (size_t i = 0; i < c.dims.size(); ++i) {
      if (c.dims[i].first() < 0 || c.dims[i].last() >= s.spec.spatial[i].in) return false;
    }
  }
  return true;
}

// The part of the last vector's lanes and those before it that `count` elements use.
double fill(int64_t count, int lanes) {
  return static_cast<double>(count) / static_cast<double>(ceil_div(count, lanes) * lanes);
}

// Whether the lanes should run along the last spatial dimension, where the output has that innermost: this saves to bring
// the features inside and the results back, or lanes if a group has few features. The kernel is read again for each line,
// so it should be small; lines of a strided convolution are packed, which longer sums do not repay.
bool is_along_line(const ConvSpec& p, const Target& target) {
  if (p.spatial.empty() || p.out_feature == 1) return false;
  const ConvSpatial& line = p.spatial.back();
  const int lanes = target.lanes(byte_size(p.acc));
  int64_t terms = p.in_features;
  for (const ConvSpatial& d : p.spatial) {
    if (d.base_dilation != 1) return false;
    terms *= d.window;
  }
  const bool feature_groups = p.groups == 1 || p.in_group == p.in_features * p.in_feature;
  return feature_groups && line.out_stride == 1 && line.in_stride == 1 &&
         fill(line.out, lanes) >= 0.75 * fill(p.out_features, lanes) &&
         p.out_features * terms * byte_size(p.acc) <= kLineKernel &&
         (line.stride == 1 || terms < kStridedSum);
}

// Whether sums should run along lines first: both sides have them in memory, features apart (the gradient of a kernel
// with channels first).
bool sums_lines(const ConvSpec& p) {
  if (p.spatial.empty() || p.rhs_in == 1) return false;
  const ConvSpatial& line = p.spatial.back();
  return line.in_stride == 1 && std::abs(line.window_stride) == 1 && line.base_dilation == 1 && line.window_dilation == 1 &&
         line.window >= kLongLine;
}

void choose_staging(ConvShape& s, bool hooked, bool dilated) {
  using Inner = ConvStaging::Inner;
  ConvStaging& g = s.staging;
  const ConvSpec& p = s.spec;
  const bool lines = s.along_line || sums_lines(p);
  const bool unit = lines ? p.lhs == p.acc : p.in_feature == 1 || p.in_batch == 1 || p.in_features == 1;
  g.dilated = dilated;
  g.used = hooked || dilated || !unit || !fits(s);
  if (!g.used) return;
  const size_t n = p.spatial.size();
  g.lo.assign(n, 0);
  g.size.assign(n, 1);
  g.stride.assign(n, 0);
  for (size_t i = 0; i < n; ++i) {
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    for (const ConvClass& c : s.classes) {
      if (c.empty() || c.taps() == 0) continue;
      lo = std::min(lo, c.dims[i].first());
      hi = std::max(hi, c.dims[i].last());
    }
    if (lo > hi) continue;
    g.lo[i] = lo;
    g.size[i] = hi - lo + 1;
  }
  const bool by_batch = p.in_feature != 1 && p.in_batch == 1;
  g.inner = lines ? Inner::kSpatial : by_batch ? Inner::kBatch : Inner::kFeature;
  int64_t stride = 1;
  auto take = [&](int64_t& to, int64_t size) {
    to = stride;
    stride *= size;
  };
  const bool group_with_feature = p.in_group == p.in_features * p.in_feature;
  const bool group_inner =
      p.groups > 1 && (g.inner == Inner::kBatch ? !group_with_feature : group_with_feature);
  if (g.inner == Inner::kBatch) take(g.in_batch, p.batch);
  if (g.inner == Inner::kFeature) take(g.in_feature, p.in_features);
  if (group_inner && g.inner != Inner::kSpatial) take(g.in_group, p.groups);
  for (size_t i = n; i-- > 0;) take(g.stride[i], g.size[i]);
  if (g.inner != Inner::kFeature) take(g.in_feature, p.in_features);
  if (group_inner && g.inner == Inner::kSpatial) take(g.in_group, p.groups);
  if (g.inner != Inner::kBatch) take(g.in_batch, p.batch);
  if (!group_inner) take(g.in_group, p.groups);
  g.elements = stride;
}

}  // namespace

bool ConvClass::empty() const {
  return std::any_of(dims.begin(), dims.end(), [](const ConvClassDim& d) { return d.out == 0; });
}

int64_t ConvClass::taps() const {
  int64_t n = 1;
  for (const ConvClassDim& d : dims) n *= d.taps;
  return n;
}

ConvShape shape_conv(const ConvSpec& spec, bool lhs_hooked, bool rhs_hooked, const Target& target) {
  ConvShape s;
  s.spec = spec;
  int64_t count = 1;
  for (ConvSpatial& d : s.spec.spatial) {
    if (d.reversed && d.window > 0) {
      s.spec.rhs_offset += (d.window - 1) * d.window_stride;
      d.window_stride = -d.window_stride;
    }
    count =
        std::min<int64_t>(count * (d.base_dilation / std::gcd(d.base_dilation, d.stride)), 1 << 20);
  }
  const bool dilated = count > kMostClasses;
  s.classes = {{}};
  for (const ConvSpatial& d : s.spec.spatial) cross(s.classes, classes_of(d, dilated));
  const ConvSpec& p = s.spec;
  s.channelwise = p.groups > 1 && p.in_group == 1 && p.rhs_group == 1 && p.out_group == 1 &&
                  p.out_features == 1 && !dilated && !lhs_hooked;
  s.along_line = !s.channelwise && !lhs_hooked && !rhs_hooked && is_along_line(p, target);
  if (!s.channelwise) {
    choose_staging(s, lhs_hooked, dilated);
    s.staging_bytes = (s.staging.elements * byte_size(p.acc) + 63) / 64 * 64;
  }
  return s;
}

namespace {

// From a product whose left side is the input, its rows among the batch dimensions, to the one whose left side is the
// kernel: lanes along the last spatial dimension.
void turn_to_line(const ConvShape& s, ConvGemm& r) {
  r.gemm.m = 1, r.gemm.lhs_m = r.gemm.out_m = 0;
  GemmSpec& g = r.gemm = swap_sides(r.gemm);
  g.in_place = true;
  const auto line = std::find(r.rows.begin(), r.rows.end(), static_cast<int>(s.spec.spatial.size()) - 1);
  const auto at = g.batch.begin() + 1 + (line - r.rows.begin());
  g.n = at->size;
  g.rhs_n = at->rhs;
  g.out_n = at->out;
  g.batch.erase(at);
  r.rows.erase(line);
}

}  // namespace

ConvGemm gemm_of(const ConvShape& s, const ConvClass& c) {
  const ConvSpec& p = s.spec;
  const ConvStaging& st = s.staging;
  ConvGemm r;
  GemmSpec& g = r.gemm;
  g.lhs = st.used ? p.acc : p.lhs;
  g.rhs = p.rhs;
  g.acc = p.acc;
  g.out = p.out;
  g.lhs_buffer = st.used ? p.workspace_buffer : p.lhs_buffer;
  g.lhs_offset = st.used ? 0 : p.lhs_offset;
  g.rhs_buffer = p.rhs_buffer;
  g.rhs_offset = p.rhs_offset;
  g.out_buffer = p.out_buffer;
  g.out_offset = p.out_offset;
  g.workspace_buffer = p.workspace_buffer;
  g.workspace_offset = s.staging_bytes;
  g.out_private = p.out_private;
  g.n = p.out_features;
  g.rhs_n = p.rhs_out;
  g.out_n = p.out_feature;

  struct Row {
    GemmBatchDim d;
    int role;
  };
  struct K {
    GemmContractedDim d;
    int role;
  };
  std::vector<Row> rows{{{p.batch, st.used ? st.in_batch : p.in_batch, 0, p.out_batch}, -1}};
  std::vector<K> ks;
  for (size_t i = 0; i < c.dims.size(); ++i) {
    const ConvClassDim& d = c.dims[i];
    const ConvSpatial& sp = p.spatial[i];
    const int64_t in = st.used ? st.stride[i] : sp.in_stride;
    const int role = static_cast<int>(i);
    rows.push_back({{d.out, d.stride * in, 0, d.out_step * sp.out_stride}, role});
    ks.push_back({{d.taps, d.dilation * in, d.tap_step * sp.window_stride}, role});
    if (c.taps() > 0) g.lhs_offset += (d.base - (st.used ? st.lo[i] : 0)) * in;
    g.rhs_offset += d.tap_first * sp.window_stride;
    g.out_offset += d.out_first * sp.out_stride;
  }
  ks.push_back({{p.in_features, st.used ? st.in_feature : p.in_feature, p.rhs_in}, -1});
  // Memory order: of the output for rows, of the input for the sum. Dimensions of size 1 go first.
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return (a.d.size == 1 ? INT64_MAX : a.d.out) > (b.d.size == 1 ? INT64_MAX : b.d.out);
  });
  std::stable_sort(ks.begin(), ks.end(), [](const K& a, const K& b) {
    return (a.d.size == 1 ? INT64_MAX : a.d.lhs) > (b.d.size == 1 ? INT64_MAX : b.d.lhs);
  });
  g.batch.push_back({p.groups, st.used ? st.in_group : p.in_group, p.rhs_group, p.out_group});
  for (const Row& x : rows) {
    g.batch.push_back(x.d);
    r.rows.push_back(x.role);
  }
  for (const K& x : ks) {
    g.k.push_back(x.d);
    r.k.push_back(x.role);
  }
  if (s.along_line) {
    turn_to_line(s, r);
    return r;
  }
  const GemmBatchDim m = g.batch.back();
  g.batch.pop_back();
  g.m = m.size;
  g.lhs_m = m.lhs;
  g.out_m = m.out;
  return r;
}

}  // namespace braze::codegen
