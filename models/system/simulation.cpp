#include "system/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/error.hpp"
#include "decode/check.hpp"
#include "decode/faulty_numerics.hpp"
#include "hardware/memory/dram/burst_memory.hpp"
#include "hardware/memory/dram/stream_memory.hpp"
#include "hardware/memory/dram_memory.hpp"
#include "hardware/memory/ideal_memory.hpp"
#include "hardware/simulated_time.hpp"
#include "system/disturbed.hpp"
#include "system/main_stack.hpp"
#include "system/placement.hpp"

namespace qfs {
namespace {

std::unique_ptr<Memory> make_memory(const std::string& name, const DeviceConfig& config) {
  switch (config.memory) {
    case MemoryTier::ideal:
      return std::make_unique<IdealMemory>(name.c_str(), config.bandwidth);
    case MemoryTier::stream:
      return std::make_unique<DramMemory<dram::StreamMemory>>(name.c_str(), config.dram.value(),
                                                              config.dram_parts);
    case MemoryTier::burst:
      return std::make_unique<DramMemory<dram::BurstMemory>>(name.c_str(), config.dram.value(),
                                                             config.dram_parts);
  }
  throw std::logic_error("make_memory: unknown tier");
}

std::unique_ptr<DeviceNumerics> make_numerics(const Program& program, const Inputs& inputs,
                                              const Holdings& holdings,
                                              const SystemConfig& config) {
  const AttentionMethod attention = config.rules.attention;
  const Fault& fault = config.fault;
  if (fault.kind == FaultKind::none || fault.kind == FaultKind::drop_edge) {
    return std::make_unique<DeviceNumerics>(program.graph, inputs, holdings, attention);
  }
  return std::make_unique<FaultyNumerics>(program.graph, inputs, holdings, attention, fault);
}

}  // namespace

System::System(sc_core::sc_module_name name, const SystemConfig& config, const Layout& layout,
               const Program& program, const Inputs* inputs, std::function<void()> progress,
               Instant* common)
    : sc_module(name),
      config_(config),
      layout_(layout),
      program_(program),
      inputs_(inputs),
      progress_(std::move(progress)),
      log_(program.graph.operations.size()),
      calls_(program),
      places_(program),
      own_instant_(common == nullptr ? std::make_unique<Instant>("instant") : nullptr),
      instant_(common == nullptr ? *own_instant_ : *common),
      residents_(config.graph.contexts.size()) {
  if (config.disturbances.any()) {
    timers_ = std::make_unique<Timers>("timers", instant_);
    build_call_watch();
  }
  for (DeviceId id{0}; id.value() < layout_.devices().size(); ++id) {
    build_device(id);
  }
  for (const PortRole& port : layout_.ports()) {
    build_port(port);
  }
}

void System::require_complete() const {
  const std::size_t operations = program_.graph.operations.size();
  if (calls_.done() == operations) {
    return;
  }
  const bool nobody_left = watch_ != nullptr && watch_->nobody_left();
  throw RunError(fmt::format("the simulation stopped with {} of {} operations executed{}",
                             calls_.done(), operations,
                             nobody_left ? ": every instance of the pool has died" : ""));
}

ExecutionTable System::take_table() {
  for (std::size_t id = 0; id < memories_.size(); ++id) {
    if (const std::optional<dram::Counters> counters = memories_[id]->counters()) {
      const DeviceRole& role = layout_.devices()[id];
      const DeviceConfig& config =
          role.side == DeviceSide::compute ? config_.compute_device : config_.cache_device;
      table_.memories.push_back({role.name, config.dram_parts, *counters});
    }
  }
  return std::move(table_);
}

/// Where nothing can go wrong there is nothing to watch.
void System::build_call_watch() {
  const Disturbances& disturbances = config_.disturbances;
  if (program_.calls.empty()) {
    return;
  }
  for (std::size_t instance = 0; instance < program_.pool_instances; ++instance) {
    outages_.emplace_back(disturbances.instances, instance);
  }
  if (disturbances.call_timeout) {
    watch_ = std::make_unique<CallWatch>(
        program_, calls_, *timers_,
        CallWatchConfig{*disturbances.call_timeout, config_.link.latency, outages_},
        [this](DeviceId to, const std::vector<MessageItem>& values, int attempt) {
          const DeviceId owner = program_.device_of[values.front().producer.value()];
          devices_[owner.value()]->send_again(to, values, attempt);
        });
  }
}

bool System::alive(DeviceId id) const {
  return id.value() >= outages_.size() || !outages_[id.value()].dead(now());
}

void System::build_device(DeviceId id) {
  const DeviceRole& role = layout_.devices()[id.value()];
  const DeviceConfig config =
      slowed(role.side == DeviceSide::compute ? config_.compute_device : config_.cache_device,
             config_.disturbances, role.name);
  memories_.push_back(make_memory(role.name + "_memory", config));
  const bool has_addresses = config.memory != MemoryTier::ideal;
  memory_layouts_.push_back(has_addresses ? std::make_unique<MemoryLayout>(program_, id, config)
                                          : nullptr);
  DeviceKernels kernels;
  if (inputs_ != nullptr) {
    numerics_.push_back(make_numerics(program_, *inputs_, role.holdings, config_));
    kernels = {numerics_.back().get(), &log_};
  }
  const DeviceContext context{.program = program_,
                              .places = places_,
                              .table = table_,
                              .calls = calls_,
                              .instant = instant_,
                              .residents = residents_,
                              .devices = layout_.devices().size(),
                              .progress = progress_,
                              .disturbances = timers_ ? &config_.disturbances : nullptr,
                              .watch = watch_.get()};
  devices_.push_back(std::make_unique<Device>(
      role.name.c_str(), id, config, role.policy,
      DeviceMemory{*memories_.back(), memory_layouts_.back().get()}, context, kernels));
}

void System::build_port(const PortRole& port) {
  table_.resources.push_back({port.name, ResourceKind::link});
  std::string module = port.name;  // a dot would name a child
  std::replace(module.begin(), module.end(), '.', '_');
  links_.push_back(std::make_unique<LinkDirection>(module.c_str(), config_.link, devices_.size(),
                                                   table_, table_.resources.size() - 1, instant_,
                                                   config_.disturbances));
  LinkDirection& link = *links_.back();
  MessageSink* entrance = &link;
  if (config_.disturbances.messages.any()) {
    entrance = &build_delivery(module + "_delivery", link, port.to);
  } else {
    for (const DeviceId to : port.to) {
      link.out_device[to.value()].bind(*devices_[to.value()]);
    }
  }
  for (const DeviceId to : port.to) {
    for (const DeviceId from : port.from) {
      devices_[from.value()]->out_device[to.value()].bind(*entrance);
    }
  }
}

/// Around the link: device, delivery, link, delivery, device. Gives its entrance.
MessageSink& System::build_delivery(const std::string& name, LinkDirection& link,
                                    const std::vector<DeviceId>& to) {
  const DeliveryQuestions questions{
      [this](DeviceId device) { return alive(device); },
      [this](const Message& message) { return watch_ == nullptr || watch_->wanted(message); }};
  deliveries_.push_back(std::make_unique<Delivery>(name.c_str(), config_.disturbances.messages,
                                                   config_.link.latency, devices_.size(), table_,
                                                   *timers_, questions));
  Delivery& delivery = *deliveries_.back();
  delivery.out_link.bind(link);
  for (const DeviceId device : to) {
    link.out_device[device.value()].bind(delivery.far_end());
    delivery.out_device[device.value()].bind(*devices_[device.value()]);
  }
  return delivery;
}

std::uint64_t digest_of(const NumericLog& log) {
  constexpr std::uint64_t offset_basis = 0xcbf29ce484222325;
  constexpr std::uint64_t prime = 0x100000001b3;
  std::uint64_t digest = offset_basis;
  for (const std::vector<float>& output : log.outputs) {
    for (const std::byte byte : std::as_bytes(std::span(output))) {
      digest = (digest ^ std::to_integer<std::uint64_t>(byte)) * prime;
    }
  }
  return digest;
}

namespace {

/// A system and all that it refers to.
class Simulation {
 public:
  /// The common instant, if there is one, outlives it.
  Simulation(const std::string& name, const SystemConfig& config, Instant* common,
             const Inputs* inputs = nullptr, const std::function<void()>& progress = {})
      : config_(config),
        layout_(layout_of(config)),
        program_(make_program(make_graph(config.rules.shape, config.graph), config.rules, layout_,
                              config.wave > 0 ? config.wave : config.graph.contexts.size(),
                              config.fault)) {
    require_strikes(program_.graph, layout_, config.fault);
    require_possible(config.disturbances, layout_);
    system_.emplace(name.c_str(), config_, layout_, program_, inputs, progress, common);
  }

  [[nodiscard]] const Graph& graph() const { return program_.graph; }
  [[nodiscard]] const NumericLog& log() const { return system_->log(); }

  /// Once the simulation is over.
  ExecutionTable& table() {
    system_->require_complete();
    table_ = system_->take_table();
    if (config_.disturbances.any()) {
      drop_what_was_in_vain(table_);
    }
    return table_;
  }

 private:
  SystemConfig config_;
  ExecutionTable table_;
  Layout layout_;
  Program program_;
  std::optional<System> system_;
};

void run_to_the_end() {
  try {
    sc_core::sc_start();
  } catch (const sc_core::sc_report& report) {
    throw RunError(report.get_msg());
  }
  name_the_main_stack();
}

}  // namespace

SimulationResult simulate(const SystemConfig& config, const NumericRequest* numerics,
                          const Progress& progress) {
  set_femtosecond_resolution();
  const Inputs* inputs = numerics != nullptr ? &numerics->inputs : nullptr;
  Simulation simulation("system", config, nullptr, inputs, progress.launched);
  run_to_the_end();
  SimulationResult result{std::move(simulation.table()), std::nullopt, 0};
  if (numerics != nullptr) {
    result.digest = digest_of(simulation.log());
  }
  if (numerics != nullptr && numerics->check) {
    result.numerics = check_numerics(simulation.graph(), *inputs, simulation.log(), config.graph,
                                     progress.checked);
  }
  return result;
}

std::vector<const ExecutionTable*> simulate_all(std::span<const SystemConfig> configs) {
  set_femtosecond_resolution();
  static Instant& instant = *new Instant("instant");
  static auto& simulations = *new std::deque<Simulation>;  // which do not move
  for (const SystemConfig& config : configs) {
    simulations.emplace_back(fmt::format("system_{}", simulations.size()), config, &instant);
  }
  run_to_the_end();
  std::vector<const ExecutionTable*> tables;
  tables.reserve(simulations.size());
  for (Simulation& simulation : simulations) {
    tables.push_back(&simulation.table());
  }
  return tables;
}

std::size_t rough_operations(const SystemConfig& config) {
  constexpr std::size_t of_layer = 4;  // projections and what adds to the residual
  constexpr std::size_t of_part = 3;   // sweep, append, merge
  const GraphConfig& graph = config.graph;
  const std::size_t parts = std::max(graph.ranks, graph.split.devices);
  const std::size_t ranked = graph.ranks * of_layer + parts * of_part;
  return graph.contexts.size() * graph.tokens * config.rules.shape.layers * ranked;
}

}  // namespace qfs
