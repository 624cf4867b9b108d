// SPDX-License-Identifier: Apache-2.0
#include "tools/program.h"

#include <cstdio>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/npy.h"

namespace braze::tools {

Result<std::string> read_input_file(const std::string& file) {
  return file == "-" ? read_stream(stdin, "<stdin>") : read_file(file);
}

namespace {

// Argument k's shape with the sizes of "k=2,3" among the flags.
Result<Shape> shape_from(const SourceFlags& flags, int64_t k, const Shape& own) {
  for (const std::string& f : flags.shape) {
    const size_t eq = f.find('=');
    if (eq == std::string::npos || f.substr(0, eq) != std::to_string(k)) continue;
    Dims dims;
    for (const std::string& d : std::vector<std::string>(absl::StrSplit(f.substr(eq + 1), ','))) {
      int64_t v = 0;
      if (!absl::SimpleAtoi(d, &v) || v < 0) return invalid("--shape ", f, ": '", d, "' is no size");
      dims.push_back(v);
    }
    bool fits = static_cast<int64_t>(dims.size()) == own.rank();
    for (size_t d = 0; fits && d < dims.size(); ++d)
      fits = own.dims[d] == dims[d] || own.dims[d] == kUnknownDim || own.is_dynamic(d);
    if (!fits) return invalid("--shape ", f, ": argument ", k, " is ", to_string(own, false));
    Shape s = own;
    s.dims = dims;
    s.dynamic.clear();
    return s;
  }
  if (!own.is_static())
    return invalid("argument ", k, " is ", to_string(own, false),
                   ": give its sizes, as in --shape ", k, "=2,3");
  return own;
}

// Every flag is "k=…" with the number of an argument.
Status check_shape_flags(const SourceFlags& flags, size_t arguments) {
  for (const std::string& f : flags.shape) {
    uint64_t k = 0;
    const size_t eq = f.find('=');
    if (eq == std::string::npos || !absl::SimpleAtoi(f.substr(0, eq), &k))
      return invalid("--shape ", f, ": expected the number of an argument and sizes, as in 0=2,3");
    if (k >= arguments)
      return invalid("--shape ", f, ": the program has ", arguments, " arguments, numbered from 0");
  }
  return absl::OkStatus();
}

}  // namespace

Result<std::unique_ptr<Module>> read_program(const SourceFlags& flags) {
  ASSIGN(std::string bytes, read_input_file(flags.file));
  ReadOptions options;
  options.file = flags.file == "-" ? "<stdin>" : flags.file;
  options.entry = flags.entry;
  options.fill_elided = flags.fill_elided;
  ASSIGN(std::unique_ptr<Module> m, read_module(bytes, options));
  if (flags.shape.empty()) return m;
  TRY(check_shape_flags(flags, m->entry()->params().size()));
  for (const Instr* p : m->entry()->params()) {
    ASSIGN(Shape s, shape_from(flags, p->parameter_number(), p->shape));
    options.argument_shapes.push_back(std::move(s));
  }
  return read_module(bytes, options);
}

int finish(const Status& s) {
  if (s.ok()) return 0;
  std::fflush(stdout);
  std::fprintf(stderr, "braze: %s\n", std::string(s.message()).c_str());
  return 1;
}

int nothing_to_run(const std::string& what, const std::string& dir, const std::string& usual) {
  if (dir != usual) return finish(not_found("there are no ", what, " below ", dir));
  std::printf("skipped: there are no %s below %s\n0 passed, 0 failed, 1 skipped\n", what.c_str(),
              dir.c_str());
  return 0;
}

int usage_error(const std::string& what) {
  std::fprintf(stderr, "braze: %s\n", what.c_str());
  return 2;
}

}  // namespace braze::tools
