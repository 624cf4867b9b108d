// SPDX-License-Identifier: Apache-2.0
// Rows of the ops that reach outside the program: custom-call, infeed, outfeed, send, recv and their
// -done halves.
//
// Interface: effect_rows(). Shapes follow HLO: infeed gives (data, token), send (data, u32[], token),
// recv the same, recv-done (data, token); outfeed and send-done give a token. What happens outside goes
// through World.
#include <utility>

#include "ops/custom_call.h"
#include "ops/dim_rules.h"
#include "ops/op_def.h"
#include "ops/sampling.h"

namespace braze {
namespace {

Shape channel_state(const Shape& data) {
  return Shape::tuple_of({data, Shape::scalar(Dtype::kU32), Shape::token()});
}

Status check_token(const InferContext& ctx, size_t i) {
  if (ctx.operand(i).is_token()) return absl::OkStatus();
  return invalid(name(ctx.op), ": operand ", i, " must be a token, got ",
                 to_string(ctx.operand(i), false));
}

// Arrays, or tuples of them.
bool holds_arrays_only(const Shape& s) {
  if (!s.is_tuple()) return s.is_array();
  for (const Shape& part : s.tuple)
    if (!holds_arrays_only(part)) return false;
  return true;
}

// The shape of what arrives: all of the result but its token.
Shape arriving_data(const Shape& result) {
  std::vector<Shape> parts(result.tuple.begin(), result.tuple.end() - 1);
  return one_or_tuple(std::move(parts));
}

// The data parts followed by a token, as `result` nests them.
Literal with_token(const Shape& result, const Literal& data) {
  std::vector<Literal> parts;
  if (result.tuple.size() == 2) parts.push_back(data);
  else parts = data.parts();
  parts.push_back(Literal(Shape::token()));
  return Literal::tuple(std::move(parts));
}

Status check_arrival(const EvalContext& ctx, const Shape& want, const Literal& got) {
  if (shapes_agree(want, got.shape())) return absl::OkStatus();
  return invalid(name(ctx.instr.op), " '", ctx.instr.name, "': expected ", to_string(want, false),
                 ", the feed holds ", to_string(got.shape(), false));
}

Result<Shape> infer_custom_call(const InferContext& ctx) {
  TRY(check_form<CustomCallAttrs>(ctx, -1, -1));
  const auto& a = ctx.as<CustomCallAttrs>();
  if (a.target.empty()) return invalid("stablehlo.custom_call: call_target_name is empty");
  if (!ctx.proposed)
    return invalid("stablehlo.custom_call '", a.target, "': its result shape must be given");
  TRY(check_custom_call(a, ctx.operands, *ctx.proposed, ctx.calls));
  return *ctx.proposed;
}

Result<Literal> eval_custom_call_row(const EvalContext& ctx) { return eval_custom_call(ctx); }

Result<Shape> infer_infeed(const InferContext& ctx) {
  TRY(check_form<ChannelAttrs>(ctx, 1, 0));
  TRY(check_token(ctx, 0));
  if (!ctx.proposed) return invalid("stablehlo.infeed: its result shape must be given");
  const Shape& out = *ctx.proposed;
  if (!out.is_tuple() || out.tuple.empty())
    return invalid("stablehlo.infeed (C1): 0 < size(results), got ", to_string(out, false));
  for (size_t i = 0; i + 1 < out.tuple.size(); ++i)
    if (!holds_arrays_only(out.tuple[i]))
      return invalid("stablehlo.infeed (C2): results but the last must be tensors, got ",
                     to_string(out, false));
  if (!out.tuple.back().is_token())
    return invalid("stablehlo.infeed (C3): the last result must be a token, got ",
                   to_string(out, false));
  return out;
}

Result<Literal> eval_infeed(const EvalContext& ctx) {
  const Shape& out = ctx.instr.shape;
  if (out.tuple.size() == 1) return Literal::tuple({Literal(Shape::token())});
  if (!ctx.world) return unimplemented("infeed '", ctx.instr.name, "': no feed is connected");
  const Shape data = arriving_data(out);
  ASSIGN(const Literal got, ctx.world->infeed(ctx.instr, data));
  TRY(check_arrival(ctx, data, got));
  return with_token(out, got);
}

Result<Shape> infer_outfeed(const InferContext& ctx) {
  TRY(check_form<ChannelAttrs>(ctx, -1, 0));
  if (ctx.operands.empty()) return invalid("stablehlo.outfeed: takes data and a token, got nothing");
  TRY(check_token(ctx, ctx.operands.size() - 1));
  for (size_t i = 0; i + 1 < ctx.operands.size(); ++i)
    if (!holds_arrays_only(ctx.operand(i)))
      return invalid("stablehlo.outfeed: inputs must be tensors, got ",
                     to_string(ctx.operand(i), false));
  return Shape::token();
}

Result<Literal> eval_outfeed(const EvalContext& ctx) {
  std::vector<Literal> data(ctx.operands.begin(), ctx.operands.end() - 1);
  const Literal value = one_or_tuple(std::move(data));
  if (!ctx.world) return unimplemented("outfeed '", ctx.instr.name, "': no feed is connected");
  TRY(ctx.world->outfeed(ctx.instr, value));
  return Literal(Shape::token());
}

Result<Shape> infer_send(const InferContext& ctx) {
  TRY(check_form<ChannelAttrs>(ctx, 2, 0));
  TRY(check_token(ctx, 1));
  if (!holds_arrays_only(ctx.operand(0)))
    return invalid("stablehlo.send: inputs must be tensors, got ", to_string(ctx.operand(0), false));
  return channel_state(ctx.operand(0));
}

Result<Literal> eval_send(const EvalContext& ctx) {
  if (!ctx.world) return unimplemented("send '", ctx.instr.name, "': no channel is connected");
  TRY(ctx.world->send(ctx.instr, ctx.operand(0)));
  return Literal::tuple(
      {ctx.operand(0), Literal(Shape::scalar(Dtype::kU32)), Literal(Shape::token())});
}

// The operand of a -done op is the state its partner made.
Status check_channel_state(const InferContext& ctx) {
  TRY(check_form<ChannelAttrs>(ctx, 1, 0));
  const Shape& s = ctx.operand(0);
  if (s.is_tuple() && s.tuple.size() == 3 && s.tuple[1] == Shape::scalar(Dtype::kU32) &&
      s.tuple[2].is_token())
    return absl::OkStatus();
  return invalid(name(ctx.op), ": operand must be (data, u32[], token[]), got ", to_string(s, false));
}

Result<Shape> infer_send_done(const InferContext& ctx) {
  TRY(check_channel_state(ctx));
  return Shape::token();
}

Result<Literal> eval_send_done(const EvalContext&) { return Literal(Shape::token()); }

Result<Shape> infer_recv(const InferContext& ctx) {
  TRY(check_form<ChannelAttrs>(ctx, 1, 0));
  TRY(check_token(ctx, 0));
  if (!ctx.proposed) return invalid("stablehlo.recv: its result shape must be given");
  const Shape& out = *ctx.proposed;
  const bool legal = out.is_tuple() && out.tuple.size() == 3 && holds_arrays_only(out.tuple[0]) &&
                     out.tuple[1] == Shape::scalar(Dtype::kU32) && out.tuple[2].is_token();
  if (!legal)
    return invalid("stablehlo.recv: result must be (data, u32[], token[]), got ",
                   to_string(out, false));
  return out;
}

Result<Literal> eval_recv(const EvalContext& ctx) {
  if (!ctx.world) return unimplemented("recv '", ctx.instr.name, "': no channel is connected");
  const Shape& data = ctx.instr.shape.tuple[0];
  ASSIGN(Literal got, ctx.world->recv(ctx.instr, data));
  TRY(check_arrival(ctx, data, got));
  return Literal::tuple(
      {std::move(got), Literal(Shape::scalar(Dtype::kU32)), Literal(Shape::token())});
}

Result<Shape> infer_recv_done(const InferContext& ctx) {
  TRY(check_channel_state(ctx));
  return Shape::tuple_of({ctx.operand(0).tuple[0], Shape::token()});
}

Result<Literal> eval_recv_done(const EvalContext& ctx) {
  return Literal::tuple({ctx.operand(0).parts()[0], Literal(Shape::token())});
}

std::unique_ptr<Module> sample_custom_call(std::mt19937_64& rng) {
  Sampler s(rng, "custom_call");
  const Shape shape = Shape::array(s.number(), s.dims(0, 3, 4));
  CustomCallAttrs a;
  a.target = "Sharding";
  s.root_shaped(Op::kCustomCall, shape, {s.parameter(shape)}, a);
  return s.finish();
}

std::unique_ptr<Module> sample_infeed(std::mt19937_64& rng) {
  Sampler s(rng, "infeed");
  const Shape data = Shape::array(s.number(), s.dims(0, 3, 4));
  s.root_shaped(Op::kInfeed, Shape::tuple_of({data, Shape::token()}), {s.parameter(Shape::token())},
                ChannelAttrs{});
  return s.finish();
}

std::unique_ptr<Module> sample_outfeed(std::mt19937_64& rng) {
  Sampler s(rng, "outfeed");
  Instr* data = s.parameter(Shape::array(s.number(), s.dims(0, 3, 4)));
  s.root(Op::kOutfeed, {data, s.parameter(Shape::token())}, ChannelAttrs{});
  return s.finish();
}

std::unique_ptr<Module> sample_send(std::mt19937_64& rng) {
  Sampler s(rng, "send");
  Instr* data = s.parameter(Shape::array(s.number(), s.dims(0, 3, 4)));
  s.root(Op::kSend, {data, s.parameter(Shape::token())}, ChannelAttrs{.channel_id = 1});
  return s.finish();
}

std::unique_ptr<Module> sample_recv(std::mt19937_64& rng) {
  Sampler s(rng, "recv");
  const Shape data = Shape::array(s.number(), s.dims(0, 3, 4));
  s.root_shaped(Op::kRecv, channel_state(data), {s.parameter(Shape::token())},
                ChannelAttrs{.channel_id = 1});
  return s.finish();
}

std::unique_ptr<Module> sample_done(std::mt19937_64& rng, Op op) {
  Sampler s(rng, "done");
  Instr* state = s.parameter(channel_state(Shape::array(s.number(), s.dims(0, 3, 4))));
  s.root(op, {state}, ChannelAttrs{.channel_id = 1});
  return s.finish();
}

std::unique_ptr<Module> sample_send_done(std::mt19937_64& rng) {
  return sample_done(rng, Op::kSendDone);
}
std::unique_ptr<Module> sample_recv_done(std::mt19937_64& rng) {
  return sample_done(rng, Op::kRecvDone);
}

constexpr int kChannel = attrs_index<ChannelAttrs>();

}  // namespace

absl::Span<const OpDef> effect_rows() {
  static const OpDef rows[] = {
      {.op = Op::kCustomCall,
       .stablehlo = "custom_call",
       .arity = -1,
       .traits = kCalls,
       .attrs = attrs_index<CustomCallAttrs>(),
       .infer = infer_custom_call,
       .eval = eval_custom_call_row,
       .step = Step::kLibrary,
       .cost = 30,
       .sample = sample_custom_call,
       .doc = "Calls a function registered under a name (ops/custom_call.h)."},
      {.op = Op::kInfeed,
       .stablehlo = "infeed",
       .arity = 1,
       .traits = kEffect,
       .attrs = kChannel,
       .infer = infer_infeed,
       .eval = eval_infeed,
       .step = Step::kLibrary,
       .sample = sample_infeed,
       .doc = "Takes the next value from the infeed: (data, token)."},
      {.op = Op::kOutfeed,
       .stablehlo = "outfeed",
       .arity = -1,
       .traits = kEffect,
       .attrs = kChannel,
       .infer = infer_outfeed,
       .eval = eval_outfeed,
       .step = Step::kLibrary,
       .sample = sample_outfeed,
       .doc = "Hands data to the outfeed, after the token."},
      {.op = Op::kSend,
       .stablehlo = "send",
       .arity = 2,
       .traits = kEffect,
       .attrs = kChannel,
       .infer = infer_send,
       .eval = eval_send,
       .step = Step::kLibrary,
       .sample = sample_send,
       .doc = "Starts sending data on a channel: (data, u32[], token)."},
      {.op = Op::kSendDone,
       .arity = 1,
       .traits = kEffect,
       .attrs = kChannel,
       .infer = infer_send_done,
       .eval = eval_send_done,
       .step = Step::kLibrary,
       .sample = sample_send_done,
       .doc = "Waits for a send."},
      {.op = Op::kRecv,
       .stablehlo = "recv",
       .arity = 1,
       .traits = kEffect,
       .attrs = kChannel,
       .infer = infer_recv,
       .eval = eval_recv,
       .step = Step::kLibrary,
       .sample = sample_recv,
       .doc = "Starts receiving from a channel: (data, u32[], token)."},
      {.op = Op::kRecvDone,
       .arity = 1,
       .traits = kEffect,
       .attrs = kChannel,
       .infer = infer_recv_done,
       .eval = eval_recv_done,
       .step = Step::kLibrary,
       .sample = sample_recv_done,
       .doc = "Waits for a recv: (data, token)."},
  };
  return rows;
}

}  // namespace braze
