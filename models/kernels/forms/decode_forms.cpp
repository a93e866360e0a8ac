#include "kernels/forms/decode_forms.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace qfs {
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// Hands out the workspace piece by piece.
class Carver {
 public:
  explicit Carver(std::span<float> rest) : rest_(rest) {}
  std::span<float> take(std::size_t size) {
    assert(size <= rest_.size());
    const std::span<float> piece = rest_.first(size);
    rest_ = rest_.subspan(size);
    return piece;
  }

 private:
  std::span<float> rest_;
};

template <class Array>
void load_run(const Array& array, std::size_t first, std::span<float> chip) {
  for (std::size_t i = 0; i < chip.size(); ++i) {
    chip[i] = array.load(first + i);
  }
}

template <class Array>
void store_run(std::span<const float> chip, const Array& array, std::size_t first) {
  for (std::size_t i = 0; i < chip.size(); ++i) {
    array.store(first + i, chip[i]);
  }
}

float dot_in_order(std::span<const float> a, std::span<const float> b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

float scale_of(const FormShape& shape) { return 1 / std::sqrt(static_cast<float>(shape.key_dim)); }

/// What the chip holds while the query rows of one group are at work.
struct Chip {
  std::size_t rows;           // query rows of the group, all heads
  std::size_t rows_per_head;  // so that row r of head r / rows_per_head sees all keys but the last
                              // rows_per_head - 1 - r % rows_per_head
  std::span<float> q;
  std::span<float> cache_row;
  std::span<float> line;  // one row of scores
  std::span<float> out;
};

std::size_t chip_values(const FormShape& shape, std::size_t rows) {
  return rows * (shape.key_dim + shape.value_dim) + std::max(shape.key_dim, shape.value_dim) +
         shape.positions;
}

Chip make_chip(const FormShape& shape, std::size_t rows_per_head, Carver& workspace) {
  const std::size_t rows = shape.group() * rows_per_head;
  return {rows,
          rows_per_head,
          workspace.take(rows * shape.key_dim),
          workspace.take(std::max(shape.key_dim, shape.value_dim)),
          workspace.take(shape.positions),
          workspace.take(rows * shape.value_dim)};
}

/// Step I: the group's scores, each row of K loaded once. scores is rows x positions.
template <class K, class Scores>
void score(const FormShape& shape, const Chip& chip, const K& k, std::size_t slab,
           const Scores& scores) {
  const std::size_t d = shape.key_dim;
  const float scale = scale_of(shape);
  for (std::size_t l = 0; l < shape.positions; ++l) {
    const std::span<float> row = chip.cache_row.first(d);
    load_run(k, (slab + l) * d, row);
    for (std::size_t r = 0; r < chip.rows; ++r) {
      scores.store(r * shape.positions + l, scale * dot_in_order(chip.q.subspan(r * d, d), row));
    }
  }
}

/// Step II for one row, of which the first `visible` keys take part: each score loaded and each
/// weight stored once. Returns the row's lse.
template <class Scores, class Weights>
float weigh(const Scores& scores, std::size_t first, std::size_t visible, std::span<float> line,
            const Weights& weights) {
  load_run(scores, first, line);
  std::ranges::fill(line.subspan(visible), minus_infinity);
  float max = minus_infinity;
  for (const float s : line.first(visible)) {
    max = std::max(max, s);
  }
  float sum = 0;
  for (float& s : line) {
    s = std::exp(s - max);
    sum += s;
  }
  for (float& weight : line) {
    weight /= sum;
  }
  store_run(line, weights, first);
  return max + std::log(sum);
}

/// Step III: the group's outputs, each row of V loaded once.
template <class V, class Weights>
void add_values(const FormShape& shape, const Chip& chip, const V& v, std::size_t slab,
                const Weights& weights) {
  const std::size_t d = shape.value_dim;
  std::ranges::fill(chip.out, 0.0F);
  for (std::size_t l = 0; l < shape.positions; ++l) {
    const std::span<float> row = chip.cache_row.first(d);
    load_run(v, (slab + l) * d, row);
    for (std::size_t r = 0; r < chip.rows; ++r) {
      const float weight = weights.load(r * shape.positions + l);
      for (std::size_t c = 0; c < d; ++c) {
        chip.out[r * d + c] += weight * row[c];
      }
    }
  }
}

/// Steps II and III of KV head h, whose slab of V starts at row `slab`, and the group's result.
template <class Scores, class Weights, class V, class Out>
void finish(const FormShape& shape, const Chip& chip, std::size_t h, const Scores& scores,
            const Weights& weights, const V& v, std::size_t slab, const Out& out,
            std::span<float> lse) {
  for (std::size_t r = 0; r < chip.rows; ++r) {
    const std::size_t hidden = chip.rows_per_head - 1 - r % chip.rows_per_head;
    const float row_lse =
        shape.positions == 0
            ? minus_infinity
            : weigh(scores, r * shape.positions, shape.positions - hidden, chip.line, weights);
    lse[h * shape.group() + r / chip.rows_per_head] = row_lse;  // the last row's stays
  }
  add_values(shape, chip, v, slab, weights);
  store_run(chip.out, out, h * chip.rows * shape.value_dim);
}

/// The three steps for every KV head, each group of query rows in one pass over K and V.
template <class Q, class K, class V, class Scores, class Weights, class Out>
void three_steps(const FormShape& shape, const Chip& chip, const Q& q, const K& k, const V& v,
                 std::size_t capacity, const Scores& scores, const Weights& weights, const Out& out,
                 std::span<float> lse) {
  for (std::size_t h = 0; h < shape.kv_heads; ++h) {
    load_run(q, h * chip.q.size(), chip.q);
    score(shape, chip, k, h * capacity, scores);
    finish(shape, chip, h, scores, weights, v, h * capacity, out, lse);
  }
}

template <class Access>
void minimal(const Access& access, const FormShape& shape, const FormInputs& in,
             const FormState& state, Carver workspace) {
  const Chip chip = make_chip(shape, 1, workspace);
  const std::size_t scores = chip.rows * shape.positions;
  three_steps(shape, chip, access.bind(FormArray::q, in.q), access.bind(FormArray::k, in.k),
              access.bind(FormArray::v, in.v), in.capacity,
              access.bind(FormArray::chip_scores, workspace.take(scores)),
              access.bind(FormArray::chip_weights, workspace.take(scores)),
              access.bind(FormArray::out, state.out), state.lse);
}

/// K^T: slab h is key_dim x positions.
template <class K, class Transposed>
void transpose(const FormShape& shape, const K& k, std::size_t capacity, const Transposed& result) {
  for (std::size_t h = 0; h < shape.kv_heads; ++h) {
    for (std::size_t l = 0; l < shape.positions; ++l) {
      for (std::size_t j = 0; j < shape.key_dim; ++j) {
        result.store((h * shape.key_dim + j) * shape.positions + l,
                     k.load((h * capacity + l) * shape.key_dim + j));
      }
    }
  }
}

/// Step I from K^T: sums (rows x positions, on chip) grow feature by feature, in dot_in_order's
/// order.
template <class Transposed, class Scores>
void score_transposed(const FormShape& shape, const Chip& chip, const Transposed& k, std::size_t h,
                      std::span<float> sums, const Scores& scores) {
  std::ranges::fill(sums, 0.0F);
  for (std::size_t j = 0; j < shape.key_dim; ++j) {
    for (std::size_t l = 0; l < shape.positions; ++l) {
      const float value = k.load((h * shape.key_dim + j) * shape.positions + l);
      for (std::size_t r = 0; r < chip.rows; ++r) {
        sums[r * shape.positions + l] += chip.q[r * shape.key_dim + j] * value;
      }
    }
  }
  const float scale = scale_of(shape);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    scores.store(i, scale * sums[i]);
  }
}

template <class Access>
void transposed_k(const Access& access, const FormShape& shape, const FormInputs& in,
                  const FormState& state, Carver workspace) {
  const Chip chip = make_chip(shape, 1, workspace);
  const std::size_t rank_one = chip.rows * shape.positions;
  const auto scores = access.bind(FormArray::chip_scores, workspace.take(rank_one));
  const auto weights = access.bind(FormArray::chip_weights, workspace.take(rank_one));
  const std::span<float> sums = workspace.take(rank_one);
  const auto k_transposed = access.bind(
      FormArray::k_transposed, workspace.take(shape.kv_heads * shape.key_dim * shape.positions));
  const auto q = access.bind(FormArray::q, in.q);
  const auto v = access.bind(FormArray::v, in.v);
  const auto out = access.bind(FormArray::out, state.out);
  transpose(shape, access.bind(FormArray::k, in.k), in.capacity, k_transposed);
  for (std::size_t h = 0; h < shape.kv_heads; ++h) {
    load_run(q, h * chip.q.size(), chip.q);
    score_transposed(shape, chip, k_transposed, h, sums, scores);
    finish(shape, chip, h, scores, weights, v, h * in.capacity, out, state.lse);
  }
}

/// One copy a query head, each source element loaded once for the copies of its group.
template <class Source, class Expanded>
void expand(const FormShape& shape, std::size_t dim, const Source& source, std::size_t capacity,
            const Expanded& expanded) {
  const std::size_t slab = shape.positions * dim;
  for (std::size_t h = 0; h < shape.kv_heads; ++h) {
    for (std::size_t i = 0; i < slab; ++i) {
      const float value = source.load(h * capacity * dim + i);
      for (std::size_t copy = 0; copy < shape.group(); ++copy) {
        expanded.store((h * shape.group() + copy) * slab + i, value);
      }
    }
  }
}

template <class Access>
void expanded_heads(const Access& access, const FormShape& shape, const FormInputs& in,
                    const FormState& state, Carver workspace) {
  FormShape own = shape;  // a KV head of its own for every query head
  own.kv_heads = shape.heads;
  const Chip chip = make_chip(own, 1, workspace);
  const auto scores = access.bind(FormArray::chip_scores, workspace.take(shape.positions));
  const auto weights = access.bind(FormArray::chip_weights, workspace.take(shape.positions));
  const std::size_t rows = shape.heads * shape.positions;
  const auto k = access.bind(FormArray::k_expanded, workspace.take(rows * shape.key_dim));
  const auto v = access.bind(FormArray::v_expanded, workspace.take(rows * shape.value_dim));
  expand(shape, shape.key_dim, access.bind(FormArray::k, in.k), in.capacity, k);
  expand(shape, shape.value_dim, access.bind(FormArray::v, in.v), in.capacity, v);
  three_steps(own, chip, access.bind(FormArray::q, in.q), k, v, shape.positions, scores, weights,
              access.bind(FormArray::out, state.out), state.lse);
}

template <class Access>
void score_matrix(const Access& access, const FormShape& shape, const FormInputs& in,
                  const FormState& state, Carver workspace) {
  if (shape.positions == 0) {  // no query rows either
    std::ranges::fill(state.lse, minus_infinity);
    return;
  }
  const Chip chip = make_chip(shape, shape.positions, workspace);
  const std::size_t scores = chip.rows * shape.positions;
  three_steps(shape, chip, access.bind(FormArray::q, in.q), access.bind(FormArray::k, in.k),
              access.bind(FormArray::v, in.v), in.capacity,
              access.bind(FormArray::score_matrix, workspace.take(scores)),
              access.bind(FormArray::weight_matrix, workspace.take(scores)),
              access.bind(FormArray::out, state.out), state.lse);
}

template <class Access>
void run(AttentionForm form, const Access& access, const FormShape& shape, const FormInputs& in,
         const FormState& state, std::span<float> workspace) {
  switch (form) {
    case AttentionForm::minimal:
      return minimal(access, shape, in, state, Carver(workspace));
    case AttentionForm::transposed_k:
      return transposed_k(access, shape, in, state, Carver(workspace));
    case AttentionForm::expanded_heads:
      return expanded_heads(access, shape, in, state, Carver(workspace));
    case AttentionForm::score_matrix:
      return score_matrix(access, shape, in, state, Carver(workspace));
  }
}

[[maybe_unused]] bool sound(const FormShape& shape) {
  return shape.key_dim >= 1 && shape.value_dim >= 1 && shape.kv_heads >= 1 && shape.heads >= 1 &&
         shape.heads % shape.kv_heads == 0;
}

/// Whether `size` values hold `rows` rows of every KV head.
[[maybe_unused]] bool holds(std::size_t size, const FormShape& shape, std::size_t rows,
                            std::size_t capacity, std::size_t dim) {
  return capacity >= rows && (rows == 0 || size >= ((shape.kv_heads - 1) * capacity + rows) * dim);
}

}  // namespace

std::size_t workspace_values(AttentionForm form, const FormShape& shape) {
  assert(sound(shape));
  const std::size_t n = shape.positions;
  const std::size_t rows = shape.group() * query_rows(form, n);
  switch (form) {
    case AttentionForm::transposed_k:
      return chip_values(shape, rows) + 3 * rows * n + shape.kv_heads * shape.key_dim * n;
    case AttentionForm::expanded_heads:
      return chip_values(shape, 1) + 2 * n + shape.heads * n * (shape.key_dim + shape.value_dim);
    case AttentionForm::minimal:
    case AttentionForm::score_matrix:
      break;
  }
  return chip_values(shape, rows) + 2 * rows * n;
}

void attend(AttentionForm form, const FormShape& shape, const FormInputs& in,
            const FormState& state, std::span<float> workspace, FormCounts* counts) {
  [[maybe_unused]] const std::size_t rows = shape.heads * query_rows(form, shape.positions);
  assert(sound(shape));
  assert(in.q.size() == rows * shape.key_dim && state.out.size() == rows * shape.value_dim);
  assert(state.lse.size() == shape.heads);
  assert(holds(in.k.size(), shape, shape.positions, in.capacity, shape.key_dim));
  assert(holds(in.v.size(), shape, shape.positions, in.capacity, shape.value_dim));
  assert(workspace.size() >= workspace_values(form, shape));
  if (counts != nullptr) {
    run(form, Counting<FormCounts>{counts}, shape, in, state, workspace);
  } else {
    run(form, NotCounting{}, shape, in, state, workspace);
  }
}

}  // namespace qfs
