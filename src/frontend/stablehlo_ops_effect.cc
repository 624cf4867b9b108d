// SPDX-License-Identifier: Apache-2.0
// Custom calls, feeds and channels.
#include <algorithm>

#include "frontend/chlo.h"
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_attrs.h"
#include "frontend/stablehlo_scope.h"

namespace braze::stablehlo {
namespace {

using mlir::Attr;
using mlir::AttrKind;

// [dense<[0, 1]> : tensor<2xindex>, ..]: minor to major.
std::vector<Dims> read_layouts(OpImport& c, std::string_view name) {
  std::vector<Dims> out;
  const Attr* a = c.attr(name);
  if (!a || a->kind != AttrKind::kArray) return out;
  for (const Attr* item : a->items) out.push_back(read_dims(c, item));
  // No layouts that say more than row-major: nothing to remember.
  const bool plain = std::all_of(out.begin(), out.end(), [](const Dims& d) {
    for (size_t i = 0; i < d.size(); ++i)
      if (d[i] != static_cast<int64_t>(d.size() - 1 - i)) return false;
    return true;
  });
  if (plain) out.clear();
  return out;
}

std::vector<OperandAlias> read_aliases(OpImport& c) {
  std::vector<OperandAlias> out;
  const Attr* a = c.attr("output_operand_aliases");
  if (!a) return out;
  for (const Attr* item : a->items) {
    OperandAlias alias;
    alias.output_index = field_dims(c, *item, "output_tuple_indices");
    alias.operand_index = field_dims(c, *item, "operand_tuple_indices");
    alias.operand = field_int(*item, "operand_index");
    out.push_back(std::move(alias));
  }
  return out;
}

// mhlo.* targets: ops that older StableHLO could not spell.
bool import_mhlo_target(OpImport& c, std::string_view target) {
  if (target.substr(0, 5) != "mhlo.") return false;
  if (target == "mhlo.erf" && c.inputs() == 1) {
    c.bind(c.emit(Op::kErf, c.ins()));
    return true;
  }
  const Attr* attrs = c.attr("mhlo.attributes");
  if (target == "mhlo.topk" && c.inputs() == 1 && attrs) {
    TopKAttrs a{field_int(*attrs, "k"), field_int(*attrs, "largest", 1) != 0};
    c.bind_all(c.emit_typed(Op::kTopK, c.ins(), a));
    return true;
  }
  const std::string chlo = str_cat("chlo.", target.substr(5));
  if (!is_chlo_op(chlo) || c.results() != 1) return false;
  const Shape result = c.type();
  auto values = c.take(build_chlo(c.b, chlo, c.ins(), ChloAttrs{}, {result}));
  if (values.size() == 1) c.bind(values[0]);
  return true;
}

// stablehlo.dynamic_reduce_window: the window's lists are operands.
bool import_dynamic_target(OpImport& c, std::string_view target) {
  if (target != "stablehlo.dynamic_reduce_window") return false;
  const Attr* called = c.attr("called_computations");
  if (!called || called->items.size() != 1) return false;
  auto it = c.scope.program.functions.find(called->items[0]->text);
  if (!c.check(it != c.scope.program.functions.end(), "the called computation does not exist"))
    return true;
  c.bind_all(c.emit_typed(Op::kDynamicReduceWindow, c.ins(), NoAttrs{}, {it->second}));
  return true;
}

void custom_call(OpImport& c) {
  CustomCallAttrs a;
  a.target = c.text("call_target_name");
  if (!c.check(!a.target.empty(), "needs a call_target_name")) return;
  if (import_mhlo_target(c, a.target) || import_dynamic_target(c, a.target) || !c.ok()) return;
  a.side_effect = c.flag("has_side_effect");
  a.api_version = c.integer("api_version", 1);
  if (const Attr* config = c.attr("backend_config"))
    a.backend_config =
        config->kind == AttrKind::kString ? std::string(config->text) : mlir::print_attr(*config);
  // The dictionary of typed FFI calls goes first: its string is empty then.
  if (const Attr* config = c.attr("mhlo.backend_config"); config && a.backend_config.empty())
    a.backend_config = mlir::print_attr(*config);
  a.aliases = read_aliases(c);
  a.operand_layouts = read_layouts(c, "operand_layouts");
  a.result_layouts = read_layouts(c, "result_layouts");
  std::vector<Computation*> calls;
  if (const Attr* called = c.attr("called_computations"))
    for (const Attr* symbol : called->items)
      if (auto it = c.scope.program.functions.find(symbol->text);
          it != c.scope.program.functions.end())
        calls.push_back(it->second);
  if (!c.ok()) return;
  Instr* i = c.emit_typed(Op::kCustomCall, c.ins(), std::move(a), calls);
  for (std::string_view kept : {"error_message", "xla_shape", "mhlo.attributes", "result_tilings"})
    if (const Attr* v = c.attr(kept))
      i->extra().other[std::string(kept)] =
          v->kind == AttrKind::kString ? std::string(v->text) : mlir::print_attr(*v);
  c.bind_all(i);
}

ChannelAttrs channel(OpImport& c) {
  ChannelAttrs a;
  a.channel_id = read_channel(c);
  a.is_host_transfer = c.flag("is_host_transfer");
  return a;
}

void note_pairs(OpImport& c, Instr* i) {
  if (const Attr* pairs = c.attr("source_target_pairs"))
    i->extra().other["source_target_pairs"] = mlir::print_attr(*pairs);
}

void infeed(OpImport& c) {
  ChannelAttrs a;
  a.config = c.text("infeed_config");
  const Shape result =
      c.results() == 1 && c.type().is_token() ? Shape::tuple_of({c.type()}) : c.all_types();
  Instr* i = c.b.op_shaped(Op::kInfeed, result, c.ins(), a);
  if (c.results() == 1 && result.is_tuple() && !c.type().is_tuple()) c.bind(c.b.element(i, 0));
  else c.bind_all(i);
}

void outfeed(OpImport& c) {
  ChannelAttrs a;
  a.config = c.text("outfeed_config");
  c.bind(c.emit(Op::kOutfeed, c.ins(), a));
}

// HLO splits sends and receives in two halves.
void send(OpImport& c) {
  ChannelAttrs a = channel(c);
  const size_t n = c.inputs() - 1;
  Instr* data = n == 1 ? c.in(0) : c.b.tuple(c.ins(0, n));
  Instr* start = c.b.op(Op::kSend, {data, c.in(n)}, a);
  note_pairs(c, start);
  c.bind(c.b.op(Op::kSendDone, {start}, a));
}

void recv(OpImport& c) {
  ChannelAttrs a = channel(c);
  if (!c.check(c.results() >= 1 && c.type(c.results() - 1).is_token(),
               "the last result must be a token"))
    return;
  std::vector<Shape> parts;
  for (size_t k = 0; k + 1 < c.results(); ++k) parts.push_back(c.type(k));
  const bool one = parts.size() == 1;
  const Shape data = one ? parts[0] : Shape::tuple_of(parts);
  Instr* start = c.b.op_shaped(
      Op::kRecv, Shape::tuple_of({data, Shape::scalar(Dtype::kU32), Shape::token()}), c.ins(), a);
  note_pairs(c, start);
  Instr* done = c.b.op(Op::kRecvDone, {start}, a);
  if (!c.ok()) return;
  Instr* value = c.b.element(done, 0);
  for (size_t k = 0; k < parts.size(); ++k)
    c.bind(k, one ? value : c.b.element(value, static_cast<int64_t>(k)));
  c.bind(c.results() - 1, c.b.element(done, 1));
}

constexpr Handler kHandlers[] = {
    {"stablehlo.custom_call", custom_call, kAny, kAny, 0},
    {"stablehlo.infeed", infeed, 1, kAny, 0},
    {"stablehlo.outfeed", outfeed, at_least(1), 1, 0},
    {"stablehlo.send", send, at_least(1), 1, 0},
    {"stablehlo.recv", recv, 1, kAny, 0},
};

}  // namespace

absl::Span<const Handler> effect_handlers() { return kHandlers; }

}  // namespace braze::stablehlo
