// SPDX-License-Identifier: Apache-2.0
// ScalarEmitter against the DAG's interpreter: random expressions, strides, conditions and masks,
// at every width and on every kind of target this machine can run.
#include <cstring>

#include <gtest/gtest.h>

#include "test/codegen/scalar_loop.h"
#include "test/scalar/random_expression.h"

namespace braze::codegen {
namespace {

using scalar::Cell;
using scalar::Graph;
using scalar::Op;
using scalar::Rng;
using scalar::Scalar;

constexpr int64_t kIndex = 1000;
constexpr int64_t kCount = 61;  // not a multiple of any width

void put(Dtype t, uint8_t* at, const Cell& c) {
  const uint64_t bits = is_float(t) ? scalar::encode(t, c.f) : static_cast<uint64_t>(c.i);
  std::memcpy(at, &bits, byte_size(t));
}

Cell take(Dtype t, const uint8_t* at) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, byte_size(t));
  Cell c;
  if (is_float(t)) c.f = scalar::decode(t, bits);
  else c.i = scalar::wrap(t, static_cast<int64_t>(bits));
  return c;
}

struct Memory : scalar::EvalEnv {
  struct Buffer {
    Dtype type;
    std::vector<uint8_t> bytes;
  };
  absl::flat_hash_map<int64_t, Buffer> buffers;
  int64_t index = 0;

  void add(int64_t id, Dtype t, int64_t n, Rng& rng) {
    Buffer& b = buffers[id];
    b.type = t;
    b.bytes.resize(n * byte_size(t));
    for (int64_t i = 0; i < n; ++i) put(t, &b.bytes[i * byte_size(t)], scalar::random_cell(rng, t));
  }
  Cell variable(int64_t) override { return {.i = index}; }
  Cell load(int64_t id, Dtype t, int64_t offset) override {
    const Buffer& b = buffers[id];
    const size_t at = static_cast<size_t>(offset) * byte_size(t);
    EXPECT_LE(at + byte_size(t), b.bytes.size()) << "load outside of buffer " << id;
    return at + byte_size(t) <= b.bytes.size() ? take(t, &b.bytes[at]) : Cell{};
  }
};

// Code generation is superlinear in the size of a loop body.
constexpr size_t kRootsPerLoop = 10;

std::vector<Target> targets() {
  std::vector<Target> list{host_target()};
  if (host_target().avx2) list.push_back(*target_named("avx2"));
  list.push_back(*target_named("baseline"));
  return list;
}

// Runs the roots compiled at `width`, and expects the interpreter's values.
void check_few(const Graph& g, const std::vector<Scalar>& roots, Memory& memory, int width,
           const Target& target) {
  ScalarLoop loop{g, roots, {}, kIndex, width, target};
  std::vector<void*> pointers;
  for (auto& [id, b] : memory.buffers) {
    loop.buffers.push_back(id);
    pointers.push_back(b.bytes.data());
  }
  std::vector<std::vector<uint8_t>> outputs;
  for (Scalar s : roots) outputs.emplace_back((kCount + 1) * byte_size(g.type(s)), 0xcd);
  for (auto& o : outputs) pointers.push_back(o.data());
  auto jit = Jit::create();
  ASSERT_TRUE(jit.ok()) << jit.status();
  auto f = loop.load(**jit);
  ASSERT_TRUE(f.ok()) << f.status();
  (*f)(pointers.data(), kCount);
  scalar::Interpreter interpreter(g, roots);
  for (memory.index = 0; memory.index < kCount; ++memory.index) {
    interpreter.run(memory);
    for (size_t k = 0; k < roots.size(); ++k) {
      const Dtype t = g.type(roots[k]);
      const Cell got = take(t, &outputs[k][memory.index * byte_size(t)]);
      ASSERT_TRUE(same(t, got, interpreter[roots[k]]))
          << "element " << memory.index << " width " << width << " on " << target.cpu << ": "
          << got.i << " " << got.f << ", not " << interpreter[roots[k]].i << " "
          << interpreter[roots[k]].f << "\n"
          << to_string(g, roots[k]);
    }
  }
  for (size_t k = 0; k < roots.size(); ++k)
    EXPECT_EQ(outputs[k][kCount * byte_size(g.type(roots[k]))], 0xcd) << "wrote past the end";
}

void check(const Graph& g, const std::vector<Scalar>& roots, Memory& memory, int width,
           const Target& target) {
  for (size_t from = 0; from < roots.size(); from += kRootsPerLoop) {
    const size_t to = std::min(roots.size(), from + kRootsPerLoop);
    check_few(g, {roots.begin() + from, roots.begin() + to}, memory, width, target);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(ScalarEmit, RandomExpressions) {
  Rng rng(5);
  for (int round = 0; round < 40; ++round) {
    Graph plain, g;
    scalar::Generator gen(plain, g, rng);
    std::vector<Scalar> roots;
    for (int k = 0; k < 12; ++k)
      roots.push_back(
          gen.expression(scalar::pick(rng, scalar::kExpressions), 1 + int(rng() % 4)).made);
    const Scalar i = g.index_var(kIndex, kCount);
    Memory memory;
    std::vector<int64_t> ids;
    std::vector<Scalar> loads;
    for (const auto& [id, t] : gen.vars) {
      if (memory.buffers.contains(id)) continue;
      memory.add(id, t, kCount, rng);
      ids.push_back(id);
      loads.push_back(g.load(t, id, i));
    }
    for (Scalar& s : roots) s = g.substitute(s, ids, loads);
    const int widths[] = {1, 4, 8, 16};
    for (const Target& target : targets()) {
      // The operations without instructions become many calls: fewer rounds of those.
      if (!target.avx2 && round % 8 != 0) continue;
      check(g, roots, memory, widths[(round + target.avx512) % 4], target);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(ScalarEmit, EveryOperation) {
  // Each operation alone, so that a failure names it, on all types.
  Rng rng(6);
  for (Dtype t : {Dtype::kS4, Dtype::kU2, Dtype::kS8, Dtype::kU8, Dtype::kS16, Dtype::kU16,
                  Dtype::kS32, Dtype::kU32, Dtype::kS64, Dtype::kU64, Dtype::kF32, Dtype::kF64}) {
    Graph g;
    Memory memory;
    for (int id = 0; id < 3; ++id) memory.add(id, t, kCount, rng);
    const Scalar i = g.index_var(kIndex, kCount);
    const Scalar x = g.load(t, 0, i), y = g.load(t, 1, i), z = g.load(t, 2, i);
    std::vector<Scalar> roots;
    const auto all = [&](std::initializer_list<Op> ops) {
      for (Op op : ops) roots.push_back(g.make(op, t, x, y));
    };
    all({Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kRem, Op::kMin, Op::kMax});
    for (double c : {0.0, -0.0, 3.0, 7.0}) {
      roots.push_back(g.max(x, g.constant(t, c)));
      roots.push_back(g.min(x, g.constant(t, c)));
      roots.push_back(g.div(x, g.constant(t, c)));
      roots.push_back(g.rem(x, g.constant(t, c)));
    }
    for (Op op : {Op::kNeg, Op::kAbs}) roots.push_back(g.make(op, t, x));
    if (is_float(t)) {
      for (Op op : {Op::kSqrt, Op::kFloor, Op::kCeil, Op::kRoundEven, Op::kTrunc})
        roots.push_back(g.make(op, t, x));
      roots.push_back(g.fma(x, y, z));
      const Dtype e = t == Dtype::kF32 ? Dtype::kS32 : Dtype::kS64;
      roots.push_back(g.make(Op::kLdexp, t, x, g.cast(e, y)));
      roots.push_back(g.make(Op::kLdexp, t, x, g.make(Op::kFloor, t, y)));
    } else {
      all({Op::kAnd, Op::kOr, Op::kXor, Op::kShl, Op::kShrA, Op::kShrL, Op::kMulHi});
      for (Op op : {Op::kNot, Op::kPopcnt, Op::kClz}) roots.push_back(g.make(op, t, x));
      for (Op op : {Op::kShl, Op::kShrA, Op::kShrL})
        roots.push_back(g.make(op, t, x, g.constant_int(t, 1)));
    }
    for (Op op : {Op::kEq, Op::kNe, Op::kLt, Op::kLe}) roots.push_back(g.compare(op, x, y));
    for (Dtype to : scalar::kAll) roots.push_back(g.cast(to, x));
    for (const Target& target : targets()) {
      for (int width : {1, 8}) {
        check(g, roots, memory, width, target);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(ScalarEmit, NarrowFloats) {
  Rng rng(7);
  Graph g;
  Memory memory;
  std::vector<Scalar> roots;
  const Scalar i = g.index_var(kIndex, kCount);
  int64_t id = 0;
  for (Dtype t : scalar::kAll) {
    if (!scalar::is_narrow_float(t)) continue;
    memory.add(id, t, kCount, rng);
    memory.add(id + 1, t, kCount, rng);
    const Scalar x = g.load(t, id, i), y = g.load(t, id + 1, i);
    id += 2;
    roots.push_back(g.add(x, y));
    roots.push_back(g.mul(g.add(x, x), y));
    roots.push_back(g.select(g.lt(x, y), x, y));
    roots.push_back(g.cast(Dtype::kF64, x));
    roots.push_back(g.cast(Dtype::kS32, x));
  }
  for (const Target& target : targets())
    check(g, roots, memory, 8, target);
}

TEST(ScalarEmit, AddressesAndConditions) {
  Rng rng(8);
  for (Dtype t : {Dtype::kPred, Dtype::kS8, Dtype::kBF16, Dtype::kF32, Dtype::kS64}) {
    Graph g;
    Memory memory;
    memory.add(0, t, kCount * 5, rng);
    memory.add(1, Dtype::kU8, kCount, rng);
    const Scalar i = g.index_var(kIndex, kCount);
    const auto c = [&](int64_t v) { return g.constant_int(Dtype::kS64, v); };
    const Scalar any = g.cast(Dtype::kS64, g.load(Dtype::kU8, 1, i));
    const Scalar some = g.lt(g.load(Dtype::kU8, 1, i), g.constant_int(Dtype::kU8, 128));
    const Scalar none = g.eq(g.load(Dtype::kU8, 1, c(0)), g.load(Dtype::kU8, 1, c(1)));
    const Scalar zero = g.constant_int(t, 0);
    std::vector<Scalar> roots;
    const Scalar last = c(kCount - 1);
    for (Scalar offset :
         {c(3), i, g.sub(last, i), g.mul(i, c(2)), g.add(g.mul(i, c(3)), c(1)), g.mul(i, c(4)),
          g.mul(i, c(5)), any, g.rem(i, c(7)), g.div(i, c(3)), g.sub(c(4 * kCount), g.mul(i, c(3))),
          g.mul(g.rem(i, c(7)), g.rem(i, c(5)))}) {
      roots.push_back(g.load(t, 0, offset));
      // Where the condition is false the address may be anywhere.
      for (Scalar p : {some, none, g.lt(i, c(9))}) {
        const Scalar wild = g.select(p, offset, g.add(offset, c(int64_t{1} << 40)));
        roots.push_back(g.select(p, g.load(t, 0, wild, p), zero));
        roots.push_back(g.select(p, g.load(t, 0, offset, p), zero));
      }
    }
    for (const Target& target : targets())
      for (int width : {1, 8}) check(g, roots, memory, width, target);
  }
}

TEST(ScalarEmit, Stores) {
  Rng rng(10);
  for (Dtype t : {Dtype::kPred, Dtype::kU8, Dtype::kF16, Dtype::kF32, Dtype::kC64 /* as f64 */}) {
    if (t == Dtype::kC64) t = Dtype::kF64;
    for (const Target& target : targets()) {
      for (int width : {1, 8, 16}) {
        for (bool conditional : {false, true}) {
          Graph g;
          Memory memory;
          memory.add(0, t, kCount, rng);
          memory.add(1, Dtype::kU8, kCount, rng);
          const Scalar i = g.index_var(kIndex, kCount);
          const auto c = [&](int64_t v) { return g.constant_int(Dtype::kS64, v); };
          // Contiguous, reversed, strided, permuted by a computed index.
          const std::vector<Scalar> offsets = {i, g.sub(c(kCount - 1), i), g.mul(i, c(3)),
                                               g.rem(g.mul(i, c(7)), c(kCount))};
          const std::vector<Scalar> roots(offsets.size(), g.load(t, 0, i));
          ScalarLoop loop{g, roots, {0, 1}, kIndex, width, target, offsets};
          const Scalar p = g.lt(g.load(Dtype::kU8, 1, i), g.constant_int(Dtype::kU8, 99));
          if (conditional) loop.options.condition = p;
          const size_t bytes = (3 * kCount + 1) * byte_size(t);
          std::vector<std::vector<uint8_t>> got(roots.size(), std::vector<uint8_t>(bytes, 0xcd));
          auto want = got;
          std::vector<void*> pointers{memory.buffers[0].bytes.data(),
                                      memory.buffers[1].bytes.data()};
          for (auto& o : got) pointers.push_back(o.data());
          auto jit = std::move(*Jit::create());
          auto f = loop.load(*jit);
          ASSERT_TRUE(f.ok()) << f.status();
          (*f)(pointers.data(), kCount);
          for (memory.index = 0; memory.index < kCount; ++memory.index) {
            if (conditional && !evaluate(g, p, memory).i) continue;
            for (size_t k = 0; k < roots.size(); ++k)
              put(t, &want[k][evaluate(g, offsets[k], memory).i * byte_size(t)],
                  evaluate(g, roots[k], memory));
          }
          for (size_t k = 0; k < roots.size(); ++k)
            ASSERT_EQ(got[k], want[k]) << name(t) << " store " << k << " width " << width << " on "
                                       << target.cpu << (conditional ? " conditional" : "");
        }
      }
    }
  }
}

TEST(ScalarEmit, NonTemporalStores) {
  Graph g;
  const Scalar i = g.index_var(kIndex, 64);
  ScalarLoop loop{g, {g.load(Dtype::kF32, 0, i)}, {0}, kIndex, 16, host_target()};
  loop.options.non_temporal = true;
  auto text = loop.text();
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_NE(text->find("movnt"), std::string::npos);
}

// A vector accumulator, and a scope for each loop body.
TEST(ScalarEmit, Accumulators) {
  Graph g;
  const Scalar i = g.index_var(kIndex, 64), acc = g.var(Dtype::kF32, 7);
  const Scalar next = g.add(g.mul(acc, g.load(Dtype::kF32, 1, g.constant_int(Dtype::kS64, 0))),
                            g.load(Dtype::kF32, 0, i));
  llvm::LLVMContext context;
  const Target& target = host_target();
  auto m = make_module(context, "accumulate", target);
  llvm::IRBuilder<> b(context);
  auto* type =
      llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getPtrTy()}, false);
  auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f", *m);
  auto* entry = llvm::BasicBlock::Create(context, "entry", f);
  auto* body = llvm::BasicBlock::Create(context, "body", f);
  auto* done = llvm::BasicBlock::Create(context, "done", f);
  b.SetInsertPoint(entry);
  ScalarEmitter e(b, g, target, 8, kIndex);
  e.bind_buffer(0, {.base = f->getArg(0)});
  e.bind_buffer(1, {.base = f->getArg(1), .invariant = true});
  e.bind_buffer(2, {.base = f->getArg(2)});
  const int64_t inner[] = {kIndex, 7};
  const Scalar roots[] = {next};
  e.hoist(roots, inner);
  b.CreateBr(body);
  b.SetInsertPoint(body);
  auto* vector = llvm::FixedVectorType::get(b.getFloatTy(), 8);
  auto* index = b.CreatePHI(b.getInt64Ty(), 2);
  auto* sum = b.CreatePHI(vector, 2);
  index->addIncoming(b.getInt64(0), entry);
  sum->addIncoming(llvm::Constant::getNullValue(vector), entry);
  const size_t scope = e.open_scope();
  e.bind_var(kIndex, index);
  e.bind_var(7, sum);
  EXPECT_FALSE(e.is_uniform(acc));
  llvm::Value* v = e.emit(next);
  e.close_scope(scope);
  EXPECT_TRUE(e.is_uniform(acc));
  auto* up = b.CreateAdd(index, b.getInt64(8));
  index->addIncoming(up, b.GetInsertBlock());
  sum->addIncoming(v, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(up, b.getInt64(64)), body, done);
  b.SetInsertPoint(done);
  b.CreateAlignedStore(v, f->getArg(2), llvm::Align(4));
  b.CreateRetVoid();
  auto object = compile(*m, target);
  ASSERT_TRUE(object.ok()) << object.status();
  auto jit = std::move(*Jit::create());
  ASSERT_TRUE(jit->add_object(*object).ok());
  auto function = jit->function<void(float*, float*, float*)>("f");
  ASSERT_TRUE(function.ok()) << function.status();
  float x[64], factor = 0.5f, out[8], want[8] = {};
  for (int k = 0; k < 64; ++k) x[k] = static_cast<float>(k % 11);
  (*function)(x, &factor, out);
  for (int k = 0; k < 64; ++k) want[k % 8] = want[k % 8] * factor + x[k];
  for (int k = 0; k < 8; ++k) EXPECT_EQ(out[k], want[k]);
}

TEST(ScalarEmit, DeepExpressions) {
  Rng rng(9);
  Graph g;
  Memory memory;
  memory.add(0, Dtype::kF32, kCount, rng);
  const Scalar x = g.load(Dtype::kF32, 0, g.index_var(kIndex, kCount));
  Scalar s = x;
  for (int k = 0; k < 2000; ++k) s = g.add(g.mul(s, g.constant(Dtype::kF32, 0.999)), x);
  check(g, {s}, memory, 16, host_target());
}

TEST(Jit, CompilesInParallelAndLinksRuntimeFunctions) {
  const auto build = [](int64_t k) -> Result<std::string> {
    if (k == 7) return invalid("seven");
    llvm::LLVMContext context;
    auto m = make_module(context, "m", host_target());
    llvm::IRBuilder<> b(context);
    auto* type = llvm::FunctionType::get(b.getInt64Ty(), {b.getInt64Ty()}, false);
    auto* f = llvm::Function::Create(type, llvm::Function::ExternalLinkage, str_cat("f", k), *m);
    auto callee = m->getOrInsertFunction("twice", type);
    b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", f));
    b.CreateRet(b.CreateAdd(b.CreateCall(callee, {f->getArg(0)}), b.getInt64(k)));
    return compile(*m, host_target());
  };
  auto objects = compile_all(6, 3, build);
  ASSERT_TRUE(objects.ok()) << objects.status();
  EXPECT_FALSE(compile_all(9, 2, build).ok());
  auto jit = std::move(*Jit::create());
  int64_t (*twice)(int64_t) = [](int64_t v) { return 2 * v; };
  const HostSymbol symbol{"twice", reinterpret_cast<const void*>(twice)};
  ASSERT_TRUE(jit->define({&symbol, 1}).ok());
  for (const std::string& o : *objects) ASSERT_TRUE(jit->add_object(o).ok());
  for (int64_t k = 0; k < 6; ++k) {
    auto f = jit->function<int64_t(int64_t)>(str_cat("f", k));
    ASSERT_TRUE(f.ok()) << f.status();
    EXPECT_EQ((*f)(20), 40 + k);
  }
}

TEST(Jit, ReportsErrors) {
  auto jit = Jit::create();
  ASSERT_TRUE(jit.ok());
  EXPECT_FALSE((*jit)->lookup("nothing").ok());
  Status s = (*jit)->add_object("not an object");
  if (s.ok()) s = (*jit)->lookup("kernel").status();
  EXPECT_FALSE(s.ok());
  EXPECT_FALSE(target_named("pentium").ok());
}

}  // namespace
}  // namespace braze::codegen
