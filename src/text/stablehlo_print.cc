// SPDX-License-Identifier: Apache-2.0
#include "text/stablehlo_print.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/lexer.h"
#include "ir/order.h"
#include "text/spelling.h"
#include "text/stablehlo_types.h"

namespace braze {

namespace text {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 30;  // shared regions are written at each use

// StableHLO's name where it is not HLO's with '_' for '-'; "" for ops handled apart or without one.
std::string op_name(const Instr& i) {
  switch (i.op) {
    case Op::kAcos:
    case Op::kAcosh:
    case Op::kAsin:
    case Op::kAsinh:
    case Op::kAtan:
    case Op::kAtanh:
    case Op::kCosh:
    case Op::kErf:
    case Op::kSinh:
    case Op::kMulhi:
      return str_cat("chlo.", name(i.op));
    case Op::kTopK:
      return "chlo.top_k";
    case Op::kRaggedDot:
      return "chlo.ragged_dot";
    case Op::kBroadcast:
      return "stablehlo.broadcast_in_dim";
    case Op::kDot:
      return "stablehlo.dot_general";
    case Op::kOptBarrier:
      return "stablehlo.optimization_barrier";
    case Op::kConditional:
      return i.operand(0)->shape.dtype == Dtype::kPred ? "stablehlo.if" : "stablehlo.case";
    case Op::kRngState:
    case Op::kStochasticConvert:
    case Op::kDynamicReduceWindow:
    case Op::kSendDone:
    case Op::kRecvDone:
    case Op::kSend:
    case Op::kRecv:
      return "";
    default:
      break;
  }
  std::string s = str_cat("stablehlo.", name(i.op));
  std::replace(s.begin(), s.end(), '-', '_');
  return s;
}

class Emitter {
 public:
  Result<std::string> module(const Module& m);

 private:
  using Names = std::vector<std::string>;

  Status function(const Computation& c, bool is_entry);
  Status arguments(const Computation& c, bool is_entry);
  std::string argument_attrs(const Module& m, const Instr& p);
  Status body(const Computation& c, Names* results);
  Status instr(const Instr& i);
  Status conditional(const Instr& i);
  Status rng(const Instr& i);
  Status bitcast(const Instr& i);
  Status call(const Instr& i);
  Status send(const Instr& i);
  Status recv(const Instr& i);
  bool vanish(const Instr& i);
  // A region that runs `c`; its arguments are the leaves of c's parameters, or, if given, `bound`
  // stands for parameter 0 and the region has none.
  Status region(const Computation& c, const Names* bound = nullptr);
  // Writes one op; operands and result types are leaves.
  Status op(std::string_view name, const Names& operands, const std::vector<Shape>& types,
            const NamedAttrs& attrs,
            absl::Span<const std::pair<const Computation*, const Names*>> regions,
            const Shape& result, Names* out, const std::string& discardable = "");
  std::string symbol(const Computation& c) const;
  Names operand_names(const Instr& i, std::vector<Shape>* types);
  std::string discardable(const Instr& i);
  void line(std::string_view text) {
    absl::StrAppend(&out_, std::string(2 * depth_, ' '), cat_piece(text), "\n");
  }
  std::string fresh() { return str_cat("%", next_++); }

  const Module* module_ = nullptr;
  std::string out_;
  int depth_ = 1;
  int64_t next_ = 0;
  absl::flat_hash_map<const Instr*, Names> values_;
};

std::string type_list(const std::vector<Shape>& types) {
  std::string out = "(";
  for (size_t k = 0; k < types.size(); ++k)
    absl::StrAppend(&out, k ? ", " : "", mlir_type(types[k]));
  return out + ")";
}

std::string name_list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& n : names) absl::StrAppend(&out, out.empty() ? "" : ", ", n);
  return out;
}

std::vector<Shape> leaves_of(const Shape& s) {
  std::vector<Shape> out;
  append_leaves(s, &out);
  return out;
}

std::string Emitter::symbol(const Computation& c) const {
  if (&c == module_->entry()) return "main";
  return c.name() == "main" ? "main_" : c.name();
}

Result<std::string> Emitter::module(const Module& m) {
  module_ = &m;
  absl::StrAppend(&out_, "module ", mlir_symbol(m.name()),
                  " attributes {mhlo.num_partitions = ", m.num_partitions,
                  " : i32, mhlo.num_replicas = ", m.num_replicas, " : i32} {\n");
  // What is called becomes a function; the entry comes first.
  std::vector<const Computation*> functions = {m.entry()};
  absl::flat_hash_set<const Computation*> seen = {m.entry()};
  for (Computation* c : stable_order(m))
    for (auto& i : c->instrs())
      if (i->is(Op::kCall) || i->is(Op::kFusion) || i->is(Op::kCustomCall))
        for (Computation* callee : i->calls)
          if (seen.insert(callee).second) functions.push_back(callee);
  for (const Computation* c : functions)
    TRY(note(str_cat("computation '", c->name(), "'"), function(*c, c == m.entry())));
  return out_ + "}\n";
}

std::string Emitter::argument_attrs(const Module& m, const Instr& p) {
  std::string out;
  auto put = [&](std::string text) { absl::StrAppend(&out, out.empty() ? "" : ", ", text); };
  for (const InputOutputAlias& a : m.aliases)
    if (a.parameter == p.parameter_number() && a.parameter_index.empty() &&
        a.output_index.size() <= 1)
      put(str_cat("tf.aliasing_output = ", a.output_index.empty() ? 0 : a.output_index[0],
                  " : i32"));
  if (std::find(m.buffer_donors.begin(), m.buffer_donors.end(), p.parameter_number()) !=
      m.buffer_donors.end())
    put("jax.buffer_donor = true");
  if (p.extras && !p.extras->sharding.empty())
    put(str_cat("mhlo.sharding = ", mlir_string(p.extras->sharding)));
  return out.empty() ? "" : str_cat(" {", out, "}");
}

Status Emitter::arguments(const Computation& c, bool is_entry) {
  bool first = true;
  for (const Instr* p : c.params()) {
    Names names;
    for (const Shape& leaf : leaves_of(p->shape)) {
      names.push_back(str_cat("%arg", next_++));
      absl::StrAppend(&out_, first ? "" : ", ", names.back(), ": ", mlir_type(leaf));
      if (is_entry && !p->shape.is_tuple()) out_ += argument_attrs(*module_, *p);
      first = false;
    }
    values_[p] = std::move(names);
  }
  return {};
}

Status Emitter::function(const Computation& c, bool is_entry) {
  next_ = 0;
  absl::StrAppend(&out_, "  func.func ", is_entry ? "public" : "private", " ",
                  mlir_symbol(symbol(c)), "(");
  TRY(arguments(c, is_entry));
  std::vector<Shape> types = leaves_of(c.root()->shape);
  absl::StrAppend(&out_, ") -> ", type_list(types), " {\n");
  depth_ = 2;
  Names results;
  TRY(body(c, &results));
  line(str_cat("\"func.return\"(", name_list(results), ") : ", type_list(types), " -> ()"));
  out_ += "  }\n";
  return {};
}

Status Emitter::body(const Computation& c, Names* results) {
  for (const Instr* i : stable_order(c)) {
    if (i->is(Op::kParameter)) continue;
    if (out_.size() > kMaxBytes) return exhausted("the StableHLO text grows too large");
    if (Status s = instr(*i); !s.ok()) return s;
  }
  *results = values_[c.root()];
  return {};
}

Status Emitter::region(const Computation& c, const Names* bound) {
  out_ += "{\n";
  ++depth_;
  if (bound) {
    if (c.params().size() != 1)
      return invalid("'", c.name(), "' is no branch: it takes ", c.params().size(), " parameters");
    values_[c.params()[0]] = *bound;
  } else if (!c.params().empty()) {
    out_ += std::string(2 * (depth_ - 1), ' ') + "^bb0(";
    TRY(arguments(c, false));
    out_ += "):\n";
  }
  Names results;
  TRY(body(c, &results));
  line(str_cat("\"stablehlo.return\"(", name_list(results),
               ") : ", type_list(leaves_of(c.root()->shape)), " -> ()"));
  --depth_;
  out_ += std::string(2 * depth_, ' ') + "}";
  return {};
}

std::string attr_dict(const NamedAttrs& attrs) {
  std::string out;
  for (auto& [name, value] : attrs)
    absl::StrAppend(&out, out.empty() ? "" : ", ", name, value == "unit" ? "" : " = ",
                    value == "unit" ? "" : value);
  return out;
}

Status Emitter::op(std::string_view name, const Names& operands, const std::vector<Shape>& types,
                   const NamedAttrs& attrs,
                   absl::Span<const std::pair<const Computation*, const Names*>> regions,
                   const Shape& result, Names* out, const std::string& discardable) {
  std::vector<Shape> results = leaves_of(result);
  std::string head;
  if (!results.empty()) {
    std::string id = fresh();
    head = results.size() == 1 ? str_cat(id, " = ") : str_cat(id, ":", results.size(), " = ");
    for (size_t k = 0; k < results.size(); ++k)
      out->push_back(results.size() == 1 ? id : str_cat(id, "#", k));
  }
  absl::StrAppend(&out_, std::string(2 * depth_, ' '), head, "\"", cat_piece(name), "\"(",
                  name_list(operands), ")");
  if (!attrs.empty()) absl::StrAppend(&out_, " <{", attr_dict(attrs), "}>");
  if (!regions.empty()) {
    out_ += " (";
    for (size_t k = 0; k < regions.size(); ++k) {
      if (k) out_ += ", ";
      TRY(region(*regions[k].first, regions[k].second));
    }
    out_ += ")";
  }
  if (!discardable.empty()) absl::StrAppend(&out_, " {", discardable, "}");
  absl::StrAppend(&out_, " : ", type_list(types), " -> ",
                  results.size() == 1 ? mlir_type(results[0]) : type_list(results), "\n");
  return {};
}

Emitter::Names Emitter::operand_names(const Instr& i, std::vector<Shape>* types) {
  Names names;
  for (const Instr* o : i.operands) {
    const Names& from = values_[o];
    names.insert(names.end(), from.begin(), from.end());
    append_leaves(o->shape, types);
  }
  return names;
}

std::string Emitter::discardable(const Instr& i) {
  if (!i.extras) return "";
  std::string out;
  if (!i.extras->frontend_attributes.empty()) {
    out = "mhlo.frontend_attributes = {";
    bool first = true;
    for (auto& [k, v] : i.extras->frontend_attributes) {
      absl::StrAppend(&out, first ? "" : ", ", mlir_string(k), " = ", mlir_string(v));
      first = false;
    }
    out += "}";
  }
  if (!i.extras->sharding.empty())
    absl::StrAppend(&out, out.empty() ? "" : ", ",
                    "mhlo.sharding = ", mlir_string(i.extras->sharding));
  return out;
}

size_t leaf_count(const Shape& s) {
  if (!s.is_tuple()) return 1;
  size_t n = 0;
  for (const Shape& t : s.tuple) n += leaf_count(t);
  return n;
}

// Ops that only pass values on.
bool Emitter::vanish(const Instr& i) {
  Names& mine = values_[&i];
  mine.clear();
  switch (i.op) {
    case Op::kTuple: {
      std::vector<Shape> types;
      Names all = operand_names(i, &types);
      values_[&i] = std::move(all);
      return true;
    }
    case Op::kGetTupleElement: {
      const Shape& from = i.operand(0)->shape;
      size_t at = 0;
      const int64_t index = i.as<IndexAttrs>().index;
      for (int64_t k = 0; k < index; ++k) at += leaf_count(from.tuple[k]);
      Names all = values_[i.operand(0)];
      values_[&i] = Names(all.begin() + at, all.begin() + at + leaf_count(i.shape));
      return true;
    }
    case Op::kCopy:
    case Op::kAddDependency:
    case Op::kDomain:
    case Op::kSendDone: {
      Names all = values_[i.operand(0)];
      values_[&i] = std::move(all);
      return true;
    }
    case Op::kRecvDone: {  // (data, u32, token) → (data, token): recv gave no u32
      Names all = values_[i.operand(0)];
      values_[&i] = std::move(all);
      return true;
    }
    default:
      return false;
  }
}

Status Emitter::conditional(const Instr& i) {
  std::vector<Names> branches(i.calls.size());
  std::vector<std::pair<const Computation*, const Names*>> regions;
  for (size_t k = 0; k < i.calls.size(); ++k) {
    branches[k] = values_[i.operands[k + 1]];
    regions.emplace_back(i.calls[k], &branches[k]);
  }
  Names out;
  TRY(op(op_name(i), values_[i.operand(0)], {i.operand(0)->shape}, {}, regions, i.shape, &out,
         discardable(i)));
  values_[&i] = std::move(out);
  return {};
}

Status Emitter::rng(const Instr& i) {
  std::vector<Shape> types;
  Names operands = operand_names(i, &types);
  Literal dims(Shape::array(Dtype::kS64, {i.shape.rank()}));
  for (int64_t k = 0; k < i.shape.rank(); ++k) dims.set_int(k, i.shape.dims[k]);
  TRY(op("stablehlo.constant", {}, {}, {{"value", mlir_dense(dims)}}, {}, dims.shape(), &operands));
  types.push_back(dims.shape());
  ASSIGN(NamedAttrs attrs, stablehlo_attrs(i));
  Names out;
  TRY(op("stablehlo.rng", operands, types, attrs, {}, i.shape, &out, discardable(i)));
  values_[&i] = std::move(out);
  return {};
}

Status Emitter::bitcast(const Instr& i) {
  const Shape& from = i.operand(0)->shape;
  const bool same_type = from.dtype == i.shape.dtype;
  if (!same_type && !same_dims(from, i.shape))
    return unimplemented(
        "'", i.name, "': a bitcast of element type and dimensions at once has no StableHLO form");
  Names out;
  TRY(op(same_type ? "stablehlo.reshape" : "stablehlo.bitcast_convert", values_[i.operand(0)],
         {from}, {}, {}, i.shape, &out));
  values_[&i] = std::move(out);
  return {};
}

Status Emitter::call(const Instr& i) {
  std::vector<Shape> types;
  Names operands = operand_names(i, &types), out;
  TRY(op("func.call", operands, types, {{"callee", mlir_symbol(symbol(*i.calls[0]))}}, {}, i.shape,
         &out, discardable(i)));
  values_[&i] = std::move(out);
  return {};
}

// StableHLO has no halves: the state of a send or recv may go to its done only.
Status check_pair(const Instr& i) {
  bool start = i.is(Op::kSend) || i.is(Op::kRecv);
  bool ok = start ? i.parent->root() != &i
                  : i.operand(0)->is(i.is(Op::kSendDone) ? Op::kSend : Op::kRecv);
  for (const Instr* u : i.users) ok &= !start || u->is(Op::kSendDone) || u->is(Op::kRecvDone);
  if (ok) return {};
  return unimplemented("'", i.name, "': half a ", name(i.op), " has no StableHLO form");
}

// send gives the token that send-done passes on.
Status Emitter::send(const Instr& i) {
  std::vector<Shape> types;
  Names operands = operand_names(i, &types), out;
  ASSIGN(NamedAttrs attrs, stablehlo_attrs(i));
  TRY(op("stablehlo.send", operands, types, attrs, {}, Shape::token(), &out, discardable(i)));
  values_[&i] = std::move(out);
  return {};
}

Status Emitter::recv(const Instr& i) {
  std::vector<Shape> types;
  Names operands = operand_names(i, &types), out;
  ASSIGN(NamedAttrs attrs, stablehlo_attrs(i));
  TRY(op("stablehlo.recv", operands, types, attrs, {},
         Shape::tuple_of({i.shape.tuple[0], Shape::token()}), &out, discardable(i)));
  values_[&i] = std::move(out);
  return {};
}

Status Emitter::instr(const Instr& i) {
  if (i.is(Op::kSend) || i.is(Op::kRecv) || i.is(Op::kSendDone) || i.is(Op::kRecvDone))
    TRY(check_pair(i));
  if (vanish(i)) return {};
  if (i.is(Op::kConditional)) return conditional(i);
  if (i.is(Op::kRng)) return rng(i);
  if (i.is(Op::kBitcast)) return bitcast(i);
  if (i.is(Op::kCall) || i.is(Op::kFusion)) return call(i);
  if (i.is(Op::kSend)) return send(i);
  if (i.is(Op::kRecv)) return recv(i);
  std::string name = op_name(i);
  if (name.empty())
    return unimplemented("'", i.name, "': ", braze::name(i.op), " has no StableHLO form");
  if (i.is(Op::kConstant) && i.shape.is_tuple())
    return unimplemented("'", i.name, "': a tuple constant has no StableHLO form");
  std::vector<Shape> types;
  Names operands = operand_names(i, &types), out;
  Result<NamedAttrs> attrs = stablehlo_attrs(i);
  if (!attrs.ok()) return note(str_cat("'", i.name, "'"), attrs.status());
  std::vector<std::pair<const Computation*, const Names*>> regions;
  if (!i.is(Op::kCustomCall) && !i.is(Op::kTopK))
    for (Computation* c : i.calls) regions.emplace_back(c, nullptr);
  TRY(op(name, operands, types, *attrs, regions, i.shape, &out, discardable(i)));
  values_[&i] = std::move(out);
  return {};
}

}  // namespace
}  // namespace text

Result<std::string> print_stablehlo(const Module& m) { return text::Emitter().module(m); }

}  // namespace braze
