#include "hardware/device/prefetcher.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace qfs {

Prefetcher::Prefetcher(const Program& program, DeviceId device, const PrefetchConfig& config)
    : program_(program), config_(config) {
  using Place = std::tuple<std::size_t, StepId, LayerId>;  // wave, then order of traversal
  std::map<Place, std::vector<const Operation*>> sweeps;
  for (const Operation& operation : program.graph.operations) {
    const bool here = program.device_of[operation.id.value()] == device;
    if (here && (operation.kind == OpKind::append || operation.kind == OpKind::sweep)) {
      // The first operation on a cache finds it as it is at the start.
      landed_.try_emplace({operation.request, operation.layer}, operation.positions);
    }
    if (here && operation.kind == OpKind::sweep) {
      sweeps[{program.wave_of(operation.request), operation.step, operation.layer}].push_back(
          &operation);
    }
  }
  for (auto& [place, members] : sweeps) {
    waves_.resize(std::max(waves_.size(), std::get<0>(place) + 1));
    waves_[std::get<0>(place)].sweeps.push_back(std::move(members));
  }
}

void Prefetcher::note_landed(const Operation& append) {
  ++landed_.at({append.request, append.layer});
}

Bytes Prefetcher::row_bytes(const Operation& sweep) const {
  Operation one = sweep;
  one.positions = 1;
  const Operation* members[] = {&one};
  return work_of(program_.rules, members).kv_read_bytes;
}

/// From the watermarks and the room there is; whether there is anything to copy.
bool Prefetcher::fill(StagedBlock& block) const {
  const Bytes each = row_bytes(*block.sweeps.front());
  std::size_t room = SIZE_MAX;
  if (config_.staging) {
    room = static_cast<std::size_t>((*config_.staging - used_).value() / each.value());
  }
  std::size_t copied = 0;
  for (const Operation* sweep : block.sweeps) {
    const std::size_t landed = landed_.at({sweep->request, sweep->layer});
    const std::size_t asked = std::min(sweep->positions, room - copied);
    const std::size_t held = std::min(asked, landed);
    block.rows.push_back({asked, held, config_.watermark == Watermark::off ? asked : held});
    copied += held;
  }
  block.bytes = static_cast<std::int64_t>(copied) * each;
  return copied > 0;
}

/// The one that is least far ahead of those that may stage more.
Prefetcher::Traversal* Prefetcher::next_wave() {
  Traversal* next = nullptr;
  for (Traversal& wave : waves_) {
    const std::size_t last = std::min(wave.sweeps.size(), wave.begun + config_.ahead);
    if (wave.staged < last && (next == nullptr || wave.staged < next->staged)) {
      next = &wave;
    }
  }
  return next;
}

StagedBlock* Prefetcher::begin_next() {
  Traversal* wave = next_wave();
  if (wave == nullptr) {
    return nullptr;
  }
  StagedBlock& block = blocks_.emplace_back();
  block.sweeps = wave->sweeps[wave->staged];
  if (!fill(block)) {
    blocks_.pop_back();
    return nullptr;
  }
  ++wave->staged;
  used_ += block.bytes;
  return &block;
}

void Prefetcher::note_copied(StagedBlock& block) const {
  for (std::size_t i = 0; i < block.rows.size(); ++i) {
    const Operation& sweep = *block.sweeps[i];
    if (config_.watermark == Watermark::late) {
      block.rows[i].trusted =
          std::min(block.rows[i].asked, landed_.at({sweep.request, sweep.layer}));
    }
  }
  block.copied = true;
  block.ev_copied.notify(sc_core::SC_ZERO_TIME);
}

StagedBlock* Prefetcher::block_of(const Batch& sweep) {
  const auto block = std::find_if(blocks_.begin(), blocks_.end(), [&](const StagedBlock& staged) {
    return staged.sweeps.front() == sweep.members.front();
  });
  return block == blocks_.end() ? nullptr : &*block;
}

StagedUse Prefetcher::use(const Batch& sweep) {
  Traversal& wave = waves_[program_.wave_of(sweep.members.front()->request)];
  ++wave.begun;
  wave.staged = std::max(wave.staged, wave.begun);
  StagedUse use;
  for (const Operation* member : sweep.members) {
    use.rows_in_sweep.push_back(member->positions);
  }
  if (const StagedBlock* block = block_of(sweep)) {
    take_from(*block, use);
    used_ -= block->bytes;
    blocks_.remove_if([&](const StagedBlock& staged) { return &staged == block; });
  }
  return use;
}

void Prefetcher::take_from(const StagedBlock& block, StagedUse& use) const {
  const Bytes each = row_bytes(*block.sweeps.front());
  for (std::size_t i = 0; i < block.rows.size(); ++i) {
    const StagedRows& rows = block.rows[i];
    use.staged += static_cast<std::int64_t>(rows.trusted) * each;
    use.tail += static_cast<std::int64_t>(rows.asked - rows.trusted) * each;
    if (rows.held < rows.trusted) {
      // A block that room has cut short lacks no row that was asked of it.
      assert(rows.trusted == block.sweeps[i]->positions);
      use.rows_in_sweep[i] = rows.held;
    }
  }
}

}  // namespace qfs
