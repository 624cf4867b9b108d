// SPDX-License-Identifier: Apache-2.0
// erfc, erf_inv and bessel_i1e by polynomials, one set for f32 and one for f64.
//
// Each polynomial interpolates the exact function at Chebyshev points of an interval mapped to [-1, 1];
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
    -1.8199034168726056e-11, -4.1383965079362068e-09, 8.6993778802412744e-09,
    2.8085454480599277e-08, -1.0426210588989032e-07, 5.601549819901144e-09,
    5.4444658217551986e-07, -1.0734591410364882e-06, -6.8665525946324713e-07,
    7.1383125443102916e-06, -1.125619146677325e-05, -1.5030870369108395e-05,
    9.336711350835166e-05, -0.00011688806308420721, -0.00026439362645934515,
    0.0012324854519911068, -0.0012716922719582979, -0.0041373143676748502, 0.017808361818432112,
    -0.022604447453825078, -0.058922567103779404, 0.75049432007996786, 1.6536545626831027};
constexpr double kErfInvMiddle64[] = {
    -2.1598292649809551e-12, 6.8193369979897235e-10, -2.6921670135260728e-09,
    2.448720579642754e-10, 2.6652555523279727e-08, -9.5360384336142846e-08,
    9.2728472680105014e-08, 5.268978286875368e-07, -2.6647290027131336e-06,
    5.1271458282959595e-06, 2.405849826863639e-06, -4.7391787917806128e-05,
    0.00016966502384997928, -0.00040063570327037872, 0.00078830785120004049,
    -0.0015825410891285008, 0.0030211394363764865, 0.75394422577061937, 3.0838856104922208};
constexpr double kErfInvTail64[] = {
    5.4301418627733874e-11, -1.0769842882860317e-11, -6.3447749054931519e-10,
    2.0123825970460731e-09, -4.3815271308822164e-09, 9.1469588200925207e-09,
    -1.7637384614724137e-08, 3.3155082315913406e-08, -7.8166493858513766e-08,
    2.7016289276729294e-07, -1.1635060791541834e-06, 5.1898850173884902e-06,
    -2.1988873317512691e-05, 8.2545038175935764e-05, -0.00022561542642438213,
    -0.0001684962157429406, 1.0418627733110566, 4.8814781489772106};
constexpr double kErfInvCentre32[] = {
    4.45550222e-06, -3.33366806e-05, 2.43901159e-05, 0.000284068257, -0.00083579449,
    -0.000484344899, 0.00852569193, -0.0195741951, -0.02610825, 0.616600752, 1.50140929};
constexpr double kErfInvTail32[] = {
    5.21990187e-05, -7.40483665e-05, -0.000178703282, 0.000732879853, -0.00148780423,
    0.00242204359, -0.00376734789, 0.0055679502, 0.916916192, 2.98269844};

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
  const Num w = -log((1 - x) * (x + 1)), s = sqrt(w);
  Num p = x;
  if (x.is_f64()) {
    const Num tail = select(s < 4, polynomial(centred(s, 2.5, 4), kErfInvMiddle64),
                            polynomial(centred(s, 4, 6.0625), kErfInvTail64));
    p = select(w < 6.25, polynomial(centred(w, 0, 6.25), kErfInvCentre64), tail);
  } else {
    p = select(w < 5, polynomial(centred(w, 0, 5), kErfInvCentre32),
               polynomial(centred(s, 2.2360679774997897, 4.0625), kErfInvTail32));
  }
  return x * select(abs(x) == 1, x.like(kInfinity), p);
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
