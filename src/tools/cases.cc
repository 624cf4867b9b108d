// SPDX-License-Identifier: Apache-2.0
// Model folders: NAME/case.json with inputs, expected outputs and tolerances, and the program in several
// file forms. Every form must read, run and give the expected outputs.
#include <dirent.h>
#include <fnmatch.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backend/compile.h"
#include "backend/read_module.h"
#include "backend/compare.h"
#include "backend/inputs.h"
#include "tools/program.h"
#include "tools/tools.h"

namespace braze::tools {
namespace {

using nlohmann::json;

std::vector<std::string> list(const std::string& dir) {
  std::vector<std::string> names;
  if (DIR* d = opendir(dir.c_str())) {
    while (dirent* e = readdir(d))
      if (e->d_name[0] != '.') names.push_back(e->d_name);
    closedir(d);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool exists(const std::string& path) {
  struct stat s;
  return stat(path.c_str(), &s) == 0;
}

Result<Dtype> dtype_of(const std::string& name) {
  if (name == "bool" || name == "i1") return Dtype::kPred;
  std::string hlo = name;
  if (name[0] == 'i') hlo = "s" + name.substr(1);
  if (auto t = dtype_from_hlo(hlo)) return *t;
  return invalid("unknown type '", name, "'");
}

double unit(uint64_t seed, uint64_t i) { return static_cast<double>(random_word(seed, i) >> 40) * 0x1p-24; }

void set(Literal& l, int64_t i, double v) {
  Dtype t = l.dtype();
  if (is_float(t)) l.set_float(i, byte_size(t) < 4 ? static_cast<double>(static_cast<float>(v)) : v);
  else l.set_int(i, static_cast<int64_t>(v));
}

Result<Literal> generate(const json& make, const Shape& shape) {
  Literal l(shape);
  std::string gen = make.at("gen");
  uint64_t seed = make.value("seed", uint64_t{0});
  int64_t n = l.elements();
  for (int64_t i = 0; i < n; ++i) {
    auto u = static_cast<uint64_t>(i);
    if (gen == "uniform") {
      double lo = make.at("lo"), hi = make.at("hi");
      if (is_complex(shape.dtype))
        l.set_complex(i, {lo + unit(seed, 2 * u) * (hi - lo), lo + unit(seed, 2 * u + 1) * (hi - lo)});
      else set(l, i, lo + unit(seed, u) * (hi - lo));
    } else if (gen == "randint") {
      int64_t lo = make.at("lo"), hi = make.at("hi");
      int64_t v = lo + static_cast<int64_t>((random_word(seed, u) >> 32) % static_cast<uint64_t>(hi - lo));
      if (is_float(shape.dtype)) set(l, i, static_cast<double>(v));
      else l.set_int(i, v);
    } else if (gen == "skewint") {
      double x = unit(seed, u), x2 = x * x;
      set(l, i, std::floor((x2 * x2) * make.at("n").get<double>()));
    } else if (gen == "bernoulli") {
      set(l, i, unit(seed, u) < make.at("p").get<double>() ? 1 : 0);
    } else if (gen == "iota") {
      int64_t v = make.value("start", int64_t{0}) + make.value("step", int64_t{1}) * i;
      int64_t mod = make.value("mod", int64_t{0});
      set(l, i, static_cast<double>(mod > 0 ? v % mod : v));
    } else if (gen == "affine") {
      set(l, i, make.at("lo").get<double>() + static_cast<double>(i) * make.at("step").get<double>());
    } else if (gen == "blocks") {
      set(l, i, static_cast<double>(i * make.at("n").get<int64_t>() / std::max<int64_t>(n, 1)));
    } else if (gen == "const") {
      set(l, i, make.at("value").is_boolean() ? make.at("value").get<bool>() : make.at("value").get<double>());
    } else if (gen == "values") {
      const json& v = make.at("values").at(static_cast<size_t>(i));
      if (v.is_number_integer() && !is_float(shape.dtype)) l.set_int(i, v.get<int64_t>());
      else set(l, i, v.is_boolean() ? v.get<bool>() : v.get<double>());
    } else {
      return invalid("unknown input generator '", gen, "'");
    }
  }
  return l;
}

// The same bits seen as the stored NumPy types carry them.
Result<Literal> stored(const std::vector<NpyArray>& arrays, const std::string& name, const Shape& shape) {
  for (const NpyArray& a : arrays)
    if (a.name == name) return from_npy(a, shape);
  return not_found("no array '", name, "'");
}

double number(const json& v) {
  if (v.is_string()) {
    std::string s = v;
    return s == "nan" ? std::nan("") : s == "inf" ? HUGE_VAL : s == "-inf" ? -HUGE_VAL : std::atof(s.c_str());
  }
  if (v.is_boolean()) return v.get<bool>();
  return v.get<double>();
}

// Gradients of nets with relu jump where an activation crosses zero, and single roundings decide: as the
// folder's README has it, an output of a training step may be judged by its norm. Told where it happens.
constexpr double kNormOfGradients = 0.02;

bool norm_matches(const Literal& got, const json& out, int64_t nsample) {
  if (!is_float(got.dtype()) || out.value("nonfinite", 0) > 0) return false;
  const int64_t n = got.elements(), m = std::min<int64_t>(nsample, n), stride = m > 0 ? n / m : 1;
  double error = 0, size = 0, sum = 0;
  for (int64_t k = 0; k < m; ++k) {
    const double want = number(out.at("samples").at(static_cast<size_t>(k)));
    const double have = got.get_float(k * stride + (k * 40503) % stride);
    error += (want - have) * (want - have);
    size += want * want;
  }
  for (int64_t i = 0; i < n; ++i) sum += got.get_float(i);
  return error <= kNormOfGradients * kNormOfGradients * size &&
         std::abs(sum - out.value("sum", 0.0)) <= kNormOfGradients * out.value("abssum", 0.0);
}

// Samples and sums of a full case.
bool samples_match(const Literal& got, const json& out, const Tolerance& t, int64_t nsample, std::string* why) {
  int64_t n = got.elements(), m = std::min<int64_t>(nsample, n);
  const json& samples = out.at("samples");
  double scale = out.value("maxabs", 0.0);
  int64_t stride = m > 0 ? n / m : 1, wrong = 0;
  for (int64_t k = 0; k < m; ++k) {
    int64_t at = k * stride + (k * 40503) % stride;
    const json& s = samples.at(static_cast<size_t>(k));
    std::complex<double> want, have = got.get_complex(at);
    if (is_float(got.dtype()) || is_complex(got.dtype())) {
      want = s.is_array() ? std::complex<double>(number(s[0]), number(s[1])) : number(s);
      // Samples are printed with as many digits as reading back in the type needs.
      Literal rounded(Shape::scalar(got.dtype()));
      if (is_complex(got.dtype())) rounded.set_complex(0, want);
      else rounded.set_float(0, want.real());
      want = rounded.get_complex(0);
    } else {
      int64_t w = s.is_boolean() ? s.get<bool>() : s.is_number_unsigned() ? static_cast<int64_t>(s.get<uint64_t>()) : s.get<int64_t>();
      if (w == got.get_int(at)) continue;
      ++wrong;
      *why = str_cat("sample ", k, " is ", got.get_int(at), ", expected ", w);
      continue;
    }
    bool nonfinite = !std::isfinite(std::abs(want)) || !std::isfinite(std::abs(have));
    bool ok = nonfinite ? (std::isnan(want.real()) ? std::isnan(have.real()) : want == have)
                        : std::abs(want - have) <= t.rtol * std::abs(want) + t.atol_rel * scale;
    if (ok) continue;
    ++wrong;
    *why = str_cat("sample ", k, " is ", have.real(), ", expected ", want.real());
  }
  bool integer = !is_float(got.dtype()) && !is_complex(got.dtype());
  double allowed = integer ? t.mismatch_ok * static_cast<double>(m) : 0;
  if (static_cast<double>(wrong) > allowed) {
    *why = str_cat(wrong, " of ", m, " samples differ; ", *why);
    return false;
  }
  if (integer || !out.contains("sum") || out.value("nonfinite", 0) > 0 || is_complex(got.dtype())) return true;
  double sum = 0;
  for (int64_t i = 0; i < n; ++i)
    if (double v = got.get_float(i); std::isfinite(v)) sum += v;
  double limit = (t.rtol + t.atol_rel) * out.value("abssum", 0.0) + 1e-30;
  if (std::abs(sum - out.at("sum").get<double>()) <= limit * 1.01) return true;
  *why = str_cat("the sum is ", sum, ", expected ", out.at("sum").get<double>());
  return false;
}

struct Case {
  std::string dir, name;
  json description;
  std::vector<Literal> args;
  std::vector<NpyArray> expected;  // tiny only
};

Result<Case> load(const std::string& dir, const std::string& name) {
  Case c;
  c.dir = dir, c.name = name;
  ASSIGN(std::string text, read_file(dir + "/case.json"));
  c.description = json::parse(text);
  std::vector<NpyArray> inputs;
  if (exists(dir + "/inputs.npz")) {
    ASSIGN(std::string bytes, read_file(dir + "/inputs.npz"));
    ASSIGN(inputs, read_npz(bytes));
  }
  if (exists(dir + "/outputs.npz")) {
    ASSIGN(std::string bytes, read_file(dir + "/outputs.npz"));
    ASSIGN(c.expected, read_npz(bytes));
  }
  int64_t k = 0;
  for (const json& in : c.description.at("inputs")) {
    ASSIGN(Dtype t, dtype_of(in.at("dtype")));
    Dims dims;
    for (int64_t d : in.at("shape")) dims.push_back(d);
    Shape shape = Shape::array(t, dims);
    if (!inputs.empty()) {
      ASSIGN(Literal l, stored(inputs, str_cat("in", k), shape));
      c.args.push_back(std::move(l));
    } else {
      ASSIGN(Literal l, generate(in.at("make"), shape));
      c.args.push_back(std::move(l));
    }
    ++k;
  }
  return c;
}

Status check(const Case& c, const Literal& value) {
  std::vector<Literal> outs = value.shape().is_tuple() ? value.parts() : std::vector<Literal>{value};
  const json& expected = c.description.at("outputs");
  if (outs.size() != expected.size())
    return internal(outs.size(), " outputs instead of ", expected.size());
  const json& tol = c.description.at("tol");
  for (size_t k = 0; k < outs.size(); ++k) {
    const json& out = expected[k];
    Tolerance t;
    t.rtol = tol.value("rtol", 0.0);
    t.atol_rel = out.contains("atol_rel") ? out.at("atol_rel").get<double>() : tol.value("atol_rel", 0.0);
    t.mismatch_ok = out.value("mismatch_ok", 0.0);
    ASSIGN(Dtype dtype, dtype_of(out.at("dtype")));
    Dims dims;
    for (int64_t d : out.at("shape")) dims.push_back(d);
    std::string why;
    bool ok;
    Literal got = outs[k];
    if (got.shape().dims != dims && got.dtype() == dtype && got.shape().rank() == static_cast<int64_t>(dims.size())) {
      // A bounded result: the expected part is its beginning.
      Literal part(Shape::array(dtype, dims));
      Dims at(dims.size(), 0);
      if (part.elements() > 0) {
        int64_t n = 0;
        do part.copy_element(n++, got, linear_index(at, got.shape().dims));
        while (next_index(absl::MakeSpan(at), dims));
      }
      got = part;
    }
    if (got.shape().dims != dims || got.dtype() != dtype) {
      return internal("output ", k, " is ", to_string(got.shape(), false));
    }
    if (!c.expected.empty()) {
      ASSIGN(Literal want, stored(c.expected, str_cat("out", k), Shape::array(dtype, dims)));
      ok = close(got, want, t, &why);
    } else {
      const int64_t nsample = c.description.value("nsample", 64);
      ok = samples_match(got, out, t, nsample, &why);
      if (!ok && c.description.value("train", false) && norm_matches(got, out, nsample)) {
        std::printf("note %s: output %zu agrees by its norm (within 2 %%): %s\n", c.name.c_str(), k, why.c_str());
        ok = true;
      }
    }
    if (!ok) return internal("output ", k, ": ", why);
  }
  return absl::OkStatus();
}

// The most memory that this process held at once since the last call; 0 where the kernel does not tell.
int64_t take_peak_bytes() {
  int64_t kib = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) kib = std::atoll(line.c_str() + 6);
  std::ofstream("/proc/self/clear_refs") << 5;
  return kib * 1024;
}

struct Outcome {
  double compile_ms = 0, run_ms = 0;
  CompileStats stats;
};

Result<Outcome> run_form(const Case& c, const std::string& file, const CasesOptions& o, bool timed) {
  ASSIGN(std::string bytes, read_file(c.dir + "/" + file));
  ReadOptions read;
  read.file = file;
  for (const Literal& a : c.args) read.argument_shapes.push_back(a.shape());
  auto t0 = std::chrono::steady_clock::now();
  ASSIGN(std::unique_ptr<Module> m, read_module(bytes, read));
  CompileOptions options;
  options.backend = o.backend;
  ASSIGN(std::unique_ptr<Executable> exe, compile(std::move(m), options));
  Outcome out;
  auto elapsed = [](auto from) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - from).count();
  };
  out.compile_ms = elapsed(t0);
  out.stats = exe->stats();
  ASSIGN(Literal value, exe->run(c.args));
  TRY(check(c, value));
  if (!timed) return out;
  std::vector<double> ms;
  for (int i = 0; i < std::max(o.repeat, 1); ++i) {
    auto t1 = std::chrono::steady_clock::now();
    ASSIGN(value, exe->run(c.args));
    ms.push_back(elapsed(t1));
  }
  std::sort(ms.begin(), ms.end());
  out.run_ms = ms[ms.size() / 2];
  return out;
}

}  // namespace

int cases(const CasesOptions& o) {
  int passed = 0, failed = 0;
  if (!exists(o.dir)) return nothing_to_run("model folders", o.dir, CasesOptions().dir);
  bool header = false;
  for (const std::string& name : list(o.dir)) {
    std::string dir = o.dir + "/" + name;
    bool tiny = exists(dir + "/inputs.npz");
    if (!exists(dir + "/case.json") || fnmatch(o.name.c_str(), name.c_str(), 0) != 0) continue;
    if ((o.size == "tiny" && !tiny) || (o.size == "full" && tiny)) continue;
    take_peak_bytes();
    auto c = load(dir, name);
    if (!c.ok()) {
      ++failed;
      std::printf("FAIL %s: %s\n", name.c_str(), std::string(c.status().message()).c_str());
      continue;
    }
    if (!tiny && !header) {
      std::printf("%-28s %10s %10s %8s %8s %12s %12s\n", "case", "run ms", "compile ms", "kernels", "library",
                  "arena bytes", "peak bytes");
      header = true;
    }
    for (const std::string& file : list(dir)) {
      bool program = file.find(".mlir") != std::string::npos || file.find(".hlo.") != std::string::npos;
      if (!program) continue;
      bool timed = !tiny && file.find(name + ".mlirbc") == 0;
      if (!tiny && !timed) continue;  // one form of a full case is timed; tiny cases prove the others
      auto r = run_form(*c, file, o, timed);
      if (r.ok()) ++passed;
      else ++failed;
      if (!r.ok()) {
        std::printf("FAIL %s: %s\n", file.c_str(), std::string(r.status().message()).c_str());
      } else if (timed) {
        std::printf("%-28s %10.3f %10.1f %8d %8d %12lld %12lld\n", name.c_str(), r->run_ms, r->compile_ms,
                    static_cast<int>(r->stats.launches), static_cast<int>(r->stats.library_calls),
                    static_cast<long long>(r->stats.arena_bytes),
                    static_cast<long long>(take_peak_bytes()));
      }
      std::fflush(stdout);
    }
  }
  if (passed + failed == 0)
    return finish(not_found("no case of ", o.dir, " is called ", o.name, " and is of size ", o.size));
  std::printf("%d passed, %d failed, 0 skipped\n", passed, failed);
  return failed ? 1 : 0;
}

}  // namespace braze::tools
