// SPDX-License-Identifier: Apache-2.0
// Processes of a test as threads: rendezvous by process group and channel, in order of use.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "backend/conformance.h"
#include "eval/evaluator.h"
#include "ops/check.h"
#include "ops/collectives.h"
#include "ops/custom_call.h"

namespace braze {

constexpr auto kPatience = std::chrono::seconds(30);

class Grid {
 public:
  Grid(int64_t r, int64_t p, std::vector<Literal> feed)
      : replicas(r), partitions(p), feed_(feed.begin(), feed.end()) {}

  const int64_t replicas, partitions;

  // Waits for all members to bring theirs to the meeting called `key`.
  Result<std::vector<Literal>> meet(const std::string& key, size_t self, size_t members,
                                    absl::Span<const Literal> mine) {
    std::unique_lock lock(mutex_);
    auto& slot = meetings_[key];
    slot.resize(members);
    slot[self].assign(mine.begin(), mine.end());
    changed_.notify_all();
    auto complete = [&] {
      for (const auto& part : slot)
        if (part.empty()) return false;
      return true;
    };
    if (!changed_.wait_for(lock, kPatience, [&] { return failed_ || complete(); }))
      return absl::DeadlineExceededError("a collective waits for a process that does not come");
    if (failed_) return absl::AbortedError("another process failed");
    std::vector<Literal> all;
    for (const auto& part : slot) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  void send(int64_t channel, const Literal& v) {
    std::unique_lock lock(mutex_);
    channels_[channel].push_back(v);
    changed_.notify_all();
  }

  Result<Literal> recv(int64_t channel) {
    std::unique_lock lock(mutex_);
    auto& queue = channels_[channel];
    if (!changed_.wait_for(lock, kPatience, [&] { return failed_ || !queue.empty(); }))
      return absl::DeadlineExceededError("recv waits for a send that does not come");
    if (queue.empty()) return absl::AbortedError("another process failed");
    Literal v = queue.front();
    queue.pop_front();
    return v;
  }

  Result<Literal> next_feed() {
    std::unique_lock lock(mutex_);
    if (feed_.empty()) return invalid("the infeed is empty");
    Literal v = feed_.front();
    feed_.pop_front();
    return v;
  }

  void fail() {
    std::unique_lock lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<std::vector<Literal>>> meetings_;
  std::map<int64_t, std::deque<Literal>> channels_;
  std::deque<Literal> feed_;
  bool failed_ = false;
};

namespace {

class GridWorld : public World {
 public:
  GridWorld(std::shared_ptr<Grid> g, Process me) : grid_(std::move(g)), me_(me) {}
  int64_t replica_id() override { return me_.replica; }
  int64_t partition_id() override { return me_.partition; }

  Result<std::vector<Literal>> exchange(const Instr& instr,
                                        absl::Span<const Literal> mine) override {
    ASSIGN(ProcessGroup group, process_group(instr, grid_->replicas, grid_->partitions, me_));
    if (group.self < 0) return std::vector<Literal>(mine.begin(), mine.end());
    std::string key = str_cat(name(instr.op), " ", instr.as<CollectiveAttrs>().channel_id);
    for (const Process& p : group.members) key += str_cat(" ", p.replica, ",", p.partition);
    key += str_cat(" #", turns_[key]++);
    return grid_->meet(key, static_cast<size_t>(group.self), group.members.size(), mine);
  }
  Result<Literal> infeed(const Instr&, const Shape&) override { return grid_->next_feed(); }
  Status outfeed(const Instr&, const Literal&) override { return absl::OkStatus(); }
  Status send(const Instr& instr, const Literal& value) override {
    grid_->send(instr.as<ChannelAttrs>().channel_id, value);
    return absl::OkStatus();
  }
  Result<Literal> recv(const Instr& instr, const Shape&) override {
    return grid_->recv(instr.as<ChannelAttrs>().channel_id);
  }

 private:
  std::shared_ptr<Grid> grid_;
  Process me_;
  std::map<std::string, int> turns_;
};

// "rows=2 columns=1 feeds=0".
int64_t config_number(std::string_view config, std::string_view key) {
  const size_t at = config.find(str_cat(key, "="));
  int64_t v = 0;
  if (at == std::string_view::npos) return 0;
  for (size_t k = at + key.size() + 1; k < config.size() && config[k] >= '0' && config[k] <= '9';
       ++k)
    v = v * 10 + (config[k] - '0');
  return v;
}

void append_parts(const Literal& value, const Computation& c, std::vector<Literal>& out) {
  if (c.root()->shape.is_tuple()) out.insert(out.end(), value.parts().begin(), value.parts().end());
  else out.push_back(value);
}

Result<Literal> run_parallel(const EvalContext& ctx) {
  const std::string& config = ctx.as<CustomCallAttrs>().backend_config;
  const int64_t rows = config_number(config, "rows"), columns = config_number(config, "columns");
  const size_t n = static_cast<size_t>(rows * columns),
               feeds = static_cast<size_t>(config_number(config, "feeds"));
  if (n == 0 || n > 256 || ctx.instr.calls.size() != n + feeds)
    return invalid("run_parallel: bad programs");
  std::vector<Literal> feed;
  for (size_t k = 0; k < feeds; ++k) {
    ASSIGN(Literal v, ctx.run(*ctx.instr.calls[n + k], {}));
    feed.push_back(std::move(v));
  }
  auto grid = make_grid(rows, columns, std::move(feed));
  std::vector<Result<Literal>> results(n, Result<Literal>(internal("did not run")));
  std::vector<std::thread> threads;
  size_t at = 0;
  for (size_t k = 0; k < n; ++k) {
    const Computation& program = *ctx.instr.calls[k];
    const size_t count = program.params().size();
    if (at + count > ctx.operands.size()) {
      grid->fail();
      results[k] = invalid("run_parallel: too few operands");
      break;
    }
    std::vector<Literal> args(ctx.operands.begin() + at, ctx.operands.begin() + at + count);
    at += count;
    threads.emplace_back([&results, &program, grid, args = std::move(args), k, columns] {
      auto world =
          grid_world(grid, static_cast<int64_t>(k) / columns, static_cast<int64_t>(k) % columns);
      EvalOptions options;
      options.world = world.get();
      results[k] = evaluate(program, args, options);
      if (!results[k].ok()) grid->fail();
    });
  }
  for (std::thread& t : threads) t.join();
  std::vector<Literal> parts;
  Status first;
  for (size_t k = 0; k < n; ++k) {
    if (results[k].ok()) append_parts(*results[k], *ctx.instr.calls[k], parts);
    else if (first.ok() || absl::IsAborted(first))
      first = note(str_cat("process ", k), results[k].status());
  }
  TRY(first);
  if (!ctx.instr.shape.is_tuple()) {
    if (parts.size() != 1) return invalid("run_parallel: ", parts.size(), " results, expected one");
    return parts[0];
  }
  return Literal::tuple(std::move(parts));
}

}  // namespace

std::shared_ptr<Grid> make_grid(int64_t replicas, int64_t partitions, std::vector<Literal> feed) {
  return std::make_shared<Grid>(replicas, partitions, std::move(feed));
}

std::unique_ptr<World> grid_world(std::shared_ptr<Grid> grid, int64_t replica, int64_t partition) {
  return std::make_unique<GridWorld>(std::move(grid), Process{replica, partition});
}

Status register_conformance_calls() {
  TRY(register_check_calls());
  return register_custom_call({"interpreter.run_parallel", nullptr, run_parallel});
}

}  // namespace braze
