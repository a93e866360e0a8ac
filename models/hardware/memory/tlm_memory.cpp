#include "hardware/memory/tlm_memory.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace qfs {
namespace {

constexpr std::uint64_t strided_piece = 64;  // bytes; memory.hpp

std::uint64_t address_of(const Stream& stream, std::uint64_t offset) {
  if (stream.stride == 0) {
    return stream.base + offset;
  }
  return stream.base + offset / strided_piece * stream.stride + offset % strided_piece;
}

}  // namespace

TlmMemory::TlmMemory(sc_core::sc_module_name name, Bytes chunk)
    : sc_module(name),
      out_memory("out_memory"),
      scratch_(static_cast<std::size_t>(std::max<std::int64_t>(1, chunk.value()))) {
  SC_HAS_PROCESS(TlmMemory);
  SC_THREAD(serve);
}

std::shared_ptr<Transfer> TlmMemory::start(const Stream& stream) {
  auto transfer = std::make_shared<Transfer>();
  if (stream.length == Bytes(0)) {
    transfer->finished = true;
    return transfer;
  }
  jobs_.push_back({stream, 0, transfer});
  ev_work_.notify(sc_core::SC_ZERO_TIME);
  return transfer;
}

void TlmMemory::serve() {
  while (true) {
    while (jobs_.empty()) {
      wait(ev_work_);
    }
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    auto bytes = std::min<std::size_t>(
        scratch_.size(), static_cast<std::size_t>(job.stream.length.value() - job.moved));
    if (job.stream.stride != 0) {
      bytes = std::min<std::size_t>(bytes, strided_piece);
    }
    transport(job, bytes);
    job.moved += static_cast<std::int64_t>(bytes);
    if (job.moved == job.stream.length.value()) {
      job.transfer->finish();
    } else {
      jobs_.push_back(std::move(job));
    }
  }
}

void TlmMemory::transport(const Job& job, std::size_t bytes) {
  tlm::tlm_generic_payload transaction;
  transaction.set_command(job.stream.direction == AccessDirection::read ? tlm::TLM_READ_COMMAND
                                                                        : tlm::TLM_WRITE_COMMAND);
  transaction.set_address(address_of(job.stream, static_cast<std::uint64_t>(job.moved)));
  transaction.set_data_ptr(scratch_.data());
  transaction.set_data_length(static_cast<unsigned>(bytes));
  transaction.set_streaming_width(static_cast<unsigned>(bytes));
  transaction.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  out_memory->b_transport(transaction, delay);
  if (transaction.is_response_error()) {
    throw RunError("the memory bound to " + std::string(name()) + " answered " +
                   transaction.get_response_string());
  }
  wait(delay);
}

}  // namespace qfs
