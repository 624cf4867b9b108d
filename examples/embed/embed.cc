// SPDX-License-Identifier: Apache-2.0
// Braze in another program: reads a StableHLO program, runs it on its own memory, and shows what an
// error looks like. embed FILE
#include <braze/braze.h>

#include <cstdio>
#include <vector>

namespace {

int fail(const braze::Error& e) {
  std::fprintf(stderr, "embed: %s\n", e.message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: embed FILE\n");
    return 2;
  }
  braze::Program program;
  if (auto e = braze::Program::read_file(argv[1], &program); !e.ok()) return fail(e);
  std::printf("braze %s: %s takes", braze::version(), argv[1]);
  for (const braze::ArrayType& t : program.arguments()) std::printf(" %s", t.text().c_str());
  std::printf(" and gives");
  for (const braze::ArrayType& t : program.results()) std::printf(" %s", t.text().c_str());
  std::printf("\n");

  braze::CompiledProgram compiled;
  if (auto e = program.compile({}, &compiled); !e.ok()) return fail(e);
  std::printf("%d kernel(s), %d library call(s)\n", static_cast<int>(compiled.report().kernels),
              static_cast<int>(compiled.report().library_calls));

  // The caller's memory, no copies.
  float a = 3;
  std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7}, y(8, 0.5f), out(8);
  const void* in[] = {&a, x.data(), y.data()};
  void* results[] = {out.data()};
  if (auto e = compiled.run(in, 3, results, 1); !e.ok()) return fail(e);
  for (float v : out) std::printf("%g ", v);
  std::printf("\n");

  // A wrong program: where it is wrong, and why.
  braze::Program wrong;
  auto e = braze::Program::read(
      "func.func @main(%x: tensor<2xf32>) -> tensor<3xf32> {\n"
      "  %0 = stablehlo.abs %x : tensor<3xf32>\n  return %0 : tensor<3xf32>\n}\n",
      {"wrong.mlir"}, &wrong);
  std::printf("%s\n", e.message().c_str());
  return e.ok() ? 1 : 0;
}
