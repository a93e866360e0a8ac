#include "sim/report/derived.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/report/intervals.hpp"

namespace qfs {
namespace {

void add(Work& total, const Work& work) {
  total.weight_bytes += work.weight_bytes;
  total.kv_read_bytes += work.kv_read_bytes;
  total.kv_written_bytes += work.kv_written_bytes;
  total.activation_bytes += work.activation_bytes;
  total.macs += work.macs;
  total.exps += work.exps;
  total.launches += work.launches;
}

/// The places and, for each resource, the index of its place.
std::vector<std::size_t> index_places(const ExecutionTable& table,
                                      std::vector<PlaceTraffic>& traffic) {
  std::vector<std::size_t> index;
  for (std::size_t i = 0; i < table.resources.size(); ++i) {
    const std::string place = place_of(table.resources[i]);
    auto at = std::find_if(traffic.begin(), traffic.end(),
                           [&](const PlaceTraffic& known) { return known.place == place; });
    if (at == traffic.end()) {
      const bool is_link = table.resources[i].kind == ResourceKind::link;
      at = traffic.insert(at, {place, is_link, i, {}, Bytes(0)});
    }
    index.push_back(static_cast<std::size_t>(at - traffic.begin()));
  }
  return index;
}

bool in_step(const Row& row, StepId step) {
  return std::any_of(row.members.begin(), row.members.end(),
                     [step](const Member& member) { return member.step == step; });
}

/// Mean over the layers that have such rows in the first step; 0 if there are none. What comes of
/// the embedding counts beside the layers: layer 0 sends a residual of its own, too.
template <class Predicate>
Seconds mean_layer_time(const WaveRows& rows, Predicate wanted) {
  std::map<std::pair<LayerId, bool>, std::vector<Interval>> layers;
  for (const Row* row : rows) {
    if (row->fate == RowFate::used && in_step(*row, StepId(0)) && wanted(*row)) {
      layers[{row->layer, row->op == OpKind::embed}].push_back({row->start, row->end});
    }
  }
  Femtoseconds total{0};
  for (auto& [layer, intervals] : layers) {
    total += covered_time(std::move(intervals));
  }
  const double count = static_cast<double>(std::max<std::size_t>(layers.size(), 1));
  return Seconds(to_seconds(total).value() / count);
}

/// Collects what takes time.
class PeakLoads {
 public:
  explicit PeakLoads(const StepTime& step) : step_(to_seconds(step.length())) {}

  void add_device(const PlaceTraffic& at, const DeviceConfig& device) {
    const double launches = at.work.launches;
    add(at.place + " memory", at.work.memory_bytes() / device.bandwidth);
    add(at.place + " compute", at.work.macs / device.mac_rate);
    add(at.place + " exponentials", at.work.exps / device.exp_rate);
    add(at.place + " launches", launches * device.launch_overhead);
  }
  void add_link(const PlaceTraffic& at, const LinkConfig& link) {
    const auto messages = static_cast<double>(at.messages);
    add(at.place, messages * link.message_overhead + at.wire_bytes / link.bandwidth);
  }
  [[nodiscard]] std::vector<PeakLoad> loads() && { return std::move(loads_); }

 private:
  void add(std::string resource, Seconds time) {
    if (time.value() > 0) {
      loads_.push_back({std::move(resource), time, time.value() / step_.value()});
    }
  }

  Seconds step_;
  std::vector<PeakLoad> loads_;
};

template <class Predicate>
std::vector<PlaceTraffic> traffic_where(const ExecutionTable& table, Predicate counts) {
  std::vector<PlaceTraffic> traffic;
  const std::vector<std::size_t> index = index_places(table, traffic);
  for (const Row& row : table.rows) {
    if (!counts(row)) {
      continue;
    }
    PlaceTraffic& at = traffic[index[row.resource]];
    add(at.work, row.work);
    at.wire_bytes += row.wire_bytes;
    at.messages += row.is_message() ? 1 : 0;
  }
  return traffic;
}

}  // namespace

std::vector<PlaceTraffic> traffic_of(const ExecutionTable& table, std::optional<StepId> step) {
  return traffic_where(table, [step](const Row& row) { return !step || row.step == *step; });
}

PlaceTraffic total_of(std::span<const PlaceTraffic> traffic) {
  PlaceTraffic total;
  total.place = "total";
  for (const PlaceTraffic& at : traffic) {
    add(total.work, at.work);
    total.wire_bytes += at.wire_bytes;
    total.messages += at.messages;
  }
  return total;
}

Femtoseconds port_time(const Row& message, const LinkConfig& link) {
  const Femtoseconds port =
      to_femtoseconds(link.message_overhead + message.wire_bytes / link.bandwidth);
  return std::min(port, message.end - message.start);
}

std::vector<ResourceUse> use_of(const ExecutionTable& table, const StepTime& step,
                                const LinkConfig& link) {
  std::vector<std::vector<Interval>> intervals(table.resources.size());
  for (const Row& row : table.rows) {
    const Femtoseconds end = row.is_message() ? row.start + port_time(row, link) : row.end;
    intervals[row.resource].push_back({row.start, end});
  }
  std::vector<ResourceUse> use;
  const double length = static_cast<double>(step.length().value());
  for (std::size_t i = 0; i < intervals.size(); ++i) {
    const Femtoseconds busy = covered_time(std::move(intervals[i]), {step.start, step.end});
    use.push_back({table.resources[i].name, busy, static_cast<double>(busy.value()) / length});
  }
  return use;
}

LayerSides sides_of(const WaveRows& rows, const Places& places) {
  LayerSides sides;
  const auto between = [&](DeviceSide from, DeviceSide to) {
    return [&places, from, to](const Row& row) {
      return row.is_message() && places.leads(row.resource, from, to);
    };
  };
  sides.t_a = mean_layer_time(
      rows, [](const Row& row) { return row.is_operation() && is_of_sweep(row.op); });
  sides.t_f = mean_layer_time(
      rows, [](const Row& row) { return row.is_operation() && row.op == OpKind::ffn; });
  sides.t_a2f = mean_layer_time(rows, between(DeviceSide::cache, DeviceSide::compute));
  sides.t_f2a = mean_layer_time(rows, between(DeviceSide::compute, DeviceSide::cache));
  if (sides.t_f.value() > 0) {
    sides.balance_ratio = sides.t_a.value() / sides.t_f.value();
  }
  return sides;
}

std::vector<PeakLoad> loads_of(const ExecutionTable& table, const StepTime& first,
                               const RunConfig& config, const Places& places) {
  PeakLoads loads(first);
  // What outlives the step is left out: appends and their messages, for which it does not wait.
  const auto done = [end = first.end](const Row& row) { return row.end <= end; };
  for (const PlaceTraffic& at : traffic_where(table, done)) {
    const bool cache = places.side_of(at.resource) == DeviceSide::cache;
    if (at.is_link) {
      loads.add_link(at, config.link);
    } else {
      loads.add_device(at, cache ? config.cache_device : config.compute_device);
    }
  }
  return std::move(loads).loads();
}

PeakLoad bound_of(std::span<const PeakLoad> loads) {
  const auto longest =
      std::max_element(loads.begin(), loads.end(),
                       [](const PeakLoad& a, const PeakLoad& b) { return a.time < b.time; });
  return longest == loads.end() ? PeakLoad{} : *longest;
}

}  // namespace qfs
