// How a channel of the command-level model is taken to where it would have come to, for models that
// leave out what repeats itself.
#include <algorithm>
#include <cassert>

#include "hardware/memory/dram/burst_channel.hpp"

namespace qfs::dram {

void BurstChannel::renumber(const Offered& offered, std::uint32_t channel) {
  number_ = channel;
  feed_.renumber(offered, channel);
}

void BurstChannel::go_to(const Offered& offered, const Seam& seam,
                         std::span<const std::uint32_t> served) {
  assert(seam.to >= now_ && !refresh_.is_owed());
  std::vector<Request> kept = queue_.take_all();
  std::erase_if(kept, [served](const Request& request) {
    return std::find(served.begin(), served.end(), request.transaction) != served.end();
  });
  const auto banks = static_cast<std::uint32_t>(config_.organisation.banks_of_channel());
  for (std::uint32_t bank = 0; seam.rows_closed && bank < banks; ++bank) {
    queue_.set_open_row(bank, no_row);
  }
  times_.forget();
  now_ = seam.to;
  fill_deferred_ = false;
  second_from_ = never;
  second_deadline_ = never;
  data_clock_until_ = now_ + read_end_ + static_cast<Tick>(config_.timing.data_clock_hold);
  const std::uint64_t refreshes = refresh_.leave_out_until(now_);
  (refresh_.of_one_bank() ? counters_.refreshes_bank : counters_.refreshes_all) += refreshes;
  pretend(offered, seam.pretended, served);
  count_open();
  for (const Request& request : kept) {
    queue_.push(request.direction, request.bank, request.row, request.transaction);
  }
  hits_from_ = {};
  misses_from_ = {};
  places_freed_ = true;
}

void BurstChannel::set_open_rows(std::span<const std::uint32_t> rows) {
  for (std::uint32_t bank = 0; bank < rows.size(); ++bank) {
    queue_.set_open_row(bank, rows[bank]);
  }
  count_open();
}

void BurstChannel::resume(const Aftermath& aftermath, Tick later) {
  times_ = aftermath.times;
  times_.shift(later);
  bus_free_ = {aftermath.bus_free[0] + later, aftermath.bus_free[1] + later};
  now_ = aftermath.now + later;
  data_clock_until_ = aftermath.data_clock_until + later;
  drains_writes_ = aftermath.drains_writes;
  fill_deferred_ = aftermath.fill_deferred;
}

void BurstChannel::note_aftermath(Tick at, bool writes, std::vector<std::uint64_t>& notes) const {
  assert(is_idle() && second_from_ == never);
  for (const Tick tick : {bus_free_[0], bus_free_[1], now_, data_clock_until_}) {
    notes.push_back(static_cast<std::uint64_t>(std::max<Tick>(0, tick - at)));
  }
  notes.push_back((writes && drains_writes_ ? 2U : 0U) + (fill_deferred_ && now_ >= at ? 1U : 0U));
  notes.push_back(static_cast<std::uint64_t>(at & edge_));  // within a clock
  times_.note(at, notes);
}

/// To serve bursts of these transactions: their rows are open then.
void BurstChannel::pretend(const Offered& offered, std::uint64_t bursts,
                           std::span<const std::uint32_t> served) {
  const auto open = [this](std::uint64_t number) {
    const Place place = map_.place(number);
    queue_.set_open_row(place.bank, place.row);
  };
  for (std::size_t stream = 0; served.size() == 1 && stream < feed_.streams(); ++stream) {
    if (feed_.has_next(stream) && feed_.next(stream).transaction == served.front()) {
      const Transaction& transaction = offered.transactions[served.front()].transaction;
      if (transaction.stride > 0) {
        feed_.drop(offered, stream, bursts, open);
      } else {
        pretend_runs(offered, stream, bursts);
      }
      return;
    }
  }
  const auto is_of_served = [&](Direction direction) {
    return std::ranges::any_of(served, [&](std::uint32_t id) {
      return offered.transactions[id].transaction.direction == direction;
    });
  };
  const bool reads = is_of_served(Direction::read);
  const bool writes = is_of_served(Direction::write);
  const auto allows = [=](Direction direction) {
    return direction == Direction::read ? reads : writes;
  };
  Burst burst;
  for (; bursts > 0 && feed_.take(offered, now_, allows, burst); --bursts) {
    open(burst.number);
  }
}

/// Of a stream of one run of bytes, or of two in turn: row by row.
void BurstChannel::pretend_runs(const Offered& offered, std::size_t stream, std::uint64_t bursts) {
  constexpr std::uint64_t in_turn = 64;  // bursts at the end that are looked at one by one
  const auto open = [this](std::uint64_t number) {
    const Place place = map_.place(number);
    queue_.set_open_row(place.bank, place.row);
  };
  const Transaction& transaction = offered.transactions[feed_.next(stream).transaction].transaction;
  const std::uint64_t at_once = bursts - std::min(bursts, in_turn);
  const std::uint64_t of_half = transaction.alternates ? at_once / 2 : at_once;
  const std::uint64_t piece = feed_.piece(stream);
  const std::uint64_t halves = transaction.alternates ? 2 : 1;
  for (std::uint64_t i = 0; i < halves && piece + i < transaction.pieces(); ++i) {
    const std::uint64_t number =
        i == 0 ? feed_.next(stream).number
               : transaction.piece_address(piece + i) / config_.organisation.burst_bytes();
    const std::uint64_t rank = map_.rank_in(number_, number);
    map_.for_rows(number_, rank, rank + of_half, open);
  }
  if (at_once > 0) {
    feed_.skip(offered, stream, static_cast<double>(at_once));
  }
  feed_.drop(offered, stream, bursts - at_once, open);
}

void BurstChannel::open_ahead(const Offered& offered, std::size_t stream, std::uint64_t bursts) {
  BurstFeed ahead = feed_;
  ahead.drop(offered, stream, bursts, [this](std::uint64_t number) {
    const Place place = map_.place(number);
    queue_.set_open_row(place.bank, place.row);
  });
  count_open();
}

void BurstChannel::count_open() {
  open_banks_.assign(open_banks_.size(), 0);
  aside_.assign(aside_.size(), 0);
  banks_open_ = 0;
  for (std::uint32_t bank = 0; bank < config_.organisation.banks_of_channel(); ++bank) {
    if (queue_.open_row(bank) != no_row) {
      ++open_banks_[times_.rank_of(bank)];
      ++banks_open_;
    }
  }
}

}  // namespace qfs::dram
