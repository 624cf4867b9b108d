// SPDX-License-Identifier: Apache-2.0
// emit_conv: a padded copy of the input if needed, then a matrix product or a channelwise kernel
// for each residue class of the output.
#include "codegen/conv.h"

#include <algorithm>

#include "codegen/conv_kernel.h"
#include "codegen/gemm_plan.h"

namespace braze::codegen {
namespace {

constexpr int64_t kMostDim = int64_t{1} << 32;
constexpr double kMostWork = 1e17;  // index arithmetic stays within 64 bits

GemmSpec types_of(const ConvSpec& spec) {
  GemmSpec g;
  g.lhs = spec.lhs, g.rhs = spec.rhs, g.acc = spec.acc, g.out = spec.out;
  return g;
}

Status check(const ConvSpec& spec, const Target& target) {
  if (!conv_supported(spec, target)) {
    return unimplemented("no convolution kernel for ", name(spec.lhs), " x ", name(spec.rhs),
                         " -> ", name(spec.acc));
  }
  double work = 1;
  bool wrong = false;
  auto take = [&](int64_t size) {
    wrong |= size < 0;
    work *= static_cast<double>(std::max<int64_t>(size, 1));
  };
  auto step = [&](int64_t size) { wrong |= size < 1 || size > kMostDim; };
  for (int64_t size : {spec.batch, spec.groups, spec.in_features, spec.out_features}) take(size);
  for (const ConvSpatial& d : spec.spatial) {
    take(d.window);
    take(d.out);
    step(d.stride);
    step(d.base_dilation);
    step(d.window_dilation);
    wrong |= d.in < 0 || d.in > kMostDim || d.pad_low > kMostDim || d.pad_low < -kMostDim;
  }
  if (wrong || work > kMostWork) return invalid("convolution dimension out of range");
  return absl::OkStatus();
}

bool has_output(const ConvSpec& p) {
  return p.batch * p.groups * p.out_features > 0 &&
         std::all_of(p.spatial.begin(), p.spatial.end(),
                     [](const ConvSpatial& d) { return d.out > 0; });
}

// Plans, and generates code if `e` is given.
class ConvEmitter {
 public:
  ConvEmitter(Emit* e, const ConvSpec& spec, const Target& target, const ContractionHooks& hooks)
      : e_(e), target_(target), hooks_(hooks), s_(shape_conv(spec, hooks.lhs != nullptr, hooks.rhs != nullptr, target)) {}

  Result<ContractionPlan> run(const std::string& name, llvm::Module* module) {
    if (!has_output(s_.spec)) {
      plan_.phases.push_back({name, 0, 1, 0});
      if (e_) e_->begin_kernel(name);
      if (e_) e_->end_function();
      return plan_;
    }
    if (s_.staging.used && s_.staging.elements > 0) {
      const int64_t items = staging_items(s_);
      const int64_t line = std::max<int64_t>(1, s_.staging.elements / std::max<int64_t>(items, 1));
      plan_.phases.push_back({name + ".pad", items, std::max<int64_t>(1, 32768 / line), 0});
      if (e_) emit_conv_staging(*e_, s_, hooks_, name + ".pad");
    }
    plan_.workspace_bytes = s_.staging_bytes;
    int index = 0;
    for (const ConvClass& c : s_.classes) {
      if (c.empty()) continue;
      const std::string part = s_.classes.size() == 1 ? name : str_cat(name, ".", index++);
      if (s_.channelwise) {
        channelwise(c, part);
      } else {
        TRY(product(c, part, module));
      }
    }
    return plan_;
  }

 private:
  void channelwise(const ConvClass& c, const std::string& name) {
    const ConvSpec& p = s_.spec;
    double outputs = static_cast<double>(p.batch * p.groups);
    for (const ConvClassDim& d : c.dims) outputs *= static_cast<double>(d.out);
    const double flops = 2 * outputs * static_cast<double>(c.taps() * p.in_features);
    const int64_t items = channelwise_items(s_, c, target_);
    const double cycles = flops / flops_per_cycle(target_, p.acc) * 2 / static_cast<double>(items);
    plan_.phases.push_back(
        {name, items,
         std::clamp<int64_t>(static_cast<int64_t>(2e4 / std::max(cycles, 1.0)), 1, items), flops});
    if (e_) emit_conv_channelwise(*e_, s_, c, hooks_, name);
  }

  Status product(const ConvClass& c, const std::string& name, llvm::Module* module) {
    const ConvGemm g = gemm_of(s_, c);
    const ContractionHooks hooks = gemm_hooks(c, g);
    Result<ContractionPlan> plan = e_ ? emit_gemm(*module, name, g.gemm, target_, hooks)
                                      : plan_gemm(g.gemm, target_, name, hooks);
    if (!plan.ok()) return plan.status();
    plan_.phases.insert(plan_.phases.end(), plan->phases.begin(), plan->phases.end());
    plan_.scratch_bytes = std::max(plan_.scratch_bytes, plan->scratch_bytes);
    plan_.workspace_bytes = std::max(plan_.workspace_bytes, plan->workspace_bytes);
    return absl::OkStatus();
  }

  // The caller's hooks in terms of the product's coordinates. The pointers captured outlive the
  // call.
  ContractionHooks gemm_hooks(const ConvClass& c, const ConvGemm& g) {
    ContractionHooks h;
    h.entry = hooks_.entry;
    h.read_in_place = hooks_.read_in_place;
    if (hooks_.epilogue) {
      h.epilogue = [this, &c, &g](llvm::IRBuilderBase& b, const HookArgs& a) {
        return hooks_.epilogue(b, output_args(b, a, c, g));
      };
    }
    if (hooks_.column) {
      h.column = [this, &c, &g](llvm::IRBuilderBase& b, const HookArgs& a) {
        return hooks_.column(b, output_args(b, a, c, g));
      };
    }
    if (hooks_.table && !s_.along_line) {
      h.tables = hooks_.tables;
      h.table = [this, &c, &g](llvm::IRBuilderBase& b, const HookArgs& a) {
        return hooks_.table(b, output_args(b, a, c, g));
      };
    }
    if (hooks_.rhs) {
      h.rhs = [this, &c, &g](llvm::IRBuilderBase& b, const HookArgs& a) {
        HookArgs mine = a;
        // {group, rows..., k..., n} → {w..., c, g * out_features + f}
        mine.index.assign(c.dims.size() + 2, nullptr);
        const size_t first = 1 + g.rows.size() - 1;
        for (size_t i = 0; i < g.k.size(); ++i) {
          const int role = g.k[i];
          Value* at = a.index[first + i];
          if (role >= 0) {
            const auto d = static_cast<size_t>(role);
            at = scaled(b, at, c.dims[d].tap_step, c.dims[d].tap_first);
            // The product walks a reversed window backwards.
            if (reversed(d))
              at =
                  b.CreateSub(b.getInt64(static_cast<uint64_t>(s_.spec.spatial[d].window - 1)), at);
          }
          const size_t to = role < 0 ? c.dims.size() : static_cast<size_t>(role);
          mine.index[to] = at;
          if (a.lane_axis == static_cast<int>(first + i)) mine.lane_axis = static_cast<int>(to);
        }
        mine.index.back() =
            b.CreateAdd(scaled(b, a.index[0], s_.spec.out_features, 0), a.index.back());
        if (a.lane_axis == static_cast<int>(a.index.size()) - 1)
          mine.lane_axis = static_cast<int>(mine.index.size()) - 1;
        return hooks_.rhs(b, mine);
      };
    }
    return h;
  }

  // The product's output coordinates as the convolution's {n, o..., feature}.
  HookArgs output_args(llvm::IRBuilderBase& b, const HookArgs& a, const ConvClass& c, const ConvGemm& g) const {
    HookArgs mine = a;
    mine.index.assign(c.dims.size() + 2, nullptr);
    for (size_t i = 0; i < g.rows.size(); ++i) {
      const int role = g.rows[i];
      Value* at = a.index[i + 1];
      if (role >= 0 && at) {
        const ConvClassDim& d = c.dims[static_cast<size_t>(role)];
        at = scaled(b, at, d.out_step, d.out_first);
      }
      mine.index[static_cast<size_t>(role + 1)] = at;
    }
    // {group, rows..., n}, or along a line {group, rows..., m, n}; a row is null if it differs between those of a column.
    const size_t last = mine.index.size() - 1;
    Value* feature = s_.along_line ? a.index[g.rows.size() + 1] : a.index.back();
    if (feature) mine.index[last] = b.CreateAdd(scaled(b, a.index[0], s_.spec.out_features, 0), feature);
    if (s_.along_line) mine.index[last - 1] = a.index.back();
    mine.lane_axis = static_cast<int>(s_.along_line ? last - 1 : last);
    return mine;
  }

  bool reversed(size_t d) const { return s_.spec.spatial[d].reversed; }

  static Value* scaled(llvm::IRBuilderBase& b, Value* x, int64_t factor, int64_t offset) {
    if (factor != 1) x = b.CreateMul(x, b.getInt64(static_cast<uint64_t>(factor)));
    return offset ? b.CreateAdd(x, b.getInt64(static_cast<uint64_t>(offset))) : x;
  }

  Emit* e_;
  const Target& target_;
  const ContractionHooks& hooks_;
  const ConvShape s_;
  ContractionPlan plan_;
};

}  // namespace

bool conv_supported(const ConvSpec& spec, const Target& target) {
  if (!gemm_supported(types_of(spec), target)) return false;
  // A padded copy out of proportion (a window dilated far beyond the input): the caller's plain
  // loops.
  auto real = [](int64_t x) { return static_cast<double>(x); };
  double in = real(spec.groups) * real(spec.batch) * real(spec.in_features), padded = in;
  for (const ConvSpatial& d : spec.spatial) {
    const double span =
        real(d.out - 1) * real(d.stride) + real(d.window - 1) * real(d.window_dilation) + 1;
    in *= real(std::max(d.in, d.out));
    padded *= span / real(d.base_dilation) + 1;
  }
  return padded <= 64 * in + 1e6;
}

Result<ContractionPlan> plan_conv(const ConvSpec& spec, const Target& target, std::string_view name,
                                  const ContractionHooks& hooks) {
  TRY(check(spec, target));
  return ConvEmitter(nullptr, spec, target, hooks).run(std::string(name), nullptr);
}

Result<ContractionPlan> emit_conv(llvm::Module& module, std::string_view name, const ConvSpec& spec,
                                  const Target& target, const ContractionHooks& hooks) {
  TRY(check(spec, target));
  Emit e(module, target, spec.acc);
  return ConvEmitter(&e, spec, target, hooks).run(std::string(name), &module);
}

}  // namespace braze::codegen
