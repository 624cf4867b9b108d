// SPDX-License-Identifier: Apache-2.0
// The padded copy of a convolution's input: zeros outside (and between dilated elements), converted
// to the accumulator type, innermost dimension contiguous.
#include <algorithm>

#include "codegen/conv_kernel.h"

namespace braze::codegen {
namespace {

class Staging {
 public:
  Staging(Emit& e, const ConvShape& s, const ContractionHooks& hooks)
      : e_(e), p_(s.spec), g_(s.staging), hooks_(hooks), bytes_(byte_size(e.acc)) {
    if (g_.inner == Inner::kBatch) inner_ = p_.batch, inner_stride_ = p_.in_batch;
    if (g_.inner == Inner::kFeature) inner_ = p_.in_features, inner_stride_ = p_.in_feature;
  }

  void run(const std::string& name) {
    e_.begin_kernel(name);
    buffers_ = e_.arg(0);
    from_ = pointer(p_.lhs_buffer, p_.lhs_offset * byte_size(p_.lhs));
    to_ = pointer(p_.workspace_buffer, 0);
    if (hooks_.lhs && hooks_.entry) hooks_.entry(e_.b, buffers_);
    e_.loop(e_.arg(1), e_.arg(2), [&](Value* item) { line(item); });
    e_.end_function();
  }

 private:
  using Inner = ConvStaging::Inner;

  Value* pointer(int i, int64_t bytes) {
    Value* p = e_.b.CreateAlignedLoad(e_.ptr_type(), e_.at(buffers_, 8 * i), llvm::Align(8));
    return e_.at(p, bytes);
  }

  // Item → (group, batch, feature, all spatial coordinates but the last), without the innermost one: a line of
  // positions along the last.
  void line(Value* item) {
    const size_t n = p_.spatial.size();
    std::vector<int64_t> sizes{p_.groups, g_.inner == Inner::kBatch ? 1 : p_.batch,
                               g_.inner == Inner::kFeature ? 1 : p_.in_features};
    for (size_t i = 0; i + 1 < n; ++i) sizes.push_back(g_.size[i]);
    Values at = unravel(e_, item, sizes);
    group_ = at[0], batch_ = at[1], feature_ = at[2];
    auto place = [&](int64_t group, int64_t batch, int64_t feature) {
      return e_.add(e_.mul(group_, group), e_.add(e_.mul(batch_, batch), e_.mul(feature_, feature)));
    };
    Value* from = place(p_.in_group, p_.in_batch, p_.in_feature);
    Value* to = place(g_.in_group, g_.in_batch, g_.in_feature);
    Value* inside = e_.b.getTrue();
    spatial_.clear();
    for (size_t i = 0; i + 1 < n; ++i) {
      const ConvSpatial& d = p_.spatial[i];
      const int64_t b = g_.dilated ? d.base_dilation : 1;
      Value* position = e_.add(at[i + 3], e_.i64(g_.lo[i]));
      // A negative position is outside; unsigned comparison sees it as huge.
      Value* x = e_.div(position, b);
      Value* in = e_.b.CreateICmpULT(x, e_.i64(d.in));
      if (b > 1) in = e_.b.CreateAnd(in, e_.b.CreateICmpEQ(e_.rem(position, b), e_.i64(0)));
      inside = e_.b.CreateAnd(inside, in);
      from = e_.add(from, e_.mul(x, d.in_stride));
      to = e_.add(to, e_.mul(at[i + 3], g_.stride[i]));
      spatial_.push_back(x);
    }
    to = e_.at(to_, e_.mul(to, bytes_));
    e_.if_else(
        inside, [&] { copy_line(e_.at(from_, e_.mul(from, byte_size(p_.lhs))), to); },
        [&] { zeros(to, 0, n ? g_.size.back() : 1); });
  }

  // Zeros for the positions [first, end) of a line.
  void zeros(Value* to, int64_t first, int64_t end) {
    const int64_t stride = p_.spatial.empty() ? inner_ : g_.stride.back();
    if (stride == inner_) {
      fill(e_.at(to, first * stride * bytes_), (end - first) * stride);
      return;
    }
    e_.loop(e_.i64(first), e_.i64(end),
            [&](Value* x) { fill(e_.at(to, e_.mul(x, stride * bytes_)), inner_); });
  }

  void fill(Value* to, int64_t count) {
    vectors(count, [&](Value* i, Value* mask) {
      e_.store_acc(e_.zero_acc(), e_.at(to, e_.mul(i, bytes_)), mask);
    });
  }

  void vectors(int64_t count, absl::FunctionRef<void(Value*, Value*)> body) {
    if (count <= 0) return;
    const int64_t whole = count / e_.w * e_.w;
    e_.loop(e_.i64(0), e_.i64(whole), e_.w, [&](Value* i) { body(i, nullptr); });
    if (whole < count) body(e_.i64(whole), e_.mask_const(e_.w, static_cast<int>(count - whole)));
  }

  void copy_line(Value* from, Value* to) {
    if (p_.spatial.empty()) return copy(from, to, inner_);
    const ConvSpatial& d = p_.spatial.back();
    const int64_t b = g_.dilated ? d.base_dilation : 1;
    const int64_t size = g_.size.back(), lo = g_.lo.back(), stride = g_.stride.back();
    if (b > 1) zeros(to, 0, size);
    // Elements [first, end) of the input line fall on positions x * b - lo.
    const int64_t first = lo <= 0 ? 0 : std::min((lo + b - 1) / b, d.in);
    const int64_t reach = lo + size - 1;
    const int64_t end = reach < 0 ? first : std::max(first, std::min(d.in, reach / b + 1));
    if (b == 1) {
      const int64_t left = std::clamp<int64_t>(first - lo, 0, size);
      zeros(to, 0, left);
      zeros(to, std::clamp<int64_t>(end - lo, left, size), size);
    }
    if (first >= end) return;
    const bool flat =
        !hooks_.lhs && b == 1 && d.in_stride == inner_ && stride == inner_ && inner_stride_ == 1;
    if (flat) {
      copy(e_.at(from, first * inner_ * byte_size(p_.lhs)),
           e_.at(to, (first - lo) * inner_ * bytes_), (end - first) * inner_);
      return;
    }
    e_.loop(e_.i64(first), e_.i64(end), [&](Value* x) {
      last_ = x;
      Value* position = e_.sub(e_.mul(x, b), e_.i64(lo));
      copy(e_.at(from, e_.mul(x, d.in_stride * byte_size(p_.lhs))),
           e_.at(to, e_.mul(position, stride * bytes_)), inner_);
    });
  }

  void copy(Value* from, Value* to, int64_t count) {
    const int64_t bytes = byte_size(p_.lhs);
    const int64_t step = inner_ == 1 ? 1 : inner_stride_;
    vectors(count, [&](Value* i, Value* mask) {
      Value* v = hooks_.lhs ? hook(i, mask)
                            : e_.load(p_.lhs, e_.at(from, e_.mul(i, step * bytes)), e_.w, mask,
                                      step * bytes);
      e_.store_acc(v, e_.at(to, e_.mul(i, bytes_)), mask);
    });
  }

  Value* hook(Value* i, Value* mask) {
    HookArgs a{.buffers = buffers_, .lanes = e_.w, .mask = mask};
    Value* batch = g_.inner == Inner::kBatch ? i : batch_;
    Value* feature = g_.inner == Inner::kFeature ? i : feature_;
    // A group is a range of the features or, where it steps as the batch does, of the batch.
    if (p_.groups > 1 && p_.in_group == p_.batch * p_.in_batch &&
        p_.in_group != p_.in_features * p_.in_feature) {
      batch = e_.add(e_.mul(group_, p_.batch), batch);
    } else if (p_.groups > 1) {
      feature = e_.add(e_.mul(group_, p_.in_features), feature);
    }
    a.index.push_back(batch);
    a.index.insert(a.index.end(), spatial_.begin(), spatial_.end());
    if (!p_.spatial.empty()) a.index.push_back(last_);
    a.index.push_back(feature);
    a.lane_axis = g_.inner == Inner::kBatch ? 0 : static_cast<int>(a.index.size()) - 1;
    return hooks_.lhs(e_.b, a);
  }

  Emit& e_;
  const ConvSpec& p_;
  const ConvStaging& g_;
  const ContractionHooks& hooks_;
  const int64_t bytes_;
  int64_t inner_ = 1, inner_stride_ = 1;  // of the innermost dimension
  Value *buffers_ = nullptr, *from_ = nullptr, *to_ = nullptr;
  Value *group_ = nullptr, *batch_ = nullptr, *feature_ = nullptr, *last_ = nullptr;
  Values spatial_;
};

}  // namespace

int64_t staging_items(const ConvShape& s) {
  using Inner = ConvStaging::Inner;
  const Inner inner = s.staging.inner;
  int64_t n = s.spec.groups * (inner == Inner::kBatch ? 1 : s.spec.batch) *
              (inner == Inner::kFeature ? 1 : s.spec.in_features);
  for (size_t i = 0; i + 1 < s.spec.spatial.size(); ++i) n *= s.staging.size[i];
  return n;
}

void emit_conv_staging(Emit& e, const ConvShape& s, const ContractionHooks& hooks,
                       const std::string& name) {
  Staging(e, s, hooks).run(name);
}

}  // namespace braze::codegen
