// A device's memory made of DRAM, under the kernel: a model of its timing (dram/burst_memory.hpp,
// dram/stream_memory.hpp) that is run as far as simulated time has come.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <systemc>
#include <vector>

#include "base/units.hpp"
#include "hardware/memory/dram/config.hpp"
#include "hardware/memory/dram/transaction.hpp"
#include "hardware/memory/memory.hpp"

namespace qfs {

/// What one of `parts` equal memories sees of a stream that is spread over them burst by burst: an
/// equal share, rounded up to whole bursts (of a strided one, to whole pieces), from where a burst
/// of every channel begins (of a strided one, any burst).
dram::Transaction share_of(const Stream& stream, std::size_t parts, const dram::DramConfig& part);

/// `Model` is dram::BurstMemory or dram::StreamMemory. All parts do the same at the same time, so
/// one is simulated. Launches in flight take turns, burst by burst.
template <class Model>
class DramMemory : public sc_core::sc_module, public Memory {
 public:
  /// parts >= 1.
  DramMemory(sc_core::sc_module_name name, const dram::DramConfig& part, std::size_t parts);

  using Memory::start;
  std::shared_ptr<Transfer> start(std::span<const Stream> streams) override;
  [[nodiscard]] std::optional<dram::Counters> counters() const override;

 private:
  struct Launch {
    std::vector<std::size_t> transactions;  // of the model
    std::size_t turn = 0;                   // its stream in the model
    std::shared_ptr<Transfer> transfer;
  };
  void look();
  void look_again();
  [[nodiscard]] std::optional<Femtoseconds> end_of(const Launch& launch) const;
  std::size_t take_turn();

  Model model_;
  std::size_t parts_;
  std::vector<Launch> in_flight_;
  std::vector<bool> turn_taken_;
  sc_core::sc_event ev_look_;
};

}  // namespace qfs
