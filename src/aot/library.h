// SPDX-License-Identifier: Apache-2.0
// Programs compiled ahead of time: Module → a static library with one C function, and the header that declares
// it and a C++ class around it.
//
// Interface: compile_library. The library needs the C library alone; include/braze/runtime.h tells what it may
// be given besides.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backend/compile.h"
#include "base/status.h"
#include "ir/module.h"

namespace braze::aot {

struct LibraryOptions {
  std::string name;            // a C identifier: the function is NAME_run
  std::string class_name;      // "ns::Name"; empty: NAME in camel case
  std::string target = "host";
};

struct Library {
  std::string archive;         // bytes of a static library
  std::string header;          // C and C++
  int64_t kernels = 0, library_calls = 0;
  int64_t temp_bytes = 0;      // of a run on one thread
  std::vector<Shape> arguments, results;  // leaves, in order
};

// UNIMPLEMENTED for what only a compiling process can run: sizes decided while running, calls of Python.
Result<Library> compile_library(std::unique_ptr<Module> module, const LibraryOptions& options);

// Letters, digits and underscores, not beginning with a digit.
bool is_c_identifier(std::string_view s);

}  // namespace braze::aot
