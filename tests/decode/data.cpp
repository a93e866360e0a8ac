// What a decode is made of: the cache, values on their way, synthetic weights, counted work.
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "decode/inputs.hpp"
#include "decode/kv_cache.hpp"
#include "decode/values.hpp"
#include "decode/weights.hpp"
#include "decode/work.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

std::vector<float> ramp(std::size_t count, float start) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = start + static_cast<float>(i) / 7;
  }
  return values;
}

Operation operation_of(OpKind kind, Edges inputs = {}) {
  Operation operation;
  operation.kind = kind;
  operation.inputs = std::move(inputs);
  return operation;
}

Work work_of_one(const CountingRules& rules, const Operation& operation) {
  const Operation* member = &operation;
  return work_of(rules, {&member, 1});
}

std::vector<float> rounded(Format format, std::size_t row, std::vector<float> values) {
  round_rows(format, row, values);
  return values;
}

std::vector<float> numbers(const RowStore& store) {
  const Matrix matrix = store.view();
  std::vector<float> values(matrix.rows * matrix.columns);
  for (std::size_t r = 0; r < matrix.rows; ++r) {
    matrix.read(r, std::span(values).subspan(r * matrix.columns, matrix.columns));
  }
  return values;
}

}  // namespace

TEST_CASE("an append rounds to the cache's format and moves no existing byte") {
  const ModelShape shape = test::tiny_shape();
  const Format format = GENERATE(Format::fp32, Format::fp16, Format::bf16, Format::fp8_e4m3,
                                 Format::fp8_e5m2, Format::int8);
  KvCache cache(shape, format, 3);
  const void* where = nullptr;
  for (std::size_t t = 0; t < 3; ++t) {
    const auto k = ramp(shape.kv_width(), 1.0F + static_cast<float>(t));
    const auto v = ramp(shape.kv_width(), -3.0F - static_cast<float>(t));
    cache.append(k, v);
    CHECK(cache.positions() == t + 1);
    const std::vector<float> want_k = rounded(format, shape.head_dim, k);
    const std::vector<float> want_v = rounded(format, shape.head_dim, v);
    const KvRows rows = cache.rows(t + 1);
    CHECK(rows.positions == t + 1);
    if (where != nullptr) {
      CHECK(where == rows.k);
    }
    where = rows.k;
    // Row t of head h is the row h * head_rows + t.
    const std::size_t d = shape.head_dim;
    for (std::size_t h = 0; h < shape.kv_heads; ++h) {
      const std::size_t row = h * rows.head_rows + t;
      const std::size_t at = row * d * bytes_per_value(format);
      const std::size_t width = d * bytes_per_value(format);
      std::vector<float> got(d);
      decode_row(format, {rows.k + at, width}, has_scales(format) ? rows.k_scales[row] : 1, got);
      CHECK(
          std::equal(got.begin(), got.end(), want_k.begin() + static_cast<std::ptrdiff_t>(h * d)));
      decode_row(format, {rows.v + at, width}, has_scales(format) ? rows.v_scales[row] : 1, got);
      CHECK(
          std::equal(got.begin(), got.end(), want_v.begin() + static_cast<std::ptrdiff_t>(h * d)));
    }
    std::vector<float> read_k(shape.kv_width());
    std::vector<float> read_v(shape.kv_width());
    cache.read(t, read_k, read_v);
    CHECK(read_k == want_k);
    CHECK(read_v == want_v);
  }
}

TEST_CASE(
    "a value survives the wire as its format allows, lse unrounded, and has its counted length") {
  const ModelShape shape = test::tiny_shape();
  Formats formats;
  formats.wire = GENERATE(Format::fp16, Format::bf16, Format::fp8_e4m3, Format::int8);
  formats.residual_wire = GENERATE(Format::fp32, Format::int8);
  const CountingRules rules{shape, formats, Accounting::full};
  struct Trip {
    OpKind producer;
    ValueKind value;
    std::size_t offset;
    std::size_t count;
  };
  const std::size_t q = shape.q_width();
  const std::size_t kv = shape.kv_width();
  for (const Trip& trip : {Trip{OpKind::q, ValueKind::q, 0, q},
                           {OpKind::qkv, ValueKind::q, 0, q},
                           {OpKind::qkv, ValueKind::k, q, kv},
                           {OpKind::qkv, ValueKind::v, q + kv, kv},
                           {OpKind::kv, ValueKind::k, 0, kv},
                           {OpKind::kv, ValueKind::v, kv, kv},
                           {OpKind::v, ValueKind::v, 0, kv},
                           {OpKind::sweep, ValueKind::partial, 0, q + shape.heads},
                           {OpKind::ffn, ValueKind::residual, 0, shape.hidden},
                           {OpKind::lm_head, ValueKind::token, 0, 1}}) {
    CAPTURE(name_of(trip.producer), name_of(trip.value));
    const Operation producer = operation_of(trip.producer);
    const std::vector<float> output = ramp(output_size(shape, producer), 0.3F);
    std::vector<std::byte> payload;
    encode_value(shape, formats, producer, {trip.value}, output, payload);
    CHECK(static_cast<std::int64_t>(payload.size()) == value_bytes(rules, {trip.value}).value());
    std::vector<float> received(output.size(), -99.0F);
    CHECK(decode_value(shape, formats, producer, {trip.value}, payload, received).empty());
    const auto slice = [&](const std::vector<float>& all) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(trip.offset);
      return std::vector<float>(first, first + static_cast<std::ptrdiff_t>(trip.count));
    };
    std::vector<float> want = slice(output);
    if (trip.value == ValueKind::residual) {
      want = rounded(formats.residual_wire, shape.hidden, want);
    } else if (trip.value != ValueKind::token) {
      const std::size_t sent = trip.value == ValueKind::partial ? q : trip.count;  // lse: as it is
      round_rows(formats.wire, shape.head_dim, std::span(want).first(sent));
    }
    CHECK(slice(received) == want);
    for (std::size_t i = 0; i < output.size(); ++i) {
      if (i < trip.offset || i >= trip.offset + trip.count) {
        CHECK(received[i] == -99.0F);
      }
    }
  }
}

TEST_CASE("an empty state's lse crosses the wire as minus infinity") {
  const ModelShape shape = test::tiny_shape();
  const Operation sweep = operation_of(OpKind::sweep);
  std::vector<float> state(output_size(shape, sweep), 0.0F);
  state.back() = -std::numeric_limits<float>::infinity();
  std::vector<std::byte> payload;
  encode_value(shape, {}, sweep, {ValueKind::partial}, state, payload);
  std::vector<float> received(state.size());
  decode_value(shape, {}, sweep, {ValueKind::partial}, payload, received);
  CHECK(received.back() == state.back());
}

TEST_CASE("weights are drawn from the seed alone, with the spread promised") {
  const ModelShape shape = test::tiny_shape();
  const Format format = GENERATE(Format::fp32, Format::bf16, Format::fp8_e4m3, Format::int8);
  const Weights a = draw_weights(shape, format, 7, true);
  const Weights b = draw_weights(shape, format, 7, true);
  const Weights c = draw_weights(shape, format, 8, true);
  const std::vector<float> gate = numbers(a.layers[0].gate);
  CHECK(numbers(a.layers[2].gate) == numbers(b.layers[2].gate));
  CHECK(numbers(a.layers[2].gate) != numbers(c.layers[2].gate));
  CHECK(numbers(a.layers[1].q) != numbers(a.layers[2].q));
  double square = 0;
  for (const float value : gate) {
    square += std::pow(value, 2);
  }
  const double mean = square / static_cast<double>(gate.size());
  CHECK(mean * static_cast<double>(shape.hidden) == Approx(1).epsilon(0.1));
  CHECK(draw_weights(shape, format, 7, false).embedding.empty());
}

TEST_CASE(
    "a cache does not depend on how many tokens come after it, and its host bytes are counted") {
  InputsConfig config{test::tiny_shape(), {}, 3, {40, 0}, 1, true};
  const Inputs one(config);
  config.tokens = 5;
  const Inputs five(config);
  const ModelShape& shape = config.shape;
  std::vector<float> k1(shape.kv_width());
  std::vector<float> v1(shape.kv_width());
  std::vector<float> k5(shape.kv_width());
  std::vector<float> v5(shape.kv_width());
  REQUIRE(one.cache(RequestId(0), LayerId(1)).positions() == 40);
  CHECK(one.cache(RequestId(1), LayerId(1)).positions() == 0);
  one.cache(RequestId(0), LayerId(1)).read(39, k1, v1);
  five.cache(RequestId(0), LayerId(1)).read(39, k5, v5);
  CHECK(k1 == k5);
  CHECK(v1 == v5);
  CHECK(one.seeded_input(RequestId(0), StepId(0)) != one.seeded_input(RequestId(1), StepId(0)));
  CHECK(one.first_token(RequestId(0)) < shape.vocab);
  const std::size_t rows = 40 + 2 * 5;
  CHECK(inputs_host_bytes(config) ==
        static_cast<std::size_t>(model_weight_bytes(shape, Format::bf16).value()) +
            rows * shape.layers * 2 * shape.kv_width() * 2);
  config.formats.kv = Format::int8;  // a byte a value, four for the scale of a head's row
  config.formats.weights = Format::fp32;
  CHECK(inputs_host_bytes(config) ==
        2 * static_cast<std::size_t>(model_weight_bytes(shape, Format::bf16).value()) +
            rows * shape.layers * 2 * shape.kv_heads * (shape.head_dim + 4));
}

TEST_CASE("work of Qwen3-0.6B as DESIGN.md 7 counts it") {
  const CountingRules rules{test::qwen3_0_6b(), {}, Accounting::weights_and_sweep};
  CHECK(work_of_one(rules, operation_of(OpKind::ffn)).weight_bytes == Bytes(18874368));
  CHECK(work_of_one(rules, operation_of(OpKind::q)).weight_bytes == Bytes(4194304));
  CHECK(work_of_one(rules, operation_of(OpKind::kv)).weight_bytes == Bytes(4194304));
  CHECK(layer_weight_bytes(rules.shape, Format::bf16) == Bytes(31457280));
  Operation sweep = operation_of(OpKind::sweep);
  sweep.positions = 4608;
  CHECK(work_of_one(rules, sweep).kv_read_bytes == Bytes(18874368));
  CHECK(work_of_one(rules, sweep).macs == Macs(std::int64_t{2} * 16 * 128 * 4608));
  CHECK(work_of_one(rules, sweep).exps == Exps(16 * 4608));
  CHECK(work_of_one(rules, operation_of(OpKind::append)).kv_written_bytes == Bytes(0));
}

TEST_CASE("a batch reads weights once and everything else per member") {
  const CountingRules rules{test::qwen3_0_6b(), {}, Accounting::full};
  const Operation q = operation_of(OpKind::q, {{OpId(0), ValueKind::residual}});
  const Operation* members[] = {&q, &q, &q};
  const Work one = work_of_one(rules, q);
  const Work three = work_of(rules, members);
  CHECK(one.activation_bytes == Bytes(1024 * 4 + 2048 * 2));
  CHECK(three.weight_bytes == one.weight_bytes);
  CHECK(three.activation_bytes == 3 * one.activation_bytes);
  CHECK(three.macs == 3 * one.macs);
  CHECK(three.launches == 1);
  CHECK(work_of_one(rules, operation_of(OpKind::append)).kv_written_bytes == Bytes(4096));
}

}  // namespace qfs
