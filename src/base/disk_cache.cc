// SPDX-License-Identifier: Apache-2.0
#include "base/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <vector>

namespace braze {
namespace {

constexpr std::string_view kSuffix = ".braze-code";
constexpr std::string_view kUnfinished = ".braze-part";
constexpr int64_t kDefaultLimit = int64_t{2} << 30;
constexpr int64_t kAbandonedSeconds = 3600;  // an unfinished file that old has lost its writer

struct Header {
  char magic[8];
  Hash128 key, checksum;
  uint64_t size;
};
constexpr char kMagic[8] = {'B', 'R', 'Z', 'C', 'O', 'D', 'E', '1'};

std::string because() { return std::strerror(errno); }

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(const File&) = delete;
  int fd() const { return fd_; }
  // False if the disk did not take all of it.
  bool finish() { return close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

bool read_all(int fd, char* to, size_t n) {
  while (n > 0) {
    const ssize_t got = read(fd, to, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got, n -= static_cast<size_t>(got);
  }
  return true;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return true;
}

bool has_suffix(std::string_view name, std::string_view suffix) {
  return name.size() > suffix.size() && name.substr(name.size() - suffix.size()) == suffix;
}

struct Entry {
  std::string path;
  int64_t bytes;
  timespec used;
};

// The cache's files; unfinished ones whose writer is gone are removed.
std::vector<Entry> list(const std::string& folder) {
  std::vector<Entry> out;
  DIR* dir = opendir(folder.c_str());
  if (!dir) return out;
  while (const dirent* d = readdir(dir)) {
    const std::string_view name = d->d_name;
    const bool whole = has_suffix(name, kSuffix);
    if (!whole && !has_suffix(name, kUnfinished)) continue;
    struct stat s;
    std::string path = str_cat(folder, "/", name);
    if (stat(path.c_str(), &s) != 0) continue;
    if (whole) out.push_back({std::move(path), s.st_size, s.st_mtim});
    else if (time(nullptr) - s.st_mtime > kAbandonedSeconds) unlink(path.c_str());
  }
  closedir(dir);
  return out;
}

}  // namespace

int64_t parse_size(std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    const char unit = text.back();
    shift = unit == 'K' || unit == 'k' ? 10 : unit == 'M' || unit == 'm' ? 20 : unit == 'G' || unit == 'g' ? 30 : 0;
    if (shift) text.remove_suffix(1);
  }
  if (text.empty() || text.size() > 18) return -1;
  int64_t n = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return -1;
    n = n * 10 + (c - '0');
  }
  return n > (INT64_MAX >> shift) ? -1 : n << shift;
}

DiskCache* DiskCache::from_environment() {
  static DiskCache* const cache = []() -> DiskCache* {
    const char* folder = std::getenv("BRAZE_CACHE_DIR");
    if (!folder || !*folder) return nullptr;
    const char* size = std::getenv("BRAZE_CACHE_SIZE");
    int64_t limit = size && *size ? parse_size(size) : kDefaultLimit;
    if (limit < 0) limit = kDefaultLimit;
    return limit == 0 ? nullptr : new DiskCache(folder, limit);  // never destroyed: used at exit, too
  }();
  return cache;
}

std::string DiskCache::path(const Hash128& key) const {
  return str_cat(folder_, "/", to_hex(key), kSuffix);
}

Result<std::string> DiskCache::get(const Hash128& key) {
  const std::string name = path(key);
  File f(open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (f.fd() < 0) {
    if (errno == ENOENT) return not_found(name);
    return internal(name, ": ", because());
  }
  struct stat s;
  Header h;
  if (fstat(f.fd(), &s) != 0 || !S_ISREG(s.st_mode)) return internal(name, " is no file");
  if (!read_all(f.fd(), reinterpret_cast<char*>(&h), sizeof(h)) ||
      std::memcmp(h.magic, kMagic, sizeof(kMagic)) != 0 || !(h.key == key))
    return internal(name, " is no entry of this cache");
  if (static_cast<uint64_t>(s.st_size) - sizeof(h) != h.size) return internal(name, " is cut short");
  if (s.st_size > limit_) return internal(name, " is larger than the whole cache may be");
  std::string bytes(h.size, '\0');
  if (!read_all(f.fd(), bytes.data(), bytes.size())) return internal(name, ": ", because());
  if (!(hash128(bytes) == h.checksum)) return internal(name, " is damaged");
  futimens(f.fd(), nullptr);  // used now; not ours to touch: it keeps its age
  return bytes;
}

bool DiskCache::touch(const Hash128& key) {
  const std::string name = path(key);
  if (access(name.c_str(), F_OK) != 0) return false;
  utimensat(AT_FDCWD, name.c_str(), nullptr, 0);
  return true;
}

Status DiskCache::put(const Hash128& key, std::string_view bytes) {
  Header h;
  std::memcpy(h.magic, kMagic, sizeof(kMagic));
  h.key = key;
  h.checksum = hash128(bytes);
  h.size = bytes.size();
  const int64_t fresh = static_cast<int64_t>(bytes.size() + sizeof(h));
  if (fresh > limit_) return exhausted("an entry of ", fresh, " bytes in a cache of ", limit_);
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  static std::atomic<int64_t> number{0};
  const std::string part = str_cat(folder_, "/", to_hex(key), "-", getpid(), "-", number++, kUnfinished);
  File f(open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (f.fd() < 0) return internal("cannot write ", part, ": ", because());
  bool whole = write_all(f.fd(), {reinterpret_cast<const char*>(&h), sizeof(h)}) && write_all(f.fd(), bytes);
  whole &= f.finish();
  if (!whole || rename(part.c_str(), path(key).c_str()) != 0) {
    Status s = internal("cannot write ", path(key), ": ", because());
    unlink(part.c_str());
    return s;
  }
  make_room(fresh);
  return absl::OkStatus();
}

void DiskCache::make_room(int64_t fresh) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (size_ >= 0 && (size_ += fresh) <= limit_) return;
  std::vector<Entry> entries = list(folder_);
  size_ = 0;
  for (const Entry& e : entries) size_ += e.bytes;
  if (size_ <= limit_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.used.tv_sec != b.used.tv_sec ? a.used.tv_sec < b.used.tv_sec
                                          : a.used.tv_nsec < b.used.tv_nsec;
  });
  // Somewhat below the bound, so that not every put has to look again.
  for (const Entry& e : entries) {
    if (size_ <= limit_ - limit_ / 10) break;
    if (unlink(e.path.c_str()) == 0 || errno == ENOENT) size_ -= e.bytes;
  }
}

}  // namespace braze
