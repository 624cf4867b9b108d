// SPDX-License-Identifier: Apache-2.0
#include "tools/program.h"

#include <cstdio>
#include <iostream>
#include <iterator>

#include "base/npy.h"

namespace braze::tools {

Result<std::string> read_input_file(const std::string& file) {
  if (file != "-") return read_file(file);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

Result<std::unique_ptr<Module>> read_program(const SourceFlags& flags) {
  ASSIGN(std::string bytes, read_input_file(flags.file));
  ReadOptions options;
  options.file = flags.file == "-" ? "<stdin>" : flags.file;
  options.entry = flags.entry;
  options.fill_elided = flags.fill_elided;
  return read_module(bytes, options);
}

int finish(const Status& s) {
  if (s.ok()) return 0;
  std::fflush(stdout);
  std::fprintf(stderr, "braze: %s\n", std::string(s.message()).c_str());
  return 1;
}

int usage_error(const std::string& what) {
  std::fprintf(stderr, "braze: %s\n", what.c_str());
  return 2;
}

}  // namespace braze::tools
