// Independent units of work on a few threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <thread>
#include <vector>

namespace qfs {

/// Calls work(i) once for every i < units, from `threads` threads, at least 1, of which the caller
/// is one; each takes the next unit that is left. `work` throws nothing.
template <class Work>
void for_each_unit(std::size_t units, std::size_t threads, const Work& work) {
  assert(threads >= 1);
  std::atomic<std::size_t> next{0};
  const auto take = [&] {
    for (std::size_t i = next++; i < units; i = next++) {
      work(i);
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < std::min(threads, units); ++i) {
    others.emplace_back(take);
  }
  take();
}

}  // namespace qfs
