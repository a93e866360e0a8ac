#include "sim/run/progress.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <utility>

#include "base/error.hpp"

namespace qfs {

SharedCounter::SharedCounter() {
  void* memory =
      mmap(nullptr, sizeof(*value_), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw RunError("cannot share memory between processes");
  }
  value_ = new (memory) std::atomic<std::uint64_t>(0);
}

SharedCounter::~SharedCounter() { munmap(value_, sizeof(*value_)); }

ProgressStage::ProgressStage(std::string title, std::uint64_t total)
    : title_(std::move(title)), total_(total), terminal_(isatty(STDERR_FILENO) != 0) {
  if (!terminal_) {
    fmt::print(stderr, "{} ...\n", title_);
  }
}

ProgressStage::~ProgressStage() {
  if (terminal_) {
    std::fputs("\r\033[K", stderr);
  }
}

void ProgressStage::show() {
  constexpr auto pause = std::chrono::milliseconds(200);
  const Clock::time_point time = Clock::now();
  if (!terminal_ || time - shown_ < pause) {
    return;
  }
  shown_ = time;
  const std::uint64_t done = std::min(counter_.value(), total_);
  const double elapsed = std::chrono::duration<double>(time - begin_).count();
  const double share =
      static_cast<double>(done) / static_cast<double>(std::max<std::uint64_t>(1, total_));
  const std::string left =
      done == 0 ? "" : fmt::format(", about {:.0f} s left", elapsed * (1 - share) / share);
  fmt::print(stderr, "\r\033[K{}: {} of {} ({:.0f} %){}", title_, done, total_, 100 * share, left);
  std::fflush(stderr);
}

PointProgress::PointProgress(std::string title, std::uint64_t total)
    : title_(std::move(title)), total_(total), terminal_(isatty(STDERR_FILENO) != 0) {
  if (!terminal_) {
    fmt::print(stderr, "{} ...\n", title_);
  }
}

PointProgress::~PointProgress() {
  if (terminal_) {
    std::fputs("\r\033[K", stderr);
  }
}

void PointProgress::show(std::uint64_t done, std::uint64_t failed, std::uint64_t worked) {
  const std::chrono::milliseconds pause(terminal_ ? 200 : 30'000);
  const Clock::time_point time = Clock::now();
  if (time - shown_ < pause) {
    return;
  }
  shown_ = time;
  const double rate =
      static_cast<double>(worked) / std::chrono::duration<double>(time - begin_).count();
  const std::string left =
      worked == 0 ? ""
                  : fmt::format(", {:.3g} a second, about {:.0f} s left", rate,
                                static_cast<double>(total_ - std::min(done, total_)) / rate);
  const std::string line = fmt::format("{}: {} done, {} failed{}", title_, done, failed, left);
  fmt::print(stderr, "{}{}{}", terminal_ ? "\r\033[K" : "", line, terminal_ ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace qfs
