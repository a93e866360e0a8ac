#include "hardware/memory/dram_memory.hpp"

#include <algorithm>
#include <cassert>
#include <type_traits>
#include <utility>

#include "hardware/memory/dram/address_map.hpp"
#include "hardware/memory/dram/burst_memory.hpp"
#include "hardware/memory/dram/stream_memory.hpp"
#include "hardware/simulated_time.hpp"

namespace qfs {
namespace {

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

/// What one memory has found out about rates serves all of the same kind.
template <class Model>
Model model_of(const dram::DramConfig& part) {
  if constexpr (std::is_same_v<Model, dram::StreamMemory>) {
    return Model(part, dram::shared_rate_book(part));
  } else {
    return Model(part);
  }
}

}  // namespace

dram::Transaction share_of(const Stream& stream, std::size_t parts, const dram::DramConfig& part) {
  const std::uint64_t burst_bytes = part.organisation.burst_bytes();
  const bool strided = stream.stride > 0;
  const std::uint64_t block =
      strided ? burst_bytes : burst_bytes * dram::AddressMap(part).bursts_of_block();
  const auto place = [=](std::uint64_t address) {
    return parts == 1 ? address : address / parts / block * block;
  };
  dram::Transaction share;
  share.address = place(stream.base);
  share.length = stream.length;
  share.stride = stream.stride;
  share.piece = stream.piece;
  share.direction =
      stream.direction == AccessDirection::read ? dram::Direction::read : dram::Direction::write;
  share.alternates = stream.alternates;
  share.second = place(stream.second);
  if (parts == 1) {
    return share;
  }
  const std::uint64_t step = strided ? stream.piece : burst_bytes;
  const auto length = static_cast<std::uint64_t>(stream.length.value());
  share.length = Bytes(static_cast<std::int64_t>(rounded_up((length + parts - 1) / parts, step)));
  if (!strided) {
    share.piece = rounded_up((stream.piece + parts - 1) / parts, burst_bytes);
  }
  return share;
}

template <class Model>
DramMemory<Model>::DramMemory(sc_core::sc_module_name name, const dram::DramConfig& part,
                              std::size_t parts)
    : sc_module(name), model_(model_of<Model>(part)), parts_(parts) {
  assert(parts >= 1);
  SC_HAS_PROCESS(DramMemory);
  SC_METHOD(look);
  sensitive << ev_look_;
  dont_initialize();
}

template <class Model>
std::shared_ptr<Transfer> DramMemory<Model>::start(std::span<const Stream> streams) {
  auto transfer = std::make_shared<Transfer>();
  if (length_of(streams) == Bytes(0)) {
    transfer->finished = true;
    return transfer;
  }
  model_.run_until(now());
  Launch launch{{}, take_turn(), transfer};
  for (const Stream& stream : streams) {
    dram::Transaction transaction = share_of(stream, parts_, model_.config());
    transaction.arrival = now();
    transaction.stream = launch.turn;
    launch.transactions.push_back(model_.start(transaction));
  }
  in_flight_.push_back(std::move(launch));
  look_again();
  return transfer;
}

template <class Model>
std::size_t DramMemory<Model>::take_turn() {
  const auto free = std::find(turn_taken_.begin(), turn_taken_.end(), false);
  const auto turn = static_cast<std::size_t>(free - turn_taken_.begin());
  if (free == turn_taken_.end()) {
    turn_taken_.push_back(true);
  } else {
    *free = true;
  }
  return turn;
}

/// Known if that of each of its transactions is.
template <class Model>
std::optional<Femtoseconds> DramMemory<Model>::end_of(const Launch& launch) const {
  Femtoseconds last;
  for (const std::size_t transaction : launch.transactions) {
    const std::optional<Femtoseconds> end = model_.end(transaction);
    if (!end) {
      return std::nullopt;
    }
    last = std::max(last, *end);
  }
  return last;
}

template <class Model>
void DramMemory<Model>::look() {
  model_.run_until(now());
  std::erase_if(in_flight_, [this](const Launch& launch) {
    const std::optional<Femtoseconds> end = end_of(launch);
    if (!end || *end > now()) {
      return false;
    }
    launch.transfer->finish();
    turn_taken_[launch.turn] = false;
    return true;
  });
  look_again();
}

/// When the next launch ends, or when the model may know when it does.
template <class Model>
void DramMemory<Model>::look_again() {
  ev_look_.cancel();
  if (in_flight_.empty()) {
    return;
  }
  Femtoseconds next = now() + model_.lookahead();
  for (const Launch& launch : in_flight_) {
    if (const std::optional<Femtoseconds> end = end_of(launch)) {
      next = std::min(next, std::max(*end, now()));
    }
  }
  ev_look_.notify(to_sc_time(next - now()));
}

template <class Model>
std::optional<dram::Counters> DramMemory<Model>::counters() const {
  return model_.counters();
}

template class DramMemory<dram::BurstMemory>;
template class DramMemory<dram::StreamMemory>;

}  // namespace qfs
