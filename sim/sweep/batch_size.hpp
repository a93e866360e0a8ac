// How many points of a sweep one process simulates: so many that starting it costs little beside
// them, so few that no core waits long for the last, and that little is lost with one.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace qfs {

class BatchSize {
 public:
  using Clock = std::chrono::steady_clock;

  /// Of the next process, of `jobs` at a time, when `left` points have none yet.
  [[nodiscard]] std::size_t next(std::uint64_t left, std::size_t jobs) const {
    constexpr std::size_t shares = 2;  // of what is left, of each process
    const std::uint64_t share = left / (shares * jobs);
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(share, 1, size_));
  }

  /// A process with so many points has taken so long.
  void note(std::size_t points, Clock::duration time) {
    if (time > too_long && points <= size_) {
      size_ = std::max<std::size_t>(1, points / 2);
    } else if (time < too_short && points >= size_) {
      size_ = std::min(most, 2 * size_);
    }
  }

  /// A process with several points has failed, and each of them is simulated again.
  void note_failure() { size_ = std::max<std::size_t>(1, size_ / 2); }

  static constexpr std::size_t most = 24;
  static constexpr std::chrono::milliseconds too_short{20};
  static constexpr std::chrono::milliseconds too_long{100};

 private:
  std::size_t size_ = 1;
};

}  // namespace qfs
