// SPDX-License-Identifier: Apache-2.0
// Random modules, checked and shrunk: ./dev fuzz modules [--count N] [--seed S] [--out DIR].
//
// Modules S, S + 1 … S + N − 1 are made and checked in child processes; those that fail are shrunk and
// printed as HLO text, and written with their arguments to DIR for `braze run`. Exit code 1 if any failed.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "backend/inputs.h"
#include "test/fuzz/module_check.h"
#include "text/print.h"

namespace {

using namespace braze;        // NOLINT
using namespace braze::fuzz;  // NOLINT

constexpr uint64_t kBatch = 64;
constexpr int kCpuSeconds = 60;  // for one module
constexpr size_t kText = 400;

// Written by children, read by the parent.
struct Board {
  uint64_t at = 0;  // the seed in work
  int counts[8] = {};
  int unbuildable = 0, failures = 0;
  struct {
    uint64_t seed;
    Verdict verdict;
    char text[kText];
  } failed[kBatch];
};

void work(Board* board, uint64_t from, uint64_t to) {
  for (uint64_t seed = from; seed < to; ++seed) {
    board->at = seed;
    limit_time(kCpuSeconds);
    const Case c = random_case(seed);
    if (!c.module) {
      ++board->unbuildable;
      continue;
    }
    const Finding f = check(c, seed);
    ++board->counts[static_cast<int>(f.verdict)];
    if (!is_bad(f.verdict)) continue;
    auto& slot = board->failed[board->failures++];
    slot.seed = seed;
    slot.verdict = f.verdict;
    std::snprintf(slot.text, kText, "%s", f.text.c_str());
  }
  _exit(0);
}

void report(uint64_t seed, Finding f, const std::string& out) {
  std::printf("%s seed %llu: %s\n", std::string(name(f.verdict)).c_str(),
              static_cast<unsigned long long>(seed), f.text.c_str());
  std::fflush(stdout);
  Case c = shrink(random_case(seed), f, seed);
  f = check_in_child(c, seed);
  const std::string text = print_hlo(*c.module);
  std::printf("  shrunk: %s\n%s\n", f.text.c_str(), text.substr(0, 6000).c_str());
  const std::string stem = str_cat(out, "/", seed);
  std::string command = str_cat("braze run ", stem, ".hlo --compare reference");
  if (!write_file(stem + ".hlo", text).ok()) return;
  for (size_t k = 0; k < c.args.size(); ++k) {
    if (!c.args[k].shape().is_array()) continue;
    const std::string file = str_cat(stem, ".", k, ".npy");
    if (write_file(file, write_npy(to_npy(c.args[k], str_cat("a", k)))).ok())
      command += str_cat(" --input ", k, "=", file);
    if (c.args[k].elements() <= 24)
      std::printf("  argument %zu: %s\n", k, to_string(c.args[k]).c_str());
  }
  std::printf("  %s\n", command.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t count = 1000, seed = 1;
  int most = 10;
  std::string out = "fuzz-modules";
  for (int k = 1; k + 1 < argc; k += 2) {
    const std::string option = argv[k];
    if (option == "--count") count = std::strtoull(argv[k + 1], nullptr, 10);
    else if (option == "--seed") seed = std::strtoull(argv[k + 1], nullptr, 10);
    else if (option == "--max-failures") most = std::atoi(argv[k + 1]);
    else if (option == "--out") out = argv[k + 1];
    else {
      std::fprintf(stderr, "usage: %s [--count N] [--seed S] [--max-failures N] [--out DIR]\n", argv[0]);
      return 2;
    }
  }
  mkdir(out.c_str(), 0777);
  auto* board = static_cast<Board*>(mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (board == MAP_FAILED) return 2;
  const uint64_t end = seed + count;
  std::map<std::string, uint64_t> totals;
  int failures = 0;
  uint64_t done = 0;
  while (seed < end && failures < most) {
    std::memset(static_cast<void*>(board), 0, sizeof *board);
    const uint64_t to = std::min(end, seed + kBatch);
    board->at = seed;
    const pid_t child = fork();
    if (child == 0) work(board, seed, to);
    int status = 0;
    waitpid(child, &status, 0);
    uint64_t next = to;
    for (int k = 0; k < 8; ++k)
      if (board->counts[k]) totals[std::string(name(static_cast<Verdict>(k)))] += board->counts[k];
    if (board->unbuildable) totals["not built"] += board->unbuildable;
    for (int k = 0; k < board->failures && failures < most; ++k, ++failures)
      report(board->failed[k].seed, {board->failed[k].verdict, board->failed[k].text}, out);
    if (WIFSIGNALED(status)) {
      next = board->at + 1;
      const std::string limit(time_limit_text(WTERMSIG(status)));
      ++totals[limit.empty() ? "CRASH" : "HANG"];
      ++failures;
      Finding f{Verdict::kHang, limit};
      if (limit.empty()) f = {Verdict::kCrash, str_cat("signal ", WTERMSIG(status))};
      report(board->at, f, out);
    }
    done += next - seed;
    seed = next;
  }
  std::string line;
  for (const auto& [what, n] : totals) line += str_cat(", ", n, " ", what);
  std::printf("%llu modules%s\n", static_cast<unsigned long long>(done), line.c_str());
  return failures > 0;
}
