// The forms of decode attention against fp64, against each other bit for bit, and their counters
// against the closed forms.
#include "kernels/forms/decode_forms.hpp"

#include <cmath>
#include <limits>
#include <set>
#include <vector>

#include "tests/kernels/draw.hpp"
#include "tests/kernels/forms/form_run.hpp"
#include "tests/support/catch.hpp"

using namespace qfs;
using namespace qfs::test;

namespace {

constexpr double fp32_worst = 2e-6;  // unit variance (DESIGN section 8)
constexpr double by_hand = 5e-3;     // 003 prints two or three decimals
constexpr float infinity = std::numeric_limits<float>::infinity();

FormShape random_shape(std::uint64_t seed) {
  const Random random(seed, 7);
  FormShape shape;
  shape.kv_heads = 1 + random.below(0, 4);
  shape.heads = shape.kv_heads * (1 + random.below(1, 4));
  shape.key_dim = 1 + random.below(2, 40);
  shape.value_dim = 1 + random.below(3, 40);
  shape.positions = random.below(4, 70);
  return shape;
}

// Softmax attention of one head in the forms' order of operations: plain loops in fp32, three
// arrays, nothing shared.
std::vector<float> plain_fp32(const FormShape& shape, std::span<const float> q,
                              std::span<const float> k, std::span<const float> v) {
  const float scale = 1.0F / std::sqrt(static_cast<float>(shape.key_dim));
  std::vector<float> a(shape.positions);
  float max = -infinity;
  for (std::size_t l = 0; l < shape.positions; ++l) {
    for (std::size_t j = 0; j < shape.key_dim; ++j) {
      a[l] += q[j] * k[l * shape.key_dim + j];
    }
    a[l] *= scale;
    max = a[l] > max ? a[l] : max;
  }
  float sum = 0;
  for (float& weight : a) {
    weight = std::exp(weight - max);
    sum += weight;
  }
  std::vector<float> out(shape.value_dim, 0);
  for (std::size_t c = 0; c < shape.value_dim; ++c) {
    for (std::size_t l = 0; l < shape.positions; ++l) {
      out[c] += a[l] / sum * v[l * shape.value_dim + c];
    }
  }
  return out;
}

std::vector<float> plain_heads(const FormShape& shape, const FormData& data) {
  std::vector<float> out;
  const std::span<const float> q(data.q);
  const std::span<const float> k(data.k);
  const std::span<const float> v(data.v);
  for (std::size_t g = 0; g < shape.heads; ++g) {
    const std::size_t slab = g / shape.group() * data.capacity;
    const std::vector<float> head =
        plain_fp32(shape, q.subspan(g * shape.key_dim, shape.key_dim),
                   k.subspan(slab * shape.key_dim, shape.positions * shape.key_dim),
                   v.subspan(slab * shape.value_dim, shape.positions * shape.value_dim));
    out.insert(out.end(), head.begin(), head.end());
  }
  return out;
}

}  // namespace

TEST_CASE("003's example of two positions, in every form") {
  const FormShape shape{1, 1, 2, 2, 2};
  const FormData data{{1, 0}, {1, 0, 0, 1}, {2, 4, 6, 8}, 2};
  // Weights .670 and .330.
  const double a = 1 / (1 + std::exp(-1 / std::sqrt(2.0)));
  CHECK(a == Approx(0.670).margin(5e-4));
  std::size_t checked = 0;
  for (const auto& [form, name] : enum_names<AttentionForm>) {
    CAPTURE(name);
    const FormResult result = run_form(form, shape, data);
    CHECK(result.out[0] == Approx(3.32).margin(by_hand));
    CHECK(result.out[1] == Approx(5.32).margin(by_hand));
    CHECK(result.out[0] == Approx(2 * a + 6 * (1 - a)).margin(1e-6));
    CHECK(result.out[1] == Approx(4 * a + 8 * (1 - a)).margin(1e-6));
    CHECK(result.lse[0] == Approx(std::log(1 + std::exp(1 / std::sqrt(2.0)))).margin(1e-6));
    ++checked;
  }
  CHECK(checked == 4);
}

TEST_CASE("003's example of four query heads on two slabs") {
  // Heads 0 and 1 read slab 0, heads 2 and 3 slab 1: all values of a slab are one number.
  const FormShape shape{4, 2, 2, 2, 3};
  FormData data = draw_form(shape, 3, 21);
  data.v = std::vector<float>(6, 5);
  data.v.resize(12, -9);
  std::size_t checked = 0;
  for (const auto& [form, name] : enum_names<AttentionForm>) {
    CAPTURE(name);
    const FormResult result = run_form(form, shape, data);
    for (std::size_t i = 0; i < 8; ++i) {
      CHECK(result.out[i] == Approx(i < 4 ? 5 : -9).epsilon(1e-6));
      ++checked;
    }
  }
  CHECK(checked == 32);
}

TEST_CASE("all forms agree with fp64, and with each other bit for bit") {
  std::size_t checked = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    FormShape shape = random_shape(seed);
    shape.positions += 1;
    CAPTURE(shape.heads, shape.kv_heads, shape.key_dim, shape.value_dim, shape.positions);
    const FormData data = draw_form(shape, shape.positions + seed % 3, seed);
    const FormReference truth = reference_form(shape, data);
    const FormResult minimal = run_form(AttentionForm::minimal, shape, data);
    CHECK(max_difference(minimal.out, truth.out) <= fp32_worst);
    CHECK(max_difference(minimal.lse, truth.lse) <= fp32_worst);
    CHECK(minimal.out == plain_heads(shape, data));
    for (const auto& [form, name] : enum_names<AttentionForm>) {
      CAPTURE(name);
      const FormResult result = run_form(form, shape, data);
      CHECK(result.out == minimal.out);
      CHECK(result.lse == minimal.lse);
      ++checked;
    }
  }
  CHECK(checked == 240);
}

TEST_CASE("every row of the score matrix is the decode step of its time") {
  const FormShape whole{4, 2, 9, 7, 33};
  const FormData data = draw_form(whole, 33, 31);
  const std::vector<float> queries = draw_floats(whole.heads * 33 * whole.key_dim, 31, 109);
  const FormResult matrix = run_form_rows(AttentionForm::score_matrix, whole, data, queries);
  std::size_t checked = 0;
  for (std::size_t row = 0; row < 33; ++row) {
    FormShape step = whole;
    step.positions = row + 1;
    FormData at = data;
    for (std::size_t g = 0; g < whole.heads; ++g) {
      for (std::size_t j = 0; j < whole.key_dim; ++j) {
        at.q[g * whole.key_dim + j] = queries[(g * 33 + row) * whole.key_dim + j];
      }
    }
    const FormResult decode = run_form(AttentionForm::minimal, step, at);
    for (std::size_t g = 0; g < whole.heads; ++g) {
      for (std::size_t c = 0; c < whole.value_dim; ++c) {
        CHECK(matrix.out[(g * 33 + row) * whole.value_dim + c] ==
              decode.out[g * whole.value_dim + c]);
        ++checked;
      }
    }
  }
  CHECK(checked == 33 * 4 * 7);
}

TEST_CASE("the closed forms of the traffic are what is counted, at every shape") {
  std::size_t checked = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    const FormShape shape = random_shape(seed);  // 0 positions among them
    CAPTURE(shape.heads, shape.kv_heads, shape.key_dim, shape.value_dim, shape.positions);
    const FormData data = draw_form(shape, shape.positions + seed % 3, seed);
    for (const auto& [form, name] : enum_names<AttentionForm>) {
      CAPTURE(name);
      const FormResult result = run_form(form, shape, data);
      CHECK(dram_traffic(result.counts) == traffic(form, shape, 4));
      ++checked;
    }
  }
  CHECK(checked == 320);
  CHECK(traffic(AttentionForm::minimal, 6, 2, 16, 9, 2) ==
        traffic(AttentionForm::minimal, {6, 2, 16, 16, 9}, 2));
}

TEST_CASE("the minimal form loads q, K and V once and stores out once") {
  const FormShape shape{12, 3, 20, 28, 37};
  const FormData data = draw_form(shape, 40, 41);
  const FormCounts counts = run_form(AttentionForm::minimal, shape, data).counts;
  CHECK(counts[FormArray::q] == AccessCount{12 * 20, 0});
  CHECK(counts[FormArray::k] == AccessCount{3 * 37 * 20, 0});
  CHECK(counts[FormArray::v] == AccessCount{3 * 37 * 28, 0});
  CHECK(counts[FormArray::out] == AccessCount{0, 12 * 28});
  CHECK(dram_traffic(counts).total() == Bytes((12 * 20 + 3 * 37 * 20 + 3 * 37 * 28 + 12 * 28) * 4));
  // Scores and weights of rank 1 a head stay on chip: one store and one load an element.
  CHECK(counts[FormArray::chip_scores] == AccessCount{12 * 37, 12 * 37});
  CHECK(counts[FormArray::chip_weights] == AccessCount{12 * 37, 12 * 37});
  for (const FormArray other :
       {FormArray::k_transposed, FormArray::k_expanded, FormArray::v_expanded,
        FormArray::score_matrix, FormArray::weight_matrix, FormArray::old_k, FormArray::old_v}) {
    CHECK(counts[other] == AccessCount{});
  }
}

// With as many loads as elements, and no element without effect, each was loaded exactly once.
TEST_CASE("every element of K and V has its effect on the minimal form") {
  const FormShape shape{4, 2, 3, 2, 5};
  const FormData data = draw_form(shape, 5, 43);
  const FormResult base = run_form(AttentionForm::minimal, shape, data);
  std::size_t checked = 0;
  for (const auto member : {&FormData::q, &FormData::k, &FormData::v}) {
    for (std::size_t i = 0; i < (data.*member).size(); ++i) {
      FormData changed = data;
      (changed.*member)[i] += 1;
      CHECK(run_form(AttentionForm::minimal, shape, changed).out != base.out);
      ++checked;
    }
  }
  CHECK(checked == 4 * 3 + 2 * 5 * 3 + 2 * 5 * 2);
}

TEST_CASE("each conventional form pays for what it materialises") {
  const FormShape shape{6, 2, 5, 7, 11};
  const FormData data = draw_form(shape, 11, 42);
  const FormCounts k_t = run_form(AttentionForm::transposed_k, shape, data).counts;
  CHECK(k_t[FormArray::k] == AccessCount{2 * 11 * 5, 0});
  CHECK(k_t[FormArray::k_transposed] == AccessCount{2 * 11 * 5, 2 * 11 * 5});
  const FormCounts copies = run_form(AttentionForm::expanded_heads, shape, data).counts;
  CHECK(copies[FormArray::k] == AccessCount{2 * 11 * 5, 0});
  CHECK(copies[FormArray::v] == AccessCount{2 * 11 * 7, 0});
  CHECK(copies[FormArray::k_expanded] == AccessCount{6 * 11 * 5, 6 * 11 * 5});
  CHECK(copies[FormArray::v_expanded] == AccessCount{6 * 11 * 7, 6 * 11 * 7});
  const FormCounts matrix = run_form(AttentionForm::score_matrix, shape, data).counts;
  CHECK(matrix[FormArray::q] == AccessCount{6 * 11 * 5, 0});
  CHECK(matrix[FormArray::k] == AccessCount{2 * 11 * 5, 0});
  CHECK(matrix[FormArray::score_matrix] == AccessCount{6 * 11 * 11, 6 * 11 * 11});
  CHECK(matrix[FormArray::weight_matrix] == AccessCount{6 * 11 * 11, 6 * 11 * 11});
  CHECK(matrix[FormArray::chip_scores] == AccessCount{});
  CHECK(matrix[FormArray::out] == AccessCount{0, 6 * 11 * 7});
}

TEST_CASE("a narrower cache halves its own bytes and no other") {
  const FormShape shape{6, 2, 5, 7, 11};
  std::size_t checked = 0;
  for (const auto& [form, name] : enum_names<AttentionForm>) {
    const FormTraffic wide = traffic(form, shape, 4);
    const FormTraffic narrow = traffic(form, shape, 2);
    CHECK(2 * narrow.kv_read == wide.kv_read);
    CHECK(2 * narrow.kv_written == wide.kv_written);
    CHECK(narrow.activation_read == wide.activation_read);
    CHECK(narrow.activation_written == wide.activation_written);
    ++checked;
  }
  CHECK(checked == 4);
}

TEST_CASE("counting changes no result, and reserved rows are never read") {
  const FormShape shape{6, 3, 17, 9, 13};
  const FormData compact = draw_form(shape, 13, 51);
  const FormData spaced = spread(shape, compact, 4, std::numeric_limits<float>::quiet_NaN());
  std::size_t checked = 0;
  for (const auto& [form, name] : enum_names<AttentionForm>) {
    CAPTURE(name);
    const FormResult counted = run_form(form, shape, compact);
    const FormResult plain = run_form(form, shape, compact, false);
    CHECK(plain.out == counted.out);
    CHECK(plain.lse == counted.lse);
    CHECK(plain.counts == FormCounts{});
    CHECK(run_form(form, shape, spaced).out == counted.out);
    ++checked;
  }
  CHECK(checked == 4);
}

TEST_CASE("no positions give an empty state in every form") {
  const FormShape shape{4, 2, 3, 5, 0};
  const FormData data = draw_form(shape, 0, 52);
  std::size_t checked = 0;
  for (const auto& [form, name] : enum_names<AttentionForm>) {
    CAPTURE(name);
    const FormResult result = run_form(form, shape, data);
    CHECK(result.lse == std::vector<float>(4, -infinity));
    CHECK(result.out == std::vector<float>(4 * query_rows(form, 0) * 5, 0));
    ++checked;
  }
  CHECK(checked == 4);
}

TEST_CASE("scores whose exponentials overflow do no harm in any form") {
  const FormShape shape{1, 1, 1, 1, 3};
  std::size_t checked = 0;
  for (const auto& [form, name] : enum_names<AttentionForm>) {
    const FormResult result = run_form(form, shape, {{200}, {-1, 1, -1}, {3, 7, 3}, 3});
    CHECK(result.out == std::vector<float>{7});
    CHECK(result.lse == std::vector<float>{200});
    ++checked;
  }
  CHECK(checked == 4);
}

TEST_CASE("003's append writes three elements at offsets 6, 7 and 8") {
  // Two rows of three exist; the slab has room for four.
  std::vector<float> k(12, -1);
  std::vector<float> v(4, -1);
  FormCounts counts;
  append_in_place({1, 1, 3, 1, 2}, {std::vector<float>{10, 11, 12}, std::vector<float>{13}},
                  {k, v, 4}, &counts);
  CHECK(k == std::vector<float>{-1, -1, -1, -1, -1, -1, 10, 11, 12, -1, -1, -1});
  CHECK(v == std::vector<float>{-1, -1, 13, -1});
  CHECK(counts[FormArray::k] == AccessCount{0, 3});
  CHECK(counts[FormArray::v] == AccessCount{0, 1});
  CHECK(dram_traffic(counts).total() == Bytes((3 + 1) * 4));
}

TEST_CASE("both ways to grow give one cache at the price they name") {
  std::size_t checked = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const FormShape shape = random_shape(seed);
    CAPTURE(shape.kv_heads, shape.key_dim, shape.value_dim, shape.positions);
    const std::size_t capacity = shape.positions + 1 + seed % 3;
    FormData data = draw_form(shape, capacity, seed);
    const std::vector<float> new_k = draw_floats(shape.kv_heads * shape.key_dim, seed, 110);
    const std::vector<float> new_v = draw_floats(shape.kv_heads * shape.value_dim, seed, 111);
    FormData grown = data;
    // What was there does not matter where rows are moved to; rows past the new one stay.
    for (std::size_t h = 0; h < shape.kv_heads; ++h) {
      for (std::size_t i = 0; i < shape.positions * shape.key_dim; ++i) {
        grown.k[h * capacity * shape.key_dim + i] = NAN;
      }
      for (std::size_t i = 0; i < shape.positions * shape.value_dim; ++i) {
        grown.v[h * capacity * shape.value_dim + i] = NAN;
      }
    }
    FormCounts copied;
    append_copying(shape, {new_k, new_v}, {data.k, data.v, capacity}, {grown.k, grown.v, capacity},
                   &copied);
    CHECK(dram_traffic(copied) == growth_traffic(CacheGrowth::copying, shape, 4));
    FormCounts written;
    append_in_place(shape, {new_k, new_v}, {data.k, data.v, capacity}, &written);
    CHECK(dram_traffic(written) == growth_traffic(CacheGrowth::in_place, shape, 4));
    CHECK(growth_traffic(CacheGrowth::in_place, shape, 4).total() ==
          Bytes(static_cast<std::int64_t>(shape.kv_heads * (shape.key_dim + shape.value_dim) * 4)));
    CHECK(grown.k == data.k);
    CHECK(grown.v == data.v);
    ++checked;
  }
  CHECK(checked == 40);
}

TEST_CASE("names of forms, growths and arrays") {
  CHECK(value_named<AttentionForm>("transposed_k") == AttentionForm::transposed_k);
  CHECK(value_named<CacheGrowth>("copying") == CacheGrowth::copying);
  CHECK(value_named<AttentionForm>("minimum") == std::nullopt);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < form_arrays; ++i) {
    CHECK(static_cast<std::size_t>(enum_names<FormArray>[i].first) == i);
    names.insert(enum_names<FormArray>[i].second);
  }
  CHECK(names.size() == form_arrays);
}
