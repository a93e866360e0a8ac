// What a channel without requests is about to do, told so that whatever comes to the same is told
// alike: at other instants, at addresses that differ by whole rows of all banks, under other
// numbers of transactions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "hardware/memory/dram/burst_channel.hpp"

namespace qfs::dram {

class Scene {
 public:
  /// A name of a row that is open in a bank, by the streams that will come to it.
  using Name = std::uint64_t;
  using Notes = std::vector<std::uint64_t>;

  /// Of a channel without requests at `at`: all that it is offered, or so many bursts (of all
  /// channels) of what one stream is at. No refresh and no arrival is told.
  Scene(const BurstChannel& channel, const AddressMap& map, const Offered& offered, Tick at);
  Scene(const BurstChannel& channel, const AddressMap& map, const Offered& offered, Tick at,
        std::size_t stream, std::uint64_t reach);

  /// Whether it can be told. The rest is only for those that can.
  [[nodiscard]] bool is_plain() const { return is_plain_; }
  [[nodiscard]] const Notes& notes() const { return notes_; }
  /// The transactions that are not given as a whole, stream by stream.
  [[nodiscard]] const std::vector<std::uint32_t>& transactions() const { return transactions_; }

  [[nodiscard]] Name name_of(std::uint32_t row) const;
  static constexpr Name another_row = 1;
  /// The row of a name that is not `another_row`.
  [[nodiscard]] std::uint32_t row_of(Name name) const;

 private:
  /// Rows that streams will come to, next to each other.
  struct Rows {
    std::uint64_t first = 0;  // wrapping round
    std::uint64_t count = 0;
  };
  void tell_state(const BurstChannel& channel, Tick at);
  void tell_kind(const Transaction& transaction);
  void tell_current(const Transaction& transaction, const BurstFeed& feed, std::size_t stream);
  void tell_whole(const Transaction& transaction);
  void tell_pieces(const Transaction& transaction, std::uint64_t from);
  void tell_rows(std::uint64_t first_burst, std::uint64_t bursts);

  const AddressMap& map_;
  std::uint64_t burst_bytes_;
  std::uint64_t reach_ = std::uint64_t{1} << 60U;
  bool is_plain_ = true;
  bool has_writes_ = false;
  Notes notes_;
  std::vector<std::uint32_t> transactions_;
  std::vector<Rows> rows_;
};

}  // namespace qfs::dram
