#include "sim/config/load.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/config/dram_check.hpp"
#include "sim/config/presets.hpp"
#include "sim/config/section.hpp"
#include "sim/config/trace.hpp"
#include "sim/config/validate.hpp"

namespace qfs {

using config::ConfigNode;
namespace {

bool is_timing_only(const ConfigNode& root) {
  const ConfigNode* numerics = root.given("numerics");
  const ConfigNode* mode = numerics == nullptr ? nullptr : numerics->given("mode");
  return mode != nullptr && mode->text == name_of(NumericsMode::off);
}

/// What the trace says stands in no other key.
void refuse_beside_trace(const ConfigNode& workload) {
  for (const char* key : {"batch", "context", "request_contexts", "tokens", "request_tokens"}) {
    if (const ConfigNode* given = workload.given(key)) {
      config::complain(given->where, config::joined_path("workload", key),
                       "given, but workload.trace says it",
                       config::joined_path("workload", key) + " or workload.trace");
    }
  }
}

/// The main point is that of the trace; further contexts have as many requests, all alike.
void take_trace(const ConfigNode& workload, const std::filesystem::path& run_file,
                Workload& taken) {
  refuse_beside_trace(workload);
  const config::TraceRequests requests = config::read_trace(run_file.parent_path() / taken.trace);
  taken.batch = requests.contexts.size();
  taken.request_contexts = requests.contexts;
  taken.request_tokens = requests.tokens;
  taken.context = *std::max_element(requests.contexts.begin(), requests.contexts.end());
  taken.tokens = *std::max_element(requests.tokens.begin(), requests.tokens.end());
}

/// What a device's DRAM gives, unless the run says so itself.
void settle_memory(const ConfigNode& root, const std::string& path, DeviceConfig& device) {
  const ConfigNode* own = root.given(path);
  if (!device.dram) {
    if (device.memory != MemoryTier::ideal) {
      const std::string key = config::joined_path(path, "memory");
      config::complain(
          config::place_of(root, key), key,
          config::in_quotes(name_of(device.memory)) + ", but no dram is given",
          "ideal; or a dram beside it: " + config::joined(preset_names(PresetKind::memory)));
    }
    return;
  }
  config::check_dram(root, config::joined_path(path, "dram"), *device.dram);
  const auto parts = static_cast<double>(device.dram_parts);
  const BytesPerSecond peak(parts * dram::peak_bandwidth(*device.dram).value());
  const ConfigNode* bandwidth = own == nullptr ? nullptr : own->given("bandwidth");
  constexpr double printing = 1e-9;  // a resolved configuration gives both
  if (bandwidth != nullptr && std::abs(device.bandwidth.value() / peak.value() - 1) > printing) {
    config::complain(bandwidth->where, config::joined_path(path, "bandwidth"),
                     config::in_quotes(bandwidth->text) + ", but dram says it",
                     "nothing here; or no dram");
  }
  device.bandwidth = peak;
  const bool given = device.capacity || (own != nullptr && own->given("capacity") != nullptr);
  if (!given) {  // neither by a preset nor by the run
    device.capacity =
        static_cast<std::int64_t>(device.dram_parts) * device.dram->organisation.capacity();
  }
}

/// What a fitted kernel's time has in it cannot be given beside it.
void refuse_beside_kernels(const ConfigNode& root, const std::string& path,
                           const DeviceConfig& device) {
  if (!device.kernels) {
    return;
  }
  if (device.memory != MemoryTier::ideal) {
    const std::string key = config::joined_path(path, "memory");
    config::complain(config::place_of(root, key), key,
                     config::in_quotes(name_of(device.memory)) +
                         ", but the times of measured kernels have their memory in them",
                     "ideal; or kernels none");
  }
  if (device.launch_overhead > Seconds(0)) {
    const std::string key = config::joined_path(path, "launch_overhead");
    config::complain(config::place_of(root, key), key,
                     "given, but the times of measured kernels have their launch in them",
                     "0 s; or kernels none");
  }
}

}  // namespace

RunConfig load_run_config(const std::filesystem::path& file,
                          const std::vector<std::string>& overrides) {
  ConfigNode root = config::read_yaml_map(file);
  for (const std::string& argument : overrides) {
    config::apply_override(root, argument);
  }
  RunConfig run;
  run.model.name = "custom";
  config::read_section(root, "", run, {file, is_timing_only(root)});
  if (!run.workload.trace.empty()) {
    take_trace(*root.given("workload"), file, run.workload);
  }
  settle_memory(root, "compute_device", run.compute_device);
  settle_memory(root, "cache_device", run.cache_device);
  refuse_beside_kernels(root, "compute_device", run.compute_device);
  refuse_beside_kernels(root, "cache_device", run.cache_device);
  config::validate(run, [&root](std::string_view path) { return config::place_of(root, path); });
  return run;
}

std::string to_yaml(const RunConfig& run) {
  RunConfig copy = run;  // the schema describes what can be written to
  config::Writer writer;
  describe(writer, copy);
  return writer.text();
}

std::string documentation() {
  RunConfig defaults;
  defaults.model.name = "custom";
  config::Documenter documenter;
  describe(documenter, defaults);
  return "| key | legal | default | meaning |\n|---|---|---|---|\n" + documenter.text();
}

}  // namespace qfs
