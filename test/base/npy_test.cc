// SPDX-License-Identifier: Apache-2.0
#include "base/npy.h"

#include <gtest/gtest.h>
#include <zlib.h>

namespace braze {
namespace {

NpyArray sample() {
  NpyArray a{"in0", "f4", {2, 3}, {}};
  for (int i = 0; i < 6; ++i) {
    const float v = 0.5f * static_cast<float>(i);
    a.bytes.append(reinterpret_cast<const char*>(&v), sizeof v);
  }
  return a;
}

TEST(Npy, WritesWhatItReads) {
  for (std::vector<int64_t> dims : {std::vector<int64_t>{6}, {2, 3}, {1, 2, 3}}) {
    NpyArray a = sample();
    a.dims = dims;
    auto b = read_npy(write_npy(a));
    ASSERT_TRUE(b.ok()) << b.status();
    EXPECT_EQ(b->dims, dims);
    EXPECT_EQ(b->type, "f4");
    EXPECT_EQ(b->bytes, a.bytes);
  }
}

TEST(Npy, ScalarsAndEmptyArrays) {
  auto scalar = read_npy(write_npy({"", "b1", {}, std::string(1, '\1')}));
  ASSERT_TRUE(scalar.ok()) << scalar.status();
  EXPECT_TRUE(scalar->dims.empty());
  auto empty = read_npy(write_npy({"", "i8", {0, 3}, ""}));
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_EQ(empty->dims, std::vector<int64_t>({0, 3}));
}

TEST(Npz, WritesWhatItReads) {
  NpyArray a = sample(), b = sample();
  b.name = "in1";
  b.dims = {6};
  auto back = read_npz(write_npz({a, b}));
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[1].name, "in1");
  EXPECT_EQ((*back)[1].dims, std::vector<int64_t>({6}));
  EXPECT_EQ((*back)[0].bytes, a.bytes);
}

TEST(Npz, DamageIsAnError) {
  const std::string good = write_npz({sample()});
  for (size_t n = 0; n < good.size(); n += 3) EXPECT_FALSE(read_npz(good.substr(0, n)).ok()) << n;
  std::string bad = good;
  for (size_t n = 0; n < bad.size(); ++n) {  // must not crash, whatever it answers
    bad[n] ^= '\x55';
    (void)read_npz(bad);
    bad[n] ^= '\x55';
  }
}

TEST(Gzip, UnpacksWithinTheLimit) {
  const std::string text(100000, 'x');
  std::string packed(2000, '\0');
  z_stream z = {};
  ASSERT_EQ(deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = text.size();
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = packed.size();
  ASSERT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  packed.resize(z.total_out);
  deflateEnd(&z);
  ASSERT_TRUE(is_gzip(packed));
  auto out = gunzip(packed);
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(*out, text);
  EXPECT_FALSE(gunzip(packed, 1000).ok());
  EXPECT_FALSE(gunzip(packed.substr(0, packed.size() / 2)).ok());
}

}  // namespace
}  // namespace braze
