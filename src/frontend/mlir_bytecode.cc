// SPDX-License-Identifier: Apache-2.0
// MLIR bytecode: varints and the sections of the container.
#include "frontend/mlir_bytecode.h"

#include <bit>
#include <cstring>

namespace braze::mlir {
namespace {

enum Section {
  kString,
  kDialect,
  kAttrType,
  kAttrTypeOffset,
  kIr,
  kResource,
  kResourceOffset,
  kDialectVersions,
  kProperties,
  kNumSections
};
constexpr uint64_t kNewestVersion = 6;

Cursor over(std::string_view s) { return {s.data(), s.data() + s.size()}; }

}  // namespace

uint8_t Cursor::byte() {
  if (p >= end) {
    ok = false;
    return 0;
  }
  return static_cast<uint8_t>(*p++);
}

// The number of trailing zero bits of the first byte is the number of bytes that follow it.
uint64_t Cursor::varint() {
  uint8_t first = byte();
  if (first & 1) return first >> 1;
  size_t extra = first == 0 ? 8 : std::countr_zero(first);
  if (!ok || left() < extra) {
    ok = false;
    p = end;
    return 0;
  }
  uint64_t v = 0;
  std::memcpy(&v, p, extra);
  p += extra;
  if (first == 0) return v;
  return (v << (7 - extra)) | (first >> (extra + 1));
}

int64_t Cursor::signed_varint() {
  uint64_t v = varint();
  return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
}

uint64_t Cursor::flagged(bool* flag) {
  uint64_t v = varint();
  *flag = v & 1;
  return v >> 1;
}

std::string_view Cursor::bytes(uint64_t n) {
  if (n > left()) {
    ok = false;
    p = end;
    return {};
  }
  std::string_view s(p, n);
  p += n;
  return s;
}

uint64_t Cursor::count() {
  uint64_t n = varint();
  if (n > left()) {
    ok = false;
    p = end;
    return 0;
  }
  return n;
}

bool BytecodeReader::fail(std::string_view message) {
  if (error_.ok()) error_ = invalid("MLIR bytecode: ", message);
  return false;
}

bool BytecodeReader::check(const Cursor& c, std::string_view what) {
  return c.ok || fail(str_cat("the ", what, " is truncated or malformed"));
}

bool BytecodeReader::string_at(uint64_t index, std::string_view* out) {
  if (index >= strings_.size()) return fail("a string index is out of range");
  *out = strings_[index];
  return true;
}

// id (bit 7: aligned), length, [alignment, padding], data
bool BytecodeReader::section(Cursor* c, int* id, std::string_view* data) {
  uint8_t head = c->byte();
  uint64_t length = c->varint();
  if (head & 0x80) {
    uint64_t alignment = c->varint();
    if (alignment == 0 || !std::has_single_bit(alignment) || alignment > (1u << 20)) {
      return fail("bad alignment of a section");
    }
    c->bytes(-static_cast<uint64_t>(c->p - input_.data()) & (alignment - 1));
  }
  *id = head & 0x7f;
  *data = c->bytes(length);
  return check(*c, "section table");
}

bool BytecodeReader::container() {
  Cursor c = over(input_);
  c.bytes(4);
  version_ = c.varint();
  if (version_ > kNewestVersion) {
    error_ = unimplemented("MLIR bytecode version ", version_, " is newer than ", kNewestVersion);
    return false;
  }
  size_t producer = std::string_view(c.p, c.left()).find('\0');
  if (producer == std::string_view::npos) return fail("the producer string does not end");
  c.bytes(producer + 1);
  std::string_view sections[kNumSections];
  while (c.ok && c.left() > 0) {
    int id;
    std::string_view data;
    if (!section(&c, &id, &data)) return false;
    if (id >= kNumSections) return fail(str_cat("unknown section ", id));
    if (sections[id].data()) return fail(str_cat("section ", id, " occurs twice"));
    sections[id] = data;
  }
  for (int id : {kString, kDialect, kAttrType, kAttrTypeOffset, kIr}) {
    if (!sections[id].data()) return fail(str_cat("section ", id, " is missing"));
  }
  return strings(sections[kString]) && dialects(sections[kDialect]) &&
         resources(sections[kResourceOffset], sections[kResource]) &&
         attr_offsets(sections[kAttrTypeOffset], sections[kAttrType]) &&
         properties(sections[kProperties]) && ir(sections[kIr]);
}

// count, the lengths from the last string to the first, the characters from first to last
bool BytecodeReader::strings(std::string_view data) {
  Cursor c = over(data);
  uint64_t n = c.count();
  strings_.resize(n);
  std::vector<uint64_t> lengths(n);
  for (uint64_t k = n; k-- > 0;) lengths[k] = c.varint();
  for (uint64_t k = 0; k < n && c.ok; ++k) {
    std::string_view s = c.bytes(lengths[k]);
    if (s.empty()) return fail("malformed string section");
    strings_[k] = s.substr(0, s.size() - 1);
  }
  return check(c, "string section");
}

bool BytecodeReader::dialects(std::string_view data) {
  Cursor c = over(data);
  uint64_t n = c.count();
  for (uint64_t k = 0; k < n && c.ok; ++k) {
    Dialect d;
    bool versioned = false;
    uint64_t name = version_ >= 1 ? c.flagged(&versioned) : c.varint();
    if (!string_at(name, &d.name)) return false;
    int id;
    std::string_view unused;
    if (versioned && !section(&c, &id, &unused)) return false;
    dialects_.push_back(d);
  }
  if (version_ >= 4) c.varint();  // the number of op names
  while (c.ok && c.left() > 0) {
    uint64_t dialect = c.varint(), names = c.count();
    if (dialect >= dialects_.size()) return fail("a dialect index is out of range");
    for (uint64_t k = 0; k < names && c.ok; ++k) {
      OpName o;
      std::string_view name;
      uint64_t index = version_ >= 5 ? c.flagged(&o.registered) : c.varint();
      if (!string_at(index, &name)) return false;
      o.name = b_.arena().copy(str_cat(dialects_[dialect].name, ".", name));
      op_names_.push_back(o);
    }
  }
  return check(c, "dialect section");
}

bool BytecodeReader::attr_offsets(std::string_view offsets, std::string_view data) {
  Cursor c = over(offsets);
  Cursor payload = over(data);
  uint64_t attrs = c.count(), types = c.count();
  for (auto [list, n] : {std::pair(&attrs_, attrs), std::pair(&types_, types)}) {
    if (!c.ok || n > c.left()) return fail("malformed attribute offsets");
    list->reserve(n);
    while (c.ok && list->size() < n) {
      uint64_t dialect = c.varint(), group = c.count();
      if (dialect >= dialects_.size()) return fail("a dialect index is out of range");
      if (group > n - list->size()) return fail("malformed attribute offsets");
      for (uint64_t k = 0; k < group; ++k) {
        Entry e{.dialect = dialect};
        uint64_t size = c.flagged(&e.custom);
        e.data = payload.bytes(size);
        list->push_back(e);
      }
    }
  }
  return check(c, "attribute offset section") && check(payload, "attribute section");
}

// Only dialect resources (dense_resource blobs) can be referred to.
bool BytecodeReader::resources(std::string_view offsets, std::string_view data) {
  if (offsets.empty()) return true;
  Cursor c = over(offsets);
  Cursor payload = over(data);
  uint64_t external = c.count();
  for (uint64_t g = 0; c.ok && c.left() > 0; ++g) {
    c.varint();  // key of the group, or its dialect
    uint64_t n = c.count();
    for (uint64_t k = 0; k < n && c.ok; ++k) {
      c.varint();  // key
      std::string_view entry = payload.bytes(c.varint());
      c.byte();  // kind
      if (g >= external) resources_.push_back(entry);
    }
  }
  return check(c, "resource offset section") && check(payload, "resource section");
}

bool BytecodeReader::properties(std::string_view data) {
  if (data.empty()) return true;
  Cursor c = over(data);
  uint64_t n = c.count();
  for (uint64_t k = 0; k < n && c.ok; ++k) properties_.push_back(c.blob());
  return check(c, "property section");
}

Result<Module> BytecodeReader::run() {
  if (!container()) return error_.ok() ? invalid("MLIR bytecode: malformed") : error_;
  return std::move(module_);
}

Result<Module> read_mlir_bytecode(std::string_view bytes) {
  if (!is_bytecode(bytes)) return invalid("MLIR bytecode: the magic number is missing");
  return BytecodeReader(bytes).run();
}

}  // namespace braze::mlir
