#include <fmt/format.h>

#include "sim/report/table_parts.hpp"
#include "sim/report/text.hpp"

namespace qfs {
namespace {

std::string line(const char* label, const std::string& text) {
  return fmt::format("  {:<15}{}\n", label, text);
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
  return line("workload", fmt::format("batch {}, {} each, {} LM head", workload.batch,
                                      counted(workload.tokens, "token"),
                                      workload.lm_head ? "with" : "without"));
}

// Of a preset only the numbers are printed: a key beside it may have replaced any of them.
std::string device_line(const char* label, const DeviceConfig& device) {
  std::string text = "memory " + rate_text(device.bandwidth.value(), "B/s");
  text += ", arithmetic " + rate_text(device.mac_rate.value(), "MAC/s");
  text += fmt::format(", launch {:.6g} us", to_microseconds(device.launch_overhead));
  return line(label, text);
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

/// Nothing for the usual way.
std::string attention_line(const AttentionMethod& attention) {
  if (attention.form == AttentionForm::minimal && attention.growth == CacheGrowth::in_place) {
    return "";
  }
  return line("attention", fmt::format("{}, cache growth: {}", name_of(attention.form),
                                       name_of(attention.growth)));
}

std::string fault_line(const Fault& fault) {
  return line("FAULT", fmt::format("{} injected at layer {}, step {}", name_of(fault.kind),
                                   fault.layer.value(), fault.step.value()));
}

}  // namespace

std::string header_part(const RunConfig& config) {
  const bool two_device = config.arrangement == Arrangement::two_device;
  std::string text = fmt::format("{}\n", config.name);
  text += model_line(config.model);
  text += line("arrangement", fmt::format("{}, current token: {}", name_of(config.arrangement),
                                          name_of(config.current_token)));
  text += workload_line(config);
  text += device_line(two_device ? "compute device" : "device", config.compute_device);
  if (two_device) {
    text += device_line("cache device", config.cache_device);
    text += link_line(config.link);
  }
  text += formats_line(config.numerics.formats);
  text += attention_line(config.attention);
  text += accounting_line(config.accounting);
  if (config.numerics.inject.kind != FaultKind::none) {
    text += fault_line(config.numerics.inject);
  }
  return text;
}

}  // namespace qfs
