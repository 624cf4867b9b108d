// SPDX-License-Identifier: Apache-2.0
#include "ir/module_bytes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/field_bytes.h"

namespace braze {
namespace {

constexpr int64_t kLarge = 4096;  // bytes of an array

// The facts of a module besides its computations.
template <typename Visitor, typename M>
void header(Visitor v, M& m) {
  v.each(m.buffer_donors, m.num_replicas, m.num_partitions, m.entry_parameter_layouts, m.entry_result_layouts,
         m.is_scheduled, m.frontend_attributes, m.other);
}
template <typename Visitor, typename A>
void alias(Visitor v, A& a) {
  v.each(a.output_index, a.parameter, a.parameter_index, a.must_alias);
}
// Those of an instruction's extras besides its predecessors and the metadata.
template <typename Visitor, typename E>
void extras(Visitor v, E& e) {
  v.each(e.sharding, e.frontend_attributes, e.backend_config, e.other);
}
template <typename F, typename M>
void metadata(M& m, F text) {
  for (auto* s : {&m.op_type, &m.op_name, &m.source_file}) text(*s);
}

// Numbers in as few bytes as they need: seven bits in each, the sign in the lowest.
class Sink {
 public:
  explicit Sink(absl::Span<const Literal> known) {
    for (size_t k = 0; k < known.size(); ++k) known_.try_emplace(known[k].bytes(), static_cast<int64_t>(k));
  }

  void number(int64_t v) {
    uint64_t u = (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63);
    for (; u >= 128; u >>= 7) bytes.push_back(static_cast<char>(u | 128));
    bytes.push_back(static_cast<char>(u));
  }
  void real(double v) { bytes.append(reinterpret_cast<const char*>(&v), sizeof(v)); }
  void text(std::string_view s) {
    number(static_cast<int64_t>(s.size()));
    bytes.append(s.data(), s.size());
  }
  // A text that is likely to come again: its number after the first time.
  void common_text(std::string_view s) {
    const auto [it, fresh] = texts_.try_emplace(s, static_cast<int64_t>(texts_.size()));
    number(it->second);
    if (fresh) text(s);
  }
  void literal(const Literal& l) {
    FieldWriter<Sink>{*this}.value(l.shape());
    if (!l.shape().is_array()) {
      number(static_cast<int64_t>(l.parts().size()));
      for (const Literal& p : l.parts()) literal(p);
      return;
    }
    const auto it = l.size_bytes() < kLarge ? known_.end() : known_.find(l.bytes());
    number(it == known_.end() ? -1 : it->second);
    if (it == known_.end()) text({l.bytes(), static_cast<size_t>(l.size_bytes())});
  }

  std::string bytes;

 private:
  absl::flat_hash_map<const char*, int64_t> known_;
  absl::flat_hash_map<std::string_view, int64_t> texts_;  // of the module written
};

class Source {
 public:
  Source(std::string_view bytes, absl::Span<const Literal> known) : left_(bytes), known_(known) {}

  int64_t number() {
    uint64_t u = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (left_.empty()) break;
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      u |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return static_cast<int64_t>((u >> 1) ^ (~(u & 1) + 1));
    }
    return fail();
  }
  double real() {
    double v = 0;
    if (left_.size() < sizeof(v)) return static_cast<double>(fail());
    std::memcpy(&v, left_.data(), sizeof(v));
    left_.remove_prefix(sizeof(v));
    return v;
  }
  // The length of a list whose elements take a byte or more.
  int64_t count() { return index(static_cast<int64_t>(left_.size()) + 1); }
  // A number in [0, size).
  int64_t index(int64_t size) {
    const int64_t n = number();
    return n < 0 || n >= size ? fail() : n;
  }
  std::string_view text() {
    const size_t n = static_cast<size_t>(count());
    if (n > left_.size()) return fail(), std::string_view();
    const std::string_view s = left_.substr(0, n);
    left_.remove_prefix(n);
    return s;
  }
  std::string_view common_text() {
    const size_t k = static_cast<size_t>(index(static_cast<int64_t>(texts_.size()) + 1));
    if (k == texts_.size()) texts_.push_back(text());
    return texts_[k];
  }
  Literal literal() {
    Shape shape;
    FieldReader<Source>{*this}.value(shape);
    if (!shape.is_array()) {
      std::vector<Literal> parts;
      for (int64_t n = count(); n > 0 && ok_; --n) parts.push_back(literal());
      return shape.is_tuple() ? Literal::tuple(std::move(parts)) : Literal(shape);
    }
    const int64_t k = number();
    if (k >= 0 && k < static_cast<int64_t>(known_.size()) && known_[static_cast<size_t>(k)].size_bytes() == shape.bytes())
      return known_[static_cast<size_t>(k)].reshaped(shape);
    const std::string_view bytes = k == -1 ? text() : std::string_view();
    if (k == -1 && static_cast<int64_t>(bytes.size()) == shape.bytes()) return Literal::from_bytes(shape, {bytes.data(), bytes.size()});
    fail();
    return Literal();
  }
  void spoil() { fail(); }
  bool ok() const { return ok_; }
  bool ended() const { return ok_ && left_.empty(); }

 private:
  int64_t fail() {
    ok_ = false;
    left_ = {};
    return 0;
  }
  std::string_view left_;
  absl::Span<const Literal> known_;
  std::vector<std::string_view> texts_;
  bool ok_ = true;
};

class Writer {
 public:
  explicit Writer(absl::Span<const Literal> known) : out_(known) {}

  std::string write(const Module& m) {
    out_.text(m.name());
    header(FieldWriter<Sink>{out_}, m);
    out_.number(static_cast<int64_t>(m.aliases.size()));
    for (const InputOutputAlias& a : m.aliases) alias(FieldWriter<Sink>{out_}, a);
    out_.number(static_cast<int64_t>(m.computations().size()));
    int64_t ids = 0;
    for (const auto& c : m.computations()) {
      out_.text(c->name());
      computations_.try_emplace(c.get(), static_cast<int64_t>(computations_.size()));
      for (const auto& i : c->instrs()) ids = std::max(ids, i->id + 1);
    }
    number_.resize(static_cast<size_t>(ids));
    out_.number(computations_.at(m.entry()));
    for (const auto& c : m.computations()) computation(*c);
    return std::move(out_.bytes);
  }

 private:
  void computation(const Computation& c) {
    out_.number(c.size());
    int64_t n = 0;
    for (const auto& i : c.instrs()) {
      number(*i) = n++;
      instr(*i);
    }
    for (const auto& i : c.instrs()) {
      list(i->operands);
      list(i->users);
      if (i->extras) list(i->extras->control_predecessors);
    }
    out_.number(c.root() ? number(*c.root()) : -1);
  }

  void instr(const Instr& i) {
    FieldWriter<Sink> w{out_};
    out_.text(i.name);
    w.each(i.op, i.shape, i.attrs.index());
    std::visit([&](const auto& a) { a.fields(w); }, i.attrs);
    out_.number(static_cast<int64_t>(i.calls.size()));
    for (const Computation* c : i.calls) out_.number(computations_.at(c));
    out_.number(i.extras != nullptr);
    if (!i.extras) return;
    const Metadata& m = i.extras->metadata;
    metadata(m, [&](const std::string& s) { out_.common_text(s); });
    w.each(m.source_line, m.source_column);
    extras(w, *i.extras);
  }

  template <typename List>
  void list(const List& l) {
    out_.number(static_cast<int64_t>(l.size()));
    for (const Instr* i : l) out_.number(number(*i));
  }
  int64_t& number(const Instr& i) { return number_[static_cast<size_t>(i.id)]; }

  Sink out_;
  std::vector<int64_t> number_;  // of instructions in their computation, by id
  absl::flat_hash_map<const Computation*, int64_t> computations_;
};

// Attributes of the alternative `index` with default values.
template <size_t... I>
Attrs attrs_of(size_t index, std::index_sequence<I...>) {
  Attrs out;
  ((I == index ? static_cast<void>(out.emplace<I>()) : static_cast<void>(0)), ...);
  return out;
}

class Reader {
 public:
  Reader(std::string_view bytes, absl::Span<const Literal> known) : in_(bytes, known) {}

  Result<std::unique_ptr<Module>> read() {
    auto m = std::make_unique<Module>(std::string(in_.text()));
    header(FieldReader<Source>{in_}, *m);
    m->aliases.resize(static_cast<size_t>(in_.count()));
    for (InputOutputAlias& a : m->aliases) alias(FieldReader<Source>{in_}, a);
    for (int64_t n = in_.count(); n > 0; --n) list_.push_back(m->add_computation(in_.text()));
    const int64_t entry = in_.index(static_cast<int64_t>(list_.size()));
    for (Computation* c : list_)
      if (in_.ok()) computation(c);
    if (!in_.ended() || list_.empty()) return invalid("damaged bytes of a module");
    m->set_entry(list_[static_cast<size_t>(entry)]);
    return m;
  }

 private:
  void computation(Computation* c) {
    std::vector<Instr*> made;
    const int64_t size = in_.count();
    while (static_cast<int64_t>(made.size()) < size && in_.ok()) {
      Instr* i = instr(c, size);
      if (!i) return in_.spoil();
      made.push_back(i);
    }
    for (Instr* i : made) {
      references(i->operands, made);
      references(i->users, made);
      if (i->extras) references(i->extras->control_predecessors, made);
    }
    const int64_t root = in_.number();
    if (root >= 0 && root < static_cast<int64_t>(made.size())) c->set_root(made[static_cast<size_t>(root)]);
  }

  static bool is_parameter(const Attrs& attrs, int64_t size) {
    const auto* a = std::get_if<ParameterAttrs>(&attrs);
    return a && a->number >= 0 && a->number < size;
  }

  // Of a computation of `size` instructions. Null: damaged.
  Instr* instr(Computation* c, int64_t size) {
    FieldReader<Source> r{in_};
    const std::string_view name = in_.text();
    Op op{};
    Shape shape;
    size_t kind = 0;
    r.each(op, shape, kind);
    using Kinds = std::make_index_sequence<std::variant_size_v<Attrs>>;
    Attrs attrs = attrs_of(kind, Kinds());
    std::visit([&](auto& a) { a.fields(r); }, attrs);
    absl::InlinedVector<Computation*, 2> calls;
    for (int64_t n = in_.count(); n > 0 && in_.ok(); --n)
      calls.push_back(list_[static_cast<size_t>(in_.index(static_cast<int64_t>(list_.size())))]);
    const bool more = in_.number() != 0;
    if (op == Op::kParameter && !is_parameter(attrs, size)) return nullptr;
    Instr* i = c->add(op, shape, {}, std::move(attrs), calls, name);
    if (!more) return i;
    Metadata& m = i->extra().metadata;
    metadata(m, [&](std::string& s) { s = std::string(in_.common_text()); });
    r.each(m.source_line, m.source_column);
    extras(r, *i->extras);
    return i;
  }

  template <typename List>
  void references(List& l, const std::vector<Instr*>& made) {
    for (int64_t n = in_.count(); n > 0 && in_.ok(); --n)
      l.push_back(made[static_cast<size_t>(in_.index(static_cast<int64_t>(made.size())))]);
  }

  Source in_;
  std::vector<Computation*> list_;
};

void collect(const Literal& l, absl::flat_hash_set<const char*>& seen, std::vector<Literal>& out) {
  for (const Literal& p : l.parts()) collect(p, seen, out);
  if (l.size_bytes() >= kLarge && seen.insert(l.bytes()).second) out.push_back(l);
}

}  // namespace

std::vector<Literal> large_literals(const Module& m) {
  std::vector<Literal> out;
  absl::flat_hash_set<const char*> seen;
  for (const auto& c : m.computations())
    for (const auto& i : c->instrs())
      if (i->is_constant()) collect(i->literal(), seen, out);
  return out;
}

std::string module_bytes(const Module& m, absl::Span<const Literal> known) { return Writer(known).write(m); }

Result<std::unique_ptr<Module>> module_from_bytes(std::string_view bytes, absl::Span<const Literal> known) {
  return Reader(bytes, known).read();
}

}  // namespace braze
