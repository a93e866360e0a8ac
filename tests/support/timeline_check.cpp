#include "tests/support/timeline_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace qfs::test {
namespace {

using Json = nlohmann::ordered_json;

/// A defect, thrown to the one place that returns it.
struct Defect {
  std::string text;
};

template <class... Args>
void require(bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) {
    throw Defect{fmt::format(format, std::forward<Args>(args)...)};
  }
}

struct Slice {
  double start = 0;  // us
  double end = 0;
  std::int64_t process = 0;
  std::int64_t row = 0;
};

struct ArrowEnd {
  std::int64_t thread = 0;
  double time = 0;  // us
};

/// Times are read as doubles of microseconds: what they may be off by.
double resolution(double time) { return 4e-9 + 4 * std::abs(time) * 2.3e-16; }
bool same_time(double a, double b) { return std::abs(a - b) <= resolution(std::max(a, b)); }

std::int64_t integer(const Json& event, const char* key) {
  require(event.contains(key) && event[key].is_number_integer(), "no integer {} in {}", key,
          event.dump());
  return event[key].get<std::int64_t>();
}

double time_in(const Json& event, const char* key) {
  require(event.contains(key) && event[key].is_number(), "no {} in {}", key, event.dump());
  const double time = event[key].get<double>();
  require(time >= 0, "negative {} in {}", key, event.dump());
  return time;
}

std::string text_in(const Json& event, const char* key) {
  require(event.contains(key) && event[key].is_string(), "no text {} in {}", key, event.dump());
  return event[key].get<std::string>();
}

class TimelineChecker {
 public:
  explicit TimelineChecker(const RunResult& result) : result_(result) {}

  void check(const Json& timeline) {
    require(timeline.is_object() && timeline.contains("traceEvents"), "no traceEvents");
    require(timeline.value("displayTimeUnit", "") == "ns", "displayTimeUnit is not ns");
    require(timeline["traceEvents"].is_array(), "traceEvents is not a list");
    for (const Json& event : timeline["traceEvents"]) {
      read(event);
    }
    check_names();
    check_lanes();
    check_rows();
    check_arrows();
  }

 private:
  void read(const Json& event) {
    require(event.is_object(), "an event is not an object: {}", event.dump());
    const std::string phase = text_in(event, "ph");
    text_in(event, "name");
    integer(event, "pid");
    integer(event, "tid");
    if (phase == "M") {
      read_name(event);
    } else if (phase == "X") {
      read_slice(event);
    } else if (phase == "s") {
      read_arrow(event, starts_);
    } else if (phase == "f") {
      require(text_in(event, "bp") == "e", "an arrow ends outside a slice: {}", event.dump());
      read_arrow(event, ends_);
    } else {
      require(false, "unknown phase: {}", event.dump());
    }
  }

  void read_name(const Json& event) {
    require(event.contains("args") && event["args"].is_object(), "no args in {}", event.dump());
    const std::string name = text_in(event, "name");
    if (name == "process_name") {
      text_in(event["args"], "name");
      named_processes_.insert(integer(event, "pid"));
    } else if (name == "thread_name") {
      text_in(event["args"], "name");
      named_threads_[integer(event, "tid")] = integer(event, "pid");
    }
  }

  void read_slice(const Json& event) {
    Slice slice;
    slice.start = time_in(event, "ts");
    slice.end = slice.start + time_in(event, "dur");
    slice.process = integer(event, "pid");
    require(event.contains("args"), "no args in {}", event.dump());
    slice.row = integer(event["args"], "row");
    lanes_[integer(event, "tid")].push_back(slice);
    const bool added = rows_.emplace(std::pair(slice.process, slice.row), slice).second;
    require(added, "row {} of process {} is there twice", slice.row, slice.process);
  }

  static void read_arrow(const Json& event, std::map<std::int64_t, ArrowEnd>& arrows) {
    text_in(event, "cat");
    const std::int64_t id = integer(event, "id");
    const bool added =
        arrows.emplace(id, ArrowEnd{integer(event, "tid"), time_in(event, "ts")}).second;
    require(added, "arrow {} begins or ends twice", id);
  }

  void check_names() const {
    for (const auto& [thread, slices] : lanes_) {
      const auto named = named_threads_.find(thread);
      require(named != named_threads_.end(), "thread {} has no name", thread);
      for (const Slice& slice : slices) {
        require(slice.process == named->second, "thread {} is in two processes", thread);
        require(named_processes_.contains(slice.process), "process {} has no name", slice.process);
      }
    }
  }

  void check_lanes() {
    for (auto& [thread, slices] : lanes_) {
      std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
        return std::pair(a.start, a.end) < std::pair(b.start, b.end);
      });
      for (std::size_t i = 1; i < slices.size(); ++i) {
        const double before = slices[i - 1].end;
        require(slices[i].start >= before - resolution(before), "slices overlap on thread {} at {}",
                thread, slices[i].start);
      }
    }
  }

  void check_rows() const {
    std::size_t expected = 0;
    for (std::size_t index = 0; index < result_.points.size(); ++index) {
      const PointResult& point = result_.points[index];
      if (point.context != result_.config.workload.context) {
        continue;
      }
      expected += point.table.rows.size();
      for (const Row& row : point.table.rows) {
        check_row(static_cast<std::int64_t>(index) + 1, row);
      }
    }
    require(rows_.size() == expected, "{} slices for {} rows", rows_.size(), expected);
  }

  void check_row(std::int64_t process, const Row& row) const {
    const auto found = rows_.find({process, static_cast<std::int64_t>(row.id.value())});
    require(found != rows_.end(), "row {} of process {} is missing", row.id.value(), process);
    const Slice& slice = found->second;
    require(same_time(slice.start, to_microseconds(row.start)) &&
                same_time(slice.end, to_microseconds(row.end)),
            "row {} of process {} has other times", row.id.value(), process);
  }

  void check_arrows() const {
    require(starts_.size() == ends_.size(), "{} arrows begin, {} end", starts_.size(),
            ends_.size());
    require(starts_.size() == inputs(), "{} arrows for {} inputs", starts_.size(), inputs());
    for (const auto& [id, start] : starts_) {
      const auto end = ends_.find(id);
      require(end != ends_.end(), "arrow {} does not end", id);
      require(on_slice(start), "arrow {} does not begin on a slice", id);
      require(on_slice(end->second), "arrow {} does not end on a slice", id);
      require(start.time <= end->second.time, "arrow {} runs backwards", id);
    }
  }

  [[nodiscard]] std::size_t inputs() const {
    std::size_t inputs = 0;
    for (const PointResult& point : result_.points) {
      const bool drawn = point.context == result_.config.workload.context;
      for (const Row& row : point.table.rows) {
        inputs += drawn ? row.deps.size() : 0;
      }
    }
    return inputs;
  }

  [[nodiscard]] bool on_slice(const ArrowEnd& arrow) const {
    const auto lane = lanes_.find(arrow.thread);
    if (lane == lanes_.end()) {
      return false;
    }
    const double slack = resolution(arrow.time);
    const auto later =
        std::upper_bound(lane->second.begin(), lane->second.end(), arrow.time + slack,
                         [](double time, const Slice& slice) { return time < slice.start; });
    return later != lane->second.begin() && std::prev(later)->end >= arrow.time - slack;
  }

  const RunResult& result_;
  std::set<std::int64_t> named_processes_;
  std::map<std::int64_t, std::int64_t> named_threads_;  // and their process
  std::map<std::int64_t, std::vector<Slice>> lanes_;    // by thread
  std::map<std::pair<std::int64_t, std::int64_t>, Slice> rows_;
  std::map<std::int64_t, ArrowEnd> starts_;
  std::map<std::int64_t, ArrowEnd> ends_;
};

}  // namespace

std::string timeline_fault(const nlohmann::ordered_json& timeline, const RunResult& result) {
  try {
    TimelineChecker(result).check(timeline);
  } catch (const Defect& defect) {
    return defect.text;
  }
  return "";
}

}  // namespace qfs::test
