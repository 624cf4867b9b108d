// SPDX-License-Identifier: Apache-2.0
// The state of an import: the program, a computation under construction, one op being imported.
//
// Interface: Program (functions by name), Scope (values by id), OpImport (what a handler sees) and
// the handler tables of the op families. Invariant: OpImport and Builder remember the first error
// and give harmless values after it, so handlers are straight code; the caller asks status() once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "base/status.h"
#include "frontend/mlir_ast.h"
#include "ir/module.h"
#include "ops/builder.h"

namespace braze::stablehlo {

struct Program {
  const mlir::Module& source;
  Module& module;
  absl::flat_hash_map<std::string_view, const mlir::Op*> symbols;     // top-level ops by name
  absl::flat_hash_map<std::string_view, Computation*> functions;      // those imported so far
};

// One computation. Values of enclosing computations are not visible: regions get what they use.
struct Scope {
  Scope(Program& p, Computation* c, int d) : program(p), b(c), depth(d) {}
  Program& program;
  Builder b;
  int depth;  // of nested regions
  absl::flat_hash_map<mlir::ValueId, Instr*> values;
};

// How the arguments of a region become parameters.
struct RegionShape {
  bool tuple_parameter = false;  // one parameter: the tuple of arguments and captures
  bool tuple_result = false;     // the root is a tuple even of one value
  std::vector<mlir::ValueId> captures;      // values from outside, after the arguments
  std::vector<Shape> captured_shapes;
  bool hands_on_captures = false;  // the result ends with the captures
  // Other element types for the arguments; the body sees them converted to its own.
  std::vector<Dtype> parameter_types;
};

class OpImport {
 public:
  OpImport(Scope& s, const mlir::Op& o) : scope(s), op(o), b(s.b) {}
  // Looks up operands and result types; the other members may be used if it is OK.
  Status prepare();

  Scope& scope;
  const mlir::Op& op;
  Builder& b;

  size_t inputs() const { return ins_.size(); }
  Instr* in(size_t k) const { return ins_[k]; }
  absl::Span<Instr* const> ins() const { return ins_; }
  absl::Span<Instr* const> ins(size_t from, size_t count) const {
    return absl::MakeConstSpan(ins_).subspan(from, count);
  }
  size_t results() const { return types_.size(); }
  const Shape& type(size_t k = 0) const { return types_[k]; }
  // The declared shape of all results: the one, or a tuple.
  Shape all_types() const;

  // Attributes. Absent: the default.
  const mlir::Attr* attr(std::string_view name) const { return op.attr(name); }
  int64_t integer(std::string_view name, int64_t absent = 0);
  bool flag(std::string_view name);
  std::string text(std::string_view name);     // of a string, symbol or enum
  std::string_view choice(std::string_view name);  // of an enum; "" if absent
  Dims dims(std::string_view name);
  Dims dims_or(std::string_view name, size_t count,
               int64_t absent);  // absent or empty: count times

  // Errors.
  void fail(Status s) {
    if (status_.ok()) status_ = std::move(s);
  }
  template <typename T>
  T take(Result<T> r, T otherwise = {}) {
    if (r.ok()) return std::move(r).value();
    fail(r.status());
    return otherwise;
  }
  bool check(bool ok, std::string_view message) {
    if (!ok) fail(invalid(message));
    return ok;
  }
  const Status& status() const { return status_.ok() ? b.status() : status_; }
  bool ok() const { return status().ok(); }

  // Emission. emit: the shape is inferred, and must agree with the declared one of all results;
  // emit_typed: ops whose shape only the declaration gives. Both bind nothing.
  Instr* emit(Op o, absl::Span<Instr* const> operands, Attrs attrs = NoAttrs{},
              absl::Span<Computation* const> calls = {});
  Instr* emit_typed(Op o, absl::Span<Instr* const> operands, Attrs attrs = NoAttrs{},
                    absl::Span<Computation* const> calls = {});
  // Result k is `value`, whose shape is merged with the declared one.
  void bind(size_t k, Instr* value);
  void bind(Instr* value) { bind(0, value); }
  // The results are the elements of the tuple, or the value itself if there is one result of no
  // tuple type in it.
  void bind_all(Instr* value);
  // The instruction that carries sharding and frontend attributes.
  Instr* main() const { return main_; }

  // Operand k converted to element type t.
  Instr* in_as(size_t k, Dtype t);
  // A scalar spread to the dimensions of `like`; anything else is returned as it is.
  Instr* spread(Instr* scalar, const Shape& like);

  // Regions. `region` is for combiners and comparators: one parameter per argument, the root is the
  // returned value or the tuple of them; constants from outside are copied in.
  Computation* region(size_t k, absl::Span<const Dtype> parameter_types = {});
  Computation* region(size_t k, const RegionShape& shape);
  // Type and element type that argument i of region k is declared with.
  Shape argument_type(size_t k, size_t i);
  Dtype region_dtype(size_t k, size_t i) { return argument_type(k, i).dtype; }
  // What region k uses from outside and cannot copy; each id once, in order of use.
  void captures(size_t k, std::vector<mlir::ValueId>& ids) const;
  // Imports the only block of region k in place, with the given arguments; the returned values.
  std::vector<Instr*> inline_region(size_t k, absl::Span<Instr* const> arguments);

 private:
  std::vector<Instr*> ins_;
  std::vector<Shape> types_;
  Instr* main_ = nullptr;
  Status status_;
};

struct Handler {
  std::string_view name;
  void (*import)(OpImport&);
  int operands;  // exact, or −1−n for at least n
  int results;   // exact, or −1 for any
  int regions;   // exact, or −1 for any
};
inline constexpr int kAny = -1;
constexpr int at_least(int n) { return -1 - n; }

absl::Span<const Handler> elementwise_handlers();
absl::Span<const Handler> movement_handlers();
absl::Span<const Handler> dynamic_handlers();
absl::Span<const Handler> indexed_handlers();
absl::Span<const Handler> contraction_handlers();
absl::Span<const Handler> reduction_handlers();
absl::Span<const Handler> control_handlers();
absl::Span<const Handler> linalg_handlers();
absl::Span<const Handler> effect_handlers();
absl::Span<const Handler> collective_handlers();
absl::Span<const Handler> sdy_handlers();
absl::Span<const Handler> check_handlers();

// Imports the ops of a block into the scope; the operands of its terminator. The block's arguments
// and everything it uses from outside are in the scope already.
Result<std::vector<Instr*>> import_block(Scope& scope, const mlir::Block& block);
// One op, with location and attributes attached to what it became.
Status import_op(Scope& scope, const mlir::Op& op);

// "file:line: stablehlo.add : (types) -> types: why".
Status op_error(const mlir::Module& source, const mlir::Op& op, const Status& why);

// A symbol's name with what HLO names may not hold replaced: "<lambda>" → "_lambda_".
std::string legal_name(std::string_view name);

// A copy, in the scope, of an instruction that needs no operands but constants; nullptr if it has
// others.
Instr* copy_constant(Scope& scope, const Instr* value);

}  // namespace braze::stablehlo
