#include "hardware/device/memory_layout.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>

#include "decode/part.hpp"
#include "kernels/format.hpp"

namespace qfs {
namespace {

constexpr std::uint64_t alignment = 4096;           // of everything that has a place of its own
constexpr std::uint64_t scratch_bytes = 64 * 1024;  // assumed: activations stay in one place

std::uint64_t aligned(std::uint64_t bytes, std::uint64_t to) { return (bytes + to - 1) / to * to; }

std::uint64_t unsigned_of(Bytes bytes) { return static_cast<std::uint64_t>(bytes.value()); }

std::uint64_t count_of(const dram::Organisation& parts, dram::Field field) {
  switch (field) {
    case dram::Field::channel:
      return parts.channels;
    case dram::Field::pseudochannel:
      return parts.pseudochannels;
    case dram::Field::rank:
      return parts.ranks;
    case dram::Field::stack:
      return parts.stacks;
    case dram::Field::bankgroup:
      return parts.bankgroups;
    case dram::Field::bank:
      return parts.banks;
    case dram::Field::column:
      return parts.bursts_of_row();
    case dram::Field::row:
      return parts.rows;
  }
  throw std::logic_error("count_of: unknown field");
}

}  // namespace

std::uint64_t row_distance(const dram::DramConfig& config) {
  std::uint64_t distance = config.organisation.burst_bytes();
  for (const dram::Field field : config.controller.mapping) {
    if (field == dram::Field::row) {
      break;
    }
    distance *= count_of(config.organisation, field);
  }
  return distance;
}

MemoryLayout::MemoryLayout(const Program& program, DeviceId device, const DeviceConfig& config)
    : program_(program),
      chunk_(unsigned_of(config.kv_chunk)),
      same_banks_(row_distance(config.dram.value()) * config.dram_parts),
      kv_banks_(config.kv_banks) {
  scratch_ = allocate(scratch_bytes);
  take_caches(device);
}

std::uint64_t MemoryLayout::allocate(std::uint64_t bytes) {
  const std::uint64_t at = end_;
  end_ += aligned(bytes, alignment);
  return at;
}

/// Of the requests whose rows the device holds. What it sweeps or appends says how many.
void MemoryLayout::take_caches(DeviceId device) {
  std::uint64_t layers = 0;
  for (const Operation& operation : program_.graph.operations) {
    const bool append = operation.kind == OpKind::append;
    if (program_.device_of[operation.id.value()] != device ||
        !(append || is_of_sweep(operation.kind))) {
      continue;
    }
    const std::size_t request = operation.request.value();
    rows_.resize(std::max(rows_.size(), request + 1));
    rows_[request] =
        std::max<std::uint64_t>(rows_[request], operation.positions + (append ? 1 : 0));
    layers = std::max<std::uint64_t>(layers, operation.layer.value() + 1);
    kv_heads_ = part_of(program_.rules.shape, operation.part).kv_heads;
  }
  row_bytes_ = qfs::row_bytes(program_.rules.formats.kv, program_.rules.shape.head_dim);
  std::uint64_t rows = 0;
  for (const std::uint64_t own : rows_) {
    rows_before_.push_back(rows);
    rows += own * program_.rules.alike;
  }
  const std::uint64_t bytes = rows * kv_heads_ * row_bytes_;
  v_distance_ = aligned(bytes, same_banks_) + (kv_banks_ == KvBanks::other ? same_banks_ / 2 : 0);
  layer_bytes_ = aligned(v_distance_ + bytes, same_banks_);  // layers lie alike in their banks
  caches_ = allocate(layers * layer_bytes_);
}

/// Where the first row of the operation's request and layer lies.
std::uint64_t MemoryLayout::k_at(const Operation& operation) const {
  return caches_ + operation.layer.value() * layer_bytes_ +
         rows_before_[operation.request.value()] * kv_heads_ * row_bytes_;
}

std::uint64_t MemoryLayout::weights_at(const Operation& operation, Bytes bytes) {
  const auto [at, is_new] = weights_.try_emplace({operation.kind, operation.layer}, end_);
  if (is_new) {
    allocate(unsigned_of(bytes));
  }
  return at->second;
}

/// The phases of a calibrated sweep read one of the two.
Stream MemoryLayout::swept(const Operation& first, Bytes bytes) const {
  Stream stream{.base = k_at(first), .length = bytes, .piece = chunk_};
  if (first.kind == OpKind::values) {
    stream.base += v_distance_;
  } else if (first.kind != OpKind::scores) {
    stream.alternates = true;
    stream.second = stream.base + v_distance_;
  }
  return stream;
}

/// A row of K and one of V for each head.
Stream MemoryLayout::append_of(const Operation& operation) const {
  const std::uint64_t k = k_at(operation) + operation.positions * row_bytes_;
  return {
      .base = k,
      .length = Bytes(static_cast<std::int64_t>(2 * kv_heads_ * row_bytes_ * program_.rules.alike)),
      .stride = rows_[operation.request.value()] * row_bytes_,
      .piece = row_bytes_,
      .direction = AccessDirection::write,
      .alternates = true,
      .second = k + v_distance_};
}

/// Those of neighbouring requests with caches alike go on in the same stride.
void MemoryLayout::add_appends(std::span<const Operation* const> members,
                               std::vector<Stream>& streams) const {
  const Operation* last = nullptr;
  for (const Operation* member : members) {
    const Stream stream = append_of(*member);
    const bool goes_on = last != nullptr && member->layer == last->layer &&
                         member->request.value() == last->request.value() + 1 &&
                         member->positions == last->positions &&
                         rows_[member->request.value()] == rows_[last->request.value()];
    if (goes_on) {
      streams.back().length += stream.length;
    } else {
      streams.push_back(stream);
    }
    last = member;
  }
}

std::vector<Stream> MemoryLayout::streams_of(std::span<const Operation* const> members,
                                             const Work& work) {
  assert(!members.empty());
  const Operation& first = *members.front();
  std::vector<Stream> streams;
  if (work.weight_bytes > Bytes(0)) {
    streams.push_back({.base = weights_at(first, work.weight_bytes), .length = work.weight_bytes});
  }
  if (work.kv_read_bytes > Bytes(0)) {
    streams.push_back(swept(first, work.kv_read_bytes));
  }
  const bool rows_only = first.kind == OpKind::append && work.kv_read_bytes == Bytes(0);
  if (rows_only && work.kv_written_bytes > Bytes(0)) {
    add_appends(members, streams);
  } else if (work.kv_written_bytes > Bytes(0)) {  // a copy of the cache, or a form's own
    streams.push_back(
        {.base = end_, .length = work.kv_written_bytes, .direction = AccessDirection::write});
  }
  if (work.activation_bytes > Bytes(0)) {
    streams.push_back({.base = scratch_, .length = work.activation_bytes});
  }
  return streams;
}

}  // namespace qfs
