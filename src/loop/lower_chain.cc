// SPDX-License-Identifier: Apache-2.0
// Chains: a product, a row program over its output, and a product of what that makes of each row:
//
//   s = dot(q, k);  p = softmax(s * scale + mask);  o = dot(p, v) + …
//
// The three parts are lowered as kernels of their own over arrays of all rows; the generators run them on
// a tile of rows at a time, of which the arrays between exist only as tiles. So any row program will do,
// and it computes what it would compute alone. Of each row the program may read and write that row only.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "loop/contraction_form.h"
#include "loop/lower.h"
#include "ops/op_def.h"

namespace braze::loop {
namespace {

constexpr int64_t kLeastElements = 4096;  // of all rows: less is not worth a kernel with three parts
constexpr int64_t kLeastTiles = 8;        // fewer would leave threads idle
constexpr int64_t kMostRows = 64, kFewRows = 8;

bool is_view(const Instr* i) {
  return i->op == Op::kTranspose || i->op == Op::kReshape || i->op == Op::kSlice || i->op == Op::kBroadcast;
}

// Dimensions of more than one element.
std::vector<ContractionDim> proper(const std::vector<ContractionDim>& dims) {
  std::vector<ContractionDim> out;
  for (const ContractionDim& d : dims)
    if (d.size != 1) out.push_back(d);
  return out;
}

// The transposed product, of the same output.
void swap_sides(Contraction* c) {
  std::swap(c->lhs, c->rhs);
  std::swap(c->lhs_buffer, c->rhs_buffer);
  std::swap(c->lhs_offset, c->rhs_offset);
  std::swap(c->lhs_starts, c->rhs_starts);
  std::swap(c->m, c->n);
  for (ContractionDim* d : {&c->m, &c->n}) std::swap(d->lhs, d->rhs);
  for (auto* dims : {&c->batch, &c->k})
    for (ContractionDim& d : *dims) std::swap(d.lhs, d.rhs);
  std::swap(c->index_vars[c->index_vars.size() - 1], c->index_vars[c->index_vars.size() - 2]);
}

class ChainLowering {
 public:
  ChainLowering(Kernel& k, const Computation& fused, const Facts& facts)
      : k_(k), g_(k.graph), fused_(fused), facts_(facts), e_(k) {}

  Status run() {
    TRY(find_parts());
    const int64_t outs = static_cast<int64_t>(outputs(fused_).size());
    products_ = first_output(fused_) + outs, left_ = products_ + 1;
    k_.buffers.push_back({"products", accumulate_in(first_->shape.dtype), first_->shape.elements(), Role::kTile});
    k_.buffers.push_back({root_->name, buffer_type(root_->shape.dtype), root_->shape.elements(), Role::kTile});
    chain_ = std::make_shared<Chain>();
    TRY(first());
    TRY(rows());
    TRY(second());
    TRY(choose_tile());
    k_.contraction = second_form_;
    k_.chain = chain_;
    return absl::OkStatus();
  }

 private:
  Status find_parts() {
    for (const auto& i : fused_.instrs()) {
      if (i->op == Op::kConvolution || i->op == Op::kScatter || i->op == Op::kDynamicUpdateSlice)
        return unimplemented("a chain of other parts than products and rows");
      if (i->op != Op::kDot) continue;
      if (second_) return unimplemented("a chain of more than two products");
      (first_ ? second_ : first_) = i.get();
    }
    if (!second_) return unimplemented("a chain of one product");
    bool found = false;
    for (int n = 0; n < 4 && !found; ++n) {
      if (n == 2) std::swap(first_, second_);
      root_ = second_->operand(n % 2);
      swapped_ = n % 2 == 1;
      while (is_view(root_)) root_ = root_->operand(0);
      found = reads_first();
    }
    if (!found || root_ == first_) return unimplemented("products without rows between");
    columns_ = first_->shape.dims.empty() ? 0 : first_->shape.dims.back();
    const Shape& s = root_->shape;
    if (columns_ == 0 || is_complex(s.dtype) || s.rank() == 0 || s.dims.back() != columns_ ||
        s.elements() != first_->shape.elements())
      return unimplemented("rows of another shape than the product");
    return absl::OkStatus();
  }

  // Whether root_ is computed from first_; row_instrs_ become all that it is computed from behind it.
  bool reads_first() {
    bool found = false;
    row_instrs_.clear();
    std::vector<const Instr*> stack{root_};
    while (!stack.empty()) {
      const Instr* i = stack.back();
      stack.pop_back();
      if (i == first_) found = true;
      if (i == first_ || !row_instrs_.insert(i).second) continue;
      stack.insert(stack.end(), i->operands.begin(), i->operands.end());
    }
    return found;
  }

  Status form(const Destination& to, const Instr* held, Contraction* c, Index* index) {
    const Instr* dot = to.product;
    const Dtype l = dot->operand(0)->shape.dtype, r = dot->operand(1)->shape.dtype;
    View lhs, rhs;
    if (!has_generated_kernel(l, r, dot->shape.dtype) || !view_of(dot->operand(0), lhs, held, left_) ||
        !view_of(dot->operand(1), rhs, held, left_) || dot->shape.elements() == 0)
      return unimplemented("operands of a chain that are not views of arrays in memory");
    c->lhs = l, c->rhs = r;
    c->acc = accumulate_in(dot->shape.dtype);
    c->lhs_starts = lhs.starts, c->rhs_starts = rhs.starts;
    c->lhs_buffer = lhs.buffer, c->lhs_offset = lhs.offset;
    c->rhs_buffer = rhs.buffer, c->rhs_offset = rhs.offset;
    dot_form(k_, e_, to, lhs.strides, rhs.strides, c, index);
    if (facts_.can_contract && !facts_.can_contract(*c)) return unimplemented("no generated kernel");
    return absl::OkStatus();
  }

  Status first() {
    Contraction& c = chain_->first;
    Index index;
    TRY(form({first_, {}, strides(first_->shape.dims)}, nullptr, &c, &index));
    c.out_buffer = products_;
    c.out = c.acc;
    c.acc_var = k_.new_var();
    if (c.lhs_buffer == left_ || c.n.size != columns_ || (columns_ > 1 && c.n.out != 1))
      return unimplemented("a first product whose columns are not its right side's");
    // Rows follow each other: every batch dimension outside the next, m the innermost.
    int64_t stride = columns_ * c.m.size;
    if (c.m.size > 1 && c.m.out != columns_) return unimplemented("rows of a product in another order");
    const std::vector<ContractionDim> batch = proper(c.batch);
    for (size_t d = batch.size(); d-- > 0; stride *= batch[d].size)
      if (batch[d].out != stride) return unimplemented("rows of a product in another order");
    chain_->rows = c.m.size;
    for (const ContractionDim& d : batch) chain_->batches *= d.size;
    return absl::OkStatus();
  }

  // The rows as a computation of their own: its parameters are those of `fused_`, the output (which it
  // does not read) and the products; its result is the last buffer. So it has their numbers.
  Status rows() {
    Module own("rows");
    Computation* f = own.add_computation("rows");
    absl::flat_hash_map<const Instr*, Instr*> map;
    auto parameter = [&](const Shape& s) {
      return f->add(Op::kParameter, s, {}, ParameterAttrs{static_cast<int64_t>(f->params().size())});
    };
    for (const Instr* p : fused_.params()) map[p] = parameter(p->shape);
    for (const Instr* o : outputs(fused_)) parameter(o->shape);
    Shape products = first_->shape;
    products.dtype = k_.buffers[products_].dtype;
    map[first_] = parameter(products);
    if (products.dtype != first_->shape.dtype)
      map[first_] = f->add(Op::kConvert, first_->shape, {map[first_]});
    for (const Instr* i : post_order(fused_)) {
      if (!row_instrs_.contains(i) || map.contains(i)) continue;
      absl::InlinedVector<Instr*, 4> operands;
      for (const Instr* o : i->operands) operands.push_back(map.at(o));
      map[i] = f->add(i->op, i->shape, operands, i->attrs, i->calls);
    }
    f->set_root(map.at(root_));
    const Instr* h = hero(*f);
    if (!h || h->op != Op::kReduce || h->shape.is_tuple()) return unimplemented("rows that reduce nothing");
    const Dims& full = h->operand(0)->shape.dims;
    if (h->as<DimsAttrs>().dimensions != Dims{static_cast<int64_t>(full.size()) - 1} ||
        full.back() != columns_ || product(full) != root_->shape.elements())
      return unimplemented("rows that reduce other dimensions");
    TRY(lower_reduce(k_, *f, facts_));
    if (k_.phases.size() != 1 || k_.phases[0].items != chain_->batches * chain_->rows)
      return unimplemented("rows cut into parts");
    return check_rows();
  }

  // Whether element `offset` of a tile lies in the row of the phase's item.
  bool in_own_row(Scalar offset) {
    const int64_t item = k_.phases[0].item_var;
    if (k_.phases[0].items > 1) {
      int64_t stride = 0;
      if (!g_.stride_in(offset, item, &stride) || stride != columns_) return false;
      offset = g_.substitute(offset, {item}, {g_.constant_int(Dtype::kS64, 0)});
      if (g_.depends_on(offset, item)) return false;
    }
    const scalar::Range r = g_.range(offset);
    return r.lo >= 0 && r.hi < columns_;
  }

  Status check_rows() {
    const int32_t nodes = g_.size();
    for (int32_t n = 0; n < nodes; ++n) {
      const scalar::Node node = g_[Scalar{n}];
      if (node.op != scalar::Op::kLoad) continue;
      if (node.imm == left_ || (node.imm == products_ && !in_own_row(node.args[0])))
        return unimplemented("rows that read other rows");
    }
    chain_->in_place = k_.buffers[products_].dtype == k_.buffers[left_].dtype;
    int64_t stores = 0;
    TRY(check_stores(k_.phases[0].body, &stores));
    return stores == 1 ? absl::OkStatus() : unimplemented("rows stored in several places");
  }

  Status check_stores(const std::vector<Stmt>& body, int64_t* stores) {
    for (const Stmt& s : body) {
      if (s.kind == Stmt::Kind::kLoop) TRY(check_stores(s.loop->body, stores));
      if (s.kind != Stmt::Kind::kStore || s.store.buffer != left_) continue;
      ++*stores;
      if (!in_own_row(s.store.offset) || s.store.condition) return unimplemented("rows that write other rows");
      // In place: what is stored over has been read, by this iteration, or by the loops before.
      for (const Stmt& other : body) {
        if (other.kind == Stmt::Kind::kStore) chain_->in_place &= reads_only(other.store.value, s.store.offset);
        else chain_->in_place = false;
      }
    }
    return absl::OkStatus();
  }

  // Whether all products that `value` depends on are read at `offset`.
  bool reads_only(Scalar value, Scalar offset) {
    absl::flat_hash_set<int32_t> seen;
    std::vector<Scalar> stack{value};
    while (!stack.empty()) {
      const Scalar s = stack.back();
      stack.pop_back();
      if (!s || !seen.insert(s.id).second) continue;
      const scalar::Node& n = g_[s];
      if (n.op == scalar::Op::kLoad && n.imm == products_ && n.args[0] != offset) return false;
      for (Scalar a : n.args) stack.push_back(a);
    }
    return true;
  }

  Status second() {
    second_form_ = std::make_shared<Contraction>();
    Contraction& c = *second_form_;
    Index index;
    const Destination to = destination_of(second_);
    TRY(form(to, root_, &c, &index));
    if (swapped_) swap_sides(&c);
    const std::vector<ContractionDim> k = proper(c.k), outer = proper(chain_->first.batch), batch = proper(c.batch);
    const bool sums_rows = columns_ == 1 ? k.empty() : k.size() == 1 && k[0].size == columns_ && k[0].lhs == 1;
    bool same = c.lhs_buffer == left_ && c.lhs_offset == 0 && c.rhs_buffer != left_ && sums_rows &&
                c.m.size == chain_->rows && (c.m.size == 1 || c.m.lhs == columns_) && batch.size() == outer.size();
    for (size_t d = 0; same && d < batch.size(); ++d)
      same = batch[d].size == outer[d].size && batch[d].lhs == outer[d].out;
    if (!same) return unimplemented("a second product of other rows than the first");
    bind_parameters(e_, fused_);
    return epilogue_form(k_, e_, fused_, to, index, &c);
  }

  // Rows whose tiles fill half of the second level cache; more where the right sides do not stay there.
  Status choose_tile() {
    const Contraction &a = chain_->first, &b = *second_form_;
    const int64_t bytes = byte_size(a.out) + (chain_->in_place ? 0 : byte_size(b.lhs));
    int64_t depth = b.n.size;
    for (const ContractionDim& d : a.k) depth += d.size;
    const double rights = static_cast<double>(columns_) * static_cast<double>(depth * byte_size(a.acc));
    if (rights > static_cast<double>(std::max(facts_.l2_bytes, 2 * facts_.l3_bytes)))
      return unimplemented("a chain with larger right sides than a cache holds");
    const int64_t least = rights > static_cast<double>(facts_.l3_bytes) / 4 ? 4 * kFewRows : kFewRows;
    const int64_t most = std::clamp<int64_t>(facts_.l2_bytes / 2 / bytes / columns_, least, kMostRows);
    int64_t tiles = (chain_->rows + most - 1) / most;
    const int64_t wanted = (2 * kLeastTiles + chain_->batches - 1) / chain_->batches;
    tiles = std::max(tiles, std::min(wanted, (chain_->rows + kFewRows - 1) / kFewRows));
    chain_->tile = (chain_->rows + tiles - 1) / tiles;
    if (chain_->rows < kFewRows || root_->shape.elements() < kLeastElements ||
        chain_->batches * chain_->tiles() < kLeastTiles)
      return unimplemented("too few rows for tiles of them");
    return absl::OkStatus();
  }

  Kernel& k_;
  scalar::Graph& g_;
  const Computation& fused_;
  const Facts& facts_;
  Elements e_;
  const Instr *first_ = nullptr, *second_ = nullptr;
  const Instr* root_ = nullptr;  // the row program's result
  bool swapped_ = false;         // which is the second product's right side
  absl::flat_hash_set<const Instr*> row_instrs_;
  int64_t columns_ = 0;
  int64_t products_ = 0, left_ = 0;  // buffers
  std::shared_ptr<Chain> chain_;
  std::shared_ptr<Contraction> second_form_;
};

}  // namespace

Status lower_chain(Kernel& k, const Computation& fused, const Facts& facts) {
  return ChainLowering(k, fused, facts).run();
}

}  // namespace braze::loop
