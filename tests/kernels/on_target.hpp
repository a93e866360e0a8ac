// The vector kernels on one instruction set of several.
#pragma once

#include <hwy/targets.h>

#include <cstdint>

namespace qfs::test {

/// The calls that follow take this instruction set, and whatever the machine has after that.
class OnTarget {
 public:
  explicit OnTarget(std::int64_t target) { choose(target); }
  OnTarget(const OnTarget&) = delete;
  OnTarget& operator=(const OnTarget&) = delete;
  ~OnTarget() { choose(0); }

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

}  // namespace qfs::test
