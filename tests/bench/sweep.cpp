// Sweeps of a large cache against the read bandwidth (DESIGN section 11): 8 KV heads, head_dim 128.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/attention.hpp"
#include "tests/bench/bandwidth.hpp"

namespace qfs::bench {
namespace {

constexpr std::size_t kv_heads = 8;
constexpr std::size_t head_dim = 128;

/// A cache that fills `bytes`, K in its first half.
struct Cache {
  std::vector<float> scales;
  std::span<const std::byte> bytes;
  KvRows rows;

  Cache(Format format, std::size_t positions) : scales(kv_heads * positions, 1.0F / 32) {
    const std::size_t half = kv_heads * positions * head_dim * bytes_per_value(format);
    bytes = numbers_in_memory(format, 2 * half);
    rows = {format,   bytes.data(), bytes.data() + half, scales.data(), scales.data(),
            kv_heads, head_dim,     positions,           positions};
  }
};

struct States {
  std::vector<float> q;
  std::vector<float> o;
  std::vector<float> lse;
  explicit States(std::size_t heads) : q(heads * head_dim, 0.1F), o(heads * head_dim), lse(heads) {}
};

/// Arguments: positions, query heads a KV head, threads. Counters, each the median of pairs
/// measured one after the other: the share of the read bandwidth; the time against that of one
/// query head a KV head; and both again in processor time.
void sweep_bytes(benchmark::State& state, Format format) {
  const auto positions = static_cast<std::size_t>(state.range(0));
  const auto group = static_cast<std::size_t>(state.range(1));
  const SweepOptions options{1, static_cast<std::size_t>(state.range(2))};
  const Cache cache(format, positions);
  States states(group * kv_heads);
  States one(kv_heads);
  Ratios share;
  Ratios of_group_1;
  for (auto _ : state) {
    const Seconds limit =
        seconds([&] { benchmark::DoNotOptimize(read_all(cache.bytes, options.threads)); });
    const Seconds taken =
        seconds([&] { sweep(states.q, cache.rows, states.o, states.lse, options); });
    const Seconds single = seconds([&] { sweep(one.q, cache.rows, one.o, one.lse, options); });
    state.SetIterationTime(taken.wall);
    share.add(limit, taken);
    of_group_1.add(taken, single);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(cache.bytes.size()));
  share.report(state, "share");
  of_group_1.report(state, "of_group_1");
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t positions : {1 << 16, 1 << 18}) {
    for (const std::int64_t threads : {1, 2}) {
      for (const std::int64_t group : {1, 2, 4}) {
        benchmark->Args({positions, group, threads});
      }
    }
  }
  benchmark->ArgNames({"n", "group", "threads"})->UseManualTime()->Unit(benchmark::kMillisecond);
}
/// A narrower format against bf16, arguments as above: how many times sooner the same positions are
/// done, the median of pairs.
void faster_than_bf16(benchmark::State& state, Format format) {
  const auto positions = static_cast<std::size_t>(state.range(0));
  const SweepOptions options{1, static_cast<std::size_t>(state.range(2))};
  const Cache narrow(format, positions);
  const Cache wide(Format::bf16, positions);
  States states(static_cast<std::size_t>(state.range(1)) * kv_heads);
  Ratios faster;
  for (auto _ : state) {
    const auto swept = [&](const Cache& cache) {
      return seconds([&] { sweep(states.q, cache.rows, states.o, states.lse, options); });
    };
    const Seconds taken = swept(narrow);
    state.SetIterationTime(taken.wall);
    faster.add(swept(wide), taken);
  }
  faster.report(state, "faster");
}

/// The reference in fp64 against the fast sweep, one thread: how many times longer it takes.
void reference(benchmark::State& state) {
  const Cache cache(Format::bf16, 4096);
  States states(kv_heads * static_cast<std::size_t>(state.range(0)));
  const std::vector<double> q(states.q.begin(), states.q.end());
  std::vector<double> o(q.size());
  std::vector<double> lse(states.lse.size());
  Ratios slower;
  for (auto _ : state) {
    const Seconds exact = seconds([&] { sweep_reference(q, cache.rows, o, lse); });
    const Seconds fast = seconds([&] { sweep(states.q, cache.rows, states.o, states.lse); });
    state.SetIterationTime(exact.wall);
    slower.add(exact, fast);
  }
  slower.report(state, "slower");
}
BENCHMARK(reference)->ArgName("group")->Arg(1)->Arg(2)->Arg(4)->UseManualTime()->Unit(
    benchmark::kMillisecond);

BENCHMARK_CAPTURE(sweep_bytes, bf16, Format::bf16)->Apply(sizes);
BENCHMARK_CAPTURE(sweep_bytes, fp8_e4m3, Format::fp8_e4m3)->Apply(sizes);
BENCHMARK_CAPTURE(sweep_bytes, fp8_e5m2, Format::fp8_e5m2)->Apply(sizes);
BENCHMARK_CAPTURE(sweep_bytes, int8, Format::int8)->Apply(sizes);
BENCHMARK_CAPTURE(sweep_bytes, fp16, Format::fp16)->Apply(sizes);
BENCHMARK_CAPTURE(faster_than_bf16, fp8_e4m3, Format::fp8_e4m3)->Apply(sizes);
BENCHMARK_CAPTURE(faster_than_bf16, fp8_e5m2, Format::fp8_e5m2)->Apply(sizes);
BENCHMARK_CAPTURE(faster_than_bf16, int8, Format::int8)->Apply(sizes);

}  // namespace
}  // namespace qfs::bench
