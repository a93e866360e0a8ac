// Presets of links and devices: each number says where it comes from, and the file is what it says.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "sim/config/load.hpp"
#include "sim/config/presets.hpp"
#include "sim/config/tree.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {
namespace {

const std::filesystem::path run_file = test::source_dir() + "/configs/runs/two-h200.yaml";

std::vector<std::string> lines_of(PresetKind kind, const std::string& name) {
  std::istringstream text(config::read_text_file(preset_file(kind, name, run_file)));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// A number without a source, or with one of no kind that configs/README.md names.
std::string unsourced(const std::vector<std::string>& lines) {
  static const std::regex sourced(R"(\w+: +[^#]+ # (vendor|vendor-like|measured|derived|assumed)"
                                  R"(|not given|within the kernels)\b.*)");
  static const std::regex number(R"(^(?!memory|kernels|last_level_cache|jitter_seed)\w+:)");
  for (const std::string& line : lines) {
    if (std::regex_search(line, number) && !std::regex_match(line, sourced)) {
      return line;
    }
  }
  return "";
}

DeviceConfig device(const std::string& name) {
  return load_run_config(run_file, {"cache_device=" + name}).cache_device;
}

}  // namespace

TEST_CASE("every number of a link's preset names its source, and the preset loads") {
  const std::vector<std::string> names = preset_names(PresetKind::link, run_file);
  CHECK(names.size() >= 21);
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(unsourced(lines_of(PresetKind::link, name)).empty());
    const LinkConfig link = load_run_config(run_file, {"link=" + name}).link;
    CHECK(link.preset == name);
    if (name != "ideal") {  // every real one takes time
      CHECK((link.latency + link.message_overhead).value() > 0);
      CHECK(link.bandwidth.value() < unlimited);
    }
  }
}

TEST_CASE("every number of a device's preset names its source, and those not fitted say so") {
  for (const std::string& name : preset_names(PresetKind::hardware, run_file)) {
    CAPTURE(name);
    const std::vector<std::string> lines = lines_of(PresetKind::hardware, name);
    CHECK(unsourced(lines).empty());
    CHECK(device(name).preset == name);
    std::string head;
    for (const std::string& line : lines) {
      head += line.front() == '#' ? line : "";
    }
    const bool is_fitted =
        name == "ideal" || std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
          return line.rfind("kernels:", 0) == 0;
        });
    CHECK(is_fitted == (head.find("NOT FITTED") == std::string::npos));
  }
}

TEST_CASE("devices made of DRAM presets have the bandwidth that their vendor states") {
  const std::pair<const char*, double> stated[] = {
      {"epyc-9654", 460.8}, {"gb10", 273}, {"m3-ultra", 819.2}, {"lpddr5x-512bit", 8 * 68.3}};
  for (const auto& [name, gb_per_s] : stated) {
    CAPTURE(name);
    const DeviceConfig config = device(name);
    CHECK(config.memory == MemoryTier::stream);
    REQUIRE(config.dram);
    // As vendors round it.
    CHECK(config.bandwidth.value() / 1e9 == Approx(gb_per_s).epsilon(1e-3));
  }
}

TEST_CASE("devices that compute in memory are so many times their chip") {
  const DeviceConfig aim = device("gddr6-aim-16");
  CHECK(aim.bandwidth.value() == Approx(16 * 512e9));
  CHECK(aim.capacity == Bytes(std::int64_t{16} << 30));
  CHECK(aim.mac_rate.value() == Approx(16 * 1e12 / 2));  // 1 TFLOP/s
  const DeviceConfig pim = device("hbm2-pim-5");
  CHECK(pim.bandwidth.value() == Approx(5 * 4 * 256e9));
  CHECK(pim.mac_rate.value() == Approx(5 * 1.2e12 / 2));
  const DeviceConfig attacc = device("hbm3-pim-attacc-5");
  CHECK(attacc.bandwidth.value() == Approx(5 * 9 * 670.4e9).epsilon(2e-3));  // of three digits
}

}  // namespace qfs::test
