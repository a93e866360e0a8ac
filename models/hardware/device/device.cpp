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
      waiting_(program_.graph.operations.size()) {
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
      note_ready(operation);
    }
  }
}

void Device::take_input(OpId operation, const Dependency& input) {
  Waiting& waiting = waiting_[operation.value()];
  if (waiting.inputs == 0) {
    throw std::logic_error("Device::take_input: an operation got an input that it does not await");
  }
  waiting.deps.push_back(input);
  if (--waiting.inputs == 0) {
    note_ready(program_.graph[operation]);
  }
}

bool Device::whole(const Batch& batch) const { return batch.members.size() == program_.wave; }

void Device::note_ready(const Operation& operation) {
  const auto gathering = gathering_.try_emplace(batch_key(operation)).first;
  Batch& batch = gathering->second;
  const auto after =
      std::find_if(batch.members.begin(), batch.members.end(),
                   [&](const Operation* member) { return member->request > operation.request; });
  batch.members.insert(after, &operation);
  batch.ready = now();
  batch.awaited_elsewhere |= program_.awaited_elsewhere[operation.id.value()];
  if (!whole(batch)) {
    return;
  }
  const Batch ready = std::move(batch);
  gathering_.erase(gathering);
  if (operation.kind == OpKind::append) {
    begin_write(ready);
  } else {
    queue_.push_back(ready);
    ev_ready_.notify(sc_core::SC_ZERO_TIME);
  }
}

void Device::execute() {
  while (true) {
    while (queue_.empty()) {
      wait(ev_ready_);
    }
    // What becomes ready at this very instant takes part in the choice.
    wait(sc_core::SC_ZERO_TIME);
    run(take_next());
  }
}

/// The scheduling rule: first what another device awaits, then what has been ready longest, then
/// program order, then the lower request.
Device::Batch Device::take_next() {
  const auto rank = [](const Batch& batch) {
    const Operation& first = *batch.members.front();
    return std::tuple(!batch.awaited_elsewhere, batch.ready, first.step, first.layer, first.kind,
                      first.request);
  };
  const auto next =
      std::min_element(queue_.begin(), queue_.end(),
                       [&](const Batch& a, const Batch& b) { return rank(a) < rank(b); });
  Batch batch = std::move(*next);
  queue_.erase(next);
  return batch;
}

void Device::run(const Batch& batch) {
  const RowId row = begin_row(batch, executor_);
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

/// The rows count as landed only at the end of the write.
void Device::begin_write(const Batch& batch) {
  const RowId row = begin_row(batch, writes_);
  const Outputs outputs = compute(batch);
  const auto transfer =
      memory_.start({.length = context_.table.rows[row.value()].work.memory_bytes(),
                     .direction = AccessDirection::write});
  if (transfer->finished) {
    finish(batch, row, outputs);
    return;
  }
  sc_core::sc_spawn([this, batch, row, outputs, transfer] {
    wait(transfer->done);
    finish(batch, row, outputs);
  });
}

RowId Device::begin_row(const Batch& batch, std::size_t resource) {
  const Operation& first = *batch.members.front();
  Row row;
  row.op = first.kind;
  row.layer = first.layer;
  row.step = first.step;
  row.resource = resource;
  row.ready = batch.ready;
  row.start = now();
  row.work = work_of(program_.rules, batch.members);
  for (const Operation* member : batch.members) {
    row.members.push_back(member->request);
    for (const Dependency& dep : waiting_[member->id.value()].deps) {
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
  return kernels_.numerics->compute(batch.members);
}

void Device::finish(const Batch& batch, RowId row, const Outputs& outputs) {
  const Femtoseconds end = now();
  context_.table.rows[row.value()].end = end;
  keep(batch, outputs);
  send_results(batch, row);
  for (const Operation* member : batch.members) {
    for (const Consumer& consumer : program_.consumers[member->id.value()]) {
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
    const Operation& member = *batch.members[i];
    kernels_.log->note(member.id, kernels_.numerics->store(member, outputs[i]));
  }
}

/// One message per other device that needs something of the launch.
void Device::send_results(const Batch& batch, RowId row) {
  std::map<DeviceId, std::vector<ValueKind>> needed;
  for (const Operation* member : batch.members) {
    for (const Consumer& consumer : program_.consumers[member->id.value()]) {
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
  for (const Operation* member : batch.members) {
    message->producers.push_back(member->id);
  }
  message->values = values;
  const Row& producer = context_.table.rows[row.value()];
  Row& description = message->row;
  description.op = producer.op;
  description.carries = values;
  description.layer = producer.layer;
  description.step = producer.step;
  description.members = producer.members;
  description.deps = {{row, producer.end}};
  for (const ValueKind value : values) {
    description.wire_bytes +=
        static_cast<std::int64_t>(batch.members.size()) * value_bytes(program_.rules, value);
  }
  if (kernels_.numerics != nullptr) {
    for (const Operation* member : batch.members) {
      kernels_.numerics->send(*member, values, message->payload);
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

}  // namespace qfs
