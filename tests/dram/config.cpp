// Presets of memories, and what is told about mistakes in them.
#include <bit>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "sim/config/presets.hpp"
#include "tests/dram/dram_support.hpp"
#include "tests/sim/scratch.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

using dram::DramConfig;

std::string mistake(const std::string& preset, const std::vector<std::string>& overrides) {
  try {
    load_dram_named(preset, overrides);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("every shipped memory is known here and has the bandwidth of its name") {
  std::vector<std::string> names(std::begin(test::all_presets), std::end(test::all_presets));
  std::ranges::sort(names);
  CHECK(preset_names(PresetKind::memory) == names);
  const std::pair<const char*, double> peaks[] = {
      {"ddr4-2400", 38.4},  {"ddr4-3200", 51.2},      {"ddr5-4800", 76.8},
      {"ddr5-5600", 89.6},  {"lpddr5-6400", 51.2},    {"hbm2", 256},
      {"hbm3-6400", 819.2}, {"hbm3-6400-q64", 819.2}, {"hbm3e", 1228.8},
      {"gddr6-14000", 448}, {"lpddr5x-8533", 68.264}};
  for (const auto& [name, peak] : peaks) {
    INFO(name);
    CHECK(peak_bandwidth(load_dram_named(name)).value() / 1e9 == Approx(peak).epsilon(1e-4));
  }
}

TEST_CASE("each number of a shipped memory has its source beside it") {
  for (const char* name : test::all_presets) {
    std::ifstream file(preset_file(PresetKind::memory, name));
    std::string line;
    std::size_t numbers = 0;
    while (std::getline(file, line)) {
      if (line.starts_with("  ")) {
        INFO(name << ": " << line);
        CHECK(line.find("# ") != std::string::npos);
        ++numbers;
      }
    }
    CHECK(numbers > 30);
  }
}

TEST_CASE("a memory's text gives the same memory") {
  const test::Scratch scratch;
  for (const char* name : test::all_presets) {
    const DramConfig config =
        load_dram_named(name, {"controller.refresh=per_bank", "timing.rfc_bank=7"});
    const std::filesystem::path file = scratch / (std::string(name) + ".yaml");
    std::ofstream(file) << to_yaml(config);
    const DramConfig again = load_dram(file);
    CHECK(to_yaml(again) == to_yaml(config));
    CHECK(again.preset == name);
    CHECK(again.timing.clock == config.timing.clock);
    CHECK(again.controller.mapping == config.controller.mapping);
    CHECK(load_dram_named(file.string()).timing.rfc_bank == 7);
  }
}

TEST_CASE("mistakes in a memory are told in one line that names the key") {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"hbm2", "timing.rpp=3", "timing.rpp: unknown key"},
      {"hbm2", "timing.rp=0", "timing.rp: '0'"},
      {"hbm2", "timing.rp=1.5", "timing.rp: '1.5'"},
      {"hbm2", "timing.clock=1", "timing.clock: '1'"},
      {"hbm2", "timing.clock=0 s", "timing.clock: '0 s'"},
      {"hbm2", "timing.clock=null", "timing.clock: missing"},
      {"hbm2", "timing.rc=33", "timing.rc: '33' is shorter than timing.ras"},
      {"hbm2", "timing.ccd_l=1", "timing.ccd_l"},
      {"hbm2", "timing.refi=400", "timing.refi: '400' leaves no time"},
      {"hbm2", "timing.rfc=0", "timing.rfc: 0, but refresh is all_bank"},
      {"hbm2", "organisation.channels=6", "organisation.channels: '6'; legal: a power of two"},
      {"hbm2", "organisation.burst_length=256", "organisation.burst_length: '256' is longer"},
      {"hbm2", "organisation.banks=1024", "organisation.banks: a channel would have"},
      {"hbm2", "controller.mapping=[channel]", "controller.mapping: 'pseudochannel' is not named"},
      {"hbm2", "controller.mapping=[chanel]", "did you mean 'channel'?"},
      {"hbm2", "controller.refresh=per_rank", "controller.refresh: 'per_rank'"},
      {"hbm2", "controller.read_queue=0", "controller.read_queue: '0'"},
      {"hbm2", "controller.write_drain_from=33", "controller.write_drain_from"},
      {"hbm2", "controller.write_drain_to=26", "controller.write_drain_to"},
      {"ddr4-3200", "controller.refresh=per_bank", "timing.rfc_bank: 0, but"},
      {"lpddr5-6400", "timing.activate_within=1", "timing.activate_within"},
      {"hbm5", "timing.rp=3", "'hbm5' is no preset of configs/memory"},
      {"nothing.yaml", "timing.rp=3", "nothing.yaml"}};
  for (const auto& [preset, override_text, message] : cases) {
    const std::string told = mistake(preset, {override_text});
    INFO(told);
    CHECK(told.find(message) != std::string::npos);
    CHECK(told.find('\n') == std::string::npos);
  }
  CHECK(mistake("hbm2", {"timing.refi=400", "controller.refresh=off"}).empty());
}

}  // namespace
}  // namespace qfs
