// SPDX-License-Identifier: Apache-2.0
// Reading attribute values: one overload of `read` per field type of ir/attrs.h.
#include "absl/strings/numbers.h"
#include "ops/replica_groups.h"
#include "text/parser.h"
#include "text/spelling.h"

namespace braze::text {

namespace {

constexpr int64_t kMaxWindowDims = 64;

std::string_view message_of(const Status& s) { return {s.message().data(), s.message().size()}; }

// Calls visitors over `fields` and reads the one whose text name matches.
struct FieldReader {
  Parser& p;
  Op op;
  std::string_view name;
  bool done = false;
  Status status;

  bool match(std::string_view field) {
    if (done || attribute_name(op, field) != name) return false;
    return done = true;
  }
  template <typename T>
  void operator()(std::string_view field, T& value) {
    if (match(field)) status = read(field, value);
  }
  void one_dim(std::string_view field, int64_t& value) {
    if (match(field)) status = read_one_dim(value);
  }
  void slice(std::string_view field, Dims& start, Dims& limit, Dims& stride) {
    if (match(field)) status = read_slice(start, limit, stride);
  }
  void padding(std::string_view field, Dims& low, Dims& high, Dims& interior) {
    if (match(field)) status = read_padding(low, high, interior);
  }
  void literal(Literal&) {}  // read with the operands
  void number(int64_t&) {}

  Status read(std::string_view field, int64_t& v);
  Status read(std::string_view field, bool& v);
  Status read(std::string_view field, double& v);
  Status read(std::string_view field, std::string& v);
  Status read(std::string_view field, Dims& v);
  Status read(std::string_view field, Window& v);
  Status read(std::string_view field, ConvDims& v);
  Status read(std::string_view field, std::vector<Precision>& v);
  Status read(std::string_view field, ReplicaGroups& v);
  Status read(std::string_view field, std::vector<std::pair<int64_t, int64_t>>& v);
  Status read(std::string_view field, std::vector<OperandAlias>& v);
  Status read(std::string_view field, std::vector<Dims>& v);
  template <typename E>
  requires std::is_enum_v<E> Status read(std::string_view field, E& v);

  Status read_one_dim(int64_t& v);
  Status read_slice(Dims& start, Dims& limit, Dims& stride);
  Status read_padding(Dims& low, Dims& high, Dims& interior);
  Status read_window_part(std::string_view key, Window& w, bool first);
  Status read_labels(std::string_view labels, std::string_view letters, size_t pos, Dims* spatial,
                     int64_t* first, int64_t* second);
  Status read_iota_groups(ReplicaGroups& v);
  Status read_mesh_groups(ReplicaGroups& v);
};

Status FieldReader::read(std::string_view field, int64_t& v) {
  Lexer& lex = p.lex();
  if (field == "dimensions") return read_one_dim(v);
  if (field == "api_version" && (lex.peek() < '0' || lex.peek() > '9')) {
    size_t start = lex.pos();
    std::string_view w = lex.name();
    for (size_t i = 0; i < api_versions().size(); ++i)
      if (api_versions()[i] == w) return v = static_cast<int64_t>(i + 1), Status();
    return lex.error(start, str_cat("expected one of ", list_of(api_versions())));
  }
  ASSIGN(v, lex.integer());
  return {};
}

Status FieldReader::read(std::string_view, bool& v) {
  ASSIGN(v, p.lex().boolean());
  return {};
}

Status FieldReader::read(std::string_view, double& v) {
  ASSIGN(v, p.lex().number());
  return {};
}

Status FieldReader::read(std::string_view, std::string& v) {
  Lexer& lex = p.lex();
  if (lex.peek() == '"') {
    ASSIGN(v, lex.quoted());
    return {};
  }
  ASSIGN(std::string_view raw, lex.raw_value());
  v = std::string(raw);
  return {};
}

Status FieldReader::read(std::string_view, Dims& v) {
  ASSIGN(v, p.int_list());
  return {};
}

Status FieldReader::read_one_dim(int64_t& v) {
  Lexer& lex = p.lex();
  if (lex.peek() != '{') {
    ASSIGN(v, lex.integer());
    return {};
  }
  lex.skip_space();
  size_t start = lex.pos();
  ASSIGN(Dims d, p.int_list());
  if (d.size() != 1) return lex.error(start, str_cat("expected one dimension, found ", d.size()));
  v = d[0];
  return {};
}

Status FieldReader::read_slice(Dims& start, Dims& limit, Dims& stride) {
  Lexer& lex = p.lex();
  start.clear(), limit.clear(), stride.clear();
  TRY(lex.expect('{', "to open the slice"));
  if (lex.eat('}')) return {};
  do {
    TRY(lex.expect('[', "before start:limit"));
    ASSIGN(int64_t s, lex.integer());
    TRY(lex.expect(':', "between start and limit"));
    ASSIGN(int64_t l, lex.integer());
    int64_t by = 1;
    if (lex.eat(':')) {
      ASSIGN(by, lex.integer());
    }
    TRY(lex.expect(']', "after the slice of a dimension"));
    start.push_back(s), limit.push_back(l), stride.push_back(by);
  } while (lex.eat(','));
  return lex.expect('}', "after the slice");
}

// Numbers separated by `sep` up to the end of `text`; false if it is anything else.
bool split_numbers(std::string_view text, char sep, Dims* out) {
  while (true) {
    size_t end = text.find(sep);
    int64_t v;
    std::string_view part = text.substr(0, end);
    if (!absl::SimpleAtoi(absl::string_view(part.data(), part.size()), &v)) return false;
    out->push_back(v);
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

// Groups separated by 'x', each of `low`..`high` numbers separated by '_'.
bool split_groups(std::string_view text, size_t low, size_t high, std::vector<Dims>* out) {
  while (true) {
    size_t end = text.find('x');
    Dims group;
    if (!split_numbers(text.substr(0, end), '_', &group)) return false;
    if (group.size() < low || group.size() > high) return false;
    out->push_back(std::move(group));
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
}

Status FieldReader::read_padding(Dims& low, Dims& high, Dims& interior) {
  Lexer& lex = p.lex();
  low.clear(), high.clear(), interior.clear();
  char next = lex.peek_raw();
  if (next != '-' && (next < '0' || next > '9')) return {};  // of a scalar: "padding="
  size_t start = lex.pos();
  std::string_view w = lex.word();
  std::vector<Dims> groups;
  if (!split_groups(w, 2, 3, &groups))
    return lex.error(
        start, "expected padding as low_high or low_high_interior per dimension, joined by 'x'");
  for (Dims& g : groups) {
    low.push_back(g[0]), high.push_back(g[1]);
    interior.push_back(g.size() == 3 ? g[2] : 0);
  }
  return {};
}

Status FieldReader::read_window_part(std::string_view key, Window& w, bool first) {
  Lexer& lex = p.lex();
  lex.skip_space();
  size_t start = lex.pos();
  std::string_view text = lex.word();
  std::vector<Dims> groups;
  size_t each = key == "pad" ? 2 : 1;
  if (!split_groups(text, each, each, &groups))
    return lex.error(start, key == "pad" ? "expected low_high per dimension, joined by 'x'"
                                         : "expected one number per dimension, joined by 'x'");
  if (groups.size() > kMaxWindowDims) return lex.error(start, "the window has too many dimensions");
  if (first) w.resize(groups.size());
  if (groups.size() != w.size())
    return lex.error(
        start, str_cat("the window has ", w.size(), " dimensions, ", key, " has ", groups.size()));
  for (size_t i = 0; i < w.size(); ++i) {
    int64_t v = groups[i][0];
    if (key == "size")
      w[i].size = v;
    else if (key == "stride")
      w[i].stride = v;
    else if (key == "lhs_dilate")
      w[i].base_dilation = v;
    else if (key == "rhs_dilate")
      w[i].window_dilation = v;
    else if (key == "rhs_reversal")
      w[i].reversal = v != 0;
    else
      w[i].pad_low = v, w[i].pad_high = groups[i][1];
  }
  return {};
}

Status FieldReader::read(std::string_view, Window& w) {
  static constexpr std::string_view kKeys[] = {"size",       "stride",     "pad",
                                               "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  Lexer& lex = p.lex();
  w.clear();
  TRY(lex.expect('{', "to open the window"));
  bool first = true;
  while (!lex.eat('}')) {
    lex.skip_space();
    size_t start = lex.pos();
    std::string_view key = lex.name();
    if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys)) {
      lex.seek(start);
      return lex.expected(str_cat("one of ", list_of(kKeys), " or '}'"));
    }
    TRY(lex.expect('=', str_cat("after ", key)));
    TRY(read_window_part(key, w, first));
    first = false;
  }
  return {};
}

// One array's labels, such as "bf01": digits are spatial dimensions, '?' a dimension without a
// role.
Status FieldReader::read_labels(std::string_view labels, std::string_view letters, size_t pos,
                                Dims* spatial, int64_t* first, int64_t* second) {
  *first = *second = -1;
  spatial->assign(labels.size(), -1);
  int64_t count = 0;
  for (size_t i = 0; i < labels.size(); ++i) {
    char c = labels[i];
    int64_t* role = c == letters[0] ? first : c == letters[1] ? second : nullptr;
    if (c >= '0' && c <= '9' && static_cast<size_t>(c - '0') < spatial->size()) {
      role = &(*spatial)[c - '0'];
      ++count;
    }
    if (c == '?') continue;
    if (!role || *role != -1)
      return p.lex().error(pos, str_cat("dim_labels: '", std::string(1, c),
                                        "' is unknown or repeated in '", labels, "'"));
    *role = static_cast<int64_t>(i);
  }
  spatial->resize(count);
  for (int64_t d : *spatial)
    if (d < 0)
      return p.lex().error(pos, str_cat("dim_labels: '", labels, "' skips a spatial dimension"));
  if (*first < 0 || *second < 0)
    return p.lex().error(pos, str_cat("dim_labels: '", labels, "' lacks '", letters, "'"));
  return {};
}

Status FieldReader::read(std::string_view, ConvDims& v) {
  Lexer& lex = p.lex();
  lex.skip_space();
  size_t start = lex.pos();
  std::string_view w = lex.word();
  size_t lhs_end = w.find('_'), rhs_end = w.find("->");
  if (lhs_end == std::string_view::npos || rhs_end == std::string_view::npos || rhs_end < lhs_end)
    return lex.error(start, "expected dimension labels such as bf01_oi01->bf01");
  std::string_view lhs = w.substr(0, lhs_end), rhs = w.substr(lhs_end + 1, rhs_end - lhs_end - 1);
  std::string_view out = w.substr(rhs_end + 2);
  if (w.size() > 3 * 16) return lex.error(start, "dim_labels has too many dimensions");
  TRY(read_labels(lhs, "bf", start, &v.input_spatial, &v.input_batch, &v.input_feature));
  TRY(read_labels(rhs, "io", start, &v.kernel_spatial, &v.kernel_input, &v.kernel_output));
  TRY(read_labels(out, "bf", start, &v.output_spatial, &v.output_batch, &v.output_feature));
  if (v.input_spatial.size() != v.kernel_spatial.size() ||
      v.input_spatial.size() != v.output_spatial.size())
    return lex.error(start, "dim_labels: the three parts differ in spatial dimensions");
  return {};
}

template <typename E>
requires std::is_enum_v<E> Status FieldReader::read(std::string_view, E& v) {
  Lexer& lex = p.lex();
  lex.skip_space();
  size_t start = lex.pos();
  std::optional<E> e = unspell<E>(lex.name());
  if (!e) {
    lex.seek(start);
    return lex.expected(str_cat("one of ", list_of(spellings<E>())));
  }
  v = *e;
  return {};
}

Status FieldReader::read(std::string_view field, std::vector<Precision>& v) {
  Lexer& lex = p.lex();
  v.clear();
  TRY(lex.expect('{', "to open the precisions"));
  if (lex.eat('}')) return {};
  do {
    TRY(read(field, v.emplace_back()));
  } while (lex.eat(','));
  return lex.expect('}', "after the precisions");
}

// [groups,size]<=[reshape dims]T(permutation): an iota of device ids, reshaped and transposed.
Status FieldReader::read_iota_groups(ReplicaGroups& v) {
  Lexer& lex = p.lex();
  size_t start = lex.pos();
  ASSIGN(Dims tile, p.int_list('[', ']'));
  if (!lex.eat("<=")) return lex.expected("'<=' after the shape of the groups");
  ASSIGN(Dims reshape, p.int_list('[', ']'));
  Dims perm;
  if (lex.eat_word("T")) {
    ASSIGN(perm, p.int_list('(', ')'));
  }
  if (tile.size() != 2) return lex.error(start, "expected [groups,devices per group]");
  Result<ReplicaGroups> groups = iota_groups(tile[0], tile[1], reshape, perm);
  if (!groups.ok()) return lex.error(start, message_of(groups.status()));
  v = *std::move(groups);
  return {};
}

// mesh['x'=2,'y'=4] {'x','y':(1)2}: groups along whole axes or parts of them.
Status FieldReader::read_mesh_groups(ReplicaGroups& v) {
  Lexer& lex = p.lex();
  lex.skip_space();
  const size_t start = lex.pos();
  auto axis_name = [&](std::string* out) -> Status {
    TRY(lex.expect('\'', "before an axis' name"));
    *out = std::string(lex.name());
    return lex.expect('\'', "after the axis' name");
  };
  lex.eat_word("mesh");
  TRY(lex.expect('[', "to open the mesh"));
  std::vector<MeshAxis> mesh;
  while (!lex.eat(']')) {
    if (!mesh.empty()) TRY(lex.expect(',', "between axes"));
    MeshAxis a;
    TRY(axis_name(&a.name));
    TRY(lex.expect('=', "before the axis' size"));
    ASSIGN(a.size, lex.integer());
    mesh.push_back(std::move(a));
  }
  if (lex.peek() == ',') return lex.error("a mesh with device_ids is not supported");
  TRY(lex.expect('{', "to open the axes of the groups"));
  std::vector<MeshAxisPart> parts;
  while (!lex.eat('}')) {
    if (!parts.empty()) TRY(lex.expect(',', "between axes"));
    MeshAxisPart part;
    std::string name;
    TRY(axis_name(&name));
    while (part.axis < mesh.size() && mesh[part.axis].name != name) ++part.axis;
    if (part.axis == mesh.size()) return lex.error(str_cat("the mesh has no axis '", name, "'"));
    part.size = mesh[part.axis].size;
    if (lex.eat(':')) {
      TRY(lex.expect('(', "before the part's place"));
      ASSIGN(part.pre, lex.integer());
      TRY(lex.expect(')', "after the part's place"));
      ASSIGN(part.size, lex.integer());
    }
    parts.push_back(part);
  }
  Result<ReplicaGroups> groups = mesh_groups(mesh, parts);
  if (!groups.ok()) return lex.error(start, message_of(groups.status()));
  v = *std::move(groups);
  return {};
}

Status FieldReader::read(std::string_view, ReplicaGroups& v) {
  Lexer& lex = p.lex();
  v.clear();
  if (lex.peek() == 'm') return read_mesh_groups(v);
  if (lex.peek() == '[') return read_iota_groups(v);
  TRY(lex.expect('{', "to open the replica groups"));
  if (lex.eat('}')) return {};
  do {
    ASSIGN(Dims g, p.int_list());
    v.emplace_back(g.begin(), g.end());
  } while (lex.eat(','));
  return lex.expect('}', "after the replica groups");
}

Status FieldReader::read(std::string_view, std::vector<std::pair<int64_t, int64_t>>& v) {
  Lexer& lex = p.lex();
  v.clear();
  TRY(lex.expect('{', "to open the pairs"));
  if (lex.eat('}')) return {};
  do {
    lex.skip_space();
    size_t start = lex.pos();
    ASSIGN(Dims d, p.int_list());
    if (d.size() != 2) return lex.error(start, "expected a pair {source,target}");
    v.emplace_back(d[0], d[1]);
  } while (lex.eat(','));
  return lex.expect('}', "after the pairs");
}

// {{0}: (1, {}), {1}: (0, {2}, may-alias)}
Status FieldReader::read(std::string_view, std::vector<OperandAlias>& v) {
  Lexer& lex = p.lex();
  v.clear();
  TRY(lex.expect('{', "to open the aliases"));
  if (lex.eat('}')) return {};
  do {
    OperandAlias a;
    ASSIGN(a.output_index, p.int_list());
    TRY(lex.expect(':', "after the output's index"));
    TRY(lex.expect('(', "before the operand's number"));
    ASSIGN(a.operand, lex.integer());
    if (lex.eat(',')) {
      ASSIGN(a.operand_index, p.int_list());
    }
    TRY(lex.expect(')', "after the operand"));
    v.push_back(std::move(a));
  } while (lex.eat(','));
  return lex.expect('}', "after the aliases");
}

void leaf_layouts(const Shape& s, std::vector<Dims>* out) {
  if (!s.is_tuple()) out->push_back(s.layout);
  for (const Shape& t : s.tuple) leaf_layouts(t, out);
}

// operand_layout_constraints: shapes whose layouts count.
Status FieldReader::read(std::string_view, std::vector<Dims>& v) {
  Lexer& lex = p.lex();
  v.clear();
  TRY(lex.expect('{', "to open the shapes"));
  if (lex.eat('}')) return {};
  do {
    ASSIGN(Shape s, p.shape());
    leaf_layouts(s, &v);
  } while (lex.eat(','));
  return lex.expect('}', "after the shapes");
}

template <size_t... I>
Attrs attrs_at(int index, std::index_sequence<I...>) {
  Attrs a;
  (void)((static_cast<int>(I) == index && (a.emplace<I>(), true)) || ...);
  return a;
}

}  // namespace

Attrs default_attrs(int index) {
  return attrs_at(index, std::make_index_sequence<std::variant_size_v<Attrs>>());
}

Result<bool> parse_field(Parser& p, Op op, std::string_view name, Attrs* attrs) {
  FieldReader reader{p, op, name};
  std::visit([&](auto& a) { a.fields(reader); }, *attrs);
  TRY(reader.status);
  return reader.done;
}

}  // namespace braze::text
