#include "decode/faulty_numerics.hpp"

#include <algorithm>

#include "kernels/softmax/softmax_unit.hpp"

namespace qfs {
namespace {

constexpr float altered_gain = 1.001F;

/// The output of `scores` as if its last row had not been there.
void mask_newest(std::span<float> output, std::size_t heads) {
  const std::size_t positions = output.size() / heads - 2;
  for (std::size_t head = 0; head < heads && positions > 0; ++head) {
    const std::span<float> scores = output.subspan(2 * heads + head * positions, positions);
    scores.back() = masked<float>;
    const Extrema<float> extrema = extrema_of<float>(scores);
    output[head] = extrema.max;
    output[heads + head] = extrema.min;
  }
}

}  // namespace

bool FaultyNumerics::strikes(FaultKind kind, const Operation& operation) const {
  return fault_.kind == kind && fault_.layer == operation.layer && fault_.step == operation.step;
}

Outputs FaultyNumerics::compute(Members members) {
  const Operation& first = *members.front();
  if (strikes(FaultKind::swap_kv, first) && first.kind == OpKind::append) {
    return append_swapped(members);
  }
  if (strikes(FaultKind::skip_position, first) && first.kind == OpKind::scores) {
    Outputs outputs = DeviceNumerics::compute(members);
    for (std::vector<float>& output : outputs) {
      mask_newest(output, part_of(shape(), first.part).heads);
    }
    return outputs;
  }
  const bool short_sweep = strikes(FaultKind::skip_position, first) && first.kind == OpKind::sweep;
  const bool wrong_weights =
      strikes(FaultKind::wrong_weights, first) && first.kind == fault_.operation;
  return short_sweep || wrong_weights ? compute_altered(members) : DeviceNumerics::compute(members);
}

/// The kernel is given the right inputs but told to do something else. `inputs` name the producers,
/// so the arguments stay those of the true operation.
Outputs FaultyNumerics::compute_altered(Members members) {
  std::vector<Operation> altered;
  for (const Operation* operation : members) {
    altered.push_back(*operation);
    if (fault_.kind == FaultKind::skip_position) {
      altered.back().positions -= std::min<std::size_t>(1, operation->positions);
    } else {
      const std::size_t layers = shape().layers;
      altered.back().layer = LayerId((operation->layer.value() + layers - 1) % layers);
    }
  }
  std::vector<const Operation*> pointers;
  pointers.reserve(altered.size());
  for (const Operation& operation : altered) {
    pointers.push_back(&operation);
  }
  return DeviceNumerics::compute(pointers);
}

Outputs FaultyNumerics::append_swapped(Members members) {
  Outputs outputs = DeviceNumerics::compute(members);
  for (std::vector<float>& rows : outputs) {
    const auto values = rows.begin() + static_cast<std::ptrdiff_t>(rows.size() / 2);
    std::swap_ranges(rows.begin(), values, values);
  }
  return outputs;
}

std::span<const std::byte> FaultyNumerics::receive(const Operation& producer,
                                                   const Carried& carried,
                                                   std::span<const std::byte> payload) {
  const std::span<const std::byte> rest = DeviceNumerics::receive(producer, carried, payload);
  if (carried.value == ValueKind::q && strikes(FaultKind::alter_in_flight, producer)) {
    const Slice q = slice_of(shape(), producer, carried);
    for (float& value : std::span(buffer(producer)).subspan(q.offset, q.count)) {
      value *= altered_gain;
    }
  }
  return rest;
}

}  // namespace qfs
