// SPDX-License-Identifier: Apache-2.0
// MLIR text: each short form against its generic form, the canonical attributes, the errors.
#include <gtest/gtest.h>

#include "frontend/mlir_build.h"
#include "frontend/mlir_read.h"
#include "test/frontend/mlir_compare.h"

namespace braze::mlir {
namespace {

Module read(std::string_view text) {
  auto m = read_mlir_text(text);
  EXPECT_TRUE(m.ok()) << text << "\n" << m.status().message();
  return m.ok() ? *std::move(m) : *read_mlir_text("");
}

std::string error(std::string_view text) {
  auto m = read_mlir_text(text, "t.mlir");
  EXPECT_FALSE(m.ok()) << text;
  return std::string(m.status().message());
}

struct Pair {
  const char* name;
  const char* args;     // of the function
  const char* compact;  // ops in short form
  const char* generic;  // the same
};

class MlirForms : public testing::TestWithParam<Pair> {};

TEST_P(MlirForms, CompactIsGeneric) {
  const Pair& p = GetParam();
  auto wrap = [&](const char* body) {
    return str_cat("func.func @f(", p.args, ") {\n", body, "\nreturn\n}\n");
  };
  std::string a = wrap(p.compact), b = wrap(p.generic);
  Module m = read(a), n = read(b);
  EXPECT_EQ(Compare(m, n, true).run(), "") << print_mlir(m) << print_mlir(n);
  std::string again = print_mlir(m);
  Module r = read(again);
  EXPECT_EQ(Compare(m, r, true).run(), "");
}

const Pair kPairs[] = {
    {"unary", "%a: tensor<2xf32>", "%0 = stablehlo.abs %a : tensor<2xf32>",
     R"(%0 = "stablehlo.abs"(%a) : (tensor<2xf32>) -> tensor<2xf32>)"},
    {"unary_function_type", "%a: tensor<2xcomplex<f32>>",
     "%0 = stablehlo.abs %a : (tensor<2xcomplex<f32>>) -> tensor<2xf32>",
     R"(%0 = "stablehlo.abs"(%a) : (tensor<2xcomplex<f32>>) -> tensor<2xf32>)"},
    {"accuracy", "%a: tensor<2xf32>",
     "%0 = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<ulps = 3, mode = "
     "#stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2xf32>",
     R"(%0 = "stablehlo.exponential"(%a) <{result_accuracy = #stablehlo.result_accuracy<atol = 0.0,
        rtol = 0.0, ulps = 3, mode = #stablehlo<result_accuracy_mode TOLERANCE>>}>
        : (tensor<2xf32>) -> tensor<2xf32>)"},
    {"accuracy_default", "%a: tensor<2xf32>",
     "%0 = stablehlo.tanh %a {result_accuracy = #stablehlo.result_accuracy<mode = "
     "#stablehlo.result_accuracy_mode<DEFAULT>>} : tensor<2xf32>",
     R"(%0 = "stablehlo.tanh"(%a) : (tensor<2xf32>) -> tensor<2xf32>)"},
    {"binary", "%a: tensor<?x2xi32>, %b: tensor<?x2xi32>",
     "%0 = stablehlo.add %a, %b {x.y = 1 : i32} : tensor<?x2xi32>",
     R"(%0 = "stablehlo.add"(%a, %b) {x.y = 1 : i32} : (tensor<?x2xi32>, tensor<?x2xi32>)
        -> tensor<?x2xi32>)"},
    {"compare", "%a: tensor<f32>, %b: tensor<f32>",
     "%0 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>",
     R"(%0 = "stablehlo.compare"(%a, %b) {compare_type = #stablehlo<comparison_type FLOAT>,
        comparison_direction = #stablehlo<comparison_direction GT>}
        : (tensor<f32>, tensor<f32>) -> tensor<i1>)"},
    {"compare_no_type", "%a: tensor<f32>, %b: tensor<f32>",
     "%0 = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>",
     R"(%0 = "stablehlo.compare"(%a, %b) {compare_type = #stablehlo<comparison_type NOTYPE>,
        comparison_direction = #stablehlo<comparison_direction EQ>}
        : (tensor<f32>, tensor<f32>) -> tensor<i1>)"},
    {"select", "%p: tensor<i1>, %a: tensor<2xf32>",
     "%0 = stablehlo.select %p, %a, %a : tensor<i1>, tensor<2xf32>",
     R"(%0 = "stablehlo.select"(%p, %a, %a) : (tensor<i1>, tensor<2xf32>, tensor<2xf32>)
        -> tensor<2xf32>)"},
    {"complex", "%a: tensor<2xf64>", "%0 = stablehlo.complex %a, %a : tensor<2xcomplex<f64>>",
     R"(%0 = "stablehlo.complex"(%a, %a) : (tensor<2xf64>, tensor<2xf64>)
        -> tensor<2xcomplex<f64>>)"},
    {"iota", "", "%0 = stablehlo.iota dim = 1 : tensor<2x3xi32>",
     R"(%0 = "stablehlo.iota"() {iota_dimension = 1 : i64} : () -> tensor<2x3xi32>)"},
    {"constant", "", "%0 = stablehlo.constant {a} dense<[1, -2]> : tensor<2xi8>",
     R"(%0 = "stablehlo.constant"() {a, value = dense<"0x01FE"> : tensor<2xi8>}
        : () -> tensor<2xi8>)"},
    {"constant_generic_tail", "",
     "%0 = stablehlo.constant() <{value = dense<1> : tensor<2xi8>}> : () -> tensor<2xi8>",
     R"(%0 = "stablehlo.constant"() {value = dense<[1, 1]> : tensor<2xi8>} : () -> tensor<2xi8>)"},
    {"broadcast_in_dim", "%a: tensor<3xf32>",
     "%0 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>",
     R"(%0 = "stablehlo.broadcast_in_dim"(%a) {broadcast_dimensions = dense<1> : tensor<1xi64>}
        : (tensor<3xf32>) -> tensor<2x3xf32>)"},
    {"slice", "%a: tensor<8x4xf32>",
     "%0 = stablehlo.slice %a [1:7:2, 0:4] : (tensor<8x4xf32>) -> tensor<3x4xf32>",
     R"(%0 = "stablehlo.slice"(%a) {start_indices = array<i64: 1, 0>,
        limit_indices = dense<[7, 4]> : tensor<2xi64>, strides = array<i64: 2, 1>}
        : (tensor<8x4xf32>) -> tensor<3x4xf32>)"},
    {"dynamic_slice", "%a: tensor<8xf32>, %i: tensor<i32>",
     "%0 = stablehlo.dynamic_slice %a, %i, sizes = [2] : (tensor<8xf32>, tensor<i32>) -> "
     "tensor<2xf32>",
     R"(%0 = "stablehlo.dynamic_slice"(%a, %i) {slice_sizes = array<i64: 2>}
        : (tensor<8xf32>, tensor<i32>) -> tensor<2xf32>)"},
    {"pad", "%a: tensor<2xf32>, %z: tensor<f32>",
     "%0 = stablehlo.pad %a, %z, low = [1], high = [-1], interior = [2] : (tensor<2xf32>, "
     "tensor<f32>) -> tensor<4xf32>",
     R"(%0 = "stablehlo.pad"(%a, %z) {edge_padding_low = array<i64: 1>,
        edge_padding_high = array<i64: -1>, interior_padding = array<i64: 2>}
        : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>)"},
    {"concatenate", "%a: tensor<2xf32>",
     "%0 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>",
     R"(%0 = "stablehlo.concatenate"(%a, %a) {dimension = 0 : i64}
        : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>)"},
    {"dot_general", "%a: tensor<5x2x3xf32>, %b: tensor<5x3x4xf32>",
     "%0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], "
     "precision = [HIGH, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = "
     "tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, "
     "num_primitive_operations = 3, allow_imprecise_accumulation = false> : "
     "(tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>",
     R"(%0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<
        lhs_batching_dimensions = [0], rhs_batching_dimensions = [0],
        lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>,
        precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>],
        algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32,
        accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1,
        num_primitive_operations = 3, allow_imprecise_accumulation = false>}
        : (tensor<5x2x3xf32>, tensor<5x3x4xf32>) -> tensor<5x2x4xf32>)"},
    {"convolution", "%a: tensor<1x8x8x3xf32>, %b: tensor<3x3x3x4xf32>",
     "%0 = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
     "window = {stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], "
     "reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
     "(tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x4x4xf32>",
     R"(%0 = "stablehlo.convolution"(%a, %b) {batch_group_count = 1 : i64,
        feature_group_count = 1 : i64, window_strides = array<i64: 2, 2>,
        padding = dense<[[0, 1], [0, 1]]> : tensor<2x2xi64>, lhs_dilation = array<i64: 1, 1>,
        rhs_dilation = array<i64: 1, 1>, window_reversal = dense<[0, 1]> : tensor<2xi1>,
        dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0,
        input_feature_dimension = 3, input_spatial_dimensions = [1, 2],
        kernel_input_feature_dimension = 2, kernel_output_feature_dimension = 3,
        kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0,
        output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>}
        : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x4x4xf32>)"},
    {"reduce", "%a: tensor<2x3xf32>, %z: tensor<f32>",
     "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.maximum across dimensions = [1] : "
     "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>",
     R"(%0 = "stablehlo.reduce"(%a, %z) ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %1 = stablehlo.maximum %x, %y : tensor<f32>
          stablehlo.return %1 : tensor<f32>
        }) {dimensions = array<i64: 1>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>)"},
    {"reduce_two", "%a: tensor<4xf32>, %i: tensor<4xi32>, %z: tensor<f32>, %j: tensor<i32>",
     R"(%0:2 = stablehlo.reduce(%a init: %z), (%i init: %j) across dimensions = [0] {u = 1 : i64}
        : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
        reducer(%x: tensor<f32>, %y: tensor<f32>) (%k: tensor<i32>, %l: tensor<i32>) {
          stablehlo.return %x, %k : tensor<f32>, tensor<i32>
        })",
     R"(%0:2 = "stablehlo.reduce"(%a, %i, %z, %j) ({
        ^bb0(%x: tensor<f32>, %k: tensor<i32>, %y: tensor<f32>, %l: tensor<i32>):
          "stablehlo.return"(%x, %k) : (tensor<f32>, tensor<i32>) -> ()
        }) {dimensions = dense<0> : tensor<1xi64>, u = 1 : i64}
        : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>))"},
    {"while", "%a: tensor<i32>",
     R"(%0 = stablehlo.while(%x = %a) : tensor<i32> attributes {t = 2 : i64}
        cond {
          %1 = stablehlo.compare LT, %x, %a : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %1 : tensor<i1>
        } do {
          %1 = stablehlo.add %x, %x : tensor<i32>
          stablehlo.return %1 : tensor<i32>
        })",
     R"(%0 = "stablehlo.while"(%a) ({
        ^bb0(%x: tensor<i32>):
          %1 = stablehlo.compare LT, %x, %a : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %1 : tensor<i1>
        }, {
        ^bb0(%x: tensor<i32>):
          %1 = stablehlo.add %x, %x : tensor<i32>
          stablehlo.return %1 : tensor<i32>
        }) {t = 2 : i64} : (tensor<i32>) -> tensor<i32>)"},
    {"custom_call", "%a: tensor<2xf32>",
     R"(%0 = stablehlo.custom_call @"my target"(%a) {backend_config = {k = 1 : i64}} :
        (tensor<2xf32>) -> tensor<2xf32>)",
     R"(%0 = "stablehlo.custom_call"(%a) {backend_config = {k = 1 : i64},
        call_target_name = "my target"} : (tensor<2xf32>) -> tensor<2xf32>)"},
    {"composite", "%a: tensor<f32>",
     R"(%0 = stablehlo.composite "my.op" %a {decomposition = @f, version = 1 : i32} :
        (tensor<f32>) -> tensor<f32>)",
     R"(%0 = "stablehlo.composite"(%a) {name = "my.op", decomposition = @f, version = 1 : i32}
        : (tensor<f32>) -> tensor<f32>)"},
    {"reduce_precision", "%a: tensor<f32>",
     "%0 = stablehlo.reduce_precision %a, format = e5m10 : tensor<f32>",
     R"(%0 = "stablehlo.reduce_precision"(%a) {exponent_bits = 5 : i32, mantissa_bits = 10 : i32}
        : (tensor<f32>) -> tensor<f32>)"},
    {"fft", "%a: tensor<8xcomplex<f32>>",
     "%0 = stablehlo.fft %a, type = IFFT, length = [8] : (tensor<8xcomplex<f32>>) -> "
     "tensor<8xcomplex<f32>>",
     R"(%0 = "stablehlo.fft"(%a) {fft_type = #stablehlo.fft_type<IFFT>, fft_length = array<i64: 8>}
        : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>)"},
    {"tuple", "%a: tensor<f32>, %b: tensor<i32>",
     R"(%0 = stablehlo.tuple %a, %b : tuple<tensor<f32>, tensor<i32>>
        %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>)",
     R"(%0 = "stablehlo.tuple"(%a, %b)
        : (tensor<f32>, tensor<i32>) -> tuple<tensor<f32>, tensor<i32>>
        %1 = "stablehlo.get_tuple_element"(%0) {index = 1 : i32}
        : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>)"},
    {"barrier", "%a: tensor<f32>, %b: tensor<i32>",
     "%0:2 = stablehlo.optimization_barrier %a, %b : tensor<f32>, tensor<i32>",
     R"(%0:2 = "stablehlo.optimization_barrier"(%a, %b)
        : (tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>))"},
    {"barrier_empty", "", "stablehlo.optimization_barrier ()",
     R"("stablehlo.optimization_barrier"() : () -> ())"},
    {"cholesky", "%a: tensor<2x2xf32>", "%0 = stablehlo.cholesky %a, lower = true : tensor<2x2xf32>",
     R"(%0 = "stablehlo.cholesky"(%a) {lower = true} : (tensor<2x2xf32>) -> tensor<2x2xf32>)"},
    {"tokens", "",
     R"(%0 = stablehlo.create_token : !stablehlo.token
        %1 = stablehlo.after_all %0, %0 : !stablehlo.token)",
     R"(%0 = "stablehlo.create_token"() : () -> !stablehlo.token
        %1 = "stablehlo.after_all"(%0, %0)
        : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token)"},
    {"chlo", "%a: tensor<4xf32>",
     R"(%0 = chlo.erf %a : tensor<4xf32> -> tensor<4xf32>
        %v, %i = chlo.top_k(%a, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>))",
     R"(%0 = "chlo.erf"(%a) : (tensor<4xf32>) -> tensor<4xf32>
        %v:2 = "chlo.top_k"(%a) {k = 2 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>))"},
    {"chlo_broadcast", "%a: tensor<4xf32>, %b: tensor<f32>",
     "%0 = chlo.broadcast_add %a, %b : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>",
     R"(%0 = "chlo.broadcast_add"(%a, %b) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>)"},
    {"check", "%a: tensor<f32>",
     R"(check.expect_eq_const %a, dense<1.0> : tensor<f32>
        check.expect_close %a, %a, max_ulp_difference = 3 : tensor<f32>, tensor<f32>)",
     R"("check.expect_eq_const"(%a) {value = dense<1.0> : tensor<f32>} : (tensor<f32>) -> ()
        "check.expect_close"(%a, %a) {max_ulp_difference = 3 : ui64}
        : (tensor<f32>, tensor<f32>) -> ())"},
    {"sharding", "%a: tensor<8xf32>",
     R"(%0 = sdy.sharding_constraint %a <@mesh, [{"x", "y":(1)2, ?}p1], replicated={"z"}> :
        tensor<8xf32>)",
     R"(%0 = "sdy.sharding_constraint"(%a) {sharding = #sdy.sharding<@mesh,
        [{"x", "y":(1)2, ?}p1], replicated={"z"}>} : (tensor<8xf32>) -> tensor<8xf32>)"},
    {"mesh", "", "sdy.mesh @m = <[\"x\"=2, \"y\"=4], device_ids=[1, 0]>",
     R"("sdy.mesh"() {sym_name = "m", mesh = #sdy.mesh<["x"=2, "y"=4], device_ids=[1, 0]>}
        : () -> ())"},
    {"sharding_rule", "%a: tensor<8x4xf32>",
     R"(%0 = stablehlo.abs %a {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jz_1])->([i, jk])
        {i=8, j=2, k=2} reduction={j} need_replication={k}, custom>} : tensor<8x4xf32>)",
     R"(%0 = "stablehlo.abs"(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jz_1])->([i, jk])
        {i=8, j=2, k=2} reduction={j} need_replication={k}, custom>}
        : (tensor<8x4xf32>) -> tensor<8x4xf32>)"},
    {"manual_computation", "%a: tensor<8xf32>",
     R"(%0 = sdy.manual_computation(%a) in_shardings=[<@m, [{"x"}]>] out_shardings=[<@m, [{"x"}]>]
        manual_axes={"x"} (%b: tensor<4xf32>) {
          sdy.return %b : tensor<4xf32>
        } : (tensor<8xf32>) -> tensor<8xf32>)",
     R"(%0 = "sdy.manual_computation"(%a) ({
        ^bb0(%b: tensor<4xf32>):
          "sdy.return"(%b) : (tensor<4xf32>) -> ()
        }) {in_shardings = #sdy.sharding_per_value<[<@m, [{"x"}]>]>,
        out_shardings = #sdy.sharding_per_value<[<@m, [{"x"}]>]>,
        manual_axes = #sdy<manual_axes{"x"}>} : (tensor<8xf32>) -> tensor<8xf32>)"},
};
INSTANTIATE_TEST_SUITE_P(All, MlirForms, testing::ValuesIn(kPairs),
                         [](const auto& info) { return std::string(info.param.name); });

// The value of the single constant in `text`.
struct Constant {
  explicit Constant(const std::string& text)
      : source(str_cat("%0 = stablehlo.constant ", text)), module(read(source)) {}
  const Attr& value() { return *module.body().ops[0]->attr("value"); }
  std::string source;
  Module module;
};

TEST(MlirText, Elements) {
  Constant a("dense<[[1, 2], [-3, 4]]> : tensor<2x2xi16>");
  EXPECT_EQ(a.value().bytes, std::string_view("\1\0\2\0\xfd\xff\4\0", 8));
  EXPECT_FALSE(a.value().splat);
  Constant b("dense<7> : tensor<1000000x1000xi32>");
  EXPECT_TRUE(b.value().splat);
  EXPECT_EQ(int_at(b.value(), 12345), 7);
  Constant c("dense<0x7FC00001> : tensor<f32>");
  EXPECT_EQ(c.value().bytes, std::string_view("\1\0\xc0\x7f", 4));
  Constant d("dense<(1.0, -2.0)> : tensor<2xcomplex<f16>>");
  EXPECT_EQ(d.value().bytes, std::string_view("\0\x3c\0\xc0", 4));
  Constant e("dense<[true, false, true]> : tensor<3xi1>");
  EXPECT_EQ(e.value().bytes, std::string_view("\1\0\1", 3));
  Constant f("dense<> : tensor<0x3xf32>");
  EXPECT_TRUE(f.value().bytes.empty());
  Constant g("dense<[0xFF80, 1.0]> : tensor<2xbf16>");
  EXPECT_EQ(g.value().bytes, std::string_view("\x80\xff\x80\x3f", 4));
  Constant h("dense<[-1, 7]> : tensor<2xi4>");
  EXPECT_EQ(int_at(h.value(), 0), -1);
  EXPECT_EQ(int_at(h.value(), 1), 7);
  Constant i("dense<[1.0, 448.0, 1000.0]> : tensor<3xf8E4M3FN>");
  EXPECT_EQ(i.value().bytes, std::string_view("\x38\x7e\x7f", 3));
}

TEST(MlirText, HexBooleans) {  // packed bits, or one byte per element
  Constant packed("dense<\"0x0503\"> : tensor<16xi1>");
  Constant bytes("dense<\"0x01000100000000000101000000000000\"> : tensor<16xi1>");
  EXPECT_EQ(packed.value().bytes, bytes.value().bytes);
  EXPECT_EQ(packed.value().bytes.substr(0, 3), std::string_view("\1\0\1", 3));
  Constant splat("dense<\"0xFF\"> : tensor<5xi1>");
  EXPECT_TRUE(splat.value().splat);
  Constant small("dense<\"0x01\"> : tensor<5xi1>");
  EXPECT_EQ(small.value().bytes, std::string_view("\1\0\0\0\0", 5));
}

TEST(MlirText, Resources) {
  Module m = read(R"(%0 = stablehlo.constant dense_resource<blob> : tensor<2xf32>
{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F00000040"
    }
  }
#-})");
  const Attr* v = m.body().ops[0]->attr("value");
  EXPECT_EQ(v->bytes, std::string_view("\0\0\x80\x3f\0\0\0\x40", 8));
  EXPECT_NE(error("%0 = stablehlo.constant dense_resource<blob> : tensor<2xf32>").find("'blob'"),
            std::string::npos);
}

TEST(MlirText, Types) {
  for (const char* t :
       {"i1", "si8", "ui64", "index", "bf16", "tf32", "f8E8M0FNU", "f4E2M1FN", "complex<f64>", "none",
        "tensor<f32>", "tensor<?x0x4xi2>", "tensor<*xf32>", "tuple<tensor<f32>, i32>", "tuple<>",
        "(i32, f32) -> ()", "() -> (i32)", "!stablehlo.token", "!stablehlo.future<tensor<f32>>",
        "memref<2xf32>", "vector<4xi8>", "!shape.witness", "!foo.bar<1, \"x>\", [2]>",
        "tensor<?x4xf32, #stablehlo.bounds<8, ?>>",
        "tensor<2x!quant.uniform<i8<-128:127>:f32, 0.5:-3>>",
        "tensor<2x!quant.uniform<u4<0:15>:f16:0, {0.25:0, 1.5:7}>>"}) {
    Module m;
    Builder b(m.arena.get());
    auto a = parse_type_text(t, &b);
    ASSERT_TRUE(a.ok()) << a.status().message();
    EXPECT_EQ(print_type(**a), t);
  }
}

TEST(MlirText, Aliases) {
  Module m = read(R"(
#enc = #stablehlo.bounds<4>
!t = tensor<?xf32, #enc>
module @m attributes {mhlo.num_partitions = 1 : i32} {
  func.func private @g(!t {a.b = "x"}) -> (!t {c})
  func.func public @f(%a: !t loc("in")) -> !t {
    %0 = call @g(%a) : (!t) -> !t loc(#loc2)
    return %0 : !t loc(fused["a.py":3:4 to :5, callsite("x" at unknown)])
  } loc(#loc)
}
#loc = loc("f.py":1:2)
#loc2 = loc("jit(f)/add"(#loc))
)");
  const Op* f = m.symbol("f");
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(to_string(f->loc), "f.py:1:2");
  const Block& body = *f->block(0);
  EXPECT_EQ(to_string(body.ops[0]->loc), "jit(f)/add at f.py:1:2");
  EXPECT_EQ(to_string(body.ops[1]->loc), "a.py:3:4");
  EXPECT_EQ(body.ops[0]->attr("callee")->text, "g");
  EXPECT_EQ(m.type(body.arg(0)).encoding->field("bounds")->bytes.size(), 8u);
  const Op* g = m.symbol("g");
  EXPECT_EQ(g->block(0), nullptr);
  EXPECT_EQ(g->attr("arg_attrs")->items[0]->field("a.b")->text, "x");
  EXPECT_EQ(g->attr("res_attrs")->items[0]->fields[0].name, "c");
}

// An attribute of a dialect nobody knows is kept as it is written.
TEST(MlirText, UnknownDialects) {
  const std::string text = "module attributes {a = #odd<\"x\" : <y>>, b = #odd.kind<(1)>} {\n}\n";
  const std::string printed = print_mlir(read(text));
  EXPECT_NE(printed.find("a = #odd<\"x\" : <y>>"), std::string::npos) << printed;
  EXPECT_NE(printed.find("b = #odd.kind<(1)>"), std::string::npos) << printed;
  EXPECT_EQ(print_mlir(read(printed)), printed);
}

TEST(MlirText, SplitsAtMarkers) {
  auto parts = split_mlir("a\n// -----\nb\n// ----- x\n");
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0], "a\n");
  EXPECT_EQ(parts[1], "b\n");
  EXPECT_EQ(parts[2], "");
}

TEST(MlirText, ErrorsPointAtTheSource) {
  EXPECT_EQ(error("func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.add %a, %b : tensor<f32>\n}"),
            "t.mlir:2:26: the value %b is not defined\n"
            "    %0 = stablehlo.add %a, %b : tensor<f32>\n"
            "                           ^");
}

TEST(MlirText, Errors) {
  struct {
    const char* text;
    const char* message;
  } cases[] = {
      {"%0 = stablehlo.foo : i32", "unknown operation 'stablehlo.foo'"},
      {"%0 = stablehlo.gather %a", "'stablehlo.gather' has no short form"},
      {"%0 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>", "expected 3 elements in dimension 0"},
      {"%0 = stablehlo.constant dense<[1, 2, 3]> : tensor<2xi32>", "expected 2 elements"},
      {"%0 = stablehlo.constant dense<300> : tensor<2xi8>", "does not fit in its type"},
      {"%0 = stablehlo.constant dense<1.5> : tensor<2xi8>", "expected an integer"},
      {"%0 = stablehlo.constant dense<\"0x00\"> : tensor<2xi32>", "size of the tensor type"},
      {"%0 = stablehlo.constant dense<1> : tensor<?xi32>", "static size"},
      {"%0 = stablehlo.iota dim = 0 : tensor<2xf3>", "unknown type 'f3'"},
      {"%0:2 = stablehlo.iota dim = 0 : tensor<2xf32>", "has 1 results, 2 are named"},
      {"%0 = stablehlo.iota dim = 99999999999999999999 : tensor<2xf32>", "does not fit in 64 bits"},
      {"%0 = \"a.b\"() {x = 1, x = 2} : () -> i32", "given twice"},
      {"%0 = \"a.b\"() : () -> i32\n%1 = \"a.b\"(%0) : (f32) -> i32", "but was defined as i32"},
      {"%0 = \"a.b\"() : () -> i32\n%0 = \"a.b\"() : () -> i32", "already defined"},
      {"%0 = \"a.b\"()[^x] : () -> i32", "branches between blocks"},
      {"func.func @f() { return", "expected '}'"},
      {"module {", "expected '}'"},
      {"%0 = \"a.b\"() {x = #foo} : () -> i32", "'#foo' is not defined"},
      {"%0 = \"a.b\"() {x = \"abc", "does not end"},
      {"%0 = \"a.b\"() {x = #stablehlo<precision LOW>} : () -> i32",
       "expected a stablehlo.precision: one of DEFAULT HIGH HIGHEST"},
      {"%0 = \"a.b\"() {x = #stablehlo.gather<offset = [1]>} : () -> i32",
       "expected a field of #stablehlo.gather: offset_dims"},
      {"%0 = \"a.b\"() {x = #stablehlo.conv<[b, f]x[i]->[b, f]>} : () -> i32",
       "expected the dimensions i, o"},
      {"\"vhlo.add_v9\"() : () -> ()", "'vhlo.add_v9' is not an operation of VHLO"},
      {"\"vhlo.nope_v1\"() : () -> ()", "not an operation of VHLO"},
      {"func.func @f(%a: tensor<4xf32>, %z: tensor<f32>) {\n  %0 = stablehlo.reduce(%a init: %z) applies vhlo.add across "
       "dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>\n}",
       "'vhlo.add' is not an operation of VHLO"},
  };
  for (const auto& c : cases) {
    EXPECT_NE(error(c.text).find(c.message), std::string::npos) << c.text << "\n" << error(c.text);
  }
}

TEST(MlirText, DeepNestingIsAnError) {
  for (const char* open : {"tuple<", "complex<", "(", "tensor<2x"}) {
    std::string t;
    for (int k = 0; k < 100000; ++k) t += open;
    EXPECT_NE(error("%0 = \"a.b\"() : () -> " + t).find("too deeply"), std::string::npos);
  }
  for (const char* open : {"[", "{a = ", "#sdy.x<", "@a::"}) {
    std::string t;
    for (int k = 0; k < 100000; ++k) t += open;
    error("\"a.b\"() {x = " + t);
  }
  std::string regions, locs = "loc(";
  for (int k = 0; k < 100000; ++k) regions += "\"a.b\"() ({", locs += "callsite(";
  EXPECT_NE(error(regions).find("too deeply"), std::string::npos);
  EXPECT_NE(error("\"a.b\"() : () -> () " + locs).find("too deeply"), std::string::npos);
}

// Shared aliases must not stand for more nodes than can be visited.
TEST(MlirText, SharingIsBounded) {
  std::string text = "!t0 = tuple<i32, i32>\n#a0 = [1, 2]\n";
  for (int k = 1; k < 100; ++k) {
    text += str_cat("!t", k, " = tuple<!t", k - 1, ", !t", k - 1, ">\n");
  }
  EXPECT_NE(error(text).find("too large"), std::string::npos);
  text = "#a0 = [1, 2]\n";
  for (int k = 1; k < 100; ++k) text += str_cat("#a", k, " = [#a", k - 1, ", #a", k - 1, "]\n");
  EXPECT_NE(error(text).find("too large"), std::string::npos);
}

// Every prefix of a program is an error or a program, never a crash.
TEST(MlirText, Prefixes) {
  std::string text;
  for (const Pair& p : kPairs) {
    text = str_cat("func.func @f(", p.args, ") {\n", p.compact, "\nreturn\n}\n");
    for (size_t n = 0; n < text.size(); ++n) (void)read_mlir_text(text.substr(0, n));
  }
}

}  // namespace
}  // namespace braze::mlir
