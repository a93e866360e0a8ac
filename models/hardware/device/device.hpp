// A device executes operations: one launch at a time, on its own data, at its own cost. What needs
// no launch runs beside that: writes of new cache rows (appends), and what is fused into the launch
// of its consumer.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <systemc>
#include <vector>

#include "base/ids.hpp"
#include "base/units.hpp"
#include "decode/device_numerics.hpp"
#include "decode/recompute.hpp"
#include "hardware/call_book.hpp"
#include "hardware/config.hpp"
#include "hardware/device/batch_queue.hpp"
#include "hardware/execution_table.hpp"
#include "hardware/instant.hpp"
#include "hardware/link/link.hpp"
#include "hardware/memory/memory.hpp"
#include "hardware/program.hpp"

namespace qfs {

/// The numeric side, where there is one.
struct DeviceKernels {
  DeviceNumerics* numerics = nullptr;  // none: timing only
  NumericLog* log = nullptr;           // every output is noted here for the checks
};

/// What all devices of a system share.
struct DeviceContext {
  const Program& program;
  ExecutionTable& table;
  CallBook& calls;
  Instant& instant;
  std::size_t& residents;  // requests still decoding
  std::size_t devices = 1;
  std::function<void()> progress = {};  // called after each launch
};

class Device : public sc_core::sc_module, public MessageSink {
 public:
  /// The way to each other device, by DeviceId; the own place stays unbound.
  sc_core::sc_vector<sc_core::sc_port<MessageSink, 1, sc_core::SC_ZERO_OR_MORE_BOUND>> out_device;

  /// Adds its resources to the table: `name` and `name`.writes.
  Device(sc_core::sc_module_name name, DeviceId id, const DeviceConfig& config,
         const Batching& batching, Memory& memory, const DeviceContext& context,
         DeviceKernels kernels);

  /// A message has arrived.
  void put(std::shared_ptr<Message> message) override;

 private:
  /// Progress of one of the own operations towards being ready.
  struct Waiting {
    std::size_t inputs = 0;  // still to come
    std::vector<Dependency> deps;
  };
  /// Operations that are ready, and the thread that runs them.
  struct Lane {
    BatchQueue queue;
    sc_core::sc_event ev_ready;
  };

  void start_of_simulation() override;
  void execute();
  void execute_beside();
  void wait_for_due(Lane& lane);

  void take_input(OpId operation, const Dependency& input);
  void note_ready(const Operation& operation);
  void run(const Batch& batch);
  void wait_for_work(const Work& work);
  void begin_beside(const Batch& batch);

  RowId begin_row(const Batch& batch, std::size_t resource);
  Outputs compute(const Batch& batch);
  void finish(const Batch& batch, RowId row, const Outputs& outputs);
  void keep(const Batch& batch, const Outputs& outputs);
  void send_results(const Batch& batch);
  void send(DeviceId to, std::vector<MessageItem> items);
  [[nodiscard]] Row describe(const std::vector<MessageItem>& items) const;
  [[nodiscard]] bool own(OpId operation) const {
    return context_.calls.device_of(operation) == id_;
  }

  DeviceId id_;
  DeviceConfig config_;
  Memory& memory_;
  DeviceContext context_;
  const Program& program_;
  DeviceKernels kernels_;
  std::size_t executor_;          // resource
  std::size_t writes_;            // resource
  std::vector<Waiting> waiting_;  // by operation
  std::vector<RowId> row_of_;     // by operation, once it has begun here
  Lane launches_;                 // one at a time, in the executor
  Lane beside_;                   // takes no executor slot
};

}  // namespace qfs
