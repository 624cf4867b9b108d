// SPDX-License-Identifier: Apache-2.0
// The frame of HLO text: module header, stack frame tables, computations; and what is settled once
// everything is read: callees, entry, shapes.
#include <algorithm>

#include "ops/bitcast_layout.h"
#include "ops/laws.h"
#include "ops/listed_sizes.h"
#include "text/parser.h"

namespace braze::text {

Status Parser::end() {
  if (lex_.at_end()) return {};
  return lex_.expected("the end of the text");
}

Result<std::unique_ptr<Module>> Parser::module() {
  module_ = std::make_unique<Module>("module");
  if (lex_.eat_word("HloModule")) TRY(header());
  TRY(tables());
  while (!lex_.at_end()) TRY(computation());
  if (module_->computations().empty()) return lex_.expected("a computation");
  TRY(finish());
  TRY(row_major_bitcasts(*module_));
  return std::move(module_);
}

Status Parser::header() {
  lex_.eat('%');
  std::string_view n = lex_.name();
  if (n.empty()) return lex_.expected("the module's name");
  module_->set_name(std::string(n));
  while (lex_.eat(',')) {
    lex_.skip_space();
    size_t start = lex_.pos();
    if (header_ == 0) header_ = start;
    std::string_view key = lex_.name();
    if (key.empty()) return lex_.expected("an attribute of the module");
    TRY(lex_.expect('=', str_cat("after ", key)));
    TRY(header_attribute(key, start));
  }
  return {};
}

Status Parser::header_attribute(std::string_view key, size_t pos) {
  if (key == "entry_computation_layout") return entry_layout();
  if (key == "input_output_alias") return input_output_alias();
  if (key == "buffer_donor") return buffer_donors();
  if (key == "is_scheduled") {
    ASSIGN(module_->is_scheduled, lex_.boolean());
    return {};
  }
  if (key == "replica_count" || key == "num_partitions") {
    ASSIGN(int64_t n, lex_.integer());
    if (n < 1) return lex_.error(pos, str_cat(key, " must be positive"));
    (key == "replica_count" ? module_->num_replicas : module_->num_partitions) = n;
    return {};
  }
  if (key == "frontend_attributes") {
    ASSIGN(module_->frontend_attributes, attribute_map());
    return {};
  }
  if (key == "entry_result_shardings" && lex_.peek() == '"') {  // Braze's own: quoted Shardy
    ASSIGN(module_->other[std::string(key)], lex_.quoted());
    return {};
  }
  ASSIGN(std::string_view raw, lex_.raw_value());
  module_->other[std::string(key)] = std::string(raw);
  return {};
}

namespace {

bool all_row_major(const Shape& s) {
  return is_row_major(s) && std::all_of(s.tuple.begin(), s.tuple.end(), all_row_major);
}

}  // namespace

// {(parameter shapes)->result shape}
Status Parser::entry_layout() {
  std::vector<Shape> params;
  TRY(lex_.expect('{', "to open the entry's layout"));
  TRY(lex_.expect('(', "before the parameters' shapes"));
  if (!lex_.eat(')')) {
    do {
      ASSIGN(Shape s, shape());
      params.push_back(std::move(s));
    } while (lex_.eat(','));
    TRY(lex_.expect(')', "after the parameters' shapes"));
  }
  if (!lex_.eat("->")) return lex_.expected("'->' before the result's shape");
  ASSIGN(Shape result, shape());
  TRY(lex_.expect('}', "after the entry's layout"));
  module_->entry_parameter_layouts = std::move(params);
  module_->entry_result_layouts = {std::move(result)};
  return {};
}

// { {0}: (1, {}, may-alias), {1}: (2, {}, must-alias) }
Status Parser::input_output_alias() {
  TRY(lex_.expect('{', "to open the aliases"));
  if (lex_.eat('}')) return {};
  do {
    InputOutputAlias a;
    ASSIGN(a.output_index, int_list());
    TRY(lex_.expect(':', "after the output's index"));
    TRY(lex_.expect('(', "before the parameter"));
    ASSIGN(a.parameter, lex_.integer());
    if (lex_.eat(',')) {
      ASSIGN(a.parameter_index, int_list());
    }
    if (lex_.eat(',')) {
      if (lex_.eat_word("must-alias"))
        a.must_alias = true;
      else if (!lex_.eat_word("may-alias"))
        return lex_.expected("'may-alias' or 'must-alias'");
    }
    TRY(lex_.expect(')', "after the parameter"));
    module_->aliases.push_back(std::move(a));
  } while (lex_.eat(','));
  return lex_.expect('}', "after the aliases");
}

// { (0, {}), (2, {}) }: a part of a tuple parameter may not be named here, so such donors, which
// only permit reuse, are passed over.
Status Parser::buffer_donors() {
  TRY(lex_.expect('{', "to open the donors"));
  if (lex_.eat('}')) return {};
  do {
    TRY(lex_.expect('(', "before the parameter"));
    ASSIGN(int64_t n, lex_.integer());
    Dims index;
    if (lex_.eat(',')) {
      ASSIGN(index, int_list());
    }
    TRY(lex_.expect(')', "after the parameter"));
    if (index.empty()) module_->buffer_donors.push_back(n);
  } while (lex_.eat(','));
  return lex_.expect('}', "after the donors");
}

// {key="value",key={raw}}
Result<std::map<std::string, std::string>> Parser::attribute_map() {
  std::map<std::string, std::string> out;
  TRY(lex_.expect('{', "to open the frontend attributes"));
  if (lex_.eat('}')) return out;
  do {
    std::string key;
    if (lex_.peek() == '"') {
      ASSIGN(key, lex_.quoted());
    } else {
      key = std::string(lex_.name());
    }
    if (key.empty()) return lex_.expected("a frontend attribute's name");
    TRY(lex_.expect('=', str_cat("after ", key)));
    if (lex_.peek() == '"') {
      ASSIGN(out[key], lex_.quoted());
    } else {
      ASSIGN(std::string_view raw, lex_.raw_value());
      out[key] = std::string(raw);
    }
  } while (lex_.eat(','));
  TRY(lex_.expect('}', "after the frontend attributes"));
  return out;
}

// "FileNames\n1 \"a.py\"\n2 …": the tables that stack_frame_id of metadata refers to.
Status Parser::tables() {
  static constexpr std::string_view kTables[] = {"FileNames", "FunctionNames", "FileLocations",
                                                 "StackFrames"};
  bool found = true;
  while (found) {
    found = false;
    for (std::string_view t : kTables) {
      lex_.skip_space();
      size_t start = lex_.pos();
      if (!lex_.eat_word(t)) continue;
      // A computation may bear the table's name.
      if (char c = lex_.peek(); c < '0' || c > '9') {
        lex_.seek(start);
        continue;
      }
      found = true;
      for (char c = lex_.peek(); c >= '0' && c <= '9'; c = lex_.peek()) TRY(table_row(t));
    }
  }
  return {};
}

Status Parser::table_row(std::string_view table) {
  TRY(lex_.integer().status());
  if (table == "FileNames" || table == "FunctionNames") {
    ASSIGN(std::string s, lex_.quoted());
    if (table == "FileNames") files_.push_back(std::move(s));
    return {};
  }
  TRY(lex_.expect('{', str_cat("to open a row of ", table)));
  FileLocation location;
  StackFrame frame;
  while (!lex_.eat('}')) {
    std::string_view key = lex_.name();
    if (key.empty()) return lex_.expected("a field or '}'");
    TRY(lex_.expect('=', str_cat("after ", key)));
    ASSIGN(int64_t v, lex_.integer());
    if (key == "file_name_id")
      location.file = v;
    else if (key == "line")
      location.line = v;
    else if (key == "column")
      location.column = v;
    else if (key == "file_location_id")
      frame.location = v;
    else if (key == "parent_frame_id")
      frame.parent = v;
    lex_.eat(',');
  }
  if (table == "FileLocations")
    locations_.push_back(location);
  else
    frames_.push_back(frame);
  return {};
}

Status Parser::computation() {
  bool is_entry = lex_.eat_word("ENTRY");
  lex_.eat('%');
  lex_.skip_space();
  size_t start = lex_.pos();
  std::string n(lex_.name());
  if (n.empty()) return lex_.expected("a computation");
  if (computations_.contains(n))
    return lex_.error(start, str_cat("computation '", n, "' is defined twice"));
  if (is_entry && has_entry_) return lex_.error(start, "the module has two ENTRY computations");
  if (lex_.peek() == '(') {
    TRY(lex_.balanced().status());
    if (!lex_.eat("->")) return lex_.expected("'->' before the computation's result shape");
    TRY(shape().status());
  }
  TRY(lex_.expect('{', "to open the computation"));
  Computation* c = module_->add_computation(n);
  computations_[n] = c;
  if (is_entry || !has_entry_) module_->set_entry(c);
  has_entry_ |= is_entry;
  values_.clear();
  Instr *root = nullptr, *last = nullptr;
  while (!lex_.eat('}')) TRY(instruction(c, &root, &last));
  if (c->size() == 0) return lex_.error(start, str_cat("computation '", n, "' is empty"));
  for (size_t i = 0; i < c->params().size(); ++i)
    if (!c->params()[i])
      return lex_.error(start, str_cat("computation '", n, "' lacks parameter ", i));
  c->set_root(root ? root : last);
  while (lex_.eat(',')) {  // execution_thread="…"
    std::string_view key = lex_.name();
    TRY(lex_.expect('=', str_cat("after ", key)));
    TRY(lex_.raw_value().status());
  }
  return {};
}

Status Parser::resolve(Pending& p) {
  size_t count = 0;
  for (const Callee& c : p.callees) count = std::max(count, c.slot + 1);
  std::vector<Computation*> calls(count);
  for (const Callee& c : p.callees) {
    auto it = computations_.find(c.name);
    if (it == computations_.end())
      return lex_.error(c.pos, str_cat("there is no computation '", c.name, "'"));
    if (calls[c.slot]) return lex_.error(c.pos, "this computation is given twice");
    calls[c.slot] = it->second;
  }
  for (Computation* c : calls)
    if (!c) return lex_.error(p.pos, str_cat(name(p.instr->op), " lacks one of its computations"));
  if (count) p.instr->parent->set_calls(p.instr, calls);
  if (Status s = check_callee_count(*p.instr); !s.ok())
    return lex_.error(p.pos, std::string_view(s.message().data(), s.message().size()));
  return {};
}

Status Parser::finish() {
  for (Pending& p : pending_) TRY(resolve(p));
  TRY(check_call_graph(*module_));
  TRY(list_reshape_sizes(*module_));
  if (options_.check) {
    for (Pending& p : pending_)
      if (Status s = check_shape(*p.instr); !s.ok())
        return lex_.error(p.pos, std::string_view(s.message().data(), s.message().size()));
  }
  if (Status s = check_header(*module_); !s.ok())
    return lex_.error(header_, std::string_view(s.message().data(), s.message().size()));
  // Row-major layouts say nothing.
  auto &in = module_->entry_parameter_layouts, &out = module_->entry_result_layouts;
  if (std::all_of(in.begin(), in.end(), all_row_major)) in.clear();
  if (std::all_of(out.begin(), out.end(), all_row_major)) out.clear();
  return {};
}

}  // namespace braze::text

namespace braze {

Result<std::unique_ptr<Module>> parse_hlo(std::string_view text, const ParseOptions& options) {
  return text::Parser(text, options).module();
}

}  // namespace braze
