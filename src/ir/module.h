// SPDX-License-Identifier: Apache-2.0
// Module: the tensor graph. Computations of instructions; one struct per instruction, no subclasses.
//
// An instruction changes only through the mutators of Computation below. They keep use lists right
// and count changes (Module::changes), so a pass can't misreport what it did. Every computation is
// owned by its module, every instruction by its computation; pointers stay valid until erased.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "base/status.h"
#include "ir/attrs.h"
#include "ir/opcode.h"
#include "ir/shape.h"

namespace braze {

struct Instr;
class Computation;
class Module;

// Where an instruction came from: for messages and printing, never part of a hash or of equality.
struct Metadata {
  std::string op_type, op_name, source_file;
  int64_t source_line = 0, source_column = 0;
  bool operator==(const Metadata&) const = default;
};

// What few instructions carry. Strings are kept as the input spelled them.
struct Extras {
  Metadata metadata;
  std::string sharding;                                // text inside sharding={…}, with braces
  std::map<std::string, std::string> frontend_attributes;
  std::string backend_config;
  std::vector<Instr*> control_predecessors;
  std::map<std::string, std::string> other;            // attributes kept verbatim
};

struct Instr {
  Op op = Op::kParameter;
  Shape shape;
  absl::InlinedVector<Instr*, 2> operands;
  Attrs attrs;
  absl::InlinedVector<Computation*, 1> calls;  // reduce: {to_apply}; while: {condition, body}; …
  std::string name;                            // unique in the module, without '%'
  int64_t id = 0;                              // unique in the module, increasing in creation order
  Computation* parent = nullptr;
  std::vector<Instr*> users;                   // each user once, in order of first use
  std::unique_ptr<Extras> extras;

  template <typename A>
  const A& as() const { return std::get<A>(attrs); }
  Instr* operand(int64_t i) const { return operands[i]; }
  Extras& extra() {
    if (!extras) extras = std::make_unique<Extras>();
    return *extras;
  }
  bool is(Op o) const { return op == o; }
  bool is_constant() const { return op == Op::kConstant; }
  const Literal& literal() const { return as<ConstantAttrs>().value; }
  int64_t parameter_number() const { return as<ParameterAttrs>().number; }
  // "file.py:12" or "" when unknown.
  std::string location() const;
};

class Computation {
 public:
  Computation(Module* module, std::string name) : module_(module), name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  void set_name(std::string n) { name_ = std::move(n); }
  Module* module() const { return module_; }
  Instr* root() const { return root_; }
  // Instructions in creation order (passes may append out of topological order; see post_order).
  const std::vector<std::unique_ptr<Instr>>& instrs() const { return instrs_; }
  const std::vector<Instr*>& params() const { return params_; }  // by parameter number
  int64_t size() const { return static_cast<int64_t>(instrs_.size()); }

  // The mutators.
  // Appends an instruction whose shape the caller has inferred (ops/builder.h does both).
  Instr* add(Op op, const Shape& shape, absl::Span<Instr* const> operands, Attrs attrs = NoAttrs{},
             absl::Span<Computation* const> calls = {}, std::string_view name = {});
  void set_operand(Instr* i, int64_t k, Instr* value);
  void set_operands(Instr* i, absl::Span<Instr* const> operands);
  void set_shape(Instr* i, const Shape& shape);
  void set_attrs(Instr* i, Attrs attrs);
  void set_calls(Instr* i, absl::Span<Computation* const> calls);
  void replace_uses(Instr* old_value, Instr* new_value);  // root included
  void set_root(Instr* root);
  void erase(Instr* i);                  // no users, not the root
  int64_t erase_dead();                  // all without users and effects (see has_effect); count
  // Removes unused parameters and renumbers the rest; returns the kept old numbers. Callers must
  // drop the operands themselves.
  std::vector<int64_t> erase_unused_params();

 private:
  void unlink(Instr* user);
  Module* module_;
  std::string name_;
  std::vector<std::unique_ptr<Instr>> instrs_;
  std::vector<Instr*> params_;
  Instr* root_ = nullptr;
};

// An output of the entry computation that may (or must) share a parameter's memory.
struct InputOutputAlias {
  Dims output_index;
  int64_t parameter = 0;
  Dims parameter_index;
  bool must_alias = false;
  bool operator==(const InputOutputAlias&) const = default;
};

class Module {
 public:
  explicit Module(std::string name) : name_(std::move(name)) {}

  const std::string& name() const { return name_; }
  void set_name(std::string n) { name_ = std::move(n); }
  Computation* entry() const { return entry_; }
  void set_entry(Computation* c) { entry_ = c; }
  const std::vector<std::unique_ptr<Computation>>& computations() const { return computations_; }
  Computation* add_computation(std::string_view name);
  void erase_computation(Computation* c);
  int64_t erase_dead_computations();      // not reachable from the entry
  int64_t instruction_count() const;
  std::unique_ptr<Module> clone() const;
  // Copies `from` into this module under a fresh name. Callees are shared, not copied, if they
  // belong to this module already, and copied otherwise.
  Computation* clone_computation(const Computation& from, std::string_view name = {});

  std::string unique_name(std::string_view base);  // base, base.1, base.2 …
  int64_t next_id() { return next_id_++; }
  int64_t changes() const { return changes_; }
  void count_change() { ++changes_; }

  // Facts of the module header.
  std::vector<InputOutputAlias> aliases;
  std::vector<int64_t> buffer_donors;              // parameters whose memory may be reused
  int64_t num_replicas = 1, num_partitions = 1;
  std::vector<Shape> entry_parameter_layouts;      // empty: row-major
  std::vector<Shape> entry_result_layouts;         // empty, or one shape
  bool is_scheduled = false;
  std::map<std::string, std::string> frontend_attributes;
  std::map<std::string, std::string> other;        // header attributes kept verbatim

 private:
  std::string name_;
  Computation* entry_ = nullptr;
  std::vector<std::unique_ptr<Computation>> computations_;
  absl::flat_hash_map<std::string, int64_t> names_;
  int64_t next_id_ = 0, changes_ = 0;
};

// Must run even if its result is unused: custom calls with side effects, infeed, outfeed, send, recv,
// collectives, rng with state; control flow that calls such an instruction; parameters.
bool has_effect(const Instr& i);

// Operands before users, from the root and every instruction with an effect; stable across runs.
std::vector<Instr*> post_order(const Computation& c);
// Callees before callers, from the entry.
std::vector<Computation*> computation_post_order(const Module& m);

}  // namespace braze
