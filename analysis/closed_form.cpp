#include "analysis/closed_form.hpp"

#include <algorithm>
#include <cassert>
#include <optional>

#include "analysis/fluid_memory.hpp"
#include "analysis/operation_costs.hpp"

namespace qfs {
namespace {

/// One device: an executor that runs one operation at a time, and its memory.
class Executor {
 public:
  explicit Executor(const AnalyticDevice& device) : device_(device), memory_(device.bandwidth) {}

  /// When the operation ends that is the next to run here and has its inputs at `ready`. The
  /// launches come first; then the memory stream and the arithmetic run side by side.
  double run(double ready, const AnalyticCost& cost) {
    const double launched = std::max(ready, free_) + launch_time(cost, device_).value();
    const double streamed = memory_.end(memory_.add(launched, cost.bytes));
    free_ = std::max(streamed, launched + arithmetic_time(cost, device_).value());
    return free_;
  }
  FluidMemory& memory() { return memory_; }

 private:
  const AnalyticDevice& device_;
  FluidMemory memory_;
  double free_ = 0;
};

/// One direction of the link: first in, first out.
class Port {
 public:
  explicit Port(const AnalyticParameters& parameters) : parameters_(parameters) {}

  /// When a message arrives that is `ready`. Messages are given in the order in which they become
  /// ready.
  double send(double ready, Bytes bytes) {
    const Seconds busy = parameters_.link_message_overhead + bytes / parameters_.link_bandwidth;
    free_ = std::max(ready, free_) + busy.value();
    return free_ + parameters_.link_latency.value();
  }

 private:
  const AnalyticParameters& parameters_;
  double free_ = 0;
};

/// The cache as the sweeps see it: which append each of them waits for.
class CacheWrites {
 public:
  CacheWrites(const AnalyticParameters& parameters, FluidMemory& memory)
      : own_first_(parameters.current_token == CurrentToken::append_first),
        memory_(memory),
        last_(parameters.shape.layers) {}

  /// The append of `layer` starts; returns when the sweep of the same token finds its cache ready:
  /// after the previous token's append, or after this one (append_first).
  double write(std::size_t layer, double start, Bytes bytes) {
    const FluidMemory::Stream append = memory_.add(start, bytes);
    const std::optional<FluidMemory::Stream> previous = last_[layer];
    last_[layer] = append;
    if (own_first_) {
      return memory_.end(append);
    }
    return previous ? memory_.end(*previous) : 0;
  }
  /// Whether a sweep of the present cache could start before `time`.
  bool settled_before(std::size_t layer, double time) {
    return !last_[layer] || memory_.ends_before(*last_[layer], time);
  }

 private:
  bool own_first_;
  FluidMemory& memory_;
  std::vector<std::optional<FluidMemory::Stream>> last_;  // by layer
};

class TwoDevice {
 public:
  explicit TwoDevice(const AnalyticParameters& parameters)
      : parameters_(parameters),
        costs_(parameters),
        compute_(parameters.compute),
        cache_(parameters.cache),
        to_cache_(parameters),
        to_compute_(parameters),
        writes_(parameters, cache_.memory()) {}

  // The compute device's order is the same whatever the times: q is awaited by the cache device and
  // goes first, every later operation waits for the one before it, and o waits for the sweep.
  double layer(std::size_t layer, std::size_t token, double x) {
    switch (parameters_.block) {
      case BlockOrder::standard:
        return compute_.run(attend(layer, token, project(x)), costs_.ffn());
      case BlockOrder::swapped:
        return attend(layer, token, project(compute_.run(x, costs_.ffn())));
      case BlockOrder::early_q:
        return attend(layer, token, project_early(x));
    }
    return x;
  }
  double lm_head(double x) { return compute_.run(x, costs_.lm_head()); }

 private:
  struct Projected {
    double q_there;   // on the cache device
    double kv_there;  // likewise
    double kv_made;   // on the compute device, for the merge
  };

  Projected project(double x) {
    if (costs_.fused_qkv()) {
      const double made = compute_.run(x, costs_.qkv());
      const double there = to_cache_.send(made, costs_.q_message() + costs_.kv_message());
      return {there, there, made};
    }
    const double q_there = to_cache_.send(compute_.run(x, costs_.q()), costs_.q_message());
    return project_kv(x, q_there);
  }
  Projected project_early(double x) {
    const double q_there = to_cache_.send(compute_.run(x, costs_.q()), costs_.q_message());
    return project_kv(compute_.run(x, costs_.ffn()), q_there);
  }
  Projected project_kv(double z, double q_there) {
    const double made = compute_.run(z, costs_.kv());
    return {q_there, to_cache_.send(made, costs_.kv_message()), made};
  }

  double attend(std::size_t layer, std::size_t token, const Projected& projected) {
    const double cache_ready = writes_.write(layer, projected.kv_there, costs_.append());
    const double swept = cache_.run(std::max(projected.q_there, cache_ready),
                                    costs_.sweep(costs_.swept_positions(token)));
    const double parked = to_compute_.send(swept, costs_.partial_message());
    return compute_.run(std::max(projected.kv_made, parked), costs_.o());
  }

  const AnalyticParameters& parameters_;
  AnalyticCosts costs_;
  Executor compute_;
  Executor cache_;
  Port to_cache_;
  Port to_compute_;
  CacheWrites writes_;
};

class Colocated {
 public:
  explicit Colocated(const AnalyticParameters& parameters)
      : parameters_(parameters),
        costs_(parameters),
        device_(parameters.compute),
        writes_(parameters, device_.memory()) {}

  double layer(std::size_t layer, std::size_t token, double x) {
    const AnalyticCost sweep = costs_.sweep(costs_.swept_positions(token));
    switch (parameters_.block) {
      case BlockOrder::standard:
        return device_.run(attend(layer, sweep, x), costs_.ffn());
      case BlockOrder::swapped:
        return attend(layer, sweep, device_.run(x, costs_.ffn()));
      case BlockOrder::early_q:
        return attend_early(layer, sweep, x);
    }
    return x;
  }
  double lm_head(double x) { return device_.run(x, costs_.lm_head()); }

 private:
  // kv is ready with q, hence before the sweep.
  double attend(std::size_t layer, const AnalyticCost& sweep, double x) {
    if (costs_.fused_qkv()) {
      const double made = device_.run(x, costs_.qkv());
      return finish(layer, sweep, made, made);
    }
    const double q_made = device_.run(x, costs_.q());
    return finish(layer, sweep, q_made, device_.run(x, costs_.kv()));
  }
  // The sweep is ready when q is made and the previous token's append has landed. If that was
  // before z, it is ready longer than kv and goes first; else kv does, by program order at the
  // latest. The ffn is ready at x, before both.
  double attend_early(std::size_t layer, const AnalyticCost& sweep, double x) {
    const double q_made = device_.run(x, costs_.q());
    const double z = device_.run(x, costs_.ffn());
    const bool sweep_first =
        parameters_.current_token == CurrentToken::merge && writes_.settled_before(layer, z);
    if (!sweep_first) {
      return finish(layer, sweep, q_made, device_.run(z, costs_.kv()));
    }
    const double swept = device_.run(q_made, sweep);
    const double kv_made = device_.run(z, costs_.kv());
    writes_.write(layer, kv_made, costs_.append());
    return device_.run(std::max(swept, kv_made), costs_.o());
  }
  // k and v are there: append, sweep, o.
  double finish(std::size_t layer, const AnalyticCost& sweep, double q_made, double kv_made) {
    const double cache_ready = writes_.write(layer, kv_made, costs_.append());
    const double swept = device_.run(std::max(q_made, cache_ready), sweep);
    return device_.run(std::max(swept, kv_made), costs_.o());
  }

  const AnalyticParameters& parameters_;
  AnalyticCosts costs_;
  Executor device_;
  CacheWrites writes_;
};

// A token's input is there when the token before it has ended; its embedding costs nothing.
template <class Arrangement>
AnalyticTimes times_of(const AnalyticParameters& parameters) {
  assert(parameters.tokens >= 1 && parameters.batch >= 1);
  Arrangement arrangement(parameters);
  AnalyticTimes times;
  double end = 0;
  for (std::size_t token = 0; token < parameters.tokens; ++token) {
    const double input = end;
    for (std::size_t layer = 0; layer < parameters.shape.layers; ++layer) {
      end = arrangement.layer(layer, token, end);
    }
    if (token == 0) {
      times.stack_time = Seconds(end);
    }
    if (parameters.lm_head) {
      end = arrangement.lm_head(end);
    }
    times.step_times.emplace_back(end - input);
  }
  return times;
}

}  // namespace

AnalyticTimes two_device_times(const AnalyticParameters& parameters) {
  return times_of<TwoDevice>(parameters);
}

AnalyticTimes colocated_times(const AnalyticParameters& parameters) {
  return times_of<Colocated>(parameters);
}

}  // namespace qfs
