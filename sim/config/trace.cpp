#include "sim/config/trace.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "sim/config/complaint.hpp"
#include "sim/config/quantity.hpp"
#include "sim/config/schema.hpp"
#include "sim/config/tree.hpp"

namespace qfs::config {
namespace {

constexpr std::string_view header = "request,arrival_us,context,tokens";
constexpr std::array<const char*, 4> columns{"request", "arrival_us", "context", "tokens"};
using Fields = std::array<std::string_view, columns.size()>;

/// The text up to the next separator, which is taken away with it.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return taken;
}

std::string_view take_line(std::string_view& text) {
  std::string_view line = take(text, '\n');
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

Fields fields_of(std::string_view line, const Where& where) {
  const std::string_view whole = line;
  Fields fields;
  std::size_t commas = 0;
  for (const char c : line) {
    commas += c == ',' ? 1 : 0;
  }
  if (commas + 1 != fields.size()) {
    complain(where, "", fmt::format("{} has {} fields", in_quotes(whole), commas + 1),
             std::string(header));
  }
  for (std::string_view& field : fields) {
    field = take(line, ',');
  }
  return fields;
}

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = result.ec == std::errc() && result.ptr == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

std::size_t count_in(std::string_view text, const char* column, const Where& where, Count legal) {
  std::size_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = result.ec == std::errc() && result.ptr == text.data() + text.size();
  if (!whole || value < legal.least || value > legal.most) {
    complain(where, column, in_quotes(text), legal.legal() + ", in digits");
  }
  return value;
}

void add_request(TraceRequests& requests, std::string_view line, const Where& where) {
  const Fields fields = fields_of(line, where);
  const std::size_t next = requests.contexts.size();
  if (fields[0] != fmt::format("{}", next)) {
    complain(where, columns[0], in_quotes(fields[0]),
             fmt::format("{}, since requests are numbered from 0 on, in order", next));
  }
  if (number_in(fields[1]) != 0.0) {
    complain(where, columns[1], in_quotes(fields[1]),
             "0, since all requests of a run are there from its start");
  }
  requests.contexts.push_back(count_in(fields[2], columns[2], where, {0, most_context}));
  requests.tokens.push_back(count_in(fields[3], columns[3], where, {1, most_tokens}));
}

}  // namespace

TraceRequests read_trace(const std::filesystem::path& file) {
  const std::string text = read_text_file(file);
  std::string_view rest = text;
  Where where{file.string(), 1};
  if (const std::string_view first = take_line(rest); first != header) {
    complain(where, "", in_quotes(first), std::string(header) + " as the first line");
  }
  TraceRequests requests;
  while (!rest.empty()) {
    ++where.line;
    if (requests.contexts.size() == most_batch) {
      complain(where, "", fmt::format("more than {} requests", most_batch), "fewer");
    }
    add_request(requests, take_line(rest), where);
  }
  if (requests.contexts.empty()) {
    complain(where, "", "the trace holds no request", "a line for each after the header");
  }
  return requests;
}

}  // namespace qfs::config
