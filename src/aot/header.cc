// SPDX-License-Identifier: Apache-2.0
#include "aot/header.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "aot/runtime_header.h"
#include "base/status.h"

namespace braze::aot {
namespace {

using Replacements = std::vector<std::pair<std::string, std::string>>;

// The C++ type of an element. Types that C++ lacks are their bits.
std::string element_type(Dtype t) {
  if (is_pred(t)) return "bool";
  if (t == Dtype::kF32) return "float";
  if (t == Dtype::kF64) return "double";
  if (t == Dtype::kC64) return "std::complex<float>";
  if (t == Dtype::kC128) return "std::complex<double>";
  if (!is_array(t)) return "char";
  return str_cat(is_signed_int(t) ? "int" : "uint", 8 * byte_size(t), "_t");
}

// What __builtin_cpu_supports calls the features that the code may use.
std::vector<std::string> cpu_features(const codegen::Target& t) {
  std::vector<std::string> out;
  if (t.avx2) out = {"avx2", "bmi", "bmi2"};
  if (t.fma) out.push_back("fma");
  if (t.avx512) out.insert(out.end(), {"avx512f", "avx512bw", "avx512dq", "avx512vl"});
  if (t.vnni) out.push_back("avx512vnni");
  if (t.avx512_bf16) out.push_back("avx512bf16");
  return out;
}

std::string comment_of(const std::vector<Shape>& shapes, std::string_view what) {
  std::string out;
  for (size_t i = 0; i < shapes.size(); ++i)
    out += str_cat(" *   ", what, " ", i, ": ", to_string(shapes[i], false), ", ", shapes[i].bytes(), " bytes\n");
  return out;
}

constexpr char kC[] = R"H(/* Made by `braze compile` from @PROGRAM@. Link it with the static library made beside it.
 *
@ARRAYS@ *
 * Arrays are dense and row-major; types narrower than a byte take a byte per element, floating-point types that C
 * lacks are their bits.
 */
#ifndef @GUARD@
#define @GUARD@

#include <stddef.h>
#include <stdint.h>

@RUNTIME_HEADER@
#ifdef __cplusplus
extern "C" {
#endif

enum {
  @NAME@_argument_count = @ARGUMENTS@,
  @NAME@_result_count = @RESULTS@,
  @NAME@_needs_runtime = @NEEDS_RUNTIME@ /* it calls the library: sorts, transforms, factorisations */
};

/* A pointer per argument and result; results may not overlap arguments. `temp`: @NAME@_temp_bytes(threads) bytes
 * that no other running call has. `runtime` may be null: then all runs on this thread (threads = 1), and if
 * @NAME@_needs_runtime is 1 the call fails. BRAZE_OK, BRAZE_FAILED or BRAZE_NEEDS_RUNTIME. */
int32_t @NAME@_run(const void* const* arguments, void* const* results, void* temp, const braze_runtime* runtime);

static inline size_t @NAME@_temp_bytes(int32_t threads) {
  return (size_t)@TEMP_BYTES@ + (size_t)@SCRATCH_BYTES@ * (size_t)threads;
}

/* Whether this machine has the instructions that the code uses (it was compiled for @CPU@). */
static inline int @NAME@_runs_here(void) {
  return @SUPPORTED@;
}

#ifdef __cplusplus
}
#endif

#ifdef __cplusplus
#include <complex>
#include <stdlib.h>

@OPEN@class @CLASS@ {
 public:
  // `runtime`: its threads and library calls; null: this thread, no library calls.
  explicit @CLASS@(const braze_runtime* runtime = @RUNTIME@)
      : runtime_(runtime), temp_(take(@NAME@_temp_bytes(runtime ? runtime->threads : 1))) {
    for (int i = 0; i < @NAME@_argument_count; ++i) arguments_[i] = own_arguments_[i] = take(argument_bytes(i));
    for (int i = 0; i < @NAME@_result_count; ++i) results_[i] = own_results_[i] = take(result_bytes(i));
  }
  ~@CLASS@() {
    for (int i = 0; i < @NAME@_argument_count; ++i) free(own_arguments_[i]);
    for (int i = 0; i < @NAME@_result_count; ++i) free(own_results_[i]);
    free(temp_);
  }
  @CLASS@(const @CLASS@&) = delete;
  @CLASS@& operator=(const @CLASS@&) = delete;

  // False: error_msg() tells why. One call of an object at a time.
  bool Run() {
    error_ = "";
    if (!@NAME@_runs_here()) return fail("this machine lacks instructions that the program was compiled for: @CPU@");
    if (!temp_) return fail("out of memory");
    for (int i = 0; i < @NAME@_argument_count; ++i)
      if (!arguments_[i]) return fail("an argument has no memory");
    for (int i = 0; i < @NAME@_result_count; ++i)
      if (!results_[i]) return fail("a result has no memory");
    switch (@NAME@_run(arguments_, results_, temp_, runtime_)) {
      case BRAZE_OK: return true;
      case BRAZE_NEEDS_RUNTIME: return fail("the program calls the library: give it braze_default_runtime()");
      default: return fail(runtime_ ? runtime_->last_error(runtime_) : "the run failed");
    }
  }
  const char* error_msg() const { return error_; }

  static constexpr int kNumArgs = @ARGUMENTS@;
  static constexpr int kNumResults = @RESULTS@;
  static size_t argument_bytes(int i) {
    static constexpr size_t kBytes[] = {@ARGUMENT_BYTES@0};
    return kBytes[i];
  }
  static size_t result_bytes(int i) {
    static constexpr size_t kBytes[] = {@RESULT_BYTES@0};
    return kBytes[i];
  }

  // Memory of the object, or, after set_…, the caller's, used without a copy.
@ACCESSORS@
 private:
  static void* take(size_t bytes) { return aligned_alloc(64, (bytes + 64) / 64 * 64); }
  bool fail(const char* why) {
    error_ = why;
    return false;
  }

  const braze_runtime* runtime_;
  void* temp_;
  const void* arguments_[@NAME@_argument_count + 1] = {};
  void* results_[@NAME@_result_count + 1] = {};
  void* own_arguments_[@NAME@_argument_count + 1] = {};
  void* own_results_[@NAME@_result_count + 1] = {};
  const char* error_ = "";
};
@CLOSE@#endif

#endif
)H";

constexpr char kArgument[] = R"(  @TYPE@* arg@I@_data() { return static_cast<@TYPE@*>(own_arguments_[@I@]); }  // @SHAPE@
  void set_arg@I@_data(const @TYPE@* data) { arguments_[@I@] = data; }
)";
constexpr char kResult[] = R"(  const @TYPE@* result@I@_data() const { return static_cast<const @TYPE@*>(results_[@I@]); }  // @SHAPE@
  void set_result@I@_data(@TYPE@* data) { results_[@I@] = data; }
)";

std::string accessors(const std::vector<Shape>& shapes, std::string_view form) {
  std::string out;
  for (size_t i = 0; i < shapes.size(); ++i)
    out += absl::StrReplaceAll(absl::string_view(form.data(), form.size()),
                               Replacements{{"@TYPE@", element_type(shapes[i].dtype)},
                                            {"@I@", std::to_string(i)},
                                            {"@SHAPE@", to_string(shapes[i], false)}});
  return out;
}

std::string byte_list(const std::vector<Shape>& shapes) {
  std::string out;
  for (const Shape& s : shapes) out += str_cat(s.is_array() ? s.bytes() : 0, ", ");
  return out;
}

}  // namespace

std::string header_text(const HeaderFacts& f) {
  std::vector<std::string> words = absl::StrSplit(f.class_name, "::"), checks;
  const std::string name = words.back();
  words.pop_back();
  std::string open, close;
  for (const std::string& w : words) {
    open += str_cat("namespace ", w, " {\n");
    close = str_cat("}  // namespace ", w, "\n", close);
  }
  const std::vector<std::string> features = cpu_features(*f.target);
  for (const std::string& feature : features) checks.push_back(str_cat("__builtin_cpu_supports(\"", feature, "\")"));
  auto number = [](int64_t n) { return std::to_string(n); };
  return absl::StrReplaceAll(
      kC, Replacements{
              {"@PROGRAM@", f.program},
              {"@ARRAYS@", comment_of(f.arguments, "argument") + comment_of(f.results, "result")},
              {"@GUARD@", absl::AsciiStrToUpper(f.name) + "_BRAZE_H"},
              {"@RUNTIME_HEADER@", kRuntimeHeader},
              {"@NAME@", f.name},
              {"@CLASS@", name},
              {"@OPEN@", open},
              {"@CLOSE@", close},
              {"@ARGUMENTS@", number(static_cast<int64_t>(f.arguments.size()))},
              {"@RESULTS@", number(static_cast<int64_t>(f.results.size()))},
              {"@NEEDS_RUNTIME@", f.library_calls > 0 ? "1" : "0"},
              {"@RUNTIME@", f.library_calls > 0 ? "braze_default_runtime()" : "nullptr"},
              {"@TEMP_BYTES@", number(f.temp_bytes)},
              {"@SCRATCH_BYTES@", number(f.scratch_bytes)},
              {"@CPU@", features.empty() ? "any x86-64" : absl::StrJoin(features, ", ")},
              {"@SUPPORTED@", checks.empty() ? "1" : absl::StrJoin(checks, " &&\n         ")},
              {"@ARGUMENT_BYTES@", byte_list(f.arguments)},
              {"@RESULT_BYTES@", byte_list(f.results)},
              {"@ACCESSORS@", accessors(f.arguments, kArgument) + accessors(f.results, kResult)},
          });
}

}  // namespace braze::aot
