// SPDX-License-Identifier: Apache-2.0
// CHLO: special functions against values computed with 60 digits, broadcasting forms, scan, and errors.
#include "frontend/chlo.h"

#include <cmath>
#include <limits>

#include "test/eval/program.h"

namespace braze {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Point {
  double x, y;
};
struct Pair {
  double a, b, y;
};

constexpr Point kErfcPoints[] = {
    {-6.0, 2.0}, {-2.5, 1.999593047982555}, {-1.0, 1.8427007929497148},
    {-0.6000000238418579, 1.6038561096172717}, {-0.30000001192092896, 1.3286267717527154},
    {-9.999999717180685e-10, 1.0000000011283792}, {0.0, 1.0},
    {0.0010000000474974513, 0.9988716211554357}, {0.20000000298023224, 0.7772974075585481},
    {0.49000000953674316, 0.488331730347372}, {0.5, 0.4795001221869535},
    {0.5099999904632568, 0.4707563884553341}, {0.800000011920929, 0.2578990281995563},
    {1.0, 0.15729920705028513}, {1.5, 0.033894853524689274}, {2.0, 0.004677734981047266},
    {3.0, 2.209049699858544e-05}, {4.5, 1.9661604415428876e-10}, {6.0, 2.1519736712498913e-17},
    {8.0, 1.1224297172982926e-29}, {9.0, 4.13703174651381e-37}, {10.0, 2.088487583762545e-45},
    {12.5, 6.231942781979911e-70}, {20.0, 5.395865611607901e-176}, {26.0, 5.663192408856143e-296}};
constexpr Point kErfInvPoints[] = {
    {-0.9999989867210388, -3.45707472603595}, {-0.9900000095367432, -1.8213866009002777},
    {-0.8999999761581421, -1.1630870719457722}, {-0.5, -0.4769362762044699},
    {-0.10000000149011612, -0.08885599182530649},
    {-9.999999974752427e-07, -8.862269232154821e-07},
    {9.999999682655225e-21, 8.862268973288096e-21},
    {0.0010000000474974513, 0.0008862271995601054}, {0.05000000074505806, 0.04434038857159546},
    {0.30000001192092896, 0.2724627261055238}, {0.699999988079071, 0.7328690598827589},
    {0.800000011920929, 0.9061938264523502}, {0.949999988079071, 1.385903752236077},
    {0.9700000286102295, 1.5344858888791884}, {0.9990000128746033, 2.3267563267961546},
    {0.9998999834060669, 2.7510354379032873}, {0.9999899864196777, 3.123205771165071},
    {0.9999989867210388, 3.45707472603595}, {0.9999999403953552, 3.832506856900711}};
constexpr Point kLgammaPoints[] = {
    {-10.5, -15.147270590717842}, {-3.75, -1.3172679424463636}, {-2.25, 0.5555015450206475},
    {-1.5, 0.860047015376481}, {-0.5, 1.2655121234846454},
    {-0.0010000000474974513, 6.908333270045072}, {1.000000013351432e-10, 23.025850916531304},
    {0.10000000149011612, 2.252712636201601}, {0.30000001192092896, 1.095797953064734},
    {0.5, 0.5723649429247001}, {0.699999988079071, 0.2608672610754808},
    {1.0625, -0.03295710029357782}, {1.5, -0.12078223763524522}, {1.9375, -0.02514761940298887},
    {2.5, 0.2846828704729192}, {3.0, 0.6931471805599453}, {5.0, 3.1780538303479458},
    {10.5, 13.940625219403763}, {50.0, 144.5657439463449}, {171.5, 709.1431630309282},
    {10000.0, 82099.71749644238}, {10000000000.0, 220258509288.81058},
    {1.0000000150474662e+30, 6.807755382926351e+31}};
constexpr Point kDigammaPoints[] = {
    {-10.5, 2.3982391295357814}, {-3.75, -1.6923885983113303}, {-2.25, 4.158583564657972},
    {-1.5, 0.7031566406452432}, {-0.5, 0.03648997397857652},
    {-0.0010000000474974513, 999.4210907003641}, {9.999999747378752e-05, -10000.577303804774},
    {0.10000000149011612, -10.423754789263684}, {0.30000001192092896, -3.5025240762240175},
    {0.5, -1.9635100260214235}, {0.699999988079071, -1.2200235874824337},
    {1.0, -0.5772156649015329}, {1.25, -0.22745353337626542}, {1.5, 0.03648997397857652},
    {1.75, 0.24747245354686118}, {2.5, 0.7031566406452432}, {3.0, 0.9227843350984671},
    {5.0, 1.5061176684318005}, {10.5, 2.3030010342976865}, {50.0, 3.901989673427892},
    {171.5, 5.141664981433999}, {10000.0, 9.210290371142849}, {10000000000.0, 23.025850929890456},
    {1.0000000150474662e+30, 69.07755280486883}};
constexpr Point kBesselI1ePoints[] = {
    {-20.0, -0.08750622218328867}, {-8.0, -0.13414249329269817}, {-3.0, -0.19682671329730086},
    {-0.0010000000474974513, -0.000499500336055494},
    {1.000000013351432e-10, 5.0000000662571595e-11}, {0.10000000149011612, 0.04529844741799563},
    {0.5, 0.1564208031848717}, {1.0, 0.20791041534970844}, {2.0, 0.21526928924893765},
    {4.0, 0.17875083950243534}, {6.0, 0.1520514593085059}, {7.75, 0.1360511000803391},
    {8.0, 0.13414249329269817}, {8.5, 0.13054935509459586}, {10.0, 0.12126268138445552},
    {30.0, 0.07191633059864755}, {100.0, 0.03974415302513025}, {10000.0, 0.003989273195983662},
    {10000000000.0, 3.989422803864723e-06}};
constexpr Pair kZetaPoints[] = {
    {1.0625, 1.0, 16.58174764665502}, {1.5, 0.25, 10.213055360466601},
    {2.0, 1.0, 1.6449340668482264}, {2.0, 0.5, 4.934802200544679},
    {2.0, 10.0, 0.10516633568168575}, {3.0, 0.125, 512.8766690590678},
    {4.5, 2.5, 0.02189887291389351}, {10.0, 1.0, 1.000994575127818},
    {10.0, 3.0, 1.8012627818085337e-05}, {30.0, 1.5, 5.215096203815732e-06},
    {2.0, 1000.0, 0.0010005001666666333}, {2.5, 1000000.0, 6.66667166666875e-10}};
constexpr Pair kPolygammaPoints[] = {
    {0.0, 2.5, 0.7031566406452432}, {1.0, 1.0, 1.6449340668482264},
    {1.0, 0.25, 17.19732915450711}, {1.0, 20.0, 0.05127082293520312},
    {2.0, 1.5, -0.82879664423432}, {3.0, 0.5, 97.40909103400244},
    {4.0, 7.0, -0.00329677158902638}, {5.0, 2.0, 2.081167438133897},
    {10.0, 3.0, -21.43660662871299}};

Instr* build_one(Program& p, std::string_view op, absl::Span<Instr* const> in, const Shape& result,
                 const ChloAttrs& attrs = {}) {
  auto r = build_chlo(p.b, op, in, attrs, {result});
  EXPECT_TRUE(r.ok()) << r.status();
  return r.ok() ? (*r)[0] : in[0];
}

Literal numbers(Dtype t, const std::vector<double>& v) {
  Literal l(Shape::array(t, {static_cast<int64_t>(v.size())}));
  for (size_t i = 0; i < v.size(); ++i) l.set_float(i, v[i]);
  return l;
}

Literal must(const Result<Literal>& r) {
  EXPECT_TRUE(r.ok()) << r.status();
  return r.ok() ? *r : Literal();
}

// `relative` beside what counts as zero.
void expect_points(std::string_view op, absl::Span<const Point> points, Dtype t, double relative,
                   double absolute = 0) {
  std::vector<double> x;
  for (const Point& q : points) x.push_back(q.x);
  Program p;
  Instr* in = p.b.constant(numbers(t, x));
  const Literal got = must(p.run(build_one(p, op, {in}, in->shape)));
  ASSERT_EQ(got.elements(), static_cast<int64_t>(points.size()));
  for (size_t i = 0; i < points.size(); ++i) {
    const double want = points[i].y, g = got.get_float(i);
    const double least = t == Dtype::kF64 ? 1e-300 : 1e-37;
    if (std::isinf(want)) EXPECT_EQ(g, want) << op << "(" << x[i] << ")";
    else EXPECT_LE(std::abs(g - want), relative * std::abs(want) + absolute + least)
        << op << "(" << x[i] << ") = " << g << ", not " << want;
  }
}

TEST(ChloSpecial, Erfc) {
  expect_points("chlo.erfc", kErfcPoints, Dtype::kF64, 2e-15);
  expect_points("chlo.erfc", kErfcPoints, Dtype::kF32, 6e-7);
}
TEST(ChloSpecial, ErfInv) {
  expect_points("chlo.erf_inv", kErfInvPoints, Dtype::kF64, 2e-15);
  expect_points("chlo.erf_inv", kErfInvPoints, Dtype::kF32, 5e-6);
  Program p;
  Instr* x = p.b.constant(numbers(Dtype::kF32, {1, -1, 1.5, 0}));
  const Literal r = must(p.run(build_one(p, "chlo.erf_inv", {x}, x->shape)));
  EXPECT_EQ(r.get_float(0), kInf);
  EXPECT_EQ(r.get_float(1), -kInf);
  EXPECT_TRUE(std::isnan(r.get_float(2)));
  EXPECT_EQ(r.get_float(3), 0);
}
TEST(ChloSpecial, Lgamma) {
  expect_points("chlo.lgamma", kLgammaPoints, Dtype::kF64, 4e-15, 4e-15);
  expect_points("chlo.lgamma", kLgammaPoints, Dtype::kF32, 1e-6, 1e-6);
  Program p;
  Instr* x = p.b.constant(numbers(Dtype::kF32, {0, -1, -7, kInf, -kInf, std::nan("")}));
  const Literal r = must(p.run(build_one(p, "chlo.lgamma", {x}, x->shape)));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(r.get_float(i), kInf) << i;
  EXPECT_TRUE(std::isnan(r.get_float(5)));
}
TEST(ChloSpecial, Digamma) {
  expect_points("chlo.digamma", kDigammaPoints, Dtype::kF64, 1e-14, 1e-14);
  expect_points("chlo.digamma", kDigammaPoints, Dtype::kF32, 1e-6, 1e-6);
}
TEST(ChloSpecial, BesselI1e) {
  expect_points("chlo.bessel_i1e", kBesselI1ePoints, Dtype::kF64, 3e-15);
  expect_points("chlo.bessel_i1e", kBesselI1ePoints, Dtype::kF32, 4e-7);
  Program p;
  Instr* x = p.b.constant(numbers(Dtype::kF32, {kInf, 0}));
  const Literal r = must(p.run(build_one(p, "chlo.bessel_i1e", {x}, x->shape)));
  EXPECT_EQ(r.get_float(0), 0);
  EXPECT_EQ(r.get_float(1), 0);
}

void expect_pairs(std::string_view op, absl::Span<const Pair> pairs, Dtype t, double relative) {
  std::vector<double> a, b;
  for (const Pair& q : pairs) {
    a.push_back(q.a);
    b.push_back(q.b);
  }
  Program p;
  Instr *x = p.b.constant(numbers(t, a)), *y = p.b.constant(numbers(t, b));
  const Literal got = must(p.run(build_one(p, op, {x, y}, x->shape)));
  for (size_t i = 0; i < pairs.size(); ++i)
    EXPECT_LE(std::abs(got.get_float(i) - pairs[i].y), relative * std::abs(pairs[i].y))
        << op << "(" << a[i] << ", " << b[i] << ") = " << got.get_float(i) << ", not " << pairs[i].y;
}

TEST(ChloSpecial, Zeta) {
  expect_pairs("chlo.zeta", kZetaPoints, Dtype::kF64, 4e-15);
  expect_pairs("chlo.zeta", kZetaPoints, Dtype::kF32, 1.3e-7);
  Program p;
  Instr* x = p.b.constant(numbers(Dtype::kF64, {1, 0.5, 2, 2.5, 2}));
  Instr* q = p.b.constant(numbers(Dtype::kF64, {3, 3, -2, -0.5, kInf}));
  const Literal r = must(p.run(build_one(p, "chlo.zeta", {x, q}, x->shape)));
  EXPECT_EQ(r.get_float(0), kInf);
  EXPECT_TRUE(std::isnan(r.get_float(1)));
  EXPECT_EQ(r.get_float(2), kInf);
  EXPECT_TRUE(std::isnan(r.get_float(3)));
  EXPECT_EQ(r.get_float(4), 0);
}
TEST(ChloSpecial, Polygamma) {
  expect_pairs("chlo.polygamma", kPolygammaPoints, Dtype::kF64, 1e-13);
  expect_pairs("chlo.polygamma", kPolygammaPoints, Dtype::kF32, 1.3e-7);
  Program p;
  Instr* n = p.b.constant(numbers(Dtype::kF32, {-1, 0.5}));
  Instr* x = p.b.constant(numbers(Dtype::kF32, {2, 2}));
  const Literal r = must(p.run(build_one(p, "chlo.polygamma", {n, x}, n->shape)));
  EXPECT_TRUE(std::isnan(r.get_float(0)));
  EXPECT_TRUE(std::isnan(r.get_float(1)));
}
TEST(ChloSpecial, NarrowFloatsAreRoundedOnce) {
  for (Dtype t : {Dtype::kF16, Dtype::kBF16}) {
    Program p;
    Instr* x = p.b.constant(numbers(t, {0.5, 1.5}));
    const Literal r = must(p.run(build_one(p, "chlo.erfc", {x}, x->shape)));
    EXPECT_EQ(r.dtype(), t);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(r.get_float(i), Literal::scalar(t, std::erfc(i ? 1.5 : 0.5)).get_float(0));
  }
}

TEST(ChloNextAfter, StepsLikeTheHost) {
  const float xs[] = {0.f, -0.f, 1.f, -1.f, 1.f, 3.4028235e38f, 1e-45f, 2.f, -2.f, 0.f};
  const float ys[] = {1.f, -1.f, 2.f, 0.f, 0.f, INFINITY, 0.f, 2.f, INFINITY, 0.f};
  Program p;
  std::vector<double> a(std::begin(xs), std::end(xs)), b(std::begin(ys), std::end(ys));
  Instr *x = p.b.constant(numbers(Dtype::kF32, a)), *y = p.b.constant(numbers(Dtype::kF32, b));
  const Literal r = must(p.run(build_one(p, "chlo.next_after", {x, y}, x->shape)));
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(r.get_float(i), std::nextafter(xs[i], ys[i])) << xs[i] << " towards " << ys[i];
  Program q;
  Instr* h = q.b.constant(numbers(Dtype::kBF16, {1, std::nan("")}));
  Instr* g = q.b.constant(numbers(Dtype::kBF16, {2, 1}));
  const Literal s = must(q.run(build_one(q, "chlo.broadcast_next_after", {h, g}, h->shape)));
  EXPECT_EQ(s.get_float(0), 1 + std::ldexp(1, -7));
  EXPECT_TRUE(std::isnan(s.get_float(1)));
}

TEST(Chlo, InfinitiesConjugatesAndConstants) {
  Program p;
  Instr* x = p.b.constant(numbers(Dtype::kF32, {kInf, -kInf, 1, std::nan("")}));
  const Shape pred = x->shape.with_dtype(Dtype::kPred);
  EXPECT_EQ(int_values(p.run(build_one(p, "chlo.is_inf", {x}, pred))), (std::vector<int64_t>{1, 1, 0, 0}));
  EXPECT_EQ(int_values(p.run(build_one(p, "chlo.is_pos_inf", {x}, pred))), (std::vector<int64_t>{1, 0, 0, 0}));
  EXPECT_EQ(int_values(p.run(build_one(p, "chlo.is_neg_inf", {x}, pred))), (std::vector<int64_t>{0, 1, 0, 0}));
  Literal c(Shape::array(Dtype::kC64, {1}));
  c.set_complex(0, {1, 2});
  Instr* z = p.b.constant(c);
  EXPECT_EQ(must(p.run(build_one(p, "chlo.conj", {z}, z->shape))).get_complex(0), (std::complex<double>(1, -2)));
  EXPECT_EQ(must(p.run(build_one(p, "chlo.square", {z}, z->shape))).get_complex(0), (std::complex<double>(-3, 4)));
  ChloAttrs a;
  a.value = Literal::scalar(Dtype::kF32, 7);
  EXPECT_EQ(must(p.run(build_one(p, "chlo.constant_like", {x}, x->shape, a))).get_float(3), 7);
}

TEST(Chlo, AsinAcosKernelGivesBack) {
  const std::complex<double> points[] = {{0.5, 0.25}, {-2, 3}, {1e-3, -4}, {3, -1e-3}, {-0.2, -0.1}};
  Literal l(Shape::array(Dtype::kC128, {5}));
  for (int i = 0; i < 5; ++i) l.set_complex(i, points[i]);
  Program p;
  Instr* z = p.b.constant(l);
  const Literal w = must(p.run(build_one(p, "chlo._asin_acos_kernel", {z}, z->shape)));
  for (int i = 0; i < 5; ++i) {
    const auto want = std::asin(points[i]);
    EXPECT_NEAR(std::atan2(points[i].real(), w.get_complex(i).real()), want.real(), 1e-12);
    EXPECT_NEAR(std::copysign(w.get_complex(i).imag(), points[i].imag()), want.imag(), 1e-12);
  }
}

TEST(Chlo, Broadcasting) {
  Program p;
  Instr* x = p.ints({2, 1}, {10, 20});
  Instr* y = p.ints({3}, {1, 2, 3});
  const Shape out = Shape::array(Dtype::kS64, {2, 3});
  EXPECT_EQ(int_values(p.run(build_one(p, "chlo.broadcast_add", {x, y}, out))),
            (std::vector<int64_t>{11, 12, 13, 21, 22, 23}));
  ChloAttrs a;
  a.has_broadcast_dimensions = true;
  a.broadcast_dimensions = {0};
  Instr* m = p.counting({2, 3});
  Instr* v = p.ints({2}, {100, 200});
  EXPECT_EQ(int_values(p.run(build_one(p, "chlo.broadcast_subtract", {v, m}, out, a))),
            (std::vector<int64_t>{99, 98, 97, 196, 195, 194}));
  a.compare.direction = CompareDirection::kLt;
  EXPECT_EQ(int_values(p.run(build_one(p, "chlo.broadcast_compare", {m, v},
                                       out.with_dtype(Dtype::kPred), a))),
            (std::vector<int64_t>{1, 1, 1, 1, 1, 1}));
  Instr* pred = p.ints({}, {1}, Dtype::kPred);
  EXPECT_EQ(int_values(p.run(build_one(p, "chlo.broadcast_select", {pred, m, p.ints({}, {5})}, out))),
            (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Chlo, TopK) {
  Program p;
  Instr* x = p.floats({4}, {3, 1, 4, 1.5});
  ChloAttrs a;
  a.top_k.k = 2;
  const Shape results[] = {Shape::array(Dtype::kF32, {2}), Shape::array(Dtype::kS32, {2})};
  auto r = build_chlo(p.b, "chlo.top_k", {x}, a, results);
  ASSERT_TRUE(r.ok()) << r.status();
  EXPECT_EQ(int_values(p.run((*r)[1])), (std::vector<int64_t>{2, 0}));
}

// Running sums of rows, and the total.
std::vector<int64_t> scan(bool reverse, int64_t dimension, bool carry, int64_t columns = 3) {
  Program p;
  const int64_t length = dimension == 0 ? 2 : columns, other = dimension == 0 ? columns : 2;
  const Shape slice = Shape::array(Dtype::kS64, {other});
  Computation* body = p.function({slice, slice}, [](Builder& b, auto& v) {
    Instr* sum = b.add(v[0], v[1]);
    return b.tuple({sum, sum});
  });
  ChloAttrs a;
  a.body = body;
  a.scan_inputs = 1;
  a.scan_dimension = dimension;
  a.is_reverse = reverse;
  Instr* x = p.counting({2, columns});
  Literal zero(slice);
  const Shape results[] = {x->shape, slice};
  auto r = build_chlo(p.b, "chlo.scan", {x, p.b.constant(zero)}, a, results);
  EXPECT_TRUE(r.ok()) << r.status() << length;
  return r.ok() ? int_values(p.run((*r)[carry ? 1 : 0])) : std::vector<int64_t>();
}

TEST(ChloScan, RunsAlongADimension) {
  EXPECT_EQ(scan(false, 0, false), (std::vector<int64_t>{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(scan(true, 0, false), (std::vector<int64_t>{5, 7, 9, 4, 5, 6}));
  EXPECT_EQ(scan(false, 1, false), (std::vector<int64_t>{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(scan(false, 1, true), (std::vector<int64_t>{6, 15}));
  EXPECT_EQ(scan(false, 1, true, 0), (std::vector<int64_t>{0, 0}));
}

TEST(Chlo, Errors) {
  EXPECT_TRUE(is_chlo_op("chlo.erf_inv"));
  EXPECT_TRUE(is_chlo_op("chlo.broadcast_zeta"));
  EXPECT_FALSE(is_chlo_op("chlo.broadcast_tan"));
  EXPECT_FALSE(is_chlo_op("stablehlo.add"));
  Program p;
  Instr* x = p.ints({2}, {1, 2});
  auto error = [&](std::string_view op, absl::Span<Instr* const> in, const Shape& s) {
    Program fresh;
    return std::string(build_chlo(p.b, op, in, {}, {s}).status().message());
  };
  EXPECT_EQ(error("chlo.nothing", {x}, x->shape), "chlo.nothing: this op is not known");
  EXPECT_EQ(error("chlo.erfc", {x}, x->shape), "chlo.erfc: operands must hold floats, got s64");
  EXPECT_EQ(error("chlo.erfc", {x, x}, x->shape), "chlo.erfc: takes 1 operands, got 2");
  EXPECT_NE(error("chlo.broadcast_add", {x, x}, Shape::array(Dtype::kS64, {3})).find("cannot be broadcast"),
            std::string::npos);
  EXPECT_NE(error("chlo.square", {x}, Shape::array(Dtype::kS64, {3})).find("declared as s64[3]"),
            std::string::npos);
}

}  // namespace
}  // namespace braze
