#include "sim/config/load.hpp"

#include <algorithm>

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
