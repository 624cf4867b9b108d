// SPDX-License-Identifier: Apache-2.0
#include "pjrt/recompilation.h"

#include <map>
#include <mutex>
#include <vector>

#include "absl/strings/match.h"
#include "base/debug.h"
#include "base/debug_output.h"

namespace braze::pjrt {
namespace {

constexpr size_t kTold = 4;  // arguments that are named

struct Last {
  int64_t programs = 0;
  std::vector<Shape> arguments;
};

std::string changes(const std::vector<Shape>& now, const std::vector<Shape>& before) {
  if (now.size() != before.size())
    return str_cat(now.size(), " arguments, there were ", before.size());
  std::string out;
  size_t n = 0;
  for (size_t k = 0; k < now.size(); ++k) {
    if (now[k].dtype == before[k].dtype && now[k].dims == before[k].dims) continue;
    if (++n <= kTold)
      out += str_cat(n > 1 ? "; " : "", "argument ", k, " is ", to_string(now[k], false), ", was ",
                     to_string(before[k], false));
  }
  if (n > kTold) out += str_cat("; ", n - kTold, " more");
  return n ? out : "the arguments' shapes are the same, so it is another trace or constant";
}

}  // namespace

std::string function_of(std::string_view s) {
  s = s.substr(0, std::min(s.find("__Xla"), s.find('[')));
  constexpr std::string_view kTrace = "__inference_";
  if (!absl::StartsWith(absl::string_view(s.data(), s.size()), "__inference_")) return std::string(s);
  s.remove_prefix(kTrace.size());
  size_t n = s.size();
  while (n > 0 && s[n - 1] >= '0' && s[n - 1] <= '9') --n;
  if (n > 1 && n < s.size() && s[n - 1] == '_') s = s.substr(0, n - 1);
  return std::string(s);
}

void note_compilation(const ProgramFacts& f) {
  if (debug().level < kDebugPhases || !regex_matches(debug().module, f.name)) return;
  static std::mutex mutex;
  static auto* last = new std::map<std::string, Last>;
  const std::string function = function_of(f.name);
  std::string line;
  {
    std::lock_guard<std::mutex> lock(mutex);
    Last& l = (*last)[function];
    if (++l.programs > 1)
      line = str_cat("braze: ", function, ": compiled again, program ", l.programs, ": ",
                     changes(f.arguments, l.arguments), "\n");
    l.arguments = f.arguments;
  }
  if (!line.empty()) debug_output::write(line);
}

}  // namespace braze::pjrt
