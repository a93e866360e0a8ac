// Where a device's weights and caches lie, and that a launch's streams are its work and nothing
// else.
#include "hardware/device/memory_layout.hpp"

#include <algorithm>
#include <vector>

#include "hardware/memory/dram/address_map.hpp"
#include "system/placement.hpp"
#include "system/system_config.hpp"
#include "tests/dram/dram_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {
namespace {

constexpr std::int64_t row = 256;  // bytes of a head's row in bf16
constexpr std::int64_t heads = 8;

struct Case {
  std::vector<std::size_t> contexts{1000, 1000, 1000};
  KvBanks kv_banks = KvBanks::other;
  const char* preset = "hbm3-6400";
  std::size_t parts = 1;
};

/// Two tokens of Qwen3-0.6B on two devices; of the cache device, unless it says otherwise.
class Placed {
 public:
  explicit Placed(const Case& c) : config_(config_of(c)), program_(program_of(config_)) {
    device_.dram = load_dram_named(c.preset);
    device_.dram_parts = c.parts;
    device_.kv_banks = c.kv_banks;
  }

  [[nodiscard]] MemoryLayout layout(DeviceId device = DeviceId(1)) const {
    return MemoryLayout(program_, device, device_);
  }
  /// The launch of all requests' operations of a kind, layer and step.
  [[nodiscard]] std::vector<const Operation*> launch(OpKind kind, std::size_t layer,
                                                     std::size_t step = 0) const {
    std::vector<const Operation*> members;
    for (const Operation& operation : program_.graph.operations) {
      if (operation.kind == kind && operation.layer == LayerId(layer) &&
          operation.step == StepId(step)) {
        members.push_back(&operation);
      }
    }
    return members;
  }
  [[nodiscard]] Work work(const std::vector<const Operation*>& members) const {
    return work_of(program_.rules, members);
  }
  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const dram::DramConfig& dram() const { return *device_.dram; }

 private:
  static SystemConfig config_of(const Case& c) {
    SystemConfig config;
    config.rules = {test::qwen3_0_6b(), {}, Accounting::full, {}};
    config.graph = {.block = BlockOrder::early_q, .contexts = c.contexts, .tokens = 2};
    return config;
  }
  static Program program_of(const SystemConfig& config) {
    return make_program(make_graph(config.rules.shape, config.graph), config.rules,
                        layout_of(config), config.graph.contexts.size());
  }

  SystemConfig config_;
  Program program_;
  DeviceConfig device_;
};

/// [first, past) of what a stream touches, of each half.
std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_of(const Stream& stream) {
  const auto bytes = static_cast<std::uint64_t>(stream.length.value());
  const std::uint64_t halves = stream.alternates ? 2 : 1;
  const std::uint64_t each = bytes / halves;
  const std::uint64_t reach =
      stream.stride == 0 ? each : (each / stream.piece - 1) * stream.stride + stream.piece;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges{{stream.base, stream.base + reach}};
  if (stream.alternates) {
    ranges.emplace_back(stream.second, stream.second + reach);
  }
  return ranges;
}

}  // namespace

TEST_CASE("a launch's streams move the bytes of its work, whatever it is") {
  const Placed placed(Case{});
  MemoryLayout cache = placed.layout();
  MemoryLayout compute = placed.layout(DeviceId(0));
  for (std::size_t layer = 0; layer < 28; ++layer) {
    for (const OpKind kind :
         {OpKind::q, OpKind::kv, OpKind::ffn, OpKind::o, OpKind::sweep, OpKind::append}) {
      const auto members = placed.launch(kind, layer);
      REQUIRE(members.size() == 3);
      const Work work = placed.work(members);
      const bool cached = kind == OpKind::sweep || kind == OpKind::append;
      const std::vector<Stream> streams = (cached ? cache : compute).streams_of(members, work);
      CHECK(length_of(streams) == work.memory_bytes());
    }
  }
}

TEST_CASE("an append of equal requests is one stream of rows, each right behind those swept") {
  const Placed placed(Case{});
  MemoryLayout layout = placed.layout();
  for (const std::size_t step : {0, 1}) {
    const auto sweep = placed.launch(OpKind::sweep, 3, step);
    const auto append = placed.launch(OpKind::append, 3, step);
    Work rows;
    rows.kv_read_bytes = placed.work(sweep).kv_read_bytes;
    const Stream swept = layout.streams_of(sweep, rows).front();
    const std::vector<Stream> written = layout.streams_of(append, placed.work(append));
    REQUIRE(written.size() == 1);
    const auto room = static_cast<std::uint64_t>(1002 * row);  // of a head
    CHECK(written[0].direction == AccessDirection::write);
    CHECK(written[0].length == Bytes(3 * 2 * heads * row));
    CHECK(written[0].piece == row);
    CHECK(written[0].stride == room);
    CHECK(written[0].base == swept.base + (1000 + step) * row);
    CHECK(written[0].second == swept.second + (1000 + step) * row);
  }
}

TEST_CASE("requests with different caches are appended to one by one") {
  const Placed placed(Case{.contexts = {1000, 500, 500}});
  MemoryLayout layout = placed.layout();
  const auto append = placed.launch(OpKind::append, 0);
  const std::vector<Stream> written = layout.streams_of(append, placed.work(append));
  REQUIRE(written.size() == 2);  // the last two are alike
  CHECK(written[0].stride == 1002 * row);
  CHECK(written[1].stride == 502 * row);
  CHECK(written[1].base - written[0].base == (1002 * heads - 500) * row);
}

TEST_CASE("what lies in the memory lies apart") {
  const Placed placed(Case{});
  MemoryLayout layout = placed.layout();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
  for (std::size_t layer = 0; layer < 28; ++layer) {
    const auto members = placed.launch(OpKind::append, layer, 1);
    for (const Stream& stream : layout.streams_of(members, placed.work(members))) {
      for (const auto& range : ranges_of(stream)) {
        taken.push_back(range);
      }
    }
  }
  std::sort(taken.begin(), taken.end());
  for (std::size_t i = 1; i < taken.size(); ++i) {
    CHECK(taken[i - 1].second <= taken[i].first);
  }
  CHECK(taken.size() == 2 * 28);
}

TEST_CASE("weights lie apart and are found again") {
  const Placed placed(Case{});
  MemoryLayout layout = placed.layout(DeviceId(0));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
  for (const std::size_t layer : {0, 1, 27}) {
    for (const OpKind kind : {OpKind::q, OpKind::kv, OpKind::o, OpKind::ffn}) {
      const auto members = placed.launch(kind, layer);
      const Stream first = layout.streams_of(members, placed.work(members)).front();
      CHECK(first.base == layout.streams_of(members, placed.work(members)).front().base);
      taken.push_back(ranges_of(first).front());
    }
  }
  std::sort(taken.begin(), taken.end());
  for (std::size_t i = 1; i < taken.size(); ++i) {
    CHECK(taken[i - 1].second <= taken[i].first);
  }
}

TEST_CASE("layers lie alike in their banks") {
  for (const std::size_t parts : {1, 5}) {
    const Placed placed(Case{.contexts = {1001, 77}, .parts = parts});
    MemoryLayout layout = placed.layout();
    const auto swept = [&](std::size_t layer) {
      const auto members = placed.launch(OpKind::sweep, layer);
      return layout.streams_of(members, placed.work(members)).front();
    };
    for (const std::size_t layer : {1, 2, 27}) {
      CHECK((swept(layer).base - swept(0).base) % (row_distance(placed.dram()) * parts) == 0);
      CHECK((swept(layer).second - swept(0).second) % (row_distance(placed.dram()) * parts) == 0);
      CHECK(swept(layer).base > swept(layer - 1).base);
    }
  }
}

TEST_CASE("V lies in other rows of the same banks as K, or in other banks, as asked") {
  for (const char* preset : {"hbm3-6400", "ddr4-3200", "ddr5-4800", "lpddr5-6400", "gddr6-14000"}) {
    for (const std::size_t parts : {1, 5}) {
      for (const KvBanks kv_banks : {KvBanks::same, KvBanks::other}) {
        CAPTURE(preset, parts, name_of(kv_banks));
        const Placed placed(Case{.kv_banks = kv_banks, .preset = preset, .parts = parts});
        MemoryLayout layout = placed.layout();
        const auto members = placed.launch(OpKind::sweep, 5);
        const Stream sweep = layout.streams_of(members, placed.work(members)).front();
        REQUIRE(sweep.alternates);
        const std::uint64_t burst = placed.dram().organisation.burst_bytes();
        const dram::AddressMap map(placed.dram());
        const std::uint64_t k = sweep.base / parts / burst;
        const std::uint64_t v = sweep.second / parts / burst;
        CHECK(map.channel(k) == map.channel(v));
        CHECK((map.place(k).bank == map.place(v).bank) == (kv_banks == KvBanks::same));
        CHECK(map.place(k).row != map.place(v).row);
      }
    }
  }
}

}  // namespace qfs
