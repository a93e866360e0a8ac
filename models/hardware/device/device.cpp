#include "hardware/device/device.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "hardware/device/kernel_work.hpp"
#include "hardware/simulated_time.hpp"

namespace qfs {
namespace {

constexpr std::size_t executor_stack_bytes = std::size_t{1} << 20U;  // kernels run on it

std::size_t add_resource(ExecutionTable& table, std::string name, ResourceKind kind) {
  table.resources.push_back({std::move(name), kind});
  return table.resources.size() - 1;
}

/// Where disturbances strike this device.
Outages outages_of(const DeviceContext& context, DeviceId id) {
  const bool called = !context.program.calls.empty() && id.value() < context.program.pool_instances;
  return context.disturbances != nullptr && called
             ? Outages(context.disturbances->instances, id.value())
             : Outages();
}

Stalls stalls_of(const DeviceContext& context) {
  return context.disturbances != nullptr ? context.disturbances->stalls : Stalls{};
}

/// Cache rows are written beside; all else without a launch belongs to the executor's operations.
bool is_write(OpKind kind) { return kind == OpKind::append; }

/// What takes no launch saves none by waiting for more.
Batching without_window(Batching batching) {
  batching.window = Seconds(0);
  return batching;
}

}  // namespace

Device::Device(sc_core::sc_module_name name, DeviceId id, const DeviceConfig& config,
               const DevicePolicy& policy, const DeviceMemory& memory, const DeviceContext& context,
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
      inputs_come_(context.places.needed_by(id).index),
      inputs_(context.places.needed_by(id).first_slot),
      row_of_(inputs_come_.size()),
      launches_{{program_, policy.batching, context.residents}, {}},
      beside_{{program_, without_window(policy.batching), context.residents}, {}},
      append_delay_(policy.append_delay),
      outages_(outages_of(context, id)),
      launch_stalls_(stalls_of(context), executor_),
      write_stalls_(stalls_of(context), writes_) {
  SC_HAS_PROCESS(Device);
  SC_THREAD(execute);
  set_stack_size(executor_stack_bytes);
  SC_METHOD(look_beside);
  sensitive << beside_.ev_ready;
  if (policy.prefetch.ahead > 0) {
    prefetcher_.emplace(program_, id_, policy.prefetch);
    staging_ =
        add_resource(context.table, std::string(basename()) + ".staging", ResourceKind::staging);
    SC_THREAD(stage);
  }
  if (policy.batching.window > Seconds(0)) {
    windows_ =
        add_resource(context.table, std::string(basename()) + ".windows", ResourceKind::windows);
  }
}

void Device::start_of_simulation() {
  for (const OpId id : context_.places.first()) {
    if (own(id)) {
      add_ready(program_.graph[id]);  // which the processes see when they start
    }
  }
}

void Device::take_input(OpId operation, const Dependency& input) {
  const ProgramPlaces::Place& place = context_.places.of(operation);
  std::uint32_t& come = inputs_come_[place.index];
  const std::uint32_t awaited = program_.awaited_inputs[operation.value()];
  if (come == awaited) {
    throw std::logic_error("Device::take_input: an operation got an input that it does not await");
  }
  inputs_[place.first_slot + come] = input;
  if (++come == awaited) {
    note_ready(program_.graph[operation]);
  }
}

/// A write that can be held up takes its rows at once, before the next step's come.
void Device::add_ready(const Operation& operation) {
  if (context_.disturbances != nullptr && kernels_.numerics != nullptr &&
      is_write(operation.kind)) {
    const Operation* members[] = {&operation};
    rows_to_write_[operation.id] = kernels_.numerics->compute(members).front();
  }
  lane_of(operation).queue.add(operation, now());
}

/// At once: whoever waits looks at the queue again, and chooses when its turn comes.
void Device::note_ready(const Operation& operation) {
  add_ready(operation);
  lane_of(operation).ev_ready.notify();
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
    idle_ = false;
    stand_still();
    Batch batch;
    RowId row;
    // What becomes ready at this very instant takes part in the choice.
    context_.instant.in_turn(Stage::choices, id_.value(), [&] {
      batch = launches_.queue.take(now());
      row = begin_row(batch, executor_);
    });
    run(batch, row);
    idle_ = true;
    if (prefetcher_) {
      ev_idle_.notify(sc_core::SC_ZERO_TIME);
    }
  }
}

/// As long as a disturbance wants it.
void Device::stand_still() {
  const Femtoseconds until = outages_.resumes(now() + to_femtoseconds(launch_stalls_.next()));
  if (until > now()) {
    wait(to_sc_time(until - now()));
  }
  if (outages_.dead(now())) {
    die();
  }
}

/// Of the thread that executes.
void Device::die() {
  sc_core::sc_event ev_never;
  wait(ev_never);
}

/// No window is open here: what is due at all is due now.
void Device::look_beside() {
  if (!asked_for_turn_ && beside_.queue.due()) {
    asked_for_turn_ = true;
    context_.instant.at(Stage::beside, id_.value(), [this] { turn_beside(); });
  }
}

void Device::turn_beside() {
  begin_beside(beside_.queue.take(now()));
  asked_for_turn_ = false;
  look_beside();
}

void Device::run(const Batch& batch, RowId row) {
  if (prefetcher_ && batch.members.front()->kind == OpKind::sweep) {
    end(batch, row, run_sweep(batch, row));
    return;
  }
  const Outputs outputs = compute(batch);
  wait_for_work(batch.members, context_.table.rows[row.value()].work);
  last_through_outages(row);
  end(batch, row, outputs);
}

/// Launches of several devices can end at one instant and have results for one port.
void Device::end(const Batch& batch, RowId row, const Outputs& outputs) {
  context_.instant.in_turn(Stage::ends, id_.value(), [&] { finish(batch, row, outputs); });
}

/// An instance that stands still goes on where it was; one that dies does not.
void Device::last_through_outages(RowId id) {
  Row& row = context_.table.rows[id.value()];
  const Femtoseconds end = outages_.end_of_launch(row.start, now());
  if (end > now()) {
    wait(to_sc_time(end - now()));
  }
  if (outages_.dead(end)) {
    row.end = *outages_.death();
    row.fate = RowFate::lost;
    die();
  }
}

std::shared_ptr<Transfer> Device::start_streams(Members members, const Work& work) {
  if (memory_.layout == nullptr) {
    return memory_.memory.start({.length = work.memory_bytes()});
  }
  return memory_.memory.start(memory_.layout->streams_of(members, work));
}

/// Launch, then the memory's streams and the arithmetic side by side; or a fitted kernel's time,
/// which has all that in it.
void Device::wait_for_work(Members members, const Work& work) {
  const auto pause = [this](Seconds time) {
    if (time > Seconds(0)) {
      wait(to_sc_time(time));
    }
  };
  if (config_.kernels) {
    pause(launch_time(config_.kernels->cost, config_.last_level_cache, program_.rules, members));
    return;
  }
  pause(static_cast<double>(work.launches) * config_.launch_overhead);
  const Seconds arithmetic = std::max(work.macs / config_.mac_rate, work.exps / config_.exp_rate);
  const Femtoseconds computed = now() + to_femtoseconds(arithmetic);
  const auto transfer = start_streams(members, work);
  if (!transfer->finished) {  // first, since it is mostly what takes longer
    wait(transfer->done);
  }
  if (computed > now()) {
    wait(to_sc_time(computed - now()));
  }
}

/// Of the cache, which `members` sweep.
void Device::wait_for_rows(Members members, Bytes kv_read) {
  Work rows;
  rows.kv_read_bytes = kv_read;
  const auto transfer = start_streams(members, rows);
  if (!transfer->finished) {
    wait(transfer->done);
  }
}

void Device::begin_beside(const Batch& batch) {
  const bool write = is_write(batch.members.front()->kind);
  const Seconds stall = write ? write_stalls_.next() : Seconds(0);
  const Outputs outputs = compute(batch);
  if (stall == Seconds(0)) {
    spend_beside(batch, outputs);
    return;
  }
  errands_.after(nullptr, stall, [this, batch, outputs] { spend_beside(batch, outputs); });
}

/// A write's rows count as landed only at its end.
void Device::spend_beside(const Batch& batch, const Outputs& outputs) {
  const bool write = is_write(batch.members.front()->kind);
  const RowId row = begin_row(batch, write ? writes_ : executor_);
  const auto transfer = start_streams(batch.members, context_.table.rows[row.value()].work);
  const Seconds delay = write ? append_delay_ : Seconds(0);
  if (transfer->finished && delay == Seconds(0)) {
    finish(batch, row, outputs);
    return;
  }
  errands_.after(transfer, delay, [this, batch, row, outputs] { finish(batch, row, outputs); });
}

/// Of a batch, without times.
Row Device::blank_row(const Batch& batch, std::size_t resource) {
  const Operation& first = *batch.members.front();
  Row row;
  row.op = first.kind;
  row.layer = first.layer;
  row.shard = first.shard;
  row.step = first.step;
  row.resource = resource;
  row.members.reserve(batch.members.size());
  for (const Operation* member : batch.members) {
    row.members.push_back({member->request, member->step});
  }
  return row;
}

/// How long the batch let others join, if it did.
void Device::note_window(const Batch& batch) {
  if (!windows_ || batch.due == batch.first_ready) {
    return;
  }
  Row row = blank_row(batch, *windows_);
  row.kind = RowKind::window;
  row.ready = batch.first_ready;
  row.start = batch.first_ready;
  row.end = batch.due;
  context_.table.add(std::move(row));
}

RowId Device::begin_row(const Batch& batch, std::size_t resource) {
  note_window(batch);
  Row row = blank_row(batch, resource);
  row.ready = batch.ready;
  row.start = now();
  row.work = work_of(program_.rules, batch.members);
  for (const Operation* member : batch.members) {
    row.attempt = std::max(row.attempt, context_.calls.attempt(id_, member->id));
    const ProgramPlaces::Place& place = context_.places.of(member->id);
    for (std::uint32_t input = 0; input < inputs_come_[place.index]; ++input) {
      add_dependency(row.deps, inputs_[place.first_slot + input]);
    }
  }
  const RowId id = context_.table.add(std::move(row)).id;
  for (const Operation* member : batch.members) {
    row_of_[context_.places.of(member->id).index] = id;
  }
  return id;
}

Outputs Device::compute(const Batch& batch) {
  if (kernels_.numerics == nullptr) {
    return {};
  }
  if (rows_to_write_.contains(batch.members.front()->id)) {
    Outputs rows;
    for (const Operation* member : batch.members) {
      rows.push_back(std::move(rows_to_write_.extract(member->id).mapped()));
    }
    return rows;
  }
  return kernels_.numerics->compute(batch.members);
}

void Device::finish(const Batch& batch, RowId row, const Outputs& outputs) {
  const Femtoseconds end = now();
  context_.table.rows[row.value()].end = end;
  if (std::all_of(batch.members.begin(), batch.members.end(),
                  [this](const Operation* member) { return over(member->id); })) {
    context_.table.rows[row.value()].fate = RowFate::dropped;
  }
  keep(batch, outputs);
  send_results(batch);
  for (const Operation* member : batch.members) {
    if (prefetcher_ && member->kind == OpKind::append) {
      prefetcher_->note_landed(*member);
    }
    note_done(*member);
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

void Device::note_done(const Operation& operation) {
  const bool first = context_.calls.note_done(operation.id);
  context_.residents -= first && program_.ends_request[operation.id.value()] ? 1 : 0;
  if (context_.watch != nullptr) {
    context_.watch->note_done(operation.id);
  }
}

void Device::keep(const Batch& batch, const Outputs& outputs) {
  if (kernels_.numerics == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < batch.members.size(); ++i) {
    const Operation& member = *batch.members[i];
    std::vector<float> output = kernels_.numerics->store(member, outputs[i]);
    if (!context_.calls.is_done(member.id)) {
      kernels_.log->note(member.id, std::move(output));
    }
  }
}

}  // namespace qfs
