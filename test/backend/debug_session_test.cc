// SPDX-License-Identifier: Apache-2.0
// Dumps, checks and fuel of a compilation, asked for by CompileOptions::debug.
#include "backend/debug_session.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "backend/compile.h"
#include "backend/memory_report.h"
#include "backend/pipeline.h"
#include "backend/read_module.h"
#include "base/debug_output.h"
#include "base/npy.h"
#include "frontend/hlo_proto.h"
#include "text/parse.h"

namespace braze {
namespace {

constexpr std::string_view kProgram =
    "HloModule two.steps\n"
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n"
    "ENTRY main { x = f32[8,16] parameter(0)\n y = f32[16,4] parameter(1)\n"
    " c = f32[8,16] copy(x)\n e = f32[8,16] exponential(c)\n"
    " big = f32[12] constant({1,2,3,4,5,6,7,8,9,10,11,12})\n"
    " d = f32[8,4] dot(e, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
    " z = f32[] constant(0)\n r = f32[8] reduce(d, z), dimensions={1}, to_apply=add\n"
    " ROOT t = (f32[8], f32[12]) tuple(r, big) }\n";

std::unique_ptr<Module> program() {
  auto m = read_module(kProgram);
  EXPECT_TRUE(m.ok()) << m.status();
  return std::move(*m);
}

// A fresh folder that goes with the test.
struct Folder {
  std::string path;
  Folder() {
    std::string t = (std::filesystem::temp_directory_path() / "braze_dump_XXXXXX").string();
    path = mkdtemp(t.data());
  }
  ~Folder() { std::filesystem::remove_all(path); }
  // Names with the module's number left out.
  std::set<std::string> names() const {
    std::set<std::string> out;
    for (auto& f : std::filesystem::directory_iterator(path)) {
      std::string n = f.path().filename().string();
      out.insert(n.substr(0, 7) == "module_" ? n.substr(12) : n);
    }
    return out;
  }
};

Literal run(Executable& exe) {
  std::vector<Literal> args;
  for (const Shape& s : exe.parameters()) {
    Literal l(s);
    for (int64_t i = 0; i < l.elements(); ++i) l.set_float(i, 0.01 * static_cast<double>(i % 31));
    args.push_back(std::move(l));
  }
  auto v = exe.run(args);
  EXPECT_TRUE(v.ok()) << v.status();
  return v.ok() ? *v : Literal();
}

std::unique_ptr<Executable> compiled(const Debug& d) {
  CompileOptions o;
  o.debug = &d;
  auto exe = compile(program(), o);
  EXPECT_TRUE(exe.ok()) << exe.status();
  return exe.ok() ? std::move(*exe) : nullptr;
}

TEST(Dumps, FilesAreNamedAsUsersKnowThem) {
  Folder folder;
  Debug d =
      parse_debug("", "--xla_dump_to=" + folder.path +
                          " --xla_dump_hlo_as_text --xla_dump_hlo_as_proto --xla_dump_hlo_as_dot"
                          " --xla_dump_hlo_as_html --xla_dump_hlo_pass_re=clean");
  ASSERT_NE(compiled(d), nullptr);
  std::set<std::string> names = folder.names();
  for (const char* stage :
       {"before_optimizations", "cpu_after_optimizations", "0003.cpu.after_cleanup.before_control"})
    for (const char* form : {"txt", "hlo.pb", "dot", "html"})
      EXPECT_TRUE(names.contains(std::string("two.steps.") + stage + "." + form)) << stage << form;
  for (const char* code : {"ir-no-opt.ll", "ir-with-opt.ll", "o", "s",
                           "cpu_after_optimizations-buffer-assignment.txt"})
    EXPECT_TRUE(names.contains(std::string("two.steps.") + code)) << code;
}

TEST(Dumps, EveryModuleReadsAndRunsAgain) {
  Folder folder;
  Debug d = parse_debug("text,proto,pass=.*,dump=" + folder.path, "");
  auto exe = compiled(d);
  ASSERT_NE(exe, nullptr);
  Literal want = run(*exe);
  Debug off;
  int modules = 0;
  for (auto& f : std::filesystem::directory_iterator(folder.path)) {
    std::string name = f.path().filename().string();
    bool module = name.find("_optimizations.") != std::string::npos ||
                  name.find(".after_") != std::string::npos;
    if (!module) continue;
    ++modules;
    auto bytes = read_file(f.path().string());
    ASSERT_TRUE(bytes.ok());
    auto m = read_module(*bytes);
    ASSERT_TRUE(m.ok()) << name << ": " << m.status();
    CompileOptions o;
    o.debug = &off;
    auto again = compile(std::move(*m), o);
    ASSERT_TRUE(again.ok()) << name << ": " << again.status();
    EXPECT_TRUE(run(**again) == want) << name;
  }
  EXPECT_GE(modules, 6);
}

TEST(Dumps, ModulesAreChosenByName) {
  Folder folder;
  Debug d = parse_debug("module=other,dump=" + folder.path, "");
  ASSERT_NE(compiled(d), nullptr);
  EXPECT_TRUE(folder.names().empty());
}

TEST(Dumps, LargeConstantsAreLeftOutOnRequestOnly) {
  for (bool large : {true, false}) {
    Folder folder;
    Debug d = parse_debug("", "--xla_dump_to=" + folder.path +
                                  " --xla_dump_large_constants=" + (large ? "true" : "false"));
    ASSERT_NE(compiled(d), nullptr);
    for (auto& f : std::filesystem::directory_iterator(folder.path)) {
      if (f.path().string().find("before_optimizations.txt") == std::string::npos) continue;
      auto text = read_file(f.path().string());
      ASSERT_TRUE(text.ok());
      EXPECT_EQ(text->find("{...}") == std::string::npos, large);
      EXPECT_EQ(read_module(*text).ok(), large);
      ReadOptions fill;
      fill.fill_elided = true;
      EXPECT_TRUE(read_module(*text, fill).ok());
    }
  }
}

TEST(Dumps, SnapshotsHoldArgumentsAndResult) {
  Folder folder;
  Debug d = parse_debug("snapshots,dump=" + folder.path, "");
  auto exe = compiled(d);
  ASSERT_NE(exe, nullptr);
  Literal want = run(*exe);
  bool found = false;
  for (auto& f : std::filesystem::directory_iterator(folder.path)) {
    if (f.path().string().find("snapshot.0.pb") == std::string::npos) continue;
    found = true;
    auto bytes = read_file(f.path().string());
    ASSERT_TRUE(bytes.ok());
    auto s = read_any_hlo(*bytes);
    ASSERT_TRUE(s.ok()) << s.status();
    EXPECT_EQ(s->arguments.size(), 2u);
    ASSERT_TRUE(s->result.has_value());
    EXPECT_TRUE(*s->result == want);
  }
  EXPECT_TRUE(found);
}

TEST(Dumps, AFolderThatCannotBeMadeIsNoError) {
  Debug d = parse_debug("dump=/proc/no/such/folder", "");
  EXPECT_NE(compiled(d), nullptr);
}

TEST(Ladder, EachLevelSaysMore) {
  size_t last = 0;
  for (int level = 1; level <= 6; ++level) {
    std::string said;
    debug_output::set([&](std::string_view t) { said += t; });
    Debug d;
    d.level = level;
    EXPECT_NE(compiled(d), nullptr);
    debug_output::set(nullptr);
    EXPECT_GT(said.size(), last) << level;
    last = said.size();
    const char* marks[] = {"",           "compiled in", "bound by", "// two.steps after",
                           "parallel v", "define ",     " fuse "};
    EXPECT_NE(said.find(marks[level]), std::string::npos) << marks[level];
  }
}

TEST(Check, PassesKeepTheResult) {
  Debug d;
  d.check = true;
  CompileOptions o;
  o.debug = &d;
  std::vector<std::string> verdicts;
  o.checked = [&](std::string_view, std::string_view v) { verdicts.emplace_back(v); };
  ASSERT_TRUE(compile(program(), o).ok());
  EXPECT_EQ(verdicts.size(), standard_pipeline().size());
  for (const std::string& v : verdicts) EXPECT_NE(v.find("same bits"), std::string::npos) << v;
}

TEST(Fuel, AnyAmountGivesTheSameResult) {
  Debug off;
  Literal want = run(*compiled(off));
  CompileOptions o;
  for (int64_t fuel = 0; fuel < 6; ++fuel) {
    Debug d;
    d.fuel = fuel;
    auto exe = compiled(d);
    ASSERT_NE(exe, nullptr);
    EXPECT_LE(exe->stats().fuel_used, fuel);
    Literal got = run(*exe);
    ASSERT_EQ(got.parts().size(), 2u);
    for (int64_t i = 0; i < 8; ++i)
      EXPECT_NEAR(got.parts()[0].get_float(i), want.parts()[0].get_float(i), 1e-4);
    EXPECT_EQ(exe->stats().last_rewrite.empty(), fuel == 0);
  }
}

TEST(Passes, AreChosenByName) {
  CompileOptions o;
  o.passes = "cleanup";
  auto m = program();
  ASSERT_TRUE(optimize(*m, o).ok());
  for (auto& i : m->entry()->instrs()) {
    EXPECT_NE(i->op, Op::kCopy);
    EXPECT_NE(i->op, Op::kFusion);
  }
  o.passes = "cleanup,nonsense";
  Status s = optimize(*m, o);
  EXPECT_NE(s.message().find("choose from inline"), absl::string_view::npos) << s;
  Debug d = parse_debug("", "--xla_disable_hlo_passes=fuse,expand");
  o.passes.clear();
  o.debug = &d;
  m = program();
  ASSERT_TRUE(optimize(*m, o).ok());
  for (auto& i : m->entry()->instrs()) EXPECT_NE(i->op, Op::kFusion);
}

TEST(MemoryReport, LivesCoverEveryAccess) {
  Debug off;
  auto exe = compiled(off);
  ASSERT_NE(exe, nullptr);
  const Plan& p = *exe->plan();
  std::vector<BufferLife> lives = buffer_lives(p);
  ASSERT_EQ(lives.size(), p.buffers.size());
  for (size_t a = 0; a < lives.size(); ++a) {
    EXPECT_LE(lives[a].first, lives[a].last);
    // Two values that live together never share bytes, unless one is made in the other's place.
    for (size_t b = 0; b < a; ++b) {
      const PlanBuffer &x = p.buffers[a], &y = p.buffers[b];
      if (x.kind != PlanBuffer::Kind::kArena || y.kind != PlanBuffer::Kind::kArena) continue;
      bool together = lives[a].first < lives[b].last && lives[b].first < lives[a].last;
      bool apart = x.offset + x.shape.bytes() <= y.offset || y.offset + y.shape.bytes() <= x.offset;
      EXPECT_TRUE(!together || apart) << a << " " << b;
    }
  }
  EXPECT_LE(arena_peak(p).bytes, p.arena_bytes);
  EXPECT_NE(memory_report(p).find("arena"), std::string::npos);
}

}  // namespace
}  // namespace braze
