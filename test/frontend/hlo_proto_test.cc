// SPDX-License-Identifier: Apache-2.0
// HLO protos: the corpus reads as its texts do; writing and reading again changes nothing.
#include "frontend/hlo_proto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>
#include <sstream>

#include "frontend/hlo_sharding.h"
#include "text/parse.h"
#include "text/print.h"

namespace braze {
namespace {

namespace fs = std::filesystem;

std::string slurp(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

std::vector<fs::path> corpus(const char* extension) {
  std::vector<fs::path> files;
  fs::path root = fs::path(BRAZE_ROOT) / "../shared/models";
  if (!fs::exists(root)) root = fs::path(BRAZE_ROOT) / "../../shared/models";
  if (!fs::exists(root)) return files;
  for (auto& dir : fs::directory_iterator(root)) {
    std::string name = dir.path().filename().string();
    if (name.size() < 5 || name.substr(name.size() - 5) != "_tiny") continue;
    fs::path f = dir.path() / (name + extension);
    if (fs::exists(f)) files.push_back(f);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::unique_ptr<Module> parse(std::string_view text) {
  ParseOptions options;
  options.check = false;
  Result<std::unique_ptr<Module>> m = parse_hlo(text, options);
  EXPECT_TRUE(m.ok()) << m.status();
  return m.ok() ? std::move(*m) : nullptr;
}

// Text after one trip through a proto.
std::string through_proto(const Module& m) {
  Result<std::string> bytes = write_hlo_module_proto(m);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  if (!bytes.ok()) return "";
  ProtoReadOptions options;
  options.check = false;
  Result<std::unique_ptr<Module>> back = read_hlo_module_proto(*bytes, options);
  EXPECT_TRUE(back.ok()) << back.status();
  return back.ok() ? print_hlo(**back) : "";
}

TEST(HloProto, CorpusReadsAsItsText) {
  std::vector<fs::path> files = corpus(".hlo.pb");
  if (files.empty()) GTEST_SKIP() << "no ../shared/models here";
  EXPECT_EQ(files.size(), 13u);
  for (const fs::path& f : files) {
    Result<std::unique_ptr<Module>> m = read_hlo_module_proto(slurp(f));
    ASSERT_TRUE(m.ok()) << f << ": " << m.status();
    fs::path text = f;
    text.replace_extension(".txt");
    std::unique_ptr<Module> t = parse(slurp(text));
    ASSERT_TRUE(t);
    // Its text is of another stage of TensorFlow, after its own rewrites.
    if (f.filename() == "tf_linalg_tiny.hlo.pb") continue;
    EXPECT_EQ(print_hlo(**m, PrintOptions::canonical()), print_hlo(*t, PrintOptions::canonical()))
        << f;
  }
}

TEST(HloProto, WritingAndReadingTheCorpusChangesNothing) {
  std::vector<fs::path> files = corpus(".hlo.txt");
  if (files.empty()) GTEST_SKIP() << "no ../shared/models here";
  for (const fs::path& f : files) {
    std::unique_ptr<Module> m = parse(slurp(f));
    ASSERT_TRUE(m);
    EXPECT_EQ(through_proto(*m), print_hlo(*m)) << f;
  }
}

TEST(HloProto, EveryFieldSurvives) {
  const char* text =
      R"hlo(HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, must-alias) }, buffer_donor={ (1, {}) }, entry_computation_layout={(f32[8,8]{0,1}, f32[8,8]{1,0})->(f32[8,8]{1,0}, s32[])}, frontend_attributes={a="b"}

add_f {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}

fused {
  fx = f32[8,8]{1,0} parameter(0)
  ROOT fr = f32[8,8]{1,0} negate(fx)
}

cond {
  cp = s32[] parameter(0)
  ROOT ct = pred[] constant(true)
}

body {
  ROOT bp = s32[] parameter(0)
}

ENTRY e {
  a = f32[8,8]{0,1} parameter(0), parameter_replication={true}
  b = f32[8,8]{1,0} parameter(1), sharding={devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  k = s32[2,2]{1,0} constant({ { 1, -2 }, { 3, 4 } })
  i = u64[] constant(18446744073709551615)
  z = c64[] constant((1, -2))
  p4 = s4[3]{0} constant({-8, 7, 0})
  f8 = f8e4m3fn[2]{0} constant({1.5, -448})
  sl = f32[4,8]{1,0} slice(a), slice={[0:4], [0:8:2]}
  pa = f32[9,12]{1,0} pad(a, b), padding=-1_1_1x2_2_0
  co = pred[8,8]{1,0} compare(a, b), direction=LE, type=TOTALORDER
  d = f32[8,8]{1,0} dot(a, b), lhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_batch_dims={1}, rhs_contracting_dims={0}, operand_precision={highest,default}, algorithm=dot_bf16_bf16_f32_x3
  c = f32[8,8]{1,0} convolution(a, b), window={size=3x3 stride=2x1 pad=-1_1x0_0 lhs_dilate=1x2 rhs_dilate=3x1 rhs_reversal=0x1}, dim_labels=bf01_01io->bf01, feature_group_count=2, batch_group_count=3
  rw = f32[8,8]{1,0} reduce-window(a, b), window={size=1x2}, to_apply=add_f
  ss = f32[8,8]{1,0} select-and-scatter(a, b), window={size=1x2}, select=add_f, scatter=add_f
  rp = f32[8,8]{1,0} reduce-precision(a), exponent_bits=5, mantissa_bits=10
  ts = f32[8,8]{1,0} triangular-solve(a, b), left_side=false, lower=true, unit_diagonal=true, transpose_a=ADJOINT
  ch = f32[8,8]{1,0} cholesky(a), lower=true
  ff = c64[8,5]{1,0} fft(a), fft_type=RFFT, fft_length={8}
  so = f32[8,8]{1,0} sort(a), dimensions={1}, is_stable=true, to_apply=add_f
  tk = (f32[8,2]{1,0}, s32[8,2]{1,0}) topk(a), k=2, largest=true
  bn = f32[8,8]{1,0} batch-norm-inference(a, b), epsilon=0.001, feature_index=1
  ga = f32[8,8]{1,0} gather(a, b), offset_dims={0}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={2}, start_indices_batching_dims={3}, index_vector_dim=1, slice_sizes={1,1}, indices_are_sorted=true
  sc = f32[8,8]{1,0} scatter(a, b, a), update_window_dims={0}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, index_vector_dim=1, unique_indices=true, to_apply=add_f
  ar = f32[8,8]{1,0} all-reduce(a), replica_groups={{0,1},{2,3}}, channel_id=4, use_global_device_ids=true, to_apply=add_f
  ag = f32[8,16]{1,0} all-gather(a), replica_groups={{0,1}}, dimensions={1}
  at = f32[8,8]{1,0} all-to-all(a), replica_groups={{0,1}}, dimensions={1}
  cp2 = f32[8,8]{1,0} collective-permute(a), source_target_pairs={{0,1},{1,0}}
  rn = f32[8,8]{1,0} rng(sl, sl), distribution=rng_normal
  rb = (u64[2]{0}, u32[8]{0}) rng-bit-generator(k), algorithm=rng_philox
  rs = u64[2]{0} rng-get-and-update-state(), delta=3
  io = s32[8]{0} iota(), iota_dimension=0
  br = f32[8,8,2]{2,1,0} broadcast(a), dimensions={0,1}
  ds = f32[2,8]{1,0} dynamic-slice(a, i, i), dynamic_slice_sizes={2,8}
  cc = (f32[8,8]{0,1}, s32[]) custom-call(a, b), custom_call_target="f", operand_layout_constraints={f32[8,8]{0,1}, f32[8,8]{1,0}}, custom_call_has_side_effect=true, output_to_operand_aliasing={{0}: (0, {})}, api_version=API_VERSION_TYPED_FFI, called_computations={add_f}, backend_config={u = 76 : ui8}
  fu = f32[8,8]{1,0} fusion(a), kind=kOutput, calls=fused
  w = s32[] while(io), condition=cond, body=body
  cn = s32[] conditional(co, w, w), true_computation=body, false_computation=body
  tok = token[] after-all()
  inf = (s32[], token[]) infeed(tok), infeed_config="x"
  out = token[] outfeed(w, tok), outfeed_config="y"
  cl = f32[8,8]{1,0} call(a), to_apply=fused, is_composite=true, frontend_attributes={n="g"}, control-predecessors={out}, metadata={op_type="t" op_name="o" source_file="f.py" source_line=3}, backend_config="z"
  dy = f32[<=8]{0} reshape(sl)
  g = s32[] get-tuple-element(cc), index=1
  ROOT r = (f32[8,8]{1,0}, s32[]) tuple(d, g)
}
)hlo";
  std::unique_ptr<Module> m = parse(text);
  ASSERT_TRUE(m);
  EXPECT_EQ(through_proto(*m), print_hlo(*m));
}

TEST(HloProto, LiteralsInOtherLayoutsAndPackings) {
  // f32[2,3]{0,1}: the elements stand column by column.
  std::string shape = *write_shape_proto([] {
    Shape s = Shape::array(Dtype::kF32, {2, 3});
    s.layout = {0, 1};
    return s;
  }());
  std::string bytes = "\x0a" + std::string(1, static_cast<char>(shape.size())) + shape;
  float physical[] = {1, 4, 2, 5, 3, 6};
  bytes += "\x42\x18" + std::string(reinterpret_cast<char*>(physical), sizeof(physical));
  Result<Literal> l = read_literal_proto(bytes);
  ASSERT_TRUE(l.ok()) << l.status();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(l->get_float(i), i + 1);
  // s4[3] in two bytes.
  shape = *write_shape_proto(Shape::array(Dtype::kS4, {3}));
  bytes = "\x0a" + std::string(1, static_cast<char>(shape.size())) + shape + "\xaa\x01\x02\xf1\x07";
  l = read_literal_proto(bytes);
  ASSERT_TRUE(l.ok()) << l.status();
  EXPECT_EQ(l->get_int(0), 1);
  EXPECT_EQ(l->get_int(1), -1);
  EXPECT_EQ(l->get_int(2), 7);
}

TEST(HloProto, SnapshotHoldsArgumentsAndResult) {
  HloSnapshot s;
  s.module = parse("HloModule m\n\nENTRY e {\n  ROOT a = f32[2]{0} parameter(0)\n}\n");
  s.arguments.push_back(Literal::of<double>(Dtype::kF32, {2}, {1, 2}));
  s.result = Literal::tuple(
      {Literal::of<int>(Dtype::kPred, {2}, {1, 0}), Literal::scalar(Dtype::kBF16, 3)});
  s.platform = "cpu";
  Result<HloSnapshot> back = read_any_hlo(*write_hlo_snapshot(s));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->arguments[0], s.arguments[0]);
  EXPECT_EQ(*back->result, *s.result);
  EXPECT_EQ(back->platform, "cpu");
  EXPECT_TRUE(read_any_hlo(*write_hlo_proto(*s.module)).ok());
  EXPECT_TRUE(read_any_hlo(*write_hlo_module_proto(*s.module)).ok());
}

// XLA gives instructions ids with the computation's in the upper half and may name operands without it.
TEST(HloProto, OperandsByLocalId) {
  std::unique_ptr<Module> m = parse(
      "HloModule m\n\nENTRY e {\n  a = f32[2]{0} parameter(0)\n  b = f32[2]{0} negate(a)\n"
      "  ROOT c = f32[2]{0} add(a, b)\n}\n");
  const std::string plain = *write_hlo_module_proto(*m);
  std::string wide;
  protozero::pbf_writer module(wide);
  protozero::pbf_reader in(plain.data(), plain.size());
  while (in.next()) {
    if (in.tag() != 3) {
      if (in.wire_type() == protozero::pbf_wire_type::length_delimited)
        module.add_bytes(in.tag(), in.get_bytes());
      else module.add_int64(in.tag(), in.get_int64());
      continue;
    }
    protozero::pbf_writer computation(module, 3);
    protozero::pbf_reader c = in.get_message();
    while (c.next()) {
      if (c.tag() == 2) {
        const protozero::data_view bytes = c.get_view();
        std::string instr(bytes.data(), bytes.size());
        protozero::pbf_reader f(bytes);
        while (f.next(35)) {  // the last id holds
          const int64_t id = f.get_int64();
          protozero::pbf_writer(instr).add_int64(35, id | int64_t{7} << 32);
        }
        computation.add_message(2, instr);
      } else if (c.wire_type() == protozero::pbf_wire_type::length_delimited) {
        computation.add_bytes(c.tag(), c.get_bytes());
      } else {
        const auto tag = c.tag();
        const int64_t v = c.get_int64();
        computation.add_int64(tag, tag == 6 ? v | int64_t{7} << 32 : v);
      }
    }
  }
  Result<std::unique_ptr<Module>> back = read_hlo_module_proto(wide);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(print_hlo(**back), print_hlo(*m));
}

TEST(HloProto, BadBytesAreErrors) {
  std::unique_ptr<Module> m = parse(
      "HloModule m\n\nENTRY e {\n  a = f32[2]{0} parameter(0)\n  ROOT b = f32[2]{0} add(a, "
      "a)\n}\n");
  std::string good = *write_hlo_module_proto(*m);
  for (size_t n = 0; n < good.size(); ++n) {
    (void)read_hlo_module_proto(good.substr(0, n));
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[n] ^= static_cast<char>(1 << bit);
      (void)read_any_hlo(bad);
    }
  }
  EXPECT_FALSE(read_hlo_module_proto("").ok());
  EXPECT_FALSE(read_hlo_module_proto("\xff\xff\xff\xff").ok());
  std::string nested;
  for (int i = 0; i < 200; ++i) {
    std::string outer = "\x10\x0d\x22";
    size_t n = nested.size();
    do {
      outer += static_cast<char>((n & 127) | (n > 127 ? 128 : 0));
      n >>= 7;
    } while (n);
    nested = outer + nested;
  }
  EXPECT_FALSE(read_shape_proto(nested).ok());
}

TEST(HloSharding, TextRoundTrips) {
  for (const char* s :
       {"{replicated}", "{maximal device=3}", "{manual}", "{unknown}", "{devices=[2,1]0,1}",
        "{devices=[2,2]<=[4]}", "{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}",
        "{devices=[2,2]<=[4] last_tile_dims={manual, replicated}}",
        "{{replicated}, {devices=[2]0,1}}", "{replicated shard_as 2}",
        "{devices=[2]0,1 shard_like 1}"}) {
    Result<HloSharding> parsed = parse_sharding(s);
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(print_sharding(*parsed), s);
  }
  EXPECT_FALSE(parse_sharding("{devices=}").ok());
  EXPECT_FALSE(parse_sharding("{{{replicated}}}").ok());
}

}  // namespace
}  // namespace braze
