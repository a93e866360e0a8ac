#include "sim/report/timeline.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "sim/report/text.hpp"
#include "sim/report/timeline_lanes.hpp"

namespace qfs {
namespace {

/// Writes the events. Every name comes from our own tables, so none needs escaping.
class TimelineWriter {
 public:
  void add_point(const PointResult& point, std::size_t index) {
    table_ = &point.table;
    lanes_ = assign_lanes(point.table);
    process_ = index + 1;
    name_process(point);
    name_threads();
    number_flows();
    for (const RowId id : lanes_.drawing_order) {
      const Row& row = table_->rows[id.value()];
      add_slice(row);
      add_arrow_ends(row);
      add_arrow_starts(row);
    }
    first_thread_ += lanes_.lanes.size();
    first_flow_ += flows_;
  }

  [[nodiscard]] std::string text() const {
    return fmt::format("{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{}\n]}}\n",
                       fmt::to_string(events_));
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (events_.size() > 0) {
      events_.append(std::string_view(",\n"));
    }
    fmt::format_to(std::back_inserter(events_), format, std::forward<Args>(args)...);
  }

  [[nodiscard]] std::size_t thread_of(const Row& row) const {
    return first_thread_ + lanes_.lane_of_row[row.id.value()];
  }

  void name_process(const PointResult& point) {
    add(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":"{}, context {}"}}}})",
        process_, name_of(point.block), point.context);
    add(R"({{"ph":"M","name":"process_sort_index","pid":{0},"tid":0,"args":{{"sort_index":{0}}}}})",
        process_);
  }

  void name_threads() {
    for (std::size_t i = 0; i < lanes_.lanes.size(); ++i) {
      const TimelineLane& lane = lanes_.lanes[i];
      std::string name = table_->resources[lane.resource].name;
      name += lane.number == 0 ? "" : fmt::format(" ({})", lane.number + 1);
      add(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})", process_,
          first_thread_ + i, name);
      add(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
          process_, first_thread_ + i, i);
    }
  }

  /// Flow numbers follow the inputs, row by row; each producer gets the list of those that start
  /// from it.
  void number_flows() {
    flows_ = 0;
    first_flow_of_row_.clear();
    starts_.assign(table_->rows.size(), {});
    for (const Row& row : table_->rows) {
      first_flow_of_row_.push_back(first_flow_ + flows_);
      for (const Dependency& dep : row.deps) {
        starts_[dep.row.value()].push_back(first_flow_ + flows_);
        ++flows_;
      }
    }
  }

  void add_slice(const Row& row) {
    std::vector<std::size_t> members;
    for (const Member& member : row.members) {
      members.push_back(member.request.value());
    }
    const Bytes bytes = row.is_message() ? row.wire_bytes : row.work.memory_bytes();
    add(R"({{"ph":"X","name":"{} L{}","cat":"{}","pid":{},"tid":{},"ts":{},"dur":{},)"
        R"("args":{{"row":{},"layer":{},"shard":{},"step":{},"members":[{}],"bytes":{},)"
        R"("attempt":{},"fate":"{}"}}}})",
        what(row), row.layer.value(), row.is_operation() ? name_of(row.op) : name_of(row.kind),
        process_, thread_of(row), exact_microseconds(row.start),
        exact_microseconds(row.end - row.start), row.id.value(), row.layer.value(), row.shard,
        row.step.value(), fmt::join(members, ","), bytes.value(), row.attempt, name_of(row.fate));
  }

  static std::string what(const Row& row) {
    if (row.is_operation()) {
      return std::string(name_of(row.op));
    }
    std::string values;
    for (const ValueKind value : row.carries) {
      values += (values.empty() ? "" : " ") + std::string(name_of(value));
    }
    return values.empty() ? std::string(name_of(row.kind)) : values;
  }

  /// An arrow must start inside its producer's slice. Viewers cut times to nanoseconds, so it
  /// starts two of them before the end, or where a slice too short for that starts.
  static Femtoseconds arrow_start(const Row& row) {
    constexpr Femtoseconds margin{2'000'000};
    return row.end - row.start > margin ? row.end - margin : row.start;
  }

  void add_arrow_starts(const Row& row) {
    for (const std::size_t flow : starts_[row.id.value()]) {
      add(R"({{"ph":"s","name":"edge","cat":"edge","id":{},"pid":{},"tid":{},"ts":{}}})", flow,
          process_, thread_of(row), exact_microseconds(arrow_start(row)));
    }
  }

  void add_arrow_ends(const Row& row) {
    for (std::size_t i = 0; i < row.deps.size(); ++i) {
      add(R"({{"ph":"f","bp":"e","name":"edge","cat":"edge","id":{},"pid":{},"tid":{},"ts":{}}})",
          first_flow_of_row_[row.id.value()] + i, process_, thread_of(row),
          exact_microseconds(row.start));
    }
  }

  fmt::memory_buffer events_;
  std::size_t first_thread_ = 1000;  // of the point; no thread has the number of a process
  std::size_t first_flow_ = 1;       // of the point

  // The point being drawn.
  const ExecutionTable* table_ = nullptr;
  TimelineLanes lanes_;
  std::size_t process_ = 0;
  std::size_t flows_ = 0;
  std::vector<std::size_t> first_flow_of_row_;
  std::vector<std::vector<std::size_t>> starts_;  // flows from each row
};

}  // namespace

std::string timeline_json(const RunResult& result) {
  TimelineWriter writer;
  for (std::size_t index = 0; index < result.points.size(); ++index) {
    const PointResult& point = result.points[index];
    if (point.context == result.config.workload.context) {
      writer.add_point(point, index);
    }
  }
  return writer.text();
}

}  // namespace qfs
