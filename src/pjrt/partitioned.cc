// SPDX-License-Identifier: Apache-2.0
#include "pjrt/partitioned.h"

#include <algorithm>
#include <cstring>

#include "frontend/hlo_proto.h"
#include "pjrt/op_sharding.h"
#include "plan/share.h"
#include "spmd/expand.h"

namespace braze::pjrt {
namespace {

class PartitionedProgram : public Program {
 public:
  PartitionedProgram(ProgramFacts f, std::unique_ptr<Executable> e, spmd::Expanded map)
      : executable_(std::move(e)), map_(std::move(map)) {
    facts_ = std::move(f);
    owners(map_.parameters, &argument_owners_);
    owners(map_.results, &result_owners_);
  }

  Status run(absl::Span<const Shard> shards) override {
    std::vector<const void*> arguments;
    std::vector<void*> results;
    for (const Owner& o : argument_owners_) arguments.push_back(shards[o.device].arguments[o.leaf]);
    for (const Owner& o : result_owners_) results.push_back(shards[o.device].results[o.leaf]);
    if (executable_->plan()) TRY(executable_->run_raw(arguments, results));
    else TRY(evaluate(arguments, results));
    for (size_t leaf = 0; leaf < map_.results.size(); ++leaf) copy_result(shards, leaf);
    return absl::OkStatus();
  }

  Result<std::string> module_proto() const override {
    if (!executable_->plan()) return unimplemented("the optimised program of the evaluator");
    return write_hlo_module_proto(*executable_->plan()->module);
  }
  std::string code_image() const override { return executable_->code_image(); }

 private:
  struct Owner {
    size_t leaf = 0;
    int64_t device = 0;
  };
  // The first device that holds each.
  static void owners(const std::vector<std::vector<int64_t>>& map, std::vector<Owner>* out) {
    int64_t count = 0;
    for (const auto& leaf : map)
      for (int64_t k : leaf) count = std::max(count, k + 1);
    out->resize(count, {0, -1});
    for (size_t leaf = 0; leaf < map.size(); ++leaf)
      for (size_t d = 0; d < map[leaf].size(); ++d)
        if (Owner& o = (*out)[map[leaf][d]]; o.device < 0) o = {leaf, static_cast<int64_t>(d)};
  }

  // Devices that hold the same part of a result get copies of the first one's.
  void copy_result(absl::Span<const Shard> shards, size_t leaf) {
    const int64_t bytes = facts_.results[leaf].bytes();
    for (size_t d = 0; d < shards.size() && bytes > 0; ++d) {
      const Owner& o = result_owners_[map_.results[leaf][d]];
      void* to = shards[d].results[leaf];
      const void* from = shards[o.device].results[o.leaf];
      if (to != from) std::memcpy(to, from, bytes);
    }
  }

  Status evaluate(const std::vector<const void*>& arguments, const std::vector<void*>& results) {
    std::vector<Literal> args;
    for (size_t k = 0; k < arguments.size(); ++k) {
      Shape s = executable_->parameters()[k];
      s.layout.clear();
      if (!s.is_array()) args.push_back(Literal(s));
      else
        args.push_back(Literal::from_bytes(
            s, {static_cast<const char*>(arguments[k]), static_cast<size_t>(s.bytes())}));
    }
    ASSIGN(const Literal out, executable_->run(args));
    for (size_t k = 0; k < results.size(); ++k) {
      const Literal& part = out.parts()[k];
      if (part.size_bytes() > 0) std::memcpy(results[k], part.bytes(), part.size_bytes());
    }
    return absl::OkStatus();
  }

  std::unique_ptr<Executable> executable_;
  spmd::Expanded map_;
  std::vector<Owner> argument_owners_, result_owners_;  // by parameter and result of the new entry
};

int64_t first_with(const std::vector<int64_t>& v, int64_t x) {
  return std::find(v.begin(), v.end(), x) - v.begin();
}

// In place on every device: where the program works on one device's memory, argument and result of that
// device are what it works on.
bool in_place(const Plan& p, const spmd::Expanded& map, const Donation& d) {
  if (d.result < 0) return false;
  const auto& from = map.parameters[d.argument];
  const auto& to = map.results[d.result];
  for (size_t k = 0; k < from.size(); ++k)
    if (first_with(from, from[k]) != first_with(to, to[k]) || !may_share(p, from[k], to[k])) return false;
  return true;
}

// Donors that name no result take one of their size that is not taken; those that find none are kept.
void match_donors(ProgramFacts* f) {
  std::vector<bool> taken(f->results.size(), false);
  for (const Donation& d : f->donations)
    if (d.result >= 0) taken[d.result] = true;
  std::erase_if(f->donations, [&](Donation& d) {
    for (size_t k = 0; d.result < 0 && k < taken.size(); ++k)
      if (!taken[k] && f->results[k].is_array() && f->arguments[d.argument].is_array() &&
          f->results[k].bytes() == f->arguments[d.argument].bytes())
        taken[k] = true, d.result = static_cast<int64_t>(k);
    return d.result < 0;
  });
}

Status to_parts(std::vector<Shape>* shapes, const std::vector<spmd::Tiling>& tilings,
                std::vector<std::string>* protos) {
  if (shapes->size() != tilings.size())
    return internal("a program over several devices has ", tilings.size(), " leaves, not ", shapes->size());
  for (size_t k = 0; k < shapes->size(); ++k) {
    ASSIGN((*shapes)[k], spmd::tile_shape((*shapes)[k], tilings[k]));
    protos->push_back(sharding_proto(tilings[k]));
  }
  return absl::OkStatus();
}

// What jaxlib keeps in the configuration of an InspectSharding call: a function that wants the sharding.
struct InspectArgs {
  const char* sharding;  // OpSharding
  size_t size;
  const char* error;
  void* scratch;
  void (*free_error)(InspectArgs*);
};
struct InspectFunction {
  void (*call)(void* data, InspectArgs*);
  void* data;
};

Status inspect(const Instr& call, const spmd::Tiling& operand) {
  const std::string& config = call.as<CustomCallAttrs>().backend_config;
  InspectFunction f;
  if (config.size() != sizeof(f))
    return invalid("InspectSharding: a configuration of ", config.size(), " bytes holds no function");
  std::memcpy(&f, config.data(), sizeof(f));
  const std::string sharding = sharding_proto(operand);
  InspectArgs args = {sharding.data(), sharding.size(), nullptr, nullptr, nullptr};
  f.call(f.data, &args);
  if (!args.error) return absl::OkStatus();
  const Status s = internal("Error calling inspect_sharding: ", args.error);
  if (args.free_error) args.free_error(&args);
  return s;
}

}  // namespace

Result<std::unique_ptr<Program>> compile_partitioned(std::unique_ptr<Module> m, ProgramFacts f,
                                                     const ProgramOptions& o,
                                                     std::string_view image) {
  m->num_replicas = o.replicas;
  m->num_partitions = o.partitions;
  spmd::ExpandOptions expand_options;
  expand_options.by_device = true;
  if (o.live) expand_options.inspect = inspect;
  ASSIGN(spmd::Expanded map, spmd::expand_devices(*m, expand_options));
  TRY(to_parts(&f.arguments, map.argument_tilings, &f.argument_shardings));
  TRY(to_parts(&f.results, map.result_tilings, &f.result_shardings));
  match_donors(&f);
  CompileOptions compile_options;
  compile_options.backend = o.backend;
  compile_options.check = o.check;
  compile_options.code = image;
  ASSIGN(std::unique_ptr<Executable> e, compile(std::move(m), compile_options));
  const CompileStats& stats = e->stats();
  f.flops = stats.flops / static_cast<double>(map.devices);
  f.bytes = stats.bytes / static_cast<double>(map.devices);
  f.temporary_bytes = stats.arena_bytes;
  f.code_bytes = stats.code_bytes;
  if (!e->plan()) f.has_loops = true;
  for (Donation& d : f.donations)
    d.in_place = e->plan() && f.arguments[d.argument].dtype == f.results[d.result].dtype &&
                 f.arguments[d.argument].dims == f.results[d.result].dims && in_place(*e->plan(), map, d);
  return std::make_unique<PartitionedProgram>(std::move(f), std::move(e), std::move(map));
}

}  // namespace braze::pjrt
