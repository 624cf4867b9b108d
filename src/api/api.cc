// SPDX-License-Identifier: Apache-2.0
// The public interface of include/braze/braze.h over backend/. Nothing of Braze or of what it links
// shows through it: state is behind pointers, and errors are texts.
#include <cstdlib>
#include <cstring>
#include <new>

#include "aot/library.h"
#include "backend/compile.h"
#include "backend/debug_session.h"
#include "backend/read_module.h"
#include "base/debug_output.h"
#include "base/npy.h"
#include "braze/braze.h"
#include "loop/kernel.h"
#include "plan/plan.h"
#include "spmd/expand.h"
#include "text/print.h"
#include "text/stablehlo_print.h"

namespace braze {
inline namespace v1 {
namespace {

struct TypeRow {
  ElementType element;
  Dtype dtype;
};
constexpr TypeRow kTypes[] = {
    {ElementType::kPred, Dtype::kPred},
    {ElementType::kS2, Dtype::kS2},
    {ElementType::kS4, Dtype::kS4},
    {ElementType::kS8, Dtype::kS8},
    {ElementType::kS16, Dtype::kS16},
    {ElementType::kS32, Dtype::kS32},
    {ElementType::kS64, Dtype::kS64},
    {ElementType::kU2, Dtype::kU2},
    {ElementType::kU4, Dtype::kU4},
    {ElementType::kU8, Dtype::kU8},
    {ElementType::kU16, Dtype::kU16},
    {ElementType::kU32, Dtype::kU32},
    {ElementType::kU64, Dtype::kU64},
    {ElementType::kF4E2M1FN, Dtype::kF4E2M1FN},
    {ElementType::kF6E2M3FN, Dtype::kF6E2M3FN},
    {ElementType::kF6E3M2FN, Dtype::kF6E3M2FN},
    {ElementType::kF8E3M4, Dtype::kF8E3M4},
    {ElementType::kF8E4M3, Dtype::kF8E4M3},
    {ElementType::kF8E4M3B11FNUZ, Dtype::kF8E4M3B11FNUZ},
    {ElementType::kF8E4M3FN, Dtype::kF8E4M3FN},
    {ElementType::kF8E4M3FNUZ, Dtype::kF8E4M3FNUZ},
    {ElementType::kF8E5M2, Dtype::kF8E5M2},
    {ElementType::kF8E5M2FNUZ, Dtype::kF8E5M2FNUZ},
    {ElementType::kF8E8M0FNU, Dtype::kF8E8M0FNU},
    {ElementType::kF16, Dtype::kF16},
    {ElementType::kBF16, Dtype::kBF16},
    {ElementType::kF32, Dtype::kF32},
    {ElementType::kF64, Dtype::kF64},
    {ElementType::kC64, Dtype::kC64},
    {ElementType::kC128, Dtype::kC128},
    {ElementType::kToken, Dtype::kToken},
};

ElementType element_of(Dtype t) {
  for (const TypeRow& r : kTypes)
    if (r.dtype == t) return r.element;
  return ElementType::kInvalid;
}
const TypeRow* row_of(ElementType t) {
  for (const TypeRow& r : kTypes)
    if (r.element == t) return &r;
  return nullptr;
}

ArrayType type_of(const Shape& s) {
  ArrayType t{element_of(s.dtype), {}};
  for (int64_t d : s.dims) t.dims.push_back(d == kUnknownDim ? -1 : d);
  return t;
}

std::vector<ArrayType> types_of(const std::vector<Shape>& shapes) {
  std::vector<ArrayType> out;
  for (const Shape& s : shapes)
    for (const Shape& leaf : leaves(s)) out.push_back(type_of(leaf));
  return out;
}

Error error_of(const absl::Status& s) {
  std::string text(s.message());
  switch (s.code()) {
    case absl::StatusCode::kOk:
      return {};
    case absl::StatusCode::kInvalidArgument:
      return {ErrorCode::kInvalid, text};
    case absl::StatusCode::kUnimplemented:
      return {ErrorCode::kUnimplemented, text};
    case absl::StatusCode::kNotFound:
      return {ErrorCode::kNotFound, text};
    case absl::StatusCode::kResourceExhausted:
      return {ErrorCode::kExhausted, text};
    default:
      return {ErrorCode::kInternal, text};
  }
}

Error empty(std::string_view what) {
  return {ErrorCode::kInvalid, str_cat("this ", what, " is empty: it was never made")};
}

// The literal of shape s from leaves [*at, …).
Literal gather(const Shape& s, const void* const* from, size_t* at) {
  if (s.is_tuple()) {
    std::vector<Literal> parts;
    for (const Shape& t : s.tuple) parts.push_back(gather(t, from, at));
    return Literal::tuple(std::move(parts));
  }
  const char* p = static_cast<const char*>(from[(*at)++]);
  if (!s.is_array() || s.bytes() == 0) return Literal(s);
  return Literal::from_bytes(s, {p, static_cast<size_t>(s.bytes())});
}

void spread(const Literal& l, void* const* to, size_t* at) {
  if (l.shape().is_tuple()) {
    for (const Literal& p : l.parts()) spread(p, to, at);
    return;
  }
  void* p = to[(*at)++];
  if (l.shape().is_array() && l.size_bytes() > 0)
    std::memcpy(p, l.bytes(), static_cast<size_t>(l.size_bytes()));
}

const std::vector<ArrayType>& no_types() {
  static const std::vector<ArrayType>* none = new std::vector<ArrayType>();
  return *none;
}

}  // namespace

int64_t ArrayType::elements() const {
  int64_t n = 1;
  for (int64_t d : dims)
    if (d < 0 || __builtin_mul_overflow(n, d, &n)) return 0;
  return n;
}

int64_t ArrayType::bytes() const {
  const TypeRow* r = row_of(element);
  int64_t n = 0;
  return !r || __builtin_mul_overflow(elements(), byte_size(r->dtype), &n) ? 0 : n;
}

std::string ArrayType::text() const {
  const TypeRow* r = row_of(element);
  std::string out = r ? std::string(braze::name(r->dtype)) : "invalid";
  out += "[";
  for (size_t i = 0; i < dims.size(); ++i)
    out += str_cat(i ? "," : "", dims[i] < 0 ? std::string("?") : str_cat(dims[i]));
  return out + "]";
}

Array::Array(ArrayType type) : type_(std::move(type)) {
  const size_t bytes = (static_cast<size_t>(type_.bytes()) + 64) / 64 * 64;
  data_ = std::shared_ptr<void>(std::aligned_alloc(64, bytes), std::free);
  if (data_) std::memset(data_.get(), 0, bytes);
}

Array Array::copy_of(ArrayType type, const void* data) {
  Array a(std::move(type));
  if (a.data_ && a.type_.bytes() > 0)
    std::memcpy(a.data_.get(), data, static_cast<size_t>(a.type_.bytes()));
  return a;
}

struct Program::State {
  std::unique_ptr<Module> module;
  std::vector<ArrayType> arguments, results;
};

struct CompiledProgram::State {
  std::unique_ptr<Executable> executable;
  std::string target;
  std::vector<ArrayType> arguments, results;
};

Error Program::read(std::string_view bytes, const SourceOptions& options, Program* out) {
  braze::ReadOptions read;
  read.file = options.name;
  read.entry = options.entry;
  read.fill_elided = options.fill_elided;
  for (const ArrayType& t : options.argument_types) {
    const TypeRow* r = row_of(t.element);
    if (!r) return {ErrorCode::kInvalid, "an argument type has no element type"};
    read.argument_shapes.push_back(Shape::array(r->dtype, t.dims));
  }
  auto module = read_module(bytes, read);
  if (!module.ok()) return error_of(module.status());
  if (Status s = spmd::to_one_device(**module); !s.ok()) return error_of(s);
  auto state = std::make_shared<State>();
  std::vector<Shape> parameters;
  for (const Instr* p : (*module)->entry()->params()) parameters.push_back(p->shape);
  state->arguments = types_of(parameters);
  state->results = types_of({(*module)->entry()->root()->shape});
  state->module = std::move(*module);
  out->state_ = std::move(state);
  return {};
}

Error Program::read_file(const std::string& path, Program* out, const SourceOptions& options) {
  auto bytes = braze::read_file(path);
  if (!bytes.ok()) return error_of(bytes.status());
  SourceOptions named = options;
  if (named.name.empty()) named.name = path;
  return read(*bytes, named, out);
}

std::string Program::name() const { return state_ ? state_->module->name() : std::string(); }
const std::vector<ArrayType>& Program::arguments() const {
  return state_ ? state_->arguments : no_types();
}
const std::vector<ArrayType>& Program::results() const {
  return state_ ? state_->results : no_types();
}

Error Program::text(std::string_view form, std::string* out) const {
  if (!state_) return empty("Program");
  if (form == "hlo") {
    *out = print_hlo(*state_->module);
    return {};
  }
  if (form != "stablehlo")
    return {ErrorCode::kInvalid, str_cat("'", form, "': a program prints as hlo or stablehlo")};
  auto text = print_stablehlo(*state_->module);
  if (!text.ok()) return error_of(text.status());
  *out = std::move(*text);
  return {};
}

Error Program::compile(const CompileSettings& settings, CompiledProgram* out) const {
  if (!state_) return empty("Program");
  CompileOptions options;
  options.backend = settings.backend;
  options.target = settings.target;
  options.threads = settings.threads;
  std::unique_ptr<Module> module = state_->module->clone();
  remember_copy(*state_->module, *module);
  if (absl::Status s = spmd::to_one_device(*module); !s.ok()) return error_of(s);
  auto executable = braze::compile(std::move(module), options);
  if (!executable.ok()) return error_of(executable.status());
  auto state = std::make_shared<CompiledProgram::State>();
  state->executable = std::move(*executable);
  state->target = settings.target;
  state->arguments = state_->arguments;
  state->results = state_->results;
  out->state_ = std::move(state);
  return {};
}

Error Program::compile_library(const LibrarySettings& settings, StaticLibrary* out) const {
  if (!state_) return empty("Program");
  std::unique_ptr<Module> module = state_->module->clone();
  if (absl::Status s = spmd::to_one_device(*module); !s.ok()) return error_of(s);
  auto made = aot::compile_library(std::move(module), {settings.name, settings.class_name, settings.target});
  if (!made.ok()) return error_of(made.status());
  out->archive = std::move(made->archive);
  out->header = std::move(made->header);
  out->kernels = made->kernels;
  out->library_calls = made->library_calls;
  return {};
}

const std::vector<ArrayType>& CompiledProgram::arguments() const {
  return state_ ? state_->arguments : no_types();
}
const std::vector<ArrayType>& CompiledProgram::results() const {
  return state_ ? state_->results : no_types();
}

Error CompiledProgram::run(const void* const* arguments, size_t argument_count,
                           void* const* results, size_t result_count) const {
  if (!state_) return empty("CompiledProgram");
  if (argument_count != state_->arguments.size() || result_count != state_->results.size())
    return {ErrorCode::kInvalid, str_cat("the program takes ", state_->arguments.size(),
                                         " arguments and gives ", state_->results.size(),
                                         " results, not ", argument_count, " and ", result_count)};
  Executable& e = *state_->executable;
  if (e.plan()) return error_of(e.run_raw({arguments, argument_count}, {results, result_count}));
  std::vector<Literal> literals;
  size_t at = 0;
  for (const Shape& s : e.parameters()) literals.push_back(gather(s, arguments, &at));
  auto value = e.run(literals);
  if (!value.ok()) return error_of(value.status());
  at = 0;
  spread(*value, results, &at);
  return {};
}

Error CompiledProgram::run(const std::vector<Array>& arguments, std::vector<Array>* results) const {
  if (!state_) return empty("CompiledProgram");
  std::vector<const void*> in;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i < state_->arguments.size() && !(arguments[i].type() == state_->arguments[i]))
      return {ErrorCode::kInvalid, str_cat("argument ", i, " is ", arguments[i].type().text(),
                                           ", the program takes ", state_->arguments[i].text())};
    in.push_back(arguments[i].data());
  }
  std::vector<Array> values;
  std::vector<void*> to;
  for (const ArrayType& t : state_->results) {
    values.emplace_back(t);
    if (!values.back().data())
      return {ErrorCode::kExhausted, str_cat("no memory for a result of ", t.bytes(), " bytes")};
    to.push_back(values.back().data());
  }
  Error e = run(in.data(), in.size(), to.data(), to.size());
  if (e.ok()) *results = std::move(values);
  return e;
}

CompileReport CompiledProgram::report() const {
  CompileReport out;
  if (!state_) return out;
  const CompileStats& s = state_->executable->stats();
  out.compile_ms = s.total_ms;
  out.kernels = s.kernels, out.launches = s.launches, out.library_calls = s.library_calls;
  out.arena_bytes = s.arena_bytes, out.code_bytes = s.code_bytes;
  out.flops = s.flops, out.bytes = s.bytes;
  out.phases = s.phases;
  return out;
}

Error CompiledProgram::text(std::string_view form, std::string* out) const {
  if (!state_) return empty("CompiledProgram");
  const Plan* plan = state_->executable->plan();
  if (!plan) return {ErrorCode::kUnimplemented, "only programs of the backend cpu have code"};
  out->clear();
  if (form == "plan") {
    *out = to_string(*plan);
  } else if (form == "kernel") {
    for (const auto& k : plan->kernels) *out += loop::to_string(*k) + "\n";
  } else if (form == "llvm" || form == "asm") {
    CompileOptions options;
    options.target = state_->target;
    auto text = code_text(*plan, options, form == "asm");
    if (!text.ok()) return error_of(text.status());
    *out = std::move(*text);
  } else {
    return {ErrorCode::kInvalid, str_cat("'", form, "': expected kernel, plan, llvm or asm")};
  }
  return {};
}

void set_debug_output(std::function<void(std::string_view)> sink) {
  debug_output::set(std::move(sink));
}

const char* version() { return BRAZE_VERSION; }

}  // namespace v1
}  // namespace braze
