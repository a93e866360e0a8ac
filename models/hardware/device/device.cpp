#include "hardware/device/device.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "hardware/simulated_time.hpp"

namespace qfs {
namespace {

constexpr std::size_t executor_stack_bytes = std::size_t{1} << 20U;  // kernels run on it

std::size_t add_resource(ExecutionTable& table, std::string name, ResourceKind kind) {
  table.resources.push_back({std::move(name), kind});
  return table.resources.size() - 1;
}

template <class Value>
void add_once(std::vector<Value>& values, const Value& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) {
    values.push_back(value);
  }
}

void add_dependencies(std::vector<Dependency>& all, const std::vector<Dependency>& more) {
  for (const Dependency& dep : more) {
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const Dependency& d) { return d.row == dep.row; });
    if (!known) {
      all.push_back(dep);
    }
  }
}

/// Cache rows are written beside; all else without a launch belongs to the executor's operations.
bool is_write(OpKind kind) { return kind == OpKind::append; }

}  // namespace

Device::Device(sc_core::sc_module_name name, DeviceId id, const DeviceConfig& config,
               const Batching& batching, Memory& memory, const DeviceContext& context,
               DeviceKernels kernels)
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
      row_of_(program_.graph.operations.size()),
      launches_{{program_, batching, context.residents}, {}},
      beside_{{program_, batching, context.residents}, {}} {
  SC_HAS_PROCESS(Device);
  SC_THREAD(execute);
  set_stack_size(executor_stack_bytes);
  SC_THREAD(execute_beside);
  set_stack_size(executor_stack_bytes);
}

void Device::start_of_simulation() {
  for (const Operation& operation : program_.graph.operations) {
    waiting_[operation.id.value()].inputs = program_.awaited_inputs[operation.id.value()];
  }
  for (const Operation& operation : program_.graph.operations) {
    if (waiting_[operation.id.value()].inputs == 0 && own(operation.id)) {
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

void Device::note_ready(const Operation& operation) {
  Lane& lane = takes_executor(operation.kind) ? launches_ : beside_;
  lane.queue.add(operation, now());
  lane.ev_ready.notify(sc_core::SC_ZERO_TIME);
}

/// Until the policy lets a batch go.
void Device::wait_for_due(Lane& lane) {
  while (true) {
    const std::optional<Femtoseconds> due = lane.queue.due();
    if (!due) {
      wait(lane.ev_ready);
    } else if (*due > now()) {
      wait(to_sc_time(*due - now()), lane.ev_ready);
    } else {
      return;
    }
  }
}

void Device::execute() {
  while (true) {
    wait_for_due(launches_);
    // What becomes ready at this very instant takes part in the choice.
    context_.instant.wait_until_settled();
    run(launches_.queue.take(now()));
  }
}

void Device::execute_beside() {
  while (true) {
    wait_for_due(beside_);
    context_.instant.wait_until_quiet();
    begin_beside(beside_.queue.take(now()));
  }
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

/// A write's rows count as landed only at its end.
void Device::begin_beside(const Batch& batch) {
  const bool write = is_write(batch.members.front()->kind);
  const RowId row = begin_row(batch, write ? writes_ : executor_);
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
  row.shard = first.shard;
  row.step = first.step;
  row.resource = resource;
  row.ready = batch.ready;
  row.start = now();
  row.work = work_of(program_.rules, batch.members);
  for (const Operation* member : batch.members) {
    row.members.push_back({member->request, member->step});
    add_dependencies(row.deps, waiting_[member->id.value()].deps);
  }
  const RowId id = context_.table.add(std::move(row)).id;
  for (const Operation* member : batch.members) {
    row_of_[member->id.value()] = id;
  }
  return id;
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
  send_results(batch);
  for (const Operation* member : batch.members) {
    context_.residents -= program_.ends_request[member->id.value()] ? 1 : 0;
    for (const Consumer& consumer : program_.consumers[member->id.value()]) {
      if (own(consumer.operation)) {
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

/// One message to each other device that needs something of what now leaves, each value once.
void Device::send_results(const Batch& batch) {
  context_.calls.open_calls(batch.members);
  std::map<DeviceId, std::vector<MessageItem>> needed;
  for (const Operation* member : batch.members) {
    for (const OpId leaving : context_.calls.end(member->id)) {
      for (const Consumer& consumer : program_.consumers[leaving.value()]) {
        if (!own(consumer.operation)) {
          add_once(needed[context_.calls.device_of(consumer.operation)],
                   {leaving, consumer.carried});
        }
      }
    }
  }
  for (auto& [to, items] : needed) {
    send(to, std::move(items));
  }
}

/// All of a message's row but what the link adds.
Row Device::describe(const std::vector<MessageItem>& items) const {
  const Operation& first = program_.graph[items.front().producer];
  Row row;
  row.op = first.kind;
  row.layer = first.layer;
  row.shard = first.shard;
  row.step = first.step;
  for (const MessageItem& item : items) {
    const Operation& producer = program_.graph[item.producer];
    const RowId made_by = row_of_[item.producer.value()];
    add_once(row.carries, item.carried.value);
    add_once(row.members, {producer.request, producer.step});
    add_dependencies(row.deps, {{made_by, context_.table.rows[made_by.value()].end}});
    row.wire_bytes += value_bytes(program_.rules, item.carried);
  }
  return row;
}

void Device::send(DeviceId to, std::vector<MessageItem> items) {
  auto message = std::make_shared<Message>();
  message->to = to;
  message->row = describe(items);
  message->items = std::move(items);
  if (kernels_.numerics != nullptr) {
    for (const MessageItem& item : message->items) {
      kernels_.numerics->send(program_.graph[item.producer], item.carried, message->payload);
    }
    if (std::cmp_not_equal(message->payload.size(), message->row.wire_bytes.value())) {
      throw std::logic_error("Device::send: the payload is not as long as the bytes charged");
    }
  }
  out_device[to.value()]->put(std::move(message));
}

void Device::put(std::shared_ptr<Message> message) {
  std::span<const std::byte> payload = message->payload;
  if (kernels_.numerics != nullptr) {
    for (const MessageItem& item : message->items) {
      payload = kernels_.numerics->receive(program_.graph[item.producer], item.carried, payload);
    }
  }
  for (const MessageItem& item : message->items) {
    for (const Consumer& consumer : program_.consumers[item.producer.value()]) {
      if (consumer.carried == item.carried && own(consumer.operation)) {
        take_input(consumer.operation, {message->row.id, message->row.end});
      }
    }
  }
}

}  // namespace qfs
