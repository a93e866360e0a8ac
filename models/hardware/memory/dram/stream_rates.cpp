#include "hardware/memory/dram/stream_rates.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "hardware/memory/dram/stream_bench.hpp"

namespace qfs::dram {
namespace {

void note_kind(const Transaction& stream, std::vector<std::uint64_t>& key) {
  const std::uint64_t kind =
      (stream.direction == Direction::write ? 2U : 0U) + (stream.alternates ? 1U : 0U);
  key.insert(key.end(), {stream.address, stream.second, stream.stride,
                         stream.is_contiguous() ? 0 : stream.piece, kind});
}

}  // namespace

bool halves_meet(const DramConfig& config, const AddressMap& map, const Transaction& stream) {
  if (!stream.alternates) {
    return false;
  }
  const Organisation& parts = config.organisation;
  const std::uint64_t queue = config.controller.read_queue * parts.channels * parts.burst_bytes();
  const std::uint64_t stripe = map.bursts_of_stripe() * parts.burst_bytes();
  const std::uint64_t apart = (stream.second - stream.address) % stripe;
  return std::min(apart, stripe - apart) < stream.piece + queue;
}

std::shared_ptr<const Rates> RateBook::of(const Mix& mix) {
  constexpr std::size_t most = 4096;  // some 10 kB each
  Key key = mix.ahead;
  key.push_back(mix.channel);
  for (const Transaction& stream : mix.streams) {
    note_kind(stream, key);
  }
  if (rates_.size() == most) {
    rates_.clear();
  }
  std::shared_ptr<const Rates>& slot = rates_[std::move(key)];
  if (slot == nullptr) {
    slot = std::make_shared<const Rates>(measure(config_, mix));
    ++measured_;
  }
  return slot;
}

std::shared_ptr<const WriteDrain> RateBook::drain(const Mix& mix, const Transaction& writes) {
  constexpr std::size_t most = 65536;
  Key key{mix.channel, static_cast<std::uint64_t>(writes.length.value())};
  note_kind(mix.streams.front(), key);
  note_kind(writes, key);
  if (drains_.size() == most) {
    drains_.clear();
  }
  std::shared_ptr<const WriteDrain>& slot = drains_[std::move(key)];
  if (slot == nullptr) {
    slot = std::make_shared<const WriteDrain>(measure_drain(config_, mix, writes));
  }
  return slot;
}

std::shared_ptr<RateBook> shared_rate_book(const DramConfig& config) {
  constexpr std::size_t most = 64;
  static std::deque<std::shared_ptr<RateBook>> books;
  const auto found = std::ranges::find_if(
      books, [&config](const std::shared_ptr<RateBook>& book) { return book->is_for(config); });
  if (found != books.end()) {
    return *found;
  }
  if (books.size() == most) {
    books.pop_front();
  }
  return books.emplace_back(std::make_shared<RateBook>(config));
}

double Rates::restart(double phase, double bursts) const {
  const double start = restarts.at(phase / period);
  if (catches_up.empty()) {
    return start;
  }
  const auto parts = static_cast<double>(catches_up.size() - 1);
  const double at = std::clamp(bursts / of_interval.mean, 0.0, 1.0) * parts;
  const auto part = static_cast<std::size_t>(std::min(at, parts - 1));
  const double share = at - static_cast<double>(part);
  return start - catches_up[part] - share * (catches_up[part + 1] - catches_up[part]);
}

void leap(BurstChannel& channel, const Offered& offered, std::span<const std::size_t> streams,
          const Rates& rates, const Leap& over) {
  BurstFeed& feed = channel.feed();
  std::vector<std::uint32_t> served;
  std::vector<double> waiting;  // which were taken from the feed and count among the bursts
  double pretended = std::min(over.pretended, over.bursts);
  for (std::size_t i = 0; i < streams.size(); ++i) {
    served.push_back(feed.next(streams[i]).transaction);
    waiting.push_back(static_cast<double>(channel.waiting(served.back())));
    pretended = std::min(pretended, over.bursts - waiting.back() / rates.shares[i]);
  }
  pretended = std::max(0.0, std::floor(pretended));
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const double bursts = (over.bursts - pretended) * rates.shares[i] - waiting[i];
    feed.skip(offered, streams[i], std::max(0.0, bursts));
  }
  channel.go_to(offered, {over.to, over.rows_closed, static_cast<std::uint64_t>(pretended)},
                served);
}

double good_place(const DramConfig& config, const Rates& rates, double rank) {
  constexpr double margin = 32;  // bursts
  const double last = rates.period - static_cast<double>(config.controller.read_queue) - margin;
  const double phase = std::fmod(rank, rates.period);
  if (last < 2 * margin || (phase >= margin && phase <= last)) {
    return rank;
  }
  return phase > last ? rank - phase + last : rank - phase - rates.period + last;
}

std::size_t settling_clocks(const DramConfig& config) {
  return 3 * config.timing.rc + 64 * config.timing.burst;
}

double settling_bursts(const DramConfig& config) {
  return std::ceil(static_cast<double>(settling_clocks(config)) *
                   static_cast<double>(config.organisation.pseudochannels) /
                   static_cast<double>(config.timing.burst));
}

}  // namespace qfs::dram
