// SPDX-License-Identifier: Apache-2.0
// erfc, erf_inv and bessel_i1e by polynomials, one set for f32 and one for f64.
//
// Unless said otherwise each polynomial interpolates the exact function at Chebyshev points of an interval mapped to [-1, 1];
// its relative error is within about one unit of the type's last place, a few for bessel_i1e.
#include <limits>

#include "frontend/chlo_math.h"

namespace braze::chlo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// (1 + 2x)·exp(x²)·erfc(x) for x ≥ 1/2, in t = (x − 2)/(x + 2) ∈ [−0.6, 1].
constexpr double kErfc64[] = {
    3.2153730381604837e-10, -1.5478425302182687e-10, -3.5015822443421038e-09,
    -8.8861390171284289e-10, 1.786470903773612e-08, 2.1251942078357981e-08, -4.77302572216514e-08,
    -1.5062456059329875e-07, -2.0029851191667562e-08, 6.5235960636409499e-07,
    1.0582999603680017e-06, -1.8155474032880106e-06, -7.9056911102838066e-06,
    9.1288136236335598e-07, 4.6838436745351142e-05, 3.2176076925329189e-05,
    -0.00028891915900258655, -0.00030216486053491519, 0.0022691892004457308,
    0.00091023160565244894, -0.023282702722331034, 0.060876965692390046, -0.051865635818310718,
    -0.11301758843715128, 1.2530080582697296};
constexpr double kErfc32[] = {
    2.97835995e-05, 2.93225767e-05, -0.000273291284, -0.000298019033, 0.0022626298,
    0.000908199698, -0.0232815556, 0.0608773455, -0.0518656932, -0.113017611, 1.25300801};

// erf⁻¹(x)/x in w = −log(1 − x²), after M. Giles, "Approximating the erfinv function" (2010): up to a
// bound in w, beyond it in √w.
constexpr double kErfInvCentre64[] = {
    -2.362369698566107e-22, -1.678733061525677e-19, 1.1027771591500033e-18,
    1.1125794759379466e-17, -1.290702354613073e-16, 2.166994626283574e-17, 6.581955305929239e-15,
    -4.055413974688601e-14, -8.106594456438496e-14, 2.6335724924608484e-12,
    -1.2977505202014966e-11, -5.4154417754696635e-11, 1.0512202440121784e-09,
    -4.112633104297614e-09, -2.9070386660191428e-08, 4.2347877672780653e-07,
    -1.365469179659207e-06, -1.3882523361276876e-05, 0.0001867342080212427,
    -0.0007407025341669402, -0.006033670871427011, 0.24015818242558973, 1.6536545626831027};
// erf⁻¹(x)/x − 1 where w ≤ 1.5, in w − 0.75: small beside 1, and so are its roundings.
constexpr double kErfInvNear64[] = {
    1.8257563777399548e-14,  -1.6278031724563116e-12, 1.8080856817865825e-12,
    7.097362708237488e-11,   -1.959034149220502e-10,  -2.780003828394604e-09,
    1.3417668539520759e-08,  1.0031289846238287e-07,  -7.906310472822588e-07,
    -3.0827869117563987e-06, 4.3770081093285776e-05,  4.870272957352424e-05,
    -0.0024513632610712777,  0.006064325224756784,    0.24525645884395372,
    0.06571932901269968};
constexpr double kErfInvMiddle64[] = {
    -3.831039946072411e-10, 9.071950571029922e-08, -2.6860975725571463e-07, 1.832399988132858e-08,
    1.4958263152984919e-06, -4.013946398190292e-06, 2.9273722115986924e-06,
    1.2475343474376931e-05, -4.731952918337189e-05, 6.828484052292922e-05, 2.403136324544055e-05,
    -0.0003550375186306976, 0.0009532893521118177, -0.0016882755561681802, 0.002491442097619881,
    -0.003751208507563854, 0.0053709145535581985, 1.0052589676941592, 3.0838856104922208};
constexpr double kErfInvTail64[] = {
    5.4301418627733874e-11, -1.0769842882860317e-11, -6.3447749054931519e-10,
    2.0123825970460731e-09, -4.3815271308822164e-09, 9.1469588200925207e-09,
    -1.7637384614724137e-08, 3.3155082315913406e-08, -7.8166493858513766e-08,
    2.7016289276729294e-07, -1.1635060791541834e-06, 5.1898850173884902e-06,
    -2.1988873317512691e-05, 8.2545038175935764e-05, -0.00022561542642438213,
    -0.0001684962157429406, 1.0418627733110566, 4.8814781489772106};
// Minimax of degree 8, in w − 2.5 and √w − 3.125: what programs in f32 expect is a fit of this degree.
constexpr double kErfInvCentre32[] = {
    2.853491092952595e-08,  3.437273734635284e-07,  -3.528860069050623e-06,
    -4.396785463313046e-06, 2.1860219073514722e-04, -1.2537074998039853e-03,
    -4.177707733942276e-03, 2.466407261087275e-01,  1.501409421577145};
constexpr double kErfInvTail32[] = {
    -2.0497719624093408e-04, -1.0066339386763841e-04, 1.357490064106976e-03,
    -2.648276479057941e-03,  3.7597628180573244e-03,  -5.2742018870694535e-03,
    7.052314167696583e-03,   1.0037171898765909,      2.9583200573950887};

// (1 + x)·exp(−x)·I₁(x)/x on [0, 8]; exp(−x)·I₁(x)·√x in 1/x on [0, 1/8].
constexpr double kBesselI1Small64[] = {
    -3.8315544714746413e-09, 1.4136390301649614e-08, -2.2725551167777467e-08,
    7.208492457104521e-08, -3.0745482881103585e-07, 9.5000226065172669e-07,
    -2.6500145627926794e-06, 7.4267228015759913e-06, -2.0078042798644057e-05,
    5.1326923640717833e-05, -0.00012452451841319021, 0.00028652074658553527,
    -0.00062259855377789347, 0.0012721896258238118, -0.002432936257719467, 0.0043286705007785729,
    -0.0071094593677221551, 0.010663010743822443, -0.014365426207488794, 0.016887521411636824,
    -0.016255337297545823, 0.010341512897700208, 0.0022527061984458779, -0.021330581282260435,
    0.044906593743722946, -0.070182631391065814, 0.095790647428892955, -0.12687085064589623,
    0.22343854937804417};
constexpr double kBesselI1Large64[] = {
    -1.13288885034257e-10, -3.2677656089803323e-11, 7.7906721790805899e-10,
    2.5821694431523859e-10, -2.5062162405593894e-09, -1.0476127785270019e-09,
    5.0940163015743383e-09, 3.0717395650769477e-09, -7.2225241789539759e-09,
    -7.4325353356237923e-09, 5.7226775274541559e-09, 1.3952625102162603e-08,
    6.7950734901873856e-09, -8.4073268395778167e-09, -2.3382691353601083e-08,
    -4.3132315623745801e-08, -1.0001220638799958e-07, -3.4838530713710778e-07,
    -1.8349101539664522e-06, -1.5038547211274231e-05, -0.000219235763833829,
    -0.0097495771932356087, 0.38939845902587233};
constexpr double kBesselI1Small32[] = {
    -0.0014310776, 0.00322361174, -0.000836820691, 0.000432056084, -0.00867929403, 0.0145157948,
    -0.0135075012, 0.014775604, -0.01651798, 0.0109892515, 0.00229502097, -0.0214350596,
    0.0449035503, -0.0701751113, 0.095790714, -0.126871005, 0.223438546};
constexpr double kBesselI1Large32[] = {
    -1.22124987e-07, -4.21555427e-07, -1.82671454e-06, -1.50033229e-05, -0.000219236666,
    -0.00974958111, 0.389398456};

// x from [low, high] to [-1, 1].
Num centred(Num x, double low, double high) {
  return x * (2 / (high - low)) - (high + low) / (high - low);
}

Num rounded_to(Num x, int64_t mantissa_bits) {
  const int64_t exponent_bits = x.is_f64() ? 11 : 8;
  return {x.b, x.b->op(Op::kReducePrecision, {x.i}, ReducePrecisionAttrs{exponent_bits, mantissa_bits})};
}

// exp(−x²): the square of x's high half is exact, so its rounding is not blown up by exp.
Num exp_minus_square(Num x) {
  const Num high = rounded_to(x, x.is_f64() ? 25 : 11);
  return exp(-(high * high)) * exp((high - x) * (high + x));
}

}  // namespace

Num polynomial(Num x, absl::Span<const double> coefficients) {
  Num sum = x.like(coefficients[0]);
  for (double c : coefficients.subspan(1)) sum = sum * x + c;
  return sum;
}

Num erfc(Num x) {
  const Num a = abs(x);
  const Num far = min(max(a, 0.5), 30);  // erfc(30) is 0 in both types
  const Num u = centred((far - 2) / (far + 2), -0.6, 1);
  const Num p = x.is_f64() ? polynomial(u, kErfc64) : polynomial(u, kErfc32);
  const Num tail = exp_minus_square(far) * p / (far * 2 + 1);
  const Num outside = select(x > 0, tail, 2 - tail);
  return select(a < 0.5, 1 - erf(x), outside);
}

Num erf_inv(Num x) {
  // Not (1 − x)(1 + x), which loses less: programs expect the values of this form.
  const Num w = -log1p(x * -x), s = sqrt(w);
  Num p = x, near = x;
  if (x.is_f64()) {
    near = x + x * polynomial(w - 0.75, kErfInvNear64);
    const Num tail = select(s < 4, polynomial(s - 3.25, kErfInvMiddle64),
                            polynomial(centred(s, 4, 6.0625), kErfInvTail64));
    p = select(w < 6.25, polynomial(w - 3.125, kErfInvCentre64), tail);
  } else {
    p = select(w < 5, polynomial(w - 2.5, kErfInvCentre32),
               polynomial(s - 3.125, kErfInvTail32));
  }
  const Num far = x * select(abs(x) == 1, x.like(kInfinity), p);
  return x.is_f64() ? select(w < 1.5, near, far) : far;
}

Num bessel_i1e(Num x) {
  const Num a = abs(x), near = min(a, 8), inverse = 1 / max(a, 8);
  const Num u = centred(near, 0, 8), v = centred(inverse, 0, 0.125);
  const bool wide = x.is_f64();
  const Num small = wide ? polynomial(u, kBesselI1Small64) : polynomial(u, kBesselI1Small32);
  const Num large = wide ? polynomial(v, kBesselI1Large64) : polynomial(v, kBesselI1Large32);
  return sign(x) * select(a <= 8, near * small / (near + 1), large * sqrt(inverse));
}

}  // namespace braze::chlo
