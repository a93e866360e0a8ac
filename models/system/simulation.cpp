#include "system/simulation.hpp"

#include <fmt/format.h>

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
    count += row.message ? 0 : row.members.size();
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

System::System(sc_core::sc_module_name name, const SystemConfig& config, const Program& program,
               const Inputs* inputs, std::function<void()> progress)
    : sc_module(name),
      config_(config),
      program_(program),
      inputs_(inputs),
      progress_(std::move(progress)),
      log_(program.graph.operations.size()) {
  const std::size_t devices = roles_of(config.arrangement).size();
  build_device(DeviceId(0), config.compute_device);
  if (devices == 2) {
    build_device(DeviceId(1), config.cache_device);
    connect(DeviceId(0), DeviceId(1));
    connect(DeviceId(1), DeviceId(0));
  }
}

void System::build_device(DeviceId id, const DeviceConfig& config) {
  const std::vector<DeviceRole> roles = roles_of(config_.arrangement);
  const DeviceRole& role = roles[id.value()];
  memories_.push_back(make_memory(role.name + "_memory", config));
  DeviceKernels kernels;
  if (inputs_ != nullptr) {
    numerics_.push_back(make_numerics(program_, *inputs_, role.holdings, config_));
    kernels = {numerics_.back().get(), &log_};
  }
  const DeviceContext context{program_, table_, roles.size(), progress_};
  devices_.push_back(
      std::make_unique<Device>(role.name.c_str(), id, config, *memories_.back(), context, kernels));
}

void System::connect(DeviceId from, DeviceId to) {
  Device& target = *devices_[to.value()];
  const std::string name = std::string("link.to_") + target.basename();
  table_.resources.push_back({name, ResourceKind::link});
  links_.push_back(
      std::make_unique<LinkDirection>((std::string("link_to_") + target.basename()).c_str(),
                                      config_.link, table_, table_.resources.size() - 1));
  links_.back()->out_arrivals.bind(target);
  devices_[from.value()]->out_device[to.value()].bind(*links_.back());
}

SimulationResult simulate(const SystemConfig& config, const NumericRequest* numerics,
                          const Progress& progress) {
  set_femtosecond_resolution();
  const Program program = make_program(make_graph(config.rules.shape, config.graph), config.rules,
                                       config.arrangement, config.fault);
  require_strikes(program.graph, config.arrangement, config.fault);
  const Inputs* inputs = numerics != nullptr ? &numerics->inputs : nullptr;
  System system("system", config, program, inputs, progress.launched);
  try {
    sc_core::sc_start();
  } catch (const sc_core::sc_report& report) {
    throw RunError(report.get_msg());
  }
  require_complete(program, system.table());

  SimulationResult result{system.take_table(), std::nullopt};
  if (numerics != nullptr && numerics->check) {
    result.numerics =
        check_numerics(program.graph, *inputs, system.log(), config.graph.block, progress.checked);
  }
  return result;
}

}  // namespace qfs
