// SPDX-License-Identifier: Apache-2.0
// Shapes, layouts and literals of HLO text. The literal's size is bounded by the text before memory
// is taken for it.
#include <charconv>
#include <cmath>

#include "ops/laws.h"
#include "text/parser.h"

namespace braze::text {

namespace {

constexpr int kMaxDepth = 64;  // of nested tuples
constexpr int64_t kMaxRank = 64;
}  // namespace

Result<Dims> Parser::int_list(char open, char close) {
  Dims out;
  TRY(lex_.expect(open, "to open a list of integers"));
  if (lex_.eat(close)) return out;
  do {
    ASSIGN(int64_t v, lex_.integer());
    out.push_back(v);
  } while (lex_.eat(','));
  TRY(lex_.expect(close, "after the integers"));
  return out;
}

Result<Shape> Parser::shape(int depth) {
  if (depth > kMaxDepth) return lex_.error("tuples are nested too deep");
  if (lex_.eat('(')) {
    std::vector<Shape> parts;
    if (lex_.eat(')')) return Shape::tuple_of({});
    do {
      ASSIGN(Shape s, shape(depth + 1));
      parts.push_back(std::move(s));
    } while (lex_.eat(','));
    TRY(lex_.expect(')', "to close the tuple's shape"));
    return Shape::tuple_of(std::move(parts));
  }
  lex_.skip_space();
  size_t start = lex_.pos();
  std::string_view type = lex_.name();
  std::optional<Dtype> t = dtype_from_hlo(type);
  if (!t || *t == Dtype::kTuple) {
    lex_.seek(start);
    return lex_.expected("a shape");
  }
  Shape s;
  s.dtype = *t;
  if (lex_.peek_raw() != '[') return lex_.expected(str_cat("'[' after ", type));
  TRY(dims(&s));
  if (!s.is_array() && !s.dims.empty())
    return lex_.error(start, str_cat(type, " has no dimensions"));
  if (Status size = check_size(s); !size.ok())
    return lex_.error(start, std::string_view(size.message().data(), size.message().size()));
  // A brace that follows at once is a layout; one after a space opens something else.
  if (lex_.peek_raw() == '{') TRY(layout(&s));
  return s;
}

Status Parser::dims(Shape* s) {
  TRY(lex_.expect('[', "before the dimensions"));
  if (lex_.eat(']')) return {};
  bool any_dynamic = false;
  do {
    lex_.skip_space();
    size_t start = lex_.pos();
    if (s->rank() >= kMaxRank) return lex_.error("too many dimensions");
    if (lex_.eat('?')) {
      s->dims.push_back(kUnknownDim);
      s->dynamic.push_back(false);
      continue;
    }
    bool bounded = lex_.eat("<=");
    ASSIGN(int64_t d, lex_.integer());
    if (d < 0) return lex_.error(start, "a dimension cannot be negative");
    s->dims.push_back(d);
    s->dynamic.push_back(bounded);
    any_dynamic |= bounded;
  } while (lex_.eat(','));
  if (!any_dynamic) s->dynamic.clear();
  return lex_.expect(']', "after the dimensions");
}

Status Parser::layout(Shape* s) {
  size_t start = lex_.pos();
  TRY(lex_.expect('{', "before the layout"));
  Dims order;
  while (lex_.peek() != ':' && lex_.peek() != '}') {
    ASSIGN(int64_t d, lex_.integer());
    order.push_back(d);
    if (!lex_.eat(',')) break;
  }
  if (lex_.peek() == ':') {  // tiles, element size, memory space: no part of the program's meaning
    while (lex_.peek() != '}' && !lex_.at_end()) {
      if (lex_.peek() == '(')
        TRY(lex_.balanced().status());
      else
        lex_.seek(lex_.pos() + 1);
    }
  }
  TRY(lex_.expect('}', "after the layout"));
  if (order.empty()) return {};
  if (static_cast<int64_t>(order.size()) != s->rank())
    return lex_.error(start, str_cat("the layout names ", order.size(),
                                     " dimensions, the shape has ", s->rank()));
  std::vector<bool> seen(order.size());
  for (int64_t d : order) {
    if (d < 0 || d >= s->rank() || seen[d])
      return lex_.error(start, str_cat("the layout is no permutation of 0..", s->rank() - 1));
    seen[d] = true;
  }
  s->layout = order;
  if (is_row_major(*s)) s->layout.clear();
  return {};
}

// One leaf: none, or (f32,axis,min,max,{scales},{zero points}).
Status Parser::quantized_leaf(Shape* s) {
  if (lex_.eat_word("none")) return {};
  auto q = std::make_shared<Quantization>();
  TRY(lex_.expect('(', "before the quantization"));
  std::optional<Dtype> t = dtype_from_hlo(lex_.name());
  if (!t || !is_float(*t)) return lex_.expected("a float type");
  q->expressed = *t;
  for (int64_t* v : {&q->axis, &q->storage_min, &q->storage_max}) {
    TRY(lex_.expect(',', "in the quantization"));
    ASSIGN(*v, lex_.integer());
  }
  TRY(lex_.expect(',', "before the scales"));
  TRY(lex_.expect('{', "before the scales"));
  do {
    ASSIGN(double scale, lex_.number());
    q->scales.push_back(scale);
  } while (lex_.eat(','));
  TRY(lex_.expect('}', "after the scales"));
  TRY(lex_.expect(',', "before the zero points"));
  ASSIGN(Dims zero_points, int_list());
  q->zero_points.assign(zero_points.begin(), zero_points.end());
  if (q->zero_points.size() != q->scales.size())
    return lex_.error("there must be one zero point per scale");
  if (q->axis < -1 || q->axis >= s->rank() ||
      (q->axis == -1 ? size_t{1} : static_cast<size_t>(s->dims[q->axis])) != q->scales.size())
    return lex_.error("the number of scales does not fit the quantized axis");
  s->quant = std::move(q);
  return lex_.expect(')', "after the quantization");
}

namespace {

void array_leaves(Shape* s, std::vector<Shape*>* out) {
  if (s->is_array()) out->push_back(s);
  for (Shape& t : s->tuple) array_leaves(&t, out);
}

}  // namespace

Status Parser::quantization(Shape* s) {
  std::vector<Shape*> leaves;
  array_leaves(s, &leaves);
  TRY(lex_.expect('{', "to open the quantization"));
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (i) TRY(lex_.expect(',', "between the parts of the quantization"));
    TRY(quantized_leaf(leaves[i]));
  }
  return lex_.expect('}', "after the quantization");
}

Result<Literal> Parser::literal(const Shape& s) {
  if (s.is_tuple()) {
    std::vector<Literal> parts;
    TRY(lex_.expect('(', "to open the tuple's value"));
    for (size_t i = 0; i < s.tuple.size(); ++i) {
      if (i) TRY(lex_.expect(',', "between tuple elements"));
      // XLA may repeat the element's shape before its value.
      lex_.skip_space();
      size_t start = lex_.pos();
      std::string_view type = lex_.name();
      bool typed = dtype_from_hlo(type) && lex_.peek_raw() == '[';
      lex_.seek(start);
      if (typed) TRY(shape().status());
      ASSIGN(Literal part, literal(s.tuple[i]));
      parts.push_back(std::move(part));
    }
    TRY(lex_.expect(')', "after the tuple's value"));
    return Literal::tuple(std::move(parts));
  }
  if (!s.is_array()) return lex_.error(str_cat("a ", name(s.dtype), " has no value"));
  if (!s.is_static()) return lex_.error("a constant needs known dimensions");
  Shape plain = Shape::array(s.dtype, s.dims);
  plain.quant = s.quant;
  // "{...}" stands for a value that was left out.
  lex_.skip_space();
  if (lex_.eat("{...}")) {
    if (!options_.fill_elided)
      return lex_.error(lex_.pos() - 5,
                        "the constant's value was left out of the text; print it with large "
                        "constants, or ask for a made-up value (fill_elided)");
    if (plain.bytes() > int64_t{1} << 34) return lex_.error("the constant is too large to make up");
    return elided_pattern(plain);
  }
  // Each element takes a character and a separator.
  if (static_cast<uint64_t>(plain.elements()) > lex_.remaining() / 2 + 1)
    return lex_.error(
        str_cat("the constant has ", plain.elements(), " elements, more than the text holds"));
  Literal l(plain);
  if (plain.elements() == 0) {
    // "{}", "{ {}, {} }" …: there is nothing in it but brackets.
    if (lex_.peek() != '{') return lex_.expected("'{'");
    ASSIGN(std::string_view body, lex_.balanced());
    for (char c : body)
      if (is_name_char(c)) return lex_.error("the constant has no elements");
    return l;
  }
  int64_t at = 0;
  TRY(literal_elements(&l, plain.dims, &at));
  return l;
}

Status Parser::literal_elements(Literal* l, DimSpan dims, int64_t* at) {
  if (dims.empty()) return literal_element(l, (*at)++);
  TRY(lex_.expect('{', "to open the elements of a dimension"));
  for (int64_t i = 0; i < dims[0]; ++i) {
    if (i && !lex_.eat(','))
      return lex_.expected(str_cat("',' (", dims[0], " elements are due here, ", i, " given)"));
    TRY(literal_elements(l, dims.subspan(1), at));
  }
  if (!lex_.eat('}')) return lex_.expected(str_cat("'}' after ", dims[0], " elements"));
  return {};
}

Status Parser::literal_element(Literal* l, int64_t at) {
  const Dtype t = l->dtype();
  lex_.skip_space();
  size_t start = lex_.pos();
  if (is_complex(t)) {
    bool parens = lex_.eat('(');
    ASSIGN(double re, lex_.number());
    double im = 0;
    if (parens) {
      TRY(lex_.expect(',', "between the real and the imaginary part"));
      ASSIGN(im, lex_.number());
      TRY(lex_.expect(')', "after the complex number"));
    }
    l->set_complex(at, {re, im});
    return {};
  }
  if (is_float(t)) {
    ASSIGN(double v, lex_.number());
    l->set_float(at, v);
    return {};
  }
  char c = lex_.peek_raw();
  if (is_pred(t) || c == 't' || c == 'f') {
    ASSIGN(bool v, lex_.boolean());
    l->set_int(at, v);
    return {};
  }
  const int bits = bit_size(t);
  if (is_unsigned_int(t) && c != '-') {
    std::string_view w = lex_.name();
    uint64_t v = 0;
    auto [end, ec] = std::from_chars(w.data(), w.data() + w.size(), v);
    if (ec == std::errc::invalid_argument || end != w.data() + w.size() || w.empty()) {
      lex_.seek(start);
      return lex_.expected("an integer");
    }
    if (ec != std::errc() || (bits < 64 && v >> bits))
      return lex_.error(start, str_cat(w, " is out of range of ", name(t)));
    l->set_int(at, static_cast<int64_t>(v));
    return {};
  }
  ASSIGN(int64_t v, lex_.integer());
  bool fits = is_unsigned_int(t) ? v >= 0
                                 : bits == 64 || (v >= -(int64_t{1} << (bits - 1)) &&
                                                  v < int64_t{1} << (bits - 1));
  if (!fits) return lex_.error(start, str_cat(v, " is out of range of ", name(t)));
  l->set_int(at, v);
  return {};
}

}  // namespace braze::text

namespace braze {

Result<Shape> parse_shape(std::string_view text) {
  ParseOptions options;
  text::Parser p(text, options);
  ASSIGN(Shape s, p.shape());
  TRY(p.end());
  return s;
}

Result<Literal> parse_literal(std::string_view text, const Shape& shape) {
  ParseOptions options;
  text::Parser p(text, options);
  ASSIGN(Literal l, p.literal(shape));
  TRY(p.end());
  return l;
}

Literal elided_pattern(const Shape& shape) {
  Literal l(Shape::array(shape.dtype, shape.dims));
  // Small values of both signs with a period that no usual dimension divides.
  for (int64_t i = 0, n = l.elements(); i < n; ++i) {
    int64_t k = i % 61;
    if (is_float(shape.dtype) || is_complex(shape.dtype))
      l.set_float(i, static_cast<double>(k - 30) / 32);
    else if (is_pred(shape.dtype))
      l.set_int(i, k & 1);
    else
      l.set_int(i, k % 3);
  }
  return l;
}

}  // namespace braze
