#include "decode/partials.hpp"

#include <cassert>

#include "kernels/attention.hpp"

namespace qfs {
namespace {

void merge_into(Partial& state, const Partial& other) {
  const std::size_t d = state.o.size() / state.lse.size();
  for (std::size_t head = 0; head < state.lse.size(); ++head) {
    state.lse[head] = merge(std::span(state.o).subspan(head * d, d), state.lse[head],
                            std::span(other.o).subspan(head * d, d), other.lse[head]);
  }
}

/// Neighbours in pairs, then pairs of pairs; an odd one out goes up as it is.
Partial merge_tree(std::span<const Partial> partials) {
  std::vector<Partial> level(partials.begin(), partials.end());
  while (level.size() > 1) {
    std::vector<Partial> next;
    for (std::size_t i = 0; i < level.size(); i += 2) {
      next.push_back(std::move(level[i]));
      if (i + 1 < level.size()) {
        merge_into(next.back(), level[i + 1]);
      }
    }
    level = std::move(next);
  }
  return level.front();
}

}  // namespace

Partial merge_shards(std::span<const Partial> partials, MergeOrder order) {
  assert(!partials.empty());
  if (order == MergeOrder::tree) {
    return merge_tree(partials);
  }
  Partial state = partials.front();
  for (const Partial& other : partials.subspan(1)) {
    merge_into(state, other);
  }
  return state;
}

Partial join_heads(std::span<const Partial> partials) {
  Partial joined;
  for (const Partial& part : partials) {
    joined.o.insert(joined.o.end(), part.o.begin(), part.o.end());
    joined.lse.insert(joined.lse.end(), part.lse.begin(), part.lse.end());
  }
  return joined;
}

}  // namespace qfs
