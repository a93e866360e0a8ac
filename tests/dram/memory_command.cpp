// `qfsim memory` as a user runs it.
#include <nlohmann/json.hpp>
#include <string>

#include "tests/dram/dram_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs {
namespace {

using test::Outcome;

Outcome memory(const std::string& arguments, const std::string& streams = "2>/dev/null") {
  return test::qfsim("memory " + arguments, streams);
}

nlohmann::json json_of(const std::string& arguments) {
  const Outcome outcome = memory(arguments + " --json");
  REQUIRE(outcome.status == 0);
  return nlohmann::json::parse(outcome.text);
}

TEST_CASE("sizes are binary however they are spelt") {
  const nlohmann::json one = json_of("hbm2 --pattern sequential --bytes 1MiB");
  CHECK(one["bytes"] == 1 << 20);
  for (const char* size : {"'1 MB'", "'1 Mi'", "1Mi", "1024KiB", "1048576", "'1048576 B'"}) {
    CHECK(json_of(std::string("hbm2 --pattern sequential --bytes ") + size) == one);
  }
}

TEST_CASE("what is printed is what the model computes") {
  const nlohmann::json json = json_of(
      "ddr5-4800 --pattern alternating --bytes 4MiB --second 64MiB --chunk 8KiB "
      "--tier burst --set controller.read_queue=16");
  dram::Access access;
  access.pattern = dram::Pattern::alternating;
  access.bytes = Bytes(4 << 20);
  access.second_place = Bytes(64 << 20);
  access.chunk = Bytes(8192);
  const dram::Characterisation result =
      dram::characterise(test::with_queue("ddr5-4800", 16), access, dram::Tier::burst);
  const double us = to_microseconds(result.time);
  CHECK(json["time_us"].get<double>() == us);
  CHECK(json["gb_per_s"].get<double>() == Approx((4 << 20) / us / 1e3));
  CHECK(json["share_of_peak"].get<double>() == Approx((4 << 20) / us / 1e3 / 76.8));
  CHECK(json["single_read_ns"].get<double>() == Approx((34 + 34 + 8) / 2.4));
  CHECK(json["refreshes"] == result.counters.refreshes());
  CHECK(json["row_hits"] == result.counters.row_hits());
  CHECK(json["bursts"] == (4 << 20) / 64);
}

TEST_CASE("the stream tier is the default, and close to the burst tier") {
  const std::string question = "hbm3-6400 --pattern sequential --bytes 4MiB";
  const nlohmann::json stream = json_of(question);
  const nlohmann::json burst = json_of(question + " --tier burst");
  CHECK(stream["tier"] == "stream");
  CHECK(stream == json_of(question + " --tier stream"));
  CHECK(stream["time_us"].get<double>() == Approx(burst["time_us"].get<double>()).epsilon(0.01));
  CHECK(stream["activates"].get<double>() ==
        Approx(burst["activates"].get<double>()).epsilon(0.05));
  for (const char* same : {"single_read_ns", "bursts", "capacity_bytes", "peak_gb_per_s"}) {
    CHECK(stream[same] == burst[same]);
  }
  CHECK(stream["capacity_bytes"] == std::int64_t{16} << 30U);
}

TEST_CASE("what lies beyond the capacity is said to wrap round") {
  const char* const wraps = "wrap round";
  for (const auto& [arguments, is_said] :
       {std::pair<const char*, bool>{"--pattern sequential --bytes 4GiB", false},
        {"--pattern sequential --bytes 4097MiB", true},
        {"--pattern stride --every 4 --bytes 1025MiB", true},
        {"--pattern alternating --bytes 1MiB --second 4095MiB", false},
        {"--pattern alternating --bytes 4MiB --second 4095MiB", true}}) {
    const Outcome outcome = memory(std::string("hbm2 --set organisation.rows=16384 ") + arguments);
    INFO(outcome.text);
    CHECK(outcome.status == 0);
    CHECK((outcome.text.find(wraps) != std::string::npos) == is_said);
  }
}

TEST_CASE("the ideal tier divides by the peak") {
  const nlohmann::json json = json_of("hbm2 --pattern sequential --bytes 1TiB --tier ideal");
  CHECK(json["time_us"].get<double>() == Approx(std::exp2(40) / 256e3));
  CHECK(json["share_of_peak"].get<double>() == Approx(1));
  CHECK_FALSE(json.contains("refreshes"));
}

TEST_CASE("a table for people") {
  const Outcome outcome = memory("ddr4-3200 --pattern stride --bytes 64KiB");
  CHECK(outcome.status == 0);
  for (const char* text : {"ddr4-3200, stride reads", "share of peak", "of 51.2 GB/s",
                           "single read    30.0 ns", "row hits", "refreshes"}) {
    CHECK(outcome.text.find(text) != std::string::npos);
  }
  CHECK(memory("--help").status == 0);
}

TEST_CASE("a wrong question is refused in one line") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "PRESET is missing"},
      {"hbm2 --bytes 1Mi", "--pattern is missing"},
      {"hbm2 --pattern sequential", "--bytes is missing"},
      {"hbm9 --pattern sequential --bytes 1Mi", "'hbm9' is no preset"},
      {"hbm2 --pattern random --bytes 1Mi", "--pattern: 'random'"},
      {"hbm2 --pattern sequential --bytes 0", "--bytes: '0'"},
      {"hbm2 --pattern sequential --bytes -1", "--bytes: '-1'"},
      {"hbm2 --pattern sequential --bytes 1.5Mi", "--bytes: '1.5Mi'"},
      {"hbm2 --pattern sequential --bytes 1Mb", "--bytes: '1Mb'"},
      {"hbm2 --pattern sequential --bytes 1TiB --tier burst", "--bytes: '1TiB'"},
      {"hbm2 --pattern sequential --bytes 5TiB", "--bytes: '5TiB'"},
      {"hbm2 --pattern sequential --bytes 1Mi --tier strem", "did you mean 'stream'?"},
      {"hbm2 --pattern alternating --bytes 1Mi --second 16GiB", "--second: 17179869184 bytes"},
      {"hbm2 --pattern sequential --bytes 99999999999999999999", "--bytes"},
      {"hbm2 --pattern sequential --bytes 1Mi --every 2", "--every: given"},
      {"hbm2 --pattern stride --bytes 1Mi --every 0", "--every: '0'"},
      {"hbm2 --pattern sequential --bytes 1Mi --set timing.nope=1", "timing.nope"},
      {"hbm2 --pattern sequential --bytes 1Mi --fast", "--fast"}};
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = memory(arguments, "2>&1 >/dev/null");
    INFO(arguments << ": " << outcome.text);
    CHECK(outcome.status == 2);
    CHECK(outcome.text.find(message) != std::string::npos);
    CHECK(std::ranges::count(outcome.text, '\n') == 1);
  }
}

}  // namespace
}  // namespace qfs
