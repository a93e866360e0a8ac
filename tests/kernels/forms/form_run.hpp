// Drawn inputs of the decode forms, and runs whose results come back by value.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/forms/decode_forms.hpp"
#include "tests/kernels/draw.hpp"

namespace qfs::test {

/// One query row a head, and a cache laid out as FormInputs says.
struct FormData {
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;
  std::size_t capacity = 0;

  [[nodiscard]] FormInputs inputs() const { return {q, k, v, capacity}; }
};

/// Every row of the capacity is drawn.
inline FormData draw_form(const FormShape& shape, std::size_t capacity, std::uint64_t seed) {
  return {draw_floats(shape.heads * shape.key_dim, seed, 106),
          draw_floats(shape.kv_heads * capacity * shape.key_dim, seed, 107),
          draw_floats(shape.kv_heads * capacity * shape.value_dim, seed, 108), capacity};
}

/// The slabs of a compact cache, each followed by `spare` rows of `filler`.
inline FormData spread(const FormShape& shape, const FormData& compact, std::size_t spare,
                       float filler) {
  FormData spaced{compact.q, {}, {}, shape.positions + spare};
  const auto append = [&](const std::vector<float>& from, std::size_t dim, std::vector<float>& to) {
    for (std::size_t h = 0; h < shape.kv_heads; ++h) {
      const auto slab = std::span(from).subspan(h * shape.positions * dim, shape.positions * dim);
      to.insert(to.end(), slab.begin(), slab.end());
      to.insert(to.end(), spare * dim, filler);
    }
  };
  append(compact.k, shape.key_dim, spaced.k);
  append(compact.v, shape.value_dim, spaced.v);
  return spaced;
}

struct FormResult {
  std::vector<float> out;
  std::vector<float> lse;
  FormCounts counts;
};

/// Runs with all query rows given; out has as many. What is not written stays NaN.
inline FormResult run_form_rows(AttentionForm form, const FormShape& shape, const FormData& data,
                                std::span<const float> q, bool counted = true) {
  const std::size_t rows = shape.heads * query_rows(form, shape.positions);
  FormResult result{
      std::vector<float>(rows * shape.value_dim, NAN), std::vector<float>(shape.heads, NAN), {}};
  std::vector<float> workspace(workspace_values(form, shape), NAN);
  attend(form, shape, {q, data.k, data.v, data.capacity}, {result.out, result.lse}, workspace,
         counted ? &result.counts : nullptr);
  return result;
}

/// The answer alone: `out` is the last row of each head. Past queries of a score matrix are copies
/// of the last.
inline FormResult run_form(AttentionForm form, const FormShape& shape, const FormData& data,
                           bool counted = true) {
  const std::size_t rows = query_rows(form, shape.positions);
  std::vector<float> q;
  for (std::size_t g = 0; g < shape.heads; ++g) {
    const auto head = std::span(data.q).subspan(g * shape.key_dim, shape.key_dim);
    for (std::size_t row = 0; row < rows; ++row) {
      q.insert(q.end(), head.begin(), head.end());
    }
  }
  FormResult result = run_form_rows(form, shape, data, q, counted);
  std::vector<float> last;
  for (std::size_t g = 0; g < shape.heads && rows > 0; ++g) {
    const auto row =
        std::span(result.out).subspan((g * rows + rows - 1) * shape.value_dim, shape.value_dim);
    last.insert(last.end(), row.begin(), row.end());
  }
  result.out = std::move(last);
  return result;
}

struct FormReference {
  std::vector<double> out;
  std::vector<double> lse;
};

inline FormReference reference_form(const FormShape& shape, const FormData& data) {
  FormReference result{std::vector<double>(shape.heads * shape.value_dim, NAN),
                       std::vector<double>(shape.heads, NAN)};
  attend_reference(shape, data.inputs(), result.out, result.lse);
  return result;
}

}  // namespace qfs::test
