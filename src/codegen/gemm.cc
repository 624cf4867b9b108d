// SPDX-License-Identifier: Apache-2.0
// emit_gemm: checks, the frame all forms share, and the dispatch to a form.
#include "codegen/gemm.h"

#include <algorithm>
#include <utility>

#include "codegen/gemm_kernel.h"

namespace braze::codegen {
namespace {

constexpr double kMostWork = 1e17;  // multiply-adds: index arithmetic stays within 64 bits

Status check(const GemmSpec& spec, const Target& target) {
  if (!gemm_supported(spec, target)) {
    return unimplemented("no GEMM kernel for ", name(spec.lhs), " x ", name(spec.rhs), " -> ",
                         name(spec.acc));
  }
  bool wrong = spec.m < 0 || spec.n < 0;
  double work = static_cast<double>(spec.m) * static_cast<double>(spec.n);
  auto take = [&](int64_t size) {
    wrong |= size < 0;
    work *= static_cast<double>(std::max<int64_t>(size, 1));
  };
  for (const GemmBatchDim& d : spec.batch) take(d.size);
  for (const GemmContractedDim& d : spec.k) take(d.size);
  if (wrong || work > kMostWork) return invalid("GEMM dimension out of range");
  return absl::OkStatus();
}

GemmHooked hooked_by(const ContractionHooks& hooks) {
  return {hooks.lhs != nullptr, hooks.rhs != nullptr, hooks.epilogue != nullptr};
}

bool loadable(Dtype t, Dtype acc, const Target& target) {
  if (t == acc) return true;
  if (t == Dtype::kF16 && !target.f16c && is_float(acc)) return false;
  if (is_float(acc)) {
    return t == Dtype::kBF16 || t == Dtype::kF16 || (t == Dtype::kF32 && acc == Dtype::kF64) ||
           is_int(t);
  }
  return is_int(t) && byte_size(t) <= byte_size(acc);
}

bool storable(Dtype t, Dtype acc, const Target& target) {
  if (t == acc) return true;
  if (t == Dtype::kF16 && !target.f16c) return false;
  const bool narrow = t == Dtype::kBF16 || t == Dtype::kF16;
  if (is_float(acc)) return narrow || t == Dtype::kF32 || t == Dtype::kF64;
  return is_int(t) || t == Dtype::kF32 || t == Dtype::kF64;
}

}  // namespace

bool gemm_supported(const GemmSpec& spec, const Target& target) {
  switch (spec.acc) {
    case Dtype::kF32:
    case Dtype::kF64:
    case Dtype::kS32:
    case Dtype::kU32:
    case Dtype::kS64:
    case Dtype::kU64:
      break;
    default:
      return false;
  }
  auto wide = [](Dtype t) { return bit_size(t) >= 8 || !is_int(t); };
  return wide(spec.lhs) && wide(spec.rhs) && wide(spec.out) &&
         loadable(spec.lhs, spec.acc, target) && loadable(spec.rhs, spec.acc, target) &&
         storable(spec.out, spec.acc, target);
}

GemmSpec swap_sides(const GemmSpec& spec) {
  GemmSpec s = spec;
  std::swap(s.lhs, s.rhs);
  std::swap(s.m, s.n);
  std::swap(s.lhs_m, s.rhs_n);
  std::swap(s.out_m, s.out_n);
  std::swap(s.lhs_buffer, s.rhs_buffer);
  std::swap(s.lhs_offset, s.rhs_offset);
  std::swap(s.lhs_starts, s.rhs_starts);
  for (GemmBatchDim& d : s.batch) std::swap(d.lhs, d.rhs);
  for (GemmContractedDim& d : s.k) std::swap(d.lhs, d.rhs);
  return s;
}

Value* from_starts(Emit& e, Value* p, Dtype t, Value* buffers, const std::vector<GemmStart>& starts) {
  for (const GemmStart& s : starts) {
    Value* at = e.b.CreateAlignedLoad(e.ptr_type(), e.at(buffers, 8 * s.buffer), llvm::Align(8));
    llvm::Type* type = e.b.getIntNTy(static_cast<unsigned>(bit_size(s.type)));
    Value* i = e.b.CreateAlignedLoad(type, at, llvm::Align(static_cast<uint64_t>(byte_size(s.type))));
    if (is_signed_int(s.type)) {
      i = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, e.b.CreateSExt(i, e.i64_type()), e.i64(0));
    } else {
      i = e.b.CreateZExt(i, e.i64_type());
    }
    i = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, i, e.i64(s.most));
    p = e.at(p, e.mul(i, s.stride * byte_size(t)));
  }
  return p;
}

void GemmFrame::enter(Value* kernel_buffers) {
  buffers = kernel_buffers;
  auto pointer = [&](int i, int64_t offset, Dtype t) {
    Value* p = e.b.CreateAlignedLoad(e.ptr_type(), e.at(buffers, 8 * i), llvm::Align(8));
    return e.at(p, offset * byte_size(t));
  };
  const GemmSpec& p = s.spec;
  lhs = from_starts(e, pointer(p.lhs_buffer, p.lhs_offset, p.lhs), p.lhs, buffers, p.lhs_starts);
  rhs = from_starts(e, pointer(p.rhs_buffer, p.rhs_offset, p.rhs), p.rhs, buffers, p.rhs_starts);
  out = pointer(p.out_buffer, p.out_offset, p.out);
  if (s.parts > 1 || s.prepack) {
    work = pointer(p.workspace_buffer, p.workspace_offset, Dtype::kS8);
  }
  if (hooks.entry) hooks.entry(e.b, buffers);
}

void GemmFrame::set_batch(Value* linear) {
  std::vector<int64_t> sizes;
  for (const GemmBatchDim& d : s.spec.batch) sizes.push_back(d.size);
  batch = unravel(e, linear, sizes);
  a0 = lhs;
  b0 = rhs;
  c0 = out;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const GemmBatchDim& d = s.spec.batch[i];
    if (d.size == 1) continue;
    a0 = e.at(a0, e.mul(batch[i], d.lhs * byte_size(s.spec.lhs)));
    b0 = e.at(b0, e.mul(batch[i], d.rhs * byte_size(s.spec.rhs)));
    c0 = e.at(c0, e.mul(batch[i], d.out * byte_size(s.spec.out)));
  }
}

Value* GemmFrame::linear(const GemmRow& row) {
  return s.outer_rows == 1 ? row.m : e.add(e.mul(row.outer, s.spec.m), row.m);
}

namespace {

// Σ coordinate * stride over the outer row dimensions.
Value* outer_offset(Emit& e, const GemmShape& s, Value* outer, int64_t GemmBatchDim::*stride) {
  Value* offset = e.i64(0);
  if (s.outer_rows == 1) return offset;
  std::vector<int64_t> sizes;
  for (const GemmBatchDim& d : s.outer) sizes.push_back(d.size);
  const Values at = unravel(e, outer, sizes);
  for (size_t i = 0; i < at.size(); ++i) offset = e.add(offset, e.mul(at[i], s.outer[i].*stride));
  return offset;
}

}  // namespace

Value* GemmFrame::out_at(const GemmRow& row, Value* n) {
  const GemmSpec& p = s.spec;
  Value* offset = e.add(e.mul(row.m, p.out_m), e.mul(n, p.out_n));
  offset = e.add(outer_offset(e, s, row.outer, &GemmBatchDim::out), offset);
  return e.at(c0, e.mul(offset, byte_size(p.out)));
}

Value* GemmFrame::lhs_at(const GemmRow& row, const Values& k) {
  Value* offset =
      e.add(outer_offset(e, s, row.outer, &GemmBatchDim::lhs), e.mul(row.m, s.spec.lhs_m));
  for (size_t i = 0; i < k.size(); ++i) {
    if (s.spec.k[i].size > 1) offset = e.add(offset, e.mul(k[i], s.spec.k[i].lhs));
  }
  return e.at(a0, e.mul(offset, byte_size(s.spec.lhs)));
}

Value* GemmFrame::rhs_at(const Values& k, Value* n) {
  Value* offset = e.mul(n, s.spec.rhs_n);
  for (size_t i = 0; i < k.size(); ++i) {
    if (s.spec.k[i].size > 1) offset = e.add(offset, e.mul(k[i], s.spec.k[i].rhs));
  }
  return e.at(b0, e.mul(offset, byte_size(s.spec.rhs)));
}

Value* GemmFrame::load_lhs(const GemmRow& row, const Values& k, bool along_k, Value* mask,
                           int lanes) {
  const GemmSpec& p = s.spec;
  if (hooks.lhs) {
    HookArgs a{.buffers = buffers, .index = batch, .lanes = lanes, .mask = mask};
    const Values rows = unravel(e, linear(row), s.row_sizes);
    a.index.insert(a.index.end(), rows.begin(), rows.end());
    a.lane_axis = static_cast<int>(a.index.size()) - 1;
    a.index.insert(a.index.end(), k.end() - static_cast<long>(s.k_given), k.end());
    if (along_k) a.lane_axis = static_cast<int>(a.index.size()) - 1;
    return hooks.lhs(e.b, a);
  }
  return e.load(p.lhs, lhs_at(row, k), lanes, mask,
                (along_k ? p.k.back().lhs : p.lhs_m) * byte_size(p.lhs));
}

Value* GemmFrame::load_rhs(const Values& k, Value* n, bool along_k, Value* mask, int lanes) {
  const GemmSpec& p = s.spec;
  if (hooks.rhs) {
    HookArgs a{.buffers = buffers, .index = batch, .lanes = lanes, .mask = mask};
    a.index.insert(a.index.end(), s.row_sizes.size() - 1, e.i64(0));  // not dependent on rows
    a.index.insert(a.index.end(), k.end() - static_cast<long>(s.k_given), k.end());
    a.index.push_back(n);
    a.lane_axis = static_cast<int>(a.index.size()) - (along_k ? 2 : 1);
    return hooks.rhs(e.b, a);
  }
  return e.load(p.rhs, rhs_at(k, n), lanes, mask,
                (along_k ? p.k.back().rhs : p.rhs_n) * byte_size(p.rhs));
}

HookArgs GemmFrame::column_args(Value* n, Value* mask) const {
  HookArgs a{.buffers = buffers, .index = batch, .lanes = s.w, .mask = mask};
  a.index.insert(a.index.end(), s.row_sizes.size(), nullptr);
  a.index.push_back(n);
  a.lane_axis = static_cast<int>(a.index.size()) - 1;
  return a;
}

GemmFrame::Columns GemmFrame::columns(Value* n, Value* mask, Value* table, int64_t table_row) {
  Columns out{n, mask, nullptr};
  if (!hooks.column) return out;
  HookArgs a = column_args(n, mask);
  for (int i = 0; table && i < hooks.tables; ++i) a.table.push_back(e.load_acc(e.at(table, i * table_row)));
  out.shared = hooks.column(e.b, a);
  return out;
}

void GemmFrame::finish(Value* acc, const GemmRow& row, const Columns& c) {
  const GemmSpec& p = s.spec;
  if (hooks.epilogue) {
    HookArgs a{.acc = acc, .buffers = buffers, .index = batch, .lanes = s.w, .mask = c.mask};
    const Values rows = unravel(e, linear(row), s.row_sizes);
    a.index.insert(a.index.end(), rows.begin(), rows.end());
    a.index.push_back(c.n);
    a.lane_axis = static_cast<int>(a.index.size()) - 1;
    a.column = c.shared.get();
    acc = hooks.epilogue(e.b, a);
    if (!acc) return;
  }
  e.store(p.out, acc, out_at(row, c.n), c.mask, p.out_n * byte_size(p.out));
}

KBlock k_block(Emit& e, const GemmShape& s, Value* index) {
  std::vector<int64_t> sizes;
  const bool has_top = s.spec.k.size() > 2;
  for (size_t i = 0; i + 3 < s.spec.k.size(); ++i) sizes.push_back(s.spec.k[i].size);
  if (has_top) sizes.push_back(s.top_blocks);
  sizes.push_back(s.mid_blocks);
  sizes.push_back(s.inner_blocks);
  KBlock k;
  k.first = unravel(e, index, sizes);
  Value*& mid = k.first[k.first.size() - 2];
  Value*& inner = k.first.back();
  auto extent = [&](Value*& at, int64_t block, int64_t size) -> Value* {
    if (block == size) {
      at = e.i64(0);
      return e.i64(size);
    }
    at = e.mul(at, block);
    return size % block == 0 ? e.i64(block) : e.min(e.i64(block), e.sub(e.i64(size), at));
  };
  if (has_top) k.top = extent(k.first[k.first.size() - 3], s.top_block, s.k_top());
  k.mid = extent(mid, s.mid_block, s.k_mid());
  k.inner = extent(inner, s.inner_block, s.k_inner());
  return k;
}

Result<ContractionPlan> plan_gemm(const GemmSpec& spec, const Target& target, std::string_view name,
                                  const ContractionHooks& hooks) {
  TRY(check(spec, target));
  return plan_of(shape_gemm(spec, target, hooked_by(hooks)), target, name);
}

Result<ContractionPlan> emit_gemm(llvm::Module& module, std::string_view name, const GemmSpec& spec,
                                  const Target& target, const ContractionHooks& hooks) {
  TRY(check(spec, target));
  const GemmShape s = shape_gemm(spec, target, hooked_by(hooks));
  ContractionPlan plan = plan_of(s, target, name);
  Emit e(module, target, spec.acc);
  const std::string n(name);
  if (s.prepack) emit_gemm_prepack(e, s, hooks, n + ".pack");
  if (s.batches == 0) {
    e.begin_kernel(n);
    e.end_function();
  } else if (s.form == GemmForm::kTiny) {
    emit_gemm_tiny(e, s, hooks, n);
  } else if (s.form == GemmForm::kColumns) {
    emit_gemm_columns(e, s, hooks, n);
  } else if (s.form == GemmForm::kDot) {
    emit_gemm_dot(e, s, hooks, n);
  } else {
    emit_gemm_tiles(e, s, hooks, n);
  }
  if (s.parts > 1) emit_gemm_sum(e, s, hooks, n + ".sum");
  return plan;
}

}  // namespace braze::codegen
