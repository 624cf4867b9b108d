// SPDX-License-Identifier: Apache-2.0
#include "codegen/contraction_kernel.h"

#include <algorithm>

#include "codegen/chain_kernel.h"
#include "codegen/conv.h"
#include "codegen/gemm.h"
#include "codegen/jit.h"
#include "codegen/scalar_emit.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace braze::codegen {
namespace {

using loop::Contraction;

GemmSpec gemm_spec(const Contraction& c, int workspace) {
  GemmSpec s = product_spec(c);
  s.workspace_buffer = workspace;
  return s;
}

ConvSpec conv_spec(const Contraction& c, int workspace) {
  ConvSpec s;
  const ConvDims& d = c.conv.dims;
  Dims in = strides(c.lhs_dims), ker = strides(c.rhs_dims), out = strides(c.out_dims);
  s.lhs = c.lhs, s.rhs = c.rhs, s.acc = c.acc, s.out = c.out;
  int64_t fg = c.conv.feature_groups, bg = c.conv.batch_groups;
  s.groups = fg > 1 ? fg : bg;
  s.batch = c.lhs_dims[d.input_batch] / bg;
  s.in_features = c.lhs_dims[d.input_feature] / fg;
  s.out_features = c.out_dims[d.output_feature] / s.groups;
  for (size_t i = 0; i < c.conv.window.size(); ++i) {
    const WindowDim& w = c.conv.window[i];
    ConvSpatial sp;
    sp.in = c.lhs_dims[d.input_spatial[i]];
    sp.window = c.rhs_dims[d.kernel_spatial[i]];
    sp.out = c.out_dims[d.output_spatial[i]];
    sp.stride = w.stride, sp.pad_low = w.pad_low;
    sp.base_dilation = w.base_dilation, sp.window_dilation = w.window_dilation;
    sp.reversed = w.reversal;
    sp.in_stride = in[d.input_spatial[i]];
    sp.window_stride = ker[d.kernel_spatial[i]];
    sp.out_stride = out[d.output_spatial[i]];
    s.spatial.push_back(sp);
  }
  s.in_batch = in[d.input_batch], s.in_feature = in[d.input_feature];
  s.in_group = bg > 1 ? s.batch * s.in_batch : s.in_features * s.in_feature;
  s.rhs_in = ker[d.kernel_input], s.rhs_out = ker[d.kernel_output];
  s.rhs_group = s.out_features * s.rhs_out;
  s.out_batch = out[d.output_batch], s.out_feature = out[d.output_feature];
  s.out_group = s.out_features * s.out_feature;
  s.lhs_buffer = static_cast<int>(c.lhs_buffer);
  s.rhs_buffer = static_cast<int>(c.rhs_buffer);
  s.out_buffer = static_cast<int>(c.out_buffer);
  s.workspace_buffer = workspace;
  return s;
}

constexpr size_t kMostTables = 4;

// The epilogue of a kernel, for several rows or for one. Its first store is the product's own place, whose value is
// given back.
class Epilogue : public EpilogueColumn {
 public:
  struct Of {
    const loop::Kernel& kernel;
    const Target& target;
    bool swapped;  // the product's last two coordinates are exchanged
    bool inputs_constant;
    std::vector<scalar::Scalar> table = {};  // what the table hook gives

    int64_t var(size_t i) const {
      const std::vector<int64_t>& vars = kernel.contraction->index_vars;
      const size_t rank = vars.size();
      return vars[swapped && i + 2 >= rank ? (i + 1 == rank ? rank - 2 : rank - 1) : i];
    }
  };

  Epilogue(llvm::IRBuilderBase& b, const Of& of, const HookArgs& a, bool hoists = true)
      : of_(of), e_(b, of.kernel.graph, of.target, a.lanes, of.var(a.lane_axis)) {
    llvm::Type* ptr = llvm::PointerType::getUnqual(b.getContext());
    const std::vector<loop::Buffer>& buffers = of.kernel.buffers;
    for (size_t i = 0; i < buffers.size(); ++i) {
      BufferBinding binding;
      binding.base = b.CreateLoad(ptr, b.CreateConstGEP1_64(ptr, a.buffers, i));
      binding.align = byte_size(buffers[i].dtype);
      binding.invariant = of.inputs_constant && buffers[i].role == loop::Role::kInput;
      e_.bind_buffer(static_cast<int64_t>(i), binding);
    }
    if (a.lanes > 1) e_.set_mask(a.mask);
    std::vector<int64_t> of_rows{of.kernel.contraction->acc_var};
    for (size_t i = 0; i < a.index.size(); ++i) {
      if (a.index[i]) e_.bind_var(of.var(i), a.index[i]);
      else of_rows.push_back(of.var(i));
    }
    if (a.acc || !hoists) return;
    for (size_t i = 0; i < a.table.size(); ++i) e_.bind_load(of.table[i], a.table[i]);
    std::vector<scalar::Scalar> roots;
    for (const loop::Store& s : of.kernel.contraction->epilogue) {
      roots.push_back(s.value);
      if (&s != of.kernel.contraction->epilogue.data()) roots.push_back(s.offset);
    }
    e_.hoist(roots, of_rows);
  }

  std::vector<llvm::Value*> table() {
    std::vector<llvm::Value*> out;
    for (scalar::Scalar s : of_.table) out.push_back(e_.emit_vector(s));
    return out;
  }

  llvm::Value* row(llvm::IRBuilderBase& b, const HookArgs& a) {
    const loop::Kernel& k = of_.kernel;
    const Contraction& c = *k.contraction;
    const size_t scope = e_.open_scope();
    for (size_t i = 0; i < a.index.size(); ++i)
      if (static_cast<int>(i) != a.lane_axis) e_.bind_var(of_.var(i), a.index[i]);
    e_.bind_var(c.acc_var, a.lanes == 1 && a.acc->getType()->isVectorTy()
                               ? b.CreateExtractElement(a.acc, uint64_t{0})
                               : a.acc);
    for (size_t i = 1; i < c.epilogue.size(); ++i) {
      const loop::Store& s = c.epilogue[i];
      e_.store(s.buffer, k.buffers[s.buffer].dtype, s.offset, e_.emit(s.value));
    }
    llvm::Value* v = e_.emit(c.epilogue[0].value);
    if (c.out == Dtype::kF16) {  // bits in the emitter's registers, a half for the generator
      llvm::Type* half = b.getHalfTy();
      if (auto* t = llvm::dyn_cast<llvm::FixedVectorType>(v->getType()))
        half = llvm::FixedVectorType::get(half, t->getNumElements());
      v = b.CreateBitCast(v, half);
    }
    if (a.lanes > 1 || !a.acc->getType()->isVectorTy()) v = e_.splat(v);
    else v = b.CreateVectorSplat(1, v);
    e_.close_scope(scope);
    return v;
  }

 private:
  const Of of_;
  ScalarEmitter e_;
};

// The largest parts of the stored values that depend on the column alone and have a division or a root.
std::vector<scalar::Scalar> column_table(const Epilogue::Of& of) {
  const loop::Kernel& k = of.kernel;
  const Contraction& c = *k.contraction;
  const int64_t column = of.var(c.index_vars.size() - 1);
  std::vector<scalar::Scalar> out;
  if (!is_float(c.acc) || !of.inputs_constant) return out;
  const auto nodes = static_cast<size_t>(k.graph.size());
  std::vector<bool> of_column(nodes), costly(nodes), used(nodes);
  for (size_t id = 0; id < nodes; ++id) {  // arguments have lower ids
    const scalar::Node& n = k.graph[scalar::Scalar{static_cast<int32_t>(id)}];
    bool fits = n.op == scalar::Op::kVar ? n.imm == column : true;
    if (n.op == scalar::Op::kLoad) fits = k.buffers[n.imm].role == loop::Role::kInput;
    costly[id] = n.op == scalar::Op::kDiv || n.op == scalar::Op::kSqrt;
    for (scalar::Scalar a : n.args) {
      if (!a) continue;
      fits = fits && of_column[static_cast<size_t>(a.id)];
      costly[id] = costly[id] || costly[static_cast<size_t>(a.id)];
    }
    of_column[id] = fits;
  }
  for (const loop::Store& s : c.epilogue) used[static_cast<size_t>(s.value.id)] = true;
  for (size_t id = nodes; id-- > 0;) {
    const scalar::Scalar s{static_cast<int32_t>(id)};
    if (!used[id]) continue;
    if (of_column[id] && costly[id] && k.graph.type(s) == c.acc && k.graph.depends_on(s, column) &&
        out.size() < kMostTables) {
      out.push_back(s);
      continue;
    }
    for (scalar::Scalar a : k.graph[s].args)
      if (a) used[static_cast<size_t>(a.id)] = true;
  }
  return out;
}

void set_epilogue(ContractionHooks& hooks, Epilogue::Of of) {
  if (of.kernel.contraction->epilogue.empty()) return;
  of.table = column_table(of);
  hooks.tables = static_cast<int>(of.table.size());
  if (hooks.tables > 0) {
    hooks.table = [of](llvm::IRBuilderBase& b, const HookArgs& a) { return Epilogue(b, of, a, false).table(); };
  }
  hooks.epilogue = [of](llvm::IRBuilderBase& b, const HookArgs& a) {
    return a.column ? static_cast<Epilogue*>(a.column)->row(b, a) : Epilogue(b, of, a).row(b, a);
  };
  hooks.column = [of](llvm::IRBuilderBase& b, const HookArgs& a) {
    return std::make_unique<Epilogue>(b, of, a);
  };
}

// Whether the stored value depends on the sum alone, whatever its place.
bool is_of_sum(const loop::Kernel& k) {
  const Contraction& c = *k.contraction;
  if (c.epilogue.size() != 1 || c.epilogue[0].condition) return false;
  const scalar::Scalar v = c.epilogue[0].value;
  if (k.graph.has_loads(v)) return false;
  return std::none_of(c.index_vars.begin(), c.index_vars.end(),
                      [&](int64_t i) { return k.graph.depends_on(v, i); });
}

constexpr size_t kMostTouched = 4;

// The buffers that the epilogue reads where the output's elements lie in theirs.
std::vector<int> read_in_place(const loop::Kernel& k) {
  const Contraction& c = *k.contraction;
  std::vector<int> out;
  if (c.epilogue.empty()) return out;
  std::vector<bool> used(static_cast<size_t>(k.graph.size()));
  for (const loop::Store& s : c.epilogue) used[static_cast<size_t>(s.value.id)] = true;
  for (size_t id = used.size(); id-- > 0;) {  // arguments have lower ids
    if (!used[id]) continue;
    const scalar::Node& n = k.graph[scalar::Scalar{static_cast<int32_t>(id)}];
    const auto buffer = static_cast<int>(n.imm);
    if (n.op == scalar::Op::kLoad && n.args[0] == c.epilogue[0].offset && byte_size(n.type) == byte_size(c.out) &&
        out.size() < kMostTouched && std::find(out.begin(), out.end(), buffer) == out.end())
      out.push_back(buffer);
    for (scalar::Scalar a : n.args)
      if (a) used[static_cast<size_t>(a.id)] = true;
  }
  return out;
}

// Terms of each sum.
int64_t terms(const Contraction& c) {
  int64_t n = 1;
  if (!c.is_conv) {
    for (const auto& d : c.k) n *= d.size;
    return n;
  }
  n = c.rhs_dims[c.conv.dims.kernel_input];
  for (int64_t d : c.conv.dims.kernel_spatial) n *= c.rhs_dims[d];
  return n;
}

// Sums of so few terms round every product, as the reference does: memory bounds them anyway, and
// with few terms a cancellation shows which products were rounded.
constexpr int64_t kRoundedProducts = 4;

}  // namespace

GemmSpec product_spec(const Contraction& c) {
  GemmSpec s;
  s.lhs = c.lhs, s.rhs = c.rhs, s.acc = c.acc, s.out = c.out;
  for (auto& d : c.batch) s.batch.push_back({d.size, d.lhs, d.rhs, d.out});
  for (auto& d : c.k) s.k.push_back({d.size, d.lhs, d.rhs});
  s.m = c.m.size, s.n = c.n.size;
  s.lhs_m = c.m.lhs, s.out_m = c.m.out, s.rhs_n = c.n.rhs, s.out_n = c.n.out;
  s.lhs_buffer = static_cast<int>(c.lhs_buffer);
  s.rhs_buffer = static_cast<int>(c.rhs_buffer);
  s.out_buffer = static_cast<int>(c.out_buffer);
  s.lhs_offset = c.lhs_offset, s.rhs_offset = c.rhs_offset;
  for (auto [from, to] : {std::pair{&c.lhs_starts, &s.lhs_starts}, std::pair{&c.rhs_starts, &s.rhs_starts}})
    for (const loop::DynamicStart& d : *from) to->push_back({static_cast<int>(d.buffer), d.type, d.most, d.stride});
  return s;
}

Target product_target(const Contraction& c, const Target& target) {
  Target t = target;
  if (terms(c) <= kRoundedProducts) t.fma = false;
  return t;
}

void set_product_epilogue(ContractionHooks& hooks, const loop::Kernel& kernel, const Target& target,
                          bool inputs_constant) {
  set_epilogue(hooks, {kernel, target, false, inputs_constant});
}

bool contraction_supported(const Contraction& c, const Target& target) {
  return c.is_conv ? conv_supported(conv_spec(c, 3), target) : gemm_supported(gemm_spec(c, 3), target);
}

Result<ContractionPlan> plan_contraction(const loop::Kernel& kernel, const Target& target) {
  if (kernel.chain) return plan_chain(kernel, target);
  const Contraction& c = *kernel.contraction;
  const Target own = product_target(c, target);
  int workspace = static_cast<int>(kernel.buffers.size());
  ContractionHooks hooks;  // sizes depend on whether there is an epilogue
  if (c.is_conv) {
    set_epilogue(hooks, {kernel, target, false, true});
    return plan_conv(conv_spec(c, workspace), own, "contraction", hooks);
  }
  GemmSpec spec = gemm_spec(c, workspace);
  const bool swap = c.is_transposed();
  if (swap) spec = swap_sides(spec);
  set_epilogue(hooks, {kernel, target, swap, true});
  return plan_gemm(spec, own, "contraction", hooks);
}

FunctionNames function_names(const llvm::Module& module) {
  FunctionNames out;
  for (const llvm::Function& f : module) out.insert(f.getName().str());
  return out;
}

EmittedKernel emitted(llvm::Module& module, const FunctionNames& before, const ContractionPlan& plan,
                      const Target& target) {
  for (llvm::Function& f : module)
    if (!f.isDeclaration() && !before.contains(f.getName().str())) set_function_attributes(f, target);
  EmittedKernel out;
  out.scratch_bytes = plan.scratch_bytes;
  out.workspace_bytes = plan.workspace_bytes;
  for (const ContractionPhase& p : plan.phases) out.phases.push_back({p.function, p.items, p.grain});
  return out;
}

Result<EmittedKernel> emit_contraction(llvm::Module& module, const loop::Kernel& kernel,
                                       std::string_view name, const Target& target,
                                       const EmitOptions& options) {
  const Contraction& c = *kernel.contraction;
  const Target own = product_target(c, target);
  int workspace = static_cast<int>(kernel.buffers.size());
  const FunctionNames before = function_names(module);
  ContractionHooks hooks;
  ContractionPlan plan;
  if (c.is_conv) {
    set_epilogue(hooks, {kernel, target, false, options.inputs_constant});
    hooks.read_in_place = read_in_place(kernel);
    ASSIGN(plan, emit_conv(module, name, conv_spec(c, workspace), own, hooks));
  } else {
    GemmSpec spec = gemm_spec(c, workspace);
    const bool swap = c.is_transposed();
    if (swap) spec = swap_sides(spec);
    set_epilogue(hooks, {kernel, target, swap, options.inputs_constant});
    hooks.epilogue_of_sum = is_of_sum(kernel);
    hooks.read_in_place = read_in_place(kernel);
    ASSIGN(plan, emit_gemm(module, name, spec, own, hooks));
  }
  return emitted(module, before, plan, target);
}

}  // namespace braze::codegen
