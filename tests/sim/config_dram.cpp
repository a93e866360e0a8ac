// Devices whose memory is DRAM: what follows from it, and the mistakes that can be made.
#include <filesystem>
#include <string>
#include <vector>

#include "sim/config/dram_load.hpp"
#include "tests/sim/config_support.hpp"
#include "tests/support/catch.hpp"

namespace qfs::test {
namespace {

namespace fs = std::filesystem;

RunConfig load(const std::vector<std::string>& overrides) {
  const ConfigFolder folder;
  return load_run_config(folder.write("run.yaml", run_text()), overrides);
}

std::string complaint(const std::vector<std::string>& overrides) {
  const ConfigFolder folder;
  return folder.complaint(folder.write("run.yaml", run_text()), overrides);
}

// Without a bandwidth of its own, as run_text() gives it.
const std::string hbm = "cache_device={memory: stream, dram: hbm3-6400, dram_parts: 5}";

}  // namespace

TEST_CASE("a device's DRAM gives its peak bandwidth and capacity") {
  const RunConfig run = load({hbm});
  const DeviceConfig& device = run.cache_device;
  CHECK(device.memory == MemoryTier::stream);
  REQUIRE(device.dram);
  CHECK(device.dram->preset == "hbm3-6400");
  CHECK(device.bandwidth.value() == Approx(5 * 819.2e9).epsilon(1e-12));
  CHECK(device.capacity == Bytes(5 * (std::int64_t{16} << 30)));
  CHECK(device.kv_banks == KvBanks::other);
  CHECK(device.kv_chunk == Bytes(4096));
  CHECK(load({hbm, "cache_device.capacity=unlimited"}).cache_device.capacity == std::nullopt);
}

TEST_CASE("a preset's capacity stays beside its DRAM") {
  const DeviceConfig device = load({"cache_device=lpddr5x-512bit"}).cache_device;
  REQUIRE(device.dram);
  CHECK(device.capacity == Bytes(128'000'000'000));
  CHECK(static_cast<std::int64_t>(device.dram_parts) * device.dram->organisation.capacity() <
        *device.capacity);
}

TEST_CASE("an ideal memory can have a DRAM's peak, and none has neither") {
  const RunConfig run = load({"cache_device={memory: ideal, dram: ddr4-3200}"});
  CHECK(run.cache_device.bandwidth.value() == Approx(51.2e9).epsilon(1e-12));
  CHECK_FALSE(load({"cache_device.dram=none"}).cache_device.dram);
}

TEST_CASE("single keys of a preset are replaced, its other numbers stay") {
  const RunConfig run = load({hbm, "cache_device.dram.controller.read_queue=64"});
  dram::DramConfig expected = load_dram_named("hbm3-6400");
  expected.controller.read_queue = 64;
  CHECK(to_yaml(*run.cache_device.dram) == to_yaml(expected));
}

TEST_CASE("a DRAM's file is found beside the run file") {
  const ConfigFolder folder;
  folder.write("own.yaml", to_yaml(load_dram_named("lpddr5-6400", {"timing.rcd_read=16"})));
  const fs::path file = folder.write("run.yaml", run_text());
  const RunConfig run = load_run_config(file, {"cache_device={memory: burst, dram: own.yaml}"});
  CHECK(run.cache_device.dram->timing.rcd_read == 16);
  CHECK(run.cache_device.memory == MemoryTier::burst);
}

TEST_CASE("a resolved configuration with DRAM needs no preset and says the same") {
  const RunConfig run = load({hbm, "cache_device.kv_banks=same", "cache_device.kv_chunk=64 KiB"});
  const std::string resolved = to_yaml(run);
  const ConfigFolder folder;
  const RunConfig again = load_run_config(folder.write("resolved.yaml", resolved));
  CHECK(to_yaml(again) == resolved);
  CHECK(again.cache_device.dram->preset == "hbm3-6400");
}

TEST_CASE("mistakes about DRAM are named where they are") {
  check_message(
      complaint({"cache_device={memory: stream}"}),
      "--set cache_device={memory: stream}: cache_device.memory: 'stream', but no dram is "
      "given; legal: ideal; or a dram beside it: ddr4-2400, ",
      "lpddr5x-8533");
  check_message(
      complaint({"cache_device={memory: stream, dram: hbm3-6400, bandwidth: 1 TB/s}"}),
      "--set cache_device=", "'1 TB/s', but dram says it; legal: nothing here; or no dram");
  check_message(complaint({"cache_device={memory: stream, dram: hbm3-640}"}),
                "--set cache_device=", "did you mean 'hbm3-6400'?");
  check_message(complaint({hbm, "cache_device.dram.timing.rcd=3"}),
                "--set cache_device.dram.timing.rcd=3: cache_device.dram.timing.rcd: unknown key",
                "");
  check_message(complaint({hbm, "cache_device.dram.timing.ras=100"}),
                "--set cache_device.dram.timing.ras=100: cache_device.dram.timing.", "timing.ras");
  check_message(complaint({hbm, "cache_device.dram.organisation.channels=12"}),
                "--set cache_device.dram.organisation.channels=12: "
                "cache_device.dram.organisation.channels: '12'; legal: a power of two",
                "");
  check_message(
      complaint({hbm, "cache_device.kv_chunk=1 B"}),
      "--set cache_device.kv_chunk=1 B: cache_device.kv_chunk: '1 B'; legal: from 64 B to ",
      "1 GiB");
}

TEST_CASE("what does not fit a DRAM is refused as anywhere else") {
  check_message(
      complaint({"cache_device={memory: stream, dram: lpddr5-6400}", "workload.contexts=[65536]"}),
      "--set cache_device={memory: stream, dram: lpddr5-6400}: cache_device.capacity: "
      "4 GiB; legal: at least 7.001 GiB for the KV cache at context 65536",
      ", batch 1, tokens 4");
}

}  // namespace qfs::test
