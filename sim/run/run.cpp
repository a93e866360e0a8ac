#include "sim/run/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "decode/cache_attention.hpp"
#include "decode/graph.hpp"
#include "decode/inputs.hpp"
#include "sim/report/text.hpp"
#include "sim/run/crossover_search.hpp"
#include "sim/run/isolate.hpp"
#include "sim/run/points.hpp"
#include "sim/run/progress.hpp"
#include "sim/run/serialize.hpp"

namespace qfs {
namespace {

constexpr double bytes_per_gib = 1024.0 * 1024.0 * 1024.0;

/// What the kernel says can be had without swapping; unlimited where it does not say.
std::size_t available_host_bytes() {
  std::ifstream info("/proc/meminfo");
  std::string key;
  std::size_t kib = 0;
  std::string rest;
  while (info >> key >> kib && std::getline(info, rest)) {
    if (key == "MemAvailable:") {
      return kib * 1024;
    }
  }
  return std::numeric_limits<std::size_t>::max();
}

/// What each tensor-parallel device cuts out of the matrices of which it holds columns.
std::size_t cut_columns_bytes(const RunConfig& config) {
  if (config.arrangement != Arrangement::tensor_parallel) {
    return 0;
  }
  const Format format = config.numerics.formats.weights;
  const Bytes layer = layer_weight_bytes(config.model, format) -
                      q_weight_bytes(config.model, format) -
                      2 * kv_weight_bytes(config.model, format);  // more than o and down
  return config.model.layers * static_cast<std::size_t>(layer.value());
}

/// The scores that the phases of every calibrated sweep hand on.
std::size_t logged_scores_bytes(const RunConfig& config, const InputsConfig& inputs) {
  if (!config.attention.softmax.is_calibrated()) {
    return 0;
  }
  std::size_t rows = 0;
  for (const std::size_t cached : inputs.contexts) {
    rows += (cached + inputs.tokens) * inputs.tokens;
  }
  return inputs.shape.layers * inputs.shape.heads * rows * sizeof(float);
}

/// A child holds its devices' copies of the caches, and the outputs of every operation for the
/// check.
std::size_t child_host_bytes(const RunConfig& config, const InputsConfig& inputs) {
  const ModelShape& shape = inputs.shape;
  const std::size_t weights =
      inputs_host_bytes({shape, inputs.formats, inputs.seed, {}, inputs.tokens, inputs.lm_head});
  const std::size_t log_values = 4 * (shape.hidden + shape.q_width() + shape.kv_width());
  const std::size_t longest = *std::max_element(inputs.contexts.begin(), inputs.contexts.end());
  const bool parallel = config.arrangement == Arrangement::tensor_parallel;
  const std::size_t copies = parallel ? config.tensor_parallel.devices : config.cache.split.devices;
  return inputs_host_bytes(inputs) - weights + cut_columns_bytes(config) +
         logged_scores_bytes(config, inputs) +
         attend_cache_host_bytes(config.attention.form, shape, longest + inputs.tokens) +
         copies * inputs.contexts.size() * inputs.tokens * shape.layers * log_values *
             sizeof(float);
}

/// How many numeric simulations fit this machine at once; at least one, or it is the user's to
/// change.
std::size_t numeric_jobs(const RunConfig& config, const InputsConfig& inputs) {
  const std::size_t shared = inputs_host_bytes(inputs);
  const std::size_t each = child_host_bytes(config, inputs);
  const std::size_t available = available_host_bytes();
  if (shared + each > available) {
    throw ConfigError(
        fmt::format("workload.context: numerics at context {} and batch {} need {:.1f} GiB of this "
                    "machine's memory, {:.1f} GiB "
                    "are available; shorten them, or set numerics.mode: off",
                    config.workload.context, config.workload.batch,
                    static_cast<double>(shared + each) / bytes_per_gib,
                    static_cast<double>(available) / bytes_per_gib));
  }
  return std::min(default_jobs(), 1 + (available - shared - each) / std::max<std::size_t>(1, each));
}

class Runner {
 public:
  explicit Runner(const RunConfig& config) : config_(config) { result_.config = config; }

  RunResult run() {
    const bool numeric = config_.numerics.mode == NumericsMode::full;
    const InputsConfig inputs = inputs_config(config_);
    const std::size_t jobs = numeric ? numeric_jobs(config_, inputs) : 0;
    result_.achieved = achieved_bandwidth(config_);
    for (const std::size_t context : contexts_of(config_)) {
      for (const BlockOrder block : blocks_of(config_)) {
        result_.points.push_back({block,
                                  context,
                                  {},
                                  std::nullopt,
                                  analytic_answer(config_, block, context, result_.achieved)});
      }
    }
    // Timing first: a child is cheap to fork while the weights have not been drawn.
    time_points(numeric ? blocks_of(config_).size() : 0);
    if (config_.crossovers == CrossoverSearch::on) {
      result_.crossovers = find_crossovers(config_);
    }
    if (numeric) {
      compute_points(inputs, jobs);
    }
    return std::move(result_);
  }

 private:
  /// All points from `first` on.
  void time_points(std::size_t first) {
    std::vector<std::function<SimulationResult()>> tasks;
    for (std::size_t i = first; i < result_.points.size(); ++i) {
      const PointResult& point = result_.points[i];
      SystemConfig system = system_config(config_, point.block, point.context);
      system.fault = {};
      tasks.emplace_back([system] { return simulate(system); });
    }
    std::vector<SimulationResult> done = run_isolated(tasks, default_jobs());
    for (std::size_t i = 0; i < done.size(); ++i) {
      result_.points[first + i].table = std::move(done[i].table);
    }
  }

  /// The points of the main context, which come first.
  void compute_points(const InputsConfig& inputs_config, std::size_t jobs) {
    const Inputs inputs = draw_inputs(inputs_config);
    const std::vector<BlockOrder> blocks = blocks_of(config_);
    ProgressStage stage("numerics of " + counted(blocks.size(), "block order"),
                        numeric_work(blocks));
    const Progress progress{.launched = [&] { stage.counter().advance(); },
                            .checked = [&] { stage.counter().advance(); }};
    std::vector<std::function<SimulationResult()>> tasks;
    for (const BlockOrder block : blocks) {
      const SystemConfig system = system_config(config_, block, config_.workload.context);
      tasks.emplace_back([this, system, &inputs, &progress] {
        const NumericRequest request{inputs, config_.numerics.check == NumericsCheck::every_step};
        return simulate(system, &request, progress);
      });
    }
    std::vector<SimulationResult> done = run_isolated(tasks, jobs, [&] { stage.show(); });
    for (std::size_t i = 0; i < done.size(); ++i) {
      result_.points[i].table = std::move(done[i].table);
      result_.points[i].numerics = std::move(done[i].numerics);
    }
  }

  static Inputs draw_inputs(const InputsConfig& config) {
    ProgressStage stage("drawing weights and caches", config.contexts.size() * config.shape.layers);
    return Inputs(config, [&] {
      stage.counter().advance();
      stage.show();
    });
  }

  /// Launches, checked operations and reference steps of all block orders.
  [[nodiscard]] std::uint64_t numeric_work(const std::vector<BlockOrder>& blocks) const {
    const Workload& workload = config_.workload;
    std::uint64_t work = 0;
    for (const BlockOrder block : blocks) {
      const GraphConfig graph = system_config(config_, block, config_.workload.context).graph;
      const std::uint64_t operations = make_graph(config_.model, graph).operations.size();
      work += operations / workload.batch;
      if (config_.numerics.check == NumericsCheck::every_step) {
        work += operations + workload.requests() * workload.tokens;
      }
    }
    return work;
  }

  const RunConfig& config_;
  RunResult result_;
};

}  // namespace

RunResult run(const RunConfig& config) { return Runner(config).run(); }

}  // namespace qfs
