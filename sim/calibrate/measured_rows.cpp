#include "sim/calibrate/measured_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>

#include "sim/config/complaint.hpp"

namespace qfs {
namespace {

using config::complain;
using config::in_quotes;
using config::Where;

constexpr std::int64_t most_count = std::int64_t{1} << 31U;
constexpr double longest_us = 1e9;

/// Whole measurement campaigns are larger than any configuration may be.
std::string read_whole(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file)) {
    complain({file.string()}, "", "cannot be read", "a CSV file of measured kernels");
  }
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (text.empty()) {
    complain({file.string()}, "", "is empty", "a CSV file of measured kernels");
  }
  return text;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t end = line.find(',');
    fields.push_back(line.substr(0, end));
    if (end == std::string_view::npos) {
      return fields;
    }
    line.remove_prefix(end + 1);
  }
}

/// Reads a file line by line; what is wrong is told with its place.
class Table {
 public:
  Table(const std::filesystem::path& file, std::vector<std::string> columns)
      : text_(read_whole(file)),
        rest_(text_),
        where_{file.string(), 1},
        columns_(std::move(columns)) {
    const std::vector<std::string_view> header = fields_of(take_line());
    width_ = header.size();
    for (const std::string& column : columns_) {
      const auto found = std::ranges::find(header, column);
      if (found == header.end()) {
        complain(where_, column, "no such column", config::joined(columns_) + " in the first line");
      }
      places_.push_back(static_cast<std::size_t>(found - header.begin()));
    }
  }

  /// Goes to the next line; false at the end.
  bool next() {
    if (rest_.empty()) {
      return false;
    }
    ++where_.line;
    const std::string_view line = take_line();
    fields_ = fields_of(line);
    if (fields_.size() != width_) {
      complain(where_, "", fmt::format("{} has {} fields", in_quotes(line), fields_.size()),
               fmt::format("{}, as the first line", width_));
    }
    return true;
  }

  [[nodiscard]] std::string_view text(std::size_t column) const { return fields_[places_[column]]; }

  [[nodiscard]] std::int64_t count(std::size_t column, std::int64_t least = 1) const {
    std::int64_t value = 0;
    if (!read(text(column), value) || value < least || value > most_count) {
      complain(where_, columns_[column], in_quotes(text(column)),
               fmt::format("a whole number from {} to {}", least, most_count));
    }
    return value;
  }

  [[nodiscard]] Seconds microseconds(std::size_t column) const {
    double value = 0;
    if (!read(text(column), value) || !(value > 0) || value > longest_us) {
      complain(where_, columns_[column], in_quotes(text(column)),
               "a number of microseconds above 0");
    }
    return Seconds(value * 1e-6);
  }

  [[nodiscard]] std::int64_t element_bytes(std::size_t column) const {
    if (text(column) == "bfloat16") {
      return 2;
    }
    if (text(column) != "fp8") {
      complain(where_, columns_[column], in_quotes(text(column)), "bfloat16, fp8");
    }
    return 1;
  }

  /// Whether the line is of the device; keeps the names of all that it saw.
  bool is_of(const std::string& device) {
    const std::string name(text(0));
    devices_.insert(name);
    return name == device || name.starts_with(device + "_");
  }

  [[noreturn]] void refuse_no_rows(const std::string& device) const {
    const std::vector<std::string> names(devices_.begin(), devices_.end());
    complain({where_.source, 1}, "device", fmt::format("no row of {}", in_quotes(device)),
             names.empty() ? "rows after the header" : config::joined(names),
             config::nearest_spelling(device, names));
  }

  [[nodiscard]] const Where& where() const { return where_; }

 private:
  template <class T>
  static bool read(std::string_view text, T& value) {
    const char* const end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    return result.ec == std::errc() && result.ptr == end;
  }

  std::string_view take_line() {
    const std::size_t end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    return line;
  }

  std::string text_;
  std::string_view rest_;
  Where where_;
  std::vector<std::string> columns_;
  std::vector<std::size_t> places_;
  std::size_t width_ = 0;
  std::vector<std::string_view> fields_;
  std::set<std::string> devices_;
};

}  // namespace

std::vector<MeasuredKernel> read_attention(const std::filesystem::path& file,
                                           const std::string& device) {
  Table table(file, {"device", "batch", "heads", "kv_heads", "head_dim", "kv_dtype", "context",
                     "latency_us"});
  std::vector<MeasuredKernel> rows;
  while (table.next()) {
    if (!table.is_of(device)) {
      continue;
    }
    const SweepWork work{.batch = table.count(1),
                         .query_heads = table.count(2),
                         .kv_heads = table.count(3),
                         .head_dim = table.count(4),
                         .context = table.count(6, 0),
                         .element_bytes = table.element_bytes(5)};
    if (work.query_heads % work.kv_heads != 0) {
      complain(table.where(), "kv_heads", in_quotes(table.text(3)),
               fmt::format("a divisor of heads, {}", work.query_heads));
    }
    rows.push_back({work, table.microseconds(7)});
  }
  if (rows.empty()) {
    table.refuse_no_rows(device);
  }
  return rows;
}

std::vector<MeasuredKernel> read_gemm(const std::filesystem::path& file,
                                      const std::string& device) {
  Table table(file, {"device", "dtype", "m", "n", "k", "latency_us"});
  std::vector<MeasuredKernel> rows;
  while (table.next()) {
    if (table.is_of(device)) {
      rows.push_back({ProductWork{.m = table.count(2),
                                  .n = table.count(3),
                                  .k = table.count(4),
                                  .element_bytes = table.element_bytes(1)},
                      table.microseconds(5)});
    }
  }
  if (rows.empty()) {
    table.refuse_no_rows(device);
  }
  return rows;
}

}  // namespace qfs
