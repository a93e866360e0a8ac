#include "hardware/device/batch_queue.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

namespace qfs {

BatchQueue::BatchQueue(const Program& program, const Batching& batching,
                       const std::size_t& residents)
    : program_(program), batching_(batching), residents_(residents) {}

Gather BatchQueue::gather(OpKind kind) const {
  return is_of_sweep(kind) ? batching_.sweeps : batching_.products;
}

BatchQueue::Key BatchQueue::key_of(const Operation& operation) const {
  Key key{operation.kind, operation.layer, operation.shard, StepId(0), 0, RequestId(0)};
  switch (gather(operation.kind)) {
    case Gather::ready:
      break;
    case Gather::request:
      key.request = operation.request;
      [[fallthrough]];
    case Gather::wave:
      key.step = operation.step;
      key.wave = program_.wave_of(operation.request);
  }
  return key;
}

void BatchQueue::add(const Operation& operation, Femtoseconds now) {
  const auto [place, opened] = batches_.try_emplace(key_of(operation));
  Batch& batch = place->second;
  if (opened) {
    batch.first_ready = now;
    batch.members.reserve(program_.wave_members[operation.id.value()]);
  }
  // From behind: most come in their order.
  const auto before =
      std::find_if(batch.members.rbegin(), batch.members.rend(), [&](const Operation* member) {
        return std::pair(member->request, member->step) <
               std::pair(operation.request, operation.step);
      });
  batch.members.insert(before.base(), &operation);
  batch.ready = now;
  batch.awaited_elsewhere |= program_.awaited_elsewhere[operation.id.value()];
}

std::optional<Femtoseconds> BatchQueue::due(const Batch& batch) const {
  const Operation& first = *batch.members.front();
  switch (gather(first.kind)) {
    case Gather::wave:
      if (batch.members.size() < program_.wave_members[first.id.value()]) {
        return std::nullopt;
      }
      return batch.ready;
    case Gather::ready: {
      const Femtoseconds closes = batch.first_ready + to_femtoseconds(batching_.window);
      return batch.members.size() < residents_ ? closes : std::min(closes, batch.ready);
    }
    case Gather::request:
      break;
  }
  return batch.ready;
}

std::optional<Femtoseconds> BatchQueue::due() const {
  std::optional<Femtoseconds> earliest;
  for (const auto& [key, batch] : batches_) {
    const std::optional<Femtoseconds> at = due(batch);
    if (at && (!earliest || *at < *earliest)) {
      earliest = at;
    }
  }
  return earliest;
}

Batch BatchQueue::take(Femtoseconds now) {
  const auto rank = [](const Batch& batch) {
    const Operation& first = *batch.members.front();
    return std::tuple(!batch.awaited_elsewhere, batch.ready, first.step, first.layer, first.kind,
                      first.shard, first.request);
  };
  auto next = batches_.end();
  for (auto batch = batches_.begin(); batch != batches_.end(); ++batch) {
    const std::optional<Femtoseconds> at = due(batch->second);
    if (at && *at <= now && (next == batches_.end() || rank(batch->second) < rank(next->second))) {
      next = batch;
    }
  }
  assert(next != batches_.end());
  Batch batch = std::move(batches_.extract(next).mapped());
  batch.due = *due(batch);
  return batch;
}

}  // namespace qfs
