// SPDX-License-Identifier: Apache-2.0
// Programs compiled ahead of time: linked by the system's compiler and loaded, they give the bits that the same
// program gives in the compiling process; the headers compile as C and as C++.
#include "aot/library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backend/inputs.h"
#include "backend/read_module.h"
#include "braze/runtime.h"
#include "spmd/expand.h"
#include "test/fuzz/random_module.h"
#include "text/parse.h"
#include "text/print.h"

namespace braze {
namespace {

namespace fs = std::filesystem;

std::string file_text(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A folder of its own that goes away.
class Folder {
 public:
  Folder() {
    std::string form = (fs::temp_directory_path() / "braze_aot_XXXXXX").string();
    path_ = mkdtemp(form.data());
  }
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }
  // The output of a command that runs here.
  std::string run(const std::string& command) const {
    const std::string all = str_cat("cd '", path_.string(), "' && ", command, " > said 2>&1");
    const int code = std::system(all.c_str());
    return (code ? str_cat("exit ", code, ": ") : std::string()) + file_text(path_ / "said");
  }

 private:
  fs::path path_;
};

using RunFunction = int32_t(const void* const*, void* const*, void*, const braze_runtime*);

std::vector<const void*> leaf_pointers(absl::Span<const Literal> args) {
  std::vector<const void*> out;
  for (const Literal& a : args) {
    if (a.shape().is_tuple()) {
      for (const void* p : leaf_pointers(a.parts())) out.push_back(p);
    } else {
      out.push_back(a.bytes());
    }
  }
  return out;
}

// Many programs in one shared object.
class Programs {
 public:
  // False: it cannot be compiled ahead of time, which `why` tells.
  bool add(const Module& m, const std::string& name, std::string* why) {
    auto made = aot::compile_library(m.clone(), {name, "", target_});
    if (!made.ok()) {
      *why = std::string(made.status().message());
      return false;
    }
    folder_.write(name + ".a", made->archive);
    libraries_[name] = *std::move(made);
    return true;
  }
  void load() {
    ASSERT_EQ(folder_.run("cc -shared -o all.so -Wl,--whole-archive *.a -Wl,--no-whole-archive -Wl,-z,defs -lm"), "");
    handle_ = dlopen((folder_ / "all.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle_, nullptr) << dlerror();
  }
  // One literal per result leaf.
  int32_t run(const std::string& name, absl::Span<const Literal> args, const braze_runtime* runtime,
              std::vector<Literal>* results) {
    const aot::Library& l = libraries_[name];
    auto* f = reinterpret_cast<RunFunction*>(dlsym(handle_, (name + "_run").c_str()));
    if (!f) return -1;
    results->clear();
    std::vector<void*> out;
    for (const Shape& s : l.results) results->push_back(Literal(s));
    for (Literal& r : *results) out.push_back(r.shape().is_array() ? r.mutable_bytes() : nullptr);
    const int64_t threads = runtime ? runtime->threads : 1;
    std::vector<char> temp(static_cast<size_t>(l.temp_bytes * threads));
    return f(leaf_pointers(args).data(), out.data(), temp.data(), runtime);
  }
  const aot::Library& library(const std::string& name) { return libraries_[name]; }
  explicit Programs(std::string target = "host") : target_(std::move(target)) {}
  ~Programs() {
    if (handle_) dlclose(handle_);
  }

 private:
  Folder folder_;
  std::string target_;
  void* handle_ = nullptr;
  std::map<std::string, aot::Library> libraries_;
};

void collect(const Literal& l, std::vector<Literal>* out) {
  if (!l.shape().is_tuple()) return out->push_back(l);
  for (const Literal& p : l.parts()) collect(p, out);
}

void expect_same_bits(Programs& p, const std::string& name, const Module& m, absl::Span<const Literal> args,
                      const std::string& target = "host") {
  static const Debug off;
  CompileOptions o;
  o.debug = &off;
  o.target = target;
  auto exe = compile(m.clone(), o);
  ASSERT_TRUE(exe.ok()) << exe.status();
  auto value = (*exe)->run(args);
  if (!value.ok()) return;  // it waits for feeds
  std::vector<Literal> want, got;
  collect(*value, &want);
  for (const braze_runtime* runtime : {braze_default_runtime(), static_cast<const braze_runtime*>(nullptr)}) {
    const int32_t code = p.run(name, args, runtime, &got);
    if (!runtime && p.library(name).library_calls > 0) {
      // Without a runtime a run ends at its first library call; one inside a branch may not be reached.
      EXPECT_TRUE(code == BRAZE_NEEDS_RUNTIME || code == BRAZE_OK) << code;
      if (code != BRAZE_OK) continue;
    }
    ASSERT_EQ(code, BRAZE_OK) << (runtime ? runtime->last_error(runtime) : "") << "\n" << print_hlo(m);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      if (!got[i].shape().is_array() || got[i].size_bytes() == 0) continue;
      EXPECT_EQ(std::memcmp(got[i].bytes(), want[i].bytes(), static_cast<size_t>(got[i].size_bytes())), 0)
          << "result " << i << "\n" << print_hlo(m);
    }
  }
}

TEST(AheadOfTime, RandomProgramsHaveTheBitsOfTheJit) {
  for (const std::string target : {"host", "baseline"}) {
    std::vector<fuzz::Case> cases;
    Programs programs(target);
    for (uint64_t seed = 1; cases.size() < 60 && seed < 200; ++seed) {
      fuzz::Case c = fuzz::random_case(seed);
      if (!c.module || !spmd::to_one_device(*c.module).ok()) continue;
      std::string why;
      if (programs.add(*c.module, str_cat("p", cases.size()), &why)) cases.push_back(std::move(c));
    }
    ASSERT_EQ(cases.size(), 60u);
    programs.load();
    for (size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(str_cat(target, " program ", i));
      expect_same_bits(programs, str_cat("p", i), *cases[i].module, cases[i].args, target);
    }
  }
}

TEST(AheadOfTime, ModelsHaveTheBitsOfTheJit) {
  const fs::path models = fs::path(BRAZE_ROOT) / "../shared/models";
  if (!fs::is_directory(models)) GTEST_SKIP() << "../shared/models is absent";
  std::vector<std::pair<std::string, std::unique_ptr<Module>>> all;
  Programs programs;
  for (const auto& e : fs::directory_iterator(models)) {
    const std::string name = e.path().filename();
    if (!name.ends_with("_tiny")) continue;
    auto m = read_module(file_text(e.path() / (name + ".mlir")));
    if (!m.ok() || !spmd::to_one_device(**m).ok()) continue;
    std::string why;
    if (!programs.add(**m, str_cat("m", all.size()), &why)) {
      EXPECT_TRUE(why.find("decides sizes while it runs") != std::string::npos ||
                  why.find("its sizes must be known") != std::string::npos) << name << ": " << why;
      continue;
    }
    all.emplace_back(name, std::move(*m));
  }
  ASSERT_GT(all.size(), 50u);
  programs.load();
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].first);
    std::vector<Literal> args;
    for (const Instr* p : all[i].second->entry()->params()) {
      auto a = make_input(p->shape, "random:1", static_cast<int64_t>(args.size()));
      ASSERT_TRUE(a.ok()) << a.status();
      args.push_back(*std::move(a));
    }
    expect_same_bits(programs, str_cat("m", i), *all[i].second, args);
  }
}

std::unique_ptr<Module> module_of(const std::string& text) {
  auto m = parse_hlo(text);
  EXPECT_TRUE(m.ok()) << m.status();
  return *std::move(m);
}

constexpr char kAxpy[] =
    "HloModule axpy\nENTRY e { a = f32[] parameter(0)\n x = f32[5] parameter(1)\n y = f32[5] parameter(2)\n"
    " b = f32[5] broadcast(a), dimensions={}\n p = f32[5] multiply(b, x)\n ROOT r = f32[5] add(p, y) }\n";

TEST(AheadOfTime, ACProgram) {
  const Folder folder;
  auto made = aot::compile_library(module_of(kAxpy), {"axpy", "", "baseline"});
  ASSERT_TRUE(made.ok()) << made.status();
  folder.write("axpy.a", made->archive);
  folder.write("axpy.h", made->header);
  folder.write("app.c", R"(
#include "axpy.h"
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  float a = 2, x[5] = {1, 2, 3, 4, 5}, y[5] = {10, 10, 10, 10, 10}, r[5];
  const void* in[axpy_argument_count] = {&a, x, y};
  void* out[axpy_result_count] = {r};
  void* temp = malloc(axpy_temp_bytes(1));
  int code = axpy_runs_here() ? axpy_run(in, out, temp, 0) : 9;
  printf("%d %g %g %g\n", code, r[0], r[1], r[4]);
  free(temp);
  return code;
}
)");
  EXPECT_EQ(folder.run("cc -std=c99 -Wall -Wextra -Werror -pedantic app.c axpy.a -o app -lm && ./app"), "0 12 14 20\n");
}

TEST(AheadOfTime, ACppProgram) {
  const Folder folder;
  auto made = aot::compile_library(module_of(kAxpy), {"axpy", "my::lib::Axpy", "host"});
  ASSERT_TRUE(made.ok()) << made.status();
  folder.write("axpy.a", made->archive);
  folder.write("axpy.h", made->header);
  folder.write("app.cc", R"(
#include "axpy.h"
#include "braze/runtime.h"
#include <cstdio>
int main() {
  my::lib::Axpy axpy;
  *axpy.arg0_data() = 3;
  const float x[5] = {1, 2, 3, 4, 5};
  axpy.set_arg1_data(x);
  for (int i = 0; i < 5; ++i) axpy.arg2_data()[i] = 1;
  float r[5];
  if (!axpy.Run()) return 1;
  std::printf("%g %g\n", axpy.result0_data()[0], axpy.result0_data()[4]);
  axpy.set_result0_data(r);
  *axpy.arg0_data() = 4;
  if (!axpy.Run()) return 1;
  std::printf("%g %g\n", r[0], r[4]);
  axpy.set_arg1_data(nullptr);
  const bool ran = axpy.Run();
  std::printf("%d %s\n", ran, axpy.error_msg());
}
)");
  const std::string include = std::string(BRAZE_ROOT) + "/include";
  EXPECT_EQ(folder.run("c++ -std=c++11 -Wall -Wextra -Werror -I'" + include + "' app.cc axpy.a -o app && ./app"),
            "4 16\n5 21\n0 an argument has no memory\n");
}

TEST(AheadOfTime, LibraryCallsWantARuntime) {
  const std::string sort =
      "HloModule s\nlt { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT }\n"
      "ENTRY e { x = f32[5] parameter(0)\n ROOT r = f32[5] sort(x), dimensions={0}, to_apply=lt }\n";
  Programs programs;
  std::string why;
  ASSERT_TRUE(programs.add(*module_of(sort), "sorted", &why)) << why;
  EXPECT_NE(programs.library("sorted").header.find("sorted_needs_runtime = 1"), std::string::npos);
  programs.load();
  const Literal x = Literal::of(Dtype::kF32, {5}, {3.0, 1.0, 2.0, 5.0, 4.0});
  std::vector<Literal> got;
  EXPECT_EQ(programs.run("sorted", {x}, nullptr, &got), BRAZE_NEEDS_RUNTIME);
  braze_runtime* two = braze_runtime_create(2);
  ASSERT_NE(two, nullptr);
  EXPECT_EQ(two->threads, 2);
  for (int k = 0; k < 3; ++k) {
    ASSERT_EQ(programs.run("sorted", {x}, two, &got), BRAZE_OK);
    for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(got[0].get_float(i), static_cast<double>(i + 1));
  }
  braze_runtime_destroy(two);
}

TEST(AheadOfTime, WhatCannotBeCompiled) {
  auto fails_with = [](const std::string& text, aot::LibraryOptions o, const std::string& words) {
    auto made = aot::compile_library(module_of(text), o);
    ASSERT_FALSE(made.ok()) << text;
    EXPECT_NE(std::string(made.status().message()).find(words), std::string::npos) << made.status();
  };
  fails_with("HloModule m\nENTRY e { x = f32[6] parameter(0)\n n = s32[] parameter(1)\n"
             " ROOT r = f32[<=6] set-dimension-size(x, n), dimensions={0} }",
             {"m", "", "host"}, "decides sizes while it runs");
  fails_with("HloModule m\nENTRY e { x = f32[6] parameter(0)\n"
             " ROOT r = f32[6] custom-call(x), custom_call_target=\"xla_ffi_python_cpu_callback\" }",
             {"m", "", "host"}, "xla_ffi_python_cpu_callback");
  fails_with(kAxpy, {"2x", "", "host"}, "no name of a C function");
  fails_with(kAxpy, {"x", "a::b-c", "host"}, "no name of a C++ class");
  fails_with(kAxpy, {"x", "a::", "host"}, "no name of a C++ class");
  fails_with(kAxpy, {"x", "", "vax"}, "vax");
}

TEST(AheadOfTime, TheSameBytesEachTime) {
  auto a = aot::compile_library(module_of(kAxpy), {"axpy", "", "avx2"});
  auto b = aot::compile_library(module_of(kAxpy), {"axpy", "", "avx2"});
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->archive, b->archive);
  EXPECT_EQ(a->header, b->header);
}

}  // namespace
}  // namespace braze
