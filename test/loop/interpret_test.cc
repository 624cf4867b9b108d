// SPDX-License-Identifier: Apache-2.0
// Kernels run by the kernel interpreter give what the evaluator gives: lowering is tested without LLVM.
#include "loop/interpret.h"

#include <gtest/gtest.h>

#include <cmath>

#include "eval/evaluator.h"
#include "loop/lower.h"
#include "text/parse.h"

namespace braze::loop {
namespace {

constexpr char kAdd[] =
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
    "max { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }\n"
    "addi { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT r = s32[] add(a, b) }\n";

Literal input(const Shape& s, int64_t number) {
  Literal l(s);
  for (int64_t i = 0; i < l.elements(); ++i) {
    int64_t n = (i * 37 + number * 11) % 101;
    if (is_float(s.dtype)) l.set_float(i, static_cast<double>(n) / 16 - 3);
    else if (is_complex(s.dtype)) l.set_complex(i, {static_cast<double>(n) / 16, 1.5});
    else l.set_int(i, n % 5);
  }
  return l;
}

// Lowers the entry as one fused computation, runs the kernel and compares every output.
void agrees(const std::string& entry, double tolerance) {
  auto m = parse_hlo(std::string("HloModule k\n") + kAdd + entry);
  ASSERT_TRUE(m.ok()) << m.status();
  const Computation& fused = *(*m)->entry();
  auto kernel = lower(fused, "k", Facts{});
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  std::vector<Literal> args;
  std::vector<char*> buffers;
  for (const Instr* p : fused.params()) args.push_back(input(p->shape, p->parameter_number()));
  auto want = evaluate(fused, args);
  ASSERT_TRUE(want.ok()) << want.status();
  std::vector<Literal> results;
  std::vector<const Instr*> outs = outputs(fused);
  for (size_t k = 0; k < outs.size(); ++k) {
    int64_t target = inout_parameter(fused, static_cast<int64_t>(k));
    results.push_back(target >= 0 ? args[static_cast<size_t>(target)] : Literal(outs[k]->shape));
  }
  for (Literal& a : args) buffers.push_back(a.mutable_bytes());
  for (Literal& r : results) buffers.push_back(r.mutable_bytes());
  Status s = interpret(*kernel, buffers);
  ASSERT_TRUE(s.ok()) << s << "\n" << to_string(*kernel);
  for (size_t k = 0; k < results.size(); ++k) {
    const Literal& w = want->shape().is_tuple() ? want->parts()[k] : *want;
    ASSERT_EQ(w.elements(), results[k].elements());
    for (int64_t i = 0; i < w.elements(); ++i)
      ASSERT_LE(std::abs(results[k].get_complex(i) - w.get_complex(i)),
                tolerance * (1 + std::abs(w.get_complex(i))))
          << "output " << k << " element " << i << "\n" << to_string(*kernel);
  }
}

TEST(Interpret, ElementwiseWithMovement) {
  agrees("ENTRY e { x = f32[3,7] parameter(0)\n b = f32[7] parameter(1)\n"
         " bb = f32[3,7] broadcast(b), dimensions={1}\n s = f32[3,7] multiply(x, bb)\n"
         " t = f32[7,3] transpose(s), dimensions={1,0}\n z = f32[] constant(2)\n"
         " ROOT p = f32[9,4] pad(t, z), padding=1_1x0_1 }", 0);
}

TEST(Interpret, Concatenate) {
  agrees("ENTRY e { x = f32[2,3] parameter(0)\n y = f32[2,5] parameter(1)\n"
         " ROOT c = f32[2,8] concatenate(x, y), dimensions={1} }", 0);
}

TEST(Interpret, Complex) {
  agrees("ENTRY e { x = c64[5] parameter(0)\n y = c64[5] parameter(1)\n"
         " ROOT p = c64[5] multiply(x, y) }", 1e-6);
}

TEST(Interpret, ReductionsInRowAndColumnForm) {
  for (const char* dims : {"0", "1"}) {
    std::string out = dims[0] == '0' ? "9" : "6";
    agrees("ENTRY e { x = f32[6,9] parameter(0)\n i = f32[] constant(3)\n y = f32[6,9] multiply(x, x)\n"
           " ROOT r = f32[" + out + "] reduce(y, i), dimensions={" + dims + "}, to_apply=add }", 1e-6);
  }
}

TEST(Interpret, SplitReductionCountsTheInitialValueOnce) {
  agrees("ENTRY e { x = s32[40000] parameter(0)\n i = s32[] constant(7)\n"
         " ROOT r = s32[] reduce(x, i), dimensions={0}, to_apply=addi }", 0);
}

// Sums down long columns are exact to a few bits: 0.1 is not, and single accumulators lose it.
TEST(Interpret, LongColumnsSumInBlocks) {
  for (std::string n : {"256", "300", "4097", "70001"})
    agrees("ENTRY e { x = f32[" + n + ",3] parameter(0)\n z = f32[] constant(0.1)\n c = f32[" + n +
           ",3] broadcast(z), dimensions={}\n y = f32[" + n + ",3] add(x, c)\n"
           " ROOT r = f32[3] reduce(y, z), dimensions={0}, to_apply=add }", 2e-6);
}

TEST(Interpret, PassesDownFewLongColumnsRunInParts) {
  agrees("ENTRY e { x = f32[65536,8] parameter(0)\n z = f32[] constant(0)\n"
         " s = f32[8] reduce(x, z), dimensions={0}, to_apply=add\n"
         " b = f32[65536,8] broadcast(s), dimensions={1}\n d = f32[65536,8] subtract(x, b)\n"
         " ROOT r = f32[8] reduce(d, z), dimensions={0}, to_apply=add }", 1e-5);
}

TEST(Interpret, Softmax) {
  agrees("ENTRY e { x = f32[4,20] parameter(0)\n low = f32[] constant(-inf)\n zero = f32[] constant(0)\n"
         " m = f32[4] reduce(x, low), dimensions={1}, to_apply=max\n"
         " mb = f32[4,20] broadcast(m), dimensions={0}\n d = f32[4,20] subtract(x, mb)\n"
         " e = f32[4,20] exponential(d)\n s = f32[4] reduce(e, zero), dimensions={1}, to_apply=add\n"
         " sb = f32[4,20] broadcast(s), dimensions={0}\n ROOT r = f32[4,20] divide(e, sb) }", 2e-6);
}

TEST(Interpret, DotWithEpilogue) {
  agrees("ENTRY e { x = f32[2,5,7] parameter(0)\n w = f32[2,7,3] parameter(1)\n"
         " d = f32[2,5,3] dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2},"
         " rhs_contracting_dims={1}\n z = f32[] constant(0)\n zb = f32[2,5,3] broadcast(z), dimensions={}\n"
         " ROOT r = f32[2,5,3] maximum(d, zb) }", 1e-6);
}

TEST(Interpret, Convolution) {
  agrees("ENTRY e { x = f32[1,6,6,3] parameter(0)\n w = f32[3,3,3,4] parameter(1)\n"
         " ROOT c = f32[1,3,3,4] convolution(x, w), window={size=3x3 stride=2x2 pad=1_0x1_0},"
         " dim_labels=b01f_01io->b01f }", 1e-6);
}

TEST(Interpret, UpdateInPlace) {
  agrees("ENTRY e { x = f32[5,6] parameter(0)\n u = f32[2,3] parameter(1)\n i = s32[] parameter(2)\n"
         " j = s32[] parameter(3)\n ROOT r = f32[5,6] dynamic-update-slice(x, u, i, j) }", 0);
}

TEST(Interpret, ScatterAddDropsWhatIsOutside) {
  agrees("ENTRY e { x = f32[3,4] parameter(0)\n i = s32[6,1] parameter(1)\n u = f32[6,4] parameter(2)\n"
         " ROOT r = f32[3,4] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0},"
         " scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }", 1e-6);
}

TEST(Interpret, WindowsAndScans) {
  agrees("ENTRY e { x = f32[7,10] parameter(0)\n i = f32[] constant(0)\n"
         " ROOT r = f32[3,10] reduce-window(x, i), window={size=3x3 stride=2x1 pad=0_0x1_1}, to_apply=add }", 1e-6);
  agrees("ENTRY e { x = f32[4,12] parameter(0)\n i = f32[] constant(1)\n"
         " ROOT r = f32[4,12] reduce-window(x, i), window={size=1x12 pad=0_0x11_0}, to_apply=add }", 1e-5);
}

TEST(Interpret, AccessOutsideABufferIsAnError) {
  Kernel k;
  k.name = "bad";
  k.buffers = {{"x", Dtype::kF32, 2, Role::kInput}, {"y", Dtype::kF32, 2, Role::kOutput}};
  Phase p;
  p.item_var = k.new_var();
  Scalar five = k.graph.constant_int(Dtype::kS64, 5);
  store_value(k, &p.body, 1, k.graph.constant_int(Dtype::kS64, 0), {k.graph.load(Dtype::kF32, 0, five), {}});
  k.phases.push_back(p);
  float x[2] = {1, 2}, y[2] = {};
  Status s = interpret(k, {reinterpret_cast<char*>(x), reinterpret_cast<char*>(y)});
  EXPECT_FALSE(s.ok());
  EXPECT_NE(s.message().find("b0[5] of 2"), absl::string_view::npos) << s;
}

}  // namespace
}  // namespace braze::loop
