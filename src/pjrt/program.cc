// SPDX-License-Identifier: Apache-2.0
#include "pjrt/program.h"

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_split.h"
#include "backend/read_module.h"
#include "base/give_back_memory.h"
#include "base/hash128.h"
#include "base/trace.h"
#include "frontend/hlo_proto.h"
#include "pjrt/partitioned.h"
#include "pjrt/strided.h"
#include "plan/share.h"
#include "text/print.h"

namespace braze::pjrt {
namespace {

// Leaves of `s`; a leaf keeps its layout.
void add_leaves(const Shape& s, std::vector<Shape>* out) {
  if (!s.is_tuple()) return out->push_back(s);
  for (const Shape& t : s.tuple) add_leaves(t, out);
}

Shape row_major(Shape s) {
  s.layout.clear();
  for (Shape& t : s.tuple) t = row_major(std::move(t));
  return s;
}

// The value of a kept attribute such as mhlo.memory_kind = "pinned_host", without quotes.
std::string kept_text(const Instr& i, const char* key) {
  if (!i.extras) return {};
  auto at = i.extras->other.find(key);
  if (at == i.extras->other.end()) return {};
  std::string_view v = at->second;
  if (v.size() >= 2 && v.front() == '"') v = v.substr(1, v.size() - 2);
  return std::string(v);
}

Result<ProgramFacts> facts_of(const Module& m) {
  ProgramFacts f;
  f.name = m.name();
  std::vector<int64_t> first_leaf;
  for (const Instr* p : m.entry()->params()) {
    first_leaf.push_back(static_cast<int64_t>(f.arguments.size()));
    Shape s = p->shape;
    const size_t k = p->parameter_number();
    if (k < m.entry_parameter_layouts.size() && s.is_array()) s.layout = m.entry_parameter_layouts[k].layout;
    add_leaves(s, &f.arguments);
    f.argument_memory_kinds.resize(f.arguments.size(), kept_text(*p, "mhlo.memory_kind"));
  }
  Shape root = m.entry()->root()->shape;
  if (m.entry_result_layouts.size() == 1) root = m.entry_result_layouts[0];
  add_leaves(root, &f.results);
  f.result_memory_kinds.resize(f.results.size());
  if (auto at = m.other.find("entry_result_memory_kinds"); at != m.other.end()) {
    const std::vector<std::string> kinds = absl::StrSplit(at->second, ',');
    for (size_t k = 0; k < std::min(kinds.size(), f.results.size()); ++k)
      f.result_memory_kinds[k] = kinds[k];
  }
  for (const Shape& s : f.results) {
    if (!s.is_static()) return unimplemented("a result of dynamic shape: ", to_string(s, false));
    if (s.has_bounded_dim() && !s.layout.empty() && !is_row_major_order(s.layout))
      return unimplemented("a result of dynamic shape in another order than row-major");
    f.sized_by_run |= s.has_bounded_dim();
  }
  for (const Shape& s : f.arguments)
    if (!s.is_static() || s.has_bounded_dim())
      return unimplemented("an argument of dynamic shape: ", to_string(s, false));
  for (const InputOutputAlias& a : m.aliases) {
    if (a.output_index.size() > 1 || !a.parameter_index.empty())
      return unimplemented("aliases of nested tuples");
    f.donations.push_back({first_leaf[a.parameter], a.output_index.empty() ? 0 : a.output_index[0]});
  }
  for (int64_t d : m.buffer_donors) f.donations.push_back({first_leaf[d], -1});
  return f;
}

// Calls that XLA's own passes would have rewritten; TensorFlow runs what is unimplemented in another way.
bool is_internal_to_xla(std::string_view target) {
  return target.starts_with("DynamicConvolution") || target == "PadToStatic" || target == "SliceToDynamic";
}

// A target that nobody knows is an error now rather than when the program runs.
Status check_custom_calls(const Module& m, bool one_device) {
  for (const Computation* c : computation_post_order(m))
    for (const auto& i : c->instrs())
      if (i->is(Op::kCustomCall) && !ffi::is_known(i->as<CustomCallAttrs>().target) &&
          (one_device || i->as<CustomCallAttrs>().target != "InspectSharding")) {
        if (is_internal_to_xla(i->as<CustomCallAttrs>().target))
          return unimplemented("custom-call '", i->name, "' of '", i->as<CustomCallAttrs>().target,
                               "': a convolution or copy of an array whose size is decided while running");
        return not_found("No FFI handler registered for ", i->as<CustomCallAttrs>().target,
                         " on a platform Host (custom_call ", i->name, ")");
      }
  return absl::OkStatus();
}

bool has_loops(const Module& m) {
  for (const Computation* c : computation_post_order(m))
    for (const auto& i : c->instrs())
      if (i->is(Op::kWhile) || i->is(Op::kCustomCall)) return true;
  return false;
}

class SingleProgram : public Program {
 public:
  SingleProgram(ProgramFacts f, std::unique_ptr<Executable> e) : executable_(std::move(e)) {
    facts_ = std::move(f);
  }

  Status run(absl::Span<const Shard> shards) override {
    for (const Shard& s : shards) TRY(run_one(s));
    return absl::OkStatus();
  }

  Result<std::string> module_proto() const override {
    if (!executable_->plan()) return unimplemented("the optimised program of the evaluator");
    return write_hlo_module_proto(*executable_->plan()->module);
  }
  std::string code_image() const override { return executable_->code_image(); }

 private:
  Status run_one(const Shard& s) {
    if (executable_->plan() && !facts_.sized_by_run) return executable_->run_raw(s.arguments, s.results);
    // The evaluator wants values of its own.
    std::vector<Literal> args;
    size_t at = 0;
    for (const Shape& p : executable_->parameters()) args.push_back(take(row_major(p), s, &at));
    ASSIGN(const Literal out, executable_->run(args));
    at = 0;
    return give(out, s, &at);
  }
  Literal take(const Shape& p, const Shard& s, size_t* at) {
    if (p.is_tuple()) {
      std::vector<Literal> parts;
      for (const Shape& t : p.tuple) parts.push_back(take(t, s, at));
      return Literal::tuple(std::move(parts));
    }
    const auto* data = static_cast<const char*>(s.arguments[(*at)++]);
    if (!p.is_array()) return Literal(p);
    return Literal::from_bytes(p, {data, static_cast<size_t>(p.bytes())});
  }
  Status give(const Literal& l, const Shard& s, size_t* at) {
    if (l.shape().is_tuple()) {
      for (const Literal& part : l.parts()) TRY(give(part, s, at));
      return absl::OkStatus();
    }
    const Shape& stated = facts_.results[*at];
    void* data = s.results[*at];
    if (stated.has_bounded_dim()) {
      if (!s.result_dims || l.size_bytes() > stated.bytes() || l.shape().rank() != stated.rank())
        return internal("result ", *at, " is ", to_string(l.shape(), false), ", which no ",
                        to_string(stated, false), " holds");
      s.result_dims[*at] = l.shape().dims;
    }
    ++*at;
    if (!stated.has_bounded_dim() && l.size_bytes() != stated.bytes())
      return internal("result ", *at - 1, " is ", to_string(l.shape(), false), ", not ",
                      to_string(stated, false));
    if (l.size_bytes() > 0) std::memcpy(data, l.bytes(), l.size_bytes());
    return absl::OkStatus();
  }

  std::unique_ptr<Executable> executable_;
};

// Text of the program before and after, for an option of this compilation alone; XLA_FLAGS says the same
// for all (base/debug.h). A folder that can't be written is not worth an error.
class Dump {
 public:
  Dump(const ProgramOptions& o, const std::string& name) : proto_(o.dump_proto) {
    if (o.dump_dir.empty()) return;
    static std::atomic<int> number{0};
    std::error_code ignored;
    std::filesystem::create_directories(o.dump_dir, ignored);
    char prefix[32];
    std::snprintf(prefix, sizeof(prefix), "module_%04d.", number++);
    path_ = str_cat(o.dump_dir, "/", prefix, name, ".");
  }
  void write(std::string_view when, const Module& m) const {
    if (path_.empty()) return;
    std::ofstream(str_cat(path_, when, ".txt")) << print_hlo(m);
    if (!proto_) return;
    if (auto bytes = write_hlo_proto(m); bytes.ok())
      std::ofstream(str_cat(path_, when, ".hlo.pb"), std::ios::binary) << *bytes;
  }

 private:
  bool proto_;
  std::string path_;
};

}  // namespace

Result<std::unique_ptr<Program>> compile_program(std::string_view code, const ProgramOptions& o,
                                                 std::string_view image) {
  const trace::Span span("compile", "compile");
  const Compiling compiling;
  ASSIGN(std::unique_ptr<Module> m, read_module(code));
  TRY(check_custom_calls(*m, o.replicas * o.partitions == 1));
  ASSIGN(ProgramFacts f, facts_of(*m));
  f.has_loops = has_loops(*m);
  f.fingerprint = to_hex(hash128(str_cat(print_hlo(*m, PrintOptions::for_hash()), "\n", o.backend)));
  if (o.replicas * o.partitions != 1 && f.sized_by_run)
    return unimplemented("results of dynamic shape in programs over several devices");
  if (o.replicas * o.partitions != 1) return compile_partitioned(std::move(m), std::move(f), o, image);
  CompileOptions compile_options;
  compile_options.backend = o.backend;
  compile_options.check = o.check;
  compile_options.code = image;
  const Dump dump(o, f.name);
  dump.write("before_optimizations", *m);
  ASSIGN(std::unique_ptr<Executable> e, compile(std::move(m), compile_options));
  if (e->plan()) dump.write("cpu_after_optimizations", *e->plan()->module);
  const CompileStats& stats = e->stats();
  f.flops = stats.flops;
  f.bytes = stats.bytes;
  f.temporary_bytes = stats.arena_bytes;
  f.code_bytes = stats.code_bytes;
  if (!e->plan()) f.has_loops = true;
  for (Donation& d : f.donations) d.in_place = e->plan() && may_share(*e->plan(), d.argument, d.result);
  return std::make_unique<SingleProgram>(std::move(f), std::move(e));
}

}  // namespace braze::pjrt
