// SPDX-License-Identifier: Apache-2.0
#include "backend/padded.h"

#include <algorithm>
#include <cstring>

namespace braze {
namespace {

// Copies the box `dims` of elements between arrays of dims `from_dims` and `to_dims`, both at least that.
void copy_box(const char* from, DimSpan from_dims, char* to, DimSpan to_dims, DimSpan dims, int64_t bytes) {
  if (product(dims) == 0) return;
  // Trailing dimensions that are whole on both sides are one run.
  size_t split = dims.size();
  int64_t run = bytes;
  while (split > 0) {
    --split;
    run *= dims[split];
    if (dims[split] != from_dims[split] || dims[split] != to_dims[split]) break;
  }
  Dims outer(dims.begin(), dims.begin() + split), at(split, 0);
  const Dims from_step = strides(from_dims), to_step = strides(to_dims);
  do {
    int64_t a = 0, b = 0;
    for (size_t d = 0; d < split; ++d) {
      a += at[d] * from_step[d];
      b += at[d] * to_step[d];
    }
    std::memcpy(to + b * bytes, from + a * bytes, run);
  } while (split > 0 && next_index(absl::MakeSpan(at), outer));
}

Literal resized(const Literal& l, const Shape& shape, DimSpan box) {
  Literal out(shape);
  if (out.elements() > 0)
    copy_box(l.bytes(), l.shape().dims, out.mutable_bytes(), shape.dims, box, byte_size(shape.dtype));
  return out;
}

class PaddedExecutable : public Executable {
 public:
  PaddedExecutable(std::unique_ptr<Executable> inner, PaddedModule padding)
      : inner_(std::move(inner)), padding_(std::move(padding)) {
    padding_.module = nullptr;
  }

  Result<Literal> run(absl::Span<const Literal> args, World* world) override {
    ASSIGN(std::vector<Literal> padded, pad(args));
    ASSIGN(Literal value, inner_->run(padded, world));
    return cut(std::move(value));
  }
  Result<Literal> run_observed(absl::Span<const Literal> args, const StepObserver& observer) override {
    ASSIGN(std::vector<Literal> padded, pad(args));
    ASSIGN(Literal value, inner_->run_observed(padded, observer));
    return cut(std::move(value));
  }
  Status run_raw(absl::Span<const void* const> args, absl::Span<void* const> results) override {
    if (!padding_.parameters.empty() || !padding_.results.empty())
      return unimplemented("raw calls of a program with bounded parameters or results");
    std::vector<void*> all(results.begin(), results.end());
    char legal = 1;
    if (padding_.checked) all.push_back(&legal);
    TRY(inner_->run_raw(args, all));
    return legal ? absl::OkStatus() : illegal();
  }
  const Plan* plan() const override { return inner_->plan(); }
  std::string code_image() const override { return inner_->code_image(); }

 private:
  static Status illegal() {
    return invalid("a size decided while running is below 0 or above its dimension's bound, or a reshape to such sizes "
                   "has not the elements of its operand");
  }

  // The inner executable's arguments.
  Result<std::vector<Literal>> pad(absl::Span<const Literal> args) const {
    if (args.size() != parameters_.size())
      return invalid("the program takes ", parameters_.size(), " arguments, not ", args.size());
    std::vector<Literal> out;
    std::vector<int64_t> leaf_of;  // the argument that leaf is, if it is an array
    for (size_t i = 0; i < args.size(); ++i) {
      const Shape &want = parameters_[i], &got = args[i].shape();
      const Shape& inner = inner_->parameters()[i];
      if (!want.is_array()) {
        if (!compatible(got, want)) return mismatch(i, got);
        out.push_back(args[i]);
        leaf_of.resize(leaf_of.size() + leaves(want).size(), -1);
        continue;
      }
      leaf_of.push_back(static_cast<int64_t>(i));
      if (got.dtype != want.dtype || got.rank() != want.rank()) return mismatch(i, got);
      for (int64_t d = 0; d < want.rank(); ++d)
        if (want.is_dynamic(d) ? got.dims[d] > want.dims[d] : got.dims[d] != want.dims[d])
          return mismatch(i, got);
      out.push_back(got.dims == inner.dims ? args[i] : resized(args[i], inner, got.dims));
    }
    for (const BoundedDim& b : padding_.parameters)
      out.push_back(Literal::scalar_int(Dtype::kS32, args[leaf_of[b.leaf]].shape().dims[b.dim]));
    return out;
  }
  Status mismatch(size_t i, const Shape& got) const {
    return invalid("argument ", i, " is ", to_string(got, false), ", the program takes ",
                   to_string(parameters_[i], false));
  }

  // The program's result from the inner one's.
  Result<Literal> cut(Literal value) const {
    Literal result = value.parts()[0];
    if (padding_.checked && !value.parts().back().get_bool(0)) return illegal();
    std::vector<Literal*> at;
    collect(result, &at);
    for (size_t k = 0; k < padding_.results.size();) {
      const int64_t leaf = padding_.results[k].leaf;
      Literal& l = *at[leaf];
      Shape shape = l.shape();
      for (; k < padding_.results.size() && padding_.results[k].leaf == leaf; ++k) {
        const int64_t size = value.parts()[k + 1].get_int(0), d = padding_.results[k].dim;
        shape.dims[d] = std::clamp<int64_t>(size, 0, shape.dims[d]);
      }
      if (shape.dims != l.shape().dims) l = resized(l, shape, shape.dims);
    }
    if (result.shape().is_tuple()) return Literal::tuple(std::move(result.mutable_parts()));
    return result;
  }
  static void collect(Literal& l, std::vector<Literal*>* out) {
    if (!l.shape().is_tuple()) return out->push_back(&l);
    for (Literal& p : l.mutable_parts()) collect(p, out);
  }

  std::unique_ptr<Executable> inner_;
  PaddedModule padding_;
};

}  // namespace

std::unique_ptr<Executable> padded_executable(std::unique_ptr<Executable> inner, PaddedModule padding) {
  return std::make_unique<PaddedExecutable>(std::move(inner), std::move(padding));
}

}  // namespace braze
