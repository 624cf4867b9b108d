// SPDX-License-Identifier: Apache-2.0
#include "base/npy.h"

#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/numbers.h"

namespace braze {
namespace {

uint32_t little(std::string_view s, size_t at, size_t bytes) {
  uint32_t v = 0;
  for (size_t k = 0; k < bytes; ++k)
    v |= static_cast<uint32_t>(static_cast<uint8_t>(s[at + k])) << (8 * k);
  return v;
}

void put(std::string& out, uint64_t v, size_t bytes) {
  for (size_t k = 0; k < bytes; ++k) out += static_cast<char>(v >> (8 * k));
}

// window: 15 raw deflate is −15, gzip 31. `limit` bounds the output.
Result<std::string> inflate_all(std::string_view in, int window, int64_t limit) {
  z_stream z = {};
  if (inflateInit2(&z, window) != Z_OK) return internal("zlib can't start");
  std::string out;
  std::vector<char> buffer(1 << 16);
  size_t at = 0;
  int rc = Z_OK;
  while (rc != Z_STREAM_END) {
    if (z.avail_in == 0) {
      const size_t n = std::min<size_t>(in.size() - at, 1 << 30);
      z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data() + at));
      z.avail_in = static_cast<uInt>(n);
      at += n;
    }
    z.next_out = reinterpret_cast<Bytef*>(buffer.data());
    z.avail_out = static_cast<uInt>(buffer.size());
    rc = inflate(&z, Z_NO_FLUSH);
    const size_t made = buffer.size() - z.avail_out;
    out.append(buffer.data(), made);
    const bool stuck =
        rc == Z_BUF_ERROR || (rc == Z_OK && made == 0 && z.avail_in == 0 && at == in.size());
    if ((rc != Z_OK && rc != Z_STREAM_END) || stuck || static_cast<int64_t>(out.size()) > limit) {
      inflateEnd(&z);
      return static_cast<int64_t>(out.size()) > limit ? exhausted("compressed data is too large")
                                                      : invalid("compressed data is damaged");
    }
  }
  inflateEnd(&z);
  return out;
}

// The value behind 'key': in the header's dictionary.
std::string_view header_value(std::string_view header, std::string_view key) {
  const size_t k = header.find(key);
  if (k == std::string_view::npos) return {};
  const size_t colon = header.find(':', k);
  if (colon == std::string_view::npos) return {};
  std::string_view v = header.substr(colon + 1);
  while (!v.empty() && v[0] == ' ') v.remove_prefix(1);
  return v;
}

int64_t bytes_per_element(std::string_view type) {
  int64_t n = 0;
  for (char c : type.substr(type.empty() ? 0 : 1)) {
    if (c < '0' || c > '9' || n > 1000) return 0;
    n = n * 10 + (c - '0');
  }
  return n;
}

}  // namespace

Result<NpyArray> read_npy(std::string_view f) {
  if (f.size() < 10 || f.substr(0, 6) != "\x93NUMPY") return invalid("not an .npy file");
  const size_t length_bytes = f[6] == 1 ? 2 : 4;
  if (f.size() < 8 + length_bytes) return invalid(".npy: the header is cut off");
  const size_t length = little(f, 8, length_bytes), start = 8 + length_bytes + length;
  if (start > f.size()) return invalid(".npy: the header is cut off");
  const std::string_view header = f.substr(8 + length_bytes, length);
  NpyArray a;
  std::string_view type = header_value(header, "'descr'");
  if (type.size() < 3 || type[0] != '\'') return unimplemented(".npy: structured types");
  type = type.substr(1, type.find('\'', 1) - 1);
  if (type.size() < 3 || type[0] == '>') return unimplemented(".npy: type ", type);
  a.type = std::string(type.substr(1));
  if (header_value(header, "'fortran_order'").substr(0, 4) == "True")
    return unimplemented(".npy: Fortran order");
  std::string_view shape = header_value(header, "'shape'");
  if (shape.empty() || shape[0] != '(') return invalid(".npy: no shape");
  shape = shape.substr(1, shape.find(')') - 1);
  int64_t count = 1;
  while (!shape.empty()) {
    const size_t comma = std::min(shape.find(','), shape.size());
    std::string_view digits = shape.substr(0, comma);
    int64_t d = 0;
    if (digits.find_first_not_of(' ') != std::string_view::npos) {
      if (!absl::SimpleAtoi(absl::string_view(digits.data(), digits.size()), &d) || d < 0 ||
          (__builtin_mul_overflow(count, d, &count)))
        return invalid(".npy: bad shape");
      a.dims.push_back(d);
    }
    shape.remove_prefix(std::min(shape.size(), comma + 1));
  }
  const int64_t size = bytes_per_element(a.type);
  int64_t total = 0;
  if (size == 0 || __builtin_mul_overflow(count, size, &total) ||
      total > static_cast<int64_t>(f.size() - start))
    return invalid(".npy: the elements are cut off");
  a.bytes = std::string(f.substr(start, static_cast<size_t>(total)));
  return a;
}

Result<std::vector<NpyArray>> read_npz(std::string_view f) {
  // The end record is within the last 64 KiB; its fields give the central directory.
  const size_t end = f.rfind("PK\x05\x06");
  if (end == std::string_view::npos || end + 22 > f.size()) return invalid("not a zip archive");
  const size_t count = little(f, end + 10, 2);
  size_t at = little(f, end + 16, 4);
  std::vector<NpyArray> out;
  for (size_t k = 0; k < count; ++k) {
    if (at + 46 > f.size() || f.substr(at, 4) != "PK\x01\x02") return invalid("zip: bad directory");
    const uint32_t method = little(f, at + 10, 2);
    const size_t packed = little(f, at + 20, 4), full = little(f, at + 24, 4);
    const size_t name_size = little(f, at + 28, 2);
    const size_t next = at + 46 + name_size + little(f, at + 30, 2) + little(f, at + 32, 2);
    const size_t local = little(f, at + 42, 4);
    if (next > f.size() || local + 30 > f.size()) return invalid("zip: bad directory");
    std::string name(f.substr(at + 46, name_size));
    const size_t data = local + 30 + little(f, local + 26, 2) + little(f, local + 28, 2);
    if (data > f.size() || packed > f.size() - data) return invalid("zip: '", name, "' is cut off");
    std::string_view body = f.substr(data, packed);
    std::string inflated;
    if (method == 8) {
      ASSIGN(inflated, inflate_all(body, -15, static_cast<int64_t>(full)));
      body = inflated;
    } else if (method != 0) {
      return unimplemented("zip: '", name, "' is packed by method ", method);
    }
    auto array = read_npy(body);
    if (!array.ok()) return note(name, array.status());
    if (name.size() > 4 && name.substr(name.size() - 4) == ".npy") name.resize(name.size() - 4);
    array->name = std::move(name);
    out.push_back(*std::move(array));
    at = next;
  }
  return out;
}

std::string write_npy(const NpyArray& a) {
  std::string dims;
  for (int64_t d : a.dims) dims += str_cat(d, ", ");
  if (a.dims.size() > 1) dims.resize(dims.size() - 2);
  else if (!dims.empty()) dims.pop_back();
  const bool one_byte = bytes_per_element(a.type) == 1;
  std::string header = str_cat("{'descr': '", one_byte ? "|" : "<", a.type,
                               "', 'fortran_order': False, 'shape': (", dims, "), }");
  header.append(63 - (header.size() + 10) % 64, ' ');
  header += '\n';
  std::string out = "\x93NUMPY";
  out += '\x01';
  out += '\0';
  put(out, header.size(), 2);
  return out + header + a.bytes;
}

std::string write_npz(const std::vector<NpyArray>& arrays) {
  std::string out, directory;
  for (const NpyArray& a : arrays) {
    const std::string name = a.name + ".npy", body = write_npy(a);
    const size_t local = out.size();
    std::string fields;  // shared by the local header and the directory
    put(fields, 20, 2), put(fields, 0, 2), put(fields, 0, 2), put(fields, 0, 2), put(fields, 33, 2);
    put(fields,
        crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())), 4);
    put(fields, body.size(), 4), put(fields, body.size(), 4), put(fields, name.size(), 2);
    put(fields, 0, 2);
    out += "PK\x03\x04" + fields + name + body;
    directory += "PK\x01\x02";
    put(directory, 20, 2);
    directory += fields;
    put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 2), put(directory, 0, 4);
    put(directory, local, 4);
    directory += name;
  }
  const size_t start = out.size();
  out += directory + "PK\x05\x06";
  put(out, 0, 4), put(out, arrays.size(), 2), put(out, arrays.size(), 2);
  put(out, directory.size(), 4), put(out, start, 4), put(out, 0, 2);
  return out;
}

bool is_gzip(std::string_view b) { return b.size() > 2 && b[0] == '\x1f' && b[1] == '\x8b'; }

Result<std::string> gunzip(std::string_view bytes, int64_t limit) {
  return inflate_all(bytes, 31, limit);
}

Result<std::string> read_stream(FILE* f, const std::string& name) {
  struct stat about {};
  const bool regular = fstat(fileno(f), &about) == 0 && S_ISREG(about.st_mode);
  constexpr size_t kLongest = size_t{4} << 30;
  std::string out;
  std::vector<char> buffer(1 << 16);
  while (size_t n = std::fread(buffer.data(), 1, buffer.size(), f)) {
    if (!regular && out.size() + n > kLongest) return invalid(name, ": does not end within 4 GiB");
    out.append(buffer.data(), n);
  }
  if (std::ferror(f)) return internal(name, ": ", std::strerror(errno));
  return out;
}

Result<std::string> read_file(const std::string& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> f(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!f) return not_found(path.empty() ? "''" : path, ": ", std::strerror(errno));
  return read_stream(f.get(), path);
}

Status write_file(const std::string& path, std::string_view bytes) {
  FILE* f = std::fopen(path.c_str(), "wb");
  if (!f) return invalid(path, ": ", std::strerror(errno));
  const bool ok = std::fwrite(bytes.data(), 1, bytes.size(), f) == bytes.size();
  if (std::fclose(f) != 0 || !ok) return internal(path, ": can't write");
  return absl::OkStatus();
}

}  // namespace braze
