// SPDX-License-Identifier: Apache-2.0
// Rows of the binary elementwise ops.
#include <cmath>
#include <limits>

#include "ops/complex_math.h"
#include "ops/elementwise.h"

namespace braze {
namespace {

namespace math = scalar::math;
namespace cm = complex_math;
using elementwise::Complex;

template <uint32_t Classes>
Result<Shape> infer_binary(const InferContext& c) {
  TRY(expect_class(c, 0, Classes));
  TRY(expect_class(c, 1, Classes));
  TRY(expect_same_dtype(c, 0, 1, "c1"));
  return common_shape(c, c.operand(0), c.operand(1), "c1");
}

Result<Shape> infer_complex(const InferContext& c) {
  ASSIGN(Shape s, infer_binary<kFloatT>(c));
  if (s.dtype != Dtype::kF32 && s.dtype != Dtype::kF64)
    return invalid("complex: operand 0 is ", to_string(s, false), ", expected f32 or f64 elements",
                   constraint(c, "i1"));
  return s.with_dtype(complex_of(s.dtype));
}

template <Op O, uint32_t Classes>
std::unique_ptr<Module> sample_binary(std::mt19937_64& rng) {
  const Shape s = sample::shape(rng, Classes);
  return sample::module_of(O, {s, s});
}

std::unique_ptr<Module> sample_complex(std::mt19937_64& rng) {
  const Dtype t = sample::chance(rng, 0.5) ? Dtype::kF32 : Dtype::kF64;
  const Shape s = Shape::array(t, sample::dims(rng));
  return sample::module_of(Op::kComplex, {s, s});
}

template <Op O, uint32_t Classes, auto Emit, auto Real, auto Cplx = nullptr, auto Int = nullptr>
constexpr OpDef binary(std::string_view stablehlo, uint32_t traits, float cost,
                       std::string_view doc) {
  OpDef row{O, stablehlo, 2, kElementwise | traits | (cost >= 8 ? kExpensive : 0u)};
  row.infer = infer_binary<Classes>;
  row.eval = eval_elementwise<Real, Cplx, Int>;
  row.emit = lift<Emit>;
  row.cost = cost;
  row.sample = sample_binary<O, Classes>;
  row.doc = doc;
  return row;
}

// Integers. set_int wraps what these return to the width of the type; u64 values come as their
// bits.

constexpr auto kAddInt = [](Dtype t, int64_t a, int64_t b) -> int64_t {
  if (is_pred(t)) return a | b;
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
};
constexpr auto kSubtractInt = [](Dtype, int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
};
constexpr auto kMultiplyInt = [](Dtype, int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
};
// x / 0 = -1 (all ones); INT_MIN / -1 = INT_MIN.
constexpr auto kDivideInt = [](Dtype t, int64_t a, int64_t b) -> int64_t {
  if (b == 0) return -1;
  if (!is_signed_int(t))
    return static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
  return b == -1 ? static_cast<int64_t>(-static_cast<uint64_t>(a)) : a / b;
};
// x % 0 = x; INT_MIN % -1 = 0.
constexpr auto kRemainderInt = [](Dtype t, int64_t a, int64_t b) -> int64_t {
  if (b == 0) return a;
  if (!is_signed_int(t))
    return static_cast<int64_t>(static_cast<uint64_t>(a) % static_cast<uint64_t>(b));
  return b == -1 ? 0 : a % b;
};
constexpr auto kMaxInt = [](Dtype t, int64_t a, int64_t b) {
  return (is_signed_int(t) ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b)) ? b : a;
};
constexpr auto kMinInt = [](Dtype t, int64_t a, int64_t b) {
  return (is_signed_int(t) ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b)) ? a : b;
};
constexpr auto kAndInt = [](Dtype, int64_t a, int64_t b) { return a & b; };
constexpr auto kOrInt = [](Dtype, int64_t a, int64_t b) { return a | b; };
constexpr auto kXorInt = [](Dtype, int64_t a, int64_t b) { return a ^ b; };
// Wrapping power. A negative exponent leaves 1 and ±1 of bases 1 and -1, else 0.
constexpr auto kPowerInt = [](Dtype t, int64_t base, int64_t exponent) -> int64_t {
  if (is_signed_int(t) && exponent < 0) {
    if (base != 1 && base != -1) return 0;
    return base == 1 || exponent % 2 == 0 ? 1 : -1;
  }
  uint64_t b = static_cast<uint64_t>(base), e = static_cast<uint64_t>(exponent), r = 1;
  for (; e != 0; e >>= 1, b *= b)
    if (e & 1) r *= b;
  return static_cast<int64_t>(r);
};

// Shift amounts are read as unsigned: a negative one is at least the width.
bool shifts_out(Dtype t, int64_t amount) {
  return static_cast<uint64_t>(amount) >= static_cast<uint64_t>(bit_size(t));
}
constexpr auto kShiftLeftInt = [](Dtype t, int64_t a, int64_t n) -> int64_t {
  return shifts_out(t, n) ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << n);
};
constexpr auto kShiftRightLInt = [](Dtype t, int64_t a, int64_t n) -> int64_t {
  if (shifts_out(t, n)) return 0;
  const int unused = 64 - bit_size(t);
  return static_cast<int64_t>(static_cast<uint64_t>(a) << unused >> unused >> n);
};
// Copies the topmost bit of the type, whether it is signed or not.
constexpr auto kShiftRightAInt = [](Dtype t, int64_t a, int64_t n) -> int64_t {
  const int unused = 64 - bit_size(t);
  const int64_t extended = static_cast<int64_t>(static_cast<uint64_t>(a) << unused) >> unused;
  return extended >> (shifts_out(t, n) ? 63 : n);
};
// High half of the double-width product.
constexpr auto kMulhiInt = [](Dtype t, int64_t a, int64_t b) -> int64_t {
  __extension__ using Wide = __int128;
  __extension__ using UnsignedWide = unsigned __int128;
  if (is_signed_int(t)) return static_cast<int64_t>((static_cast<Wide>(a) * b) >> bit_size(t));
  return static_cast<int64_t>(
      (static_cast<UnsignedWide>(static_cast<uint64_t>(a)) * static_cast<uint64_t>(b)) >>
      bit_size(t));
};

// Floats.

// NaN wins; -0 < +0.
constexpr auto kMaxReal = [](double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
};
constexpr auto kMinReal = [](double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) ? a : b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
};
bool has_nan(Complex z) { return std::isnan(z.real()) || std::isnan(z.imag()); }
constexpr auto kMaxComplex = [](Complex a, Complex b) {
  if (has_nan(a) || has_nan(b)) return has_nan(a) ? a : b;
  return cm::less(a, b) ? b : a;
};
constexpr auto kMinComplex = [](Complex a, Complex b) {
  if (has_nan(a) || has_nan(b)) return has_nan(a) ? a : b;
  return cm::less(b, a) ? b : a;
};

scalar::Value emit_maximum(scalar::Graph& g, Dtype t, math::Args args) {
  return emit_extreme(g, t, args, /*greater=*/true);
}
scalar::Value emit_minimum(scalar::Graph& g, Dtype t, math::Args args) {
  return emit_extreme(g, t, args, /*greater=*/false);
}

// The real and imaginary parts are stored as they are, whatever their NaNs.
Result<Literal> eval_complex(const EvalContext& c) {
  Literal out(eval_shape(c, c.operand(0).shape().dims));
  TRY(expect_elements(c, out.elements()));
  for (int64_t i = 0; i < out.elements(); ++i)
    out.set_complex(i, {c.operand(0).get_float(i), c.operand(1).get_float(i)});
  return out;
}

constexpr OpDef complex_row() {
  OpDef row{Op::kComplex, "complex", 2, kElementwise};
  row.infer = infer_complex;
  row.eval = eval_complex;
  row.emit = lift<math::complex>;
  row.sample = sample_complex;
  row.doc = "Complex number of a real and an imaginary part.";
  return row;
}

constexpr uint32_t kFC = kFloatT | kComplexT;
constexpr uint32_t kLattice = kCommutative | kAssociative;

constexpr OpDef kRows[] = {
    binary<Op::kAdd, kAnyT, math::add, [](double a, double b) { return a + b; },
           [](Complex a, Complex b) { return a + b; }, kAddInt>("add", kLattice, 1,
                                                                "Sum; integers wrap; or of pred."),
    binary<Op::kAnd, kBitsT, math::and_, nullptr, nullptr, kAndInt>("and", kLattice, 1,
                                                                    "Bitwise and."),
    binary<Op::kAtan2, kFC, math::atan2, [](auto y, auto x) { return std::atan2(y, x); },
           [](auto y, auto x) { return cm::atan2(y, x); }>(
        "atan2", 0, 25, "Angle of the point (rhs, lhs), in (-pi, pi]."),
    complex_row(),
    binary<Op::kDivide, kNumberT, math::divide, [](double a, double b) { return a / b; },
           [](auto a, auto b) { return cm::divide(a, b); }, kDivideInt>(
        "divide", 0, 8, "Quotient; integers truncate, x / 0 = -1, INT_MIN / -1 = INT_MIN."),
    binary<Op::kMaximum, kAnyT, emit_maximum, kMaxReal, kMaxComplex, kMaxInt>(
        "maximum", kLattice, 1, "Greater one; NaN wins, -0 < +0; complex ordered (real, imag)."),
    binary<Op::kMinimum, kAnyT, emit_minimum, kMinReal, kMinComplex, kMinInt>(
        "minimum", kLattice, 1, "Lesser one; NaN wins, -0 < +0; complex ordered (real, imag)."),
    binary<Op::kMulhi, kIntT, math::mulhi, nullptr, nullptr, kMulhiInt>(
        "", kCommutative, 3, "High half of the product of integers."),
    binary<Op::kMultiply, kAnyT, math::multiply, [](double a, double b) { return a * b; },
           [](auto a, auto b) { return cm::multiply(a, b); }, kMultiplyInt>(
        "multiply", kLattice, 1, "Product; integers wrap; and of pred."),
    binary<Op::kOr, kBitsT, math::or_, nullptr, nullptr, kOrInt>("or", kLattice, 1, "Bitwise or."),
    binary<Op::kPower, kNumberT, math::power, [](auto a, auto b) { return std::pow(a, b); },
           [](auto a, auto b) { return cm::power(a, b); }, kPowerInt>(
        "power", 0, 30, "lhs to the power rhs; integers wrap, and give 0 for a negative power."),
    binary<Op::kRemainder, kRealT, math::remainder,
           [](double a, double b) { return std::fmod(a, b); }, nullptr, kRemainderInt>(
        "remainder", 0, 10,
        "Remainder with the sign of lhs; x % 0 = x of integers, NaN of floats."),
    binary<Op::kShiftLeft, kIntT, math::shift_left, nullptr, nullptr, kShiftLeftInt>(
        "shift_left", 0, 1, "Shift left; 0 from the width on."),
    binary<Op::kShiftRightA, kIntT, math::shift_right_a, nullptr, nullptr, kShiftRightAInt>(
        "shift_right_arithmetic", 0, 1, "Shift right with copies of the topmost bit."),
    binary<Op::kShiftRightL, kIntT, math::shift_right_l, nullptr, nullptr, kShiftRightLInt>(
        "shift_right_logical", 0, 1, "Shift right with zeros; 0 from the width on."),
    binary<Op::kSubtract, kNumberT, math::subtract, [](double a, double b) { return a - b; },
           [](Complex a, Complex b) { return a - b; }, kSubtractInt>("subtract", 0, 1,
                                                                     "Difference; integers wrap."),
    binary<Op::kXor, kBitsT, math::xor_, nullptr, nullptr, kXorInt>("xor", kLattice, 1,
                                                                    "Bitwise exclusive or."),
};

}  // namespace

absl::Span<const OpDef> binary_rows() { return kRows; }

}  // namespace braze
