// SPDX-License-Identifier: Apache-2.0
// What the HLO text parser accepts, piece by piece.
#include "text/parse.h"

#include <gtest/gtest.h>

#include <cmath>

#include "text/print.h"

namespace braze {
namespace {

std::unique_ptr<Module> parse(std::string_view text, bool fill = false) {
  ParseOptions options;
  options.fill_elided = fill;
  options.check = false;
  Result<std::unique_ptr<Module>> m = parse_hlo(text, options);
  EXPECT_TRUE(m.ok()) << m.status();
  return m.ok() ? std::move(*m) : nullptr;
}

// The root of `ENTRY e { … }` with the given body.
const Instr* root_of(std::unique_ptr<Module>* keep, std::string_view body,
                     std::string_view before = "") {
  *keep = parse(str_cat("HloModule m\n", before, "\nENTRY e {\n", body, "\n}\n"));
  return *keep ? (*keep)->entry()->root() : nullptr;
}

// Parses and prints the entry's root in short form.
std::string echo(std::string_view body, std::string_view before = "") {
  std::unique_ptr<Module> m;
  const Instr* r = root_of(&m, body, before);
  return r ? print_instr(*r) : "";
}

TEST(ParseShape, Forms) {
  EXPECT_EQ(to_string(*parse_shape("f32[]")), "f32[]");
  EXPECT_EQ(to_string(*parse_shape("f32[2,3]{0,1}")), "f32[2,3]{0,1}");
  EXPECT_EQ(to_string(*parse_shape("bf16[2,3]{1,0:T(8,128)(2,1)S(3)}")), "bf16[2,3]{1,0}");
  EXPECT_EQ(to_string(*parse_shape("f32[]{:T(256)}")), "f32[]");
  EXPECT_EQ(to_string(*parse_shape("(f32[<=4], /*index=1*/ (s32[?], token[]))"), false),
            "(f32[<=4], (s32[?], token[]))");
  EXPECT_TRUE(parse_shape("f32[<=4]")->is_dynamic(0));
  EXPECT_EQ(to_string(*parse_shape("()")), "()");
  EXPECT_EQ(parse_shape("f32[2]{0}")->layout.size(), 0u);
}

TEST(ParseShape, Limits) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += '(';
  EXPECT_FALSE(parse_shape(deep).ok());
  EXPECT_FALSE(parse_shape("f32[9000000000000,9000000000000]").ok());
  EXPECT_FALSE(parse_shape("f32[0,9000000000000,9000000000000]").ok());
  EXPECT_FALSE(parse_shape("f32[2]{1}").ok());
  EXPECT_FALSE(parse_shape("f32[2,2]{0,0}").ok());
  EXPECT_FALSE(parse_shape("f32[-1]").ok());
  EXPECT_FALSE(parse_shape("f32[99999999999999999999]").ok());
}

TEST(ParseLiteral, EveryClass) {
  auto lit = [](std::string_view t, std::string_view shape) {
    return *parse_literal(t, *parse_shape(shape));
  };
  EXPECT_EQ(lit("-7", "s8[]").get_int(0), -7);
  EXPECT_EQ(lit("18446744073709551615", "u64[]").get_int(0), -1);
  EXPECT_EQ(lit("-9223372036854775808", "s64[]").get_int(0), std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(lit("{true, 0, 1}", "pred[3]").get_bool(2));
  EXPECT_TRUE(std::isnan(lit("nan", "f32[]").get_float(0)));
  EXPECT_TRUE(std::signbit(lit("-nan", "f32[]").get_float(0)));
  EXPECT_TRUE(std::isnan(lit("nan(0x7)", "f32[]").get_float(0)));
  EXPECT_EQ(lit("-inf", "bf16[]").get_float(0), -INFINITY);
  EXPECT_EQ(lit("{ { 1, 2 }, /*i0=1*/ { 3, 4.5e0 } }", "f32[2,2]").get_float(3), 4.5);
  EXPECT_EQ(lit("(1, -2)", "c64[]").get_complex(0), std::complex<double>(1, -2));
  EXPECT_EQ(lit("{}", "f32[0]").elements(), 0);
  EXPECT_EQ(lit("{ {}, {} }", "f32[2,0]").elements(), 0);
  EXPECT_EQ(lit("(1, {2, 3})", "(s32[], f32[2])").parts()[1].get_float(1), 3);
  EXPECT_EQ(lit("( s32[] 1, f32[2]{0} {2, 3} )", "(s32[], f32[2])").parts()[0].get_int(0), 1);
  EXPECT_FALSE(parse_literal("128", *parse_shape("s8[]")).ok());
  EXPECT_FALSE(parse_literal("-1", *parse_shape("u8[]")).ok());
  EXPECT_FALSE(parse_literal("8", *parse_shape("s4[]")).ok());
  EXPECT_FALSE(parse_literal("{1}", *parse_shape("f32[1000000000]")).ok());
  EXPECT_FALSE(parse_literal("{1, 2}", *parse_shape("f32[3]")).ok());
}

TEST(ParseLiteral, ElidedNeedsPermission) {
  const char* text = "HloModule m\nENTRY e { ROOT c = f32[2,3]{1,0} constant({...}) }";
  EXPECT_FALSE(parse_hlo(text).ok());
  std::unique_ptr<Module> m = parse(text, true);
  EXPECT_EQ(m->entry()->root()->literal(), elided_pattern(Shape::array(Dtype::kF32, {2, 3})));
}

// Each line is reprinted as it is.
TEST(Parse, AttributesOfEachField) {
  const char* two = "a = f32[8,8]{1,0} parameter(0)\nb = f32[8,8]{1,0} parameter(1)\n";
  const char* add =
      "add_f {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT s = f32[] add(x, y)\n}\n";
  const char* lines[] = {
      "ROOT r = f32[8,8]{1,0} broadcast(a), dimensions={0,1}",
      "ROOT r = f32[4,8]{1,0} slice(a), slice={[0:4], [0:8:2]}",
      "ROOT r = f32[9,12]{1,0} pad(a, b), padding=0_1x2_2",
      "ROOT r = f32[9,12]{1,0} pad(a, b), padding=-1_1_1x2_2_0",
      "ROOT r = pred[8,8]{1,0} compare(a, b), direction=LE, type=TOTALORDER",
      "ROOT r = f32[8,8]{1,0} dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
      "operand_precision={highest,default}, algorithm=dot_bf16_bf16_f32_x3",
      "ROOT r = f32[8,8]{1,0} convolution(a, b), window={size=3x3 stride=2x1 pad=-1_1x0_0 "
      "lhs_dilate=1x2 rhs_dilate=3x1 "
      "rhs_reversal=0x1}, dim_labels=b?f01_01io->bf01, feature_group_count=2, batch_group_count=3",
      "ROOT r = f32[8,8]{1,0} reduce-window(a, b), window={size=1x2}, to_apply=add_f",
      "ROOT r = f32[8,8]{1,0} select-and-scatter(a, b), window={}, select=add_f, scatter=add_f",
      "ROOT r = f32[8,8]{1,0} reduce-precision(a), exponent_bits=5, mantissa_bits=10",
      "ROOT r = f32[8,8]{1,0} triangular-solve(a, b), left_side=false, lower=true, "
      "unit_diagonal=true, transpose_a=ADJOINT",
      "ROOT r = f32[8,8]{1,0} batch-norm-inference(a, b), epsilon=0.001, feature_index=1",
      "ROOT r = f32[8,8]{1,0} all-reduce(a), replica_groups={{0,1},{2,3}}, channel_id=4, "
      "use_global_device_ids=true, to_apply=add_f",
      "ROOT r = f32[8,8]{1,0} all-gather(a), replica_groups={}, dimensions={1}",
      "ROOT r = f32[8,8]{1,0} all-to-all(a), replica_groups={{0,1}}, dimensions={1}",
      "ROOT r = (f32[8,8]{1,0}, f32[8,8]{1,0}) all-to-all(a, b), replica_groups={{0,1}}",
      "ROOT r = f32[8,8]{1,0} collective-permute(a), source_target_pairs={{0,1},{1,0}}",
      "ROOT r = (f32[8,8]{0,1}, s32[]) custom-call(a, b), custom_call_target=\"f\", "
      "operand_layout_constraints="
      "{f32[8,8]{0,1}, f32[8,8]{1,0}}, custom_call_has_side_effect=true, "
      "output_to_operand_aliasing={{0}: (0, {})}, "
      "api_version=API_VERSION_TYPED_FFI, called_computations={add_f}, backend_config={u = 76 : "
      "ui8}",
      "ROOT r = f32[8,8]{1,0} fusion(a, b), kind=kCustom, calls=add_f",
      "ROOT r = f32[8,8]{1,0} call(a), to_apply=add_f, is_composite=true, "
      "frontend_attributes={n=\"g\",o={eps = 1 : f64}}",
      "ROOT r = f32[8,8]{1,0} copy(a), sharding={devices=[2,1]<=[2]}, control-predecessors={b}, "
      "metadata={op_type=\"t\" op_name=\"a\\\"b\" source_file=\"f.py\" source_line=3}, "
      "backend_config={\"x\":[\"}\"]}",
      "ROOT r = f32[8,8]{1,0} gather(a, b), offset_dims={0}, collapsed_slice_dims={1}, "
      "start_index_map={1}, "
      "operand_batching_dims={2}, start_indices_batching_dims={3}, index_vector_dim=1, "
      "slice_sizes={1,1}, indices_are_sorted=true",
      "ROOT r = u32[] rng-get-and-update-state(), delta=3",
      "ROOT r = (s32[], token[]) infeed(a), infeed_config=\"x\\\"\"",
      "ROOT r = u8[8,8]{1,0} copy(a), quantization={(f32,-1,0,255,{0.5},{3})}",
      "ROOT r = (u8[2]{0}, token[], s8[]) custom-call(a), custom_call_target=\"q\", "
      "quantization={(f32,0,0,255,{0.5,0.25},{3,4}), none}",
  };
  for (const char* line : lines) EXPECT_EQ(echo(str_cat(two, line), add), line);
}

TEST(Parse, IotaReplicaGroups) {
  EXPECT_NE(echo("a = f32[] parameter(0)\nROOT r = f32[2]{0} all-gather(a), "
                 "replica_groups=[2,2]<=[2,2]T(1,0), dimensions={0}")
                .find("replica_groups={{0,2},{1,3}}"),
            std::string::npos);
}

TEST(Parse, MeshReplicaGroups) {
  auto groups = [](const char* g) {
    std::string out =
        echo(str_cat("a = f32[] parameter(0)\nROOT r = f32[2]{0} all-gather(a), replica_groups=", g,
                     ", dimensions={0}"));
    out = out.substr(out.find("groups=") + 7);
    return out.substr(0, out.find(", dim"));
  };
  EXPECT_EQ(groups("mesh['x'=2,'y'=2] {'y'}"), "{{0,1},{2,3}}");
  EXPECT_EQ(groups("mesh['x'=2,'y'=2] {'x'}"), "{{0,2},{1,3}}");
  EXPECT_EQ(groups("mesh['x'=2,'y'=2] {'y','x'}"), "{{0,2,1,3}}");
  EXPECT_EQ(groups("mesh['x'=8] {'x':(2)2}"), "{{0,2},{1,3},{4,6},{5,7}}");
}

TEST(Parse, ControlFlowNamesItsCallees) {
  const char* text = R"(HloModule m
%c (p: s32[]) -> pred[] { %p = s32[] parameter(0)
  ROOT %t = pred[] constant(true) }
%b (q: s32[]) -> s32[] { ROOT %q = s32[] parameter(0) }
ENTRY %e (x: s32[]) -> s32[] {
  %x = s32[] parameter(0)
  %w = s32[] while(s32[] %x), condition=%c, body=%b
  %k = pred[] constant(false)
  %i = s32[] conditional(pred[] %k, s32[] %w, s32[] %x), true_computation=%b, false_computation=%b
  ROOT %j = s32[] conditional(s32[] %x, s32[] %i), branch_computations={%b}
})";
  std::unique_ptr<Module> m = parse(text);
  ASSERT_TRUE(m);
  std::string out = print_hlo(*m, PrintOptions::long_form());
  for (const char* piece : {"condition=%c, body=%b", "true_computation=%b, false_computation=%b",
                            "branch_computations={%b}"})
    EXPECT_NE(out.find(piece), std::string::npos) << out;
}

TEST(Parse, CalleesMayFollowTheirCallers) {
  std::unique_ptr<Module> m = parse(
      "HloModule m\nENTRY e { a = f32[] parameter(0)\n ROOT r = f32[] call(a), to_apply=f }\n"
      "f { ROOT p = f32[] parameter(0) }");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->entry()->root()->calls[0]->name(), "f");
  // Printing puts callees first.
  EXPECT_LT(print_hlo(*m).find("f {"), print_hlo(*m).find("ENTRY"));
}

TEST(Parse, AsyncPairsBecomeTheOp) {
  std::unique_ptr<Module> m;
  const Instr* r = root_of(
      &m,
      "a = f32[4]{0} parameter(0)\n"
      "s = (f32[4]{0}, f32[8]{0}) all-gather-start(a), replica_groups={{0,1}}, dimensions={0}\n"
      "ROOT d = f32[8]{0} all-gather-done(s)");
  ASSERT_TRUE(r);
  EXPECT_EQ(print_instr(*r),
            "ROOT s = f32[8]{0} all-gather(a), replica_groups={{0,1}}, dimensions={0}");
  r = root_of(&m,
              "a = f32[4]{0} parameter(0)\nc = (f32[4]{0}, f32[4]{0}, u32[]) copy-start(a)\n"
              "ROOT d = f32[4]{0} copy-done(c)");
  EXPECT_EQ(print_instr(*r), "ROOT c = f32[4]{0} copy(a)");
  r = root_of(
      &m,
      "a = f32[4]{0} parameter(0)\n"
      "s = ((f32[4]{0}), f32[4]{0}, s32[]) async-start(a), calls=f\n"
      "u = ((f32[4]{0}), f32[4]{0}, s32[]) async-update(s)\nROOT d = f32[4]{0} async-done(u)",
      "f { ROOT p = f32[4]{0} parameter(0) }");
  EXPECT_EQ(print_instr(*r), "ROOT s = f32[4]{0} call(a), to_apply=f");
  r = root_of(&m,
              "a = f32[4]{0} parameter(0)\ns = f32[4]{0} all-reduce-start(a), replica_groups={}, "
              "to_apply=f\n"
              "ROOT d = f32[4]{0} all-reduce-done(s)",
              "f { ROOT p = f32[4]{0} parameter(0) }");
  EXPECT_EQ(r->op, Op::kAllReduce);
}

TEST(Parse, HeaderAndTables) {
  const char* text =
      R"hlo(HloModule jit_f, is_scheduled=true, input_output_alias={ {0}: (1, {}, may-alias), {1}: (0, {}, must-alias) }, buffer_donor={ (1, {}) }, entry_computation_layout={(f32[2,2]{0,1}, /*index=1*/f32[2]{0:T(128)})->(f32[2]{0}, f32[2,2]{1,0})}, allow_spmd_sharding_propagation_to_output={true,false}, replica_count=2, num_partitions=4, frontend_attributes={a="b",c={x = 1}}

FileNames
1 "a.py"
2 "b.py"

FunctionNames
1 "main"

FileLocations
1 {file_name_id=2 function_name_id=1 line=7 end_line=7 column=3 end_column=9}

StackFrames
1 {file_location_id=1 parent_frame_id=1}

ENTRY %main.1 (p: f32[2,2], q: f32[2]) -> (f32[2], f32[2,2]) {
  %p = f32[2,2]{0,1} parameter(0), parameter_replication={false}
  %q = f32[2]{0} parameter(1), origin={{"q"}}
  ROOT %t = (f32[2]{0}, /*index=1*/f32[2,2]{0,1}) tuple(f32[2]{0} %q, /*index=1*/f32[2,2]{0,1} %p), metadata={op_name="jit(f)" stack_frame_id=1 scheduling_name="t" profile_type={1}}
}, execution_thread="main"
)hlo";
  std::unique_ptr<Module> m = parse(text);
  ASSERT_TRUE(m);
  EXPECT_TRUE(m->is_scheduled);
  EXPECT_EQ(m->num_replicas, 2);
  EXPECT_EQ(m->num_partitions, 4);
  ASSERT_EQ(m->aliases.size(), 2u);
  EXPECT_EQ(m->aliases[1], (InputOutputAlias{{1}, 0, {}, true}));
  EXPECT_EQ(m->buffer_donors, std::vector<int64_t>{1});
  EXPECT_EQ(m->frontend_attributes["c"], "{x = 1}");
  ASSERT_EQ(m->entry_parameter_layouts.size(), 2u);
  EXPECT_EQ(m->entry_parameter_layouts[0].layout, (Dims{0, 1}));
  EXPECT_TRUE(m->entry_result_layouts.empty());
  EXPECT_EQ(m->entry()->root()->location(), "b.py:7");
  EXPECT_EQ(m->entry()->params()[1]->extras->other.at("origin"), "{{\"q\"}}");
  std::string once = print_hlo(*m, PrintOptions::long_form());
  std::unique_ptr<Module> again = parse(once);
  EXPECT_EQ(print_hlo(*again, PrintOptions::long_form()), once);
  EXPECT_NE(
      once.find(
          "entry_computation_layout={(f32[2,2]{0,1}, f32[2]{0})->(f32[2]{0}, f32[2,2]{1,0})}"),
      std::string::npos);
}

TEST(Parse, WithoutHeaderOrEntry) {
  std::unique_ptr<Module> m = parse(
      "f { ROOT a = f32[] parameter(0) } // the last one is the entry\ng { ROOT b = f32[] "
      "parameter(0) }");
  ASSERT_TRUE(m);
  EXPECT_EQ(m->computations().size(), 2u);
}

TEST(Print, DeadCodeAndOrderOfAppending) {
  std::unique_ptr<Module> m = parse(
      "HloModule m\nENTRY e { a = f32[] parameter(0)\n dead = f32[] negate(a)\n ROOT r = f32[] "
      "add(a, a) }");
  Computation* e = m->entry();
  // A pass appends an instruction that an earlier one then uses.
  Instr* late =
      e->add(Op::kExp, Shape::scalar(Dtype::kF32), {e->params()[0]}, NoAttrs{}, {}, "late");
  e->set_operand(e->root(), 1, late);
  std::string text = print_hlo(*m);
  EXPECT_LT(text.find("late ="), text.find("r ="));
  EXPECT_NE(text.find("dead ="), std::string::npos);
  EXPECT_EQ(print_hlo(*parse(text)), text);
  EXPECT_EQ(print_hlo(*m, PrintOptions::canonical()).find("negate"), std::string::npos);
}

TEST(Print, ConstantsMayBeElidedOrDigested) {
  Shape s = Shape::array(Dtype::kF32, {100});
  Module m("m");
  Computation* e = m.add_computation("e");
  m.set_entry(e);
  e->set_root(e->add(Op::kConstant, s, {}, ConstantAttrs{elided_pattern(s)}));
  PrintOptions elide;
  elide.max_constant = 8;
  EXPECT_NE(print_hlo(m, elide).find("constant({...})"), std::string::npos);
  EXPECT_NE(print_hlo(m, PrintOptions::for_hash()).find("constant(hash:"), std::string::npos);
  EXPECT_EQ(parse(print_hlo(m))->entry()->root()->literal(), e->root()->literal());
}

}  // namespace
}  // namespace braze
