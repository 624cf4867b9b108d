// SPDX-License-Identifier: Apache-2.0
// The scalar DAG: what one element of a kernel computes, and the index arithmetic to address it.
//
// Nodes are hash-consed in a Graph: building the same expression twice gives the same id, so common
// subexpressions are free. Constructors fold constants and apply the cheap laws of simplify.cc, all
// exact for IEEE inputs. A node has one element type (Dtype); integer signedness is the type's.
// 16-bit and smaller floats exist only as loads, stores, selects and casts: arithmetic is done in
// f32 and cast back after every op (make does so itself if asked for narrow arithmetic). A kCast
// node is between integers, from integers to f32/f64 and back, f32 ↔ f64 or f32 ↔ f16/bf16; make
// builds other casts of these and integer operations. Complex numbers are pairs (struct Value).
//
// Semantics are HLO's: integer arithmetic wraps; x/0 = -1 (all ones), x%0 = x,
// INT_MIN/-1 = INT_MIN, INT_MIN%-1 = 0; shifts by ≥ width give 0 (arithmetic right: the sign);
// min/max propagate NaN and order -0 < +0; float→int casts truncate, saturate, NaN → 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ir/dtype.h"

namespace braze::scalar {

enum class Op : uint8_t {
  kConst,   // imm: the value (u64: its bits); floats: f64 bits of the value, rounded to the type
  kVar,     // imm: variable id (a loop index, an accumulator or a combiner's parameter)
  kLoad,    // imm: buffer id; args[0]: element offset (index type); args[1]: condition (pred) or
            // none: where it is false the value is unspecified and memory is not touched
  // Arithmetic; args of one type
  kAdd, kSub, kMul, kDiv, kRem, kMin, kMax, kAnd, kOr, kXor, kShl, kShrA, kShrL,
  kNeg, kAbs, kNot,
  kMulHi,   // integers: high half of the product
  kFma,     // a*b + c in one rounding (floats)
  // Floats
  kSqrt, kFloor, kCeil, kRoundEven, kTrunc, kCopySign,
  kLdexp,   // args[0] float · 2^args[1], in one rounding, over the full range. args[1] is s32 / s64
            // of the same width, or of args[0]'s type, integral or NaN (the result is NaN). imm 1:
            // args[0] is NaN or in [2^-20, 2^20]; args[1], a float, at most 250 (f64: 2000)
  // Bits
  kPopcnt, kClz,
  // Comparisons: result kPred. Floats: ordered (false on NaN), but kNe is true on NaN.
  kEq, kNe, kLt, kLe,
  kSelect,  // args: pred, on true, on false. imm 1: true is rare, its value worth a branch to avoid
  kCast,    // value conversion to `type`
  kBitcast, // same bits as `type` (equal width)
};

// A node's id in its graph; -1: absent.
struct Scalar {
  int32_t id = -1;
  explicit operator bool() const { return id >= 0; }
  bool operator==(const Scalar&) const = default;
};

struct Node {
  Op op = Op::kConst;
  Dtype type = Dtype::kF32;
  Scalar args[3];
  int64_t imm = 0;
  bool operator==(const Node&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const Node& n) {
    return H::combine(std::move(h), n.op, n.type, n.args[0].id, n.args[1].id, n.args[2].id, n.imm);
  }
};

// A tensor element: one node, or two for a complex one.
struct Value {
  Scalar re, im;
  bool is_complex() const { return static_cast<bool>(im); }
  bool operator==(const Value&) const = default;
};

// Inclusive range of an integer node, for the index simplifier.
struct Range {
  int64_t lo, hi;
};

class Graph {
 public:
  const Node& operator[](Scalar s) const { return nodes_[s.id]; }
  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }
  Dtype type(Scalar s) const { return nodes_[s.id].type; }

  // Leaves.
  Scalar constant(Dtype t, double v);       // floats (rounded to t), or integers given as a double
  Scalar constant_int(Dtype t, int64_t v);  // integers and pred; a float type gets the value
  Scalar var(Dtype t, int64_t id);
  Scalar index_var(int64_t id, int64_t extent, Dtype t = Dtype::kS64);  // in [0, extent)
  Scalar load(Dtype t, int64_t buffer, Scalar offset, Scalar condition = {});

  // Any op. Folds constants, canonicalises, simplifies; the result may be another node.
  Scalar make(Op op, Dtype t, Scalar a, Scalar b = {}, Scalar c = {});
  Scalar add(Scalar a, Scalar b) { return make(Op::kAdd, type(a), a, b); }
  Scalar sub(Scalar a, Scalar b) { return make(Op::kSub, type(a), a, b); }
  Scalar mul(Scalar a, Scalar b) { return make(Op::kMul, type(a), a, b); }
  Scalar div(Scalar a, Scalar b) { return make(Op::kDiv, type(a), a, b); }
  Scalar rem(Scalar a, Scalar b) { return make(Op::kRem, type(a), a, b); }
  Scalar min(Scalar a, Scalar b) { return make(Op::kMin, type(a), a, b); }
  Scalar max(Scalar a, Scalar b) { return make(Op::kMax, type(a), a, b); }
  Scalar neg(Scalar a) { return make(Op::kNeg, type(a), a); }
  Scalar fma(Scalar a, Scalar b, Scalar c) { return make(Op::kFma, type(a), a, b, c); }
  Scalar compare(Op op, Scalar a, Scalar b) { return make(op, Dtype::kPred, a, b); }
  Scalar lt(Scalar a, Scalar b) { return compare(Op::kLt, a, b); }
  Scalar le(Scalar a, Scalar b) { return compare(Op::kLe, a, b); }
  Scalar eq(Scalar a, Scalar b) { return compare(Op::kEq, a, b); }
  Scalar ne(Scalar a, Scalar b) { return compare(Op::kNe, a, b); }
  Scalar logical_and(Scalar a, Scalar b) { return make(Op::kAnd, Dtype::kPred, a, b); }
  Scalar logical_or(Scalar a, Scalar b) { return make(Op::kOr, Dtype::kPred, a, b); }
  Scalar logical_not(Scalar a) { return make(Op::kNot, Dtype::kPred, a); }
  Scalar select(Scalar p, Scalar t, Scalar f) { return make(Op::kSelect, type(t), p, t, f); }
  // x·2^n for x and n in the bounds that kLdexp states for imm 1: cheap on every target.
  Scalar ldexp_near(Scalar x, Scalar n);
  // A select whose rare side is costly: where no lane takes it, compiled code skips it.
  Scalar select_rare(Scalar p, Scalar rare, Scalar common);
  Scalar cast(Dtype t, Scalar a) { return type(a) == t ? a : make(Op::kCast, t, a); }
  Scalar bitcast(Dtype t, Scalar a) { return type(a) == t ? a : make(Op::kBitcast, t, a); }

  bool is_const(Scalar s) const { return nodes_[s.id].op == Op::kConst; }
  int64_t const_int(Scalar s) const { return nodes_[s.id].imm; }
  double const_float(Scalar s) const;
  // Conservative range of an integer node.
  Range range(Scalar s) const;
  // Coefficient c with s(v + 1) − s(v) = c for all v in range, if s is affine in variable `var`;
  // returns false when it is not known to be. 0: s does not depend on var.
  bool stride_in(Scalar s, int64_t var, int64_t* stride) const;
  bool depends_on(Scalar s, int64_t var) const;
  bool has_loads(Scalar s) const { return facts_[s.id].loads; }
  // An expression of variables made by index_var and constants only.
  bool is_index(Scalar s) const { return facts_[s.id].index; }
  // s with variables replaced: var ids[i] → values[i]. Re-simplifies.
  Scalar substitute(Scalar s, absl::Span<const int64_t> ids, absl::Span<const Scalar> values);
  // The node itself, with no simplification: for the laws, which know there is nothing to simplify.
  Scalar intern(const Node& n);

 private:
  struct Facts {
    Range range;        // of integer nodes
    uint64_t vars = 0;  // bit i: depends on the i-th variable of var_bits_; bit 63: on later ones
    bool loads = false;
    bool index = false;
  };
  Scalar simplify(Op op, Dtype t, Scalar a, Scalar b, Scalar c);
  Facts facts_of(const Node& n) const;
  uint64_t var_bit(int64_t id);
  std::vector<Node> nodes_;
  std::vector<Facts> facts_;
  absl::flat_hash_map<Node, int32_t> index_;
  absl::flat_hash_map<int64_t, int> var_bits_;
  int depth_ = 0;  // of make within laws
};

// A node's value. Floats are computed in their own type.
struct Cell {
  int64_t i = 0;   // integers (u64: its bits), pred
  double f = 0;    // floats, exactly representable in the node's type
};
struct EvalEnv {
  virtual ~EvalEnv() = default;
  virtual Cell variable(int64_t id) = 0;
  virtual Cell load(int64_t buffer, Dtype t, int64_t offset) = 0;
};
Cell evaluate(const Graph& g, Scalar s, EvalEnv& env);

// Evaluates the same roots many times.
class Interpreter {
 public:
  Interpreter(const Graph& g, absl::Span<const Scalar> roots);
  void run(EvalEnv& env);
  Cell operator[](Scalar s) const { return cells_[slot_.at(s.id)]; }

 private:
  const Graph& g_;
  std::vector<int32_t> order_;  // the nodes needed, arguments first
  absl::flat_hash_map<int32_t, int32_t> slot_;
  std::vector<Cell> cells_;
};

// "(f32 add %0 (load b1 ...))": a readable form for kernels' printing.
std::string to_string(const Graph& g, Scalar s);

}  // namespace braze::scalar
