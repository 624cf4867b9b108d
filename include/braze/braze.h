// SPDX-License-Identifier: Apache-2.0
// Braze's C++ interface: read a program, compile it, run it.
//
//   braze::Program program;
//   if (auto e = braze::Program::read_file("step.mlir", &program); !e.ok()) …e.message()…
//   braze::CompiledProgram step;
//   if (auto e = program.compile({}, &step); !e.ok()) …
//   std::vector<braze::Array> results;
//   if (auto e = step.run({x, y}, &results); !e.ok()) …
//
// Nothing here throws, prints, aborts or exits; whatever can fail returns an Error. Arguments and
// results are the arrays of the program in order; tuples count as their elements, depth first.
// Arrays are dense and row-major; types narrower than a byte take one byte per element. This header
// needs the standard library alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define BRAZE_API [[gnu::visibility("default")]]

namespace braze {
inline namespace v1 {

enum class ErrorCode : int { kOk, kInvalid, kUnimplemented, kNotFound, kExhausted, kInternal };

// What went wrong, in words for the user: where in the program, what was expected, what to do.
class [[nodiscard]] BRAZE_API Error {
 public:
  Error() = default;  // no error
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}
  bool ok() const { return code_ == ErrorCode::kOk; }
  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  ErrorCode code_ = ErrorCode::kOk;
  std::string message_;
};

// Numbers are those of XLA's PrimitiveType, where it has the type.
enum class ElementType : int {
  kInvalid = 0,
  kPred = 1, kS8 = 2, kS16 = 3, kS32 = 4, kS64 = 5, kU8 = 6, kU16 = 7, kU32 = 8, kU64 = 9,
  kF16 = 10, kF32 = 11, kF64 = 12, kC64 = 15, kBF16 = 16, kToken = 17, kC128 = 18,
  kF8E5M2 = 19, kF8E4M3FN = 20, kS4 = 21, kU4 = 22, kF8E4M3B11FNUZ = 23, kF8E5M2FNUZ = 24,
  kF8E4M3FNUZ = 25, kS2 = 26, kU2 = 27, kF8E4M3 = 28, kF8E3M4 = 29, kF4E2M1FN = 32,
  kF8E8M0FNU = 33, kF6E2M3FN = 100, kF6E3M2FN = 101,
};

struct BRAZE_API ArrayType {
  ElementType element = ElementType::kInvalid;
  std::vector<int64_t> dims;   // a dimension that is still unknown is -1
  int64_t elements() const;    // product of dims
  int64_t bytes() const;       // of an array of this type in memory
  std::string text() const;    // "f32[2,3]"
  bool operator==(const ArrayType& o) const { return element == o.element && dims == o.dims; }
};

// A host array that owns its memory; copies share it.
class BRAZE_API Array {
 public:
  Array() = default;
  explicit Array(ArrayType type);  // zeros
  static Array copy_of(ArrayType type, const void* data);
  const ArrayType& type() const { return type_; }
  const void* data() const { return data_.get(); }
  void* data() { return data_.get(); }
  template <typename T>
  T* as() { return static_cast<T*>(data()); }
  template <typename T>
  const T* as() const { return static_cast<const T*>(data()); }

 private:
  ArrayType type_;
  std::shared_ptr<void> data_;
};

struct BRAZE_API SourceOptions {
  std::string name;                       // of the file, for messages
  std::string entry = "main";             // function of an MLIR module
  std::vector<ArrayType> argument_types;  // refine unknown dimensions; empty: leave them
  bool fill_elided = false;               // make up the values of constant({...}) in HLO text
};

struct BRAZE_API CompileSettings {
  // cpu: compiled; reference: the evaluator; kernel: interpreted kernels.
  std::string backend = "cpu";
  std::string target = "host";  // host, baseline, avx2 or avx512
  int threads = 0;              // 0: the process's pool, one thread per core
};

struct BRAZE_API CompileReport {
  double compile_ms = 0;
  int64_t kernels = 0, launches = 0, library_calls = 0;
  int64_t arena_bytes = 0, code_bytes = 0;
  double flops = 0, bytes = 0;  // of all launches, a loop's body counted once
  std::vector<std::pair<std::string, double>> phases;  // name, milliseconds
};

// A compiled program. Cheap to copy (copies share the code); calls may come from several threads.
class BRAZE_API CompiledProgram {
 public:
  CompiledProgram() = default;
  const std::vector<ArrayType>& arguments() const;
  const std::vector<ArrayType>& results() const;

  // One pointer per argument and result, each to type.bytes() bytes. Results may not overlap
  // arguments.
  Error run(const void* const* arguments, size_t argument_count, void* const* results,
            size_t result_count) const;
  Error run(const std::vector<Array>& arguments, std::vector<Array>* results) const;

  CompileReport report() const;
  // "kernel", "plan", "llvm" or "asm" as text; only of the backend cpu.
  Error text(std::string_view form, std::string* out) const;

 private:
  friend class Program;
  struct State;
  std::shared_ptr<State> state_;
};

struct BRAZE_API LibrarySettings {
  std::string name;             // a C identifier: the library's function is NAME_run
  std::string class_name;       // C++ class of the header, "ns::Model"; empty: from name
  std::string target = "host";  // host, baseline, avx2 or avx512
};

// A program compiled ahead of time: a static library with a header for C and C++. It needs the C library
// alone; braze/runtime.h tells what it may be given besides.
struct BRAZE_API StaticLibrary {
  std::string archive, header;  // the files' bytes
  int64_t kernels = 0, library_calls = 0;
};

// A program as read: StableHLO text or bytecode, VHLO bytecode, HLO text or proto; the form is
// detected. Cheap to copy.
class BRAZE_API Program {
 public:
  Program() = default;
  static Error read(std::string_view bytes, const SourceOptions& options, Program* out);
  static Error read_file(const std::string& path, Program* out, const SourceOptions& options = {});

  std::string name() const;
  const std::vector<ArrayType>& arguments() const;
  const std::vector<ArrayType>& results() const;
  // "hlo" or "stablehlo" as text.
  Error text(std::string_view form, std::string* out) const;
  Error compile(const CompileSettings& settings, CompiledProgram* out) const;
  Error compile_library(const LibrarySettings& settings, StaticLibrary* out) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

// Receives what BRAZE_DEBUG asks for, a piece at a time, from any thread. Null: back to the
// default, which is standard error, and only if BRAZE_DEBUG is set.
BRAZE_API void set_debug_output(std::function<void(std::string_view)> sink);

BRAZE_API const char* version();

}  // namespace v1
}  // namespace braze
