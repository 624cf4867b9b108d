// SPDX-License-Identifier: Apache-2.0
// convolution of any rank with arbitrary dimension numbers, groups, dilations, reversal and padding
// of either sign. The reference multiplies and adds in the types of wide.h.
#include "ops/contraction_rules.h"
#include "ops/dim_rules.h"
#include "ops/sampling.h"
#include "ops/window_math.h"

namespace braze {
namespace {

Dims with_roles(int64_t first, int64_t second, const Dims& spatial) {
  return joined({first, second}, spatial);
}

Status check_conv_dims(const ConvAttrs& a, int64_t n) {
  const ConvDims& d = a.dims;
  const auto spatial = n - 2;
  TRY(check_equal("stablehlo.convolution (C2, C4)", "rank of the window",
                  static_cast<int64_t>(a.window.size()), spatial));
  TRY(check_equal("stablehlo.convolution (C12)", "number of input spatial dimensions",
                  static_cast<int64_t>(d.input_spatial.size()), spatial));
  TRY(check_equal("stablehlo.convolution (C17)", "number of kernel spatial dimensions",
                  static_cast<int64_t>(d.kernel_spatial.size()), spatial));
  TRY(check_equal("stablehlo.convolution (C19)", "number of output spatial dimensions",
                  static_cast<int64_t>(d.output_spatial.size()), spatial));
  const Dims input = with_roles(d.input_batch, d.input_feature, d.input_spatial);
  const Dims kernel = with_roles(d.kernel_input, d.kernel_output, d.kernel_spatial);
  const Dims output = with_roles(d.output_batch, d.output_feature, d.output_spatial);
  TRY(check_unique("stablehlo.convolution (C13)", "input dimensions", input));
  TRY(check_range("stablehlo.convolution (C13)", "input dimensions", input, n));
  TRY(check_unique("stablehlo.convolution (C18)", "kernel dimensions", kernel));
  TRY(check_range("stablehlo.convolution (C18)", "kernel dimensions", kernel, n));
  TRY(check_unique("stablehlo.convolution (C20)", "output dimensions", output));
  TRY(check_range("stablehlo.convolution (C20)", "output dimensions", output, n));
  return absl::OkStatus();
}

Status check_groups(const ConvAttrs& a, const Shape& lhs, const Shape& rhs) {
  if (a.feature_groups <= 0)
    return law("stablehlo.convolution (C21)", "feature_group_count must be positive, got ",
               a.feature_groups);
  if (a.batch_groups <= 0)
    return law("stablehlo.convolution (C22)", "batch_group_count must be positive, got ",
               a.batch_groups);
  if (a.feature_groups > 1 && a.batch_groups > 1)
    return law("stablehlo.convolution (C23)",
               "feature_group_count and batch_group_count can't both exceed 1");
  if (!a.precision.empty() && a.precision.size() != 2)
    return law("stablehlo.convolution (C24)", "precision must have 2 entries, has ",
               a.precision.size());
  const int64_t batch = lhs.dims[a.dims.input_batch], feature = lhs.dims[a.dims.input_feature];
  const int64_t in = rhs.dims[a.dims.kernel_input], out = rhs.dims[a.dims.kernel_output];
  auto divides = [](std::string_view rule, std::string_view what, int64_t size, int64_t groups) {
    if (size == kUnknownDim || size % groups == 0) return Status();
    return law(rule, what, " (", size, ") must be a multiple of the group count ", groups);
  };
  TRY(divides("stablehlo.convolution (C10)", "input batch", batch, a.batch_groups));
  TRY(divides("stablehlo.convolution (C11)", "input feature", feature, a.feature_groups));
  TRY(divides("stablehlo.convolution (C15)", "kernel output feature", out, a.batch_groups));
  TRY(divides("stablehlo.convolution (C16)", "kernel output feature", out, a.feature_groups));
  if (feature != kUnknownDim && !sizes_agree(in, feature / a.feature_groups) &&
      !lhs.is_dynamic(a.dims.input_feature))
    return law("stablehlo.convolution (C14)", "kernel input feature (", in,
               ") must be input feature (", feature, ") / feature_group_count (", a.feature_groups,
               ")");
  return absl::OkStatus();
}

Status check_conv_quantization(const ConvDims& d, const Shape& lhs, const Shape& rhs,
                               const Shape& out) {
  if (!lhs.quant && !rhs.quant) return absl::OkStatus();
  if (!rhs.quant || (lhs.quant != nullptr) != (out.quant != nullptr))
    return law("stablehlo.convolution (C28)",
               "rhs must be quantized, and lhs exactly if the result is");
  if (rhs.quant->axis >= 0 && rhs.quant->axis != d.kernel_output)
    return law("stablehlo.convolution (C29)",
               "rhs must be quantized along its output feature dimension");
  if (!lhs.quant) {
    if (lhs.dtype != rhs.quant->expressed || out.dtype != lhs.dtype)
      return law("stablehlo.convolution (C34)", "lhs and the result must have rhs' expressed type ",
                 name(rhs.quant->expressed));
    return absl::OkStatus();
  }
  if (out.quant->axis >= 0 && out.quant->axis != d.output_feature)
    return law("stablehlo.convolution (C30)",
               "the result must be quantized along its feature dimension");
  if (lhs.dtype != rhs.dtype)
    return law("stablehlo.convolution (C31)", "storage types differ: ", name(lhs.dtype), " and ",
               name(rhs.dtype));
  if (lhs.quant->expressed != rhs.quant->expressed || out.quant->expressed != lhs.quant->expressed)
    return law("stablehlo.convolution (C32)", "expressed types differ");
  if (rhs.quant->axis < 0 && out.quant->axis >= 0)
    return law("stablehlo.convolution (C33)",
               "the result of per-tensor operands must be per-tensor");
  return absl::OkStatus();
}

Result<Shape> infer_conv(const InferContext& ctx) {
  TRY(check_form<ConvAttrs>(ctx, 2));
  TRY(check_arrays(ctx, 0, 2));
  const auto& a = ctx.as<ConvAttrs>();
  const Shape &lhs = ctx.operand(0), &rhs = ctx.operand(1);
  const int64_t n = lhs.rank();
  if (n < 2 || rhs.rank() != n)
    return law("stablehlo.convolution (C1)", "operands must have one rank of at least 2, got ",
               to_string(lhs, false), " and ", to_string(rhs, false));
  TRY(check_conv_dims(a, n));
  TRY(check_groups(a, lhs, rhs));
  ASSIGN(Shape out, contraction_element("stablehlo.convolution (C27)", lhs, rhs, ctx.proposed));
  out.dims.assign(n, 0);
  if (lhs.has_bounded_dim() || rhs.has_bounded_dim()) out.dynamic.assign(n, false);
  auto put = [&](int64_t at, int64_t size, bool dynamic) {
    out.dims[at] = size;
    if (dynamic) out.dynamic[at] = true;
  };
  const ConvDims& d = a.dims;
  const int64_t batch = lhs.dims[d.input_batch];
  put(d.output_batch, batch == kUnknownDim ? batch : batch / a.batch_groups,
      lhs.is_dynamic(d.input_batch));
  put(d.output_feature, rhs.dims[d.kernel_output], rhs.is_dynamic(d.kernel_output));
  for (int64_t i = 0; i < n - 2; ++i) {
    const int64_t size = rhs.dims[d.kernel_spatial[i]];
    if (!sizes_agree(a.window[i].size, size) && !rhs.is_dynamic(d.kernel_spatial[i]))
      return law("stablehlo.convolution (C25)", "window size ", a.window[i].size,
                 " differs from kernel spatial dimension ", i, " (", size, ")");
    ASSIGN(const int64_t positions,
           window_positions("stablehlo.convolution (C3, C6, C8)", lhs.dims[d.input_spatial[i]],
                            a.window[i], size));
    put(d.output_spatial[i], positions, lhs.is_dynamic(d.input_spatial[i]));
  }
  TRY(check_conv_quantization(d, lhs, rhs, out));
  return out;
}

// Pairs of offsets (into the input's and the kernel's spatial part) that meet at one output
// position.
struct Pairs {
  std::vector<int64_t> input, kernel;
};

Pairs pairs_at(const ConvAttrs& a, const Shape& lhs, const Shape& rhs, DimSpan position) {
  const Dims lhs_step = strides(lhs.dims), rhs_step = strides(rhs.dims);
  Pairs p{{0}, {0}};
  for (size_t d = 0; d < a.window.size(); ++d) {
    const int64_t ld = a.dims.input_spatial[d], rd = a.dims.kernel_spatial[d], size = rhs.dims[rd];
    const Taps t = taps_at(position[d], lhs.dims[ld], a.window[d], size);
    Pairs next;
    for (size_t i = 0; i < p.input.size(); ++i)
      for (int64_t k = 0; k < t.count; ++k) {
        const int64_t at = t.k0 + k * t.dk;
        next.input.push_back(p.input[i] + (t.j0 + k * t.dj) * lhs_step[ld]);
        next.kernel.push_back(p.kernel[i] +
                              (a.window[d].reversal ? size - 1 - at : at) * rhs_step[rd]);
      }
    p = std::move(next);
  }
  return p;
}

template <typename T>
void convolve(const ConvAttrs& a, const Literal& lhs, const Literal& rhs, Literal& out) {
  const Shape &ls = lhs.shape(), &rs = rhs.shape(), &os = out.shape();
  const ConvDims& d = a.dims;
  const std::vector<T> l = widen<T>(lhs), r = widen<T>(rhs);
  const Dims ls_step = strides(ls.dims), rs_step = strides(rs.dims), os_step = strides(os.dims);
  const int64_t batches = os.dims[d.output_batch], features = os.dims[d.output_feature];
  const int64_t depth = rs.dims[d.kernel_input];
  const int64_t per_feature_group = features / a.feature_groups;
  const int64_t per_batch_group = features / a.batch_groups;
  const int64_t ls_feature = ls_step[d.input_feature], rs_input = rs_step[d.kernel_input];
  Dims positions;
  for (int64_t s : d.output_spatial) positions.push_back(os.dims[s]);
  Dims position(positions.size(), 0);
  do {
    const Pairs p = pairs_at(a, ls, rs, position);
    int64_t base = 0;
    for (size_t k = 0; k < position.size(); ++k) base += position[k] * os_step[d.output_spatial[k]];
    for (int64_t b = 0; b < batches; ++b)
      for (int64_t f = 0; f < features; ++f) {
        const int64_t batch = f / per_batch_group * batches + b;
        const T* x = l.data() + batch * ls_step[d.input_batch] +
                     f / per_feature_group * depth * ls_feature;
        const T* y = r.data() + f * rs_step[d.kernel_output];
        T sum{};
        for (size_t i = 0; i < p.input.size(); ++i) {
          const T *xi = x + p.input[i], *yi = y + p.kernel[i];
          for (int64_t c = 0; c < depth; ++c)
            sum = wide_add<T>(sum, wide_mul<T>(xi[c * ls_feature], yi[c * rs_input]));
        }
        store_wide<T>(out, base + b * os_step[d.output_batch] + f * os_step[d.output_feature], sum);
      }
  } while (next_index(absl::MakeSpan(position), positions));
}

Result<Literal> eval_conv(const EvalContext& ctx) {
  ASSIGN(const Shape shape, actual_shape(ctx));
  Literal out(shape);
  if (out.elements() == 0) return out;
  const auto& a = ctx.as<ConvAttrs>();
  int64_t terms = ctx.operand(1).shape().dims[a.dims.kernel_input];
  for (int64_t d : a.dims.kernel_spatial) terms *= ctx.operand(1).shape().dims[d];
  with_sum_type(shape.dtype, terms, [&](auto zero) {
    convolve<decltype(zero)>(a, ctx.operand(0), ctx.operand(1), out);
  });
  return out;
}

std::unique_ptr<Module> sample_conv(std::mt19937_64& rng) {
  Sampler s(rng, "convolution");
  const int64_t spatial = s.uniform(0, 3), n = spatial + 2;
  ConvAttrs a;
  const int64_t groups = s.pick({1, 1, 2, 3});
  (s.chance(0.5) ? a.feature_groups : a.batch_groups) = groups;
  auto roles = [&](int64_t& first, int64_t& second, Dims& rest) {
    const Dims p = s.permutation(n);
    first = p[0];
    second = p[1];
    rest.assign(p.begin() + 2, p.end());
  };
  roles(a.dims.input_batch, a.dims.input_feature, a.dims.input_spatial);
  roles(a.dims.kernel_input, a.dims.kernel_output, a.dims.kernel_spatial);
  roles(a.dims.output_batch, a.dims.output_feature, a.dims.output_spatial);
  Dims lhs(n), rhs(n);
  const int64_t depth = s.uniform(1, 3);
  lhs[a.dims.input_batch] = s.uniform(1, 3) * a.batch_groups;
  lhs[a.dims.input_feature] = depth * a.feature_groups;
  rhs[a.dims.kernel_input] = depth;
  rhs[a.dims.kernel_output] = s.uniform(1, 3) * groups;
  for (int64_t d = 0; d < spatial; ++d) {
    WindowDim w;
    w.size = s.uniform(1, 3);
    w.stride = s.uniform(1, 2);
    w.pad_low = s.uniform(-1, 2);
    w.pad_high = s.uniform(-1, 2);
    if (s.chance(0.3)) w.window_dilation = s.uniform(1, 3);
    if (s.chance(0.3)) w.base_dilation = s.uniform(1, 3);
    w.reversal = s.chance(0.2);
    a.window.push_back(w);
    lhs[a.dims.input_spatial[d]] = s.uniform(1, 6);
    rhs[a.dims.kernel_spatial[d]] = w.size;
  }
  const Dtype t = s.pick({Dtype::kF32, Dtype::kF32, Dtype::kF64, Dtype::kBF16, Dtype::kF16,
                          Dtype::kS32, Dtype::kS8, Dtype::kC64});
  s.root(Op::kConvolution, {s.parameter(Shape::array(t, lhs)), s.parameter(Shape::array(t, rhs))},
         a);
  return s.finish();
}

}  // namespace

absl::Span<const OpDef> conv_rows() {
  static const OpDef rows[] = {
      {.op = Op::kConvolution,
       .stablehlo = "convolution",
       .arity = 2,
       .attrs = attrs_index<ConvAttrs>(),
       .infer = infer_conv,
       .eval = eval_conv,
       .nest = Nest::kConvolution,
       .cost = 2,
       .sample = sample_conv,
       .doc = "Dot products of windows of lhs with slices of rhs."},
  };
  return rows;
}

}  // namespace braze
