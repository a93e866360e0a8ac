#include "system/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "decode/check.hpp"
#include "decode/faulty_numerics.hpp"
#include "hardware/memory/ideal_memory.hpp"
#include "hardware/simulated_time.hpp"
#include "system/placement.hpp"

namespace qfs {
namespace {

std::unique_ptr<Memory> make_memory(const std::string& name, const DeviceConfig& config) {
  switch (config.memory) {
    case MemoryTier::ideal:
      return std::make_unique<IdealMemory>(name.c_str(), config.bandwidth);
  }
  throw std::logic_error("make_memory: unknown tier");
}

std::unique_ptr<DeviceNumerics> make_numerics(const Program& program, const Inputs& inputs,
                                              Holdings holdings, const SystemConfig& config) {
  const AttentionMethod attention = config.rules.attention;
  const Fault& fault = config.fault;
  if (fault.kind == FaultKind::none || fault.kind == FaultKind::drop_edge) {
    return std::make_unique<DeviceNumerics>(program.graph, inputs, holdings, attention);
  }
  return std::make_unique<FaultyNumerics>(program.graph, inputs, holdings, attention, fault);
}

std::size_t executed_operations(const ExecutionTable& table) {
  std::size_t count = 0;
  for (const Row& row : table.rows) {
    count += row.is_operation() ? row.members.size() : 0;
  }
  return count;
}

/// A simulation that runs dry early is our own mistake or a fault's doing; either way it must not
/// pass for a result.
void require_complete(const Program& program, const ExecutionTable& table) {
  const std::size_t executed = executed_operations(table);
  if (executed != program.graph.operations.size()) {
    throw RunError(fmt::format("the simulation stopped with {} of {} operations executed", executed,
                               program.graph.operations.size()));
  }
}

}  // namespace

System::System(sc_core::sc_module_name name, const SystemConfig& config, const Layout& layout,
               const Program& program, const Inputs* inputs, std::function<void()> progress)
    : sc_module(name),
      config_(config),
      layout_(layout),
      program_(program),
      inputs_(inputs),
      progress_(std::move(progress)),
      log_(program.graph.operations.size()),
      calls_(program),
      residents_(config.graph.contexts.size()) {
  for (DeviceId id{0}; id.value() < layout_.devices().size(); ++id) {
    build_device(id);
  }
  for (const PortRole& port : layout_.ports()) {
    build_port(port);
  }
}

void System::build_device(DeviceId id) {
  const DeviceRole& role = layout_.devices()[id.value()];
  const DeviceConfig& config =
      role.side == DeviceSide::compute ? config_.compute_device : config_.cache_device;
  memories_.push_back(make_memory(role.name + "_memory", config));
  DeviceKernels kernels;
  if (inputs_ != nullptr) {
    numerics_.push_back(make_numerics(program_, *inputs_, role.holdings, config_));
    kernels = {numerics_.back().get(), &log_};
  }
  const DeviceContext context{
      program_, table_, calls_, instant_, residents_, layout_.devices().size(), progress_};
  devices_.push_back(std::make_unique<Device>(role.name.c_str(), id, config, role.batching,
                                              *memories_.back(), context, kernels));
}

void System::build_port(const PortRole& port) {
  table_.resources.push_back({port.name, ResourceKind::link});
  std::string module = port.name;  // a dot would name a child
  std::replace(module.begin(), module.end(), '.', '_');
  links_.push_back(std::make_unique<LinkDirection>(module.c_str(), config_.link, devices_.size(),
                                                   table_, table_.resources.size() - 1));
  for (const DeviceId to : port.to) {
    links_.back()->out_device[to.value()].bind(*devices_[to.value()]);
    for (const DeviceId from : port.from) {
      devices_[from.value()]->out_device[to.value()].bind(*links_.back());
    }
  }
}

SimulationResult simulate(const SystemConfig& config, const NumericRequest* numerics,
                          const Progress& progress) {
  set_femtosecond_resolution();
  const Layout layout = layout_of(config);
  const std::size_t wave = config.wave > 0 ? config.wave : config.graph.contexts.size();
  const Program program = make_program(make_graph(config.rules.shape, config.graph), config.rules,
                                       layout, wave, config.fault);
  require_strikes(program.graph, layout, config.fault);
  const Inputs* inputs = numerics != nullptr ? &numerics->inputs : nullptr;
  System system("system", config, layout, program, inputs, progress.launched);
  try {
    sc_core::sc_start();
  } catch (const sc_core::sc_report& report) {
    throw RunError(report.get_msg());
  }
  require_complete(program, system.table());

  SimulationResult result{system.take_table(), std::nullopt};
  if (numerics != nullptr && numerics->check) {
    result.numerics =
        check_numerics(program.graph, *inputs, system.log(), config.graph, progress.checked);
  }
  return result;
}

}  // namespace qfs
