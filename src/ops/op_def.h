// SPDX-License-Identifier: Apache-2.0
// OpDef: all that Braze knows of an op, one row per opcode, by family in the files of this folder.
//
// infer is shape inference and the op's verifier at once. eval is the slow plain truth that every
// engine is tested against; it must not share code with emit/index. At least one road leads to native
// code: emit, index, a nest (lowered in loop/ by family), expand, or a step of the plan.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "base/status.h"
#include "ir/module.h"
#include "scalar/scalar.h"

namespace braze {

enum Trait : uint32_t {
  kElementwise = 1 << 0,   // output element i depends on operand elements i only
  kCommutative = 1 << 1,
  kAssociative = 1 << 2,   // exactly (integers, min, max, and, or); float add counts by convention
  kMovement = 1 << 3,      // moves elements, computes nothing
  kEffect = 1 << 4,        // must run, in order
  kCalls = 1 << 5,         // calls computations
  kExpensive = 1 << 6,     // transcendental, division: not worth computing twice
  kCollective = 1 << 7,
};

// What infer sees: operand shapes, attributes, called computations.
struct InferContext {
  Op op;
  absl::Span<const Shape* const> operands;
  const Attrs& attrs;
  absl::Span<Computation* const> calls;
  // The result shape the input states, for ops whose shape does not follow from operands and
  // attributes (reshape, convert, iota …); nullptr: none stated. Others ignore it.
  const Shape* proposed = nullptr;
  const Shape& operand(size_t i) const { return *operands[i]; }
  template <typename A>
  const A& as() const { return std::get<A>(attrs); }
};

// What eval sees. `run` evaluates a called computation. Collectives, effects and ids of devices come
// through `world`; nullptr: one device, no feeds.
struct World;
struct EvalContext {
  const Instr& instr;
  absl::Span<const Literal> operands;
  absl::FunctionRef<Result<Literal>(const Computation&, absl::Span<const Literal>)> run;
  World* world = nullptr;
  const Literal& operand(size_t i) const { return operands[i]; }
  template <typename A>
  const A& as() const { return std::get<A>(instr.attrs); }
};

// What index sees: the output index, one node per dimension, and a way to ask for operand elements.
struct IndexContext {
  scalar::Graph& g;
  const Instr& instr;
  absl::Span<const scalar::Scalar> index;
  Dtype index_type;
  // Element of operand k at the given index. `condition`: where false the value does not matter and
  // nothing may be read (pad's border, a concatenation's other parts); absent: always needed.
  absl::FunctionRef<scalar::Value(int64_t k, absl::Span<const scalar::Scalar>, scalar::Scalar condition)>
      operand;
  scalar::Scalar condition;  // under which this element itself is needed; absent: always
};

enum class Nest : uint8_t { kNone, kReduce, kReduceWindow, kSelectAndScatter, kDot, kConvolution, kScatter,
                            kDynamicUpdateSlice };
enum class Step : uint8_t { kNone, kControl, kLibrary, kCollective, kFree /* no code: tuple, gte, parameter */ };

class Builder;  // ops/builder.h

struct OpDef {
  Op op;
  std::string_view stablehlo;  // "dot_general"; empty: none. Several spellings: the importer's matter
  int arity = -1;              // -1: variadic
  uint32_t traits = 0;
  int attrs = 0;               // index of the alternative in Attrs (attrs_index<A>())
  Result<Shape> (*infer)(const InferContext&) = nullptr;
  Result<Literal> (*eval)(const EvalContext&) = nullptr;
  scalar::Value (*emit)(scalar::Graph&, const Instr&, absl::Span<const scalar::Value>) = nullptr;
  scalar::Value (*index)(const IndexContext&) = nullptr;
  Nest nest = Nest::kNone;
  // Smaller ops that compute the same; returns the replacement for `instr`.
  Result<Instr*> (*expand)(Builder&, const Instr&) = nullptr;
  Step step = Step::kNone;
  // Work per output element in add-equivalents (div 8, sqrt 10, exp/log 15, pow 30).
  float cost = 1;
  // A legal random instance: parameters and one instruction of this op as the root of the entry.
  std::unique_ptr<Module> (*sample)(std::mt19937_64&) = nullptr;
  std::string_view doc;

  bool has(Trait t) const { return traits & t; }
};

const OpDef& def(Op op);
inline const OpDef& def(const Instr& i) { return def(i.op); }

// Name for messages: StableHLO's where there is one ("broadcast_in_dim"), else HLO's.
std::string_view message_name(Op op);

// The row's infer behind the checks that hold for every op: the row exists, number of operands,
// alternative of attrs, sizes that fit 2^62 bytes, agreement with `proposed`. Where `proposed`
// agrees (unknown dims of the inferred shape agree with any) it is the result, so that layouts and
// bounds the input states are kept. The verifier of instructions as well as the builder's road.
Result<Shape> infer_shape(Op op, absl::Span<const Shape* const> operands, const Attrs& attrs,
                          absl::Span<Computation* const> calls, const Shape* proposed = nullptr);

// Rows by family; op_table.cc assembles them and checks at start-up of the tests that each opcode has
// exactly one row.
absl::Span<const OpDef> unary_rows();
absl::Span<const OpDef> binary_rows();
absl::Span<const OpDef> select_rows();      // compare, select, clamp, conversions
absl::Span<const OpDef> create_rows();      // constant, iota, parameter
absl::Span<const OpDef> movement_rows();
absl::Span<const OpDef> dynamic_rows();     // dynamic-shape ops
absl::Span<const OpDef> indexed_rows();     // dynamic slices, gather, scatter
absl::Span<const OpDef> reduce_rows();
absl::Span<const OpDef> dot_rows();         // dot, ragged-dot
absl::Span<const OpDef> conv_rows();
absl::Span<const OpDef> sort_rows();        // sort, topk
absl::Span<const OpDef> control_rows();
absl::Span<const OpDef> linalg_rows();      // cholesky, triangular-solve, fft, batch-norm
absl::Span<const OpDef> effect_rows();      // custom-call, infeed … recv-done
absl::Span<const OpDef> collective_rows();
absl::Span<const OpDef> rng_rows();         // rng, rng-bit-generator, rng-get-and-update-state
absl::Span<const OpDef> quantized_rows();   // uniform-quantize, uniform-dequantize

template <typename A, size_t I = 0>
constexpr int attrs_index() {
  if constexpr (std::is_same_v<std::variant_alternative_t<I, Attrs>, A>) return I;
  else return attrs_index<A, I + 1>();
}

// The effects a program has on its surroundings, for eval and for engines: feeds and other devices.
struct World {
  virtual ~World() = default;
  virtual int64_t replica_id() { return 0; }
  virtual int64_t partition_id() { return 0; }
  // Collectives: exchanges `mine` among the group's members; returns all members' literals in group order.
  virtual Result<std::vector<Literal>> exchange(const Instr& instr, absl::Span<const Literal> mine) {
    (void)instr;
    return std::vector<Literal>(mine.begin(), mine.end());
  }
  virtual Result<Literal> infeed(const Instr& instr, const Shape& shape) {
    (void)shape;
    return unimplemented("infeed '", instr.name, "': no feed is connected");
  }
  virtual Status outfeed(const Instr& instr, const Literal& value) {
    (void)value;
    return unimplemented("outfeed '", instr.name, "': no feed is connected");
  }
  virtual Status send(const Instr& instr, const Literal& value) {
    (void)value;
    return unimplemented("send '", instr.name, "': no channel is connected");
  }
  virtual Result<Literal> recv(const Instr& instr, const Shape& shape) {
    (void)shape;
    return unimplemented("recv '", instr.name, "': no channel is connected");
  }
  // rng-get-and-update-state: the 128-bit state (low word first) before it grows by `delta`.
  virtual std::pair<uint64_t, uint64_t> advance_rng(uint64_t delta) {
    const std::pair<uint64_t, uint64_t> old = rng_state_;
    rng_state_.first += delta;
    if (rng_state_.first < delta) ++rng_state_.second;
    return old;
  }

 private:
  std::pair<uint64_t, uint64_t> rng_state_ = {0, 0};
};

}  // namespace braze
