// SPDX-License-Identifier: Apache-2.0
// Channelwise (depthwise) convolution: every group is one lane. Output positions along the last
// spatial dimension are computed several at a time where the whole window lies inside the input,
// one at a time with fewer taps at the edges; no copy of the input is made. Long sums of few outputs (the gradient of a
// kernel) are made several at a time, too, so that what is read is used for all of them.
#include <algorithm>

#include "codegen/conv_kernel.h"
#include "codegen/gemm_plan.h"

namespace braze::codegen {
namespace {

constexpr int64_t kLongSum = 32;  // terms of the innermost loops from which their sums are added apart
constexpr int64_t kLeastTaps = 6;  // along the last dimension, of which outputs share all but the first and last few
constexpr int64_t kLine = 64;      // bytes

// Lines of an item, for which what depends on the channels alone is computed once, if so many items remain.
constexpr int64_t kMostLines = 8;
constexpr int64_t kLeastItems = 24;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// The blocking of a class.
struct Blocks {
  int vectors = 1, tail_vectors = 0, tail_lanes = 0;  // per channel block, and of the last
  int64_t channel_blocks = 1;
  int positions = 1;               // outputs at a time
  int64_t inner0 = 0, inner1 = 0;  // outputs whose window is inside along the last dimension
  int64_t lines = 1;
  int64_t item_lines = 1, line_groups = 1;
  bool long_sums = false;  // of outputs that are made `positions` at a time
};

const ConvClassDim kPoint{1, 0, 1, 1, 0, 1, 0, 1, 1};

// The last dimension, or a single point if there is none.
ConvClassDim last_dim(const ConvClass& c) { return c.dims.empty() ? kPoint : c.dims.back(); }
int64_t last_in(const ConvSpec& p) { return p.spatial.empty() ? 1 : p.spatial.back().in; }

Blocks blocks_of(const ConvShape& s, const ConvClass& c, const Target& target) {
  Blocks b;
  const ConvSpec& p = s.spec;
  const int w = target.lanes(byte_size(p.acc));
  const ConvClassDim last = last_dim(c);
  if (last.taps > 0) {
    b.inner0 =
        std::clamp<int64_t>(ceil_div(std::max<int64_t>(-last.base, 0), last.stride), 0, last.out);
    const int64_t most =
        floor_div(last_in(p) - 1 - (last.taps - 1) * last.dilation - last.base, last.stride);
    b.inner1 = std::clamp<int64_t>(most + 1, b.inner0, last.out);
  }
  const int64_t inner = b.inner1 - b.inner0, all = ceil_div(p.groups, w);
  b.long_sums = last.taps >= kLeastTaps && last.taps * p.in_features >= kLongSum && last.out > 1 && last.stride > 0;
  const bool single = inner < 2 || last.taps * p.in_features >= kLongSum;
  const int most = vector_registers(target) == 32 ? 4 : 2;
  const int64_t widest = std::min<int64_t>(single ? 2 * most : most, all);
  // The widest block, but rather a narrower one that divides the channels evenly.
  b.vectors = static_cast<int>(widest);
  for (int64_t v = widest; 2 * v > widest; --v) {
    if (all % v == 0) {
      b.vectors = static_cast<int>(v);
      break;
    }
  }
  // Whole cache lines, but few, so that there are items for all threads.
  if (b.long_sums) b.vectors = static_cast<int>(std::clamp<int64_t>(kLine / (w * byte_size(p.lhs)), 1, std::min<int64_t>(most, all)));
  b.channel_blocks = ceil_div(all, b.vectors);
  b.tail_vectors = static_cast<int>(all - (b.channel_blocks - 1) * b.vectors);
  b.tail_lanes = static_cast<int>(p.groups - (all - 1) * w);
  if (b.long_sums) {
    const int64_t fit = std::min<int64_t>((vector_registers(target) - 2) / b.vectors - 1, last.out);
    b.positions = static_cast<int>(ceil_div(last.out, ceil_div(last.out, fit)));
  } else if (!single) {
    const int64_t fit = (vector_registers(target) - 8) / b.vectors;
    b.positions = static_cast<int>(ceil_div(inner, ceil_div(inner, std::max<int64_t>(fit, 1))));
  }
  b.lines = p.batch;
  for (size_t i = 0; i + 1 < c.dims.size(); ++i) b.lines *= c.dims[i].out;
  const int64_t most_lines = std::clamp<int64_t>(b.lines * b.channel_blocks / kLeastItems, 1, kMostLines);
  b.item_lines = ceil_div(b.lines, ceil_div(b.lines, most_lines));
  b.line_groups = ceil_div(b.lines, b.item_lines);
  return b;
}

class Channelwise {
 public:
  Channelwise(Emit& e, const ConvShape& s, const ConvClass& c, const ContractionHooks& hooks)
      : e_(e),
        s_(s),
        p_(s.spec),
        c_(c),
        hooks_(hooks),
        blocks_(blocks_of(s, c, e.target)),
        last_(last_dim(c)),
        dims_(c.dims.size()) {}

  void run(const std::string& name) {
    const bool ragged = blocks_.tail_vectors != blocks_.vectors || blocks_.tail_lanes != e_.w;
    llvm::Function* full = nullptr;
    llvm::Function* tail = nullptr;
    if (blocks_.channel_blocks > 1 || !ragged)
      full = lines_function(name + ".lines", blocks_.vectors, e_.w);
    if (ragged) tail = lines_function(name + ".tail", blocks_.tail_vectors, blocks_.tail_lanes);
    e_.begin_kernel(name);
    Value* buffers = e_.arg(0);
    e_.loop(e_.arg(1), e_.arg(2), [&](Value* item) {
      Value* block = e_.rem(item, blocks_.channel_blocks);
      Value* g = e_.mul(block, blocks_.vectors * e_.w);
      Value* line = e_.mul(e_.div(item, blocks_.channel_blocks), blocks_.item_lines);
      Value* end = e_.min(e_.add(line, e_.i64(blocks_.item_lines)), e_.i64(blocks_.lines));
      auto call = [&](llvm::Function* f) { e_.b.CreateCall(f, {buffers, line, end, g}); };
      if (!full) return call(tail);
      if (!tail) return call(full);
      e_.if_else(
          e_.b.CreateICmpEQ(block, e_.i64(blocks_.channel_blocks - 1)), [&] { call(tail); },
          [&] { call(full); });
    });
    e_.end_function();
  }

 private:
  Value* pointer(int i, int64_t bytes) {
    Value* p = e_.b.CreateAlignedLoad(e_.ptr_type(), e_.at(buffers_, 8 * i), llvm::Align(8));
    return e_.at(p, bytes);
  }

  // void lines(ptr buffers, i64 first line, i64 end, i64 first channel): all outputs of lines, `vectors` wide.
  llvm::Function* lines_function(const std::string& name, int vectors, int last_lanes) {
    llvm::Type* i = e_.i64_type();
    llvm::Function* f = e_.begin_internal(name, {e_.ptr_type(), i, i, i});
    buffers_ = e_.arg(0);
    vectors_ = vectors;
    last_lanes_ = last_lanes;
    in_ = pointer(p_.lhs_buffer, p_.lhs_offset * byte_size(p_.lhs));
    rhs_ = pointer(p_.rhs_buffer, p_.rhs_offset * byte_size(p_.rhs));
    out_ = pointer(p_.out_buffer, p_.out_offset * byte_size(p_.out));
    if (hooks_.entry) hooks_.entry(e_.b, buffers_);
    channel_ = e_.arg(3);
    columns_.clear();
    coordinates_.assign(std::max<size_t>(dims_, 1), nullptr);  // of no line
    for (int v = 0; hooks_.column && v < vectors_; ++v)
      columns_.push_back(hooks_.column(e_.b, output_args(nullptr, v)));
    e_.loop(e_.arg(1), e_.arg(2), [&](Value* at) { line(at); });
    e_.end_function();
    return f;
  }

  void line(Value* at) {
    enter_line(at);
    if (blocks_.long_sums) return long_sums();
    auto one = [&](Value* x) { outputs(x, 1, true); };
    const int64_t r = blocks_.positions;
    const int64_t whole = blocks_.inner0 + (r > 1 ? (blocks_.inner1 - blocks_.inner0) / r * r : 0);
    e_.loop(e_.i64(0), e_.i64(blocks_.inner0), one);
    if (r > 1) {
      e_.loop(e_.i64(blocks_.inner0), e_.i64(whole), r,
              [&](Value* x) { outputs(x, static_cast<int>(r), false); });
    }
    e_.loop(e_.i64(whole), e_.i64(last_.out), one);
  }

  // Coordinates of the line, its operand pointers, and its range of taps in all dimensions but the
  // last.
  void enter_line(Value* line) {
    std::vector<int64_t> sizes{p_.batch};
    for (size_t i = 0; i + 1 < dims_; ++i) sizes.push_back(c_.dims[i].out);
    const Values at = unravel(e_, line, sizes);
    Value* in = e_.add(e_.mul(at[0], p_.in_batch), channel_);
    Value* out = e_.add(e_.mul(at[0], p_.out_batch), channel_);
    coordinates_ = {at[0]};
    tap_lo_.clear();
    tap_hi_.clear();
    for (size_t i = 0; i + 1 < dims_; ++i) {
      const ConvClassDim& d = c_.dims[i];
      Value* position = e_.add(e_.mul(at[i + 1], d.stride), e_.i64(d.base));
      in = e_.add(in, e_.mul(position, p_.spatial[i].in_stride));
      Value* o = e_.add(e_.mul(at[i + 1], d.out_step), e_.i64(d.out_first));
      out = e_.add(out, e_.mul(o, p_.spatial[i].out_stride));
      coordinates_.push_back(o);
      clip(d, p_.spatial[i].in, position);
    }
    in_line_ = e_.at(in_, e_.mul(in, byte_size(p_.lhs)));
    out_line_ = e_.at(out_, e_.mul(out, byte_size(p_.out)));
    rhs_line_ = e_.at(rhs_, e_.mul(channel_, byte_size(p_.rhs)));
    int64_t rhs = 0;
    for (size_t i = 0; i < dims_; ++i) rhs += c_.dims[i].tap_first * p_.spatial[i].window_stride;
    rhs_line_ = e_.at(rhs_line_, rhs * byte_size(p_.rhs));
  }

  // Taps with 0 <= position + w * dilation < in, as [lo, hi).
  void clip(const ConvClassDim& d, int64_t in, Value* position) {
    auto taps_below = [&](Value* distance) {  // how many taps lie below position + distance
      Value* n = e_.div(e_.add(distance, e_.i64(d.dilation - 1)), d.dilation);
      n = e_.b.CreateSelect(e_.b.CreateICmpSGT(distance, e_.i64(0)), n, e_.i64(0));
      return e_.min(n, e_.i64(d.taps));
    };
    tap_lo_.push_back(taps_below(e_.sub(e_.i64(0), position)));
    tap_hi_.push_back(taps_below(e_.sub(e_.i64(in), position)));
  }

  // `count` outputs from x of the last dimension; `clipped`: with the taps that are inside only.
  void outputs(Value* x, int count, bool clipped) {
    Value* position = e_.add(e_.mul(x, last_.stride), e_.i64(last_.base));
    if (clipped) {
      clip(last_, last_in(p_), position);
    } else {
      tap_lo_.push_back(e_.i64(0));
      tap_hi_.push_back(e_.i64(last_.taps));
    }
    const int64_t last_in_stride = dims_ ? p_.spatial.back().in_stride : 0;
    Value* in = e_.at(in_line_, e_.mul(position, last_in_stride * byte_size(p_.lhs)));
    count_ = count;
    Values acc(static_cast<size_t>(count * vectors_), e_.zero_acc());
    acc = taps(0, in, rhs_line_, acc);
    tap_lo_.pop_back();
    tap_hi_.pop_back();
    store(x, count, acc);
  }

  void store(Value* x, int count, const Values& acc) {
    const int64_t last_out_stride = dims_ ? p_.spatial.back().out_stride : 0;
    for (int r = 0; r < count; ++r) {
      Value* at = e_.add(x, e_.i64(r));
      Value* o = e_.add(e_.mul(at, last_.out_step), e_.i64(last_.out_first));
      Value* line = e_.at(out_line_, e_.mul(o, last_out_stride * byte_size(p_.out)));
      for (int v = 0; v < vectors_; ++v) {
        finish(acc[static_cast<size_t>(r * vectors_ + v)], o, v,
               e_.at(line, v * e_.w * byte_size(p_.out)));
      }
    }
  }

  void long_sums() {
    const int64_t r = blocks_.positions, whole = last_.out / r * r;
    e_.loop(e_.i64(0), e_.i64(whole), r, [&](Value* x) { sums(x, static_cast<int>(r)); });
    if (whole < last_.out) sums(e_.i64(whole), static_cast<int>(last_.out - whole));
  }

  // `count` outputs from x of the last dimension, each with the taps that are inside: those that all have, with the others
  // before and after.
  void sums(Value* x, int count) {
    struct Range {
      Value *lo, *hi;
    };
    std::vector<Range> own;
    Value* first = e_.add(e_.mul(x, last_.stride), e_.i64(last_.base));
    for (int r = 0; r < count; ++r) {
      clip(last_, last_in(p_), e_.add(first, e_.i64(r * last_.stride)));
      own.push_back({tap_lo_.back(), tap_hi_.back()});
      tap_lo_.pop_back();
      tap_hi_.pop_back();
    }
    // The further an output, the earlier its taps begin and end.
    Value *lo = own.front().lo, *hi = own.back().hi;
    hi = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, lo, hi);
    const int64_t in_step = last_.dilation * p_.spatial.back().in_stride * byte_size(p_.lhs);
    const int64_t rhs_step = last_.tap_step * p_.spatial.back().window_stride * byte_size(p_.rhs);
    count_ = count;
    const auto along = [&](Value* in, Value* rhs) {
      Values acc(static_cast<size_t>(count * vectors_), e_.zero_acc());
      const auto part = [&](Value* from, Value* to, bool all) {
        acc = e_.loop_carry(from, to, 1, std::move(acc), false, [&](Value* w, const Values& v) {
          Values next = terms(e_.at(in, e_.mul(w, in_step)), e_.at(rhs, e_.mul(w, rhs_step)), v, [&](int r) -> Value* {
            if (all) return nullptr;
            const Range& o = own[static_cast<size_t>(r)];
            return e_.b.CreateAnd(e_.b.CreateICmpSGE(w, o.lo), e_.b.CreateICmpSLT(w, o.hi));
          });
          return next;
        });
      };
      part(own.back().lo, lo, false);
      part(lo, hi, true);
      part(hi, own.front().hi, false);
      return acc;
    };
    Value* in = e_.at(in_line_, e_.mul(first, p_.spatial.back().in_stride * byte_size(p_.lhs)));
    Values acc(static_cast<size_t>(count * vectors_), e_.zero_acc());
    acc = e_.loop_carry(e_.i64(0), e_.i64(p_.in_features), 1, std::move(acc), false, [&](Value* c, const Values& v) {
      return lines_of(0, e_.at(in, e_.mul(c, p_.in_feature * byte_size(p_.lhs))),
                      e_.at(rhs_line_, e_.mul(c, p_.rhs_in * byte_size(p_.rhs))), v, along);
    });
    store(x, count, acc);
  }
  // Adds what `along` makes of each tap of dimensions i.. but the last.
  Values lines_of(size_t i, Value* in, Value* rhs, Values acc, absl::FunctionRef<Values(Value*, Value*)> along) {
    if (i + 1 == dims_) {
      const Values part = along(in, rhs);
      for (size_t k = 0; k < acc.size(); ++k) acc[k] = e_.plus(acc[k], part[k]);
      return acc;
    }
    const ConvClassDim& d = c_.dims[i];
    const int64_t in_step = d.dilation * p_.spatial[i].in_stride * byte_size(p_.lhs);
    const int64_t rhs_step = d.tap_step * p_.spatial[i].window_stride * byte_size(p_.rhs);
    return e_.loop_carry(tap_lo_[i], tap_hi_[i], 1, std::move(acc), false, [&](Value* w, const Values& v) {
      return lines_of(i + 1, e_.at(in, e_.mul(w, in_step)), e_.at(rhs, e_.mul(w, rhs_step)), v, along);
    });
  }

  Value* mask(int v) {
    return v == vectors_ - 1 && last_lanes_ < e_.w ? e_.mask_const(e_.w, last_lanes_) : nullptr;
  }

  HookArgs output_args(Value* o, int v) {
    HookArgs a{.buffers = buffers_, .index = coordinates_, .lanes = e_.w, .mask = mask(v)};
    if (dims_) a.index.push_back(o);
    a.index.push_back(e_.add(channel_, e_.i64(v * e_.w)));
    a.lane_axis = static_cast<int>(a.index.size()) - 1;
    return a;
  }

  void finish(Value* acc, Value* o, int v, Value* to) {
    if (hooks_.epilogue) {
      HookArgs a = output_args(o, v);
      a.acc = acc;
      if (!columns_.empty()) a.column = columns_[static_cast<size_t>(v)].get();
      acc = hooks_.epilogue(e_.b, a);
      if (!acc) return;
    }
    e_.store(p_.out, acc, to, mask(v));
  }

  // The sum over the taps of dimensions i.. and the input features.
  Values taps(size_t i, Value* in, Value* rhs, Values acc) {
    if (i == dims_) return features(in, rhs, std::move(acc));
    const ConvClassDim& d = c_.dims[i];
    const int64_t in_step = d.dilation * p_.spatial[i].in_stride * byte_size(p_.lhs);
    const int64_t rhs_step = d.tap_step * p_.spatial[i].window_stride * byte_size(p_.rhs);
    const bool apart =
        i + 1 == dims_ && dims_ + (p_.in_features > 1) > 1 && d.taps * p_.in_features >= kLongSum;
    const Values outer = acc;
    if (apart) acc.assign(acc.size(), e_.zero_acc());
    Value* lo = tap_lo_[i];
    acc = e_.loop_carry(lo, tap_hi_[i], 1, std::move(acc), false, [&](Value* w, const Values& v) {
      return taps(i + 1, e_.at(in, e_.mul(w, in_step)), e_.at(rhs, e_.mul(w, rhs_step)), v);
    });
    if (apart) {
      for (size_t j = 0; j < acc.size(); ++j) acc[j] = e_.plus(outer[j], acc[j]);
    }
    return acc;
  }

  Values features(Value* in, Value* rhs, Values acc) {
    return e_.loop_carry(
        e_.i64(0), e_.i64(p_.in_features), 1, std::move(acc), false,
        [&](Value* c, const Values& v) {
          Value* x = e_.at(in, e_.mul(c, p_.in_feature * byte_size(p_.lhs)));
          Value* k = e_.at(rhs, e_.mul(c, p_.rhs_in * byte_size(p_.rhs)));
          return terms(x, k, v, [](int) -> Value* { return nullptr; });
        });
  }

  // Adds a term to each output. `exists`: whether output r has it (i1), or null.
  Values terms(Value* x, Value* k, const Values& v, absl::FunctionRef<Value*(int)> exists) {
    Values next = v;
    const int64_t step = dims_ ? last_.stride * p_.spatial.back().in_stride * byte_size(p_.lhs) : 0;
    for (int j = 0; j < vectors_; ++j) {
      Value* right = e_.load(p_.rhs, e_.at(k, j * e_.w * byte_size(p_.rhs)), e_.w, mask(j));
      for (int r = 0; r < count_; ++r) {
        Value* there = exists(r);
        Value* lanes = mask(j);
        if (there) {
          Value* all = e_.b.CreateVectorSplat(static_cast<unsigned>(e_.w), there);
          lanes = lanes ? e_.b.CreateAnd(lanes, all) : all;
        }
        Value* left = e_.load(p_.lhs, e_.at(x, r * step + j * e_.w * byte_size(p_.lhs)), e_.w, lanes);
        Value*& a = next[static_cast<size_t>(r * vectors_ + j)];
        Value* sum = e_.madd(left, right, a);
        a = there ? e_.b.CreateSelect(there, sum, a) : sum;
      }
    }
    return next;
  }

  Emit& e_;
  const ConvShape& s_;
  const ConvSpec& p_;
  const ConvClass& c_;
  const ContractionHooks& hooks_;
  const Blocks blocks_;
  const ConvClassDim last_;
  const size_t dims_;
  int vectors_ = 1, last_lanes_ = 0, count_ = 1;
  Value *buffers_ = nullptr, *in_ = nullptr, *rhs_ = nullptr, *out_ = nullptr, *channel_ = nullptr;
  Value *in_line_ = nullptr, *out_line_ = nullptr, *rhs_line_ = nullptr;
  Values coordinates_, tap_lo_, tap_hi_;
  std::vector<std::unique_ptr<EpilogueColumn>> columns_;  // of the line, a vector each
};

}  // namespace

int64_t channelwise_items(const ConvShape& s, const ConvClass& c, const Target& target) {
  const Blocks b = blocks_of(s, c, target);
  return b.line_groups * b.channel_blocks;
}

void emit_conv_channelwise(Emit& e, const ConvShape& s, const ConvClass& c,
                           const ContractionHooks& hooks, const std::string& name) {
  Channelwise(e, s, c, hooks).run(name);
}

}  // namespace braze::codegen
