// SPDX-License-Identifier: Apache-2.0
#include "codegen/code_image.h"

#include <cstring>

namespace braze::codegen {
namespace {

constexpr std::string_view kMagic = "BRZOBJ01";

class Writer {
 public:
  void number(int64_t v) { out.append(reinterpret_cast<const char*>(&v), sizeof(v)); }
  void text(std::string_view s) {
    number(static_cast<int64_t>(s.size()));
    out.append(s.data(), s.size());
  }
  std::string out;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  int64_t number() {
    int64_t v = 0;
    if (left_.size() < sizeof(v)) return fail();
    std::memcpy(&v, left_.data(), sizeof(v));
    left_.remove_prefix(sizeof(v));
    return v;
  }
  // A number of things that take at least `bytes` each.
  int64_t count(int64_t bytes) {
    const int64_t n = number();
    return n < 0 || n > static_cast<int64_t>(left_.size()) / bytes ? fail() : n;
  }
  std::string_view text() {
    const size_t n = static_cast<size_t>(count(1));
    const std::string_view s = left_.substr(0, n);
    left_.remove_prefix(n);
    return s;
  }
  bool ended() const { return ok_ && left_.empty(); }

 private:
  int64_t fail() {
    ok_ = false;
    left_ = {};
    return 0;
  }
  std::string_view left_;
  bool ok_ = true;
};

CodeUnit read_unit(Reader& r) {
  CodeUnit u;
  u.key.high = static_cast<uint64_t>(r.number());
  u.key.low = static_cast<uint64_t>(r.number());
  u.code.scratch_bytes = r.number();
  u.code.workspace_bytes = r.number();
  for (int64_t n = r.count(24); n > 0; --n) {
    EmittedPhase p;
    p.function = std::string(r.text());
    p.items = r.number();
    p.grain = r.number();
    u.code.phases.push_back(std::move(p));
  }
  return u;
}

}  // namespace

std::string write_code_image(absl::Span<const CodeObject* const> objects) {
  Writer w;
  w.number(static_cast<int64_t>(objects.size()));
  for (const CodeObject* o : objects) {
    w.text(o->bytes);
    w.number(static_cast<int64_t>(o->units.size()));
    for (const CodeUnit& u : o->units) {
      w.number(static_cast<int64_t>(u.key.high));
      w.number(static_cast<int64_t>(u.key.low));
      w.number(u.code.scratch_bytes);
      w.number(u.code.workspace_bytes);
      w.number(static_cast<int64_t>(u.code.phases.size()));
      for (const EmittedPhase& p : u.code.phases) {
        w.text(p.function);
        w.number(p.items);
        w.number(p.grain);
      }
    }
  }
  const Hash128 sum = hash128(w.out);
  return str_cat(kMagic, std::string_view(reinterpret_cast<const char*>(&sum), sizeof(sum)), w.out);
}

Result<std::vector<CodeObject>> read_code_image(std::string_view bytes) {
  Hash128 sum;
  if (bytes.size() < kMagic.size() + sizeof(sum) || bytes.substr(0, kMagic.size()) != kMagic)
    return invalid("no compiled code of this version");
  std::memcpy(&sum, bytes.data() + kMagic.size(), sizeof(sum));
  bytes.remove_prefix(kMagic.size() + sizeof(sum));
  if (!(hash128(bytes) == sum)) return invalid("compiled code is damaged");
  Reader r(bytes);
  std::vector<CodeObject> out(static_cast<size_t>(r.count(16)));
  for (CodeObject& o : out) {
    o.bytes = std::string(r.text());
    for (int64_t n = r.count(40); n > 0; --n) o.units.push_back(read_unit(r));
  }
  if (!r.ended()) return invalid("compiled code is damaged");
  return out;
}

}  // namespace braze::codegen
