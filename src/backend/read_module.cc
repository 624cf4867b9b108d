// SPDX-License-Identifier: Apache-2.0
#include "backend/read_module.h"

#include <algorithm>
#include <cctype>

#include "backend/debug_session.h"
#include "base/npy.h"
#include "frontend/hlo_proto.h"
#include "frontend/mlir_read.h"
#include "frontend/stablehlo_import.h"
#include "passes/refine_shapes.h"
#include "text/parse.h"

namespace braze {
namespace {

constexpr std::string_view kMain = "main";  // what ReadOptions asks for unless told otherwise

// The first word that is not in a comment.
std::string_view first_word(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (std::isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
    } else {
      break;
    }
  }
  size_t end = at;
  while (end < text.size() && !std::isspace(static_cast<unsigned char>(text[end])) && text[end] != ',') ++end;
  return text.substr(at, end - at);
}

Status refine(Module& m, const ReadOptions& o) {
  if (o.argument_shapes.empty())
    for (const Instr* p : m.entry()->params())
      if (!p->shape.is_static()) return absl::OkStatus();
  return has_unknown_shapes(m) ? refine_shapes(m, o.argument_shapes) : absl::OkStatus();
}

// Text has no control characters but white space; a protobuf starts with field tags, which are some.
bool is_binary(std::string_view bytes) {
  for (unsigned char c : bytes.substr(0, 256))
    if (c < 32 && !std::isspace(c)) return true;
  return false;
}

// MLIR text begins with an operation, an alias or a resource block.
bool is_mlir_start(std::string_view text) {
  std::string_view word = first_word(text);
  if (word.empty()) return false;
  if (word[0] == '#' || word[0] == '!' || word[0] == '"' || word[0] == '{' || word[0] == '%') return true;
  return word.substr(0, 6) == "module" || word.substr(0, 5) == "func." || word.substr(0, 8) == "builtin." ||
         word.find('.') != std::string_view::npos;
}

Result<std::unique_ptr<Module>> read_any(std::string_view bytes, const ReadOptions& o) {
  const bool is_hlo = first_word(bytes) == "HloModule" || (!mlir::is_bytecode(bytes) && is_binary(bytes));
  if (is_hlo && o.entry != kMain)
    return invalid("there is no function @", o.entry, ": HLO says itself what its entry is");
  if (first_word(bytes) == "HloModule") {
    ParseOptions p;
    p.file = o.file;
    p.fill_elided = o.fill_elided;
    return parse_hlo(bytes, p);
  }
  if (is_hlo) {
    ASSIGN(HloSnapshot snapshot, read_any_hlo(bytes));
    return std::move(snapshot.module);
  }
  if (!mlir::is_bytecode(bytes) && !is_mlir_start(bytes))
    return invalid("not a program: expected HLO text (it begins with HloModule), StableHLO text (module, "
                   "func.func, or a #, ! or \" of MLIR), bytecode or a protobuf");
  Result<mlir::Module> tree = mlir::is_bytecode(bytes) ? mlir::read_mlir_bytecode(bytes)
                                                       : mlir::read_mlir_text(bytes, o.file);
  if (!tree.ok()) return tree.status();
  ImportOptions import;
  import.entry = o.entry;
  import.any_entry = o.entry == kMain;
  return import_stablehlo(*tree, import);
}

Result<std::unique_ptr<Module>> read_plain_or_packed(std::string_view bytes, const ReadOptions& o) {
  std::string text;
  if (is_gzip(bytes)) {
    ASSIGN(text, gunzip(bytes));
    bytes = text;
    if (is_gzip(bytes)) return invalid("the file was packed by gzip twice: unpack it once");
  }
  ASSIGN(std::unique_ptr<Module> m, read_any(bytes, o));
  TRY(refine(*m, o));
  remember_source(*m, bytes);
  return m;
}

}  // namespace

Result<std::unique_ptr<Module>> read_module(std::string_view bytes, const ReadOptions& o) {
  auto m = read_plain_or_packed(bytes, o);
  // Errors with a place in the text begin with the file; the others get it here.
  if (m.ok() || o.file.empty() || m.status().message().substr(0, o.file.size()) == o.file) return m;
  return note(o.file, m.status());
}

}  // namespace braze
