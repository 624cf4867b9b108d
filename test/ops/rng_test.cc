// SPDX-License-Identifier: Apache-2.0
// Random bits against values that XLA's CPU compiler gives, and the shape of rng's distributions.
#include <cstring>

#include "test/ops/one_op.h"

namespace braze {
namespace {

constexpr uint64_t kMax = ~uint64_t{0};

struct Known {
  RngAlgorithm algorithm;
  Dtype type;
  Dims dims;
  std::vector<uint64_t> state, next, bits;
};

const Known kKnown[] = {
    {RngAlgorithm::kThreeFry, Dtype::kU8, {5}, {42, kMax}, {42, 2},
     {74, 32, 185, 24, 108}},
    {RngAlgorithm::kThreeFry, Dtype::kU8, {3, 3}, {42, kMax}, {42, 5},
     {74, 185, 108, 32, 24, 39, 42, 234, 113}},
    {RngAlgorithm::kThreeFry, Dtype::kU16, {5}, {42, kMax}, {42, 2},
     {29002, 32544, 62649, 50712, 55404}},
    {RngAlgorithm::kThreeFry, Dtype::kU16, {3, 3}, {42, kMax}, {42, 5},
     {29002, 62649, 55404, 32544, 50712, 5671, 48170, 58602, 7025}},
    {RngAlgorithm::kThreeFry, Dtype::kU32, {}, {42, kMax}, {42, 0},
     {3387912522}},
    {RngAlgorithm::kThreeFry, Dtype::kU32, {5}, {42, kMax}, {42, 2},
     {3387912522, 1521909536, 3732534457, 1332528664, 646961260}},
    {RngAlgorithm::kThreeFry, Dtype::kU32, {3, 3}, {42, kMax}, {42, 5},
     {3387912522, 3732534457, 646961260, 1521909536, 1332528664, 4263843367, 2234760234,
     1073472746, 2676104049}},
    {RngAlgorithm::kThreeFry, Dtype::kU32, {4, 3}, {42, kMax}, {42, 5},
     {3387912522, 3732534457, 646961260, 1521909536, 1332528664, 4263843367, 2234760234,
     1073472746, 2676104049, 457295592, 3696590631, 173313063}},
    {RngAlgorithm::kThreeFry, Dtype::kU32, {3, 2}, {42, kMax}, {42, 2},
     {3387912522, 1521909536, 3732534457, 1332528664, 646961260, 4263843367}},
    {RngAlgorithm::kThreeFry, Dtype::kU32, {1, 7}, {42, kMax}, {42, 3},
     {3387912522, 1521909536, 3732534457, 1332528664, 646961260, 4263843367, 2234760234}},
    {RngAlgorithm::kThreeFry, Dtype::kU32, {3, 5, 3}, {42, kMax}, {42, 26},
     {3387912522, 3732534457, 646961260, 1521909536, 1332528664, 4263843367, 2234760234,
     1073472746, 2676104049, 457295592, 3696590631, 173313063, 1131265418, 3747782176,
     2642642533, 356970675, 4222757798, 563344011, 1736384518, 1010817143, 4074627445, 653491321,
     2676170827, 1532797651, 3185375099, 896844053, 4222029849, 1855476965, 1747370287,
     3604671327, 1691580502, 4072106739, 3889749198, 2265417058, 2062669198, 217958046,
     1650205721, 607793862, 1980919075, 1989531227, 3260985963, 3336316722, 4106097919,
     2280866123, 3649674782}},
    {RngAlgorithm::kThreeFry, Dtype::kU64, {}, {42, kMax}, {42, 0},
     {6536551687978447178}},
    {RngAlgorithm::kThreeFry, Dtype::kU64, {5}, {42, kMax}, {42, 4},
     {6536551687978447178, 5723167036595107001, 18313067817178486892u, 1964069614479719466,
     15876735867918476522u}},
    {RngAlgorithm::kThreeFry, Dtype::kU64, {3, 3}, {42, kMax}, {42, 8},
     {6536551687978447178, 5723167036595107001, 18313067817178486892u, 1964069614479719466,
     15876735867918476522u, 744373940230691697, 2976408540508175754, 10786128305370340896u,
     14766023422270211685u}},
    {RngAlgorithm::kThreeFry, Dtype::kU64, {4, 3}, {42, kMax}, {42, 11},
     {6536551687978447178, 5723167036595107001, 18313067817178486892u, 1964069614479719466,
     15876735867918476522u, 744373940230691697, 2976408540508175754, 10786128305370340896u,
     14766023422270211685u, 7457714718447694003, 4341426575643913126, 17500391620222382731u}},
    {RngAlgorithm::kThreeFry, Dtype::kU64, {3, 2}, {42, kMax}, {42, 5},
     {6536551687978447178, 5723167036595107001, 18313067817178486892u, 1964069614479719466,
     15876735867918476522u, 744373940230691697}},
    {RngAlgorithm::kThreeFry, Dtype::kU64, {1, 7}, {42, kMax}, {42, 6},
     {6536551687978447178, 5723167036595107001, 18313067817178486892u, 1964069614479719466,
     15876735867918476522u, 744373940230691697, 2976408540508175754}},
    {RngAlgorithm::kThreeFry, Dtype::kU64, {3, 5, 3}, {42, kMax}, {42, 44},
     {6536551687978447178, 5723167036595107001, 18313067817178486892u, 1964069614479719466,
     15876735867918476522u, 744373940230691697, 2976408540508175754, 10786128305370340896u,
     14766023422270211685u, 7457714718447694003, 4341426575643913126, 17500391620222382731u,
     13681081876351253625u, 3851915879923261515, 18133480125723615955u, 4055227540562269413,
     5348615435080614191, 11313445174146427743u, 9729892177602115670u, 8859096751948655347,
     936122683359812814, 8544971555985957913, 14005828064407859910u, 14329371212068842787u,
     5336662521979737343, 8165610001737662795, 7716425469839121950, 18404991582806795406u,
     10089444327915690652u, 8223352067034945627, 15885517178028048628u, 4279168884745139584,
     3023084249096421845, 3634718108578917262, 6873192368578028262, 3672572705335982118,
     8048005326772908447, 580305542416356735, 2434789311913602980, 976671870210494947,
     14365955506056241907u, 3810433915342637340, 4800503661100473792, 2954598975568301631,
     5119466039388462044}},
    {RngAlgorithm::kPhilox, Dtype::kU8, {5}, {42, kMax}, {42, 1},
     {28, 179, 195, 116, 153}},
    {RngAlgorithm::kPhilox, Dtype::kU8, {3, 3}, {42, kMax}, {42, 2},
     {28, 179, 195, 116, 153, 248, 83, 65, 3}},
    {RngAlgorithm::kPhilox, Dtype::kU16, {5}, {42, kMax}, {42, 1},
     {14876, 46771, 56259, 61556, 45465}},
    {RngAlgorithm::kPhilox, Dtype::kU16, {3, 3}, {42, kMax}, {42, 2},
     {14876, 46771, 56259, 61556, 45465, 26360, 16467, 63297, 49155}},
    {RngAlgorithm::kPhilox, Dtype::kU32, {}, {42, kMax}, {42, 0},
     {1704475164}},
    {RngAlgorithm::kPhilox, Dtype::kU32, {5}, {42, kMax}, {42, 1},
     {1704475164, 4028413619, 1340332995, 4911220, 2015080857}},
    {RngAlgorithm::kPhilox, Dtype::kU32, {3, 3}, {42, kMax}, {42, 2},
     {1704475164, 4028413619, 1340332995, 4911220, 2015080857, 4216547064, 789659731, 1580988225,
     1174585347}},
    {RngAlgorithm::kPhilox, Dtype::kU64, {}, {42, kMax}, {42, 0},
     {17301904750070479388u}},
    {RngAlgorithm::kPhilox, Dtype::kU64, {5}, {42, kMax}, {42, 2},
     {17301904750070479388u, 21093530623794115, 18109931743939899801u, 6790292722525749331,
     16219147222250602499u}},
    {RngAlgorithm::kPhilox, Dtype::kU64, {3, 3}, {42, kMax}, {42, 4},
     {17301904750070479388u, 21093530623794115, 18109931743939899801u, 6790292722525749331,
     16219147222250602499u, 3070738148798742583, 1518825493086392010, 5672756267566388244,
     9242411037283558953u}},
    {RngAlgorithm::kDefault, Dtype::kU32, {5}, {42, kMax}, {42, 1},
     {1704475164, 4028413619, 1340332995, 4911220, 2015080857}},
    {RngAlgorithm::kPhilox, Dtype::kU32, {5}, {1, kMax, 5}, {1, 1, 6},
     {2444045480, 1820157809, 3691035625, 462474752, 1447212011}},
    {RngAlgorithm::kPhilox, Dtype::kU64, {5}, {1, kMax, 5}, {1, 2, 6},
     {7817518265658059944, 1986313938756746217, 14337406390971315179u, 8801698325619049821,
     10422523805286359401u}},
    {RngAlgorithm::kPhilox, Dtype::kU8, {5}, {1, kMax, 5}, {1, 1, 6},
     {168, 113, 233, 0, 235}},
    {RngAlgorithm::kPhilox, Dtype::kF32, {5}, {1, kMax, 5}, {1, 1, 6},
     {2444045480, 1820157809, 3691035625, 462474752, 1447212011}},
    {RngAlgorithm::kPhilox, Dtype::kF16, {5}, {1, kMax, 5}, {1, 1, 6},
     {11432, 26481, 48105, 52736, 46059}},
    {RngAlgorithm::kPhilox, Dtype::kF64, {5}, {1, kMax, 5}, {1, 2, 6},
     {7817518265658059944, 1986313938756746217, 14337406390971315179u, 8801698325619049821,
     10422523805286359401u}},
    {RngAlgorithm::kPhilox, Dtype::kS16, {5}, {1, kMax, 5}, {1, 1, 6},
     {11432, 26481, 48105, 52736, 46059}},
};

TEST(RngBitGenerator, GivesXlaBits) {
  for (const Known& k : kKnown) {
    SCOPED_TRACE(str_cat(name(k.type), "[", join(k.dims), "] algorithm ",
                         static_cast<int>(k.algorithm)));
    Literal state(Shape::array(Dtype::kU64, {static_cast<int64_t>(k.state.size())}));
    for (size_t i = 0; i < k.state.size(); ++i) state.set_int(i, static_cast<int64_t>(k.state[i]));
    const Shape out = Shape::tuple_of({state.shape(), Shape::array(k.type, k.dims)});
    const Literal r = value(Op::kRngBitGenerator, {state}, RngBitsAttrs{k.algorithm}, &out);
    ASSERT_EQ(r.parts().size(), 2u);
    for (size_t i = 0; i < k.next.size(); ++i)
      EXPECT_EQ(static_cast<uint64_t>(r.parts()[0].get_int(i)), k.next[i]);
    ASSERT_EQ(r.parts()[1].elements(), static_cast<int64_t>(k.bits.size()));
    const int bytes = byte_size(k.type);
    for (size_t i = 0; i < k.bits.size(); ++i) {
      uint64_t got = 0;
      std::memcpy(&got, r.parts()[1].bytes() + i * bytes, bytes);
      EXPECT_EQ(got, k.bits[i]) << "at " << i;
    }
  }
}

TEST(RngBitGenerator, NamesTheBrokenConstraint) {
  const Literal three(Shape::array(Dtype::kU64, {3}));
  const Shape out = Shape::tuple_of({three.shape(), Shape::array(Dtype::kU32, {4})});
  expect_error(run(Op::kRngBitGenerator, {three}, RngBitsAttrs{RngAlgorithm::kThreeFry}, &out),
               "stablehlo.rng_bit_generator (C2): size(initial_state) must be 2, got 3");
  const Shape other = Shape::tuple_of({Shape::array(Dtype::kU64, {2}), out.tuple[1]});
  expect_error(run(Op::kRngBitGenerator, {three}, RngBitsAttrs{RngAlgorithm::kPhilox}, &other),
               "stablehlo.rng_bit_generator (C1)");
  const Shape complex = Shape::tuple_of({three.shape(), Shape::array(Dtype::kC64, {4})});
  expect_error(run(Op::kRngBitGenerator, {three}, RngBitsAttrs{}, &complex), "integers or floats");
}

TEST(Rng, UniformNumbersFillTheirRange) {
  const Shape shape = Shape::array(Dtype::kF32, {10000});
  const Literal a = Literal::scalar(Dtype::kF32, -2), b = Literal::scalar(Dtype::kF32, 6);
  const Literal r = value(Op::kRng, {a, b}, RngAttrs{}, &shape);
  double low = 9, high = -9, sum = 0;
  for (int64_t i = 0; i < r.elements(); ++i) {
    low = std::min(low, r.get_float(i));
    high = std::max(high, r.get_float(i));
    sum += r.get_float(i);
  }
  EXPECT_GE(low, -2);
  EXPECT_LT(high, 6);
  EXPECT_LT(low, -1.98);
  EXPECT_GT(high, 5.98);
  EXPECT_NEAR(sum / 10000, 2, 0.1);
  EXPECT_EQ(r, value(Op::kRng, {a, b}, RngAttrs{}, &shape)) << "the same program, other numbers";
}

TEST(Rng, IntegersStayInRange) {
  const Shape shape = Shape::array(Dtype::kS8, {2000});
  const Literal a = Literal::scalar_int(Dtype::kS8, -3), b = Literal::scalar_int(Dtype::kS8, 4);
  const Literal r = value(Op::kRng, {a, b}, RngAttrs{}, &shape);
  std::vector<int> seen(7);
  for (int64_t i = 0; i < r.elements(); ++i) {
    ASSERT_GE(r.get_int(i), -3);
    ASSERT_LT(r.get_int(i), 4);
    ++seen[r.get_int(i) + 3];
  }
  for (int n : seen) EXPECT_GT(n, 200);
}

TEST(Rng, NormalNumbersHaveMeanAndDeviation) {
  const Shape shape = Shape::array(Dtype::kF64, {20000});
  const Literal r = value(Op::kRng, {Literal::scalar(Dtype::kF64, 3), Literal::scalar(Dtype::kF64, 2)},
                          RngAttrs{RngDistribution::kNormal}, &shape);
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < r.elements(); ++i) sum += r.get_float(i);
  const double mean = sum / 20000;
  for (int64_t i = 0; i < r.elements(); ++i) squares += std::pow(r.get_float(i) - mean, 2);
  EXPECT_NEAR(mean, 3, 0.05);
  EXPECT_NEAR(std::sqrt(squares / 20000), 2, 0.05);
}

TEST(Rng, NamesTheBrokenConstraint) {
  const Shape shape = Shape::array(Dtype::kS32, {4});
  const Literal i = Literal::scalar_int(Dtype::kS32, 1), f = Literal::scalar(Dtype::kF32, 1);
  expect_error(run(Op::kRng, {i, f}, RngAttrs{}, &shape), "stablehlo.rng (C1)");
  expect_error(run(Op::kRng, {i, i}, RngAttrs{RngDistribution::kNormal}, &shape),
               "stablehlo.rng (C2)");
}

}  // namespace
}  // namespace braze
