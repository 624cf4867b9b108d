// SPDX-License-Identifier: Apache-2.0
#include "loop/interpret.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "ir/literal.h"

namespace braze::loop {
namespace {

using scalar::Cell;

// Reads and writes one element of type t as a Cell; the common types without a detour by literals.
template <typename T>
T plain(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}
Cell read_cell(Dtype t, const char* p) {
  Cell c;
  switch (t) {
    case Dtype::kF32: c.f = plain<float>(p); return c;
    case Dtype::kF64: c.f = plain<double>(p); return c;
    case Dtype::kS32: c.i = plain<int32_t>(p); return c;
    case Dtype::kS64: c.i = plain<int64_t>(p); return c;
    case Dtype::kU32: c.i = plain<uint32_t>(p); return c;
    case Dtype::kPred: c.i = *p != 0; return c;
    default: break;
  }
  Literal l = Literal::from_bytes(Shape::scalar(t), {p, static_cast<size_t>(byte_size(t))});
  if (is_float(t)) c.f = l.get_float(0);
  else c.i = l.get_int(0);
  return c;
}
void write_cell(Dtype t, char* p, Cell c) {
  auto put = [p](auto v) { std::memcpy(p, &v, sizeof(v)); };
  switch (t) {
    case Dtype::kF32: return put(static_cast<float>(c.f));
    case Dtype::kF64: return put(c.f);
    case Dtype::kS32: return put(static_cast<int32_t>(c.i));
    case Dtype::kS64: return put(c.i);
    default: break;
  }
  Literal l{Shape::scalar(t)};
  if (is_float(t)) l.set_float(0, c.f);
  else l.set_int(0, c.i);
  std::memcpy(p, l.bytes(), static_cast<size_t>(byte_size(t)));
}

class Machine : public scalar::EvalEnv {
 public:
  Machine(const Kernel& k, absl::Span<char* const> buffers) : k_(k) {
    for (size_t i = 0; i < k.buffers.size(); ++i) {
      if (i < buffers.size()) {
        memory_.push_back(buffers[i]);
      } else {
        owned_.emplace_back(
            static_cast<size_t>(k.buffers[i].elements * byte_size(k.buffers[i].dtype)) + 1);
        memory_.push_back(owned_.back().data());
      }
    }
  }

  Status run() {
    // Of a chain all rows at once: tiles depend on nothing but themselves.
    if (k_.chain) TRY(contraction(k_.chain->first));
    else if (k_.contraction) return contraction(*k_.contraction);
    for (const Phase& p : k_.phases)
      for (int64_t item = 0; item < p.items && status_.ok(); ++item) {
        bind_int(p.item_var, item);
        body(p.body);
      }
    if (k_.chain && status_.ok()) return contraction(*k_.contraction);
    return status_;
  }

  Cell variable(int64_t id) override {
    if (id >= 0 && id < static_cast<int64_t>(vars_.size()) && vars_[id]) return *vars_[id];
    fail(internal("kernel ", k_.name, ": variable v", id, " has no value"));
    return {};
  }
  Cell load(int64_t buffer, Dtype t, int64_t offset) override {
    const char* p = place(buffer, t, offset, "reads");
    return p ? read_cell(t, p) : Cell{};
  }

 private:
  void fail(Status s) {
    if (status_.ok()) status_ = std::move(s);
  }
  void bind(int64_t var, Cell value) {
    if (var < 0) return;
    if (var >= static_cast<int64_t>(vars_.size())) vars_.resize(static_cast<size_t>(var) + 1);
    vars_[var] = value;
  }
  void bind_int(int64_t var, int64_t v) {
    Cell c;
    c.i = v;
    bind(var, c);
  }

  char* place(int64_t buffer, Dtype t, int64_t offset, std::string_view what) {
    const Buffer& b = k_.buffers[buffer];
    if (b.dtype != t || offset < 0 || offset >= b.elements) {
      fail(internal("kernel ", k_.name, " ", what, " b", buffer, "[", offset, "] of ", b.elements,
                    " ", name(b.dtype), " as ", name(t)));
      return nullptr;
    }
    return memory_[buffer] + offset * byte_size(t);
  }

  // The nodes a root needs are found once, not at every element.
  Cell value(Scalar s) {
    auto& known = interpreters_[s.id];
    if (!known)
      known = std::make_unique<scalar::Interpreter>(k_.graph, absl::Span<const Scalar>(&s, 1));
    known->run(*this);
    return (*known)[s];
  }

  void store(const Store& s) {
    if (s.condition && !value(s.condition).i) return;
    Cell v = value(s.value);
    Dtype t = k_.buffers[s.buffer].dtype;
    if (char* p = place(s.buffer, t, value(s.offset).i, "writes")) write_cell(t, p, v);
  }

  void body(const std::vector<Stmt>& stmts) {
    for (const Stmt& s : stmts) {
      if (!status_.ok()) return;
      if (s.kind == Stmt::Kind::kStore) store(s.store);
      else if (s.kind == Stmt::Kind::kLet) bind(s.let.var, value(s.let.value));
      else loop(*s.loop);
    }
  }

  void loop(const Loop& l) {
    for (const Accumulator& a : l.accumulators) {
      std::vector<Cell> init;
      for (Scalar s : a.init) init.push_back(value(s));
      for (size_t i = 0; i < init.size(); ++i) bind(a.var[i], init[i]);
    }
    int64_t n = l.count ? value(l.count).i : l.extent;
    for (int64_t i = 0; i < n && status_.ok(); ++i) {
      bind_int(l.var, i);
      body(l.body);
      std::vector<Cell> next;
      for (const Accumulator& a : l.accumulators)
        for (Scalar s : a.next) next.push_back(value(s));
      size_t k = 0;
      for (const Accumulator& a : l.accumulators)
        for (int64_t v : a.var) bind(v, next[k++]);
    }
    for (const Accumulator& a : l.accumulators)
      for (size_t i = 0; i < a.var.size(); ++i) bind(a.result[i], variable(a.var[i]));
  }

  // One term of a contraction: operand elements as numbers, wide enough for every supported type.
  struct Sum {
    long double f = 0;
    uint64_t i = 0;
  };
  void add_term(const Contraction& c, int64_t lhs, int64_t rhs, Sum* sum) {
    Cell a = load(c.lhs_buffer, c.lhs, lhs), b = load(c.rhs_buffer, c.rhs, rhs);
    // As fused multiply-adds in the accumulator's type, in order.
    const auto product = static_cast<long double>(a.f) * b.f;
    if (c.acc == Dtype::kF32) sum->f = static_cast<float>(sum->f + product);
    else if (c.acc == Dtype::kF64) sum->f = static_cast<double>(sum->f + product);
    else if (is_float(c.acc)) sum->f += product;
    else sum->i += static_cast<uint64_t>(a.i) * static_cast<uint64_t>(b.i);
  }
  void finish(const Contraction& c, const Sum& sum, const std::vector<int64_t>& index, int64_t at) {
    Cell acc;
    Literal rounded{Shape::scalar(c.acc)};
    if (is_float(c.acc)) rounded.set_float(0, static_cast<double>(sum.f));
    else rounded.set_int(0, static_cast<int64_t>(sum.i));
    acc.f = is_float(c.acc) ? rounded.get_float(0) : 0;
    acc.i = is_float(c.acc) ? 0 : rounded.get_int(0);
    if (c.epilogue.empty()) {
      if (char* p = place(c.out_buffer, c.out, at, "writes")) write_cell(c.out, p, acc);
      return;
    }
    bind(c.acc_var, acc);
    for (size_t d = 0; d < index.size(); ++d) bind_int(c.index_vars[d], index[d]);
    for (const Store& s : c.epilogue) store(s);
  }

  Status contraction(const Contraction& c) { return c.is_conv ? conv(c) : gemm(c); }

  int64_t further(const std::vector<DynamicStart>& starts) {
    int64_t offset = 0;
    for (const DynamicStart& s : starts) {
      const int64_t i = load(s.buffer, s.type, 0).i;
      offset += (i < 0 && !is_signed_int(s.type) ? s.most : std::clamp<int64_t>(i, 0, s.most)) * s.stride;
    }
    return offset;
  }

  Status gemm(const Contraction& c) {
    std::vector<ContractionDim> out = c.batch;
    out.push_back(c.m);
    out.push_back(c.n);
    Dims sizes, ks;
    for (auto& d : out) sizes.push_back(d.size);
    for (auto& d : c.k) ks.push_back(d.size);
    if (product(sizes) == 0) return absl::OkStatus();
    Dims at(sizes.size(), 0);
    const int64_t first_lhs = c.lhs_offset + further(c.lhs_starts), first_rhs = c.rhs_offset + further(c.rhs_starts);
    do {
      int64_t lhs = first_lhs, rhs = first_rhs, place = 0;
      for (size_t d = 0; d < out.size(); ++d) {
        lhs += at[d] * out[d].lhs, rhs += at[d] * out[d].rhs, place += at[d] * out[d].out;
      }
      Sum sum;
      if (product(ks) > 0) {
        Dims k(ks.size(), 0);
        do {
          int64_t l = lhs, r = rhs;
          for (size_t d = 0; d < k.size(); ++d) l += k[d] * c.k[d].lhs, r += k[d] * c.k[d].rhs;
          add_term(c, l, r, &sum);
        } while (next_index(absl::MakeSpan(k), ks));
      }
      finish(c, sum, {at.begin(), at.end()}, place);
    } while (status_.ok() && next_index(absl::MakeSpan(at), sizes));
    return status_;
  }

  Status conv(const Contraction& c) {
    const ConvDims& d = c.conv.dims;
    Dims at(c.out_dims.size(), 0), window;
    for (int64_t s : d.kernel_spatial) window.push_back(c.rhs_dims[s]);
    window.push_back(c.rhs_dims[d.kernel_input]);
    if (product(c.out_dims) == 0) return absl::OkStatus();
    do {
      Sum sum;
      Dims w(window.size(), 0);
      if (product(window) > 0) {
        do conv_term(c, at, w, &sum);
        while (next_index(absl::MakeSpan(w), window));
      }
      std::vector<int64_t> index{at[d.output_batch]};
      for (int64_t s : d.output_spatial) index.push_back(at[s]);
      index.push_back(at[d.output_feature]);
      finish(c, sum, index, linear_index(at, c.out_dims));
    } while (status_.ok() && next_index(absl::MakeSpan(at), c.out_dims));
    return status_;
  }

  void conv_term(const Contraction& c, const Dims& out, const Dims& w, Sum* sum) {
    const ConvDims& d = c.conv.dims;
    Dims l(c.lhs_dims.size(), 0), r(c.rhs_dims.size(), 0);
    for (size_t s = 0; s < c.conv.window.size(); ++s) {
      const WindowDim& win = c.conv.window[s];
      r[d.kernel_spatial[s]] = win.reversal ? win.size - 1 - w[s] : w[s];
      int64_t x = out[d.output_spatial[s]] * win.stride + w[s] * win.window_dilation - win.pad_low;
      if (x < 0 || x % win.base_dilation != 0) return;
      x /= win.base_dilation;
      if (x >= c.lhs_dims[d.input_spatial[s]]) return;
      l[d.input_spatial[s]] = x;
    }
    int64_t o = out[d.output_feature], features = c.rhs_dims[d.kernel_input];
    int64_t outs = c.out_dims[d.output_feature];
    int64_t group = o / (outs / c.conv.feature_groups);
    int64_t batch_group = o / (outs / c.conv.batch_groups);
    l[d.input_batch] =
        out[d.output_batch] + batch_group * (c.lhs_dims[d.input_batch] / c.conv.batch_groups);
    l[d.input_feature] = w.back() + (c.conv.feature_groups > 1 ? group * features : 0);
    r[d.kernel_input] = w.back();
    r[d.kernel_output] = o;
    add_term(c, linear_index(l, c.lhs_dims), linear_index(r, c.rhs_dims), sum);
  }

  const Kernel& k_;
  std::vector<char*> memory_;
  std::vector<std::vector<char>> owned_;
  std::vector<std::optional<Cell>> vars_;  // by variable id
  absl::flat_hash_map<int32_t, std::unique_ptr<scalar::Interpreter>> interpreters_;
  Status status_;
};

}  // namespace

Status interpret(const Kernel& k, absl::Span<char* const> buffers) {
  return Machine(k, buffers).run();
}

}  // namespace braze::loop
