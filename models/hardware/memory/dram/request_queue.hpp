// The requests that a channel's controller holds, by bank, and of each bank the oldest that finds
// its row open and the oldest that does not: all that first-ready scheduling asks for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardware/memory/dram/command.hpp"
#include "hardware/memory/dram/transaction.hpp"

namespace qfs::dram {

inline constexpr std::int32_t nobody = -1;
inline constexpr std::uint32_t no_row = 0xFFFFFFFFU;

struct Request {
  std::uint32_t row = 0;
  std::uint32_t bank = 0;
  std::uint32_t transaction = 0;
  Direction direction = Direction::read;
  std::int64_t order = 0;  // of entering the queue
  std::int32_t previous = nobody;
  std::int32_t next = nobody;
};

/// A request that its bank puts forward. `from` is the scheduler's: its next command is not legal
/// earlier.
struct Candidate {
  std::int64_t order = 0;
  std::int32_t request = nobody;
  std::uint32_t bank = 0;
  Tick from = 0;
};

/// At most one candidate a bank, oldest first.
class Candidates {
 public:
  explicit Candidates(std::size_t banks) { items_.reserve(banks); }
  void insert(const Candidate& candidate);
  void erase(std::int64_t order);
  void clear() { items_.clear(); }
  void replace(std::int64_t order, const Candidate& younger);
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] std::span<const Candidate> items() const { return items_; }
  [[nodiscard]] std::span<Candidate> items() { return items_; }

 private:
  [[nodiscard]] std::size_t find(std::int64_t order) const;
  std::vector<Candidate> items_;
};

class RequestQueue {
 public:
  /// Room for `reads` and `writes`, and for one activated request of each bank.
  RequestQueue(std::size_t banks, std::size_t reads, std::size_t writes);

  [[nodiscard]] bool has_room(Direction direction) const {
    return size(direction) < room_[side(direction)];
  }
  [[nodiscard]] std::size_t size(Direction direction) const { return size_[side(direction)]; }
  /// Needs room.
  void push(Direction direction, std::uint32_t bank, std::uint32_t row, std::uint32_t transaction);

  /// The row of the bank that is open, or no_row.
  [[nodiscard]] std::uint32_t open_row(std::uint32_t bank) const { return open_row_[bank]; }
  /// By bank.
  [[nodiscard]] const std::vector<std::uint32_t>& open_rows() const { return open_row_; }
  /// Of each bank the oldest request to its open row.
  [[nodiscard]] std::span<Candidate> hits(Direction direction) {
    return hits_[side(direction)].items();
  }
  /// Of each bank the oldest request to another row; of a closed bank the oldest.
  [[nodiscard]] std::span<Candidate> misses(Direction direction) {
    return misses_[side(direction)].items();
  }
  /// The requests for which rows were opened.
  [[nodiscard]] std::span<const Candidate> aside() const { return aside_.items(); }
  [[nodiscard]] bool has_aside(std::uint32_t bank) const { return aside_of_[bank] != nobody; }
  [[nodiscard]] bool has_hit(std::uint32_t bank) const {
    return lanes_[bank].hit != nobody || lanes_[open_row_.size() + bank].hit != nobody;
  }
  [[nodiscard]] const Request& request(std::int32_t index) const {
    return pool_[static_cast<std::size_t>(index)];
  }

  /// How many requests of a transaction wait, aside or not.
  [[nodiscard]] std::uint64_t waiting(std::uint32_t transaction) const;
  /// Which requests count: reads always do.
  struct Others {
    bool queued_writes = true;
    bool writes_aside = true;
  };
  /// Whether a request waits of another transaction than these.
  [[nodiscard]] bool has_others(std::span<const std::uint32_t> transactions,
                                const Others& which) const;
  /// Empties the queue, but rows stay open; the requests in their order, as far as there is room
  /// to push them again.
  std::vector<Request> take_all();
  /// The row is open, of a queue without requests.
  void set_open_row(std::uint32_t bank, std::uint32_t row) { open_row_[bank] = row; }

  /// The request's row is opened for it; it leaves its place to another and waits aside.
  void open_for(std::int32_t index);
  void close(std::uint32_t bank);
  /// The request is served: it waited aside, or was a hit.
  void remove(std::int32_t index);

 private:
  struct Lane {
    std::int32_t first = nobody;
    std::int32_t last = nobody;
    std::int32_t hit = nobody;
    std::int32_t miss = nobody;
  };
  static std::size_t side(Direction direction) { return static_cast<std::size_t>(direction); }
  Lane& lane(Direction direction, std::uint32_t bank) {
    return lanes_[side(direction) * open_row_.size() + bank];
  }
  Request& at(std::int32_t index) { return pool_[static_cast<std::size_t>(index)]; }
  /// Makes `index` (or nobody) the bank's candidate in the list.
  void put_forward(Candidates& list, std::int32_t& slot, std::int32_t index);
  void unlink(std::int32_t index);
  void free_all();
  void find_again(Direction direction, std::uint32_t bank);

  std::array<std::size_t, 2> room_;
  std::array<std::size_t, 2> size_{};
  std::vector<Request> pool_;
  std::vector<std::int32_t> free_;
  std::vector<Lane> lanes_;  // by direction and bank
  std::vector<std::uint32_t> open_row_;
  std::vector<std::int32_t> aside_of_;
  std::array<Candidates, 2> hits_;
  std::array<Candidates, 2> misses_;
  Candidates aside_;
  std::int64_t orders_ = 0;
};

}  // namespace qfs::dram
