// SPDX-License-Identifier: Apache-2.0
#include "codegen/target.h"

#include <sched.h>

#include <algorithm>
#include <fstream>

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Host.h"

namespace braze::codegen {
namespace {

// "32K", "1024K", "8M" → bytes; 0 if unreadable.
int64_t read_size(const std::string& path) {
  std::ifstream in(path);
  int64_t n = 0;
  char unit = 0;
  if (!(in >> n)) return 0;
  in >> unit;
  return unit == 'K' ? n << 10 : unit == 'M' ? n << 20 : unit == 'G' ? n << 30 : n;
}

std::string read_word(const std::string& path) {
  std::ifstream in(path);
  std::string word;
  in >> word;
  return word;
}

void read_caches(Target& t) {
  for (int i = 0; i < 8; ++i) {
    const std::string dir = str_cat("/sys/devices/system/cpu/cpu0/cache/index", i, "/");
    const std::string level = read_word(dir + "level"), type = read_word(dir + "type");
    const int64_t size = read_size(dir + "size");
    if (size <= 0 || type == "Instruction") continue;
    if (level == "1") t.l1_bytes = size;
    if (level == "2") t.l2_bytes = size;
    if (level == "3") t.l3_bytes = size;
  }
}

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

template <typename Has>
void set_flags(Target& t, Has has) {
  t.sse41 = has("sse4.1");
  t.avx2 = has("avx2");
  t.fma = t.avx2 && has("fma");
  t.f16c = t.avx2 && has("f16c");
  t.avx512 = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl") && t.fma;
  t.vnni = t.avx512 && has("avx512vnni");
  t.avx512_bf16 = t.avx512 && has("avx512bf16");
  t.vector_bits = t.avx512 ? 512 : t.avx2 ? 256 : 128;
}

Target detect() {
  Target t;
  t.triple = llvm::sys::getProcessTriple();
  t.cpu = llvm::sys::getHostCPUName().str();
  const auto features = llvm::sys::getHostCPUFeatures();
  std::vector<std::string> list;
  for (const auto& f : features) list.push_back((f.second ? "+" : "-") + f.first().str());
  std::sort(list.begin(), list.end());
  for (const std::string& f : list) t.features += (t.features.empty() ? "" : ",") + f;
  set_flags(t, [&](const char* name) { return features.lookup(name); });
  read_caches(t);
  t.cores = usable_cores();
  return t;
}

}  // namespace

std::string Target::key() const {
  return str_cat(triple, "/", cpu, "/", features, "/", sse41, avx2, avx512, fma, f16c, vnni,
                 avx512_bf16, "/", vector_bits, "/", l1_bytes, "/", l2_bytes, "/", l3_bytes, "/", cores);
}

const Target& host_target() {
  static const Target* const target = new Target(detect());  // never destroyed: used at exit, too
  return *target;
}

Result<Target> target_named(std::string_view name) {
  Target t = host_target();
  if (name == "host") return t;
  t.features.clear();
  int level = 0;
  if (name == "baseline") {
    t.cpu = "x86-64";
  } else if (name == "avx2") {
    t.cpu = "x86-64-v3";
    level = 1;
  } else if (name == "avx512") {
    t.cpu = "x86-64-v4";
    level = 2;
  } else {
    return invalid("unknown CPU target '", name, "': host, baseline, avx2 and avx512 are known");
  }
  set_flags(t, [&](std::string_view f) {
    if (f == "avx512vnni" || f == "avx512bf16") return false;
    return f.substr(0, 6) == "avx512" ? level >= 2 : level >= 1;
  });
  return t;
}

}  // namespace braze::codegen
