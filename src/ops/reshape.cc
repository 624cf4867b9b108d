// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/reshape.h"

#include "ops/bitcast.h"
#include "ops/elementwise.h"

namespace braze::reshape {

using scalar::Graph;
using scalar::Scalar;
using scalar::Value;

namespace {

using Index = absl::InlinedVector<Scalar, 6>;

// Row-major position of index[begin, end) in dims[begin, end); size-1 dimensions add nothing.
Scalar linearize(Graph& g, Dtype t, absl::Span<const Scalar> index, DimSpan dims) {
  Scalar position;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    position = position ? g.add(g.mul(position, g.constant_int(t, dims[i])), index[i]) : index[i];
  }
  return position ? position : g.constant_int(t, 0);
}

// Fills out with the index in dims of a row-major position.
void delinearize(Graph& g, Dtype t, Scalar position, DimSpan dims, absl::Span<Scalar> out) {
  size_t first = 0;
  while (first < dims.size() && dims[first] == 1) out[first++] = g.constant_int(t, 0);
  for (size_t i = dims.size(); i-- > first;) {
    if (dims[i] == 1) {
      out[i] = g.constant_int(t, 0);
    } else if (i == first) {
      out[i] = position;
    } else {
      const Scalar size = g.constant_int(t, dims[i]);
      out[i] = g.rem(position, size);
      position = g.div(position, size);
    }
  }
}

}  // namespace

absl::InlinedVector<Scalar, 6> map_index(Graph& g, Dtype t, absl::Span<const Scalar> index,
                                         DimSpan from, DimSpan to) {
  Index out(to.size());
  if (product(to) == 0) {
    for (Scalar& s : out) s = g.constant_int(t, 0);
    return out;
  }
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    const size_t i0 = i, j0 = j;
    int64_t a = 1, b = 1;
    do {
      // Trailing size-1 dimensions of either side join the last group.
      if (j == to.size() || (i < from.size() && a <= b))
        a *= from[i++];
      else
        b *= to[j++];
    } while (a != b && (i < from.size() || j < to.size()));
    const Scalar position = linearize(g, t, index.subspan(i0, i - i0), from.subspan(i0, i - i0));
    delinearize(g, t, position, to.subspan(j0, j - j0), absl::MakeSpan(out).subspan(j0, j - j0));
  }
  return out;
}

Result<Shape> infer(const InferContext& c) {
  TRY(expect_class(c, 0, kAnyT));
  if (c.proposed == nullptr) return invalid("reshape: the result shape must be stated");
  const Shape& x = c.operand(0);
  Shape out = *c.proposed;
  if (out.dtype != x.dtype)
    return invalid("reshape: element types of operand ", to_string(x, false), " and result ",
                   to_string(out, false), " differ (reshape_c1)");
  if (x.is_static() && out.is_static() && x.elements() != out.elements())
    return invalid("reshape: operand ", to_string(x, false), " has ", x.elements(),
                   " elements, result ", to_string(out, false), " has ", out.elements(),
                   " (reshape_c2)");
  if (!out.quant) out.quant = x.quant;
  return out;
}

// The sizes of a result with several bounded dimensions: dimensions fall into groups of equal products of bounds,
// and in each group one bounded dimension of the result takes what the value has there. False: not told so.
bool sizes_by_group(DimSpan bounds, DimSpan sizes, Shape* s) {
  Dims out(s->dims);
  size_t i = 0, j = 0;
  while (i < bounds.size() || j < s->dims.size()) {
    int64_t a = 1, b = 1, size = 1, rest = 1, open = -1;
    do {
      if (j == s->dims.size() || (i < bounds.size() && a <= b)) {
        size *= sizes[i];
        a *= bounds[i++];
        continue;
      }
      if (!s->is_dynamic(static_cast<int64_t>(j))) rest *= s->dims[j];
      else if (open >= 0) return false;
      else open = static_cast<int64_t>(j);
      b *= s->dims[j++];
    } while (a != b && (i < bounds.size() || j < s->dims.size()));
    if (open >= 0) out[open] = rest > 0 ? size / rest : 0;
  }
  if (product(out) != product(sizes)) return false;
  s->dims = out;
  s->dynamic.clear();
  return true;
}

Result<Literal> eval(const EvalContext& c) {
  Shape s = c.instr.shape;
  s.layout.clear();
  if (!s.is_static()) return invalid("reshape: the result shape is not known");
  int64_t n = c.operand(0).elements();
  if (s.elements() != n && std::count(s.dynamic.begin(), s.dynamic.end(), true) > 1)
    sizes_by_group(c.instr.operand(0)->shape.dims, c.operand(0).shape().dims, &s);
  if (s.elements() != n && std::count(s.dynamic.begin(), s.dynamic.end(), true) == 1) {
    // A bounded dimension takes the size that the value's elements leave for it.
    size_t d = static_cast<size_t>(std::find(s.dynamic.begin(), s.dynamic.end(), true) - s.dynamic.begin());
    s.dims[d] = 1;
    int64_t rest = s.elements();
    s.dims[d] = rest > 0 ? n / rest : 0;
    s.dynamic.clear();
  }
  if (s.elements() != n)
    return invalid("reshape: a value of ", c.operand(0).elements(), " elements given for ",
                   to_string(s, false));
  return c.operand(0).reshaped(s);
}

Value index(const IndexContext& c) {
  const Index at =
      map_index(c.g, c.index_type, c.index, c.instr.shape.dims, c.instr.operand(0)->shape.dims);
  return c.operand(0, at, c.condition);
}

// Merges, splits and adds or drops size-1 dimensions at random.
std::unique_ptr<Module> sample_reshape(std::mt19937_64& rng) {
  const Shape s = sample::shape(rng, kAnyT);
  Dims dims;
  int64_t n = 1;
  for (int64_t d : s.dims) {
    n *= d;
    if (sample::chance(rng, 0.4)) continue;
    for (int64_t f : {4, 3, 2})
      if (n > f && n % f == 0 && sample::chance(rng, 0.5)) {
        dims.push_back(f);
        n /= f;
      }
    dims.push_back(n);
    n = 1;
    if (sample::chance(rng, 0.2)) dims.push_back(1);
  }
  if (n != 1) dims.push_back(n);
  const Shape out = Shape::array(s.dtype, dims);
  return sample::module_of(Op::kReshape, {s}, NoAttrs{}, &out);
}

Result<Shape> infer_bitcast(const InferContext& c) {
  TRY(expect_class(c, 0, kAnyT));
  if (c.proposed == nullptr) return invalid("bitcast: the result shape must be stated");
  const Shape &x = c.operand(0), &y = *c.proposed;
  if (!y.is_array() || bit_size(x.dtype) != bit_size(y.dtype) ||
      is_complex(x.dtype) != is_complex(y.dtype))
    return invalid("bitcast: ", to_string(x, false), " to ", to_string(y, false),
                   ": elements differ in width or kind");
  if (x.is_static() && y.is_static() && x.elements() != y.elements())
    return invalid("bitcast: ", to_string(x, false), " to ", to_string(y, false),
                   ": numbers of elements differ");
  return y;
}

Result<Literal> eval_bitcast(const EvalContext& c) {
  const Literal& x = c.operand(0);
  Shape s = c.instr.shape;
  s.layout.clear();
  if (!s.is_static() || s.elements() != x.elements())
    return invalid("bitcast: a value of ", x.elements(), " elements given for ",
                   to_string(s, false));
  if (s.dtype == x.dtype()) return x.reshaped(s);
  Literal out(s);
  bitcast_elements(out, x);
  return out;
}

Value index_bitcast(const IndexContext& c) {
  const Value v = index(c);
  const Dtype from = c.instr.operand(0)->shape.dtype, to = c.instr.shape.dtype;
  return from == to ? v : scalar::math::bitcast_convert(c.g, from, to, {v});
}

std::unique_ptr<Module> sample_bitcast(std::mt19937_64& rng) {
  const Shape s = sample::shape(rng, kAnyT);
  const Shape out = Shape::array(s.dtype, {s.elements()});
  return sample::module_of(Op::kBitcast, {s}, NoAttrs{}, &out);
}

}  // namespace braze::reshape
