// SPDX-License-Identifier: Apache-2.0
#include "backend/optimized_cache.h"

#include "base/debug.h"
#include "codegen/build_id.h"
#include "ir/module_bytes.h"

namespace braze {
namespace {

constexpr size_t kLargest = size_t{16} << 20;  // bytes of one file

bool runs_unwatched(const CompileOptions& o, const Debug& d) {
  const bool shown = d.dumps() || d.level > 2, checked = d.check || d.verify > 1 || o.check;
  const bool changed = d.fuel >= 0 || d.disable_all_passes || !d.disabled_passes.empty() || !o.passes.empty();
  return !shown && !checked && !changed && !o.after_pass && !o.checked && !o.trace;
}

}  // namespace

OptimizedCache::OptimizedCache(const Module& m, const CompileOptions& options, const codegen::Target& target,
                               DebugSession* session)
    : session_(session) {
  DiskCache* disk = options.cache ? options.cache : DiskCache::from_environment();
  if (!disk || codegen::build_id().empty() || !runs_unwatched(options, options.debug ? *options.debug : debug())) return;
  disk_ = disk;
  constants_ = large_literals(m);
  KeyWriter w;
  w.text("optimized");
  w.text(codegen::build_id());
  w.text(target.key());
  w.hash(hash128(module_bytes(m, constants_)));
  for (const Literal& l : constants_) w.hash(hash128({l.bytes(), static_cast<size_t>(l.size_bytes())}));
  key_ = w.finish();
}

void OptimizedCache::note(std::string_view line) {
  if (session_) session_->note(line);
}

std::unique_ptr<Module> OptimizedCache::find() {
  if (!disk_) return nullptr;
  Result<std::string> bytes = disk_->get(key_);
  if (!bytes.ok()) {
    if (!absl::IsNotFound(bytes.status())) note(str_cat("cache: ignored: ", bytes.status().message()));
    return nullptr;
  }
  auto m = module_from_bytes(*bytes, constants_);
  if (!m.ok()) {
    note(str_cat("cache: ignored ", disk_->path(key_), ": ", m.status().message()));
    return nullptr;
  }
  note(str_cat("cache: the module after the passes from ", disk_->path(key_)));
  return *std::move(m);
}

void OptimizedCache::keep(const Module& optimized) {
  if (!disk_) return;
  const std::string bytes = module_bytes(optimized, constants_);
  if (bytes.size() > kLargest) return note(str_cat("cache: the module after the passes is too large: ", bytes.size(), " bytes"));
  const Status s = disk_->put(key_, bytes);
  note(s.ok() ? str_cat("cache: wrote ", disk_->path(key_)) : str_cat("cache: ", s.message()));
}

}  // namespace braze
