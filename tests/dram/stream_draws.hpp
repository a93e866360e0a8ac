// Random work for a memory, of the kinds that a device gives it: what the stream tier is held
// against the command-level model on.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "hardware/memory/dram/config.hpp"
#include "hardware/memory/dram/transaction.hpp"

namespace qfs::test {

/// sequential: one read or write, or several one after the other. strided: pieces at a stride.
/// alternating: K and V in turn, from banks that differ or are the same. appends: sweeps, and small
/// writes between and during them. beside: two sweeps at the same time.
enum class Work { sequential, strided, alternating, same_banks, appends, beside };
inline constexpr std::size_t work_count = 6;

/// A transaction that starts a pause after the one before it was started, or after all before it
/// have ended.
struct Step {
  dram::Transaction transaction;
  Seconds pause{0};
  bool after_end = false;
};

class StreamDraws {
 public:
  /// Lengths up to `most` bytes, log uniform.
  StreamDraws(const dram::DramConfig& config, std::uint64_t seed, double most)
      : config_(config), random_(seed, 17), most_(most) {}

  /// The n-th scenario; the first step's pause is a phase relative to refresh.
  std::vector<Step> scenario(Work work, std::uint64_t n) {
    at_ = (n * work_count + static_cast<std::uint64_t>(work)) * 256;
    std::vector<Step> steps;
    const std::size_t count = one_in(2) ? 1 : 2 + below(3);
    switch (work) {
      case Work::sequential:
        for (std::size_t i = 0; i < count; ++i) {
          steps.push_back({sequential(), pause(), true});
        }
        break;
      case Work::strided:
        for (std::size_t i = 0; i < count; ++i) {
          steps.push_back({strided(), pause(), true});
        }
        break;
      case Work::alternating:
      case Work::same_banks:
        for (std::size_t i = 0; i < count; ++i) {
          steps.push_back({alternating(work == Work::same_banks), pause(), true});
        }
        if (work == Work::same_banks && one_in(2)) {
          steps.push_back({append(1), pause(), false});
        }
        break;
      case Work::appends:
        steps.push_back({sweep(false), pause(), true});
        for (std::size_t i = 0; i < 1 + count; ++i) {
          steps.push_back({append(i), pause(), one_in(2)});
        }
        steps.push_back({sweep(false), pause(), true});
        break;
      case Work::beside:
        steps.push_back({sweep(one_in(2)), pause(), true});
        steps.push_back({sweep(one_in(2)), pause(), false});
        steps.back().transaction.stream = 1;
    }
    steps.front().pause = Seconds(uniform(0, 3) * interval());
    return steps;
  }

 private:
  [[nodiscard]] double interval() const {
    return static_cast<double>(config_.timing.refi) * config_.timing.clock.value();
  }
  std::uint64_t below(std::uint64_t count) { return random_.below(at_++, count); }
  double uniform(double low, double high) { return random_.uniform(at_++, low, high); }
  bool one_in(std::uint64_t count) { return below(count) == 0; }

  /// None, or up to a few refresh intervals.
  Seconds pause() {
    const std::uint64_t kind = below(3);
    return Seconds(kind == 0 ? 0 : (kind == 1 ? 1e-7 : 2 * interval()) * uniform(0, 1));
  }
  std::uint64_t address() {
    const auto capacity = static_cast<double>(config_.organisation.capacity().value());
    const auto address = static_cast<std::uint64_t>(uniform(0, 0.4) * capacity);
    constexpr std::uint64_t alignments[] = {1, 64, 4096, 65536};
    return address / alignments[below(4)] * alignments[below(4)];
  }
  Bytes length(double least) {
    return Bytes(
        static_cast<std::int64_t>(std::exp2(uniform(std::log2(least), std::log2(most_) + 1e-9))));
  }
  dram::Transaction sequential() {
    dram::Transaction one;
    one.address = address();
    one.length = length(64);
    one.direction = one_in(4) ? dram::Direction::write : dram::Direction::read;
    return one;
  }
  dram::Transaction strided() {
    dram::Transaction one = sequential();
    one.piece = std::uint64_t{64} << below(7);
    one.stride = one.piece * (2 + below(15));
    one.stride += one_in(4) ? below(4096) : 0;
    return one;
  }
  dram::Transaction alternating(bool same_banks) {
    constexpr std::uint64_t apart = std::uint64_t{512} << 20U;
    dram::Transaction one;
    one.address = address();
    one.length = length(64);
    one.alternates = true;
    one.piece = one_in(2) ? 4096 : std::uint64_t{256} << below(10);
    one.second = one.address + apart + (same_banks ? 0 : (1 + below(1U << 14U)) * 64);
    return one;
  }
  dram::Transaction sweep(bool same_banks) {
    dram::Transaction one = one_in(3) ? sequential() : alternating(same_banks);
    one.direction = dram::Direction::read;
    one.length = length(std::min(4096.0, most_));
    return one;
  }
  /// One position's K or V of eight heads.
  dram::Transaction append(std::size_t stream) {
    dram::Transaction one;
    one.address = address() / 256 * 256;
    one.piece = 256;
    one.length = Bytes(8 * 256);
    one.stride = std::uint64_t{1} << (16 + below(6));
    one.direction = dram::Direction::write;
    one.stream = 1 + stream % 2;
    return one;
  }

  dram::DramConfig config_;
  Random random_;
  double most_;
  std::uint64_t at_ = 0;
};

}  // namespace qfs::test
