// SPDX-License-Identifier: Apache-2.0
#include "base/debug.h"

#include <regex.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

#include "absl/strings/ascii.h"

namespace braze {

namespace {

using Target = std::variant<bool Debug::*, int64_t Debug::*, std::string Debug::*>;

struct Row {
  std::string_view name, value, doc;
  Target target;
  int64_t most = std::numeric_limits<int64_t>::max();  // of a number
};

const Row kKnobs[] = {
    {"dump", "DIR", "write modules, kernels and plans into DIR", &Debug::dump_dir},
    {"log", "FILE", "append debug texts to FILE instead of standard error", &Debug::log},
    {"pass", "REGEX", "only passes whose name matches", &Debug::pass},
    {"module", "REGEX", "only modules whose name matches", &Debug::module},
    {"check", "", "evaluate the module before and after each pass and compare", &Debug::check},
    {"verify", "N", "0 never, 1 after the pipeline, 2 after each pass", &Debug::verify, 2},
    {"fuel", "N", "let at most N rewrites fire, for bisection", &Debug::fuel},
    {"threads", "N", "threads of the process's pool; 0: one per core", &Debug::threads},
    {"target", "NAME", "code for baseline, avx2 or avx512 instead of the host", &Debug::target},
    {"disable", "PASS,…", "leave these passes out (quote the list)", &Debug::disabled_passes},
    {"snapshots", "", "dump each run's arguments and result as well", &Debug::dump_snapshots},
    {"text", "", "dump modules as HLO text", &Debug::dump_text},
    {"proto", "", "dump modules as HLO protos", &Debug::dump_proto},
    {"dot", "", "dump modules as Graphviz", &Debug::dump_dot},
    {"html", "", "dump modules as HTML", &Debug::dump_html},
};

const Row kXlaFlags[] = {
    {"--xla_dump_to", "DIR", "as dump=DIR", &Debug::dump_dir},
    {"--xla_dump_hlo_as_text", "", "as text", &Debug::dump_text},
    {"--xla_dump_hlo_as_proto", "", "as proto", &Debug::dump_proto},
    {"--xla_dump_hlo_as_dot", "", "as dot", &Debug::dump_dot},
    {"--xla_dump_hlo_as_html", "", "as html", &Debug::dump_html},
    {"--xla_dump_hlo_pass_re", "REGEX", "as pass=REGEX", &Debug::pass},
    {"--xla_dump_hlo_module_re", "REGEX", "as module=REGEX", &Debug::module},
    {"--xla_dump_hlo_snapshots", "", "as snapshots", &Debug::dump_snapshots},
    {"--xla_dump_large_constants", "", "=false writes constants over ten elements as {...}",
     &Debug::large_constants},
    {"--xla_dump_max_hlo_modules", "N", "dump the first N modules only", &Debug::max_modules},
    {"--xla_disable_hlo_passes", "PASS,…", "leave these passes out", &Debug::disabled_passes},
    {"--xla_disable_all_hlo_passes", "", "leave all passes out", &Debug::disable_all_passes},
    {"--xla_force_host_platform_device_count", "N", "present N CPU devices", &Debug::host_devices},
};

// Flags whose values say the same in other words; returns an item of BRAZE_DEBUG, or "".
std::string in_own_words(std::string_view item) {
  constexpr std::pair<std::string_view, std::string_view> kSame[] = {
      {"--xla_cpu_multi_thread_eigen=false", "threads=1"},
      {"--xla_cpu_max_isa=SSE4_2", "target=baseline"},
      {"--xla_cpu_max_isa=AVX", "target=baseline"},
      {"--xla_cpu_max_isa=AVX2", "target=avx2"},
      {"--xla_cpu_max_isa=AVX512", "target=host"},
  };
  for (auto& [theirs, ours] : kSame)
    if (item == theirs) return std::string(ours);
  // Users write it with and without dashes; it caps XLA's threads in neither form.
  size_t at = item.find("intra_op_parallelism_threads=");
  if (at != std::string_view::npos && at <= 2)
    return "threads=" + std::string(item.substr(at + 29));
  return "";
}

bool parse_int(std::string_view s, int64_t* out) {
  auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), *out);
  return ec == std::errc() && end == s.data() + s.size() && !s.empty();
}

// Sets the row's field; false if the value does not suit it.
bool assign(const Row& row, bool has_value, std::string_view value, Debug* d) {
  if (auto* flag = std::get_if<bool Debug::*>(&row.target)) {
    bool on = !has_value || value == "true" || value == "1" || value == "yes";
    if (!on && value != "false" && value != "0" && value != "no") return false;
    d->*(*flag) = on;
    return true;
  }
  if (!has_value) return false;
  if (auto* text = std::get_if<std::string Debug::*>(&row.target)) {
    d->*(*text) = std::string(value);
    return true;
  }
  int64_t v = 0;
  if (!parse_int(value, &v) || v < 0 || v > row.most) return false;
  d->*std::get<int64_t Debug::*>(row.target) = v;
  return true;
}

void set(absl::Span<const Row> rows, std::string_view item, Debug* d) {
  size_t equals = item.find('=');
  bool has_value = equals != std::string_view::npos;
  std::string_view key = item.substr(0, equals), value = has_value ? item.substr(equals + 1) : "";
  for (const Row& row : rows)
    if (row.name == key && assign(row, has_value, value, d)) return;
  d->unknown.emplace_back(item);
}

// The next piece of *s up to a separator, quotes stripped; separators inside quotes do not count.
template <typename IsSeparator>
std::string next_item(std::string_view* s, IsSeparator separates) {
  std::string out;
  char quote = 0;
  while (!s->empty()) {
    char c = s->front();
    if (!quote && separates(c)) break;
    s->remove_prefix(1);
    if (quote ? c == quote : c == '"' || c == '\'')
      quote = quote ? 0 : c;
    else
      out += c;
  }
  if (!s->empty()) s->remove_prefix(1);
  return out;
}

}  // namespace

Debug parse_debug(std::string_view braze_debug, std::string_view xla_flags) {
  Debug d;
  while (!xla_flags.empty()) {
    std::string item = next_item(
        &xla_flags, [](char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); });
    if (item.empty()) continue;
    if (std::string own = in_own_words(item); !own.empty())
      set(kKnobs, own, &d);
    else
      set(kXlaFlags, item, &d);
  }
  // Our own knobs come last: they win.
  while (!braze_debug.empty()) {
    std::string item = next_item(&braze_debug, [](char c) { return c == ','; });
    if (item.empty()) continue;
    if (int64_t level = 0; parse_int(item, &level) && level >= kDebugOff && level <= kDebugRules) {
      d.level = level;
      continue;
    }
    set(kKnobs, item, &d);
  }
  constexpr std::string_view kTargets[] = {"", "host", "baseline", "avx2", "avx512"};
  if (std::find(std::begin(kTargets), std::end(kTargets), d.target) == std::end(kTargets)) {
    d.unknown.push_back("target=" + d.target);
    d.target.clear();
  }
  if (d.dumps() && !d.dump_text && !d.dump_proto && !d.dump_dot && !d.dump_html) d.dump_text = true;
  return d;
}

const Debug& debug() {
  static const Debug* d = [] {
    const char* own = std::getenv("BRAZE_DEBUG");
    const char* xla = std::getenv("XLA_FLAGS");
    std::string flags = xla ? xla : "";
    size_t first = flags.find_first_not_of(" \t\n");
    if (first != std::string::npos && flags[first] != '-') {
      std::error_code error;
      std::ifstream in;
      if (std::filesystem::is_regular_file(flags, error)) in.open(flags);
      if (in.is_open()) flags.assign(std::istreambuf_iterator<char>(in), {});
    }
    auto* d = new Debug(parse_debug(own ? own : "", flags));
    const char* fuel = std::getenv("BRAZE_FUEL");
    int64_t v = 0;
    if (fuel && parse_int(fuel, &v) && v >= 0) d->fuel = v;
    else if (fuel) d->unknown.push_back(std::string("BRAZE_FUEL=") + fuel);
    return d;
  }();
  return *d;
}

std::string ignored_flags_note() {
  static std::atomic<bool> told{false};
  if (debug().unknown.empty() || told.exchange(true)) return "";
  std::string out = "ignored in XLA_FLAGS or BRAZE_DEBUG:";
  for (const std::string& u : debug().unknown) out += " " + u;
  return out;
}

std::vector<DebugKnob> debug_knobs() {
  std::vector<DebugKnob> out;
  for (const Row& r : kKnobs) out.push_back({r.name, r.value, r.doc});
  for (const Row& r : kXlaFlags) out.push_back({r.name, r.value, r.doc});
  return out;
}

bool regex_matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return true;
  regex_t re;
  if (regcomp(&re, std::string(pattern).c_str(), REG_EXTENDED | REG_NOSUB) != 0)
    return text.find(pattern) != std::string_view::npos;
  bool matches = regexec(&re, std::string(text).c_str(), 0, nullptr, 0) == 0;
  regfree(&re);
  return matches;
}

bool Debug::dumps_module(std::string_view name) const {
  return dumps() && regex_matches(module, name);
}
bool Debug::dumps_pass(std::string_view name) const { return dumps() && regex_matches(pass, name); }

}  // namespace braze
