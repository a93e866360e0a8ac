// A device that stages rows while it is idle, and the sweeps that use them (prefetcher.hpp).
#include <utility>

#include "hardware/device/device.hpp"
#include "hardware/simulated_time.hpp"

namespace qfs {

/// Of the rows that have been staged, those that the watermarks vouch for are not read again; what
/// has landed since is fetched first.
Outputs Device::run_sweep(const Batch& batch, RowId row) {
  Row& sweep = context_.table.rows[row.value()];
  const StagedBlock* block = prefetcher_->block_of(batch);
  if (block != nullptr && !block->copied) {
    wait(block->ev_copied);
  }
  const StagedUse use = prefetcher_->use(batch);
  std::vector<Operation> swept;
  swept.reserve(batch.members.size());
  std::vector<const Operation*> members;
  for (const Operation* member : batch.members) {
    swept.push_back(*member);
    swept.back().positions = use.rows_in_sweep[swept.size() - 1];
    members.push_back(&swept.back());
  }
  Outputs outputs = kernels_.numerics != nullptr ? kernels_.numerics->compute(members) : Outputs{};
  sweep.work.kv_read_bytes -= use.staged + use.tail;
  fetch_tail(batch, sweep, use.tail);
  wait_for_work(batch.members, sweep.work);
  return outputs;
}

void Device::fetch_tail(const Batch& batch, const Row& sweep, Bytes tail) {
  if (tail == Bytes(0)) {
    return;
  }
  Row fetch;
  fetch.kind = RowKind::tail_fetch;
  fetch.op = OpKind::sweep;
  fetch.layer = sweep.layer;
  fetch.shard = sweep.shard;
  fetch.step = sweep.step;
  fetch.members = sweep.members;
  fetch.resource = staging_;
  fetch.ready = batch.ready;
  fetch.start = now();
  fetch.work.kv_read_bytes = tail;
  Row& row = context_.table.add(std::move(fetch));
  wait_for_rows(batch.members, tail);
  row.end = now();
}

/// While the executor has nothing to do. A copy that has begun goes on beside a launch.
void Device::stage() {
  while (true) {
    StagedBlock* block = nullptr;
    Row* row = nullptr;
    context_.instant.in_turn(Stage::leftover, id_.value(), [&] {
      block = idle_ ? prefetcher_->begin_next() : nullptr;
      row = block != nullptr ? &begin_copy(*block) : nullptr;
    });
    if (block == nullptr) {
      wait(ev_idle_);
    } else {
      wait_for_rows(block->sweeps, block->bytes);
      row->end = now();
      prefetcher_->note_copied(*block);
    }
  }
}

Row& Device::begin_copy(const StagedBlock& block) {
  const Operation& first = *block.sweeps.front();
  Row prefetch;
  prefetch.kind = RowKind::prefetch;
  prefetch.op = OpKind::sweep;
  prefetch.layer = first.layer;
  prefetch.shard = first.shard;
  prefetch.step = first.step;
  for (const Operation* sweep : block.sweeps) {
    prefetch.members.push_back({sweep->request, sweep->step});
  }
  prefetch.resource = staging_;
  prefetch.ready = now();
  prefetch.start = now();
  prefetch.work.kv_read_bytes = block.bytes;
  return context_.table.add(std::move(prefetch));
}

}  // namespace qfs
