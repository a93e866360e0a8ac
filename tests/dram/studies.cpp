// What attention does to a memory: the studies of `qfsim memory --study`, against what can be
// counted by hand.
#include "sim/memory/studies.hpp"

#include "tests/dram/dram_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs {
namespace {

using dram::Tier;

}  // namespace

TEST_CASE("lanes a row apart use 4 bytes of each burst, from the channels that rows begin on") {
  for (const char* preset : test::all_presets) {
    CAPTURE(preset);
    const dram::DramConfig config = load_dram_named(preset);
    const Coalescing found = study_coalescing(config, Tier::burst);
    const auto burst = static_cast<double>(config.organisation.burst_bytes());
    CHECK(found.moved.value() == Approx(found.uncoalesced.value() * burst / 4));
    // Under the mapping of the presets channels take turns burst by burst: of those that 256 bytes
    // reach, one is used.
    const double channels = static_cast<double>(config.organisation.channels);
    const double used = std::max(1.0, channels * burst / 256);
    const double most = found.peak.value() * used / channels;
    CHECK(found.moved.value() <= most);
    CHECK(found.coalesced.value() <= found.peak.value());
    constexpr double least_of_peak = 0.8;
    CHECK(found.coalesced.value() >= least_of_peak * found.peak.value());
  }
}

TEST_CASE("an append costs a running sweep no more than its writes with two turns of the bus") {
  for (const char* preset :
       {"ddr4-3200", "ddr5-4800", "lpddr5-6400", "hbm2", "hbm3-6400-q64", "gddr6-14000"}) {
    for (const std::size_t requests : {1, 32}) {
      CAPTURE(preset, requests);
      const dram::DramConfig config = load_dram_named(preset);
      const AppendCost burst = study_append(config, Tier::burst, requests);
      CHECK(burst.written == Bytes(static_cast<std::int64_t>(requests * 16 * 256)));
      CHECK(burst.with_append >= burst.sweep);
      constexpr double turns = 1.6;  // rows closed and opened again, reads that wait meanwhile
      CHECK(burst.with_append - burst.sweep <= turns * burst.write);
      const AppendCost stream = study_append(config, Tier::stream, requests);
      constexpr double tolerance = 0.03;  // issue of the tiers: of anything but a lone long read
      CHECK(stream.with_append.value() == Approx(burst.with_append.value()).epsilon(tolerance));
    }
  }
}

TEST_CASE("the studies are printed, a line for each memory, and mistakes are named") {
  const test::Outcome two = test::qfsim("memory ddr4-3200,hbm2 --study coalescing --tier stream");
  CHECK(two.status == 0);
  CHECK(two.text.find("\n  ddr4-3200  ") != std::string::npos);
  CHECK(two.text.find("\n  hbm2       ") != std::string::npos);
  CHECK(test::qfsim("memory all --study appends").status == 0);
  const test::Outcome bad = test::qfsim("memory hbm2 --study appendz", "2>&1");
  CHECK(bad.status == 2);
  CHECK(bad.text.find("did you mean 'appends'?") != std::string::npos);
  CHECK(test::qfsim("memory hbm2 --study appends --bytes 1MB").status == 2);
  CHECK(test::qfsim("memory hbm2 --study appends --tier ideal").status == 2);
}

}  // namespace qfs
