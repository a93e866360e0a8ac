// What waits for a transfer and then some time without a process of its own. A SystemC thread for
// each such wait, made and gone again with its stack, took half of a timing simulation.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/units.hpp"
#include "hardware/memory/memory.hpp"

namespace qfs {

class Errands {
 public:
  Errands();
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  /// Calls `then`, which must not wait, when the transfer is over (null: there is none) and `delay`
  /// has gone by after that. To be called while the simulation runs.
  void after(std::shared_ptr<Transfer> transfer, Seconds delay, std::function<void()> then);

 private:
  class Errand;
  std::vector<std::unique_ptr<Errand>> all_;
  std::vector<Errand*> free_;
};

}  // namespace qfs
