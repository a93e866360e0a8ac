// Decode attention in 003's minimal-traffic form and in the conventional forms that it is compared
// with (003 sections 2, 3, 5 and 6), in fp32, each with the DRAM traffic it causes.
//
// All forms take scores s = q.k / sqrt(key_dim), weights a = exp(s - max s) / sum and values
// out = sum a v. They add in one order, so that their answers are equal bit for bit and only
// their traffic differs. Query head g reads KV head floor(g * kv_heads / heads).
//
// What counts as DRAM. The form's named arrays of ArrayClass::kv and ArrayClass::activation. On
// chip, and so no traffic: one row of K or V at a time, the query rows and sums of outputs of one
// group of heads, and, except in `score_matrix`, the group's scores and weights (rank 1 a head).
// This is generous to the conventional forms: each is charged for the one array that it
// materialises, as a perfectly blocked product would read it, and for nothing else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/enum_names.hpp"
#include "base/units.hpp"
#include "kernels/forms/counted_array.hpp"

namespace qfs {

enum class AttentionForm {
  minimal,         // q, K and V loaded once, out stored once (003 section 2, algorithm 1)
  transposed_k,    // K copied to K^T, which the scores are taken from; the rest as `minimal`
  expanded_heads,  // K and V copied to one slab a query head, each read by its own head alone
  score_matrix     // n query rows against n keys, scores and weights stored as n x n matrices
};

template <>
inline constexpr EnumNames<AttentionForm, 4> enum_names<AttentionForm>{{
    {AttentionForm::minimal, "minimal"},
    {AttentionForm::transposed_k, "transposed_k"},
    {AttentionForm::expanded_heads, "expanded_heads"},
    {AttentionForm::score_matrix, "score_matrix"},
}};

/// How a cache takes a new row: into reserved space, or by a copy of all rows into a larger array
/// (003 section 5.3, its listings 5 and 4).
enum class CacheGrowth { in_place, copying };

template <>
inline constexpr EnumNames<CacheGrowth, 2> enum_names<CacheGrowth>{{
    {CacheGrowth::in_place, "in_place"},
    {CacheGrowth::copying, "copying"},
}};

/// Every array that has a counter. `k` and `v` are the cache.
enum class FormArray {
  q,
  k,
  v,
  out,
  k_transposed,
  k_expanded,
  v_expanded,
  score_matrix,
  weight_matrix,
  old_k,
  old_v,
  new_k,
  new_v,
  chip_scores,
  chip_weights
};

template <>
inline constexpr EnumNames<FormArray, 15> enum_names<FormArray>{{
    {FormArray::q, "q"},
    {FormArray::k, "k"},
    {FormArray::v, "v"},
    {FormArray::out, "out"},
    {FormArray::k_transposed, "k_transposed"},
    {FormArray::k_expanded, "k_expanded"},
    {FormArray::v_expanded, "v_expanded"},
    {FormArray::score_matrix, "score_matrix"},
    {FormArray::weight_matrix, "weight_matrix"},
    {FormArray::old_k, "old_k"},
    {FormArray::old_v, "old_v"},
    {FormArray::new_k, "new_k"},
    {FormArray::new_v, "new_v"},
    {FormArray::chip_scores, "chip_scores"},
    {FormArray::chip_weights, "chip_weights"},
}};

inline constexpr std::size_t form_arrays = enum_names<FormArray>.size();

/// Where an array lives. A new row of K and V comes from the projections on chip: 003's append
/// counts its store alone.
enum class ArrayClass { kv, activation, chip };
ArrayClass class_of(FormArray array);

/// One counter an array.
class FormCounts {
 public:
  AccessCount& operator[](FormArray array) { return counts_[static_cast<std::size_t>(array)]; }
  const AccessCount& operator[](FormArray array) const {
    return counts_[static_cast<std::size_t>(array)];
  }
  FormCounts& operator+=(const FormCounts& other);
  bool operator==(const FormCounts&) const = default;

 private:
  std::array<AccessCount, form_arrays> counts_{};
};

/// DRAM bytes by class of array.
struct FormTraffic {
  Bytes kv_read{};
  Bytes kv_written{};
  Bytes activation_read{};
  Bytes activation_written{};

  constexpr bool operator==(const FormTraffic&) const = default;
  [[nodiscard]] constexpr Bytes kv() const { return kv_read + kv_written; }
  [[nodiscard]] constexpr Bytes total() const {
    return kv() + activation_read + activation_written;
  }
};

/// What was counted, four bytes an element; chip arrays left out.
FormTraffic dram_traffic(const FormCounts& counts);

/// kv_heads divides heads; dimensions at least 1; 0 positions are legal.
struct FormShape {
  std::size_t heads = 1;
  std::size_t kv_heads = 1;
  std::size_t key_dim = 1;
  std::size_t value_dim = 1;
  std::size_t positions = 0;  // rows in the cache

  [[nodiscard]] constexpr std::size_t group() const { return heads / kv_heads; }
};

/// Query rows a head: all `positions` in `score_matrix`, where row i sees keys 0 to i and the last
/// row is the answer; one otherwise. (A decode run has no past queries: its caller makes them up.)
constexpr std::size_t query_rows(AttentionForm form, std::size_t positions) {
  return form == AttentionForm::score_matrix ? positions : 1;
}

/// q holds query_rows rows of key_dim a head. Row t of KV head h starts at (h * capacity + t) *
/// key_dim in k and at (h * capacity + t) * value_dim in v; capacity >= positions.
struct FormInputs {
  std::span<const float> q;
  std::span<const float> k;
  std::span<const float> v;
  std::size_t capacity = 0;
};

/// out holds query_rows rows of value_dim a head; lse one value a head, the log of the sum of its
/// (last row's) exponentiated scores.
struct FormState {
  std::span<float> out;
  std::span<float> lse;
};

/// Floats of scratch that `attend` needs: its materialised arrays and its chip's.
std::size_t workspace_values(AttentionForm form, const FormShape& shape);

/// Runs a form. workspace.size() >= workspace_values; what it held does not matter. Accesses are
/// added to *counts if given. 0 positions give out = 0, lse = -infinity.
void attend(AttentionForm form, const FormShape& shape, const FormInputs& in,
            const FormState& state, std::span<float> workspace, FormCounts* counts = nullptr);

/// Plain fp64 attention of one query row a head, head by head; positions >= 1. out has value_dim
/// values a head, lse one.
void attend_reference(const FormShape& shape, const FormInputs& in, std::span<double> out,
                      std::span<double> lse);

/// A form's traffic in closed form, equal to what `attend` counts when bytes_per_kv_value is 4. K,
/// V and their copies take bytes_per_kv_value a value; queries, outputs, scores and weights 4.
FormTraffic traffic(AttentionForm form, const FormShape& shape, std::size_t bytes_per_kv_value);
inline FormTraffic traffic(AttentionForm form, std::size_t heads, std::size_t kv_heads,
                           std::size_t head_dim, std::size_t positions,
                           std::size_t bytes_per_kv_value) {
  return traffic(form, {heads, kv_heads, head_dim, head_dim, positions}, bytes_per_kv_value);
}

/// K and V of every KV head, laid out as in FormInputs.
template <class Value>
struct CacheSpans {
  std::span<Value> k;
  std::span<Value> v;
  std::size_t capacity = 0;
};

/// One new row a KV head: kv_heads * key_dim and kv_heads * value_dim values.
struct NewRows {
  std::span<const float> k;
  std::span<const float> v;
};

/// Writes row number shape.positions of every KV head, at offset positions * key_dim (value_dim) of
/// its slab; nothing else is touched. cache.capacity > positions.
void append_in_place(const FormShape& shape, const NewRows& rows, const CacheSpans<float>& cache,
                     FormCounts* counts = nullptr);

/// The same result in a new array: every old row is loaded and stored before the new one. `grown`
/// does not overlap `old`; grown.capacity > positions <= old.capacity.
void append_copying(const FormShape& shape, const NewRows& rows, const CacheSpans<const float>& old,
                    const CacheSpans<float>& grown, FormCounts* counts = nullptr);

/// The traffic of one append to shape.positions rows, equal to what the two above count when
/// bytes_per_kv_value is 4. `in_place` is (key_dim + value_dim) values a KV head at any length
/// (003, proposition 2).
FormTraffic growth_traffic(CacheGrowth growth, const FormShape& shape,
                           std::size_t bytes_per_kv_value);

}  // namespace qfs
