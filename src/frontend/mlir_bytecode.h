// SPDX-License-Identifier: Apache-2.0
// The MLIR bytecode reader, container versions 0 to 6.
//
// Interface: read_mlir_bytecode (mlir_read.h); this header is for the mlir_bytecode*.cc files only.
// Invariants: every read is checked against its section; a count is trusted only as far as bytes
// for it remain; attributes and types are decoded on demand, once, to a bounded depth. The first
// error wins; functions return null or false after an error.
#pragma once

#include <string_view>
#include <vector>

#include "frontend/mlir_attrs.h"
#include "frontend/mlir_build.h"
#include "frontend/mlir_normal.h"
#include "frontend/mlir_read.h"

namespace braze::mlir {

// A range of bytes that is read from front to back. After an error `ok` is false and reads give 0.
struct Cursor {
  const char* p = nullptr;
  const char* end = nullptr;
  bool ok = true;

  size_t left() const { return static_cast<size_t>(end - p); }
  uint8_t byte();
  uint64_t varint();
  int64_t signed_varint();
  uint64_t flagged(bool* flag);  // value << 1 | flag
  std::string_view bytes(uint64_t n);
  std::string_view blob() { return bytes(varint()); }
  uint64_t count();  // a number of items of at least one byte each
};

class BytecodeReader {
 public:
  explicit BytecodeReader(std::string_view input)
      : input_(input), b_(module_.arena.get()), normaliser_(&b_) {}
  Result<Module> run();

 private:
  struct Dialect {
    std::string_view name;
  };
  struct OpName {
    std::string_view name;
    bool registered = false;
  };
  struct Entry {  // an attribute or a type
    uint64_t dialect = 0;
    bool custom = false;  // dialect encoding; otherwise text
    bool open = false;    // being decoded: a second visit is a cycle
    std::string_view data;
    const Attr* attr = nullptr;
    const Type* type = nullptr;
    const Loc* loc = nullptr;
  };
  struct Scope {  // the values of an isolated op
    std::vector<ValueId> values;
  };

  // mlir_bytecode.cc: container.
  bool fail(std::string_view message);
  bool check(const Cursor& c, std::string_view what);
  bool section(Cursor* c, int* id, std::string_view* data);
  bool container();
  bool strings(std::string_view data);
  bool dialects(std::string_view data);
  bool attr_offsets(std::string_view offsets, std::string_view data);
  bool resources(std::string_view offsets, std::string_view data);
  bool properties(std::string_view data);
  bool string_at(uint64_t index, std::string_view* out);
  bool string(Cursor* c, std::string_view* out) { return string_at(c->varint(), out); }

  // mlir_bytecode_attr.cc: builtin and stablehlo, sdy, chlo attributes.
  const Attr* attr(uint64_t index);
  const Attr* decode_attr(Entry* e);
  const Attr* attr(Cursor* c) { return attr(c->varint()); }
  const Attr* builtin_attr(Cursor* c);
  const Attr* builtin_data_attr(uint64_t code, Cursor* c);
  const Attr* stablehlo_attr(Cursor* c);
  const Attr* vhlo_attr(Cursor* c);
  const Attr* struct_attr(const StructSpec& spec, Cursor* c, std::string_view dialect);
  const Attr* struct_field(const FieldSpec& f, Cursor* c, std::string_view dialect, bool* absent);
  const Attr* enum_attr(const EnumSpec& spec, Cursor* c);
  const Attr* attr_list(Cursor* c);
  const Attr* dict(Cursor* c);
  const Attr* resource_attr(Cursor* c);
  const Attr* text_attr(std::string_view text);
  const Attr* number(Cursor* c, bool is_float);
  bool string_attr(Cursor* c, std::string_view* out);
  bool integer(Cursor* c, uint32_t bits, uint64_t* out);
  bool dims(Cursor* c, std::vector<int64_t>* out);
  const Loc* location(uint64_t index);
  bool decode_location(Cursor* c, Loc* out);

  // mlir_bytecode_type.cc
  const Type* type(uint64_t index);
  const Type* type(Cursor* c) { return type(c->varint()); }
  const Type* decode_type(Entry* e);
  const Type* builtin_type(Cursor* c);
  const Type* vhlo_type(Cursor* c);
  const Type* vhlo_composite_type(uint64_t code, Cursor* c);
  const Type* quantized(Cursor* c, bool per_axis);
  const Type* shaped(Cursor* c, TypeKind kind, const Attr* encoding);
  bool types(Cursor* c, std::vector<const Type*>* out);

  // mlir_bytecode_ir.cc
  bool ir(std::string_view data);
  bool block(Cursor* c, Scope* scope, size_t* next, std::string_view parent, Block* out);
  bool regions(Cursor* c, uint64_t n, Scope* scope, std::string_view parent,
               std::vector<Region>* out);
  bool region(Cursor* c, Scope* scope, std::string_view parent, Region* out);
  Op* op(Cursor* c, Scope* scope, size_t* next, std::string_view parent);
  bool op_attributes(Cursor* c, const OpName& name, uint8_t mask, std::vector<NamedAttr>* attrs);
  bool op_properties(Cursor* c, const OpName& name, std::vector<NamedAttr>* attrs);
  bool named_properties(std::string_view spec, std::string_view data, std::string_view op,
                        std::vector<NamedAttr>* attrs);
  bool segment_sizes(Cursor* c, std::string_view name, std::vector<NamedAttr>* attrs);
  bool operands(Cursor* c, const Scope& scope, std::vector<ValueId>* out);
  bool define(Scope* scope, size_t* next, const Type* t);
  bool skip_use_lists(Cursor* c, uint64_t values);

  std::string_view input_;
  uint64_t version_ = 0;
  Module module_;
  Builder b_;
  Normaliser normaliser_;
  Status error_;
  int depth_ = 0;

  std::vector<std::string_view> strings_;
  std::vector<Dialect> dialects_;
  std::vector<OpName> op_names_;
  std::vector<Entry> attrs_, types_;
  std::vector<std::string_view> resources_, properties_;
};

}  // namespace braze::mlir
