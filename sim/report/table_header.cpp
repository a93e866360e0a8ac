#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "decode/part.hpp"
#include "sim/config/system_config.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/report/text.hpp"

namespace qfs {
namespace {

/// Of at most 100 columns; what does not fit goes on below, broken at a comma.
std::string line(const char* label, std::string text) {
  constexpr std::size_t room = 83;
  std::string lines;
  const char* before = label;
  while (text.size() > room) {
    const std::size_t comma = text.rfind(", ", room - 1);
    if (comma == std::string::npos) {
      break;
    }
    lines += fmt::format("  {:<15}{}\n", before, text.substr(0, comma + 1));
    text.erase(0, comma + 2);
    before = "";
  }
  return lines + fmt::format("  {:<15}{}\n", before, text);
}

std::string model_line(const ModelShape& shape) {
  const std::string text =
      fmt::format("{}: {}, hidden {}, {}, {}, head {}, ffn {}", shape.name,
                  counted(shape.layers, "layer"), shape.hidden, counted(shape.heads, "head"),
                  counted(shape.kv_heads, "KV head"), shape.head_dim, shape.ffn);
  return line("model", text);
}

std::string workload_line(const RunConfig& config) {
  const Workload& workload = config.workload;
  const std::string waves =
      workload.in_flight == 1 ? ""
                              : fmt::format(", {} in flight", counted(workload.in_flight, "wave"));
  return line("workload", fmt::format("batch {}{}, {} each, {} LM head", workload.batch, waves,
                                      counted(workload.tokens, "token"),
                                      workload.lm_head ? "with" : "without"));
}

/// Nothing where all requests have the context that stands beside their times.
std::string contexts_line(const Workload& workload) {
  const std::vector<std::size_t>& contexts = workload.request_contexts;
  if (contexts.empty()) {
    return "";
  }
  const auto [least, most] = std::minmax_element(contexts.begin(), contexts.end());
  const double sum = std::accumulate(contexts.begin(), contexts.end(), 0.0);
  return line("mixed contexts",
              fmt::format("{} to {}, mean {}", context_text(*least), context_text(*most),
                          grouped(sum / static_cast<double>(contexts.size()), 1)));
}

std::string resident_line(const RunConfig& config) {
  const Bytes bytes = resident_kv_bytes(config, config.workload.context);
  return line("resident",
              fmt::format("{}, KV cache {} at the end, {}",
                          counted(config.workload.requests(), "request"), bytes_text(bytes),
                          has_own_requests(config, config.workload.context)
                              ? "mixed contexts"
                              : "context " + context_text(config.workload.context)));
}

// Of a preset only the numbers are printed: a key beside it may have replaced any of them.
std::string device_line(const char* label, const DeviceConfig& device) {
  std::string text = "memory " + rate_text(device.bandwidth.value(), "B/s");
  if (device.dram) {
    const std::string parts = device.dram_parts == 1 ? "" : fmt::format("{} x ", device.dram_parts);
    text += fmt::format(" ({}{}, {})", parts, device.dram->preset, name_of(device.memory));
  }
  text += ", arithmetic " + rate_text(device.mac_rate.value(), "MAC/s");
  if (device.kernels) {
    text += fmt::format(", kernels of {}, cache {}", device.kernels->device,
                        name_of(device.last_level_cache));
  } else {
    text += fmt::format(", launch {:.6g} us", to_microseconds(device.launch_overhead));
  }
  return line(label, text);
}

/// Nothing of a cache on one device.
std::string split_line(const CacheConfig& cache) {
  const CacheSplit& split = cache.split;
  if (split.devices == 1) {
    return "";
  }
  return line("cache split", fmt::format("{}, by {}, merged in {} order, ports {}",
                                         counted(split.devices, "cache device"), name_of(split.by),
                                         name_of(split.merge), name_of(cache.ports)));
}

/// Nothing of cache devices that do neither.
std::string cache_policy_line(const CachePolicy& policy) {
  const PrefetchConfig& prefetch = policy.prefetch;
  std::vector<std::string> parts;
  if (prefetch.ahead > 0) {
    parts.push_back(fmt::format("{} ahead, staging {}, watermark {}",
                                counted(prefetch.ahead, "sweep"),
                                prefetch.staging ? bytes_text(*prefetch.staging) : "unlimited",
                                name_of(prefetch.watermark)));
  }
  if (policy.append_delay > Seconds(0)) {
    parts.push_back(fmt::format("append delay {:.6g} us", to_microseconds(policy.append_delay)));
  }
  return parts.empty() ? "" : line("prefetch", fmt::format("{}", fmt::join(parts, ", ")));
}

std::string pool_lines(const RunConfig& config) {
  const PoolSettings& pool = config.pool;
  const Projections projections =
      system_config(config, config.block, config.workload.context).pool.projections;
  const bool chosen = pool.projections == ProjectionsChoice::per_wave;
  std::string batching =
      fmt::format("launches {}, sweeps {}", name_of(pool.batching), name_of(pool.sweep_batch));
  if (pool.window > Seconds(0)) {
    batching += fmt::format(", window {:.6g} us", to_microseconds(pool.window));
  }
  return line("pool calls",
              fmt::format("{}, projections: {}{}", counted(pool.instances, "instance"),
                          name_of(projections), chosen ? " (per_wave)" : "")) +
         line("batching", batching);
}

std::string ranks_line(const RunConfig& config) {
  const std::size_t devices = config.tensor_parallel.devices;
  const ModelShape part = part_of(config.model, {0, devices});
  return line("parallel", fmt::format("{}, each with {}, {}, ffn {}, vocabulary {}",
                                      counted(devices, "device"), counted(part.heads, "head"),
                                      counted(part.kv_heads, "KV head"), part.ffn, part.vocab));
}

std::string link_line(const LinkConfig& link) {
  std::string text = fmt::format("{:.6g} us one way, {} each way", to_microseconds(link.latency),
                                 rate_text(link.bandwidth.value(), "B/s"));
  if (link.message_overhead.value() > 0) {
    text += fmt::format(", {:.6g} us a message", to_microseconds(link.message_overhead));
  }
  if (link.jitter.value() > 0) {
    text += fmt::format(", jitter up to {:.6g} us", to_microseconds(link.jitter));
  }
  return line("link", text);
}

std::string accounting_line(Accounting accounting) {
  const bool full = accounting == Accounting::full;
  return line("accounting", full ? "full: weights, swept KV, appended KV and activations"
                                 : "weights_and_sweep: only static weights and swept KV");
}

std::string formats_line(const Formats& formats) {
  return line("formats", fmt::format("weights {}, cache {}, wire {}, residual {}",
                                     name_of(formats.weights), name_of(formats.kv),
                                     name_of(formats.wire), name_of(formats.residual_wire)));
}

/// K and how it is read between two points, of the units that have a grid.
std::string grid_text(const SoftmaxUnit& unit) {
  const bool window = unit.kind == SoftmaxKind::fwm || unit.kind == SoftmaxKind::resolved;
  if (!window && unit.kind != SoftmaxKind::min_max) {
    return "";
  }
  return fmt::format(", K = {}, {}{}", unit.intervals, name_of(unit.reconstruction),
                     window ? fmt::format(", tau {:.6g}", unit.tau) : "");
}

/// Nothing for the usual way.
std::string attention_line(const AttentionMethod& attention) {
  std::string text;
  if (attention.form != AttentionForm::minimal || attention.growth != CacheGrowth::in_place) {
    text = line("attention", fmt::format("{}, cache growth: {}", name_of(attention.form),
                                         name_of(attention.growth)));
  }
  const SoftmaxChoice& softmax = attention.softmax;
  if (softmax.is_calibrated()) {
    const SoftmaxUnit& unit = softmax.unit;
    text += line("softmax", fmt::format("{}{}, calibration: {}", name_of(unit.kind),
                                        grid_text(unit), name_of(softmax.calibration)));
  }
  return text;
}

std::string instance_text(const InstanceFault& fault) {
  const double at = to_microseconds(fault.at);
  return fault.duration ? fmt::format("instance {} stands still at {:.6g} us for {:.6g} us",
                                      fault.instance, at, to_microseconds(*fault.duration))
                        : fmt::format("instance {} dies at {:.6g} us", fault.instance, at);
}

/// Nothing for a run without faults.
std::string disturbances_line(const Disturbances& faults) {
  std::vector<std::string> parts;
  if (faults.stalls.probability > 0) {
    parts.push_back(fmt::format("stalls up to {:.6g} us at probability {:.6g}",
                                to_microseconds(faults.stalls.longest), faults.stalls.probability));
  }
  for (const SlowDevice& slow : faults.slow) {
    parts.push_back(fmt::format("{} {:.6g} times slower", slow.device, slow.factor));
  }
  if (faults.messages.any()) {
    parts.push_back(fmt::format("{:.6g} of the messages lost, {:.6g} late by {:.6g} us",
                                faults.messages.lost, faults.messages.late,
                                to_microseconds(faults.messages.delay)));
  }
  for (const InstanceFault& fault : faults.instances) {
    parts.push_back(instance_text(fault));
  }
  return parts.empty() ? "" : line("faults", fmt::format("{}", fmt::join(parts, "; ")));
}

std::string fault_line(const Fault& fault) {
  return line("FAULT", fmt::format("{} injected at layer {}, step {}", name_of(fault.kind),
                                   fault.layer.value(), fault.step.value()));
}

/// The devices and what is between them.
std::string devices_lines(const RunConfig& config) {
  const std::string link = link_line(config.link);
  const std::string cache = device_line("cache device", config.cache_device) +
                            split_line(config.cache) + cache_policy_line(config.cache.policy);
  switch (config.arrangement) {
    case Arrangement::colocated:
      return device_line("device", config.compute_device);
    case Arrangement::two_device:
      return device_line("compute device", config.compute_device) + cache + link;
    case Arrangement::pooled:
      return device_line("pool", config.compute_device) + pool_lines(config) + cache + link;
    case Arrangement::tensor_parallel:
      return device_line("each device", config.compute_device) + ranks_line(config) + link;
  }
  return "";
}

}  // namespace

std::string header_part(const RunConfig& config) {
  std::string text = fmt::format("{}\n", config.name);
  text += model_line(config.model);
  text += line("arrangement", fmt::format("{}, current token: {}", name_of(config.arrangement),
                                          name_of(config.current_token)));
  text += workload_line(config) + contexts_line(config.workload) + resident_line(config);
  text += devices_lines(config);
  text += formats_line(config.numerics.formats);
  text += attention_line(config.attention);
  text += accounting_line(config.accounting);
  text += disturbances_line(config.faults);
  if (config.numerics.inject.kind != FaultKind::none) {
    text += fault_line(config.numerics.inject);
  }
  return text;
}

}  // namespace qfs
