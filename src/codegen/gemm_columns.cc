// SPDX-License-Identifier: Apache-2.0
// GEMM form for few columns: the lanes run along k, contiguous in the left side, where those of a vector of columns would
// be idle. A right side that is not contiguous along k, too, is packed once a batch, each column a row.
#include "codegen/gemm_kernel.h"

namespace braze::codegen {
namespace {

class ColumnsKernel {
 public:
  ColumnsKernel(Emit& e, const GemmShape& s, const ContractionHooks& hooks)
      : e_(e),
        s_(s),
        f_(e, s, hooks),
        bytes_(byte_size(e.acc)),
        columns_(static_cast<int>(s.spec.n)),
        line_((s.k_inner() + s.w - 1) / s.w * s.w) {}

  void run(const std::string& name) {
    e_.begin_kernel(name);
    f_.enter(e_.arg(0));
    packed_ = e_.arg(3);
    e_.loop_while(e_.arg(1), e_.arg(2), [&](Value* i) { return items(i); });
    e_.end_function();
  }

 private:
  // Computes the row groups from item i on that share its batch; returns the next item.
  Value* items(Value* i) {
    Value *group = e_.rem(i, s_.row_groups), *batch = e_.div(i, s_.row_groups);
    Value* groups = e_.min(e_.sub(e_.i64(s_.row_groups), group), e_.sub(e_.arg(2), i));
    f_.set_batch(batch);
    if (s_.pack_b) each_k(0, {}, [&](const Values& outer) { pack(outer); });
    Value* end = e_.min(e_.mul(e_.add(group, groups), s_.group_tiles), e_.i64(s_.row_tiles));
    e_.loop(e_.mul(group, s_.group_tiles), end, [&](Value* t) { tile(t); });
    return e_.add(i, groups);
  }

  // All coordinates of k but the innermost.
  void each_k(size_t d, Values at, absl::FunctionRef<void(const Values&)> body) {
    if (d + 1 == s_.spec.k.size()) return body(at);
    e_.loop(e_.i64(0), e_.i64(s_.spec.k[d].size), [&](Value* i) {
      Values next = at;
      next.push_back(i);
      each_k(d + 1, next, body);
    });
  }
  // Where the packed line of column 0 at these coordinates is.
  Value* line_at(const Values& outer) {
    Value* line = e_.i64(0);
    for (size_t d = 0; d < outer.size(); ++d) line = e_.add(e_.mul(line, s_.spec.k[d].size), outer[d]);
    return e_.at(packed_, e_.mul(line, line_ * bytes_));
  }
  int64_t column_bytes() const { return s_.b_rows * bytes_; }

  void pack(const Values& outer) {
    Value* to = line_at(outer);
    const int64_t k = s_.k_inner();
    for (int c = 0; c < columns_ && k < line_; ++c)
      e_.store_acc(e_.zero_acc(), e_.at(to, c * column_bytes() + (line_ - s_.w) * bytes_));
    e_.loop(e_.i64(0), e_.i64(k), [&](Value* i) {
      Values at = outer;
      at.push_back(i);
      for (int c = 0; c < columns_; ++c)
        e_.store(e_.acc, f_.load_rhs(at, e_.i64(c), true, nullptr, 1),
                 e_.at(to, e_.add(e_.i64(c * column_bytes()), e_.mul(i, bytes_))), nullptr);
    });
  }

  void tile(Value* t) {
    const int64_t all = s_.rows();
    std::vector<GemmRow> rows;
    Values inside;  // whether the row exists
    for (int r = 0; r < s_.mr; ++r) {
      Value* row = e_.add(e_.mul(t, s_.mr), e_.i64(r));
      inside.push_back(all % s_.mr == 0 || r == 0 ? nullptr : e_.b.CreateICmpSLT(row, e_.i64(all)));
      if (inside.back()) row = e_.min(row, e_.i64(all - 1));
      if (s_.outer_rows == 1) rows.push_back({e_.i64(0), row});
      else rows.push_back({e_.div(row, s_.spec.m), e_.rem(row, s_.spec.m)});
    }
    const Values sums = level({}, rows, Values(static_cast<size_t>(s_.mr * columns_), e_.zero_acc()));
    Value* mask = e_.mask_const(s_.w, columns_);
    const GemmFrame::Columns columns = f_.columns(e_.i64(0), mask);
    for (int r = 0; r < s_.mr; ++r) {
      const auto first = sums.begin() + r * columns_;
      Value* row = across({first, first + columns_});
      const auto finish = [&] { f_.finish(row, rows[static_cast<size_t>(r)], columns); };
      if (Value* exists = inside[static_cast<size_t>(r)]) e_.if_then(exists, finish);
      else finish();
    }
  }

  // Adds the terms at the coordinates `outer` of the outermost dimensions of k.
  Values level(const Values& outer, const std::vector<GemmRow>& rows, Values sums) {
    const size_t d = outer.size();
    if (d + 1 == s_.spec.k.size()) return along(outer, rows, std::move(sums));
    return e_.loop_carry(e_.i64(0), e_.i64(s_.spec.k[d].size), 1, std::move(sums), true, [&](Value* i, const Values& v) {
      Values next = outer;
      next.push_back(i);
      if (!is_long_sum(d)) return level(next, rows, v);
      Values part = level(next, rows, Values(v.size(), e_.zero_acc()));
      for (size_t k = 0; k < v.size(); ++k) part[k] = e_.plus(v[k], part[k]);
      return part;
    });
  }
  // Whether what the dimensions from d on add to a lane is more than a sum should have terms.
  bool is_long_sum(size_t d) const {
    int64_t terms = s_.k_inner() / s_.w;
    for (; d + 1 < s_.spec.k.size(); ++d) terms *= s_.spec.k[d].size;
    return terms > kLongestSum;
  }

  Values along(Values outer, const std::vector<GemmRow>& rows, Values sums) {
    Value* line = s_.pack_b ? line_at(outer) : nullptr;
    Values left, right;
    outer.push_back(e_.i64(0));
    for (const GemmRow& r : rows) left.push_back(f_.lhs_at(r, outer));
    for (int c = 0; c < columns_; ++c)
      right.push_back(line ? e_.at(line, c * column_bytes()) : f_.rhs_at(outer, e_.i64(c)));
    const int64_t k = s_.k_inner(), whole = k / s_.w * s_.w;
    if (whole > 0)
      sums = e_.loop_carry(e_.i64(0), e_.i64(whole), s_.w, std::move(sums), true,
                           [&](Value* at, const Values& v) { return step(left, right, at, v, nullptr); });
    if (whole < k) sums = step(left, right, e_.i64(whole), sums, e_.mask_const(s_.w, static_cast<int>(k - whole)));
    return sums;
  }

  Values step(const Values& left, const Values& right, Value* at, Values sums, Value* mask) {
    const Dtype t = s_.pack_b ? e_.acc : s_.spec.rhs;
    Values b;
    for (Value* p : right) b.push_back(e_.load(t, e_.at(p, e_.mul(at, byte_size(t))), s_.w, s_.pack_b ? nullptr : mask));
    for (size_t r = 0; r < left.size(); ++r) {
      Value* x = e_.load(s_.spec.lhs, e_.at(left[r], e_.mul(at, byte_size(s_.spec.lhs))), s_.w, mask);
      for (size_t c = 0; c < b.size(); ++c) {
        Value*& sum = sums[r * b.size() + c];
        sum = e_.madd(x, b[c], sum);
      }
    }
    return sums;
  }

  // A vector of the sums over the lanes of each of these.
  Value* across(Values v) {
    const auto lane = static_cast<size_t>(16 / bytes_);  // elements of 128 bits
    Values parts;
    for (size_t first = 0; first < v.size(); first += lane) {
      Values some(v.begin() + static_cast<long>(first), v.begin() + static_cast<long>(std::min(first + lane, v.size())));
      some.resize(lane, e_.zero_acc());
      e_.transpose_in_lanes(some);
      Value* sum = some[0];
      for (size_t i = 1; i < lane; ++i) sum = e_.plus(sum, some[i]);
      for (auto n = static_cast<size_t>(s_.w); n > lane; n /= 2) sum = e_.plus(half(sum, n, 0), half(sum, n, n / 2));
      parts.push_back(sum);
    }
    while ((parts.size() & (parts.size() - 1)) != 0) parts.push_back(parts[0]);
    Value* all = e_.concat(parts);
    llvm::SmallVector<int, 32> widened;
    for (int i = 0; i < s_.w; ++i) widened.push_back(i < columns_ ? i : 0);
    return e_.b.CreateShuffleVector(all, widened);
  }
  Value* half(Value* v, size_t lanes, size_t from) {
    llvm::SmallVector<int, 32> at;
    for (size_t i = 0; i < lanes / 2; ++i) at.push_back(static_cast<int>(from + i));
    return e_.b.CreateShuffleVector(v, at);
  }

  Emit& e_;
  const GemmShape& s_;
  GemmFrame f_;
  const int64_t bytes_;
  const int columns_;
  const int64_t line_;  // elements of a packed line, the innermost dimension of k
  Value* packed_ = nullptr;
};

}  // namespace

void emit_gemm_columns(Emit& e, const GemmShape& s, const ContractionHooks& hooks, const std::string& name) {
  ColumnsKernel(e, s, hooks).run(name);
}

}  // namespace braze::codegen
