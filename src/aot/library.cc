// SPDX-License-Identifier: Apache-2.0
#include "aot/library.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "aot/header.h"
#include "backend/pipeline.h"
#include "base/float_environment.h"
#include "codegen/archive.h"
#include "codegen/program.h"
#include "ops/custom_call.h"
#include "passes/dynamic_padding.h"
#include "runtime/pool.h"
#include "text/print.h"

namespace braze::aot {
namespace {

// A program of this instruction alone, as the runtime reads it.
Result<std::string> call_text(const Instr& i) {
  if (i.is(Op::kCustomCall)) {
    const std::string& target = i.as<CustomCallAttrs>().target;
    if (needs_host_process(target) || !find_custom_call(target))
      return unimplemented("custom-call '", i.name, "' of '", target,
                           "' calls the process that made the program, which is not there ahead of time");
  }
  Module m("call");
  Computation* c = m.add_computation("call");
  std::vector<Instr*> operands;
  for (const Instr* o : i.operands) {
    const auto number = static_cast<int64_t>(operands.size());
    operands.push_back(c->add(Op::kParameter, o->shape, {}, ParameterAttrs{number}));
  }
  std::vector<Computation*> callees;
  for (const Computation* callee : i.calls) callees.push_back(m.clone_computation(*callee));
  c->set_root(c->add(i.op, i.shape, operands, i.attrs, callees, i.name));
  m.set_entry(c);
  return print_hlo(m);
}

// "my_model" → "MyModel"
std::string camel_case(std::string_view name) {
  std::string out;
  bool up = true;
  for (char c : name) {
    if (c == '_') {
      up = true;
      continue;
    }
    out += up ? absl::ascii_toupper(static_cast<unsigned char>(c)) : c;
    up = false;
  }
  return out.empty() ? "Program" : out;
}

Status check_names(const LibraryOptions& o) {
  if (!is_c_identifier(o.name)) return invalid("'", o.name, "' is no name of a C function");
  if (!o.class_name.empty())
    for (const std::string& part : std::vector<std::string>(absl::StrSplit(o.class_name, "::")))
      if (!is_c_identifier(part)) return invalid("'", o.class_name, "' is no name of a C++ class");
  return absl::OkStatus();
}

}  // namespace

bool is_c_identifier(std::string_view s) {
  return !s.empty() && !absl::ascii_isdigit(static_cast<unsigned char>(s[0])) &&
         std::all_of(s.begin(), s.end(), [](unsigned char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

Result<Library> compile_library(std::unique_ptr<Module> module, const LibraryOptions& options) {
  TRY(check_names(options));
  const FloatEnvironment floats;  // constants are folded
  ASSIGN(PaddedModule padded, dynamic_padding(*module));
  if (!padded.is_static())
    return unimplemented("the program decides sizes while it runs, which needs the compiler's process");
  module = std::move(padded.module);
  CompileOptions compiled;
  compiled.target = options.target;
  HeaderFacts facts;
  facts.name = options.name;
  facts.class_name = options.class_name.empty() ? camel_case(options.name) : options.class_name;
  facts.program = module->name();
  for (const Instr* p : module->entry()->params()) {
    if (!p->shape.is_static())
      return invalid("argument ", p->parameter_number(), " is ", to_string(p->shape, false),
                     ": its sizes must be known (braze compile --shape)");
    for (Shape& s : leaves(p->shape)) facts.arguments.push_back(std::move(s));
  }
  facts.results = leaves(module->entry()->root()->shape);
  TRY(optimize(*module, compiled));
  ASSIGN(const codegen::Target target, target_of(compiled));
  ASSIGN(const Plan plan, plan_for(std::move(module), target));
  std::vector<std::string> calls;
  for (const PlanStep* s : codegen::library_steps(plan)) {
    ASSIGN(std::string text, call_text(*s->instr));
    calls.push_back(std::move(text));
  }
  ASSIGN(const codegen::ProgramCode code,
         codegen::program_code(plan, target, str_cat(options.name, "_run"), calls, Pool::shared().threads()));
  Library out;
  ASSIGN(out.archive, codegen::static_library(options.name, code.objects));
  facts.temp_bytes = code.temp_bytes;
  facts.scratch_bytes = code.scratch_bytes;
  facts.library_calls = static_cast<int64_t>(calls.size());
  facts.target = &target;
  out.header = header_text(facts);
  out.kernels = static_cast<int64_t>(plan.kernels.size());
  out.library_calls = facts.library_calls;
  out.temp_bytes = code.temp_bytes + code.scratch_bytes;
  out.arguments = std::move(facts.arguments);
  out.results = std::move(facts.results);
  return out;
}

}  // namespace braze::aot
