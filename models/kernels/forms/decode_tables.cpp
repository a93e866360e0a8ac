#include "kernels/forms/decode_tables.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <span>
#include <utility>

#include "base/random.hpp"
#include "kernels/forms/openacc_decode.hpp"

namespace qfs {
namespace {

constexpr std::size_t head_dim = 64;
constexpr std::size_t bytes_per_float = 4;
constexpr std::uint64_t traffic_seed = 0;  // of runs whose values do not matter

std::vector<float> draw(std::size_t size, std::uint64_t seed, std::uint64_t stream) {
  const Random random(seed, stream);
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    values[i] = static_cast<float>(random.normal(i));
  }
  return values;
}

/// Drawn q, K and V without reserved rows.
struct Attention {
  FormShape shape;
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;

  [[nodiscard]] FormInputs inputs() const { return {q, k, v, shape.positions}; }
};

Attention draw_attention(const FormShape& shape, std::uint64_t seed) {
  const std::size_t rows = shape.kv_heads * shape.positions;
  return {shape, draw(shape.heads * shape.key_dim, seed, 1), draw(rows * shape.key_dim, seed, 2),
          draw(rows * shape.value_dim, seed, 3)};
}

/// The answer of a form of one query row a head.
std::vector<float> answer(AttentionForm form, const FormShape& shape, const FormInputs& in,
                          FormCounts* counts = nullptr) {
  assert(query_rows(form, 2) == 1);
  std::vector<float> out(shape.heads * shape.value_dim);
  std::vector<float> lse(shape.heads);
  std::vector<float> workspace(workspace_values(form, shape));
  attend(form, shape, in, {out, lse}, workspace, counts);
  return out;
}

FormTraffic counted_traffic(const FormShape& shape) {
  FormCounts counts;
  const Attention attention = draw_attention(shape, traffic_seed);
  answer(AttentionForm::minimal, shape, attention.inputs(), &counts);
  return dram_traffic(counts);
}

template <class Truth>
double worst_difference(std::span<const float> values, std::span<const Truth> truth) {
  assert(values.size() == truth.size());
  double worst = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    worst = std::max(worst, std::abs(double{values[i]} - double{truth[i]}));
  }
  return worst;
}

double error_of(const FormShape& shape, std::uint64_t seed) {
  const Attention attention = draw_attention(shape, seed);
  std::vector<double> truth(shape.heads * shape.value_dim);
  std::vector<double> lse(shape.heads);
  attend_reference(shape, attention.inputs(), truth, lse);
  return worst_difference<double>(answer(AttentionForm::minimal, shape, attention.inputs()), truth);
}

/// The largest difference between the OpenACC kernel and the sequential one, on this host.
double openacc_error(const FormShape& shape, std::uint64_t seed) {
  const Attention attention = draw_attention(shape, seed);
  const DecodeShape decode{shape.heads, shape.kv_heads, shape.positions, shape.key_dim,
                           shape.value_dim};
  std::vector<float> weights(shape.positions);
  std::vector<float> sequential(shape.heads * shape.value_dim);
  std::vector<float> directed(sequential.size());
  decode_sequential(decode, attention.q, attention.k, attention.v, weights, sequential);
  decode_openacc(decode, attention.q, attention.k, attention.v, weights, directed);
  return worst_difference<float>(directed, sequential);
}

Bytes matrix_bytes(std::size_t n) {
  return Bytes(static_cast<std::int64_t>(n * n * bytes_per_float));
}

Bytes matrices_bytes(std::size_t steps) {
  Bytes sum{0};
  for (std::size_t t = 1; t <= steps; ++t) {
    sum += matrix_bytes(t);
  }
  return sum;
}

template <class Row>
double worst_error(const std::vector<Row>& rows) {
  return std::ranges::max_element(rows, {}, &Row::error)->error;
}

/// A growing cache of one head.
class Cache {
 public:
  Cache(CacheGrowth growth, std::size_t dim, std::size_t reserved)
      : growth_(growth), dim_(dim), capacity_(growth == CacheGrowth::in_place ? reserved : 0) {
    k_.resize(capacity_ * dim);
    v_.resize(capacity_ * dim);
  }

  void append(std::span<const float> k, std::span<const float> v, FormCounts& counts) {
    const FormShape old{1, 1, dim_, dim_, rows_};
    ++rows_;
    if (growth_ == CacheGrowth::in_place) {
      append_in_place(old, {k, v}, {k_, v_, capacity_}, &counts);
      return;
    }
    std::vector<float> grown_k(rows_ * dim_);
    std::vector<float> grown_v(rows_ * dim_);
    append_copying(old, {k, v}, {k_, v_, capacity_}, {grown_k, grown_v, rows_}, &counts);
    k_ = std::move(grown_k);
    v_ = std::move(grown_v);
    capacity_ = rows_;
  }

  [[nodiscard]] FormInputs inputs(std::span<const float> q) const { return {q, k_, v_, capacity_}; }

 private:
  CacheGrowth growth_;
  std::size_t dim_;
  std::size_t capacity_;
  std::size_t rows_ = 0;
  std::vector<float> k_;
  std::vector<float> v_;
};

}  // namespace

std::vector<QueryErrorRow> query_error_table(std::uint64_t seed) {
  std::vector<QueryErrorRow> rows;
  for (const std::size_t n : {4U, 64U, 256U, 1024U, 4096U}) {
    rows.push_back({n, error_of({1, 1, head_dim, head_dim, n}, seed)});
  }
  return rows;
}

std::vector<ScoreMatrixRow> score_matrix_table() {
  std::vector<ScoreMatrixRow> rows;
  for (const std::size_t n : {1024U, 4096U}) {
    rows.push_back({n, counted_traffic({1, 1, head_dim, head_dim, n}).total(), matrix_bytes(n)});
  }
  return rows;
}

DecodeRunInputs draw_decode_run(std::size_t dim, std::size_t steps, std::uint64_t seed) {
  return {dim, draw(steps * dim, seed, 4), draw(steps * dim, seed, 5), draw(steps * dim, seed, 6)};
}

DecodeRun decode_run(const DecodeRunInputs& inputs, CacheGrowth growth) {
  const std::size_t d = inputs.head_dim;
  const std::size_t steps = inputs.steps();
  assert(inputs.q.size() == steps * d && inputs.k.size() == steps * d);
  assert(inputs.v.size() == steps * d);
  Cache cache(growth, d, steps);
  DecodeRun run;
  run.out.resize(steps * d);
  std::vector<float> workspace(workspace_values(AttentionForm::minimal, {1, 1, d, d, steps}));
  std::array<float, 1> lse{};
  for (std::size_t t = 0; t < steps; ++t) {
    const auto row = [&](const std::vector<float>& rows) {
      return std::span(rows).subspan(t * d, d);
    };
    cache.append(row(inputs.k), row(inputs.v), run.append);
    attend(AttentionForm::minimal, {1, 1, d, d, t + 1}, cache.inputs(row(inputs.q)),
           {std::span(run.out).subspan(t * d, d), lse}, workspace, &run.attention);
  }
  return run;
}

std::vector<double> causal_attention(const DecodeRunInputs& inputs) {
  const std::size_t d = inputs.head_dim;
  const std::size_t n = inputs.steps();
  std::vector<double> weights(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t l = 0; l <= i; ++l) {
      double product = 0;
      for (std::size_t j = 0; j < d; ++j) {
        product += double{inputs.q[i * d + j]} * double{inputs.k[l * d + j]};
      }
      weights[i * n + l] = std::exp(product / std::sqrt(static_cast<double>(d)));
    }
  }
  std::vector<double> out(n * d, 0);
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::size_t l = 0; l < n; ++l) {
      sum += weights[i * n + l];
      for (std::size_t c = 0; c < d; ++c) {
        out[i * d + c] += weights[i * n + l] * double{inputs.v[l * d + c]};
      }
    }
    for (std::size_t c = 0; c < d; ++c) {
      out[i * d + c] /= sum;
    }
  }
  return out;
}

std::vector<RunErrorRow> run_error_table(std::uint64_t seed) {
  std::vector<RunErrorRow> rows;
  for (const auto& [steps, dim] : {std::pair{4U, 8U}, std::pair{16U, 64U}, std::pair{64U, 64U}}) {
    const DecodeRunInputs inputs = draw_decode_run(dim, steps, seed);
    const DecodeRun run = decode_run(inputs, CacheGrowth::in_place);
    rows.push_back({steps, dim, worst_difference<double>(run.out, causal_attention(inputs))});
  }
  return rows;
}

RunTrafficRow run_traffic(std::size_t steps, CacheGrowth growth) {
  const DecodeRun run = decode_run(draw_decode_run(head_dim, steps, traffic_seed), growth);
  return {steps, dram_traffic(run.append).total(), dram_traffic(run.attention).total(),
          matrices_bytes(steps)};
}

RunTrafficRow run_traffic_closed_form(std::size_t dim, std::size_t steps, CacheGrowth growth) {
  RunTrafficRow row{steps, Bytes(0), Bytes(0), matrices_bytes(steps)};
  for (std::size_t t = 1; t <= steps; ++t) {
    row.append += growth_traffic(growth, {1, 1, dim, dim, t - 1}, bytes_per_float).total();
    row.attention += traffic(AttentionForm::minimal, {1, 1, dim, dim, t}, bytes_per_float).total();
  }
  return row;
}

std::vector<RunTrafficRow> run_traffic_table(CacheGrowth growth) {
  std::vector<RunTrafficRow> rows;
  for (const std::size_t steps : {16U, 64U, 256U, 1024U}) {
    rows.push_back(run_traffic(steps, growth));
  }
  return rows;
}

RunCrossing run_crossing(std::size_t dim) {
  // Once below, always below: a step's matrix grows as t^2, its traffic as t.
  const auto first = [dim](auto moved) {
    std::size_t steps = 1;
    for (;; ++steps) {
      const RunTrafficRow row = run_traffic_closed_form(dim, steps, CacheGrowth::in_place);
      if (moved(row) < row.scores) {
        return steps;
      }
    }
  };
  return {first([](const RunTrafficRow& row) { return row.attention; }),
          first([](const RunTrafficRow& row) { return row.append + row.attention; })};
}

std::vector<GroupErrorRow> group_error_table(std::uint64_t seed) {
  constexpr std::size_t heads = 8;
  constexpr std::size_t dim = 32;
  std::vector<GroupErrorRow> rows;
  for (const std::size_t kv_heads : {8U, 4U, 2U, 1U}) {
    rows.push_back({heads, kv_heads, error_of({heads, kv_heads, dim, dim, 64}, seed)});
  }
  return rows;
}

std::vector<GroupTrafficRow> group_traffic_table() {
  constexpr std::size_t heads = 32;
  std::vector<GroupTrafficRow> rows;
  for (const std::size_t kv_heads : {32U, 8U, 4U, 1U}) {
    const FormTraffic counted = counted_traffic({heads, kv_heads, head_dim, head_dim, 1024});
    rows.push_back({kv_heads, counted.kv(), counted.total()});
  }
  return rows;
}

std::vector<ArtifactRow> artifact_table(std::uint64_t seed) {
  return {{"query", worst_error(query_error_table(seed))},
          {"openacc", openacc_error({8, 2, head_dim, head_dim, 256}, seed)},
          {"cache", worst_error(run_error_table(seed))},
          {"groups", worst_error(group_error_table(seed))}};
}

}  // namespace qfs
