#include "decode/cache_attention.hpp"

#include <algorithm>
#include <vector>

#include "kernels/attention.hpp"

namespace qfs {
namespace {

/// The first rows of a cache in fp32, KV head by KV head without gaps.
struct Unpacked {
  std::vector<float> k;
  std::vector<float> v;
};

Unpacked unpack(const KvCache& cache, const FormShape& shape) {
  const std::size_t values = shape.kv_heads * shape.positions * shape.key_dim;
  Unpacked rows{std::vector<float>(values), std::vector<float>(values)};
  for (std::size_t head = 0; head < shape.kv_heads; ++head) {
    for (std::size_t t = 0; t < shape.positions; ++t) {
      const std::size_t at = (head * shape.positions + t) * shape.key_dim;
      cache.read_head(head, t, std::span(rows.k).subspan(at, shape.key_dim),
                      std::span(rows.v).subspan(at, shape.key_dim));
    }
  }
  return rows;
}

/// Every head's query rows: stand-ins, then the query itself.
std::vector<float> query_matrix(std::span<const float> q, std::span<const float> k,
                                const FormShape& shape, std::size_t rows) {
  const std::size_t d = shape.key_dim;
  std::vector<float> matrix;
  for (std::size_t head = 0; head < shape.heads; ++head) {
    const std::size_t slab = head / shape.group() * shape.positions * d;
    const std::span<const float> past = k.subspan(slab, (rows - 1) * d);
    matrix.insert(matrix.end(), past.begin(), past.end());
    const std::span<const float> own = q.subspan(head * d, d);
    matrix.insert(matrix.end(), own.begin(), own.end());
  }
  return matrix;
}

FormShape form_shape(std::size_t heads, const KvRows& rows) {
  return {heads, rows.kv_heads, rows.head_dim, rows.head_dim, rows.positions};
}

}  // namespace

std::size_t attend_cache_host_bytes(AttentionForm form, const ModelShape& shape,
                                    std::size_t positions) {
  if (form == AttentionForm::minimal) {
    return 0;
  }
  const FormShape swept{shape.heads, shape.kv_heads, shape.head_dim, shape.head_dim, positions};
  const std::size_t rows = query_rows(form, positions);
  const std::size_t unpacked = 2 * shape.kv_width() * positions;
  const std::size_t queries_and_outputs = 2 * shape.q_width() * rows;
  return (unpacked + queries_and_outputs + workspace_values(form, swept)) * sizeof(float);
}

void attend_cache(AttentionForm form, std::span<const float> q, const KvCache& cache,
                  std::size_t positions, std::span<float> o, std::span<float> lse) {
  const KvRows stored = cache.rows(positions);
  if (form == AttentionForm::minimal || positions == 0) {
    sweep(q, stored, o, lse);
    return;
  }
  const FormShape shape = form_shape(lse.size(), stored);
  const std::size_t rows = query_rows(form, positions);
  const Unpacked kv = unpack(cache, shape);
  const std::vector<float> queries = query_matrix(q, kv.k, shape, rows);
  std::vector<float> outputs(queries.size());
  std::vector<float> workspace(workspace_values(form, shape));
  attend(form, shape, {queries, kv.k, kv.v, positions}, {outputs, lse}, workspace);
  const std::size_t d = shape.key_dim;
  for (std::size_t head = 0; head < shape.heads; ++head) {  // the last row of each
    std::copy_n(outputs.begin() + static_cast<std::ptrdiff_t>(((head + 1) * rows - 1) * d), d,
                o.begin() + static_cast<std::ptrdiff_t>(head * d));
  }
}

}  // namespace qfs
