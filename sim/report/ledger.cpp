#include "sim/report/ledger.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace qfs {
namespace {

/// In the order in which they claim an instant.
enum class Activity { output, compute, sweep, link, append };
constexpr std::size_t activities = 5;

constexpr Femtoseconds never{std::numeric_limits<std::int64_t>::max()};

/// None: it is nothing that a step could be spent on.
std::optional<Activity> activity_of(const Row& row) {
  switch (row.kind) {
    case RowKind::message:
      return Activity::link;
    case RowKind::tail_fetch:
      return Activity::sweep;
    case RowKind::prefetch:
    case RowKind::window:
      return std::nullopt;
    case RowKind::operation:
      break;
  }
  if (row.op == OpKind::merge || row.op == OpKind::o) {
    return Activity::output;
  }
  if (is_of_sweep(row.op)) {
    return Activity::sweep;
  }
  return row.op == OpKind::append ? Activity::append : Activity::compute;
}

/// An activity begins (+1) or ends (-1).
struct Change {
  Femtoseconds time;
  Activity activity;
  int count;
};

struct Begin {
  Femtoseconds time;
  OpKind op;
};

/// Walks once through the time of a run, from one change of what is running to the next.
class LedgerWalk {
 public:
  explicit LedgerWalk(const WaveRows& rows) {
    for (const Row* row : rows) {
      note(*row);
    }
    const auto earlier = [](const auto& a, const auto& b) { return a.time < b.time; };
    std::stable_sort(changes_.begin(), changes_.end(), earlier);
    std::stable_sort(begins_.begin(), begins_.end(), earlier);
  }

  /// Steps must be taken in the order of time.
  StepLedger take(const StepTime& step) {
    StepLedger ledger;
    waiting_.fill(Femtoseconds(0));
    Femtoseconds now = step.start;
    while (now < step.end) {
      pass(now);
      const Femtoseconds next = std::min({step.end, next_change(), next_begin()});
      book(ledger, next - now);
      now = next;
    }
    list_waiting(ledger);
    return ledger;
  }

 private:
  void note(const Row& row) {
    if (row.fate != RowFate::used) {
      return;  // a step is not the further on for it
    }
    if (row.is_operation()) {
      begins_.push_back({row.start, row.op});
    }
    const std::optional<Activity> activity = activity_of(row);
    if (activity && row.start < row.end) {
      changes_.push_back({row.start, *activity, 1});
      changes_.push_back({row.end, *activity, -1});
    }
  }

  /// Brings `running_` to the state at `now`, at which what begins runs and what ends does not.
  void pass(Femtoseconds now) {
    for (; change_ < changes_.size() && changes_[change_].time <= now; ++change_) {
      running_[static_cast<std::size_t>(changes_[change_].activity)] += changes_[change_].count;
    }
    while (begin_ < begins_.size() && begins_[begin_].time <= now) {
      ++begin_;
    }
  }

  [[nodiscard]] Femtoseconds next_change() const {
    return change_ < changes_.size() ? changes_[change_].time : never;
  }
  [[nodiscard]] Femtoseconds next_begin() const {
    return begin_ < begins_.size() ? begins_[begin_].time : never;
  }
  [[nodiscard]] bool runs(Activity activity) const {
    return running_[static_cast<std::size_t>(activity)] > 0;
  }

  void book(StepLedger& ledger, Femtoseconds time) {
    if (runs(Activity::sweep)) {
      ledger.sweep_busy += time;
    }
    if (runs(Activity::output)) {
      ledger.merge_and_output += time;
    } else if (runs(Activity::compute)) {
      ledger.compute += time;
    } else if (runs(Activity::sweep)) {
      ledger.sweep_exposed += time;
    } else if (runs(Activity::link)) {
      ledger.link_exposed += time;
    } else {
      ledger.waiting += time;
      waiting_[static_cast<std::size_t>(awaited())] += time;
    }
  }

  /// When nothing of the wave begins any more, only its appends can be outstanding.
  [[nodiscard]] OpKind awaited() const {
    const bool nothing_begins = begin_ == begins_.size();
    return runs(Activity::append) || nothing_begins ? OpKind::append : begins_[begin_].op;
  }

  void list_waiting(StepLedger& ledger) const {
    for (const auto& [op, name] : enum_names<OpKind>) {
      const Femtoseconds time = waiting_[static_cast<std::size_t>(op)];
      if (time > Femtoseconds(0)) {
        ledger.waiting_for.push_back({op, time});
      }
    }
  }

  std::vector<Change> changes_;
  std::vector<Begin> begins_;  // of operations, those that take no time too
  std::size_t change_ = 0;     // the first that has not been passed
  std::size_t begin_ = 0;      // likewise
  std::array<int, activities> running_{};
  std::array<Femtoseconds, enum_names<OpKind>.size()>
      waiting_{};  // of the step being taken, by OpKind
};

}  // namespace

double StepLedger::hidden_share() const {
  if (sweep_busy.value() == 0) {
    return 0;
  }
  return static_cast<double>(sweep_hidden().value()) / static_cast<double>(sweep_busy.value());
}

std::vector<StepLedger> ledgers_of(const WaveRows& rows, std::span<const StepTime> steps) {
  LedgerWalk walk(rows);
  std::vector<StepLedger> ledgers;
  for (const StepTime& step : steps) {
    ledgers.push_back(walk.take(step));
  }
  return ledgers;
}

std::vector<StepLedger> ledgers_of(const ExecutionTable& table, std::span<const StepTime> steps,
                                   const WaveRequests& wave) {
  return ledgers_of(rows_of(table, wave), steps);
}

}  // namespace qfs
