// SPDX-License-Identifier: Apache-2.0
// The public interface: reading, compiling, running on each backend, errors as texts.
#include <gtest/gtest.h>

#include "braze/braze.h"

namespace {

constexpr std::string_view kProgram =
    "func.func @main(%x: tensor<2x3xf32>, %n: tensor<3xi32>) -> (tensor<2x3xf32>, tensor<i32>) {\n"
    "  %c = stablehlo.convert %n : (tensor<3xi32>) -> tensor<3xf32>\n"
    "  %b = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf32>\n"
    "  %0 = stablehlo.multiply %x, %b : tensor<2x3xf32>\n"
    "  %z = stablehlo.constant dense<0> : tensor<i32>\n"
    "  %1 = stablehlo.reduce(%n init: %z) applies stablehlo.add across dimensions = [0] :"
    " (tensor<3xi32>, tensor<i32>) -> tensor<i32>\n"
    "  return %0, %1 : tensor<2x3xf32>, tensor<i32>\n}\n";

braze::Program program(std::string_view text = kProgram) {
  braze::Program p;
  braze::Error e = braze::Program::read(text, {}, &p);
  EXPECT_TRUE(e.ok()) << e.message();
  return p;
}

TEST(Api, TypesAndTexts) {
  braze::Program p = program();
  ASSERT_EQ(p.arguments().size(), 2u);
  EXPECT_EQ(p.arguments()[0].text(), "f32[2,3]");
  EXPECT_EQ(p.arguments()[1].bytes(), 12);
  ASSERT_EQ(p.results().size(), 2u);
  EXPECT_EQ(p.results()[1].text(), "s32[]");
  std::string text;
  ASSERT_TRUE(p.text("hlo", &text).ok());
  EXPECT_NE(text.find("ENTRY main"), std::string::npos);
  ASSERT_TRUE(p.text("stablehlo", &text).ok());
  EXPECT_NE(text.find("stablehlo.multiply"), std::string::npos);
  EXPECT_EQ(p.text("pdf", &text).code(), braze::ErrorCode::kInvalid);
}

TEST(Api, RunsOnArraysAndOnPointers) {
  for (const char* backend : {"cpu", "reference"}) {
    braze::CompileSettings settings;
    settings.backend = backend;
    braze::CompiledProgram c;
    braze::Error e = program().compile(settings, &c);
    ASSERT_TRUE(e.ok()) << e.message();
    const float x[] = {1, 2, 3, 4, 5, 6};
    const int32_t n[] = {10, 20, 30};
    std::vector<braze::Array> results;
    e = c.run(
        {braze::Array::copy_of(c.arguments()[0], x), braze::Array::copy_of(c.arguments()[1], n)},
        &results);
    ASSERT_TRUE(e.ok()) << e.message();
    ASSERT_EQ(results.size(), 2u);
    EXPECT_EQ(results[0].as<float>()[5], 180);
    EXPECT_EQ(results[1].as<int32_t>()[0], 60);
    float out[6];
    int32_t sum = 0;
    const void* in[] = {x, n};
    void* to[] = {out, &sum};
    e = c.run(in, 2, to, 2);
    ASSERT_TRUE(e.ok()) << e.message();
    EXPECT_EQ(out[0], 10);
    EXPECT_EQ(sum, 60);
  }
}

TEST(Api, ReportAndCode) {
  braze::CompiledProgram c;
  ASSERT_TRUE(program().compile({}, &c).ok());
  EXPECT_GE(c.report().kernels, 1);
  EXPECT_FALSE(c.report().phases.empty());
  for (const char* form : {"plan", "kernel", "llvm", "asm"}) {
    std::string text;
    braze::Error e = c.text(form, &text);
    EXPECT_TRUE(e.ok()) << e.message();
    EXPECT_FALSE(text.empty()) << form;
  }
}

TEST(Api, ErrorsAreTexts) {
  braze::Program p;
  braze::Error e = braze::Program::read("func.func @main(", {"bad.mlir"}, &p);
  EXPECT_EQ(e.code(), braze::ErrorCode::kInvalid);
  EXPECT_NE(e.message().find("bad.mlir:1:"), std::string::npos) << e.message();
  e = braze::Program::read_file("/no/such/file", &p);
  EXPECT_EQ(e.code(), braze::ErrorCode::kNotFound);
  braze::CompiledProgram c;
  EXPECT_EQ(braze::Program().compile({}, &c).code(), braze::ErrorCode::kInvalid);
  EXPECT_EQ(c.run(nullptr, 0, nullptr, 0).code(), braze::ErrorCode::kInvalid);
  braze::CompileSettings settings;
  settings.backend = "abacus";
  EXPECT_NE(program().compile(settings, &c).message().find("abacus"), std::string::npos);
  ASSERT_TRUE(program().compile({}, &c).ok());
  std::vector<braze::Array> results;
  e = c.run({braze::Array(c.arguments()[0])}, &results);
  EXPECT_NE(e.message().find("takes 2 arguments"), std::string::npos) << e.message();
  e = c.run({braze::Array(c.arguments()[1]), braze::Array(c.arguments()[1])}, &results);
  EXPECT_NE(e.message().find("argument 0 is s32[3], the program takes f32[2,3]"),
            std::string::npos);
}

TEST(Api, CompiledAheadOfTime) {
  braze::StaticLibrary library;
  ASSERT_TRUE(program().compile_library({"twice", "", "baseline"}, &library).ok());
  EXPECT_EQ(library.archive.substr(0, 8), "!<arch>\n");
  EXPECT_NE(library.header.find("int32_t twice_run("), std::string::npos);
  EXPECT_GE(library.kernels, 1);
  EXPECT_NE(program().compile_library({"a b", "", "host"}, &library).message().find("a b"), std::string::npos);
  EXPECT_EQ(braze::Program().compile_library({"x"}, &library).code(), braze::ErrorCode::kInvalid);
}

TEST(Api, UnknownDimensionsAreRefined) {
  const std::string_view text =
      "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
      "  %0 = stablehlo.abs %x : tensor<?xf32>\n  return %0 : tensor<?xf32>\n}\n";
  braze::Program p = program(text);
  EXPECT_EQ(p.arguments()[0].text(), "f32[?]");
  braze::SourceOptions options;
  options.argument_types = {{braze::ElementType::kF32, {4}}};
  ASSERT_TRUE(braze::Program::read(text, options, &p).ok());
  EXPECT_EQ(p.results()[0].text(), "f32[4]");
}

}  // namespace
