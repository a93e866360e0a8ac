// A sweep from nothing to its stored results: points a second, on all cores (DESIGN section 11 asks
// nothing of it; issue 6 asks for 300 a second on two). And how long a million points take to plan.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "sim/config/presets.hpp"
#include "sim/sweep/sweep.hpp"
#include "sim/sweep/sweep_points.hpp"

namespace qfs::bench {
namespace {

namespace fs = std::filesystem;

/// The shipped ones.
fs::path configs() { return preset_folders().back(); }

/// A folder of its own, gone at the end.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "qfsim-bench-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

fs::path context_batch_file() { return configs() / "sweeps" / "context-batch.yaml"; }

/// The same sweep but for one piece of its text.
SweepConfig context_batch_with(const std::string& other, const std::string& than) {
  std::ifstream file(context_batch_file());
  std::string text(std::istreambuf_iterator<char>(file), {});
  const auto replace = [&text](const std::string& old, const std::string& by) {
    const std::size_t at = text.find(old);
    if (at == std::string::npos) {
      throw std::runtime_error("context-batch.yaml no longer holds: " + old);
    }
    text.replace(at, old.size(), by);
  };
  replace(than, other);
  replace("run: ../runs", "run: " + (configs() / "runs").string());
  const Folder folder;
  const fs::path changed = folder.path() / "changed.yaml";
  std::ofstream(changed) << text;
  return load_sweep_config(changed);
}

/// A point of the map is both block orders.
void simulate_map(benchmark::State& state, const SweepConfig& config) {
  std::uint64_t points = 0;
  for (auto _ : state) {
    const Folder folder;
    check_points(config);
    ResultStore store(folder.path() / "store.sqlite");
    points += simulate_sweep(config, store).points / config.variants.size();
  }
  state.counters["points_per_s"] =
      benchmark::Counter(static_cast<double>(points), benchmark::Counter::kIsRate);
}

void context_batch(benchmark::State& state) {
  simulate_map(state, load_sweep_config(context_batch_file()));
}
BENCHMARK(context_batch)->Unit(benchmark::kSecond)->UseRealTime()->Iterations(1);

void context_batch_repeating_layers(benchmark::State& state) {
  simulate_map(state, context_batch_with("layers: repeating\naxes:", "axes:"));
}
BENCHMARK(context_batch_repeating_layers)->Unit(benchmark::kSecond)->UseRealTime()->Iterations(1);

/// Memories that have a bandwidth (DRAM's peak) and no more.
void context_batch_ideal_memory(benchmark::State& state) {
  simulate_map(state, context_batch_with("memory: ideal, bandwidth: 4915.2 GB/s",
                                         "memory: stream, dram: hbm3-6400, dram_parts: 6"));
}
BENCHMARK(context_batch_ideal_memory)->Unit(benchmark::kSecond)->UseRealTime()->Iterations(1);

void plan_a_million(benchmark::State& state) {
  const Folder folder;
  const fs::path file = folder.path() / "sweep.yaml";
  std::ofstream(file) << "name: s\nrun: " << (configs() / "runs" / "two-h200.yaml").string()
                      << "\naxes:\n"
                         "  workload.context: {from: 1, to: 1000, steps: 1000}\n"
                         "  link.latency: {from: 1 us, to: 1 ms, steps: 500}\n"
                         "variants: {a: {block: standard}, b: {block: early_q}}\n"
                         "constraints: [{skip: {workload.context: {above: 500}, variant: b}, "
                         "because: half}]\n";
  for (auto _ : state) {
    const SweepConfig config = load_sweep_config(file);
    check_points(config);
    const SweepSpace space(config);
    std::uint64_t skipped = 0;
    for (std::uint64_t index = 0; index < space.points(); ++index) {
      skipped += space.skipped_by(space.at(index)) != nullptr ? 1 : 0;
    }
    benchmark::DoNotOptimize(skipped);
  }
}
BENCHMARK(plan_a_million)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace qfs::bench
