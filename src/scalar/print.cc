// SPDX-License-Identifier: Apache-2.0
// Nodes as text: shared and deep nodes as "%id = …" lines, arguments first, then the root's
// expression.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "absl/strings/str_format.h"
#include "base/status.h"
#include "scalar/scalar.h"

namespace braze::scalar {
namespace {

constexpr int kMaxDepth = 12;  // of one expression

constexpr std::array<const char*, 36> kNames = {
    "const", "var", "load", "add", "sub", "mul", "div", "rem", "min", "max", "and", "or",
    "xor", "shl", "shra", "shrl", "neg", "abs", "not", "mulhi", "fma", "sqrt", "floor", "ceil",
    "round", "trunc", "copysign", "ldexp", "popcnt", "clz", "eq", "ne", "lt", "le", "select",
    "cast"};

const char* op_name(Op op) {
  const auto i = static_cast<size_t>(op);
  return i < kNames.size() ? kNames[i] : "bitcast";
}

struct Printer {
  const Graph& g;
  absl::flat_hash_map<int32_t, int> uses;
  absl::flat_hash_map<int32_t, int> depth;  // of the expression each node prints as
  absl::flat_hash_map<int32_t, std::string> text;

  bool leaf(Scalar s) const { return g[s].op == Op::kConst || g[s].op == Op::kVar; }

  std::string constant(Scalar s) const {
    if (!is_float(g.type(s))) return str_cat(g.const_int(s));
    return absl::StrFormat("%.17g", g.const_float(s));
  }

  std::string expression(Scalar s) {
    const Node& n = g[s];
    if (n.op == Op::kConst) return constant(s);
    if (n.op == Op::kVar) return str_cat("v", n.imm);
    std::string r = str_cat("(", name(n.type), " ", op_name(n.op));
    if (n.op == Op::kLoad) r += str_cat(" b", n.imm);
    for (Scalar a : n.args)
      if (a) r += " " + text[a.id];
    return r + ")";
  }
};

}  // namespace

std::string to_string(const Graph& g, Scalar s) {
  if (!s) return "none";
  Printer p{g, {}, {}, {}};
  std::vector<int32_t> order{s.id};
  p.uses[s.id] = 0;
  for (size_t i = 0; i < order.size(); ++i)
    for (Scalar a : g[Scalar{order[i]}].args)
      if (a && p.uses[a.id]++ == 0) order.push_back(a.id);
  std::sort(order.begin(), order.end());
  std::string lines;
  for (int32_t id : order) {
    const Scalar node{id};
    int depth = 0;
    for (Scalar a : g[node].args)
      if (a) depth = std::max(depth, p.depth[a.id] + 1);
    std::string e = p.expression(node);
    if (!p.leaf(node) && node != s && (p.uses[id] > 1 || depth >= kMaxDepth)) {
      lines += str_cat("%", id, " = ", e, "\n");
      e = str_cat("%", id);
      depth = 0;
    }
    p.depth[id] = depth;
    p.text[id] = std::move(e);
  }
  return lines + p.text[s.id];
}

}  // namespace braze::scalar
