// SPDX-License-Identifier: Apache-2.0
// The MLIR text reader: a scannerless recursive-descent parser.
//
// Interface: read_mlir_text (mlir_read.h); this header is for the mlir_text*.cc files only.
// Invariants: the first error wins, and after it the cursor is at the end of the input, so every
// loop ends. Functions return null or false after an error. Nesting is bounded by kMaxDepth.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "frontend/mlir_attrs.h"
#include "frontend/mlir_build.h"
#include "frontend/mlir_normal.h"
#include "frontend/mlir_read.h"

namespace braze::mlir {

class TextParser {
 public:
  TextParser(std::string_view text, std::string_view file)
      : file_(file),
        begin_(text.data()),
        p_(begin_),
        end_(begin_ + text.size()),
        text_end_(end_),
        own_(module_.arena.get()),
        b_(own_),
        normaliser_(&b_) {}
  // For one attribute or type on its own, made by `builder`.
  TextParser(std::string_view text, Builder* builder)
      : begin_(text.data()),
        p_(begin_),
        end_(begin_ + text.size()),
        text_end_(end_),
        own_(nullptr),
        b_(*builder),
        normaliser_(&b_) {}

  Result<Module> run();
  Result<const Attr*> run_attr();
  Result<const Type*> run_type();

 private:
  // The op under construction.
  struct State {
    std::string_view name;
    const char* at = nullptr;
    std::vector<ValueId> operands;
    std::vector<const Type*> types;
    std::vector<NamedAttr> attrs;
    std::vector<Region> regions;
    const Loc* loc = nullptr;
  };
  struct Argument {
    std::string_view name;  // "" for the unnamed arguments of a declaration
    const char* at = nullptr;
    const Type* type = nullptr;
    const Attr* attrs = nullptr;
  };
  struct Values {
    ValueId first = 0;
    uint32_t count = 0;
  };
  struct Name {
    std::string_view name;
    uint32_t count = 1;
    const char* at = nullptr;
  };

  // mlir_text.cc: characters and words.
  bool fail(const char* at, std::string_view message);
  bool fail(std::string_view message) { return fail(p_, message); }
  bool failed() const { return !error_.ok(); }
  void skip();
  bool peek(std::string_view s);
  bool peek(char c) {
    skip();
    return p_ < end_ && *p_ == c;
  }
  bool accept(std::string_view s);
  bool expect(std::string_view s);
  std::string_view word();  // [A-Za-z_][A-Za-z0-9_$.]*, or ""
  bool accept_word(std::string_view w);
  bool expect_word(std::string_view w);
  std::string_view value_name();  // after '%'
  bool string(std::string_view* out);
  bool string_or_word(std::string_view* out);
  bool integer(int64_t* out);
  bool unsigned_integer(uint64_t* out);
  std::string_view number_token();  // -1, 1.5e3, 0x7f
  bool skip_balanced(char close);   // to behind the matching bracket
  const Attr* symbol();
  template <typename F>
  bool list(std::string_view open, std::string_view close, F&& item);
  bool int_dims(std::vector<int64_t>* out);  // [1, ?, 2]
  Result<Module> finish();
  bool top_level(std::vector<Op*>* ops);
  bool alias_definition();
  bool resources();

  // mlir_text_type.cc
  const Type* type() { return light(any_type()); }
  const Type* any_type();
  const Type* non_function_type();
  const Type* named_type(std::string_view name, const char* at);
  const Type* dialect_type();
  const Type* tensor_type();
  const Type* function_type();
  const Type* quantized_type();
  const Type* vhlo_type(std::string_view name);
  bool shape(std::vector<int64_t>* dims, const Type** element);
  bool types(std::vector<const Type*>* out);         // a, b, c
  bool result_types(std::vector<const Type*>* out);  // a or (a, b)

  // mlir_text_attr.cc
  const Attr* attr() { return light(any_attr()); }
  const Attr* any_attr();
  const Attr* number_attr();
  const Attr* dict();
  const Attr* dialect_attr();
  const Attr* dialect_body(std::string_view name);
  const Attr* enum_attr(std::string_view name);
  const Attr* dense_array();
  const Attr* struct_attr(const StructSpec& spec);
  const Attr* struct_body(const StructSpec& spec);  // behind '<'
  const Attr* struct_field(const StructSpec& spec, const FieldSpec& field);
  const Attr* conv_dims();
  bool conv_side(std::string_view letters, int64_t* out, std::vector<int64_t>* spatial);
  const Attr* bounds();
  bool attr_dict(std::vector<NamedAttr>* out);
  const Attr* vhlo_attr(std::string_view name);
  const Loc* location();
  const Loc* location_body();
  const Loc* optional_location();

  // mlir_text_dense.cc
  const Attr* dense();
  const Attr* dense_resource();
  const Attr* dense_values(const char* body, const char* body_end, const Type* type);
  bool dense_list(const Type* type, size_t level, char** out, const char* out_end);
  bool dense_element(const Type& element, char* out);
  bool dense_number(const Type& element, char* out);
  bool hex_bytes(std::string_view digits, std::string_view* out);

  // mlir_text_sdy.cc
  const Attr* sdy_attr(std::string_view name);
  const Attr* sdy_mesh();
  const Attr* sdy_sharding();
  const Attr* sdy_dim_sharding();
  const Attr* sdy_axis_ref(std::string_view dialect);
  const Attr* sdy_sub_axis(std::string_view dialect);
  const Attr* sdy_axis_refs(std::string_view open, std::string_view close);
  const Attr* sdy_shardings();
  const Attr* sdy_rule();
  const Attr* sdy_tensor_mappings();
  bool sdy_factor(std::string_view* text, int64_t* out);
  const Attr* sdy_factor_list(std::string_view keyword);
  const Attr* sdy_all_to_all();

  // mlir_text_op.cc
  Op* op(std::string_view parent);
  Op* finish_op(State* s, const std::vector<Name>& names, std::string_view parent);
  bool generic_op(State* s);
  bool custom_op(State* s);
  bool function(State* s);
  bool function_arguments(std::vector<Argument>* args);
  bool function_results(std::vector<const Type*>* types, const Attr** attrs);
  bool module_op(State* s);
  bool constant(State* s);
  bool while_op(State* s);
  bool reduce(State* s);
  bool reduce_body(State* s, const Type* fn);
  bool scan(State* s);
  bool region(const std::vector<Argument>& args, std::string_view parent, Region* out);
  bool block(const std::vector<Argument>& args, std::string_view parent, Block* out);
  bool arguments(std::vector<Argument>* out, bool allow_unnamed);
  bool operand(ValueId* out);
  bool operands(std::vector<ValueId>* out);
  bool check_operands(const State& s, std::span<const Type* const> types);
  Op* make_op(std::string_view name, std::vector<ValueId> operands, std::vector<const Type*> types,
              const Loc* loc);
  ValueId new_value(const Type* t);
  bool define(std::string_view name, const char* at, Values v);
  void leave_scope(size_t mark);

  // mlir_text_format.cc
  bool format(State* s, std::string_view text);
  bool format_token(State* s, std::string_view token);
  bool format_attr(State* s, std::string_view name, std::string_view kind);
  const Attr* format_value(std::string_view kind);
  bool format_special(State* s, std::string_view kind);
  bool format_types(State* s, std::string_view rule);
  bool single_type_rule(State* s, std::string_view rule);
  bool token_present(std::string_view token);
  bool assign_function(State* s, const Type* fn);
  bool slice_ranges(State* s);
  bool window(State* s);
  bool precision(State* s, bool algorithm);
  const Attr* dot_dims();

  struct Deeper {
    explicit Deeper(TextParser* p) : p_(p) { ++p_->depth_; }
    ~Deeper() { --p_->depth_; }
    TextParser* p_;
  };
  template <typename T>
  const T* light(const T* node) {
    if (node && node->weight > kMaxWeight) return fail("this is too large"), nullptr;
    return node;
  }
  bool too_deep() { return depth_ > kMaxDepth && (fail("nested too deeply"), true); }

  std::string_view file_;
  const char* begin_;
  const char* p_;
  const char* end_;  // of the part being read
  const char* text_end_;
  Module module_;
  Builder own_;
  Builder& b_;
  Normaliser normaliser_;
  Status error_;
  int depth_ = 0;

  absl::flat_hash_map<std::string_view, const Attr*> attr_aliases_;
  absl::flat_hash_map<std::string_view, const Type*> type_aliases_;
  absl::flat_hash_map<std::string_view, Loc*> loc_aliases_;  // may be used before they are defined
  absl::flat_hash_map<std::string_view, std::vector<Attr*>> pending_resources_;
  absl::flat_hash_map<std::string_view, Values> values_;
  std::vector<std::string_view> defined_;  // the names of the open scopes, to leave them
};

// "cannot parse" helper shared by the list forms `( a, b )`.
template <typename F>
bool TextParser::list(std::string_view open, std::string_view close, F&& item) {
  if (!expect(open)) return false;
  if (accept(close)) return true;
  do {
    if (!item()) return false;
  } while (accept(","));
  return expect(close);
}

}  // namespace braze::mlir
