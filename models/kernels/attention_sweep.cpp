// The sweep: every unit gives a partial softmax state, and those of a head are merged in order.
#include <algorithm>
#include <cassert>
#include <limits>
#include <vector>

#include "kernels/attention.hpp"
#include "kernels/attention_units.hpp"
#include "kernels/parallel.hpp"

namespace qfs {

void sweep(std::span<const float> q, const KvRows& rows, std::span<float> o, std::span<float> lse,
           const SweepOptions& options) {
  const std::size_t d = rows.head_dim;
  assert(q.size() == lse.size() * d && o.size() == q.size());
  const SweepUnits units(rows, lse.size(), options.queries);
  std::ranges::fill(o, 0.0F);
  std::ranges::fill(lse, -std::numeric_limits<float>::infinity());

  const std::size_t vectors = units.vectors();
  std::vector<float> partial_o(units.count() * vectors * d);
  std::vector<float> partial_lse(units.count() * vectors);
  for_each_unit(units.count(), options.threads, [&](std::size_t unit) {
    sweep_chunk(units.rows(unit), units.vectors(q.data(), d, units.kv_head(unit)),
                &partial_o[unit * vectors * d], &partial_lse[unit * vectors]);
  });

  for (std::size_t unit = 0; unit < units.count(); ++unit) {
    const HeadVectors<float> to_o = units.vectors(o.data(), d, units.kv_head(unit));
    const HeadVectors<float> to_lse = units.vectors(lse.data(), 1, units.kv_head(unit));
    for (std::size_t i = 0; i < vectors; ++i) {
      const std::size_t from = unit * vectors + i;
      const std::span<const float> other_o(&partial_o[from * d], d);
      *to_lse.at(i) = merge({to_o.at(i), d}, *to_lse.at(i), other_o, partial_lse[from]);
    }
  }
}

}  // namespace qfs
