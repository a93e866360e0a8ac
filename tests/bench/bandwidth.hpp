// The limit of whatever reads a large memory once, measured beside what is compared with it: a pure
// streaming read of as many bytes by as many threads.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "kernels/format.hpp"

namespace qfs::bench {

/// `bytes` of the memory that all benchmarks share, filled with numbers of unit variance in
/// `format` (rows of 128). Valid until the next call.
std::span<const std::byte> numbers_in_memory(Format format, std::size_t bytes);

/// Reads all of `bytes` with `threads` threads; returns something that depends on every byte.
unsigned read_all(std::span<const std::byte> bytes, std::size_t threads);

/// Time by the clock, and of the processors that worked for this program: the latter is disturbed
/// less by other programs.
struct Seconds {
  double wall;
  double processor;
};
Seconds now();

/// What one call takes.
template <class Call>
Seconds seconds(const Call& call) {
  const Seconds begin = now();
  call();
  const Seconds end = now();
  return {end.wall - begin.wall, end.processor - begin.processor};
}

/// Ratios of paired measurements, reported by their median.
class Ratios {
 public:
  void add(const Seconds& above, const Seconds& below) {
    wall_.push_back(above.wall / below.wall);
    processor_.push_back(above.processor / below.processor);
  }
  /// As the counters `name` and `name`_cpu.
  void report(benchmark::State& state, const std::string& name) const;

 private:
  std::vector<double> wall_;
  std::vector<double> processor_;
};

}  // namespace qfs::bench
