// SPDX-License-Identifier: Apache-2.0
// NumPy's array files: .npy, and .npz archives of them (zip, stored or deflated). Also gzip.
//
// Interface: read_npz, read_npy, write_npy, write_npz, gunzip. Values are bytes in C order with
// NumPy's type string; what the types mean to a program is the caller's matter. All readers accept
// hostile input.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace braze {

struct NpyArray {
  std::string name;            // member of an archive, without ".npy"
  std::string type;            // NumPy's spelling without byte order: "f4", "c8", "b1", "u2", "V2"
  std::vector<int64_t> dims;
  std::string bytes;           // little-endian, row-major
};

Result<NpyArray> read_npy(std::string_view file);
Result<std::vector<NpyArray>> read_npz(std::string_view file);  // in the order of the archive
std::string write_npy(const NpyArray& a);
std::string write_npz(const std::vector<NpyArray>& arrays);     // stored

bool is_gzip(std::string_view bytes);
// At most `limit` bytes of text come out, or an error.
Result<std::string> gunzip(std::string_view bytes, int64_t limit = int64_t{4} << 30);

// A regular file as a whole; of pipes and devices, which may never end, at most 4 GiB, or an error.
Result<std::string> read_file(const std::string& path);
Result<std::string> read_stream(FILE* f, const std::string& name);
Status write_file(const std::string& path, std::string_view bytes);

}  // namespace braze
