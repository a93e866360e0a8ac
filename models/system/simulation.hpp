// The system under simulation, built from its configuration, and one simulation of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

#include "decode/device_numerics.hpp"
#include "decode/inputs.hpp"
#include "decode/numeric_report.hpp"
#include "decode/recompute.hpp"
#include "hardware/call_book.hpp"
#include "hardware/device/device.hpp"
#include "hardware/execution_table.hpp"
#include "hardware/instant.hpp"
#include "hardware/link/link.hpp"
#include "hardware/memory/memory.hpp"
#include "hardware/program.hpp"
#include "hardware/protocol/call_watch.hpp"
#include "hardware/protocol/delivery.hpp"
#include "hardware/protocol/timers.hpp"
#include "system/layout.hpp"
#include "system/system_config.hpp"

namespace qfs {

/// The one builder: every module of the system and every binding between them.
class System : public sc_core::sc_module {
 public:
  /// `inputs` null: timing only. All references outlive it. Systems that are simulated together
  /// share the `common` instant and nothing else; one alone has its own.
  System(sc_core::sc_module_name name, const SystemConfig& config, const Layout& layout,
         const Program& program, const Inputs* inputs, std::function<void()> progress,
         Instant* common = nullptr);

  [[nodiscard]] const ExecutionTable& table() const { return table_; }
  /// The table, once the simulation is over.
  ExecutionTable take_table();
  [[nodiscard]] const NumericLog& log() const { return log_; }
  /// A simulation that runs dry early is our own mistake or a fault's doing; either way it must not
  /// pass for a result. Throws RunError.
  void require_complete() const;

 private:
  void build_call_watch();
  void build_device(DeviceId id);
  void build_port(const PortRole& port);
  MessageSink& build_delivery(const std::string& name, LinkDirection& link,
                              const std::vector<DeviceId>& to);
  [[nodiscard]] bool alive(DeviceId id) const;

  const SystemConfig& config_;
  const Layout& layout_;
  const Program& program_;
  const Inputs* inputs_;
  std::function<void()> progress_;
  ExecutionTable table_;
  NumericLog log_;
  CallBook calls_;
  ProgramPlaces places_;
  std::unique_ptr<Instant> own_instant_;  // null: there is a common one
  Instant& instant_;
  std::size_t residents_;  // requests still decoding
  std::vector<std::unique_ptr<DeviceNumerics>> numerics_;
  std::vector<std::unique_ptr<Memory>> memories_;
  std::vector<std::unique_ptr<MemoryLayout>>
      memory_layouts_;  // null: its memory knows no addresses
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<LinkDirection>> links_;
  // Only in runs with disturbances:
  std::vector<Outages> outages_;  // by pool instance
  std::unique_ptr<Timers> timers_;
  std::unique_ptr<CallWatch> watch_;
  std::vector<std::unique_ptr<Delivery>> deliveries_;
};

/// What a simulation needs and gives.
struct NumericRequest {
  const Inputs& inputs;
  bool check = true;
};
struct Progress {
  std::function<void()> launched = {};  // after each launch
  std::function<void()> checked = {};   // after each operation checked
};
struct SimulationResult {
  ExecutionTable table;
  std::optional<NumericReport> numerics;
  /// Of the bits of every operation's output, by operation id (digest_of); 0 without numerics.
  std::uint64_t digest = 0;
};

/// FNV-1a, 64 bits, over the bytes of all outputs in the order of their operations' ids: equal only
/// where every value is equal bit for bit, whenever it was made.
std::uint64_t digest_of(const NumericLog& log);

/// Simulates all steps. SystemC allows one simulation in a process: call it, or simulate_all, once.
/// Throws RunError if the simulation stops before every operation has been executed.
SimulationResult simulate(const SystemConfig& config, const NumericRequest* numerics = nullptr,
                          const Progress& progress = {});

/// The times of several systems, side by side in one simulation: each has the table that it has
/// alone, to the last row. Throws what any of them throws. Once in a process, with whose end the
/// tables go: to take everything apart before takes an eighth of the time of it all.
std::vector<const ExecutionTable*> simulate_all(std::span<const SystemConfig> configs);

/// About how many operations a simulation has: what its time and memory go with.
std::size_t rough_operations(const SystemConfig& config);

}  // namespace qfs
