// SPDX-License-Identifier: Apache-2.0
#include "backend/debug_session.h"

#include <atomic>
#include <cctype>
#include <deque>
#include <filesystem>
#include <mutex>

#include "absl/strings/str_format.h"
#include "backend/memory_report.h"
#include "backend/pipeline.h"
#include "backend/roofline.h"
#include "base/debug_output.h"
#include "base/npy.h"
#include "codegen/kernels_code.h"
#include "frontend/hlo_proto.h"
#include "frontend/mlir_read.h"
#include "text/dot.h"
#include "text/print.h"

namespace braze {
namespace {

// Sources of modules that were read but not compiled yet; a few are enough.
constexpr size_t kSources = 16;
struct Sources {
  std::mutex mutex;
  std::deque<std::pair<const Module*, std::string>> kept;
};
Sources& sources() {
  static Sources* s = new Sources();
  return *s;
}

// The folder that stands for the debug output, as in XLA: texts are shown there, other files are left out.
constexpr std::string_view kOutput = "-";

bool is_binary_file(std::string_view suffix) {
  for (std::string_view end : {".pb", ".o", ".mlirbc"})
    if (suffix.size() >= end.size() && suffix.substr(suffix.size() - end.size()) == end) return true;
  return suffix == "o";
}

std::string source_of(const Module& m) {
  Sources& s = sources();
  std::lock_guard<std::mutex> lock(s.mutex);
  for (auto it = s.kept.rbegin(); it != s.kept.rend(); ++it)
    if (it->first == &m) return it->second;
  return "";
}

void forget_source(const Module& m) {
  Sources& s = sources();
  std::lock_guard<std::mutex> lock(s.mutex);
  std::erase_if(s.kept, [&](auto& k) { return k.first == &m; });
}

std::string_view extension_of(std::string_view source) {
  if (mlir::is_bytecode(source)) return "mlirbc";
  if (source.find("HloModule") == 0) return "hlo";
  for (unsigned char c : source.substr(0, 256))
    if (c < 32 && !std::isspace(c)) return "hlo.pb";
  return "mlir";
}

std::string file_name_of(std::string_view name) {
  std::string out(name.substr(0, 128));
  for (char& c : out)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.') c = '_';
  return out.empty() ? "unnamed" : out;
}

std::atomic<int64_t> next_module{0};

}  // namespace

void remember_source(const Module& m, std::string_view bytes) {
  if (!debug().dumps_module(m.name())) return;
  forget_source(m);  // of another module that lay there once
  Sources& s = sources();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.kept.emplace_back(&m, bytes);
  if (s.kept.size() > kSources) s.kept.pop_front();
}

void remember_copy(const Module& from, const Module& copy) {
  if (std::string bytes = source_of(from); !bytes.empty()) remember_source(copy, bytes);
}

std::shared_ptr<DebugSession> DebugSession::start(const Module& m, const Debug& d) {
  if (!d.active()) return nullptr;
  std::shared_ptr<DebugSession> s(new DebugSession(d));
  s->name_ = m.name();
  if (std::string ignored = ignored_flags_note(); !ignored.empty()) s->note(ignored);
  if (std::string unknown = unknown_passes_note(d); !unknown.empty()) s->note(unknown);
  if (d.dumps_module(m.name())) {
    const int64_t number = next_module++;
    if (d.max_modules < 0 || number < d.max_modules) {
      std::error_code ignored;
      if (d.dump_dir != kOutput) std::filesystem::create_directories(d.dump_dir, ignored);
      s->prefix_ =
          str_cat(d.dump_dir, "/", absl::StrFormat("module_%04d.", number), file_name_of(m.name()));
    }
  }
  if (s->prefix_.empty()) return s;
  std::string source = source_of(m);
  forget_source(m);  // another module may come to lie at this address
  if (!source.empty()) s->write(str_cat("input.", extension_of(source)), source);
  s->write_module("before_optimizations", m);
  if (d.dump_snapshots) s->original_ = m.clone();
  return s;
}

void DebugSession::say(int64_t level, std::string_view text) {
  if (d_.level >= level) debug_output::write(text);
}
void DebugSession::note(std::string_view line) {
  say(kDebugPhases, str_cat("braze: ", line, "\n"));
}

void DebugSession::write(std::string_view suffix, std::string_view bytes) {
  if (d_.dump_dir == kOutput) {
    if (is_binary_file(suffix)) return;
    const std::string name = str_cat(prefix_.substr(kOutput.size() + 1), ".", suffix);
    return debug_output::warn(str_cat("*** Begin ", name, " ***\n", bytes, "\n*** End ", name, " ***\n"));
  }
  Status s = write_file(str_cat(prefix_, ".", suffix), bytes);
  if (s.ok() || dump_failed_) return;
  dump_failed_ = true;  // the other files of the module fail alike
  debug_output::warn(str_cat("braze: dump: ", s.message(), "\n"));
}

void DebugSession::write_module(std::string_view stage, const Module& m) {
  if (d_.dump_text) {
    PrintOptions o;
    if (!d_.large_constants) o.max_constant = 10;
    write(str_cat(stage, ".txt"), print_hlo(m, o));
  }
  if (d_.dump_proto) {
    auto proto = write_hlo_proto(m);
    if (proto.ok())
      write(str_cat(stage, ".hlo.pb"), *proto);
    else
      note(str_cat("dump: ", proto.status().message()));
  }
  if (d_.dump_dot) write(str_cat(stage, ".dot"), print_dot(m));
  if (d_.dump_html) write(str_cat(stage, ".html"), print_html(m));
}

void DebugSession::before_pass(std::string_view pass, const Module&) {
  say(kDebugRules, str_cat("braze: pass ", pass, "\n"));
}

void DebugSession::after_pass(std::string_view pass, std::string_view next, const Module& m,
                              bool changed) {
  ++pass_number_;
  if (!changed) return;
  const bool chosen = d_.pass.empty() || regex_matches(d_.pass, pass);
  if (chosen && d_.level >= kDebugModules)
    say(kDebugModules, str_cat("// ", name_, " after ", pass, "\n", print_hlo(m), "\n"));
  // As in XLA, modules between passes are written only for the passes that are asked for.
  if (prefix_.empty() || d_.pass.empty() || !chosen) return;
  write_module(absl::StrFormat("%04d.cpu.after_%s.before_%s", pass_number_, std::string(pass),
                               std::string(next)),
               m);
}

void DebugSession::optimized(const Module& m) {
  if (!prefix_.empty()) write_module("cpu_after_optimizations", m);
}

void DebugSession::compiled(const Plan& p, const codegen::Target& target, const CompileStats& s) {
  if (d_.level >= kDebugPhases) {
    std::string line = absl::StrFormat("%s: compiled in %.2f ms (", name_, s.total_ms);
    for (size_t i = 0; i < s.phases.size(); ++i)
      line += absl::StrFormat("%s%s %.2f", i ? ", " : "", s.phases[i].first, s.phases[i].second);
    note(line + absl::StrFormat(
                    "), %d kernels in %d launches, %d library calls, arena %d bytes, code %d bytes"
                    " (%d compiled, %d shared, %d loaded)",
                    s.kernels, s.launches, s.library_calls, s.arena_bytes, s.code_bytes,
                    s.code_compiled, s.code_shared, s.code_loaded));
  }
  if (d_.level >= kDebugKernels) show_kernels(p, target);
  if (d_.level >= kDebugKernelIr) {
    for (const auto& k : p.kernels) say(kDebugKernelIr, loop::to_string(*k) + "\n");
    say(kDebugKernelIr, to_string(p) + "\n");
  }
  if (!prefix_.empty()) {
    write("cpu_after_optimizations-buffer-assignment.txt", memory_report(p));
    std::string kernels;
    for (const auto& k : p.kernels) kernels += loop::to_string(*k) + "\n";
    write("kernels.txt", kernels);
    write("plan.txt", to_string(p));
  }
  if (!prefix_.empty() || d_.level >= kDebugCode) write_code(p, target);
}

void DebugSession::show_kernels(const Plan& p, const codegen::Target& target) {
  const MachineLimits limits = machine_limits(target);
  std::string text =
      "kernel                                flops      bytes  estimated us  bound by\n";
  for (const auto& k : p.kernels) {
    Estimate e = estimate(k->flops, k->bytes, target, limits);
    text += absl::StrFormat("%-34s %8.3g %10.3g %13.2f  %s\n", k->name, k->flops, k->bytes, e.us,
                            e.memory_bound ? "memory" : "arithmetic");
  }
  say(kDebugKernels, text);
}

void DebugSession::write_code(const Plan& p, const codegen::Target& target) {
  auto code = codegen::kernels_code(p, target);
  if (!code.ok()) return note(str_cat("dump: ", code.status().message()));
  say(kDebugCode, str_cat(code->ir, code->assembly));
  if (prefix_.empty()) return;
  write("ir-no-opt.ll", code->ir);
  write("ir-with-opt.ll", code->prepared_ir);
  write("o", code->object);
  write("s", code->assembly);
}

FuelScope::Fired DebugSession::fired() {
  if (d_.level < kDebugRules) return nullptr;
  return [](int64_t number, std::string_view pass, std::string_view what) {
    debug_output::write(str_cat("  ", number, " ", pass, " ", what, "\n"));
  };
}

bool DebugSession::wants_snapshots() const { return original_ != nullptr; }

void DebugSession::snapshot(absl::Span<const Literal> args, const Literal& result) {
  HloSnapshot s;
  s.module = original_->clone();
  s.arguments.assign(args.begin(), args.end());
  s.result = result;
  s.platform = "cpu";
  auto bytes = write_hlo_snapshot(s);
  if (bytes.ok())
    write(absl::StrFormat("snapshot.%d.pb", snapshots_.fetch_add(1)), *bytes);
  else
    note(str_cat("dump: ", bytes.status().message()));
}

}  // namespace braze
