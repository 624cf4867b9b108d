// SPDX-License-Identifier: Apache-2.0
// braze compile: a program as a static library and a header.
#include <cstdio>
#include <fstream>

#include "aot/library.h"
#include "spmd/expand.h"
#include "tools/program.h"
#include "tools/tools.h"

namespace braze::tools {
namespace {

Status write_file(const std::string& path, const std::string& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) return invalid("cannot write ", path);
  return absl::OkStatus();
}

// "build/my-model.v2" → "my_model_v2"
std::string identifier_of(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  for (char& c : name)
    if (!aot::is_c_identifier(str_cat("_", std::string_view(&c, 1)))) c = '_';
  return aot::is_c_identifier(name) ? name : str_cat("_", name);
}

std::string list(const std::vector<Shape>& shapes) {
  std::string out;
  for (const Shape& s : shapes) out += str_cat(out.empty() ? "" : ", ", to_string(s, false));
  return out;
}

Status compile_program(const AheadOptions& o) {
  ASSIGN(std::unique_ptr<Module> m, read_program(o.source));
  TRY(spmd::to_one_device(*m));
  aot::LibraryOptions options;
  options.name = o.name.empty() ? identifier_of(o.output) : o.name;
  options.class_name = o.class_name;
  options.target = o.target;
  ASSIGN(const aot::Library made, aot::compile_library(std::move(m), options));
  TRY(write_file(o.output + ".a", made.archive));
  TRY(write_file(o.output + ".h", made.header));
  std::printf("%s_run(%s) -> (%s)\n", options.name.c_str(), list(made.arguments).c_str(), list(made.results).c_str());
  std::printf("%s.a: %zu bytes, %lld kernel(s), %lld library call(s), %lld bytes of temporaries\n", o.output.c_str(),
              made.archive.size(), static_cast<long long>(made.kernels), static_cast<long long>(made.library_calls),
              static_cast<long long>(made.temp_bytes));
  std::printf("%s.h: for C and C++%s\n", o.output.c_str(),
              made.library_calls ? "; link libbraze_runtime for the library calls" : "");
  return absl::OkStatus();
}

}  // namespace

int compile(const AheadOptions& o) {
  if (!o.name.empty() && !aot::is_c_identifier(o.name))
    return usage_error("compile --name=" + o.name + ": expected a C identifier");
  return finish(compile_program(o));
}

}  // namespace braze::tools
