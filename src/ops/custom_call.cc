// SPDX-License-Identifier: Apache-2.0
#include "ops/custom_call.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "ops/builder.h"
#include "ops/dim_rules.h"

namespace braze {
namespace {

class Registry {
 public:
  Registry() {
    for (auto family : {marker_calls, lapack_calls, decomposition_calls, tensor_calls})
      for (const CustomCallDef& d : family()) add(d);
  }
  void add(const CustomCallDef& d) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto kept = std::make_unique<Entry>();
    kept->name = std::string(d.target);
    kept->def = d;
    kept->def.target = kept->name;
    const std::string_view key = kept->name;
    // Entries live for ever: a call may still hold the one that is replaced.
    entries_[key] = &kept->def;
    all_.push_back(std::move(kept));
  }
  const CustomCallDef* find(std::string_view target) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto at = entries_.find(target);
    return at == entries_.end() ? nullptr : at->second;
  }
  std::vector<std::string_view> targets() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::string_view> out;
    for (const auto& [name, def] : entries_) out.push_back(name);
    return out;
  }

 private:
  struct Entry {
    std::string name;
    CustomCallDef def;
  };
  std::mutex mutex_;
  std::map<std::string_view, const CustomCallDef*> entries_;
  std::vector<std::unique_ptr<Entry>> all_;
};

Registry& registry() {
  static Registry* r = new Registry;
  return *r;
}

bool calls_python(std::string_view target) {
  return target.find("python") != std::string_view::npos && target.find("callback") != std::string_view::npos;
}

// Why a target that Braze will never know by itself is not there.
std::string_view reason(std::string_view target) {
  if (calls_python(target))
    return "it calls back into Python, which only the host process that made the program can do; "
           "the PJRT plugin passes such calls to the host's FFI handlers";
  if (needs_host_process(target))
    return "it must be resolved by the partitioner, with the Python process that made the program";
  return "no function of this name is registered";
}

// Skips a string, or a bracketed group, or one character, from i on.
size_t skip(std::string_view s, size_t i) {
  if (s[i] == '"') {
    for (++i; i < s.size() && s[i] != '"'; ++i)
      if (s[i] == '\\') ++i;
    return std::min(i + 1, s.size());
  }
  return i + 1;
}

}  // namespace

bool needs_host_process(std::string_view target) {
  return calls_python(target) || target == "CustomSPMDPartitioning" || target == "InspectSharding";
}

Result<Literal> eval_scratch(const EvalContext& ctx, Op op, absl::Span<const Literal> operands,
                             Attrs attrs, const Shape* shape) {
  Module m("scratch");
  Builder b(m.add_computation("main"));
  std::vector<Instr*> params;
  for (size_t i = 0; i < operands.size(); ++i)
    params.push_back(b.parameter(static_cast<int64_t>(i), operands[i].shape()));
  const absl::Span<Computation* const> calls = ctx.instr.calls;
  Instr* i = shape ? b.op_shaped(op, *shape, params, std::move(attrs), calls)
                   : b.op(op, params, std::move(attrs), calls);
  TRY(b.status());
  return def(op).eval({*i, operands, ctx.run, ctx.world});
}

const CustomCallDef* find_custom_call(std::string_view target) { return registry().find(target); }

Status register_custom_call(const CustomCallDef& d) {
  if (d.target.empty() || !d.eval)
    return invalid("register_custom_call: a target name and a function are needed");
  registry().add(d);
  return absl::OkStatus();
}

std::vector<std::string_view> custom_call_targets() { return registry().targets(); }

Status check_custom_call(const CustomCallAttrs& a, absl::Span<const Shape* const> operands,
                         const Shape& result, absl::Span<Computation* const>) {
  for (const Shape* s : operands)
    if (!s->is_static()) return absl::OkStatus();  // decided when the shapes are refined
  if (!result.is_static()) return absl::OkStatus();
  const CustomCallDef* d = find_custom_call(a.target);
  if (!d || !d->check) return absl::OkStatus();
  return note(str_cat("custom_call '", a.target, "'"), d->check(a, operands, result));
}

Result<Literal> eval_custom_call(const EvalContext& ctx) {
  const auto& a = ctx.as<CustomCallAttrs>();
  const CustomCallDef* d = find_custom_call(a.target);
  if (!d)
    return unimplemented("custom_call '", a.target, "' (", ctx.instr.name, "): ", reason(a.target),
                         "; register one with braze::register_custom_call or, through PJRT, as an "
                         "FFI handler of this name");
  Result<Literal> out = d->eval(ctx);
  if (!out.ok()) return note(str_cat("custom_call '", a.target, "'"), out.status());
  if (!shapes_agree(out->shape(), ctx.instr.shape))
    return internal("custom_call '", a.target, "' gave ", to_string(out->shape(), false), ", not ",
                    to_string(ctx.instr.shape, false));
  return out;
}

std::string_view dictionary_value(std::string_view s, std::string_view key) {
  for (size_t i = 0; i < s.size();) {
    const char c = s[i];
    const bool starts_word = (absl::ascii_isalpha(c) || c == '_' || c == '"') &&
                             (i == 0 || !(absl::ascii_isalnum(s[i - 1]) || s[i - 1] == '_' ||
                                          s[i - 1] == '.' || s[i - 1] == '$'));
    if (!starts_word) {
      i = skip(s, i);
      continue;
    }
    size_t end = c == '"' ? skip(s, i) : i;
    while (c != '"' && end < s.size() &&
           (absl::ascii_isalnum(s[end]) || s[end] == '_' || s[end] == '.' || s[end] == '$'))
      ++end;
    std::string_view word = s.substr(i, end - i);
    if (c == '"' && word.size() >= 2) word = word.substr(1, word.size() - 2);
    size_t at = end;
    while (at < s.size() && s[at] == ' ') ++at;
    if (word != key || at >= s.size() || s[at] != '=') {
      i = end;
      continue;
    }
    for (++at; at < s.size() && s[at] == ' ';) ++at;
    size_t depth = 0, stop = at;
    while (stop < s.size()) {
      const char e = s[stop];
      if (e == '{' || e == '[' || e == '<' || e == '(') ++depth;
      if (e == '}' || e == ']' || e == '>' || e == ')') {
        if (depth == 0) break;
        --depth;
      }
      if (e == ',' && depth == 0) break;
      stop = skip(s, stop);
    }
    while (stop > at && s[stop - 1] == ' ') --stop;
    return s.substr(at, stop - at);
  }
  return {};
}

Result<int64_t> dictionary_int(std::string_view dictionary, std::string_view key,
                               int64_t otherwise) {
  std::string_view v = dictionary_value(dictionary, key);
  if (v.empty()) return otherwise;
  if (v == "true") return 1;
  if (v == "false") return 0;
  if (const size_t colon = v.find(':'); colon != std::string_view::npos) v = v.substr(0, colon);
  const absl::string_view digits = absl::StripAsciiWhitespace(absl::string_view(v.data(), v.size()));
  int64_t n = 0;
  if (absl::StartsWith(digits, "0x") ? absl::SimpleHexAtoi(digits, &n)
                                     : absl::SimpleAtoi(digits, &n))
    return n;
  return invalid("attribute ", key, " must be an integer, got ", v);
}

}  // namespace braze
