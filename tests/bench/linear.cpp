// Products of a large matrix with a few vectors against the read bandwidth.
#include "kernels/linear.hpp"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "tests/bench/bandwidth.hpp"

namespace qfs::bench {
namespace {

/// Arguments: rows, columns, vectors, threads. Counters: the share of the read bandwidth, the
/// median of pairs measured one after the other, and the same in processor time.
void linear_bytes(benchmark::State& state, Format format) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  const auto columns = static_cast<std::size_t>(state.range(1));
  const auto batch = static_cast<std::size_t>(state.range(2));
  const auto threads = static_cast<std::size_t>(state.range(3));
  const std::vector<float> scales(has_scales(format) ? rows : 0, 1.0F / 32);
  const Matrix w{format, numbers_in_memory(format, rows * columns * bytes_per_value(format)),
                 scales, rows, columns};
  const std::vector<float> x(batch * columns, 0.1F);
  std::vector<float> y(batch * rows);
  Ratios share;
  for (auto _ : state) {
    const Seconds limit = seconds([&] { benchmark::DoNotOptimize(read_all(w.values, threads)); });
    const Seconds taken = seconds([&] { linear(w, x, y, threads); });
    state.SetIterationTime(taken.wall);
    share.add(limit, taken);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(w.values.size()));
  share.report(state, "share");
}

// An LM head of a small model, and a feed-forward's long rows, many times over.
void sizes(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t threads : {1, 2}) {
    for (const std::int64_t batch : {1, 4}) {
      benchmark->Args({151'936, 1024, batch, threads});
      benchmark->Args({65'536, 4096, batch, threads});
    }
  }
  benchmark->ArgNames({"rows", "columns", "batch", "threads"})
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(linear_bytes, bf16, Format::bf16)->Apply(sizes);
BENCHMARK_CAPTURE(linear_bytes, fp8_e4m3, Format::fp8_e4m3)->Apply(sizes);
BENCHMARK_CAPTURE(linear_bytes, int8, Format::int8)->Apply(sizes);

}  // namespace
}  // namespace qfs::bench
