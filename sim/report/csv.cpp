#include "sim/report/csv.hpp"

#include <fmt/format.h>

#include <iterator>

#include "sim/report/text.hpp"

namespace qfs {
namespace {

constexpr const char* header =
    "result,block,context,id,kind,carries,layer,shard,step,members,attempt,fate,resource,ready_us,"
    "start_us,end_us,deps,weight_bytes,kv_read_bytes,kv_written_bytes,activation_bytes,wire_bytes,"
    "macs,exps,"
    "launches\n";

/// The items in words, with a space between two of them.
template <class Items, class ToText>
std::string spaced(const Items& items, ToText to_text) {
  std::string text;
  for (const auto& item : items) {
    if (!text.empty()) {
      text += ' ';
    }
    text += to_text(item);
  }
  return text;
}

std::string carries_of(const Row& row) {
  return spaced(row.carries, [](ValueKind value) { return std::string(name_of(value)); });
}

/// With the token's number where it is not that of the first.
std::string members_of(const Row& row) {
  return spaced(row.members, [&row](const Member& member) {
    return member.step == row.step
               ? fmt::format("{}", member.request.value())
               : fmt::format("{}@{}", member.request.value(), member.step.value());
  });
}

std::string deps_of(const Row& row) {
  return spaced(row.deps, [](const Dependency& dep) {
    return fmt::format("{}@{}", dep.row.value(), exact_microseconds(dep.arrival));
  });
}

void add_line(fmt::memory_buffer& out, const std::string& point, const ExecutionTable& table,
              const Row& row) {
  const Work& work = row.work;
  fmt::format_to(std::back_inserter(out),
                 "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", point,
                 row.id.value(), row.is_operation() ? name_of(row.op) : name_of(row.kind),
                 carries_of(row), row.layer.value(), row.shard, row.step.value(), members_of(row),
                 row.attempt, name_of(row.fate), table.resources[row.resource].name,
                 exact_microseconds(row.ready), exact_microseconds(row.start),
                 exact_microseconds(row.end), deps_of(row), work.weight_bytes.value(),
                 work.kv_read_bytes.value(), work.kv_written_bytes.value(),
                 work.activation_bytes.value(), row.wire_bytes.value(), work.macs.value(),
                 work.exps.value(), work.launches);
}

}  // namespace

std::string operations_csv(const RunResult& result) {
  fmt::memory_buffer out;
  out.append(std::string_view(header));
  for (std::size_t index = 0; index < result.points.size(); ++index) {
    const PointResult& point = result.points[index];
    const std::string columns = fmt::format("{},{},{}", index, name_of(point.block), point.context);
    for (const Row& row : point.table.rows) {
      add_line(out, columns, point.table, row);
    }
  }
  return fmt::to_string(out);
}

std::string csv_field(const std::string& text) {
  std::string doubled;
  for (const char c : text) {
    doubled += c == '"' ? "\"\"" : std::string(1, c);
  }
  return text.find_first_of(",\"\n") == std::string::npos ? text : '"' + doubled + '"';
}

}  // namespace qfs
