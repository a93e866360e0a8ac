// Presets of links against what was measured over them: NCCL between two GPUs (traces/links) and
// verbs between two hosts. configs/links/README.md holds the tables as they come out here.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "sim/config/load.hpp"
#include "sim/config/tree.hpp"
#include "sim/report/text.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {
namespace {

constexpr std::int64_t small_message = 2048;  // a call of so much takes as long as one of nothing
constexpr double rounding = 5e-4;             // of the four digits in a preset

/// One call of a collective operation on two GPUs; each sends half of the buffer to the other.
struct Call {
  std::string system;
  std::string op;
  std::int64_t sent_bytes = 0;
  double microseconds = 0;
};

/// A pair of GPUs, the preset of its link, and that of the link as NCCL drives it.
struct Pair {
  const char* name;
  const char* system;
  const char* link;
  const char* nccl;
};
constexpr Pair pairs[] = {{"A100", "a100_sxm", "nvlink3", "nvlink3-nccl"},
                          {"H100", "h100_sxm", "nvlink4", "nvlink4-nccl"},
                          {"H200", "h200_sxm", "nvlink4", "nvlink4-nccl"},
                          {"B200", "b200_sxm", "nvlink5", "nvlink5-nccl"},
                          {"L40S", "l40s", "pcie4-x16", "pcie4-x16-nccl"}};

std::vector<Call> calls_of(const std::string& system, const std::string& op) {
  std::istringstream lines(
      config::read_text_file(test::source_dir() + "/traces/links/nccl-2-gpus.csv"));
  std::string line;
  std::getline(lines, line);
  REQUIRE(line == "system,nccl,op,dtype,buffer_bytes,latency_us");
  std::vector<Call> calls;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(fields, cell, ',');) {
      cells.push_back(cell);
    }
    REQUIRE(cells.size() == 6);
    if (cells[0] == system && cells[2] == op) {
      calls.push_back({cells[0], cells[2], std::stoll(cells[4]) / 2, std::stod(cells[5])});
    }
  }
  REQUIRE(calls.size() == 21);
  return calls;
}

LinkConfig preset(const std::string& name) {
  return load_run_config(test::source_dir() + "/configs/runs/two-h200.yaml", {"link=" + name}).link;
}

/// A lone message's, as tests/hardware/link.cpp has it from the simulated link.
double message_us(const LinkConfig& link, std::int64_t bytes) {
  const Seconds time = link.latency + link.message_overhead + Bytes(bytes) / link.bandwidth;
  return time.value() * 1e6;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double deviation(const LinkConfig& link, const Call& call) {
  return message_us(link, call.sent_bytes) / call.microseconds - 1;
}

std::string percent(double share) { return fmt::format("{:+.0f} %", 100 * share); }

std::string size_text(std::int64_t bytes) {
  constexpr std::int64_t kib = 1024;
  return bytes < kib         ? fmt::format("{} B", bytes)
         : bytes < kib * kib ? fmt::format("{} KiB", bytes / kib)
                             : fmt::format("{} MiB", bytes / (kib * kib));
}

const std::string& readme() {
  static const std::string text =
      config::read_text_file(test::source_dir() + "/configs/links/README.md");
  return text;
}

void check_line(const std::string& line) {
  INFO("not in configs/links/README.md: " << line);
  CHECK(readme().find("\n" + line + "\n") != std::string::npos);
}

/// Median and the two extremes over all sizes.
std::string spread(const LinkConfig& link, const std::vector<Call>& calls) {
  std::vector<double> deviations;
  for (const Call& call : calls) {
    deviations.push_back(deviation(link, call));
  }
  const auto [low, high] = std::minmax_element(deviations.begin(), deviations.end());
  return fmt::format("{}, {} .. {}", percent(median(deviations)), percent(*low), percent(*high));
}

}  // namespace

TEST_CASE("presets of links that NCCL drives are the two ends of what was measured") {
  for (const Pair& pair : pairs) {
    if (pair.system == std::string("h200_sxm")) {
      continue;  // its link's presets are the H100's
    }
    CAPTURE(pair.name);
    const std::vector<Call> calls = calls_of(pair.system, "alltoall");
    std::vector<double> floor;
    for (const Call& call : calls) {
      if (call.sent_bytes <= small_message) {
        floor.push_back(call.microseconds);
      }
    }
    REQUIRE(floor.size() == 4);
    const Call& largest = calls.back();
    CHECK(largest.sent_bytes == std::int64_t{256} << 20);
    const double overhead = median(floor);
    const LinkConfig link = preset(pair.nccl);
    CHECK(link.latency.value() == 0);
    CHECK(link.message_overhead.value() * 1e6 == Approx(overhead).epsilon(rounding));
    CHECK(link.bandwidth.value() / 1e6 ==
          Approx(static_cast<double>(largest.sent_bytes) / (largest.microseconds - overhead))
              .epsilon(rounding));
  }
}

TEST_CASE("the README of the links holds the model beside NCCL's send and receive by size") {
  for (const Pair& pair : pairs) {
    const std::vector<Call> sends = calls_of(pair.system, "alltoall");
    const LinkConfig link = preset(pair.link);
    const LinkConfig nccl = preset(pair.nccl);
    for (std::size_t i = 0; i < sends.size(); i += 4) {
      const Call& send = sends[i];
      check_line(fmt::format("| {} | {} | {:.2f} | {:.2f} | {} | {:.2f} | {} |", pair.name,
                             size_text(send.sent_bytes), send.microseconds,
                             message_us(nccl, send.sent_bytes), percent(deviation(nccl, send)),
                             message_us(link, send.sent_bytes), percent(deviation(link, send))));
    }
  }
}

TEST_CASE("the README of the links holds how far off the model is over all of NCCL's sizes") {
  for (const Pair& pair : pairs) {
    const LinkConfig link = preset(pair.link);
    const LinkConfig nccl = preset(pair.nccl);
    const std::vector<Call> sends = calls_of(pair.system, "alltoall");
    const std::vector<Call> gathers = calls_of(pair.system, "all_gather");
    check_line(fmt::format("| {} | `{}` | {} | {} | `{}` | {} |", pair.name, pair.nccl,
                           spread(nccl, sends), spread(nccl, gathers), pair.link,
                           spread(link, sends)));
    for (const Call& send : sends) {  // hardware alone is faster than any call of NCCL
      CHECK(deviation(link, send) < 0);
    }
  }
}

TEST_CASE("the README of the links holds the model beside verbs between main memories") {
  // ib_send_lat, RC, median over the MTUs of the thesis' table (configs/links/ib-edr-host-memory).
  const std::vector<std::pair<std::int64_t, double>> measured{
      {32, 0.82}, {1024, 1.58}, {4096, 2.26}, {32768, 4.57}};
  const LinkConfig link = preset("ib-edr-host-memory");
  for (const auto& [bytes, microseconds] : measured) {
    const double model = message_us(link, bytes);
    check_line(fmt::format("| {} | {:.2f} | {:.2f} | {} |", size_text(bytes), microseconds, model,
                           percent(model / microseconds - 1)));
    if (bytes >= 4096) {
      CHECK(model == Approx(microseconds).epsilon(0.005));
    }
  }
}

}  // namespace qfs::test
