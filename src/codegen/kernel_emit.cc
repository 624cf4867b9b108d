// SPDX-License-Identifier: Apache-2.0
#include "codegen/kernel_emit.h"

#include <memory>

#include "absl/container/flat_hash_set.h"
#include "codegen/chain_kernel.h"
#include "codegen/contraction_kernel.h"
#include "codegen/jit.h"
#include "codegen/scalar_emit.h"
#include "codegen/scalar_emit_impl.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

namespace braze::codegen {
namespace {

using loop::Accumulator;
using loop::Loop;
using loop::LoopKind;
using loop::Stmt;
using scalar::Scalar;

// Nothing of such a loop may be emitted: its loads may be out of bounds.
bool never_runs(const Loop& l) { return !l.count && l.extent == 0; }

// Emits one phase. `Scope` is an emitter with all that is bound in it: a vector loop gets a scope of
// its own, since its emitter has its own width and vector variable.
class PhaseEmitter {
 public:
  PhaseEmitter(llvm::Module& m, const loop::Kernel& k, const loop::Phase& p, const Target& t,
               const EmitOptions& o)
      : module_(m), context_(m.getContext()), b_(context_), kernel_(k), phase_(p), target_(t),
        options_(o) {
    for (int32_t i = 0; i < k.graph.size(); ++i)
      if (const scalar::Node& n = k.graph[Scalar{i}]; n.op == scalar::Op::kLoad) loaded_.insert(n.imm);
  }

  void emit(std::string_view name) {
    llvm::Type* ptr = llvm::PointerType::getUnqual(context_);
    llvm::Type* i64 = b_.getInt64Ty();
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {ptr, i64, i64, ptr}, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                       llvm::StringRef(name.data(), name.size()), module_);
    set_function_attributes(*function_, target_);
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));
    load_buffers();
    auto scope = make_scope(1, -1);
    if (phase_.items == 1) {
      bind(*scope, phase_.item_var, b_.getInt64(0));
      body(*scope, phase_.body);
    } else {
      std::vector<Scalar> roots;
      std::vector<int64_t> inner{phase_.item_var};
      collect(phase_.body, &roots, &inner);
      scope->emitter->hoist(roots, inner);
      counted_loop(function_->getArg(1), function_->getArg(2), [&](llvm::Value* item) {
        if (phase_.group > 1) return group_of_items(*scope, item);
        size_t open = scope->emitter->open_scope();
        bind(*scope, phase_.item_var, item);
        body(*scope, phase_.body);
        scope->emitter->close_scope(open);
      }, phase_.group);
    }
    b_.CreateRetVoid();
  }

 private:
  struct Scope {
    std::unique_ptr<ScalarEmitter> emitter;
    int width = 1;
    int64_t vector_var = -1;
    bool masked = false;
    std::vector<std::pair<int64_t, llvm::Value*>> bound;
  };

  // A loop over [from, to), known to run at least once if `at_least_once`.
  template <typename F>
  void counted_loop(llvm::Value* from, llvm::Value* to, F f, int64_t step = 1,
                    bool at_least_once = false) {
    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto* loop = llvm::BasicBlock::Create(context_, "loop", function_);
    auto* after = llvm::BasicBlock::Create(context_, "after", function_);
    if (at_least_once) b_.CreateBr(loop);
    else b_.CreateCondBr(b_.CreateICmpSLT(from, to), loop, after);
    b_.SetInsertPoint(loop);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(from, before);
    f(i);
    llvm::Value* next = b_.CreateAdd(i, b_.getInt64(step), "", true, true);
    i->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpSLT(next, to), loop, after);
    b_.SetInsertPoint(after);
  }

  void load_buffers() {
    llvm::Type* ptr = llvm::PointerType::getUnqual(context_);
    int64_t scratch = 0;
    for (size_t i = 0; i < kernel_.buffers.size(); ++i) {
      const loop::Buffer& buffer = kernel_.buffers[i];
      BufferBinding binding;
      if (buffer.role == loop::Role::kScratch) {
        binding.base = b_.CreateConstGEP1_64(b_.getInt8Ty(), function_->getArg(3), scratch);
        binding.align = 64;
        scratch += (buffer.elements * byte_size(buffer.dtype) + 63) / 64 * 64;
      } else {
        binding.base =
            b_.CreateLoad(ptr, b_.CreateConstGEP1_64(ptr, function_->getArg(0), i));
        binding.align = byte_size(buffer.dtype);
        binding.invariant = options_.inputs_constant && buffer.role == loop::Role::kInput;
      }
      buffers_.push_back(binding);
    }
  }

  std::unique_ptr<Scope> make_scope(int width, int64_t vector_var) {
    auto s = std::make_unique<Scope>();
    s->emitter = std::make_unique<ScalarEmitter>(b_, kernel_.graph, target_, width, vector_var);
    s->width = width;
    s->vector_var = vector_var;
    for (size_t i = 0; i < buffers_.size(); ++i)
      s->emitter->bind_buffer(static_cast<int64_t>(i), buffers_[i]);
    return s;
  }
  void bind(Scope& s, int64_t var, llvm::Value* v) {
    s.emitter->bind_var(var, v);
    s.bound.emplace_back(var, v);
  }

  void body(Scope& scope, const std::vector<Stmt>& stmts) {
    for (size_t i = 0; i < stmts.size(); ++i) {
      const Stmt& s = stmts[i];
      switch (s.kind) {
        case Stmt::Kind::kStore:
          if (const size_t n = neighbours(scope, stmts, i); n > 1) {
            store_together(scope, {&stmts[i], n});
            i += n - 1;
          } else {
            store(scope, s.store);
          }
          break;
        case Stmt::Kind::kLet: bind(scope, s.let.var, scope.emitter->emit(s.let.value)); break;
        case Stmt::Kind::kLoop:
          if (s.loop->kind == LoopKind::kVector && phase_.width > 1) vector_loop(scope, *s.loop);
          else if (s.loop->kind == LoopKind::kTile && scope.width == s.loop->extent)
            tile_loop(scope, *s.loop);
          else serial_loop(scope, *s.loop);
      }
    }
  }

  // The items from `first` on that belong together, part by part of the body: what later parts need of an earlier one
  // is kept in an array with an element for each item.
  void group_of_items(Scope& scope, llvm::Value* first) {
    llvm::Value* left = b_.CreateSub(function_->getArg(2), first);
    llvm::Value* whole = b_.getInt64(phase_.group);
    llvm::Value* count = b_.CreateSelect(b_.CreateICmpSLT(left, whole), left, whole);
    const std::vector<BufferBinding> buffers = buffers_;
    std::vector<std::pair<int64_t, llvm::AllocaInst*>> kept;
    for (size_t at = 0; at < phase_.body.size();) {
      std::vector<Stmt> part;
      do part.push_back(phase_.body[at++]);
      while (part.back().kind != Stmt::Kind::kLoop && at < phase_.body.size());
      const std::vector<Stmt> rest(phase_.body.begin() + static_cast<long>(at), phase_.body.end());
      counted_loop(b_.getInt64(0), count, [&](llvm::Value* i) {
        const size_t open = scope.emitter->open_scope(), outer = scope.bound.size();
        bind(scope, phase_.item_var, b_.CreateAdd(first, i));
        bind_scratch(scope, buffers, i);
        for (auto [var, array] : kept) {
          llvm::Type* type = array->getAllocatedType()->getArrayElementType();
          bind(scope, var, b_.CreateLoad(type, b_.CreateGEP(type, array, i)));
        }
        const size_t own = scope.bound.size();
        body(scope, part);
        for (size_t k = own; k < scope.bound.size(); ++k) {
          auto [var, value] = scope.bound[k];
          if (!needed(rest, var)) continue;
          kept.emplace_back(var, array_on_stack(value->getType(), static_cast<size_t>(phase_.group)));
          b_.CreateStore(value, b_.CreateGEP(value->getType(), kept.back().second, i));
        }
        scope.emitter->close_scope(open);
        scope.bound.resize(outer);
      }, 1, true);
    }
    buffers_ = buffers;
  }

  // Each item of a group has scratch buffers of its own.
  void bind_scratch(Scope& scope, const std::vector<BufferBinding>& first, llvm::Value* item) {
    llvm::Value* offset = b_.CreateMul(item, b_.getInt64(kernel_.scratch_bytes()));
    for (size_t k = 0; k < buffers_.size(); ++k) {
      if (kernel_.buffers[k].role != loop::Role::kScratch) continue;
      buffers_[k].base = b_.CreateGEP(b_.getInt8Ty(), first[k].base, offset);
      scope.emitter->bind_buffer(static_cast<int64_t>(k), buffers_[k]);
    }
  }

  bool needed(const std::vector<Stmt>& stmts, int64_t var) {
    std::vector<Scalar> roots;
    std::vector<int64_t> inner;
    collect(stmts, &roots, &inner);
    return std::any_of(roots.begin(), roots.end(), [&](Scalar s) { return kernel_.graph.depends_on(s, var); });
  }

  llvm::AllocaInst* array_on_stack(llvm::Type* element, size_t n) {
    llvm::IRBuilderBase::InsertPointGuard guard(b_);
    b_.SetInsertPoint(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    return b_.CreateAlloca(llvm::ArrayType::get(element, n));
  }

  void store(Scope& scope, const loop::Store& s) {
    ScalarEmitter::StoreOptions options;
    options.condition = s.condition;
    scope.emitter->store(s.buffer, kernel_.buffers[s.buffer].dtype, s.offset,
                         scope.emitter->emit(s.value), options);
  }

  // How many stores from number `first` on write neighbours, of which the next iteration writes the
  // next as many: one, if they are no such group. All their values are made before one is stored.
  size_t neighbours(const Scope& scope, const std::vector<Stmt>& stmts, size_t first) const {
    constexpr int64_t kMost = 4;
    const loop::Store& s = stmts[first].store;
    const scalar::Graph& g = kernel_.graph;
    int64_t stride = 0;
    if (scope.width == 1 || scope.masked || s.condition || loaded_.contains(s.buffer) ||
        !g.stride_in(s.offset, scope.vector_var, &stride) || stride < 2 || stride > kMost ||
        first + stride > stmts.size())
      return 1;
    for (int64_t k = 1; k < stride; ++k) {
      const Stmt& next = stmts[first + k];
      if (next.kind != Stmt::Kind::kStore || next.store.buffer != s.buffer || next.store.condition)
        return 1;
      const scalar::Node& n = g[next.store.offset];
      if (n.op != scalar::Op::kAdd || n.args[0] != s.offset || !g.is_const(n.args[1]) ||
          g.const_int(n.args[1]) != k)
        return 1;
    }
    return static_cast<size_t>(stride);
  }

  void store_together(Scope& scope, absl::Span<const Stmt> stmts) {
    const loop::Store& first = stmts[0].store;
    std::vector<llvm::Value*> values;
    for (const Stmt& s : stmts) values.push_back(scope.emitter->emit(s.store.value));
    scope.emitter->store_interleaved(first.buffer, kernel_.buffers[first.buffer].dtype, first.offset,
                                     values);
  }

  llvm::Value* extent(Scope& scope, const Loop& l) {
    if (!l.count) return b_.getInt64(l.extent);
    return b_.CreateSExtOrTrunc(scope.emitter->emit_base(l.count), b_.getInt64Ty());
  }

  // A phi in `block` for each accumulator of a loop, starting at `start` coming from `before`.
  std::vector<llvm::PHINode*> phis(const std::vector<llvm::Value*>& start, llvm::BasicBlock* before) {
    std::vector<llvm::PHINode*> out;
    for (llvm::Value* v : start) {
      out.push_back(b_.CreatePHI(v->getType(), 2));
      out.back()->addIncoming(v, before);
    }
    return out;
  }

  llvm::Value* wide(Scope& scope, Scalar s) {
    return scope.width > 1 ? scope.emitter->emit_vector(s) : scope.emitter->emit(s);
  }

  // How a loop carries the values of its accumulators. A minimum of floats is half as many instructions as a maximum, whose
  // zeros need care: the maximum of lanes is carried as the minimum of their negated values.
  struct Carried {
    Scalar next;
    Scalar term;  // of a maximum so carried: the other operand
  };
  std::vector<Carried> carried(const Loop& l, int width) {
    std::vector<Carried> out;
    std::vector<Scalar> readers;
    std::vector<int64_t> inner;
    collect(l.body, &readers, &inner);
    for (const Accumulator& a : l.accumulators)
      for (Scalar s : a.next) {
        out.push_back({s, {}});
        readers.push_back(s);
      }
    if (width == 1) return out;
    size_t at = 0;
    for (const Accumulator& a : l.accumulators)
      for (int64_t var : a.var) {
        Carried& c = out[at++];
        const scalar::Node& n = kernel_.graph[c.next];
        if (n.op != scalar::Op::kMax || (n.type != Dtype::kF32 && n.type != Dtype::kF64)) continue;
        // A store of the new value is another reader of it.
        const bool alone = std::count_if(readers.begin(), readers.end(), [&](Scalar s) {
                             return kernel_.graph.depends_on(s, var);
                           }) == 1;
        for (size_t side = 0; side < 2 && alone; ++side) {
          const scalar::Node& x = kernel_.graph[n.args[side]];
          const Scalar other = n.args[1 - side];
          if (x.op == scalar::Op::kVar && x.imm == var && !kernel_.graph.depends_on(other, var)) c.term = other;
        }
      }
    return out;
  }
  llvm::Value* next_of(Scope& scope, const Carried& c, llvm::Value* now) {
    if (!c.term) return wide(scope, c.next);
    OpEmitter op(b_, target_);
    return op.operation(scalar::Op::kMin, kernel_.graph.type(c.term), {now, b_.CreateFNeg(wide(scope, c.term))});
  }
  void negate(std::vector<llvm::Value*>& v, const std::vector<Carried>& as) {
    for (size_t k = 0; k < v.size(); ++k)
      if (as[k].term) v[k] = b_.CreateFNeg(v[k]);
  }

  void hoist_invariants(Scope& scope, const Loop& l) {
    std::vector<Scalar> roots;
    std::vector<int64_t> inner{l.var};
    for (const Accumulator& a : l.accumulators) {
      inner.insert(inner.end(), a.var.begin(), a.var.end());
      roots.insert(roots.end(), a.next.begin(), a.next.end());
    }
    collect(l.body, &roots, &inner);
    scope.emitter->hoist(roots, inner);
  }

  // The only iteration of a loop of extent 1.
  void once(Scope& scope, const Loop& l) {
    std::vector<llvm::Value*> start;
    for (const Accumulator& a : l.accumulators)
      for (Scalar i : a.init) start.push_back(wide(scope, i));
    size_t open = scope.emitter->open_scope();
    size_t bound = scope.bound.size();
    bind(scope, l.var, b_.getInt64(0));
    bind_accumulators(scope, l, start);
    body(scope, l.body);
    std::vector<llvm::Value*> next;
    for (const Accumulator& a : l.accumulators)
      for (Scalar s : a.next) next.push_back(wide(scope, s));
    scope.emitter->close_scope(open);
    scope.bound.resize(bound);
    bind_results(scope, l, next);
  }

  // No or one iteration: a branch. Nothing is carried out of it.
  void perhaps(Scope& scope, const Loop& l) {
    llvm::Value* n = extent(scope, l);
    auto* then = llvm::BasicBlock::Create(context_, "then", function_);
    auto* after = llvm::BasicBlock::Create(context_, "after", function_);
    // Likely, so that the usual way through falls straight on.
    b_.CreateCondBr(b_.CreateICmpNE(n, b_.getInt64(0)), then, after,
                    llvm::MDBuilder(context_).createBranchWeights(1000, 1));
    b_.SetInsertPoint(then);
    once(scope, l);
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
  }

  void serial_loop(Scope& scope, const Loop& l) {
    if (!l.count && l.extent == 1) return once(scope, l);
    if (l.extent == 1 && l.accumulators.empty()) return perhaps(scope, l);
    std::vector<llvm::Value*> start;
    for (const Accumulator& a : l.accumulators)
      for (Scalar i : a.init) start.push_back(wide(scope, i));
    if (never_runs(l)) return bind_results(scope, l, start);
    const std::vector<Carried> as = carried(l, scope.width);
    negate(start, as);
    llvm::Value* n = extent(scope, l);
    hoist_invariants(scope, l);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto* loop = llvm::BasicBlock::Create(context_, "serial", function_);
    auto* after = llvm::BasicBlock::Create(context_, "after", function_);
    bool runs = !l.count && l.extent > 0;
    if (runs) b_.CreateBr(loop);
    else b_.CreateCondBr(b_.CreateICmpSGT(n, b_.getInt64(0)), loop, after);
    b_.SetInsertPoint(loop);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(b_.getInt64(0), before);
    auto acc = phis(start, before);
    size_t open = scope.emitter->open_scope();
    size_t bound = scope.bound.size();
    bind(scope, l.var, i);
    bind_accumulators(scope, l, acc);
    body(scope, l.body);
    std::vector<llvm::Value*> next;
    for (const Carried& c : as) next.push_back(next_of(scope, c, acc[next.size()]));
    scope.emitter->close_scope(open);
    scope.bound.resize(bound);
    llvm::Value* i1 = b_.CreateAdd(i, b_.getInt64(1), "", true, true);
    llvm::BasicBlock* latch = b_.GetInsertBlock();
    i->addIncoming(i1, latch);
    for (size_t k = 0; k < acc.size(); ++k) acc[k]->addIncoming(next[k], latch);
    b_.CreateCondBr(b_.CreateICmpSLT(i1, n), loop, after);
    b_.SetInsertPoint(after);
    std::vector<llvm::Value*> result;
    for (size_t k = 0; k < acc.size(); ++k) {
      llvm::PHINode* p = b_.CreatePHI(acc[k]->getType(), 2);
      p->addIncoming(next[k], latch);
      if (!runs) p->addIncoming(start[k], before);
      result.push_back(p);
    }
    negate(result, as);
    bind_results(scope, l, result);
  }

  // What is strided is read for all iterations before the first; few operations are unrolled.
  void tile_loop(Scope& scope, const Loop& l) {
    constexpr int64_t kFew = 48;
    std::vector<Scalar> roots;
    std::vector<int64_t> inner{l.var};
    collect(l.body, &roots, &inner);
    const size_t open = scope.emitter->open_scope();
    const size_t bound = scope.bound.size();
    bind(scope, l.var, b_.getInt64(0));
    const std::vector<Scalar> loads = scope.emitter->transposable(roots, l.var);
    std::vector<std::vector<llvm::Value*>> vectors;
    for (Scalar s : loads) vectors.push_back(scope.emitter->load_transposed(s, l.var));
    scope.emitter->close_scope(open);
    const auto iteration = [&](llvm::Value* i, auto vector) {
      const size_t opened = scope.emitter->open_scope();
      bind(scope, l.var, i);
      for (size_t k = 0; k < loads.size(); ++k) scope.emitter->bind_load(loads[k], vector(k));
      body(scope, l.body);
      scope.emitter->close_scope(opened);
      scope.bound.resize(bound);
    };
    if (kernel_.graph.size() <= kFew) {
      for (int64_t i = 0; i < l.extent; ++i)
        iteration(b_.getInt64(i), [&](size_t k) { return vectors[k][i]; });
    } else {
      const std::vector<llvm::Value*> kept = keep(vectors);
      const auto load = [&](size_t k, llvm::Value* i) {
        llvm::Type* type = vectors[k][0]->getType();
        return b_.CreateLoad(type, b_.CreateGEP(type, kept[k], i));
      };
      counted_loop(b_.getInt64(0), b_.getInt64(l.extent), [&](llvm::Value* i) {
        iteration(i, [&](size_t k) { return load(k, i); });
      }, 1, true);
    }
    scope.bound.resize(bound);
  }

  // An array on the stack for each of the lists.
  std::vector<llvm::Value*> keep(const std::vector<std::vector<llvm::Value*>>& lists) {
    std::vector<llvm::Value*> out;
    for (const auto& list : lists) out.push_back(array_on_stack(list[0]->getType(), list.size()));
    for (size_t k = 0; k < lists.size(); ++k)
      for (size_t i = 0; i < lists[k].size(); ++i)
        b_.CreateStore(lists[k][i], b_.CreateConstGEP1_64(lists[k][i]->getType(), out[k], i));
    return out;
  }

  template <typename V>
  void bind_accumulators(Scope& scope, const Loop& l, const std::vector<V*>& values) {
    size_t k = 0;
    for (const Accumulator& a : l.accumulators)
      for (int64_t v : a.var) bind(scope, v, values[k++]);
  }
  void bind_results(Scope& scope, const Loop& l, const std::vector<llvm::Value*>& values) {
    size_t k = 0;
    for (const Accumulator& a : l.accumulators)
      for (int64_t v : a.result) bind(scope, v, values[k++]);
  }

  // Whole vectors first, then one masked vector for the rest.
  void vector_loop(Scope& outer, const Loop& l) {
    const int w = phase_.width;
    llvm::Value* n = extent(outer, l);
    auto inner = make_scope(w, l.var);
    for (auto& [var, value] : outer.bound) bind(*inner, var, value);
    std::vector<llvm::Value*> start;
    for (const Accumulator& a : l.accumulators)
      for (Scalar s : a.identity) start.push_back(inner->emitter->emit_vector(s));
    if (!never_runs(l)) hoist_invariants(*inner, l);
    carried_ = carried(l, w);
    negate(start, carried_);

    llvm::Value* whole = b_.CreateAnd(n, b_.getInt64(-static_cast<int64_t>(w)));
    std::vector<llvm::Value*> acc = start;
    if (l.count || l.extent >= w) acc = whole_vectors(*inner, l, whole, start);
    if (l.count || l.extent % w != 0) acc = tail_vector(*inner, l, n, whole, acc);
    negate(acc, carried_);
    std::vector<llvm::Value*> results;
    size_t k = 0;
    for (const Accumulator& a : l.accumulators) {
      std::vector<llvm::Value*> lanes(acc.begin() + k, acc.begin() + k + a.var.size());
      k += a.var.size();
      for (llvm::Value* v : combine_lanes(outer, a, std::move(lanes))) results.push_back(v);
    }
    bind_results(outer, l, results);
  }

  std::vector<llvm::Value*> whole_vectors(Scope& scope, const Loop& l, llvm::Value* whole,
                                          const std::vector<llvm::Value*>& start) {
    if (!l.count && l.extent < 2 * phase_.width)  // one vector: no loop
      return iteration(scope, l, b_.getInt64(0), start, nullptr);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto* loop = llvm::BasicBlock::Create(context_, "vector", function_);
    auto* after = llvm::BasicBlock::Create(context_, "rest", function_);
    bool runs = !l.count;
    if (runs) b_.CreateBr(loop);
    else b_.CreateCondBr(b_.CreateICmpSGT(whole, b_.getInt64(0)), loop, after);
    b_.SetInsertPoint(loop);
    llvm::PHINode* i = b_.CreatePHI(b_.getInt64Ty(), 2);
    i->addIncoming(b_.getInt64(0), before);
    auto acc = phis(start, before);
    std::vector<llvm::Value*> next = iteration(scope, l, i, acc, nullptr);
    llvm::Value* i1 = b_.CreateAdd(i, b_.getInt64(phase_.width), "", true, true);
    llvm::BasicBlock* latch = b_.GetInsertBlock();
    i->addIncoming(i1, latch);
    for (size_t k = 0; k < acc.size(); ++k) acc[k]->addIncoming(next[k], latch);
    b_.CreateCondBr(b_.CreateICmpSLT(i1, whole), loop, after);
    b_.SetInsertPoint(after);
    if (runs) return next;
    return merge(next, latch, start, before);
  }

  std::vector<llvm::Value*> tail_vector(Scope& scope, const Loop& l, llvm::Value* n,
                                        llvm::Value* whole, const std::vector<llvm::Value*>& acc) {
    llvm::BasicBlock* before = b_.GetInsertBlock();
    auto* after = llvm::BasicBlock::Create(context_, "after", function_);
    if (l.count) {
      auto* tail = llvm::BasicBlock::Create(context_, "tail", function_);
      b_.CreateCondBr(b_.CreateICmpSLT(whole, n), tail, after);
      b_.SetInsertPoint(tail);
    }
    llvm::Value* rest = b_.CreateTrunc(b_.CreateSub(n, whole), b_.getInt32Ty());
    llvm::SmallVector<llvm::Constant*, 64> ids;
    for (int k = 0; k < phase_.width; ++k) ids.push_back(b_.getInt32(k));
    llvm::Value* mask = b_.CreateICmpULT(llvm::ConstantVector::get(ids),
                                         b_.CreateVectorSplat(phase_.width, rest));
    std::vector<llvm::Value*> next = iteration(scope, l, whole, acc, mask);
    for (size_t k = 0; k < next.size(); ++k) next[k] = b_.CreateSelect(mask, next[k], acc[k]);
    if (!l.count) {
      b_.CreateBr(after);
      b_.SetInsertPoint(after);
      return next;
    }
    llvm::BasicBlock* latch = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    return merge(next, latch, acc, before);
  }

  std::vector<llvm::Value*> merge(const std::vector<llvm::Value*>& a, llvm::BasicBlock* from_a,
                                  const std::vector<llvm::Value*>& b, llvm::BasicBlock* from_b) {
    std::vector<llvm::Value*> out;
    for (size_t k = 0; k < a.size(); ++k) {
      llvm::PHINode* p = b_.CreatePHI(a[k]->getType(), 2);
      p->addIncoming(a[k], from_a);
      p->addIncoming(b[k], from_b);
      out.push_back(p);
    }
    return out;
  }

  template <typename V>
  std::vector<llvm::Value*> iteration(Scope& scope, const Loop& l, llvm::Value* i,
                                      const std::vector<V*>& acc, llvm::Value* mask) {
    size_t open = scope.emitter->open_scope();
    size_t bound = scope.bound.size();
    scope.emitter->set_mask(mask);
    scope.masked = mask != nullptr;
    bind(scope, l.var, i);
    bind_accumulators(scope, l, acc);
    const std::vector<Carried> as = carried_;  // loops inside have their own
    body(scope, l.body);
    std::vector<llvm::Value*> next;
    for (const Carried& c : as) next.push_back(next_of(scope, c, acc[next.size()]));
    carried_ = as;
    scope.emitter->set_mask(nullptr);
    scope.masked = false;
    scope.emitter->close_scope(open);
    scope.bound.resize(bound);
    return next;
  }

  // Halves the vectors until one lane is left, then combines it with the initial value.
  std::vector<llvm::Value*> combine_lanes(Scope& outer, const Accumulator& a,
                                          std::vector<llvm::Value*> v) {
    for (int w = phase_.width / 2; w >= 1; w /= 2) {
      llvm::SmallVector<int, 64> low, high;
      for (int i = 0; i < w; ++i) low.push_back(i), high.push_back(w + i);
      std::vector<llvm::Value*> lhs, rhs;
      for (llvm::Value* x : v) {
        if (w == 1) {
          lhs.push_back(b_.CreateExtractElement(x, uint64_t{0}));
          rhs.push_back(b_.CreateExtractElement(x, uint64_t{1}));
        } else {
          lhs.push_back(b_.CreateShuffleVector(x, low));
          rhs.push_back(b_.CreateShuffleVector(x, high));
        }
      }
      v = combine(outer, a, w, lhs, rhs);
    }
    std::vector<llvm::Value*> init;
    for (Scalar s : a.init) init.push_back(outer.emitter->emit(s));
    return combine(outer, a, 1, init, v);
  }

  std::vector<llvm::Value*> combine(Scope& outer, const Accumulator& a, int width,
                                    const std::vector<llvm::Value*>& lhs,
                                    const std::vector<llvm::Value*>& rhs) {
    auto scope = make_scope(width, -1);
    for (auto& [var, value] : outer.bound) scope->emitter->bind_var(var, value);
    for (size_t k = 0; k < lhs.size(); ++k) {
      scope->emitter->bind_var(a.lhs[k], lhs[k]);
      scope->emitter->bind_var(a.rhs[k], rhs[k]);
    }
    std::vector<llvm::Value*> out;
    for (Scalar s : a.combined) out.push_back(scope->emitter->emit(s));
    return out;
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  const loop::Kernel& kernel_;
  const loop::Phase& phase_;
  const Target& target_;
  const EmitOptions& options_;
  llvm::Function* function_ = nullptr;
  std::vector<BufferBinding> buffers_;
  std::vector<Carried> carried_;  // by the vector loop that is being emitted
  absl::flat_hash_set<int64_t> loaded_;  // buffers that something loads from
};

}  // namespace

void emit_phase(llvm::Module& module, const loop::Kernel& kernel, const loop::Phase& phase,
                std::string_view name, const Target& target, const EmitOptions& options) {
  PhaseEmitter(module, kernel, phase, target, options).emit(name);
}

Result<EmittedKernel> emit_kernel(llvm::Module& module, const loop::Kernel& kernel,
                                  std::string_view name, const Target& target,
                                  const EmitOptions& options) {
  if (kernel.chain) return emit_chain(module, kernel, name, target, options);
  if (kernel.contraction) return emit_contraction(module, kernel, name, target, options);
  EmittedKernel out;
  out.scratch_bytes = kernel.group_scratch_bytes();
  for (size_t i = 0; i < kernel.phases.size(); ++i) {
    const loop::Phase& p = kernel.phases[i];
    std::string function = i == 0 ? std::string(name) : str_cat(name, ".", i);
    emit_phase(module, kernel, p, function, target, options);
    out.phases.push_back({function, p.items, p.grain});
  }
  return out;
}

}  // namespace braze::codegen
