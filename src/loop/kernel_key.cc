// SPDX-License-Identifier: Apache-2.0
#include "loop/kernel_key.h"

#include <utility>
#include <vector>

namespace braze::loop {
namespace {

// A key that misses a field gives one kernel the code of another. So that none is forgotten, a struct
// with another number of fields than it is written for here does not compile.
[[maybe_unused]] void every_field_is_written(const Kernel& k, const Buffer& b, const Phase& p, const Loop& l,
                                             const Accumulator& a, const Store& s, const Let& t,
                                             const Stmt& m, const Contraction& c, const ContractionDim& d,
                                             const scalar::Node& n, const WindowDim& w, const ConvDims& v,
                                             const ConvAttrs& o, const Chain& h, const DynamicStart& y) {
  [[maybe_unused]] const auto& [y1, y2, y3, y4] = y;
  [[maybe_unused]] const auto& [k1, k2, k3, k4, k5, k6, k7, k8, k9] = k;
  [[maybe_unused]] const auto& [h1, h2, h3, h4, h5] = h;
  [[maybe_unused]] const auto& [b1, b2, b3, b4] = b;
  [[maybe_unused]] const auto& [p1, p2, p3, p4, p5, p6] = p;
  [[maybe_unused]] const auto& [l1, l2, l3, l4, l5, l6] = l;
  [[maybe_unused]] const auto& [a1, a2, a3, a4, a5, a6, a7, a8, a9] = a;
  [[maybe_unused]] const auto& [s1, s2, s3, s4] = s;
  [[maybe_unused]] const auto& [t1, t2, t3] = t;
  [[maybe_unused]] const auto& [m1, m2, m3, m4] = m;
  [[maybe_unused]] const auto& [c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12, c13, c14, c15, c16,
                                c17, c18, c19, c20, c21, c22, c23] = c;
  [[maybe_unused]] const auto& [d1, d2, d3, d4] = d;
  [[maybe_unused]] const auto& [n1, n2, n3, n4] = n;
  [[maybe_unused]] const auto& [w1, w2, w3, w4, w5, w6, w7] = w;
  [[maybe_unused]] const auto& [v1, v2, v3, v4, v5, v6, v7, v8, v9] = v;
  [[maybe_unused]] const auto& [o1, o2, o3, o4, o5] = o;
}

// Writes values so that only equal kernels write equally. A node is written where it is first used,
// after its arguments, and counts up from 0 in that order.
class Writer {
 public:
  explicit Writer(const Kernel& k) : k_(k), number_(k.graph.size(), -1) {}

  Hash128 run() {
    out_.number(static_cast<int64_t>(k_.buffers.size()));
    for (const Buffer& b : k_.buffers) {
      out_.number(static_cast<int64_t>(b.dtype));
      out_.number(b.elements);
      out_.number(static_cast<int64_t>(b.role));
    }
    out_.number(k_.next_var);
    out_.real(k_.flops);
    out_.real(k_.bytes);
    out_.number(k_.contraction != nullptr);
    if (k_.contraction) contraction(*k_.contraction);
    out_.number(k_.chain != nullptr);
    if (k_.chain) {
      contraction(k_.chain->first);
      out_.numbers(std::vector<int64_t>{k_.chain->batches, k_.chain->rows, k_.chain->tile, k_.chain->in_place});
    }
    out_.number(static_cast<int64_t>(k_.phases.size()));
    for (const Phase& p : k_.phases) {
      out_.numbers(std::vector<int64_t>{p.items, p.item_var, p.grain, p.width, p.group});
      body(p.body);
    }
    return out_.finish();
  }

 private:
  enum Tag : int64_t { kAbsent = -1, kNode = -2, kUse = -3 };

  void scalar(Scalar root) {
    if (!root) return out_.number(kAbsent);
    std::vector<std::pair<Scalar, int>> stack = {{root, 0}};
    while (!stack.empty()) {
      auto& [s, next] = stack.back();
      const scalar::Node& n = k_.graph[s];
      if (number_[s.id] >= 0 || next == 3) {
        if (number_[s.id] < 0) node(s, n);
        stack.pop_back();
        continue;
      }
      const Scalar a = n.args[next++];
      if (a && number_[a.id] < 0) stack.emplace_back(a, 0);
    }
    out_.number(kUse);
    out_.number(number_[root.id]);
  }
  void node(Scalar s, const scalar::Node& n) {
    out_.number(kNode);
    out_.number(static_cast<int64_t>(n.op));
    out_.number(static_cast<int64_t>(n.type));
    for (Scalar a : n.args) out_.number(a ? number_[a.id] : kAbsent);
    out_.number(n.imm);
    // What is known of a variable is not in the node, and decides on wide or narrow arithmetic.
    const scalar::Range r = k_.graph.range(s);
    out_.number(r.lo);
    out_.number(r.hi);
    out_.number(k_.graph.is_index(s));
    number_[s.id] = next_++;
  }
  void scalars(const std::vector<Scalar>& list) {
    out_.number(static_cast<int64_t>(list.size()));
    for (Scalar s : list) scalar(s);
  }

  void body(const std::vector<Stmt>& stmts) {
    out_.number(static_cast<int64_t>(stmts.size()));
    for (const Stmt& s : stmts) {
      out_.number(static_cast<int64_t>(s.kind));
      switch (s.kind) {
        case Stmt::Kind::kStore: store(s.store); break;
        case Stmt::Kind::kLet:
          out_.number(s.let.var);
          out_.number(static_cast<int64_t>(s.let.type));
          scalar(s.let.value);
          break;
        case Stmt::Kind::kLoop: loop(*s.loop); break;
      }
    }
  }
  void store(const Store& s) {
    out_.number(s.buffer);
    scalar(s.offset);
    scalar(s.value);
    scalar(s.condition);
  }
  void loop(const Loop& l) {
    out_.number(l.var);
    out_.number(l.extent);
    out_.number(static_cast<int64_t>(l.kind));
    scalar(l.count);
    out_.number(static_cast<int64_t>(l.accumulators.size()));
    for (const Accumulator& a : l.accumulators) {
      for (const auto* list : {&a.var, &a.result, &a.lhs, &a.rhs}) out_.numbers(*list);
      out_.numbers(a.type);
      for (const auto* list : {&a.init, &a.next, &a.identity, &a.combined}) scalars(*list);
    }
    body(l.body);
  }

  void dim(const ContractionDim& d) {
    out_.numbers(std::vector<int64_t>{d.size, d.lhs, d.rhs, d.out});
  }
  void dims(const std::vector<ContractionDim>& list) {
    out_.number(static_cast<int64_t>(list.size()));
    for (const ContractionDim& d : list) dim(d);
  }
  void contraction(const Contraction& c) {
    out_.number(c.is_conv);
    out_.numbers(std::vector<Dtype>{c.lhs, c.rhs, c.acc, c.out});
    out_.numbers(std::vector<int64_t>{c.lhs_buffer, c.rhs_buffer, c.out_buffer, c.acc_var, c.lhs_offset,
                                      c.rhs_offset});
    for (const auto* starts : {&c.lhs_starts, &c.rhs_starts}) {
      out_.number(static_cast<int64_t>(starts->size()));
      for (const DynamicStart& s : *starts) out_.numbers(std::vector<int64_t>{s.buffer, static_cast<int64_t>(s.type), s.most, s.stride});
    }
    dims(c.batch);
    dims(c.k);
    dim(c.m);
    dim(c.n);
    for (const Dims* d : {&c.lhs_dims, &c.rhs_dims, &c.out_dims}) out_.numbers(*d);
    convolution(c.conv);
    out_.numbers(c.index_vars);
    out_.number(static_cast<int64_t>(c.epilogue.size()));
    for (const Store& s : c.epilogue) store(s);
  }
  void convolution(const ConvAttrs& c) {
    out_.number(static_cast<int64_t>(c.window.size()));
    for (const WindowDim& w : c.window)
      out_.numbers(std::vector<int64_t>{w.size, w.stride, w.pad_low, w.pad_high, w.window_dilation,
                                        w.base_dilation, w.reversal});
    const ConvDims& d = c.dims;
    out_.numbers(std::vector<int64_t>{d.input_batch, d.input_feature, d.kernel_input,
                                      d.kernel_output, d.output_batch, d.output_feature,
                                      c.feature_groups, c.batch_groups});
    for (const Dims* s : {&d.input_spatial, &d.kernel_spatial, &d.output_spatial}) out_.numbers(*s);
    out_.numbers(c.precision);
  }

  const Kernel& k_;
  std::vector<int64_t> number_;  // by node; -1: not written yet
  int64_t next_ = 0;
  KeyWriter out_;
};

}  // namespace

Hash128 kernel_key(const Kernel& k) { return Writer(k).run(); }

}  // namespace braze::loop
