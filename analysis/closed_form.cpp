#include "analysis/closed_form.hpp"

#include <cassert>
#include <optional>

#include "analysis/block_reads.hpp"
#include "analysis/list_schedule.hpp"
#include "analysis/operation_costs.hpp"

namespace qfs {
namespace {

using Task = ListSchedule::Task;
using Tasks = ListSchedule::Tasks;

/// Program order within a layer.
enum class Place { q, k, v, sweep, merge, o, ffn, lm_head, count };

/// The residual stream between two layers: after which task it has each value. None: from the
/// start.
struct Stream {
  std::optional<Task> now;
  std::optional<Task> before_ffn;
  std::optional<Task> network_input;
};

/// Tasks and, where the caches have a device of their own, the messages between the two.
class Stack {
 public:
  Stack(const AnalyticParameters& parameters, bool two_devices)
      : parameters_(parameters),
        costs_(parameters),
        reads_(block_reads(parameters.block)),
        two_devices_(two_devices),
        compute_(schedule_.add_device(parameters.compute)),
        cache_(two_devices ? schedule_.add_device(parameters.cache) : compute_),
        appends_(parameters.shape.layers) {
    if (two_devices) {
      to_cache_ = schedule_.add_port(parameters.link_message_overhead, parameters.link_bandwidth,
                                     parameters.link_latency);
      to_compute_ = schedule_.add_port(parameters.link_message_overhead, parameters.link_bandwidth,
                                       parameters.link_latency);
    }
  }

  AnalyticTimes times() {
    std::vector<Task> outputs;
    std::vector<Task> ends;
    std::optional<Task> input;
    for (token_ = 0; token_ < parameters_.tokens; ++token_) {
      outputs.push_back(add_token(input));
      ends.push_back(parameters_.lm_head ? add_lm_head(outputs.back()) : outputs.back());
      input = ends.back();
    }
    const std::vector<double> end_of = schedule_.run();
    AnalyticTimes times{Seconds(end_of[outputs.front()]), {}};
    double start = 0;
    for (const Task end : ends) {
      times.step_times.emplace_back(end_of[end] - start);
      start = end_of[end];
    }
    return times;
  }

 private:
  struct Projected {
    Tasks made;      // on the compute device
    Tasks q_there;   // on the cache's
    Tasks kv_there;  // likewise
  };

  Task add_token(std::optional<Task> input) {
    Stream stream{input, input, input};
    for (layer_ = 0; layer_ < parameters_.shape.layers; ++layer_) {
      stream = add_layer(stream);
    }
    return stream.now.value();
  }

  Stream add_layer(const Stream& x) {
    if (reads_.ffn_first) {
      const Task z = add(Place::ffn, costs_.ffn(), after(x.now));
      return {add_attention(x, z, z), x.now, x.network_input};
    }
    const Task y = add_attention(x, std::nullopt, x.now);
    return {add(Place::ffn, costs_.ffn(), {y}), y, x.network_input};
  }

  /// The attention's output added to the stream as it is after `residual`.
  Task add_attention(const Stream& x, std::optional<Task> z, std::optional<Task> residual) {
    const auto point = [&](ReadPoint read) {
      switch (point_in_layer(read, layer_)) {
        case ReadPoint::after_ffn:
          return after(z);
        case ReadPoint::before_ffn:
          return after(x.before_ffn);
        case ReadPoint::network_input:
          return after(x.network_input);
        case ReadPoint::input:
          break;
      }
      return after(x.now);
    };
    const Projected projected = project(point(reads_.q), point(reads_.k), point(reads_.v));
    Tasks operands = sweep(projected);
    if (!own_token_first()) {
      operands.insert(operands.end(), projected.made.begin(), projected.made.end());
      operands = {add(Place::merge, {}, operands)};
    }
    if (residual) {
      operands.push_back(*residual);
    }
    return add(Place::o, costs_.o(), operands);
  }

  Projected project(const Tasks& q_from, const Tasks& k_from, const Tasks& v_from) {
    Projected projected;
    if (costs_.fused_qkv(layer_)) {
      const Task qkv = add(Place::q, costs_.qkv(), q_from);
      projected.made = {qkv};
      projected.q_there = to_cache(costs_.q_message() + costs_.kv_message(), qkv);
      projected.kv_there = projected.q_there;
      return projected;
    }
    const Task q = add(Place::q, costs_.q(), q_from);
    projected.q_there = to_cache(costs_.q_message(), q);
    if (kv_together(reads_)) {
      const Task kv = add(Place::k, costs_.kv(), k_from);
      projected.kv_there = to_cache(costs_.kv_message(), kv);
      projected.made = {q, kv};
      return projected;
    }
    const Task k = add(Place::k, costs_.k_or_v(), k_from);
    const Task v = add(Place::v, costs_.k_or_v(), v_from);
    projected.kv_there = to_cache(costs_.k_or_v_message(), k);
    const Tasks v_there = to_cache(costs_.k_or_v_message(), v);
    projected.kv_there.insert(projected.kv_there.end(), v_there.begin(), v_there.end());
    projected.made = {q, k, v};
    return projected;
  }

  /// The append and the sweep; the result where the merge finds it. The sweep waits for the append
  /// of the token before or, if the own token goes first, for its own.
  Tasks sweep(const Projected& projected) {
    const std::optional<Task> before = appends_[layer_];
    const Task append = schedule_.add_write(cache_, costs_.append(token_), projected.kv_there);
    appends_[layer_] = append;
    Tasks waits = projected.q_there;
    if (own_token_first()) {
      waits.push_back(append);
    } else if (before) {
      waits.push_back(*before);
    }
    const Task swept = schedule_.add_operation(cache_, costs_.sweep(costs_.swept_positions(token_)),
                                               rank(Place::sweep), waits);
    if (!two_devices_) {
      return {swept};
    }
    return {schedule_.add_message(to_compute_, costs_.partial_message(), {swept})};
  }

  Task add_lm_head(Task output) { return add(Place::lm_head, costs_.lm_head(), {output}); }

  Task add(Place place, const AnalyticCost& cost, const Tasks& waits) {
    return schedule_.add_operation(compute_, cost, rank(place), waits);
  }

  Tasks to_cache(Bytes bytes, Task made) {
    return two_devices_ ? Tasks{schedule_.add_message(to_cache_, bytes, {made})} : Tasks{made};
  }

  /// The cache device awaits q, and k and v where the sweep covers them.
  [[nodiscard]] ListSchedule::Rank rank(Place place) const {
    const bool kv = place == Place::k || place == Place::v;
    const bool awaited = place == Place::q || (kv && own_token_first());
    const auto places = static_cast<std::size_t>(Place::count);
    const std::size_t layers = parameters_.shape.layers;
    return {two_devices_ && awaited,
            (token_ * (layers + 1) + layer_) * places + static_cast<std::size_t>(place)};
  }

  [[nodiscard]] bool own_token_first() const {
    return parameters_.current_token == CurrentToken::append_first;
  }
  static Tasks after(std::optional<Task> task) { return task ? Tasks{*task} : Tasks{}; }

  const AnalyticParameters& parameters_;
  AnalyticCosts costs_;
  BlockReads reads_;
  bool two_devices_;
  ListSchedule schedule_;
  ListSchedule::Device compute_;
  ListSchedule::Device cache_;
  ListSchedule::Port to_cache_ = 0;
  ListSchedule::Port to_compute_ = 0;
  std::vector<std::optional<Task>> appends_;  // by layer: of the token before
  std::size_t token_ = 0;
  std::size_t layer_ = 0;
};

}  // namespace

AnalyticTimes two_device_times(const AnalyticParameters& parameters) {
  assert(parameters.tokens >= 1 && parameters.batch >= 1);
  return Stack(parameters, true).times();
}

AnalyticTimes colocated_times(const AnalyticParameters& parameters) {
  assert(parameters.tokens >= 1 && parameters.batch >= 1);
  return Stack(parameters, false).times();
}

}  // namespace qfs
