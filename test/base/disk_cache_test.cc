// SPDX-License-Identifier: Apache-2.0
// A cache folder gives back what was put, whole, or nothing: whatever happened to its files.
#include "base/disk_cache.h"

#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace braze {
namespace {

namespace fs = std::filesystem;

class DiskCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/braze_cache_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
    folder_ = root_ + "/a/b";
  }
  void TearDown() override { fs::remove_all(root_); }

  static Hash128 key(int n) { return hash128(std::to_string(n)); }
  std::string file(const Hash128& k) const { return DiskCache(folder_, 1 << 20).path(k); }
  std::string read(const std::string& path) const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& path, const std::string& bytes) const {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string root_, folder_;
};

TEST_F(DiskCacheTest, GivesBackWhatWasPut) {
  DiskCache c(folder_, 1 << 20);
  EXPECT_TRUE(absl::IsNotFound(c.get(key(1)).status()));
  EXPECT_FALSE(c.touch(key(1)));
  for (const std::string& bytes : {std::string(), std::string("\0code\0", 6), std::string(100000, 'x')}) {
    ASSERT_TRUE(c.put(key(1), bytes).ok());
    EXPECT_EQ(*c.get(key(1)), bytes);
    EXPECT_EQ(*DiskCache(folder_, 1 << 20).get(key(1)), bytes);
  }
  EXPECT_TRUE(c.touch(key(1)));
  EXPECT_TRUE(absl::IsNotFound(c.get(key(2)).status()));
  EXPECT_EQ(files(), 1u);
}

TEST_F(DiskCacheTest, LeavesDamagedFilesAlone) {
  DiskCache c(folder_, 1 << 20);
  const std::string bytes = "what was compiled, at some length";
  ASSERT_TRUE(c.put(key(1), bytes).ok());
  const std::string good = read(file(key(1)));
  for (size_t n = 0; n < good.size(); ++n) {
    write(file(key(1)), good.substr(0, n));
    EXPECT_FALSE(c.get(key(1)).ok()) << "cut to " << n;
  }
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    write(file(key(1)), bad);
    EXPECT_FALSE(c.get(key(1)).ok()) << "bit " << bit;
  }
  write(file(key(1)), good + "x");
  EXPECT_FALSE(c.get(key(1)).ok());
  write(file(key(2)), good);
  EXPECT_FALSE(c.get(key(2)).ok()) << "another key's file";
  ASSERT_TRUE(c.put(key(1), bytes).ok());
  EXPECT_EQ(*c.get(key(1)), bytes);
}

TEST_F(DiskCacheTest, SaysWhatItCannotDo) {
  write(root_ + "/file", "in the way");
  DiskCache c(root_ + "/file/folder", 1 << 20);
  EXPECT_FALSE(c.put(key(1), "x").ok());
  EXPECT_FALSE(c.get(key(1)).ok());
  DiskCache folder_in_place(folder_, 1 << 20);
  fs::create_directories(file(key(1)));
  EXPECT_FALSE(folder_in_place.get(key(1)).ok());
  EXPECT_FALSE(folder_in_place.put(key(1), "x").ok());
  EXPECT_EQ(files(), 1u) << "nothing unfinished stays";
  EXPECT_FALSE(DiskCache(folder_, 10).put(key(2), "more than fits").ok());
  // What would block, or take more memory than the cache may, is not read.
  ASSERT_EQ(mkfifo(file(key(3)).c_str(), 0600), 0);
  EXPECT_FALSE(folder_in_place.get(key(3)).ok());
  ASSERT_TRUE(folder_in_place.put(key(4), std::string(1000, 'x')).ok());
  EXPECT_TRUE(folder_in_place.get(key(4)).ok());
  EXPECT_FALSE(DiskCache(folder_, 500).get(key(4)).ok());
}

TEST_F(DiskCacheTest, OldestGoesFirst) {
  const std::string bytes(1000, 'x');
  DiskCache c(folder_, 5 * 1100);
  for (int n = 0; n < 5; ++n) {
    ASSERT_TRUE(c.put(key(n), bytes).ok());
    timespec times[2] = {{1000 + n, 0}, {1000 + n, 0}};  // long ago, in order
    ASSERT_EQ(utimensat(AT_FDCWD, file(key(n)).c_str(), times, 0), 0);
  }
  ASSERT_TRUE(c.get(key(0)).ok());  // used, so that 1 is the oldest
  ASSERT_TRUE(c.put(key(5), bytes).ok());
  EXPECT_TRUE(c.get(key(0)).ok());
  EXPECT_FALSE(c.get(key(1)).ok());
  EXPECT_TRUE(c.get(key(5)).ok());
  for (int n = 6; n < 60; ++n) ASSERT_TRUE(DiskCache(folder_, 5 * 1100).put(key(n), bytes).ok());
  EXPECT_LE(files(), 5u);
  write(folder_ + "/notes.txt", "not ours");
  for (int n = 60; n < 70; ++n) ASSERT_TRUE(c.put(key(n), bytes).ok());
  EXPECT_TRUE(fs::exists(folder_ + "/notes.txt"));
}

TEST_F(DiskCacheTest, AbandonedFilesGo) {
  DiskCache c(folder_, 1 << 20);
  fs::create_directories(folder_);
  write(folder_ + "/dead.braze-part", "half");
  write(folder_ + "/live.braze-part", "half");
  timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (folder_ + "/dead.braze-part").c_str(), times, 0), 0);
  ASSERT_TRUE(c.put(key(1), "x").ok());
  EXPECT_FALSE(fs::exists(folder_ + "/dead.braze-part"));
  EXPECT_TRUE(fs::exists(folder_ + "/live.braze-part"));
}

// Writers and readers of the same few keys, in threads of two processes: each reader sees whole values.
TEST_F(DiskCacheTest, ProcessesAtOnce) {
  const auto value = [](int k, int who) {
    return std::string(static_cast<size_t>(2000 + 1000 * k), static_cast<char>('a' + who));
  };
  const auto work = [&](int who) {
    DiskCache c(folder_, 40000);
    int bad = 0;
    for (int i = 0; i < 300; ++i) {
      const int k = i % 4;
      bad += !c.put(key(k), value(k, who)).ok();
      auto got = c.get(key(k));
      if (!got.ok()) continue;  // made room for another
      bad += got->size() != value(k, 0).size() || got->find_first_not_of((*got)[0]) != std::string::npos;
    }
    return bad;
  };
  std::vector<pid_t> children;
  for (int p = 0; p < 2; ++p) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) _exit(work(p) ? 1 : 0);
    children.push_back(pid);
  }
  int here = 0;
  std::thread t([&] { here = work(2); });
  EXPECT_EQ(work(3), 0);
  t.join();
  EXPECT_EQ(here, 0);
  for (pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
}

TEST(ParseSize, Units) {
  EXPECT_EQ(parse_size("0"), 0);
  EXPECT_EQ(parse_size("123"), 123);
  EXPECT_EQ(parse_size("2K"), 2048);
  EXPECT_EQ(parse_size("500M"), int64_t{500} << 20);
  EXPECT_EQ(parse_size("2g"), int64_t{2} << 30);
  for (const char* bad : {"", "G", "-1", "1.5G", "2T", "x", "99999999999999999999", "999999999999999999G"})
    EXPECT_EQ(parse_size(bad), -1) << bad;
}

}  // namespace
}  // namespace braze
