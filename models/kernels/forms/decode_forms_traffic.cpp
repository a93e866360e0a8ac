#include <cassert>

#include "kernels/forms/decode_forms.hpp"

namespace qfs {
namespace {

constexpr std::size_t bytes_per_float = 4;

Bytes times(std::size_t values, std::size_t bytes_per_value) {
  return Bytes(static_cast<std::int64_t>(values * bytes_per_value));
}

Bytes floats(std::uint64_t count) { return times(count, bytes_per_float); }

}  // namespace

ArrayClass class_of(FormArray array) {
  switch (array) {
    case FormArray::k:
    case FormArray::v:
    case FormArray::k_transposed:
    case FormArray::k_expanded:
    case FormArray::v_expanded:
    case FormArray::old_k:
    case FormArray::old_v:
      return ArrayClass::kv;
    case FormArray::q:
    case FormArray::out:
    case FormArray::score_matrix:
    case FormArray::weight_matrix:
      return ArrayClass::activation;
    case FormArray::new_k:
    case FormArray::new_v:
    case FormArray::chip_scores:
    case FormArray::chip_weights:
      break;
  }
  return ArrayClass::chip;
}

FormCounts& FormCounts::operator+=(const FormCounts& other) {
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    counts_[i] += other.counts_[i];
  }
  return *this;
}

FormTraffic dram_traffic(const FormCounts& counts) {
  FormTraffic sum;
  for (const auto& [array, name] : enum_names<FormArray>) {
    switch (class_of(array)) {
      case ArrayClass::kv:
        sum.kv_read += floats(counts[array].loads);
        sum.kv_written += floats(counts[array].stores);
        break;
      case ArrayClass::activation:
        sum.activation_read += floats(counts[array].loads);
        sum.activation_written += floats(counts[array].stores);
        break;
      case ArrayClass::chip:
        break;
    }
  }
  return sum;
}

FormTraffic traffic(AttentionForm form, const FormShape& shape, std::size_t bytes_per_kv_value) {
  assert(shape.kv_heads >= 1 && shape.heads % shape.kv_heads == 0);
  const std::size_t n = shape.positions;
  const std::size_t rows = shape.heads * query_rows(form, n);
  const std::size_t k_slab = n * shape.key_dim;
  const std::size_t slab = k_slab + n * shape.value_dim;
  FormTraffic sum{times(shape.kv_heads * slab, bytes_per_kv_value), Bytes(0),
                  floats(rows * shape.key_dim), floats(rows * shape.value_dim)};
  Bytes copies{0};
  switch (form) {
    case AttentionForm::minimal:
      break;
    case AttentionForm::transposed_k:
      copies = times(shape.kv_heads * k_slab, bytes_per_kv_value);
      break;
    case AttentionForm::expanded_heads:
      copies = times(shape.heads * slab, bytes_per_kv_value);
      break;
    case AttentionForm::score_matrix:  // both matrices stored once and loaded once
      sum.activation_read += floats(2 * rows * n);
      sum.activation_written += floats(2 * rows * n);
      break;
  }
  sum.kv_read += copies;
  sum.kv_written += copies;
  return sum;
}

FormTraffic growth_traffic(CacheGrowth growth, const FormShape& shape,
                           std::size_t bytes_per_kv_value) {
  const Bytes row = times(shape.kv_heads * (shape.key_dim + shape.value_dim), bytes_per_kv_value);
  const Bytes old =
      growth == CacheGrowth::copying ? static_cast<std::int64_t>(shape.positions) * row : Bytes(0);
  return {old, old + row, Bytes(0), Bytes(0)};
}

}  // namespace qfs
