#include "tests/bench/bandwidth.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/bench/bandwidth.cpp"
#include "kernels/simd/targets.hpp"
//
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include "base/random.hpp"
#include "kernels/parallel.hpp"

HWY_BEFORE_NAMESPACE();
namespace qfs::bench::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// How far ahead memory is called: of the distances tried, the one that read fastest.
constexpr std::size_t ahead = 16'384;
constexpr std::size_t step = 256;

unsigned sum_of(std::span<const std::byte> bytes) {
  const hn::ScalableTag<std::uint32_t> d;
  constexpr std::size_t width = hn::MaxLanes(d) * sizeof(std::uint32_t);
  const auto* from = reinterpret_cast<const std::uint32_t*>(bytes.data());
  hn::Vec<decltype(d)> sums[step / width];
  for (auto& sum : sums) {
    sum = hn::Zero(d);
  }
  for (std::size_t at = 0; at + step <= bytes.size(); at += step) {
    for (std::size_t line = 0; line < step; line += 64) {
      __builtin_prefetch(reinterpret_cast<const char*>(from) + at + line + ahead, 0, 2);
    }
    for (std::size_t i = 0; i < step / width; ++i) {
      sums[i] = hn::Add(sums[i], hn::LoadU(d, from + at / 4 + i * hn::MaxLanes(d)));
    }
  }
  for (std::size_t i = 1; i < step / width; ++i) {
    sums[0] = hn::Add(sums[0], sums[i]);
  }
  return hn::GetLane(hn::SumOfLanes(d, sums[0]));
}

}  // namespace qfs::bench::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace qfs::bench {
namespace {

HWY_EXPORT(sum_of);

constexpr std::size_t row = 128;
constexpr std::size_t pattern_rows = 509;  // a prime, so that nothing falls into step with it
constexpr std::size_t read_unit = 1U << 21U;

std::vector<std::byte> pattern(Format format) {
  const Random random(1, 1);
  std::vector<float> values(row * pattern_rows);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(random.normal(i));
  }
  const std::size_t width = row * bytes_per_value(format);
  std::vector<std::byte> bytes(pattern_rows * width);
  for (std::size_t r = 0; r < pattern_rows; ++r) {
    encode_row(format, std::span(values).subspan(r * row, row),
               std::span(bytes).subspan(r * width, width));
  }
  return bytes;
}

}  // namespace

std::span<const std::byte> numbers_in_memory(Format format, std::size_t bytes) {
  static std::array<std::vector<std::byte>, enum_names<Format>.size()> memories;
  std::vector<std::byte>& memory = memories[static_cast<std::size_t>(format)];
  if (memory.size() < bytes) {
    memory = std::vector<std::byte>(bytes);
    const std::vector<std::byte> source = pattern(format);
    for (std::size_t at = 0; at < bytes; at += source.size()) {
      std::copy_n(source.begin(), std::min(source.size(), bytes - at), memory.begin() + at);
    }
  }
  return std::span(memory).first(bytes);
}

unsigned read_all(std::span<const std::byte> bytes, std::size_t threads) {
  std::atomic<unsigned> total{0};
  for_each_unit((bytes.size() + read_unit - 1) / read_unit, threads, [&](std::size_t unit) {
    const std::size_t at = unit * read_unit;
    total +=
        HWY_DYNAMIC_DISPATCH(sum_of)(bytes.subspan(at, std::min(read_unit, bytes.size() - at)));
  });
  return total;
}

Seconds now() {
  timespec wall{};
  timespec processor{};
  clock_gettime(CLOCK_MONOTONIC, &wall);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &processor);
  const auto in_seconds = [](const timespec& time) {
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  return {in_seconds(wall), in_seconds(processor)};
}

namespace {

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

void Ratios::report(benchmark::State& state, const std::string& name) const {
  state.counters[name] = median(wall_);
  state.counters[name + "_cpu"] = median(processor_);
}

}  // namespace qfs::bench
#endif
