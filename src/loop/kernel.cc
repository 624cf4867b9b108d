// SPDX-License-Identifier: Apache-2.0
#include "loop/kernel.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace braze::loop {
namespace {

int64_t aligned_bytes(const Kernel& k, Role role) {
  int64_t n = 0;
  for (const Buffer& b : k.buffers)
    if (b.role == role) n += (b.elements * byte_size(b.dtype) + 63) / 64 * 64;
  return n;
}

std::string_view role_name(Role r) {
  constexpr std::string_view kNames[] = {"in", "out", "inout", "workspace", "scratch", "tile"};
  return kNames[static_cast<int>(r)];
}

class Printer {
 public:
  explicit Printer(const Kernel& k) : k_(k) {}

  std::string print(bool with_name) {
    if (with_name) out_ = str_cat("kernel ", k_.name, "\n");
    for (size_t i = 0; i < k_.buffers.size(); ++i) {
      const Buffer& b = k_.buffers[i];
      line(0, str_cat("b", i, " ", role_name(b.role), " ", name(b.dtype), "[", b.elements, "]"));
    }
    const int depth = k_.chain ? 1 : 0;
    if (k_.chain) chain(*k_.chain);
    else if (k_.contraction) contraction(0, *k_.contraction);
    for (const Phase& p : k_.phases) {
      std::string head = str_cat("parallel v", p.item_var, " < ", p.items, " grain ", p.grain, " width ", p.width);
      if (p.group > 1) head += str_cat(" group ", p.group);
      line(depth, head);
      body(depth + 1, p.body);
    }
    if (k_.chain) contraction(1, *k_.contraction);
    return std::move(out_);
  }

 private:
  void line(int depth, const std::string& text) {
    out_.append(depth * 2, ' ');
    out_ += text;
    out_ += '\n';
  }
  // The expression of s. Nodes it uses more than once get lines of their own before it, once a
  // statement.
  std::string text(int depth, Scalar s) {
    if (!s) return "-";
    std::vector<std::string> lines = absl::StrSplit(scalar::to_string(k_.graph, s), '\n');
    for (size_t i = 0; i + 1 < lines.size(); ++i)
      if (std::find(shared_.begin(), shared_.end(), lines[i]) == shared_.end()) {
        line(depth, lines[i]);
        shared_.push_back(lines[i]);
      }
    return lines.back();
  }

  void body(int depth, const std::vector<Stmt>& stmts) {
    for (const Stmt& s : stmts) {
      shared_.clear();
      if (s.kind == Stmt::Kind::kStore) store(depth, s.store);
      else if (s.kind == Stmt::Kind::kLet)
        let(depth, s.let);
      else loop(depth, *s.loop);
    }
  }
  void let(int depth, const Let& l) {
    const std::string value = text(depth, l.value);
    line(depth, str_cat("v", l.var, " = ", value));
  }
  void store(int depth, const Store& s) {
    const std::string offset = text(depth, s.offset), value = text(depth, s.value);
    const std::string condition =
        s.condition ? str_cat(" if ", text(depth, s.condition)) : std::string();
    line(depth, str_cat("b", s.buffer, "[", offset, "] = ", value, condition));
  }
  void loop(int depth, const Loop& l) {
    const std::string count = l.count ? text(depth, l.count) : str_cat(l.extent);
    static constexpr const char* kNames[] = {"for", "vector", "tile"};
    line(depth, str_cat(kNames[static_cast<int>(l.kind)], " v", l.var, " < ", count));
    for (const Accumulator& a : l.accumulators)
      for (size_t i = 0; i < a.var.size(); ++i) {
        const std::string init = text(depth + 1, a.init[i]);
        line(depth + 1, str_cat("acc v", a.var[i], " from ", init));
      }
    body(depth + 1, l.body);
    shared_.clear();
    for (const Accumulator& a : l.accumulators)
      for (size_t i = 0; i < a.var.size(); ++i) {
        const std::string next = text(depth + 1, a.next[i]);
        line(depth + 1, str_cat("next v", a.var[i], " = ", next, " result v", a.result[i]));
      }
  }
  void chain(const Chain& c) {
    line(0, str_cat("tiles of ", c.tile, " rows of ", c.batches, " x ", c.rows, c.in_place ? " in place" : ""));
    contraction(1, c.first);
  }
  void contraction(int depth, const Contraction& c) {
    auto dim = [](const ContractionDim& d) {
      return str_cat(d.size, ":", d.lhs, ":", d.rhs, ":", d.out);
    };
    std::string t = str_cat(c.is_conv ? "conv " : "gemm ", name(c.lhs), " ", name(c.rhs), " acc ",
                            name(c.acc), " out ", name(c.out), " b", c.lhs_buffer, " b",
                            c.rhs_buffer, " -> b", c.out_buffer);
    if (c.lhs_offset || c.rhs_offset) t += str_cat(" from ", c.lhs_offset, " ", c.rhs_offset);
    for (const auto& [side, starts] : {std::pair{"lhs", &c.lhs_starts}, std::pair{"rhs", &c.rhs_starts}})
      for (const DynamicStart& s : *starts) t += str_cat(" ", side, " at b", s.buffer, " <= ", s.most, " * ", s.stride);
    if (c.is_conv) {
      const ConvDims& d = c.conv.dims;
      t += str_cat(" lhs [", join(c.lhs_dims), "] rhs [", join(c.rhs_dims), "] out [",
                   join(c.out_dims), "] groups ", c.conv.feature_groups, " ", c.conv.batch_groups);
      t += str_cat(" dims ", d.input_batch, ",", d.input_feature, ",", join(d.input_spatial), " ",
                   d.kernel_input, ",", d.kernel_output, ",", join(d.kernel_spatial));
      t += str_cat(" ", d.output_batch, ",", d.output_feature, ",", join(d.output_spatial));
      for (const WindowDim& w : c.conv.window) {
        t += str_cat(" window ", w.size, ",", w.stride, ",", w.pad_low, ",", w.pad_high);
        t += str_cat(",", w.window_dilation, ",", w.base_dilation, ",", w.reversal ? "r" : "f");
      }
    } else {
      for (const ContractionDim& d : c.batch) t += str_cat(" batch ", dim(d));
      t += str_cat(" m ", dim(c.m), " n ", dim(c.n));
      for (const ContractionDim& d : c.k) t += str_cat(" k ", dim(d));
    }
    line(depth, t);
    line(depth + 1, str_cat("acc v", c.acc_var, " index v", absl::StrJoin(c.index_vars, " v")));
    for (const Store& s : c.epilogue) store(depth + 1, s);
  }

  const Kernel& k_;
  std::vector<std::string> shared_;  // lines written for the statement being printed
  std::string out_;
};

}  // namespace

void collect(const std::vector<Stmt>& body, std::vector<Scalar>* roots, std::vector<int64_t>* vars) {
  auto root = [&](Scalar s) {
    if (s) roots->push_back(s);
  };
  for (const Stmt& s : body) {
    if (s.kind == Stmt::Kind::kStore) {
      root(s.store.offset), root(s.store.value), root(s.store.condition);
    } else if (s.kind == Stmt::Kind::kLet) {
      root(s.let.value);
      vars->push_back(s.let.var);
    } else {
      const Loop& l = *s.loop;
      const bool runs = l.count || l.extent > 0;  // else its loads may be out of bounds
      vars->push_back(l.var);
      root(l.count);
      for (const Accumulator& a : l.accumulators) {
        for (Scalar i : a.init) root(i);
        if (runs)
          for (Scalar n : a.next) root(n);
        vars->insert(vars->end(), a.var.begin(), a.var.end());
        vars->insert(vars->end(), a.result.begin(), a.result.end());
      }
      if (runs) collect(l.body, roots, vars);
    }
  }
}

int64_t Kernel::scratch_bytes() const { return aligned_bytes(*this, Role::kScratch); }
int64_t Kernel::group_scratch_bytes() const {
  int64_t most = 1;
  for (const Phase& p : phases) most = std::max(most, p.group);
  return most * scratch_bytes();
}
int64_t Kernel::workspace_bytes() const { return aligned_bytes(*this, Role::kWorkspace); }

std::string to_string(const Kernel& k) { return Printer(k).print(true); }
std::string canonical_text(const Kernel& k) { return Printer(k).print(false); }

}  // namespace braze::loop
