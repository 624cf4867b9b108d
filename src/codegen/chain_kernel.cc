// SPDX-License-Identifier: Apache-2.0
// The parts are generated as for kernels of their own. What they find in the table of buffers differs:
//
//   kernel's buffers   as given, but the tiles point so far before their memory that rows have the place
//                      they have in an array of all rows
//   operands           of both products, moved to the tile, for products without batch dimensions
//   coordinates        of the batch and the first row, for the epilogue
//
// The table lies at the start of a call's scratch, then both tiles, then the parts' own scratch.
#include "codegen/chain_kernel.h"

#include <algorithm>

#include "codegen/contraction_emit.h"
#include "codegen/contraction_kernel.h"
#include "codegen/gemm.h"
#include "codegen/gemm_kernel.h"
#include "codegen/jit.h"
#include "llvm/IR/Module.h"

namespace braze::codegen {
namespace {

using loop::Contraction;
using loop::ContractionDim;

int64_t round_up(int64_t a, int64_t b) { return (a + b - 1) / b * b; }

// Where an operand of a product is in the table.
enum Operand : int { kLeft, kRight, kOut, kWork, kOperands };

struct Layout {
  explicit Layout(const loop::Kernel& k)
      : kernel(k), chain(*k.chain), first(chain.first), second(*k.contraction) {
    buffers = static_cast<int>(k.buffers.size());
    const int slots = coordinate(static_cast<int>(second.batch.size()) + 1);
    table_bytes = round_up(8 * slots, 64);
    const int64_t columns = first.n.size;
    const int64_t a = round_up(chain.tile * columns * byte_size(first.out), 64);
    const int64_t b = chain.in_place ? 0 : round_up(chain.tile * columns * byte_size(second.lhs), 64);
    products_at = table_bytes;
    left_at = chain.in_place ? products_at : products_at + a;
    parts_at = products_at + a + b;
  }

  int operand(int product, Operand o) const { return buffers + 1 + product * kOperands + o; }
  // Coordinate d of the second product's batch; behind them the first row.
  int coordinate(int d) const { return operand(2, kLeft) + d; }

  // One tile of a product.
  GemmSpec spec(int product) const {
    GemmSpec s = product_spec(product == 0 ? first : second);
    s.batch.clear();
    s.m = chain.tile;
    s.rows_in_all = chain.rows;
    s.lhs_buffer = operand(product, kLeft), s.rhs_buffer = operand(product, kRight);
    s.out_buffer = operand(product, kOut), s.workspace_buffer = operand(product, kWork);
    s.lhs_offset = s.rhs_offset = 0;
    s.lhs_starts.clear(), s.rhs_starts.clear();
    return s;
  }

  const loop::Kernel& kernel;
  const loop::Chain& chain;
  const Contraction &first, &second;
  int buffers = 0;
  int64_t table_bytes = 0, products_at = 0, left_at = 0, parts_at = 0;
};

// An epilogue's coordinates in the whole output, from those in its tile.
HookArgs in_whole(const Layout& l, llvm::IRBuilderBase& b, const HookArgs& a) {
  auto load = [&](int slot) -> Value* {
    Value* p = b.CreateConstGEP1_64(b.getInt64Ty(), a.buffers, static_cast<uint64_t>(slot));
    return b.CreateLoad(b.getInt64Ty(), p);
  };
  HookArgs out = a;
  out.index.clear();
  const int batch = static_cast<int>(l.second.batch.size());
  for (int d = 0; d < batch; ++d) out.index.push_back(load(l.coordinate(d)));
  out.index.push_back(a.index[0] ? b.CreateAdd(load(l.coordinate(batch)), a.index[0]) : nullptr);
  out.index.push_back(a.index[1]);
  out.lane_axis = batch + a.lane_axis;
  return out;
}

void set_tile_epilogue(const Layout& l, ContractionHooks& hooks, const Target& target, bool inputs_constant) {
  ContractionHooks whole;
  set_product_epilogue(whole, l.kernel, target, inputs_constant);
  if (!whole.epilogue) return;
  hooks.epilogue = [&l, whole](llvm::IRBuilderBase& b, const HookArgs& a) {
    return whole.epilogue(b, in_whole(l, b, a));
  };
  hooks.column = [&l, whole](llvm::IRBuilderBase& b, const HookArgs& a) {
    return whole.column(b, in_whole(l, b, a));
  };
}

class ChainEmitter {
 public:
  ChainEmitter(const loop::Kernel& k, const Target& t, const EmitOptions& options)
      : layout_(k), chain_(*k.chain), target_(t), options_(options) {
    for (int p = 0; p < 2; ++p) {
      spec_[p] = layout_.spec(p);
      own_[p] = product_target(p == 0 ? layout_.first : layout_.second, t);
    }
    set_tile_epilogue(layout_, hooks_[1], t, options.inputs_constant);
  }

  Result<ContractionPlan> plan(std::string_view name) {
    for (int p = 0; p < 2; ++p) {
      ASSIGN(part_[p], plan_gemm(spec_[p], own_[p], part_name(name, p), hooks_[p]));
    }
    return whole(name);
  }

  Result<ContractionPlan> emit(llvm::Module& module, std::string_view name) {
    for (int p = 0; p < 2; ++p) {
      ASSIGN(part_[p], emit_gemm(module, part_name(name, p), spec_[p], own_[p], hooks_[p]));
    }
    const std::string rows = str_cat(name, ".rows");
    emit_phase(module, layout_.kernel, layout_.kernel.phases[0], rows, target_, options_);
    Emit e(module, target_, layout_.first.acc);
    ContractionPlan out = whole(name);
    for (const ContractionPhase& p : out.phases) {
      if (p.function == name) tiles(e, p.function, rows);
      else packing(e, p.function);
    }
    for (const std::string& f : part_functions(rows)) module.getFunction(f)->setLinkage(llvm::Function::InternalLinkage);
    return out;
  }

 private:
  static std::string part_name(std::string_view name, int p) { return str_cat(name, p == 0 ? ".first" : ".second"); }

  bool packs(int p) const { return part_[p].phases.size() > 1; }
  const ContractionPhase& main_phase(int p) const { return part_[p].phases.back(); }

  std::vector<std::string> part_functions(const std::string& rows) const {
    std::vector<std::string> out{rows};
    for (const ContractionPlan& p : part_)
      for (const ContractionPhase& f : p.phases) out.push_back(f.function);
    return out;
  }

  ContractionPlan whole(std::string_view name) const {
    constexpr double kGrainCycles = 20e3;
    ContractionPlan out;
    out.scratch_bytes = layout_.parts_at + std::max({part_[0].scratch_bytes, part_[1].scratch_bytes,
                                                     layout_.kernel.group_scratch_bytes()});
    for (const ContractionPlan& p : part_) out.workspace_bytes += chain_.batches * p.workspace_bytes;
    if (packs(0) || packs(1)) out.phases.push_back({str_cat(name, ".pack"), chain_.batches, 1, 0});
    const double flops = main_phase(0).flops + main_phase(1).flops;
    const double cycles = flops / (4.0 * target_.lanes(byte_size(layout_.first.acc)));
    const int64_t items = chain_.batches * chain_.tiles();
    const auto grain = static_cast<int64_t>(kGrainCycles / std::max(cycles, 1.0));
    out.phases.push_back({std::string(name), items, std::clamp<int64_t>(grain, 1, items),
                          flops * static_cast<double>(items)});
    return out;
  }

  // Frames of the two functions -----------------------------------------------------------------------

  Value* given(Emit& e, int64_t buffer) {
    return e.b.CreateAlignedLoad(e.ptr_type(), e.at(e.arg(0), 8 * buffer), llvm::Align(8));
  }
  void put(Emit& e, int slot, Value* v) {
    e.b.CreateAlignedStore(v, e.at(e.arg(3), 8 * slot), llvm::Align(8));
  }
  void call(Emit& e, const std::string& function, Value* from, Value* to) {
    e.b.CreateCall(e.module.getFunction(function), {e.arg(3), from, to, e.at(e.arg(3), layout_.parts_at)});
  }

  // Pointers of what a function moves, loaded at its entry.
  struct Bases {
    Value *left = nullptr, *right = nullptr, *out = nullptr, *work = nullptr;
  };
  Bases bases(Emit& e, int p) {
    const Contraction& c = product(p);
    Bases b;
    const GemmSpec whole = product_spec(c);
    if (p == 0) b.left = from_starts(e, e.at(given(e, c.lhs_buffer), c.lhs_offset * byte_size(c.lhs)), c.lhs, e.arg(0), whole.lhs_starts);
    b.right = from_starts(e, e.at(given(e, c.rhs_buffer), c.rhs_offset * byte_size(c.rhs)), c.rhs, e.arg(0), whole.rhs_starts);
    if (p == 1) b.out = given(e, c.out_buffer);
    b.work = e.at(given(e, layout_.buffers), p == 0 ? 0 : chain_.batches * part_[0].workspace_bytes);
    return b;
  }
  const Contraction& product(int p) const { return p == 0 ? layout_.first : layout_.second; }

  // Coordinates of batch number `batch` in a product's batch dimensions.
  Values coordinates(Emit& e, int p, Value* batch) {
    std::vector<int64_t> sizes;
    for (const ContractionDim& d : product(p).batch) sizes.push_back(d.size);
    return sizes.empty() ? Values{} : unravel(e, batch, sizes);
  }
  Value* moved(Emit& e, Value* base, int p, const Values& at, int64_t ContractionDim::*stride, Dtype t) {
    for (size_t d = 0; d < at.size(); ++d)
      if (product(p).batch[d].size > 1)
        base = e.at(base, e.mul(at[d], product(p).batch[d].*stride * byte_size(t)));
    return base;
  }

  // Packs the right sides of each batch.
  void packing(Emit& e, const std::string& name) {
    e.mark_glue(e.begin_kernel(name));
    Bases b[2] = {bases(e, 0), bases(e, 1)};
    e.loop(e.arg(1), e.arg(2), [&](Value* batch) {
      for (int p = 0; p < 2; ++p) {
        if (!packs(p)) continue;
        put_right(e, p, b[p], coordinates(e, p, batch), batch);
        put(e, layout_.operand(p, kLeft), b[p].right);  // read by none, but loaded
        put(e, layout_.operand(p, kOut), b[p].right);
        const ContractionPhase& f = part_[p].phases.front();
        call(e, f.function, e.i64(0), e.i64(f.items));
      }
    });
    e.end_function();
  }

  void put_right(Emit& e, int p, const Bases& b, const Values& at, Value* batch) {
    put(e, layout_.operand(p, kRight), moved(e, b.right, p, at, &ContractionDim::rhs, product(p).rhs));
    put(e, layout_.operand(p, kWork), e.at(b.work, e.mul(batch, part_[p].workspace_bytes)));
  }

  void tiles(Emit& e, const std::string& name, const std::string& rows) {
    e.mark_glue(e.begin_kernel(name));
    const Contraction &first = layout_.first, &second = layout_.second;
    Bases b[2] = {bases(e, 0), bases(e, 1)};
    for (int i = 0; i <= layout_.buffers; ++i) put(e, i, given(e, i));
    Value *products = e.at(e.arg(3), layout_.products_at), *left = e.at(e.arg(3), layout_.left_at);
    put(e, layout_.operand(0, kOut), products);
    put(e, layout_.operand(1, kLeft), left);
    e.loop(e.arg(1), e.arg(2), [&](Value* item) {
      Value* batch = e.div(item, chain_.tiles());
      Value* row = e.min(e.mul(e.rem(item, chain_.tiles()), chain_.tile), e.i64(chain_.rows - chain_.tile));
      Value* before = e.add(e.mul(batch, chain_.rows), row);  // rows before those of the tile
      const Values at[2] = {coordinates(e, 0, batch), coordinates(e, 1, batch)};
      for (int p = 0; p < 2; ++p) put_right(e, p, b[p], at[p], batch);
      put(e, layout_.operand(0, kLeft),
          e.at(moved(e, b[0].left, 0, at[0], &ContractionDim::lhs, first.lhs),
               e.mul(row, first.m.lhs * byte_size(first.lhs))));
      put(e, layout_.operand(1, kOut),
          e.at(moved(e, b[1].out, 1, at[1], &ContractionDim::out, second.out),
               e.mul(row, second.m.out * byte_size(second.out))));
      const int64_t columns = first.n.size;
      put(e, static_cast<int>(first.out_buffer),
          e.at(products, e.mul(before, -columns * byte_size(first.out))));
      put(e, static_cast<int>(second.lhs_buffer), e.at(left, e.mul(before, -columns * byte_size(second.lhs))));
      for (size_t d = 0; d < at[1].size(); ++d) put(e, layout_.coordinate(static_cast<int>(d)), at[1][d]);
      put(e, layout_.coordinate(static_cast<int>(at[1].size())), row);
      call(e, main_phase(0).function, e.i64(0), e.i64(main_phase(0).items));
      call(e, rows, before, e.add(before, e.i64(chain_.tile)));
      call(e, main_phase(1).function, e.i64(0), e.i64(main_phase(1).items));
    });
    e.end_function();
  }

  const Layout layout_;
  const loop::Chain& chain_;
  const Target& target_;
  const EmitOptions& options_;
  GemmSpec spec_[2];
  Target own_[2];
  ContractionHooks hooks_[2];
  ContractionPlan part_[2];
};

}  // namespace

Result<ContractionPlan> plan_chain(const loop::Kernel& kernel, const Target& target) {
  const EmitOptions options;
  return ChainEmitter(kernel, target, options).plan("chain");
}

Result<EmittedKernel> emit_chain(llvm::Module& module, const loop::Kernel& kernel, std::string_view name,
                                 const Target& target, const EmitOptions& options) {
  const FunctionNames before = function_names(module);
  ChainEmitter emitter(kernel, target, options);
  ASSIGN(ContractionPlan plan, emitter.emit(module, name));
  return emitted(module, before, plan, target);
}

}  // namespace braze::codegen
