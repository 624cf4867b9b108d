// SPDX-License-Identifier: Apache-2.0
// ReduceLowering: the state of one kernel's lowering, shared by its whole form (lower_reduce.cc), its
// form in parts (lower_reduce_split.cc) and that of rows which are also reduced down their columns
// (lower_reduce_down.cc).
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "loop/elements.h"
#include "loop/lower.h"

namespace braze::loop {

using scalar::Value;

// The reductions of the fusion by level: a level's operands depend on results of lower levels only.
struct Levels {
  std::vector<std::vector<const Instr*>> reduces;
  absl::flat_hash_map<const Instr*, int> level;  // of any instruction: passes needed before it
};

// Outputs are of the full or of the kept shape.
class ReduceLowering {
 public:
  ReduceLowering(Kernel& k, const Computation& fused, const Facts& facts)
      : k_(k), g_(k.graph), fused_(fused), facts_(facts), e_(k) {}

  Status run();

 private:
  struct Range {  // one loop over (part of) the reduced space
    int64_t var = 0;
    int64_t extent = 1;
    Scalar index, count;
  };

  Status analyse();
  // Finds the dimensions, those of the reductions, and which of these go along rows, which down columns.
  Status find_reduced();
  int64_t last_dim() const;  // the last of more than one element

  static bool combines_in_any_order(const Instr& r);
  // max/min with position: picks by comparison and breaks ties by the index, whatever the order.
  static bool is_arg_extreme(const Computation& c);

  // Columns of one item in column form.
  int64_t block() const;

  // Loops over the reduced dimensions, outermost first; merged into one where the kernel allows. The last
  // dimension keeps a long loop of its own if elements are found by its index, a division otherwise.
  std::vector<int64_t> loop_extents() const;
  // Something but a scalar is read at other places than the reduced ones.
  bool indexed() const;

  Index reduced_index(absl::Span<const Scalar> loops);
  Index full_index(absl::Span<const Scalar> kept, absl::Span<const Scalar> red);

  // One accumulator group: a reduce instruction's variables, started at `starts`.
  struct Group {
    const Instr* reduce;
    std::optional<Op> known;
    std::vector<Dtype> types;              // as accumulated
    std::vector<Value> init;
    std::vector<Value> current;            // accumulators so far: results of the inner loop
  };

  // `partial`: the group starts from the identity, as the initial value comes in later.
  Group make_group(const Instr* r, bool partial = false);

  Value converted(Value v, Dtype from, Dtype to);

  // Combines two sets of values by the group's combiner, in its accumulator types.
  std::vector<Value> combine(const Group& grp, absl::Span<const Value> a, absl::Span<const Value> b);

  // A fresh accumulator for a loop: variables for each real part.
  Accumulator open(const Group& grp, absl::Span<const Value> start, std::vector<Value>* vars);
  std::vector<Value> results(const Accumulator& a, const Group& grp);
  static void flatten(absl::Span<const Value> v, std::vector<Scalar>* out);

  // What a vector loop needs beyond a serial one: identities and the lanes' combiner.
  void close_vector(Accumulator& a, const Group& grp);

  // One pass over the reduced space at kept index `kept`: loops[l] ranges; the values of all reduces
  // of `level` are bound after it.
  void pass(std::vector<Stmt>* body, size_t level, absl::Span<const Scalar> kept,
            std::vector<Range> ranges, std::vector<Group>* groups_out);

  // Long sums of floats, one to a lane, are made of the sums of short blocks: a single accumulator would
  // lose a bit for every few hundred elements.
  static constexpr int64_t kSumBlock = 64;
  bool sums_long_columns(const std::vector<Group>& groups, const std::vector<Range>& ranges) const;
  // The range of the blocks; `r` becomes the range within one.
  Range cut_in_blocks(Range* r, int64_t size);

  std::vector<std::vector<Value>> nest(std::vector<Stmt>* body, const std::vector<Range>& ranges,
                                       size_t depth, const std::vector<Group>& groups,
                                       const std::vector<std::vector<Value>>& start,
                                       const Index& full, size_t level);

  // Expensive values that later passes need too are computed once and kept in a row of scratch.
  void keep_in_scratch(std::vector<Stmt>* body, size_t level, const Index& full);

  // Full-size expensive instructions first needed in pass `level` and needed again later.
  std::vector<const Instr*> expensive_at(size_t level);

  void bind_scratch(absl::Span<const Scalar> full);

  void bind_results(const std::vector<Group>& groups, absl::Span<const Scalar> kept);

  std::vector<Range> whole_ranges();

  // The kept index of an item; in column form also the vector loop along the last kept dimension.
  struct Frame {
    Phase phase;
    Index kept;
    Scalar item;
    std::shared_ptr<Loop> columns, blocks;  // of rows, around the columns
    std::vector<Stmt>* body = nullptr;
  };
  void open_frame(Frame& f, int64_t parts);
  // Items of up to `most` columns of [kept…], in column form.
  void open_columns(Frame& f, const Dims& kept, int64_t most, int64_t parts);
  int column_width(int width, int64_t columns) const;
  void close_frame(Frame& f, double work);

  void store_kept_outputs(std::vector<Stmt>* body, absl::Span<const Scalar> kept);

  Status lower_whole();

  void rebind_scratch(absl::Span<const Scalar> kept, const std::vector<Range>& ranges);

  // Rows whose distance is a multiple of this many bytes share few sets of a cache, which keeps only some of
  // them: they are written so many at a time, from one vector of columns to the next.
  static constexpr int64_t kCollision = 1024, kRowsAtATime = 8;
  bool rows_collide() const;

  void final_pass(Frame& f, std::vector<Range> ranges);

  void store_full_outputs(std::vector<Stmt>* body, const Index& full);

  // How the reduced space is cut: its outermost loop, into parts of `chunk`. By the shape alone.
  struct Cut {
    int64_t n, chunk, parts;
    // The first of a few parts is longer by so much: its thread starts a tenth of a microsecond before the others.
    int64_t lead;
    // A few parts leave their results in cache lines of their own: neighbours are written by two threads.
    int64_t apart;
  };
  Cut cut() const;
  double work_of_part(const Cut& c) const;

  // A phase whose items are the parts; `part` is the item's.
  std::vector<Range> open_parts(Frame& f, const Cut& c, Scalar* part);

  // For each level partial results by part, then their combination; then the outputs that need them.
  Status lower_split();

  // Where a part leaves its result: [kept…, part], each `apart` elements from the next; [part, kept…] in column form.
  Scalar partial_slot(const Frame& f, const Cut& c, Scalar part);

  // Stores a group's values at `slot` of new workspace buffers of n elements, which are returned.
  std::vector<int64_t> store_group(const Group& grp, std::string_view name, int64_t n, Scalar slot,
                                   std::vector<Stmt>* body);
  std::vector<Value> load_group(const std::vector<Dtype>& types, const std::vector<int64_t>& buffers,
                                int64_t n, Scalar slot);

  void combine_parts(const std::vector<Group>& first, const std::vector<std::vector<int64_t>>& buffers,
                     const Cut& c, bool last);

  // Results of levels that are done, for a phase after theirs.
  void bind_held(absl::Span<const Scalar> kept);

  // Rows, reduced down their columns as well: `rows` for each of `outer` results. `chunk` of them make an item,
  // which leaves a row of partial results; where these are more than `step` rows, so many at a time have a row
  // of scratch of their own first.
  struct Blocks {
    int64_t rows = 1, outer = 1, chunk = 1, step = 1;
    int64_t parts() const { return (rows + chunk - 1) / chunk; }
    int64_t items() const { return outer * parts(); }
    int64_t steps() const { return (chunk + step - 1) / step; }
  };
  Blocks blocks() const;
  int64_t row_bytes() const;  // of the down reductions' values
  Status analyse_down();
  Status lower_down();
  // The rows of an item from `start` on, at most a step, or all of them in steps.
  void rows_down(std::vector<Stmt>* body, absl::Span<const Scalar> outer, Scalar start, const Blocks& b);
  void in_steps(std::vector<Stmt>* body, absl::Span<const Scalar> outer, Scalar start, const Blocks& b);
  void row(std::vector<Stmt>* body, absl::Span<const Scalar> kept);
  // A loop along a row; where it is.
  std::vector<Stmt>* along_row(std::vector<Stmt>* body, Scalar* column);
  // Memory for rows of the down reductions' values.
  std::vector<std::vector<int64_t>> row_buffers(std::string_view name, int64_t rows, Role role);
  void clear_row(std::vector<Stmt>* body, const std::vector<std::vector<int64_t>>& buffers, Scalar start);
  // A group's values in a row, loaded before what is stored next: a processor takes a load for one of what has
  // just been stored as far from the start of another page.
  std::vector<Value> let_row(std::vector<Stmt>* body, size_t group, const std::vector<int64_t>& buffers, Scalar at);
  void combine_at(std::vector<Stmt>* body, size_t group, const std::vector<int64_t>& buffers, Scalar at,
                  absl::Span<const Value> old, absl::Span<const Value> x);
  // Stores the full outputs at `full` and combines the values there into the row at hand.
  void store_at(std::vector<Stmt>* body, const Index& full);
  void combine_rows(const std::vector<std::vector<int64_t>>& buffers, const Blocks& b);

  Kernel& k_;
  scalar::Graph& g_;
  const Computation& fused_;
  const Facts& facts_;
  Elements e_;
  Levels levels_;
  std::vector<const Instr*> outs_;
  Dims full_, reduced_, kept_, kept_dims_, red_dims_;
  bool column_ = false, commutes_ = true, full_outputs_ = false, split_ = false;
  bool stores_in_pass_ = false;  // full-size outputs, by the only pass: they need no result of it
  int64_t index_nodes_ = 0;  // that say which part an item is
  bool blocked_ = false;  // the innermost loop of the pass being built is a block's
  struct Held {
    Group group;
    std::vector<int64_t> buffers;  // in the workspace, by accumulator: [kept…]
  };
  std::vector<Held> held_;
  std::vector<std::pair<const Instr*, int64_t>> scratch_;  // values and their buffers
  // Reductions of a row program down its columns: their dimensions, those that neither they nor the rows'
  // reduce, what they keep, the outputs made of their results, by number.
  std::vector<const Instr*> downs_;
  Dims down_, outer_, outer_dims_, down_kept_, down_kept_dims_;
  absl::btree_set<size_t> down_outputs_;  // in order: stores are text, too
  std::vector<Group> down_groups_;
  std::vector<std::vector<int64_t>> down_row_;  // where an item combines values, from `down_start_` on
  Scalar down_start_;
};

}  // namespace braze::loop
