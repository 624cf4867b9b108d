// SPDX-License-Identifier: Apache-2.0
// The DAG's interpreter: each needed node once, arguments first (ids are in that order). No
// recursion.
#include <algorithm>
#include <bit>

#include "scalar/fold.h"
#include "scalar/scalar.h"

namespace braze::scalar {

Interpreter::Interpreter(const Graph& g, absl::Span<const Scalar> roots) : g_(g) {
  for (Scalar s : roots)
    if (s && slot_.try_emplace(s.id, 0).second) order_.push_back(s.id);
  for (size_t i = 0; i < order_.size(); ++i)
    for (Scalar a : g[Scalar{order_[i]}].args)
      if (a && slot_.try_emplace(a.id, 0).second) order_.push_back(a.id);
  std::sort(order_.begin(), order_.end());
  for (size_t i = 0; i < order_.size(); ++i) slot_[order_[i]] = static_cast<int32_t>(i);
  cells_.resize(order_.size());
}

void Interpreter::run(EvalEnv& env) {
  for (size_t i = 0; i < order_.size(); ++i) {
    const Node& n = g_[Scalar{order_[i]}];
    Cell& out = cells_[i];
    Dtype types[3] = {};
    Cell args[3];
    for (int k = 0; k < 3; ++k) {
      if (!n.args[k]) continue;
      types[k] = g_.type(n.args[k]);
      args[k] = (*this)[n.args[k]];
    }
    out = {};
    switch (n.op) {
      case Op::kConst:
        if (is_float(n.type)) out.f = std::bit_cast<double>(n.imm);
        else out.i = n.imm;
        break;
      case Op::kVar:
        out = env.variable(n.imm);
        break;
      case Op::kLoad:
        if (!n.args[1] || args[1].i) out = env.load(n.imm, n.type, args[0].i);
        break;
      default:
        out = fold(n.op, n.type, types, args);
    }
  }
}

Cell evaluate(const Graph& g, Scalar s, EvalEnv& env) {
  Interpreter interpreter(g, {&s, 1});
  interpreter.run(env);
  return interpreter[s];
}

}  // namespace braze::scalar
