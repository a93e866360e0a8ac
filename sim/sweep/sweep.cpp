#include "sim/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "sim/config/load.hpp"
#include "sim/report/text.hpp"
#include "sim/run/progress.hpp"
#include "sim/sweep/batch_size.hpp"
#include "sim/sweep/digest.hpp"
#include "sim/sweep/figures_archive.hpp"
#include "sim/sweep/known_rates.hpp"
#include "sim/sweep/point_keys.hpp"
#include "sim/sweep/sweep_points.hpp"

namespace qfs {
namespace {

/// Points of one configuration.
struct Simulation {
  std::string key;
  RunConfig run;
  PointFacts facts;
  std::vector<std::uint64_t> points;
  bool by_few_layers = false;  // if these stand for all
  bool alone = false;          // in its process
  std::size_t deaths = 0;
};

/// Simulations under way in one child, each by its first point.
struct Batch {
  std::vector<std::uint64_t> members;
  BatchSize::Clock::time_point start;
};

/// Values take a process's memory and time as they need it, and so does a long run.
bool has_to_be_alone(const TimedRun& timed) {
  constexpr std::size_t many_operations = 10'000;
  return timed.run->numerics.mode != NumericsMode::off || timed_operations(timed) > many_operations;
}

bool by_few_layers(const SweepConfig& config, const RunConfig& run) {
  return config.layers == SweepLayers::repeating && may_repeat(run);
}

std::vector<std::optional<PointFigures>> figures_of(const std::vector<TimedRun>& runs) {
  const bool is_one = runs.size() == 1 && !runs.front().by_few_layers;
  return is_one ? std::vector{std::optional(simulated_figures(*runs.front().run))}
                : timed_figures(runs);
}

class SweepRunner {
 public:
  SweepRunner(const SweepConfig& config, ResultStore& store, const Shard& shard, std::size_t jobs)
      : config_(config),
        space_(config),
        maker_(config),
        store_(store),
        shard_(shard),
        jobs_(std::max<std::size_t>(1, jobs)),
        next_(shard.number - 1) {
    work_.points = shard.points(space_.points());
  }

  SweepTally run() {
    PointProgress progress(title(), work_.points);
    while (next_ < space_.points() || !ready_.empty() || pool_.count() > 0) {
      prepare_some();
      start_some();
      const bool hurry = next_ < space_.points() && ready_.size() < wanted();
      for (const ChildEnd& end : pool_.wait(hurry ? std::chrono::milliseconds(0) : pause)) {
        take(end);
      }
      store_.tick();
      progress.show(done_, failed_, done_ - work_.kept);
    }
    store_.finish();
    return work_;
  }

 private:
  static constexpr std::chrono::milliseconds pause = ResultStore::transaction_time;

  [[nodiscard]] std::string title() const {
    const std::string part = shard_.count > 1 ? fmt::format(", shard {}", shard_.text()) : "";
    return fmt::format("{}{}: {} points, {} at a time", config_.name, part,
                       grouped(static_cast<std::int64_t>(work_.points)), jobs_);
  }

  /// Points that no process has been started for.
  [[nodiscard]] std::uint64_t left() const {
    const std::uint64_t all = space_.points();
    const std::uint64_t unprepared =
        next_ < all ? (all - next_ + shard_.count - 1) / shard_.count : 0;
    return unprepared + ready_.size();
  }

  [[nodiscard]] std::size_t batch_size() const { return batch_size_.next(left(), jobs_); }
  [[nodiscard]] std::size_t wanted() const {
    constexpr std::size_t most_batches = 8;  // bounds what waits in memory
    return std::max(jobs_, std::min(jobs_, most_batches) * batch_size());
  }

  /// So many simulations ahead that no process waits for the next; not for long at a time, since
  /// those that end want to be noticed.
  void prepare_some() {
    constexpr int most = 16;
    for (int i = 0; i < most && ready_.size() < wanted() && next_ < space_.points(); ++i) {
      prepare(next_);
      next_ += shard_.count;
    }
  }

  void prepare(std::uint64_t index) {
    const SweepPoint point = space_.at(index);
    if (const SweepConstraint* constraint = space_.skipped_by(point)) {
      note(index, PointStatus::skipped, constraint->because);
      return;
    }
    Simulation simulation;
    try {
      simulation.run = maker_.make(point);
    } catch (const ConfigError& error) {
      note(index, PointStatus::refused, error.what());
      return;
    }
    simulation.by_few_layers = by_few_layers(config_, simulation.run);
    simulation.key = key_of(config_, simulation.run);
    if (is_stored(index, simulation.key)) {
      return;
    }
    if (const std::optional<PointOutcome> outcome = store_.find_key(simulation.key)) {
      put(index, {simulation.key, *outcome});
      return;
    }
    if (const auto twin = by_key_.find(simulation.key); twin != by_key_.end()) {
      simulations_.at(twin->second).points.push_back(index);
      return;
    }
    simulation.facts = facts_of(simulation.run);
    simulation.alone = has_to_be_alone({&simulation.run, simulation.by_few_layers});
    simulation.points = {index};
    by_key_.emplace(simulation.key, index);
    simulations_.emplace(index, std::move(simulation));
    ready_.push_back(index);
  }

  /// Of a point that is not simulated.
  void note(std::uint64_t index, PointStatus status, const std::string& reason) {
    StoredPoint point;
    point.outcome.status = status;
    point.outcome.reason = reason;
    const std::optional<StoredPoint> before = store_.find(index);
    if (before && before->outcome.status == status && before->outcome.reason == reason) {
      ++done_;
      ++work_.kept;
      return;
    }
    put(index, point);
  }

  /// A failure that need not happen again is none of the results that are kept.
  bool is_stored(std::uint64_t index, const std::string& key) {
    const std::optional<StoredPoint> before = store_.find(index);
    if (!before || before->key != key || before->outcome.transient) {
      return false;
    }
    ++done_;
    ++work_.kept;
    failed_ += before->outcome.status == PointStatus::failed ? 1 : 0;
    return true;
  }

  void put(std::uint64_t index, const StoredPoint& point) {
    store_.put(index, point);
    ++done_;
    failed_ += point.outcome.status == PointStatus::failed ? 1 : 0;
  }

  void start_some() {
    while (pool_.count() < jobs_ && !ready_.empty()) {
      const std::size_t size = batch_size();
      if (ready_.size() < size && next_ < space_.points()) {
        return;
      }
      start(next_batch(size));
    }
  }

  /// The first that are ready: one that has to be alone, or up to `most` that need not.
  std::vector<std::uint64_t> next_batch(std::size_t most) {
    std::vector<std::uint64_t> batch;
    bool alone = false;
    while (!ready_.empty() && batch.size() < most && !alone) {
      alone = simulations_.at(ready_.front()).alone;
      if (alone && !batch.empty()) {
        break;
      }
      batch.push_back(ready_.front());
      ready_.pop_front();
    }
    return batch;
  }

  void start(std::vector<std::uint64_t> members) {
    std::vector<TimedRun> runs;
    for (const std::uint64_t member : members) {
      const Simulation& simulation = simulations_.at(member);
      runs.push_back({&simulation.run, simulation.by_few_layers});
      rates_.learn(simulation.run);
    }
    pool_.start(next_batch_, [&runs] { return packed(figures_of(runs)); });
    batches_.emplace(next_batch_++, Batch{std::move(members), BatchSize::Clock::now()});
  }

  void take(const ChildEnd& end) {
    const Batch batch = std::move(batches_.extract(end.id).mapped());
    if (end.how != ChildEnd::How::returned) {
      take_failure(batch, end);
      return;
    }
    batch_size_.note(batch.members.size(), BatchSize::Clock::now() - batch.start);
    const auto figures = unpacked<std::vector<std::optional<PointFigures>>>(end.text);
    for (std::size_t i = 0; i < batch.members.size(); ++i) {
      if (!figures.at(i)) {
        simulate_all_layers(batch.members[i]);
        continue;
      }
      PointOutcome outcome;
      outcome.figures = *figures[i];
      finish(batch.members[i], std::move(outcome));
    }
  }

  void simulate_all_layers(std::uint64_t id) {
    Simulation& simulation = simulations_.at(id);
    simulation.by_few_layers = false;
    simulation.alone = has_to_be_alone({&simulation.run});
    ready_.push_front(id);
  }

  /// What became of a batch says nothing of any one of it: each is tried by itself.
  void take_failure(const Batch& batch, const ChildEnd& end) {
    if (batch.members.size() > 1) {
      batch_size_.note_failure();
      for (const std::uint64_t member : batch.members) {
        simulations_.at(member).alone = true;
      }
      ready_.insert(ready_.begin(), batch.members.begin(), batch.members.end());
      return;
    }
    const std::uint64_t id = batch.members.front();
    const bool died = end.how == ChildEnd::How::died;
    if (died && ++simulations_.at(id).deaths < most_deaths) {
      ready_.push_front(id);
      return;
    }
    PointOutcome outcome;
    outcome.status = PointStatus::failed;
    outcome.reason = fmt::format("the run failed: {}", end.text);
    outcome.transient = died;
    finish(id, std::move(outcome));
  }

  void finish(std::uint64_t id, PointOutcome outcome) {
    const Simulation& simulation = simulations_.at(id);
    outcome.facts = simulation.facts;
    const StoredPoint point{simulation.key, std::move(outcome)};
    for (const std::uint64_t index : simulation.points) {
      put(index, point);
    }
    ++work_.simulated;
    by_key_.erase(simulation.key);
    simulations_.erase(id);
  }

  const SweepConfig& config_;
  SweepSpace space_;
  PointMaker maker_;
  ResultStore& store_;
  Shard shard_;
  std::size_t jobs_;
  KnownRates rates_;
  std::uint64_t next_;
  std::map<std::uint64_t, Simulation> simulations_;  // ready or under way, by their first point
  std::unordered_map<std::string, std::uint64_t> by_key_;
  std::deque<std::uint64_t> ready_;
  BatchSize batch_size_;
  std::map<std::uint64_t, Batch> batches_;  // under way, by number
  std::uint64_t next_batch_ = 0;
  ChildPool pool_;
  SweepTally work_;
  std::uint64_t done_ = 0;
  std::uint64_t failed_ = 0;
};

}  // namespace

std::string Shard::text() const { return fmt::format("{}/{}", number, count); }

std::string key_of(const SweepConfig& config, RunConfig run) {
  run.name.clear();  // says nothing of the figures
  const char* how = by_few_layers(config, run) ? "\nby few layers\n" : "\n";
  return digest_of(program_digest() + how + to_yaml(run));
}

StoreIdentity identity_of(const SweepConfig& config, const Shard& shard) {
  return {digest_of(config.text), program_digest(), SweepSpace(config).points(), shard.text()};
}

SweepTally simulate_sweep(const SweepConfig& config, ResultStore& store, const Shard& shard,
                          std::size_t jobs) {
  store.begin(identity_of(config, shard));
  return SweepRunner(config, store, shard, jobs).run();
}

SweepResult stored_result(const SweepConfig& config, const ResultStore& store) {
  const SweepSpace space(config);
  SweepResult result{config, {}, 0};
  result.points.reserve(space.points());
  for (std::uint64_t index = 0; index < space.points(); ++index) {
    SweepPoint& point = result.points.emplace_back(space.at(index));
    const std::optional<StoredPoint> stored = store.find(index);
    if (!stored) {
      throw RunError(fmt::format("point {} of {} is not in the store", index, space.points()));
    }
    static_cast<PointOutcome&>(point) = stored->outcome;
  }
  return result;
}

SweepResult run_sweep(const SweepConfig& config, std::size_t jobs) {
  check_points(config);
  ResultStore store("");
  const SweepTally work = simulate_sweep(config, store, {}, jobs);
  SweepResult result = stored_result(config, store);
  result.simulations = static_cast<std::size_t>(work.simulated);
  return result;
}

}  // namespace qfs
