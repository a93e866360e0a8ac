// Attention on a device, beyond the plain sweep: its two phases with a calibrated unit, and the
// merge of what shards and the current token give.
#include <algorithm>
#include <stdexcept>

#include "decode/calibrated_sweep.hpp"
#include "decode/device_numerics.hpp"
#include "kernels/attention.hpp"

namespace qfs {

/// Rows that have not landed cannot be read, as in a sweep.
KvRows DeviceNumerics::landed_rows(const Operation& operation) {
  const KvCache& held = cache(operation);
  return held.rows(std::min(operation.positions, held.positions()));
}

Outputs DeviceNumerics::scores(Members members) {
  Outputs outputs;
  for (const Operation* operation : members) {
    outputs.push_back(
        score_rows(argument(*operation, 0), landed_rows(*operation), operation->positions));
  }
  return outputs;
}

Outputs DeviceNumerics::values(Members members) {
  if (!attention_.softmax.is_calibrated()) {
    throw std::logic_error("DeviceNumerics::values: the graph has a unit that the device has not");
  }
  Outputs outputs;
  for (const Operation* operation : members) {
    Anchors anchors(own_shape(*operation).heads);
    for (std::size_t index = 0; index < operation->inputs.size(); ++index) {
      if (operation->inputs[index].value == ValueKind::extrema) {
        widen(anchors, argument(*operation, index));
      }
    }
    std::optional<std::vector<float>> current;
    if (weighs_current_token(*operation)) {
      const std::size_t q = operation->inputs.size() - 2;  // then k
      current = score_key(argument(*operation, q), argument(*operation, q + 1), shape().head_dim);
    }
    outputs.push_back(weigh_rows(attention_.softmax.unit, std::move(anchors),
                                 argument(*operation, 0), landed_rows(*operation), current));
  }
  return outputs;
}

/// The states that a merge is given, by shard or, if it merges in order of arrival, as they came;
/// those of different heads always by shard.
std::vector<Partial> DeviceNumerics::partials(const Operation& merge) {
  std::vector<std::pair<std::uint64_t, Partial>> states;
  for (std::size_t index = 0; index < merge.inputs.size(); ++index) {
    const Edge& edge = merge.inputs[index];
    if (edge.value != ValueKind::partial) {
      continue;
    }
    const std::span<const float> state = argument(merge, index);
    const std::size_t width = part_of(shape(), edge.part).q_width();
    const std::span<const float> o = state.first(width);
    const std::span<const float> lse = state.subspan(width);
    states.emplace_back(buffer_of(graph_[edge.from]).written,
                        Partial{{o.begin(), o.end()}, {lse.begin(), lse.end()}});
  }
  const bool by_heads = merge.inputs.back().part.count > 1;
  if (holdings_.merge == MergeOrder::arrival && !by_heads) {
    std::sort(states.begin(), states.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  std::vector<Partial> partials;
  partials.reserve(states.size());
  for (auto& [written, state] : states) {
    partials.push_back(std::move(state));
  }
  return partials;
}

Outputs DeviceNumerics::merge(Members members) {
  Outputs outputs;
  for (const Operation* operation : members) {
    const std::vector<Partial> states = partials(*operation);
    const Edge& last = operation->inputs.back();
    const bool by_heads = states.size() > 1 && last.part.count > 1;
    Partial whole = by_heads ? join_heads(states) : merge_shards(states, holdings_.merge);
    if (operation->inputs.front().value == ValueKind::v) {
      fold_weighed(*operation, whole);
    } else if (operation->inputs.front().value == ValueKind::q) {
      fold(argument(*operation, 0), argument(*operation, 1), argument(*operation, 2),
           shape().head_dim, whole.o, whole.lse);
    }
    outputs.push_back(std::move(whole.o));
  }
  return outputs;
}

/// The current token as a state of one position, of the weight that the holders of its row gave it.
void DeviceNumerics::fold_weighed(const Operation& operation, Partial& state) {
  const std::size_t d = shape().head_dim;
  const std::span<const float> v = argument(operation, 0);
  std::size_t head = 0;
  for (std::size_t index = 1; operation.inputs[index].value == ValueKind::weight; ++index) {
    for (const float weight : argument(operation, index)) {
      const std::span<float> o = std::span(state.o).subspan(head * d, d);
      state.lse[head] =
          qfs::merge(o, state.lse[head], v.subspan(head / shape().group() * d, d), weight);
      ++head;
    }
  }
}

}  // namespace qfs
