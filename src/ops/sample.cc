// SPDX-License-Identifier: Apache-2.0
#include "ops/sample.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/builder.h"

namespace braze {

std::string class_names(uint32_t classes) {
  static constexpr std::pair<uint32_t, std::string_view> kNames[] = {
      {kPredT, "boolean"},          {kIntT, "integer"},
      {kSignedT, "signed integer"}, {kUnsignedT, "unsigned integer"},
      {kFloatT, "floating-point"},  {kComplexT, "complex"}};
  std::string out;
  for (auto [set, text] : kNames) {
    if ((classes & set) != set) continue;
    classes &= ~set;
    absl::StrAppend(&out, out.empty() ? "" : classes == 0 ? " or " : ", ", cat_piece(text));
  }
  return out;
}

namespace sample {

int64_t pick(Rng& rng, int64_t lo, int64_t hi) {
  return std::uniform_int_distribution<int64_t>(lo, hi)(rng);
}

bool chance(Rng& rng, double p) { return std::bernoulli_distribution(p)(rng); }

Dtype dtype(Rng& rng, uint32_t classes) {
  static constexpr Dtype kCommon[] = {Dtype::kF32, Dtype::kF64, Dtype::kBF16, Dtype::kF16,
                                      Dtype::kS32, Dtype::kS64, Dtype::kU8,   Dtype::kU32,
                                      Dtype::kS8,  Dtype::kC64, Dtype::kPred, Dtype::kU64};
  constexpr int kAll = static_cast<int>(Dtype::kTuple);
  for (;;) {
    Dtype t = chance(rng, 0.7) ? kCommon[pick(rng, 0, std::size(kCommon) - 1)]
                               : static_cast<Dtype>(pick(rng, 0, kAll - 1));
    if (in_class(t, classes)) return t;
  }
}

Dims dims(Rng& rng, int64_t min_rank, int64_t max_rank) {
  static constexpr int64_t kSizes[] = {1, 1, 2, 3, 3, 4, 5, 7, 8, 13, 16, 17};
  Dims d;
  const int64_t rank = pick(rng, min_rank, max_rank);
  for (int64_t left = 2000, i = 0; i < rank; ++i) {
    int64_t size = chance(rng, 0.02) ? 0 : kSizes[pick(rng, 0, std::size(kSizes) - 1)];
    if (size > left) size = 1;
    if (size > 1) left /= size;
    d.push_back(size);
  }
  return d;
}

Shape shape(Rng& rng, uint32_t classes, int64_t min_rank, int64_t max_rank) {
  const Dtype t = dtype(rng, classes);
  return Shape::array(t, dims(rng, min_rank, max_rank));
}

Dims permutation(Rng& rng, int64_t n) {
  Dims p;
  for (int64_t i = 0; i < n; ++i) p.push_back(i);
  std::shuffle(p.begin(), p.end(), rng);
  return p;
}

namespace {

double number(Rng& rng, bool specials) {
  static const double kSpecial[] = {0.0, -0.0, INFINITY, -INFINITY, std::nan(""), 1.0, -1.0, 0.5};
  if (specials && chance(rng, 0.15)) return kSpecial[pick(rng, 0, std::size(kSpecial) - 1)];
  const double v = std::uniform_real_distribution<double>(-1, 1)(rng);
  return std::ldexp(v, static_cast<int>(pick(rng, -3, 4)));
}

}  // namespace

Literal literal(Rng& rng, const Shape& s, bool specials) {
  Literal out(s);
  if (s.is_tuple())
    for (size_t i = 0; i < s.tuple.size(); ++i)
      out.mutable_parts()[i] = literal(rng, s.tuple[i], specials);
  const int64_t n = s.is_array() ? out.elements() : 0;
  for (int64_t i = 0; i < n; ++i) {
    if (is_complex(s.dtype)) {
      const double re = number(rng, specials), im = number(rng, specials);
      out.set_complex(i, {re, im});
    } else if (is_float(s.dtype)) {
      out.set_float(i, number(rng, specials));
    } else if (specials && chance(rng, 0.2)) {
      out.set_int(i, static_cast<int64_t>(rng()));
    } else {
      out.set_int(i, pick(rng, is_signed_int(s.dtype) ? -9 : 0, 9));
    }
  }
  return out;
}

std::unique_ptr<Module> module_of(Op op, absl::Span<const Shape> params, Attrs attrs,
                                  const Shape* result) {
  auto m = std::make_unique<Module>("sample");
  Computation* c = m->add_computation("main");
  m->set_entry(c);
  Builder b(c);
  std::vector<Instr*> operands;
  for (size_t i = 0; i < params.size(); ++i)
    operands.push_back(b.parameter(static_cast<int64_t>(i), params[i]));
  c->set_root(result ? b.op_shaped(op, *result, operands, std::move(attrs))
                     : b.op(op, operands, std::move(attrs)));
  return b.status().ok() ? std::move(m) : nullptr;
}

}  // namespace sample
}  // namespace braze
