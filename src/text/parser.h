// SPDX-License-Identifier: Apache-2.0
// The HLO text parser's insides, shared by the parse_*.cc files; the interface is parse.h.
//
// Callees are resolved after the whole text is read, so computations may come in any order;
// operands must be defined before use, as HLO prints them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/lexer.h"
#include "ops/spelled_op.h"
#include "text/parse.h"

namespace braze::text {

class Parser {
 public:
  Parser(std::string_view text, const ParseOptions& options)
      : options_(options), lex_(text, options.file) {}

  Result<std::unique_ptr<Module>> module();
  Result<Shape> shape(int depth = 0);
  Result<Literal> literal(const Shape& shape);
  Status end();  // nothing may follow

  Lexer& lex() { return lex_; }
  // "{1,2,3}"
  Result<Dims> int_list(char open = '{', char close = '}');

 private:
  struct Callee {
    size_t slot;
    std::string name;
    size_t pos;
  };
  struct Pending {  // an instruction to finish once all computations are known
    Instr* instr;
    size_t pos;
    std::vector<Callee> callees;
  };
  struct StackFrame {
    int64_t location = 0, parent = 0;
  };
  struct FileLocation {
    int64_t file = 0, line = 0, column = 0;
  };
  // What is read before the instruction exists.
  struct Draft {
    Op op;
    Shape shape;
    std::string name;
    size_t pos = 0;
    std::vector<Instr*> operands;
    Attrs attrs;
    std::vector<Callee> callees;
    std::unique_ptr<Extras> extras;
    absl::flat_hash_set<std::string> seen;  // attribute names
    AsyncPart async = AsyncPart::kNone;
    Extras& extra() {
      if (!extras) extras = std::make_unique<Extras>();
      return *extras;
    }
  };

  // parse_module.cc
  Status header();
  Status header_attribute(std::string_view name, size_t pos);
  Status entry_layout();
  Status input_output_alias();
  Status buffer_donors();
  Status tables();
  Status table_row(std::string_view table);
  Status computation();
  Status finish();
  Status resolve(Pending& p);
  Result<std::map<std::string, std::string>> attribute_map();

  // parse_instr.cc
  Status instruction(Computation* c, Instr** root, Instr** last);
  Status operands(Draft* d);
  Result<Instr*> operand();
  Status constant_value(Draft* d);
  Status attributes(Draft* d);
  Status attribute(Draft* d, std::string_view name);
  Status callees(Draft* d, std::string_view name);
  Status control_predecessors(Draft* d);
  Status metadata(Metadata* m);
  Status complete(Draft* d);
  Status add(Computation* c, Draft* d, Instr** out);

  // parse_shape.cc
  Status layout(Shape* s);
  Status dims(Shape* s);
  Status quantization(Shape* s);
  Status quantized_leaf(Shape* s);
  Status literal_elements(Literal* l, DimSpan dims, int64_t* at);
  Status literal_element(Literal* l, int64_t at);

  const ParseOptions& options_;
  Lexer lex_;
  std::unique_ptr<Module> module_;
  absl::flat_hash_map<std::string, Instr*> values_;  // of the computation being read
  absl::flat_hash_map<std::string, Computation*> computations_;
  std::vector<Pending> pending_;
  size_t header_ = 0;  // where the module's attributes begin
  std::vector<std::string> files_;
  std::vector<FileLocation> locations_;
  std::vector<StackFrame> frames_;
  bool has_entry_ = false;
};

// The alternative of Attrs with the given index, as OpDef::attrs names it.
Attrs default_attrs(int index);
// Reads attribute `name` into the field of `attrs` that bears it; false if none does.
Result<bool> parse_field(Parser& p, Op op, std::string_view name, Attrs* attrs);

}  // namespace braze::text
