#include <fmt/format.h>

#include <algorithm>

#include "sim/estimate/run_report.hpp"
#include "sim/estimate/run_shared.hpp"
#include "sim/report/text.hpp"
#include "sim/report/text_table.hpp"

namespace qfs::estimate {
namespace {

std::string time_text(Seconds time) { return microseconds_text(to_microseconds(time)); }

std::string kv_text(const DecodeWork& work) {
  return bytes_text(work.kv_read_bytes + work.kv_written_bytes);
}

/// All waves of the first step.
struct FirstStep {
  explicit FirstStep(const DecodeEstimate& estimate) {
    for (const StepEstimate& step : estimate.steps) {
      if (step.step == 0) {
        work += step.work;
        wire_bytes += step.wire_bytes;
      }
    }
  }
  DecodeWork work;
  Bytes wire_bytes;
};

void add_point(TextTable& table, const PointEstimate& point) {
  std::vector<std::string> cells{context_text(point.context), std::string(name_of(point.block))};
  if (!point.decode) {
    cells.resize(9, "-");
    table.add(cells);
    return;
  }
  const FirstStep first(*point.decode);
  const StepEstimate& step = point.decode->steps.front();
  cells.insert(cells.end(), {grouped(first.work.macs.value()), grouped(first.work.accesses),
                             bytes_text(first.work.memory_bytes()), bytes_text(first.wire_bytes),
                             time_text(step.closed_form), time_text(step.roofline->time),
                             std::string(name_of(step.roofline->bound))});
  table.add(cells);
}

std::string points_text(const RunEstimate& estimate) {
  TextTable table("llrrrrrrl", {"context", "block", "MACs", "accesses", "memory", "wire",
                                "closed form us", "roofline us", "bound by"});
  for (const PointEstimate& point : estimate.points) {
    add_point(table, point);
  }
  return table.text();
}

std::string name_of_layers(const RunConfig& config, std::size_t first, std::size_t last) {
  if (first == config.model.layers) {
    return "LM head";
  }
  return first == last ? fmt::format("Layer {}", first)
                       : fmt::format("Each of layers {} to {}", first, last);
}

void add_operation(TextTable& table, const std::string& name, const std::string& device,
                   const DecodeWork& work, const std::string& time, const std::string& roofline,
                   const std::string& bound) {
  table.add({name, device, grouped(work.macs.value()), grouped(work.accesses),
             bytes_text(work.weight_bytes), kv_text(work), bytes_text(work.activation_bytes), time,
             roofline, bound});
}

/// The closed form's times of layers that do the same: the first waits for nothing, say.
std::string times_text(const std::vector<LayerEstimate>& layers, std::size_t first,
                       std::size_t last) {
  const auto [least, most] = std::minmax_element(
      layers.begin() + static_cast<std::ptrdiff_t>(first),
      layers.begin() + static_cast<std::ptrdiff_t>(last) + 1,
      [](const auto& a, const auto& b) { return a.closed_form < b.closed_form; });
  const std::string low = time_text(least->closed_form);
  const std::string high = time_text(most->closed_form);
  return low == high ? low : fmt::format("{} to {}", low, high);
}

std::string layers_text(const RunConfig& config, const StepEstimate& step) {
  std::string text;
  const std::vector<LayerEstimate>& layers = step.layers;
  for (std::size_t first = 0; first < layers.size();) {
    const std::size_t last = last_alike(layers, first);
    const LayerEstimate& layer = layers[first];
    TextTable table("llrrrrrrrl",
                    {name_of_layers(config, first, last), "device", "MACs", "accesses", "weights",
                     "KV", "activations", "closed form us", "roofline us", "bound by"});
    for (const OperationEstimate& operation : layer.operations) {
      add_operation(table, operation.name, device_name(config, operation), operation.work,
                    time_text(operation.alone), time_text(operation.roofline),
                    std::string(name_of(operation.bound)));
    }
    add_operation(table, "together", "", layer.work, times_text(layers, first, last),
                  time_text(layer.roofline), std::string(name_of(layer.bound)));
    text += "\n" + table.text();
    first = last + 1;
  }
  return text;
}

std::string counted_note(const RunConfig& config) {
  const std::string charged = config.accounting == Accounting::full
                                  ? "weights, KV and activations"
                                  : "weights and swept KV alone, as accounting says";
  return paragraph(
      "Counted: " + charged +
      ". Accesses are the values that pass through memory, each operand and result of an operation "
      "once. The closed form of an operation is its time with the memory to itself; of a layer, "
      "the "
      "time from the output of the one before; of a step, from its token to its output. A roofline "
      "is the time of the busiest resource at its peak.");
}

std::string workload_text(const RunConfig& config) {
  const Workload& workload = config.workload;
  std::string text = fmt::format("{}: {}, {}, batch {}", config.name, config.model.name,
                                 name_of(config.arrangement), workload.batch);
  if (workload.in_flight > 1) {
    text += fmt::format(", {} waves in flight", workload.in_flight);
  }
  return text + ": one step, estimated without simulation\n\n";
}

}  // namespace

std::string run_text(const RunConfig& config, const RunEstimate& estimate) {
  std::string text = workload_text(config) + points_text(estimate);
  const PointEstimate& main = estimate.points.front();
  if (main.decode) {
    text += fmt::format("\n{} at context {}{}:\n", name_of(main.block), context_text(main.context),
                        config.workload.in_flight > 1 ? ", one wave" : "");
    text += layers_text(config, main.decode->steps.front());
    text += "\n" + counted_note(config);
  }
  for (const std::string& reason : estimate.not_counted) {
    text += paragraph("Not counted: " + reason);
  }
  std::vector<std::string> told;
  for (const PointEstimate& point : estimate.points) {
    for (const std::string& reason : point.not_covered) {
      if (std::find(told.begin(), told.end(), reason) == told.end()) {
        text += paragraph("Not covered: " + reason);
        told.push_back(reason);
      }
    }
  }
  return text;
}

}  // namespace qfs::estimate
