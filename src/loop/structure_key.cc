// SPDX-License-Identifier: Apache-2.0
#include "loop/structure_key.h"

#include "absl/container/flat_hash_map.h"
#include "ir/field_bytes.h"

namespace braze::loop {
namespace {

constexpr int kMaxDepth = 16;  // of calls within calls; what lies deeper equals itself alone

// What FieldWriter writes to.
struct KeySink {
  KeyWriter& w;

  void number(int64_t v) { w.number(v); }
  void real(double v) { w.real(v); }
  void text(std::string_view s) { w.text(s); }
  void literal(const Literal& l) {
    FieldWriter<KeySink>{*this}.value(l.shape());
    w.text({l.bytes(), static_cast<size_t>(l.size_bytes())});
    w.number(static_cast<int64_t>(l.parts().size()));
    for (const Literal& p : l.parts()) literal(p);
  }
};

void write(KeyWriter& w, const Computation& c, int depth);

void write(KeyWriter& w, const Instr& i, int depth) {
  KeySink sink{w};
  FieldWriter<KeySink> fields{sink};
  fields.each(i.op, i.shape, i.attrs.index());
  std::visit([&](const auto& a) { a.fields(fields); }, i.attrs);
  w.number(static_cast<int64_t>(i.calls.size()));
  for (const Computation* c : i.calls) write(w, *c, depth + 1);
}

void write(KeyWriter& w, const Computation& c, int depth) {
  if (depth > kMaxDepth) return w.number(reinterpret_cast<intptr_t>(&c));
  absl::flat_hash_map<const Instr*, int64_t> number;
  for (const auto& i : c.instrs()) number.try_emplace(i.get(), static_cast<int64_t>(number.size()));
  w.number(c.size());
  for (const auto& i : c.instrs()) {
    write(w, *i, depth);
    w.number(static_cast<int64_t>(i->operands.size()));
    for (const Instr* o : i->operands) w.number(number.at(o));
  }
  w.number(c.root() ? number.at(c.root()) : -1);
}

}  // namespace

Hash128 shape_key(const Shape& s) {
  KeyWriter w;
  KeySink sink{w};
  FieldWriter<KeySink>{sink}.value(s);
  return w.finish();
}

Hash128 instr_key(const Instr& i) {
  KeyWriter w;
  write(w, i, 0);
  return w.finish();
}

Hash128 computation_key(const Computation& c) {
  KeyWriter w;
  write(w, c, 0);
  return w.finish();
}

}  // namespace braze::loop
