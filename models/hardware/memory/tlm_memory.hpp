// Binds somebody else's memory: chops streams into TLM-2.0 b_transport transactions on an initiator
// socket.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <systemc>
#include <tlm>
#include <vector>

#include "base/units.hpp"
#include "hardware/memory/memory.hpp"

namespace qfs {

class TlmMemory : public sc_core::sc_module, public Memory {
 public:
  tlm_utils::simple_initiator_socket<TlmMemory> out_memory;  // bind the target here

  /// Transactions of at most `chunk` bytes, at least 1. Launches in flight take turns, a
  /// transaction each; the data pointer of a transaction leads to a scratch buffer (timing targets
  /// ignore it).
  TlmMemory(sc_core::sc_module_name name, Bytes chunk);

  using Memory::start;
  std::shared_ptr<Transfer> start(std::span<const Stream> streams) override;

 private:
  struct Job {
    std::deque<Stream> streams;  // the first is moving
    std::int64_t moved = 0;      // of it
    std::shared_ptr<Transfer> transfer;
  };
  void serve();
  void move_some(Job& job);
  void transport(const Stream& stream, std::uint64_t address, std::size_t bytes);

  std::vector<unsigned char> scratch_;
  std::deque<Job> jobs_;
  sc_core::sc_event ev_work_;
};

}  // namespace qfs
