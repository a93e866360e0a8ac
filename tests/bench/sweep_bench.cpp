// A sweep from nothing to its stored results: points a second, on all cores (DESIGN section 11 asks
// nothing of it; issue 6 asks for 300 a second on two). And how long a million points take to plan.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
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

/// A point of the map is both block orders.
void context_batch(benchmark::State& state) {
  const SweepConfig config = load_sweep_config(configs() / "sweeps" / "context-batch.yaml");
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
BENCHMARK(context_batch)->Unit(benchmark::kSecond)->UseRealTime()->Iterations(1);

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
