#include "hardware/memory/tlm_memory.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"

namespace qfs {
namespace {

/// Bytes of one piece; a contiguous stream is a single one.
std::int64_t piece_bytes(const Stream& stream) {
  return stream.stride == 0 && !stream.alternates ? stream.length.value()
                                                  : static_cast<std::int64_t>(stream.piece);
}

}  // namespace

TlmMemory::TlmMemory(sc_core::sc_module_name name, Bytes chunk)
    : sc_module(name),
      out_memory("out_memory"),
      scratch_(static_cast<std::size_t>(std::max<std::int64_t>(1, chunk.value()))) {
  SC_HAS_PROCESS(TlmMemory);
  SC_THREAD(serve);
}

std::shared_ptr<Transfer> TlmMemory::start(std::span<const Stream> streams) {
  auto transfer = std::make_shared<Transfer>();
  Job job{{}, 0, transfer};
  std::copy_if(streams.begin(), streams.end(), std::back_inserter(job.streams),
               [](const Stream& stream) { return stream.length > Bytes(0); });
  if (job.streams.empty()) {
    transfer->finished = true;
    return transfer;
  }
  jobs_.push_back(std::move(job));
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
    move_some(job);
    if (job.streams.empty()) {
      job.transfer->finish();
    } else {
      jobs_.push_back(std::move(job));
    }
  }
}

/// A transaction does not reach beyond its piece.
void TlmMemory::move_some(Job& job) {
  const Stream& stream = job.streams.front();
  const std::int64_t piece = piece_bytes(stream);
  const std::int64_t within = job.moved % piece;
  const std::int64_t left = std::min(piece - within, stream.length.value() - job.moved);
  const std::int64_t bytes = std::min(left, static_cast<std::int64_t>(scratch_.size()));
  const auto begin = stream.piece_address(static_cast<std::uint64_t>(job.moved / piece));
  transport(stream, begin + static_cast<std::uint64_t>(within), static_cast<std::size_t>(bytes));
  job.moved += bytes;
  if (job.moved == stream.length.value()) {
    job.streams.pop_front();
    job.moved = 0;
  }
}

void TlmMemory::transport(const Stream& stream, std::uint64_t address, std::size_t bytes) {
  tlm::tlm_generic_payload transaction;
  transaction.set_command(stream.direction == AccessDirection::read ? tlm::TLM_READ_COMMAND
                                                                    : tlm::TLM_WRITE_COMMAND);
  transaction.set_address(address);
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
