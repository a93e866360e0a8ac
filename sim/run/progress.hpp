// Progress of long work, on stderr: one line that renews itself on a terminal, nothing but a line
// per stage elsewhere.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace qfs {

/// A counter that forked children advance and their parent reads.
class SharedCounter {
 public:
  SharedCounter();
  ~SharedCounter();
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;

  void advance() { value_->fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t value() const { return value_->load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t>* value_;
};

/// One stage of a run: `total` units of work that take about equally long.
class ProgressStage {
 public:
  ProgressStage(std::string title, std::uint64_t total);
  ~ProgressStage();  // ends the line
  ProgressStage(const ProgressStage&) = delete;
  ProgressStage& operator=(const ProgressStage&) = delete;

  SharedCounter& counter() { return counter_; }
  /// Renews the line, at most five times a second.
  void show();

 private:
  using Clock = std::chrono::steady_clock;
  std::string title_;
  std::uint64_t total_;
  SharedCounter counter_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_;
  bool terminal_;
};

/// Progress of independent points: how many are done and failed, how many a second, and the time
/// left. On a terminal a line that renews itself, elsewhere a line every half minute.
class PointProgress {
 public:
  /// `title` is printed at once unless on a terminal.
  PointProgress(std::string title, std::uint64_t total);
  ~PointProgress();  // ends the line
  PointProgress(const PointProgress&) = delete;
  PointProgress& operator=(const PointProgress&) = delete;

  /// `worked` of the `done` points were simulated now and not found: the rate is theirs.
  void show(std::uint64_t done, std::uint64_t failed, std::uint64_t worked);

 private:
  using Clock = std::chrono::steady_clock;
  std::string title_;
  std::uint64_t total_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
  bool terminal_;
};

}  // namespace qfs
