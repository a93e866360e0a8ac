// The seven tables of 003, row by row, as runs of the forms of decode_forms.hpp on drawn data.
// Bytes are counted at the arrays unless a column says otherwise; MB are 1e6 bytes. Errors are the
// largest absolute difference from attention in fp64, on standard normal q, K and V.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/forms/decode_forms.hpp"

namespace qfs {

constexpr double megabytes(Bytes bytes) { return static_cast<double>(bytes.value()) / 1e6; }

/// Table 1: one query over n positions, head size 64; n = 4, 64, 256, 1024, 4096.
struct QueryErrorRow {
  std::size_t positions;
  double error;
};
std::vector<QueryErrorRow> query_error_table(std::uint64_t seed);

/// Table 2: the minimal form's traffic beside the size of an n x n score matrix (one store an
/// element; in closed form), head size 64; n = 1024, 4096.
struct ScoreMatrixRow {
  std::size_t positions;
  Bytes minimal;
  Bytes scores;
  [[nodiscard]] double ratio() const { return megabytes(scores) / megabytes(minimal); }
};
std::vector<ScoreMatrixRow> score_matrix_table();

/// T decode steps of one head. Step t = 1 ... T appends its own row and then attends over t rows,
/// in the minimal form.
struct DecodeRun {
  std::vector<float> out;  // T rows
  FormCounts append;
  FormCounts attention;
};
struct DecodeRunInputs {
  std::size_t head_dim = 1;  // of the T rows each of q, k and v
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;
  [[nodiscard]] std::size_t steps() const { return q.size() / head_dim; }
};
DecodeRunInputs draw_decode_run(std::size_t head_dim, std::size_t steps, std::uint64_t seed);
DecodeRun decode_run(const DecodeRunInputs& inputs, CacheGrowth growth);

/// fp64 attention of all T queries at once, query i over keys 0 to i: the whole score matrix,
/// masked, T rows of head_dim.
std::vector<double> causal_attention(const DecodeRunInputs& inputs);

/// Table 3: a whole decode run against causal attention; T = 4 of head size 8, 16 and 64 of 64.
struct RunErrorRow {
  std::size_t steps;
  std::size_t head_dim;
  double error;
};
std::vector<RunErrorRow> run_error_table(std::uint64_t seed);

/// Table 4: a run's bytes, head size 64, beside the T score matrices of t x t that would have been
/// stored on the way (in closed form); T = 16, 64, 256, 1024.
struct RunTrafficRow {
  std::size_t steps;
  Bytes append;
  Bytes attention;  // q and out among them
  Bytes scores;
};
RunTrafficRow run_traffic(std::size_t steps, CacheGrowth growth);
/// The same in closed form.
RunTrafficRow run_traffic_closed_form(std::size_t head_dim, std::size_t steps, CacheGrowth growth);
std::vector<RunTrafficRow> run_traffic_table(CacheGrowth growth);

/// The number of steps from which on a run of an in-place cache moves fewer bytes than the score
/// matrices hold: its attention alone, and with its appends.
struct RunCrossing {
  std::size_t attention;
  std::size_t total;
};
RunCrossing run_crossing(std::size_t head_dim);

/// Table 5: 64 positions, 8 query heads of size 32 on 8, 4, 2 and 1 KV heads.
struct GroupErrorRow {
  std::size_t heads;
  std::size_t kv_heads;
  double error;
};
std::vector<GroupErrorRow> group_error_table(std::uint64_t seed);

/// Table 6: 1024 positions, 32 query heads of size 64 on 32, 8, 4 and 1 KV heads.
struct GroupTrafficRow {
  std::size_t kv_heads;
  Bytes kv;
  Bytes total;
};
std::vector<GroupTrafficRow> group_traffic_table();

/// Table 7: the worst error of each artifact over its table. `openacc` compares that kernel on this
/// host with the sequential one: 0, as they add in one order.
struct ArtifactRow {
  std::string_view artifact;  // query, openacc, cache, groups
  double error;
};
std::vector<ArtifactRow> artifact_table(std::uint64_t seed);

/// 003 figure 1: energy of a day's requests, each of `tokens` steps through `layers` layers. Its
/// own example, 300 W x 10 us x 96 x 512 x 1e9, is 40,960 kWh, not the 14,700 that it prints.
struct DailyLoad {
  double watts;
  double seconds_per_layer;
  double layers;
  double tokens;
  double requests;
};
constexpr double daily_kilowatt_hours(const DailyLoad& load) {
  constexpr double joules_per_kilowatt_hour = 3.6e6;
  return load.watts * load.seconds_per_layer * load.layers * load.tokens * load.requests /
         joules_per_kilowatt_hour;
}

}  // namespace qfs
