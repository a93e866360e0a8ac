// Binds somebody else's memory: chops streams into TLM-2.0 b_transport transactions on an initiator
// socket.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

#include "base/units.hpp"
#include "hardware/memory/memory.hpp"

namespace qfs {

class TlmMemory : public sc_core::sc_module, public Memory {
 public:
  tlm_utils::simple_initiator_socket<TlmMemory> out_memory;  // bind the target here

  /// Transactions of at most `chunk` bytes, at least 1. Streams in flight take turns, a transaction
  /// each; the data pointer of a transaction leads to a scratch buffer (timing targets ignore it).
  TlmMemory(sc_core::sc_module_name name, Bytes chunk);

  std::shared_ptr<Transfer> start(const Stream& stream) override;

 private:
  struct Job {
    Stream stream;
    std::int64_t moved = 0;
    std::shared_ptr<Transfer> transfer;
  };
  void serve();
  void transport(const Job& job, std::size_t bytes);

  std::vector<unsigned char> scratch_;
  std::deque<Job> jobs_;
  sc_core::sc_event ev_work_;
};

}  // namespace qfs
