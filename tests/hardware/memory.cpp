// The memory alone: one driver starts streams at set times and notes when each ends.
#include "hardware/memory/memory.hpp"

#include <tlm_utils/simple_target_socket.h>

#include <cmath>
#include <memory>
#include <systemc>
#include <vector>

#include "hardware/memory/ideal_memory.hpp"
#include "hardware/memory/tlm_memory.hpp"
#include "hardware/simulated_time.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

/// Starts a stream at a time; ends when it has moved.
struct Access {
  std::int64_t start_fs;
  std::int64_t bytes;
  std::int64_t end_fs = -1;
};

/// One process per access.
class Driver : public sc_core::sc_module {
 public:
  Driver(sc_core::sc_module_name name, Memory& memory, std::vector<Access>& accesses)
      : sc_module(name) {
    for (Access& access : accesses) {
      sc_core::sc_spawn([&memory, &access] {
        sc_core::wait(to_sc_time(Femtoseconds(access.start_fs)));
        const auto transfer = memory.start({.length = Bytes(access.bytes)});
        if (!transfer->finished) {
          sc_core::wait(transfer->done);
        }
        access.end_fs = now().value();
      });
    }
  }
};

/// Runs the accesses on an ideal memory of one byte a femtosecond.
std::vector<Access> on_ideal_memory(std::vector<Access> accesses) {
  set_femtosecond_resolution();
  IdealMemory memory("memory", BytesPerSecond(femtoseconds_per_second));
  const Driver driver("driver", memory, accesses);
  sc_core::sc_start();
  return accesses;
}

/// Somebody else's memory: a TLM-2.0 target that takes a fixed time per byte, twenty lines in all.
class FixedRateTarget : public sc_core::sc_module {
 public:
  tlm_utils::simple_target_socket<FixedRateTarget> in_socket;
  std::uint64_t bytes = 0;
  std::uint64_t transactions = 0;
  std::vector<std::uint64_t> addresses;

  explicit FixedRateTarget(sc_core::sc_module_name name) : sc_module(name), in_socket("in_socket") {
    in_socket.register_b_transport(this, &FixedRateTarget::transport);
  }

 private:
  void transport(tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay) {
    bytes += transaction.get_data_length();
    ++transactions;
    addresses.push_back(transaction.get_address());
    delay += to_sc_time(Femtoseconds(transaction.get_data_length()));
    transaction.set_response_status(tlm::TLM_OK_RESPONSE);
  }
};

}  // namespace

TEST_CASE("a lone stream takes bytes over bandwidth, to the femtosecond") {
  const std::vector<Access> done = on_ideal_memory({{5, 1000}});
  CHECK(done[0].end_fs == 1005);
}

TEST_CASE("two streams share, and each is retimed when the other joins and leaves") {
  // 0-100 alone (100 bytes), 100-700 half each (300 bytes), then the first alone for its last 600.
  const std::vector<Access> done = on_ideal_memory({{0, 1000}, {100, 300}});
  CHECK(done[1].end_fs == 700);
  CHECK(done[0].end_fs == 1300);
}

TEST_CASE("streams that end together, and one that begins as another ends") {
  const std::vector<Access> done = on_ideal_memory({{0, 500}, {0, 500}, {1000, 10}, {0, 0}});
  CHECK(done[0].end_fs == 1000);
  CHECK(done[1].end_fs == 1000);
  CHECK(done[2].end_fs == 1010);
  CHECK(done[3].end_fs == 0);
}

TEST_CASE("shared or not, the memory is busy for all bytes: 60 streams") {
  std::vector<Access> accesses;
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < 60; ++i) {
    accesses.push_back({i * 3, 100 + 7 * i % 50});
    bytes += accesses.back().bytes;
  }
  std::int64_t last = 0;
  for (const Access& access : on_ideal_memory(accesses)) {
    CHECK(access.end_fs >= access.start_fs + access.bytes);
    last = std::max(last, access.end_fs);
  }
  CHECK(std::abs(last - bytes) <= 60);  // each completion is rounded to a femtosecond
}

TEST_CASE("an unlimited memory takes no time") {
  set_femtosecond_resolution();
  IdealMemory memory("memory", BytesPerSecond(unlimited));
  std::vector<Access> accesses{{7, std::int64_t{1} << 50U}};
  const Driver driver("driver", memory, accesses);
  sc_core::sc_start();
  CHECK(accesses[0].end_fs == 7);
}

TEST_CASE("somebody else's TLM-2.0 memory behind the adapter") {
  set_femtosecond_resolution();
  TlmMemory memory("memory", Bytes(64));
  FixedRateTarget target("target");
  memory.out_memory.bind(target.in_socket);
  std::vector<Access> accesses{{0, 1000}, {100, 300}, {0, 0}};
  const Driver driver("driver", memory, accesses);
  sc_core::sc_start();
  CHECK(target.bytes == 1300);
  CHECK(target.transactions == 16 + 5);
  CHECK(accesses[0].end_fs == 1300);  // as the ideal memory
  CHECK(std::abs(accesses[1].end_fs - 700) <=
        2 * 64);  // as the ideal memory, but for turns of 64 bytes
  CHECK(accesses[2].end_fs == 0);
}

TEST_CASE("the adapter turns a stride into addresses") {
  set_femtosecond_resolution();
  TlmMemory memory("memory", Bytes(256));
  FixedRateTarget target("target");
  memory.out_memory.bind(target.in_socket);
  sc_core::sc_spawn([&] {
    const auto transfer = memory.start({.base = 1000, .length = Bytes(160), .stride = 4096});
    sc_core::wait(transfer->done);
  });
  sc_core::sc_start();
  CHECK(target.addresses == std::vector<std::uint64_t>{1000, 1000 + 4096, 1000 + 2 * 4096});
  CHECK(target.bytes == 160);
}

}  // namespace qfs
