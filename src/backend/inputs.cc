// SPDX-License-Identifier: Apache-2.0
#include "backend/inputs.h"

#include <cstring>

namespace braze {

uint64_t random_word(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

namespace {

void fill(Literal& l, std::string_view kind, uint64_t seed) {
  bool random = kind.substr(0, 6) == "random";
  Dtype t = l.dtype();
  for (int64_t i = 0; i < l.elements(); ++i) {
    uint64_t w = random_word(seed, static_cast<uint64_t>(i));
    double u = static_cast<double>(w >> 40) * 0x1p-23 - 1.0;
    double v = random ? u : kind == "iota" ? static_cast<double>(i) : 0.0;
    if (is_complex(t)) {
      double im = static_cast<double>(random_word(seed ^ 0x5555, static_cast<uint64_t>(i)) >> 40);
      l.set_complex(i, {v, random ? im * 0x1p-23 - 1.0 : 0.0});
    } else if (is_float(t)) {
      l.set_float(i, v);
    } else {
      int64_t n = random ? static_cast<int64_t>((w >> 32) % 8) : static_cast<int64_t>(v);
      l.set_int(i, is_pred(t) ? n & 1 : n);
    }
  }
}

}  // namespace

Result<Literal> make_input(const Shape& shape, std::string_view kind, int64_t number) {
  if (shape.is_tuple()) {
    std::vector<Literal> parts;
    for (size_t i = 0; i < shape.tuple.size(); ++i) {
      ASSIGN(Literal p, make_input(shape.tuple[i], kind, number * 31 + static_cast<int64_t>(i)));
      parts.push_back(std::move(p));
    }
    return Literal::tuple(std::move(parts));
  }
  uint64_t seed = 0;
  if (kind.substr(0, 7) == "random:") {
    for (char c : kind.substr(7)) {
      if (c < '0' || c > '9') return invalid("'", kind, "': the seed must be a number");
      seed = seed * 10 + static_cast<uint64_t>(c - '0');
    }
  } else if (kind != "random" && kind != "zeros" && kind != "iota") {
    return invalid("'", kind, "': expected FILE.npy, random:SEED, zeros or iota");
  }
  if (!shape.is_static())
    return invalid("argument ", number, " is ", to_string(shape, false),
                   ": its sizes must be known to make it up (braze run --shape)");
  Literal l(shape);
  if (shape.is_array() && shape.bytes() > 0 && !l.bytes())
    return exhausted("argument ", number, ": no memory for ", to_string(shape, false));
  if (shape.is_array()) fill(l, kind, seed * 1000003 + static_cast<uint64_t>(number));
  return l;
}

namespace {

std::string numpy_type(Dtype t) {
  switch (t) {
    case Dtype::kPred: return "b1";
    case Dtype::kF16: return "f2";
    case Dtype::kF32: return "f4";
    case Dtype::kF64: return "f8";
    case Dtype::kC64: return "c8";
    case Dtype::kC128: return "c16";
    default: break;
  }
  return str_cat(is_signed_int(t) ? "i" : "u", byte_size(t));
}

}  // namespace

Result<Literal> from_npy(const NpyArray& a, const Shape& shape) {
  Dims dims(a.dims.begin(), a.dims.end());
  Shape got = Shape::array(shape.dtype, dims);
  if (shape.dims != dims)
    return invalid("the array is [", join(dims), "], the program takes ", to_string(shape, false));
  if (static_cast<int64_t>(a.bytes.size()) != got.bytes())
    return invalid("the array's type ", a.type, " does not fit ", name(shape.dtype));
  return Literal::from_bytes(shape, {a.bytes.data(), a.bytes.size()});
}

NpyArray to_npy(const Literal& l, std::string_view name) {
  NpyArray a;
  a.name = std::string(name);
  a.type = numpy_type(l.dtype());
  a.dims.assign(l.shape().dims.begin(), l.shape().dims.end());
  a.bytes.assign(l.bytes() ? l.bytes() : "", static_cast<size_t>(l.size_bytes()));
  return a;
}

}  // namespace braze
