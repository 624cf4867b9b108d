// SPDX-License-Identifier: Apache-2.0
#include "codegen/kernels.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "codegen/build_id.h"
#include "codegen/code_keys.h"
#include "codegen/contraction_kernel.h"
#include "codegen/kernel_emit.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace braze::codegen {
namespace {

// Kernels per LLVM module, about: larger ones amortise the fixed cost, smaller ones spread over cores.
constexpr int64_t kPerModule = 12;

// About how long a kernel compiles, in hundredths of a millisecond.
double statements_cost(const std::vector<loop::Stmt>& list) {
  double cost = 0;
  for (const loop::Stmt& s : list) cost += 35 + (s.loop ? 40 + statements_cost(s.loop->body) : 0);
  return cost;
}
double kernel_cost(const loop::Kernel& k) {
  double cost = 60 + 2.0 * k.graph.size() + (k.contraction ? 900 : 0);
  for (const loop::Phase& p : k.phases) cost += statements_cost(p.body);
  return cost;
}

// Objects that hold some unit of `k`.
std::vector<const CodeObject*> used_objects(const LoadedKernels& k) {
  const absl::flat_hash_set<Hash128> wanted(k.units.begin(), k.units.end());
  std::vector<const CodeObject*> out;
  for (const LoadedCodeRef& code : k.code)
    for (const CodeObject& o : code->objects)
      if (std::any_of(o.units.begin(), o.units.end(),
                      [&](const CodeUnit& u) { return wanted.contains(u.key); }))
        out.push_back(&o);
  return out;
}

// One program's way to its code: units that are missing are looked for in one place after another.
class KernelLoader {
 public:
  KernelLoader(const Plan& p, const Target& t, int threads)
      : plan_(p), target_(t), threads_(std::max(threads, 1)), loops_(driver_loops(p)),
        kernel_keys_(kernel_keys(p, t)), driver_keys_(driver_keys(p, loops_, kernel_keys_)) {
    for (const Hash128& k : kernel_keys_) symbols_.push_back(kernel_symbol(k));
    for (size_t i = 0; i < kernel_keys_.size(); ++i) add_unit(kernel_keys_[i], i, -1);
    for (size_t i = 0; i < driver_keys_.size(); ++i) add_unit(driver_keys_[i], -1, i);
  }

  Result<LoadedKernels> run(const CodeSources& sources) {
    find_shared();
    if (!missing_.empty() && !sources.image.empty()) load_image(sources.image, "serialized code");
    DiskCache* disk = build_id().empty() || units_.empty() ? nullptr : sources.disk;
    if (disk && !missing_.empty()) read_disk(*disk);
    if (!missing_.empty()) TRY(compile_missing());
    if (disk) write_disk(*disk);
    return collect();
  }

 private:
  struct Unit {
    int64_t kernel = -1, driver = -1;
    LoadedCodeRef code;
  };

  void add_unit(const Hash128& key, int64_t kernel, int64_t driver) {
    if (!units_.try_emplace(key, Unit{kernel, driver, nullptr}).second) return;
    out_.units.push_back(key);
    missing_.push_back(key);
  }

  void take(const LoadedCodeRef& code, int64_t* count) {
    std::erase_if(missing_, [&](const Hash128& k) {
      if (!code->units.contains(k)) return false;
      units_[k].code = code;
      ++*count;
      return true;
    });
    if (std::find(out_.code.begin(), out_.code.end(), code) == out_.code.end()) out_.code.push_back(code);
  }

  void find_shared() {
    for (const Hash128& k : std::vector<Hash128>(missing_))
      if (LoadedCodeRef code = find_code(k); code && !units_[k].code) take(code, &out_.shared);
  }

  void read_disk(DiskCache& disk) {
    const Hash128 key = program_key(out_.units);
    Result<std::string> bytes = disk.get(key);
    if (bytes.ok()) load_image(*bytes, disk.path(key));
    else if (absl::IsNotFound(bytes.status())) say("cache: no ", disk.path(key));
    else say("cache: ignored: ", bytes.status().message());
  }

  void load_image(std::string_view image, std::string_view from) {
    Result<std::vector<CodeObject>> objects = read_code_image(image);
    if (!objects.ok()) return say("cache: ignored ", from, ": ", objects.status().message());
    std::erase_if(*objects, [&](const CodeObject& o) {
      return std::none_of(o.units.begin(), o.units.end(), [&](const CodeUnit& u) {
        auto it = units_.find(u.key);
        return it != units_.end() && !it->second.code;
      });
    });
    if (objects->empty()) return say("cache: ", from, " has no code for this program here");
    const int64_t before = out_.cached;
    Status s = link(std::move(*objects), &out_.cached);
    if (!s.ok()) return say("cache: ignored ", from, ": ", s.message());
    say("cache: ", out_.cached - before, " kernels and loops from ", from);
  }

  void write_disk(DiskCache& disk) {
    const Hash128 key = program_key(out_.units);
    // A read already counted as a use; a damaged file is replaced by what was compiled instead.
    if (out_.cached > 0 && out_.fresh == 0) return;
    if (out_.fresh == 0 && disk.touch(key)) return;
    Status s = disk.put(key, code_image(out_));
    if (s.ok()) say("cache: wrote ", disk.path(key));
    else say("cache: ", s.message());
  }

  // Links objects, makes their units findable for all, and takes those that are missing.
  Status link(std::vector<CodeObject> objects, int64_t* count) {
    auto code = std::make_shared<LoadedCode>();
    code->objects = std::move(objects);
    ASSIGN(code->jit, Jit::create(target_));
    absl::flat_hash_set<Hash128> inside;
    bool drivers = false;
    for (const CodeObject& o : code->objects)
      for (const CodeUnit& u : o.units) {
        inside.insert(u.key);
        auto it = units_.find(u.key);
        drivers |= it != units_.end() && it->second.driver >= 0;
      }
    if (drivers) TRY(define_callees(inside, code.get()));
    for (const CodeObject& o : code->objects) TRY(code->jit->add_object(o.bytes));
    for (const CodeObject& o : code->objects)
      for (const CodeUnit& u : o.units) {
        LoadedUnit loaded{&u.code, {}};
        for (const EmittedPhase& p : u.code.phases) {
          ASSIGN(void* f, code->jit->lookup(p.function));
          loaded.functions.push_back(f);
        }
        code->units[u.key] = std::move(loaded);
      }
    share_code(code);
    take(code, count);
    return absl::OkStatus();
  }

  // Drivers call kernels: those that are not `inside` the same code are somewhere else already.
  Status define_callees(const absl::flat_hash_set<Hash128>& inside, LoadedCode* code) {
    std::vector<HostSymbol> symbols;
    absl::flat_hash_set<Hash128> done = inside;
    for (const Hash128& k : kernel_keys_) {
      const LoadedCodeRef& other = units_[k].code;
      if (!other || !done.insert(k).second) continue;
      const LoadedUnit& u = other->units.at(k);
      for (size_t p = 0; p < u.functions.size(); ++p)
        symbols.push_back({u.code->phases[p].function, u.functions[p]});
      if (std::find(code->callees.begin(), code->callees.end(), other) == code->callees.end())
        code->callees.push_back(other);
    }
    return code->jit->define(symbols);
  }

  Status compile_missing() {
    const std::vector<std::vector<Hash128>> groups = modules();
    std::vector<CodeObject> objects(groups.size());
    ASSIGN(std::vector<std::string> bytes,
           compile_all(static_cast<int64_t>(groups.size()), threads_,
                       [&](int64_t g) { return compile_group(groups[g], &objects[g].units); }));
    for (size_t g = 0; g < groups.size(); ++g) objects[g].bytes = std::move(bytes[g]);
    return link(std::move(objects), &out_.fresh);
  }

  // What is missing, by the LLVM modules it is compiled in: drivers alone and first, as some take long,
  // then kernels so that all threads end at about the same time.
  std::vector<std::vector<Hash128>> modules() const {
    using Cost = std::pair<double, Hash128>;
    std::vector<std::vector<Hash128>> out;
    std::vector<Cost> kernels;
    for (const Hash128& k : missing_) {
      const Unit& u = units_.find(k)->second;
      if (u.driver >= 0) out.push_back({k});
      else kernels.push_back({kernel_cost(*plan_.kernels[u.kernel]), k});
    }
    std::stable_sort(kernels.begin(), kernels.end(), [](const Cost& a, const Cost& b) { return a.first > b.first; });
    const auto n = static_cast<int64_t>(kernels.size());
    const int64_t rounds = (n + threads_ * kPerModule - 1) / (threads_ * kPerModule);
    const size_t first = out.size();
    std::vector<double> costs(static_cast<size_t>(std::min(n, rounds * threads_)));
    out.resize(first + costs.size());
    for (const auto& [cost, key] : kernels) {
      const auto least = std::min_element(costs.begin(), costs.end()) - costs.begin();
      costs[static_cast<size_t>(least)] += cost;
      out[first + static_cast<size_t>(least)].push_back(key);
    }
    return apart(out);
  }

  // Tiles of registers, whose code steps pointers from the start; products with vectors do not.
  bool is_tiled(const Hash128& k) const {
    constexpr int64_t kFewest = 8;
    const Unit& u = units_.find(k)->second;
    if (u.kernel < 0 || plan_.kernels[u.kernel]->chain || !plan_.kernels[u.kernel]->contraction) return false;
    const loop::Contraction& c = *plan_.kernels[u.kernel]->contraction;
    return c.is_conv || std::min(c.m.size, c.n.size) >= kFewest;
  }
  // Tiled kernels in modules of their own.
  std::vector<std::vector<Hash128>> apart(std::vector<std::vector<Hash128>>& groups) const {
    std::vector<std::vector<Hash128>> out;
    for (std::vector<Hash128>& g : groups) {
      const auto end = std::stable_partition(g.begin(), g.end(), [&](const Hash128& k) { return is_tiled(k); });
      if (end != g.begin()) out.emplace_back(g.begin(), end);
      if (end != g.end()) out.emplace_back(end, g.end());
    }
    return out;
  }

  // Called on several threads at once.
  Result<std::string> compile_group(const std::vector<Hash128>& keys, std::vector<CodeUnit>* units) {
    llvm::LLVMContext context;
    auto module = make_module(context, "braze", target_);
    CompileOptions options;
    options.reduce_strength = !is_tiled(keys[0]);
    for (const Hash128& key : keys) {
      const Unit& u = units_.find(key)->second;
      if (u.driver >= 0) {
        const std::string name = driver_symbol(key);
        TRY(emit_driver(*module, plan_, *loops_[u.driver], name, symbols_, target_));
        options.simplify = true;
        units->push_back({key, {{{name, 1, 1}}, 0, 0}});
        continue;
      }
      const loop::Kernel& k = *plan_.kernels[u.kernel];
      auto e = emit_kernel(*module, k, symbols_[u.kernel], target_);
      if (!e.ok()) return note(str_cat("kernel '", k.name, "'"), e.status());
      units->push_back({key, std::move(e).value()});
    }
    return compile(*module, target_, options);
  }

  Result<LoadedKernels> collect() {
    for (const Hash128& key : kernel_keys_) {
      const LoadedUnit& u = units_[key].code->units.at(key);
      LoadedKernel k;
      k.scratch_bytes = u.code->scratch_bytes;
      k.workspace_bytes = u.code->workspace_bytes;
      for (size_t p = 0; p < u.functions.size(); ++p)
        k.phases.push_back({reinterpret_cast<PhaseFunction*>(u.functions[p]), u.code->phases[p].items,
                            u.code->phases[p].grain});
      out_.kernels.push_back(std::move(k));
    }
    for (size_t i = 0; i < loops_.size(); ++i) {
      const Hash128& key = driver_keys_[i];
      const LoadedUnit& u = units_[key].code->units.at(key);
      if (u.functions.empty()) return internal("a loop without code");
      const_cast<PlanStep*>(loops_[i])->driver = static_cast<int64_t>(i);
      out_.drivers.push_back(
          {reinterpret_cast<DriverFunction*>(u.functions[0]), driver_calls(plan_, *loops_[i])});
    }
    for (const CodeObject* o : used_objects(out_))
      out_.code_bytes += static_cast<int64_t>(o->bytes.size());
    out_.compiled = true;
    return std::move(out_);
  }

  template <typename... A>
  void say(const A&... a) {
    out_.notes.push_back(str_cat(a...));
  }

  const Plan& plan_;
  const Target& target_;
  const int64_t threads_;
  const std::vector<const PlanStep*> loops_;
  const std::vector<Hash128> kernel_keys_, driver_keys_;
  std::vector<std::string> symbols_;  // by kernel
  absl::flat_hash_map<Hash128, Unit> units_;
  std::vector<Hash128> missing_;  // in order
  LoadedKernels out_;
};

}  // namespace

Result<LoadedKernels> compile_kernels(Plan& plan, const Target& target, int threads,
                                      const CodeSources& sources) {
  return KernelLoader(plan, target, threads).run(sources);
}

std::string code_image(const LoadedKernels& kernels) {
  return build_id().empty() ? std::string() : write_code_image(used_objects(kernels));
}

int64_t extra_workspace(const loop::Kernel& k, const Target& target) {
  if (!k.contraction) return 0;
  auto plan = plan_contraction(k, target);
  return plan.ok() ? plan->workspace_bytes : 0;
}

}  // namespace braze::codegen
