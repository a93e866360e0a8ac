#include "hardware/device/device.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "hardware/simulated_time.hpp"

namespace qfs {
namespace {

constexpr std::size_t executor_stack_bytes = std::size_t{1} << 20U;  // kernels run on it

std::size_t add_resource(ExecutionTable& table, std::string name, ResourceKind kind) {
  table.resources.push_back({std::move(name), kind});
  return table.resources.size() - 1;
}

void add_once(std::vector<ValueKind>& values, ValueKind value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) {
    values.push_back(value);
  }
}

}  // namespace

Device::Device(sc_core::sc_module_name name, DeviceId id, const DeviceConfig& config,
               Memory& memory, const DeviceContext& context, DeviceKernels kernels)
    : sc_module(name),
      out_device("out_device", context.devices),
      id_(id),
      config_(config),
      memory_(memory),
      context_(context),
      program_(context.program),
      kernels_(kernels),
      executor_(add_resource(context.table, basename(), ResourceKind::executor)),
      writes_(
          add_resource(context.table, std::string(basename()) + ".writes", ResourceKind::writes)),
      waiting_(program_.graph.operations.size()),
      ready_members_(program_.batches.size()) {
  SC_HAS_PROCESS(Device);
  SC_THREAD(execute);
  set_stack_size(executor_stack_bytes);
}

void Device::start_of_simulation() {
  for (const Operation& operation : program_.graph.operations) {
    waiting_[operation.id.value()].inputs = program_.awaited_inputs[operation.id.value()];
  }
  for (const Operation& operation : program_.graph.operations) {
    const bool own = program_.device_of[operation.id.value()] == id_;
    if (own && waiting_[operation.id.value()].inputs == 0) {
      note_ready(operation.id);
    }
  }
}

void Device::take_input(OpId operation, const Dependency& input) {
  Waiting& waiting = waiting_[operation.value()];
  waiting.deps.push_back(input);
  if (--waiting.inputs == 0) {
    note_ready(operation);
  }
}

void Device::note_ready(OpId operation) {
  waiting_[operation.value()].ready = now();
  const std::size_t index = program_.batch_of[operation.value()];
  const Batch& batch = program_.batches[index];
  if (++ready_members_[index] < batch.members.size()) {
    return;
  }
  if (batch.kind == OpKind::append) {
    begin_write(index);
  } else {
    ready_batches_.push_back(index);
    ev_ready_.notify(sc_core::SC_ZERO_TIME);
  }
}

void Device::execute() {
  while (true) {
    while (ready_batches_.empty()) {
      wait(ev_ready_);
    }
    // What becomes ready at this very instant takes part in the choice.
    wait(sc_core::SC_ZERO_TIME);
    run(take_next());
  }
}

/// The scheduling rule: first what another device awaits, then what has been ready longest, then
/// program order, then the lower request.
std::size_t Device::take_next() {
  const auto rank = [&](std::size_t index) {
    const Batch& batch = program_.batches[index];
    return std::tuple(!batch.awaited_elsewhere, ready_time(batch), batch.step, batch.layer,
                      batch.kind, program_.graph[batch.members.front()].request);
  };
  const auto next =
      std::min_element(ready_batches_.begin(), ready_batches_.end(),
                       [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
  const std::size_t index = *next;
  ready_batches_.erase(next);
  return index;
}

void Device::run(std::size_t index) {
  const Batch& batch = program_.batches[index];
  const RowId row = begin_row(index, executor_);
  const Outputs outputs = compute(batch);
  wait_for_work(context_.table.rows[row.value()].work);
  finish(batch, row, outputs);
}

/// Launch, then the memory stream and the arithmetic side by side.
void Device::wait_for_work(const Work& work) {
  const auto pause = [this](Seconds time) {
    if (time > Seconds(0)) {
      wait(to_sc_time(time));
    }
  };
  pause(static_cast<double>(work.launches) * config_.launch_overhead);
  const auto transfer = memory_.start({.length = work.memory_bytes()});
  pause(std::max(work.macs / config_.mac_rate, work.exps / config_.exp_rate));
  if (!transfer->finished) {
    wait(transfer->done);
  }
}

void Device::begin_write(std::size_t index) {
  const RowId row = begin_row(index, writes_);
  const Work& work = context_.table.rows[row.value()].work;
  const auto transfer =
      memory_.start({.length = work.memory_bytes(), .direction = AccessDirection::write});
  if (transfer->finished) {
    end_write(index, row);
    return;
  }
  sc_core::sc_spawn([this, index, row, transfer] {
    wait(transfer->done);
    end_write(index, row);
  });
}

/// The rows count as landed only now.
void Device::end_write(std::size_t index, RowId row) {
  const Batch& batch = program_.batches[index];
  finish(batch, row, compute(batch));
}

RowId Device::begin_row(std::size_t index, std::size_t resource) {
  const Batch& batch = program_.batches[index];
  Row row;
  row.op = batch.kind;
  row.layer = batch.layer;
  row.step = batch.step;
  row.resource = resource;
  row.ready = ready_time(batch);
  row.start = now();
  row.work = work_of(program_.rules, members_of(batch));
  for (const OpId member : batch.members) {
    row.members.push_back(program_.graph[member].request);
    for (const Dependency& dep : waiting_[member.value()].deps) {
      const bool known = std::any_of(row.deps.begin(), row.deps.end(),
                                     [&](const Dependency& d) { return d.row == dep.row; });
      if (!known) {
        row.deps.push_back(dep);
      }
    }
  }
  return context_.table.add(std::move(row)).id;
}

Outputs Device::compute(const Batch& batch) {
  if (kernels_.numerics == nullptr) {
    return {};
  }
  return kernels_.numerics->compute(members_of(batch));
}

void Device::finish(const Batch& batch, RowId row, const Outputs& outputs) {
  const Femtoseconds end = now();
  context_.table.rows[row.value()].end = end;
  keep(batch, outputs);
  send_results(batch, row);
  for (const OpId member : batch.members) {
    for (const Consumer& consumer : program_.consumers[member.value()]) {
      if (program_.device_of[consumer.operation.value()] == id_) {
        take_input(consumer.operation, {row, end});
      }
    }
  }
  if (context_.progress) {
    context_.progress();
  }
}

void Device::keep(const Batch& batch, const Outputs& outputs) {
  if (kernels_.numerics == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < batch.members.size(); ++i) {
    kernels_.numerics->store(program_.graph[batch.members[i]], outputs[i]);
    kernels_.log->note(batch.members[i], outputs[i]);
  }
}

/// One message per other device that needs something of the launch.
void Device::send_results(const Batch& batch, RowId row) {
  std::map<DeviceId, std::vector<ValueKind>> needed;
  for (const OpId member : batch.members) {
    for (const Consumer& consumer : program_.consumers[member.value()]) {
      const DeviceId to = program_.device_of[consumer.operation.value()];
      if (to != id_) {
        add_once(needed[to], consumer.value);
      }
    }
  }
  for (auto& [to, values] : needed) {
    send(batch, row, to, std::move(values));
  }
}

void Device::send(const Batch& batch, RowId row, DeviceId to, std::vector<ValueKind> values) {
  auto message = std::make_shared<Message>();
  message->producers = batch.members;
  message->values = values;
  const Row& producer = context_.table.rows[row.value()];
  Row& description = message->row;
  description.op = batch.kind;
  description.carries = values;
  description.layer = batch.layer;
  description.step = batch.step;
  description.members = producer.members;
  description.deps = {{row, producer.end}};
  for (const ValueKind value : values) {
    description.wire_bytes +=
        static_cast<std::int64_t>(batch.members.size()) * value_bytes(program_.rules, value);
  }
  if (kernels_.numerics != nullptr) {
    for (const OpId member : batch.members) {
      kernels_.numerics->send(program_.graph[member], values, message->payload);
    }
    if (std::cmp_not_equal(message->payload.size(), description.wire_bytes.value())) {
      throw std::logic_error("Device::send: the payload is not as long as the bytes charged");
    }
  }
  out_device[to.value()]->put(std::move(message));
}

void Device::put(std::shared_ptr<Message> message) {
  std::span<const std::byte> payload = message->payload;
  for (const OpId producer : message->producers) {
    if (kernels_.numerics != nullptr) {
      payload = kernels_.numerics->receive(program_.graph[producer], message->values, payload);
    }
  }
  const auto carries = [&](ValueKind value) {
    return std::find(message->values.begin(), message->values.end(), value) !=
           message->values.end();
  };
  for (const OpId producer : message->producers) {
    for (const Consumer& consumer : program_.consumers[producer.value()]) {
      if (program_.device_of[consumer.operation.value()] == id_ && carries(consumer.value)) {
        take_input(consumer.operation, {message->row.id, message->row.end});
      }
    }
  }
}

std::vector<const Operation*> Device::members_of(const Batch& batch) const {
  std::vector<const Operation*> members;
  for (const OpId member : batch.members) {
    members.push_back(&program_.graph[member]);
  }
  return members;
}

Femtoseconds Device::ready_time(const Batch& batch) const {
  Femtoseconds ready;
  for (const OpId member : batch.members) {
    ready = std::max(ready, waiting_[member.value()].ready);
  }
  return ready;
}

}  // namespace qfs
