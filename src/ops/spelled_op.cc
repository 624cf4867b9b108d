// SPDX-License-Identifier: Apache-2.0
#include "ops/spelled_op.h"

#include <algorithm>
#include <vector>

namespace braze {

namespace {

// Levenshtein distance.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t best = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[b.size()];
}

std::string nearest_opcode(std::string_view spelled) {
  std::string best;
  size_t best_distance = spelled.size() / 3 + 2;
  if (spelled.size() > 40) return best;
  for (int i = 0; i < kOpCount; ++i) {
    std::string_view n = name(static_cast<Op>(i));
    if (size_t d = edit_distance(spelled, n); d < best_distance) best_distance = d, best = n;
  }
  return best;
}

bool eat_suffix(std::string_view* s, std::string_view suffix) {
  if (s->size() <= suffix.size() || s->substr(s->size() - suffix.size()) != suffix) return false;
  s->remove_suffix(suffix.size());
  return true;
}

}  // namespace

Result<SpelledOp> spelled_op(std::string_view spelled) {
  if (std::optional<Op> op = op_from_hlo(spelled)) return SpelledOp{*op};
  std::string_view base = spelled;
  if (eat_suffix(&base, "-done") || eat_suffix(&base, "-update")) {
    if (base == "async" || op_from_hlo(base)) return SpelledOp{Op::kOptBarrier, AsyncPart::kDone};
  } else if (eat_suffix(&base, "-start")) {
    if (base == "async") return SpelledOp{Op::kCall, AsyncPart::kStart};
    if (std::optional<Op> op = op_from_hlo(base)) return SpelledOp{*op, AsyncPart::kStart};
  }
  std::string near = nearest_opcode(spelled);
  return invalid("unknown opcode '", spelled.substr(0, 60), "'",
                 near.empty() ? "" : str_cat("; did you mean '", near, "'?"));
}

Result<Shape> unwrap_start(Op op, const Shape& shape) {
  if (op == Op::kAllReduce) return shape;
  size_t part = op == Op::kCopy ? 0 : 1;
  if (!shape.is_tuple() || shape.tuple.size() <= part)
    return invalid("the shape of an asynchronous ", name(op), " is a tuple of operand, result …");
  return shape.tuple[part];
}

}  // namespace braze
