// A device executes operations: one launch at a time, on its own data, at its own cost. What needs
// no launch runs beside that: writes of new cache rows (appends), and what is fused into the launch
// of its consumer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <systemc>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "decode/device_numerics.hpp"
#include "decode/recompute.hpp"
#include "hardware/call_book.hpp"
#include "hardware/config.hpp"
#include "hardware/device/batch_queue.hpp"
#include "hardware/device/errands.hpp"
#include "hardware/device/memory_layout.hpp"
#include "hardware/device/policy.hpp"
#include "hardware/device/prefetcher.hpp"
#include "hardware/device/program_places.hpp"
#include "hardware/disturbances.hpp"
#include "hardware/execution_table.hpp"
#include "hardware/instant.hpp"
#include "hardware/link/link.hpp"
#include "hardware/memory/memory.hpp"
#include "hardware/program.hpp"
#include "hardware/protocol/call_watch.hpp"
#include "hardware/protocol/outages.hpp"
#include "hardware/protocol/stall_source.hpp"

namespace qfs {

/// The numeric side, where there is one.
struct DeviceKernels {
  DeviceNumerics* numerics = nullptr;  // none: timing only
  NumericLog* log = nullptr;           // every output is noted here for the checks
};

/// Its memory, and where what it holds lies there; without a layout nobody asks for addresses.
struct DeviceMemory {
  Memory& memory;
  MemoryLayout* layout = nullptr;
};

/// What all devices of a system share.
struct DeviceContext {
  const Program& program;
  const ProgramPlaces& places;
  ExecutionTable& table;
  CallBook& calls;
  Instant& instant;
  std::size_t& residents;  // requests still decoding
  std::size_t devices = 1;
  std::function<void()> progress = {};  // called after each launch
  const Disturbances* disturbances = nullptr;
  CallWatch* watch = nullptr;  // where calls have a time-out
};

class Device : public sc_core::sc_module, public MessageSink {
 public:
  /// The way to each other device, by DeviceId; the own place stays unbound.
  sc_core::sc_vector<sc_core::sc_port<MessageSink, 1, sc_core::SC_ZERO_OR_MORE_BOUND>> out_device;

  /// Adds its resources to the table: `name`, `name`.writes, if it prefetches `name`.staging, and
  /// if its launches wait for more to join `name`.windows.
  Device(sc_core::sc_module_name name, DeviceId id, const DeviceConfig& config,
         const DevicePolicy& policy, const DeviceMemory& memory, const DeviceContext& context,
         DeviceKernels kernels);

  /// A message has arrived.
  void put(std::shared_ptr<Message> message) override;
  /// Sends values that this device has made to an instance that gets their call anew.
  void send_again(DeviceId to, const std::vector<MessageItem>& values, int attempt);

 private:
  /// Operations that are ready, and when to look at them.
  struct Lane {
    BatchQueue queue;
    sc_core::sc_event ev_ready;
  };

  void start_of_simulation() override;
  void execute();
  void look_beside();
  void turn_beside();
  void wait_for_due(Lane& lane);
  void stand_still();
  void die();

  void take_input(OpId operation, const Dependency& input);
  void add_ready(const Operation& operation);
  void note_ready(const Operation& operation);
  Lane& lane_of(const Operation& operation) {
    return takes_executor(operation.kind) ? launches_ : beside_;
  }
  void run(const Batch& batch, RowId row);
  void end(const Batch& batch, RowId row, const Outputs& outputs);
  void last_through_outages(RowId row);
  Outputs run_sweep(const Batch& batch, RowId row);
  void stage();
  Row& begin_copy(const StagedBlock& block);
  void fetch_tail(const Batch& batch, const Row& sweep, Bytes tail);
  using Members = std::span<const Operation* const>;
  std::shared_ptr<Transfer> start_streams(Members members, const Work& work);
  void wait_for_work(Members members, const Work& work);
  void wait_for_rows(Members members, Bytes kv_read);
  void begin_beside(const Batch& batch);
  void spend_beside(const Batch& batch, const Outputs& outputs);

  static Row blank_row(const Batch& batch, std::size_t resource);
  void note_window(const Batch& batch);
  RowId begin_row(const Batch& batch, std::size_t resource);
  Outputs compute(const Batch& batch);
  void finish(const Batch& batch, RowId row, const Outputs& outputs);
  void keep(const Batch& batch, const Outputs& outputs);
  void send_results(const Batch& batch);
  void note_done(const Operation& operation);
  void note_sent(const Consumer& consumer);
  void send(DeviceId to, std::vector<MessageItem> items, int attempt = 1,
            std::optional<RowId> came_with = {});
  std::vector<MessageItem> unload(const Message& message);
  void pass_on(const Message& message, const std::vector<MessageItem>& items);
  [[nodiscard]] DeviceId next_hop(DeviceId from, OpId consumer) const;
  [[nodiscard]] Row describe(const std::vector<MessageItem>& items,
                             std::optional<RowId> came_with) const;
  [[nodiscard]] bool own(OpId operation) const { return context_.calls.executes(id_, operation); }
  /// Nobody sees any more what becomes of the operation.
  [[nodiscard]] bool over(OpId operation) const {
    return context_.watch != nullptr && context_.watch->over(operation);
  }

  DeviceId id_;
  DeviceConfig config_;
  DeviceMemory memory_;
  DeviceContext context_;
  const Program& program_;
  DeviceKernels kernels_;
  std::size_t executor_;                // resource
  std::size_t writes_;                  // resource
  std::size_t staging_ = 0;             // resource
  std::optional<std::size_t> windows_;  // likewise, where there is a window
  // Of the operations that may be executed here, by place:
  std::vector<std::uint32_t> inputs_come_;
  std::vector<Dependency> inputs_;  // by slot
  std::vector<RowId> row_of_;
  Lane launches_;                // one at a time, in the executor
  Lane beside_;                  // takes no executor slot
  bool asked_for_turn_ = false;  // of what is beside
  Errands errands_;
  std::optional<Prefetcher> prefetcher_;
  bool idle_ = true;
  sc_core::sc_event ev_idle_;
  Seconds append_delay_;
  Outages outages_;
  StallSource launch_stalls_;
  StallSource write_stalls_;
  std::map<OpId, std::vector<float>> rows_to_write_;  // of writes that are ready, in disturbed runs
};

}  // namespace qfs
