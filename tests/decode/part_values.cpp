// Values of parts: where they lie in an output, how long they are on the wire, what they cost.
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "decode/values.hpp"
#include "decode/work.hpp"
#include "tests/kernels/draw.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/simulated.hpp"

namespace qfs {
namespace {

const std::vector<Part> parts{{0, 1}, {0, 2}, {1, 2}, {0, 8}, {3, 8}, {7, 8}};

Operation producer_of(OpKind kind, Part part) {
  Operation operation;
  operation.kind = kind;
  operation.part = part;
  if (kind == OpKind::values) {  // without the current token
    operation.inputs = {{OpId(0), ValueKind::scores, part}};
  }
  return operation;
}

/// By hand: 16 query heads on 8 KV heads of 8, hidden 32, in so many parts.
struct Sizes {
  explicit Sizes(std::size_t count) : q(128 / count), kv(64 / count), heads(16 / count) {}
  std::size_t q;
  std::size_t kv;
  std::size_t heads;
};

std::size_t size_by_hand(OpKind kind, std::size_t count) {
  const Sizes s(count);
  const std::map<OpKind, std::size_t> sizes{{OpKind::embed, 32},
                                            {OpKind::q, s.q},
                                            {OpKind::k, s.kv},
                                            {OpKind::v, s.kv},
                                            {OpKind::kv, 2 * s.kv},
                                            {OpKind::qkv, s.q + 2 * s.kv},
                                            {OpKind::o, 32},
                                            {OpKind::append, 2 * s.kv},
                                            {OpKind::sweep, s.q + s.heads},
                                            {OpKind::ffn, 32},
                                            {OpKind::merge, s.q},
                                            {OpKind::reduce_o, 32},
                                            {OpKind::reduce_ffn, 32},
                                            {OpKind::hold, 32},
                                            {OpKind::lm_head, 2},
                                            {OpKind::scores, 2 * s.heads},
                                            {OpKind::values, s.q + s.heads}};
  return sizes.at(kind);
}

struct Made {
  OpKind producer;
  ValueKind value;
};
const std::vector<Made> made{{OpKind::embed, ValueKind::residual},
                             {OpKind::q, ValueKind::q},
                             {OpKind::k, ValueKind::k},
                             {OpKind::v, ValueKind::v},
                             {OpKind::kv, ValueKind::k},
                             {OpKind::kv, ValueKind::v},
                             {OpKind::qkv, ValueKind::q},
                             {OpKind::qkv, ValueKind::k},
                             {OpKind::qkv, ValueKind::v},
                             {OpKind::sweep, ValueKind::partial},
                             {OpKind::merge, ValueKind::attention},
                             {OpKind::o, ValueKind::residual},
                             {OpKind::o, ValueKind::sum},
                             {OpKind::ffn, ValueKind::residual},
                             {OpKind::ffn, ValueKind::sum},
                             {OpKind::reduce_o, ValueKind::residual},
                             {OpKind::reduce_ffn, ValueKind::residual},
                             {OpKind::hold, ValueKind::residual},
                             {OpKind::lm_head, ValueKind::token},
                             {OpKind::lm_head, ValueKind::candidate},
                             {OpKind::ffn, ValueKind::order},
                             {OpKind::scores, ValueKind::extrema},
                             {OpKind::values, ValueKind::partial}};

/// Begin and size in the output of a producer of that part, by hand.
std::pair<std::size_t, std::size_t> slice_by_hand(const Made& m, std::size_t count) {
  const Sizes s(count);
  switch (m.value) {
    case ValueKind::q:
    case ValueKind::attention:
      return {0, s.q};
    case ValueKind::k:
      return {m.producer == OpKind::qkv ? s.q : 0, s.kv};
    case ValueKind::v:
      if (m.producer == OpKind::qkv) {
        return {s.q + s.kv, s.kv};
      }
      return {m.producer == OpKind::kv ? s.kv : 0, s.kv};
    case ValueKind::partial:
      return {0, s.q + s.heads};
    case ValueKind::extrema:
      return {0, 2 * s.heads};
    case ValueKind::scores:  // of no position
      return {2 * s.heads, 0};
    case ValueKind::weight:
      return {s.q + s.heads, s.heads};
    case ValueKind::residual:
    case ValueKind::sum:
      return {0, 32};
    case ValueKind::token:
      return {0, 1};
    case ValueKind::candidate:
      return {0, 2};
    case ValueKind::order:
      return {0, 0};
  }
  return {99, 99};
}

/// By hand, in bf16 on the wire and fp32 for the residual.
std::size_t bytes_by_hand(ValueKind value, std::size_t count) {
  const Sizes s(count);
  const std::map<ValueKind, std::size_t> bytes{{ValueKind::residual, 32 * 4},
                                               {ValueKind::sum, 32 * 4},
                                               {ValueKind::q, 2 * s.q},
                                               {ValueKind::attention, 2 * s.q},
                                               {ValueKind::k, 2 * s.kv},
                                               {ValueKind::v, 2 * s.kv},
                                               {ValueKind::partial, 2 * s.q + 4 * s.heads},
                                               {ValueKind::token, 4},
                                               {ValueKind::candidate, 8},
                                               {ValueKind::order, 0},
                                               {ValueKind::extrema, 8 * s.heads}};
  return bytes.at(value);
}

}  // namespace

TEST_CASE("an operation on a part has the output of its part") {
  const ModelShape shape = test::shape_with_heads(8);
  for (const auto& [kind, name] : enum_names<OpKind>) {
    for (const Part& part : parts) {
      CAPTURE(name, part.count);
      CHECK(output_size(shape, producer_of(kind, part)) == size_by_hand(kind, part.count));
    }
  }
}

TEST_CASE("all that an operation on a part made of a value is one slice of its output") {
  const ModelShape shape = test::shape_with_heads(8);
  for (const Made& m : made) {
    for (const Part& part : parts) {
      CAPTURE(name_of(m.producer), name_of(m.value), part.index, part.count);
      const Slice slice = slice_of(shape, producer_of(m.producer, part), {m.value, part});
      CHECK(std::pair(slice.offset, slice.count) == slice_by_hand(m, part.count));
    }
  }
}

TEST_CASE("the parts of a value of the whole lie one after the other") {
  const ModelShape shape = test::shape_with_heads(8);
  for (const Made& m : made) {
    const bool of_heads = m.value == ValueKind::q || m.value == ValueKind::k ||
                          m.value == ValueKind::v || m.value == ValueKind::attention;
    if (!of_heads) {
      continue;
    }
    const Operation whole = producer_of(m.producer, {});
    const Slice all = slice_of(shape, whole, {m.value});
    for (const std::size_t count : {2U, 4U, 8U}) {
      std::size_t at = all.offset;
      for (std::size_t index = 0; index < count; ++index) {
        CAPTURE(name_of(m.producer), name_of(m.value), index, count);
        const Slice slice = slice_of(shape, whole, {m.value, {index, count}});
        CHECK(slice.offset == at);
        CHECK(slice.count == all.count / count);
        at += slice.count;
      }
      CHECK(at == all.offset + all.count);
    }
  }
}

TEST_CASE("every value of every part is as long on the wire as it is charged") {
  const ModelShape shape = test::shape_with_heads(8);
  for (const auto& [wire, wire_name] : enum_names<Format>) {
    for (const Format residual : {Format::fp32, Format::bf16, Format::int8}) {
      Formats formats;
      formats.wire = wire;
      formats.residual_wire = residual;
      const CountingRules rules{shape, formats};
      for (const Made& m : made) {
        for (const Part& part : parts) {
          const Operation producer = producer_of(m.producer, part);
          const std::vector<float> output(output_size(shape, producer), 1.0F);
          std::vector<std::byte> payload;
          encode_value(shape, formats, producer, {m.value, part}, output, payload);
          CAPTURE(wire_name, name_of(residual), name_of(m.producer), name_of(m.value), part.count);
          const std::int64_t charged = value_bytes(rules, {m.value, part}).value();
          CHECK(static_cast<std::int64_t>(payload.size()) == charged);
          if (wire == Format::bf16 && residual == Format::fp32) {
            CHECK(payload.size() == bytes_by_hand(m.value, part.count));
          }
        }
      }
    }
  }
}

TEST_CASE("a part of the whole's heads arrives in its place and touches no other") {
  const ModelShape shape = test::shape_with_heads(8);
  const Formats formats;  // bf16
  for (const Made& m : {Made{OpKind::qkv, ValueKind::q}, Made{OpKind::qkv, ValueKind::k},
                        Made{OpKind::kv, ValueKind::v}, Made{OpKind::q, ValueKind::q}}) {
    const Operation whole = producer_of(m.producer, {});
    std::vector<float> output = test::draw_floats(output_size(shape, whole), 3, 1);
    round_output(shape, formats, whole, output);
    for (std::size_t index = 0; index < 4; ++index) {
      const Carried carried{m.value, {index, 4}};
      std::vector<std::byte> payload;
      encode_value(shape, formats, whole, carried, output, payload);
      std::vector<float> received(output.size(), -99.0F);
      CHECK(decode_value(shape, formats, whole, carried, payload, received).empty());
      const Slice slice = slice_of(shape, whole, carried);
      for (std::size_t i = 0; i < output.size(); ++i) {
        const bool inside = i >= slice.offset && i < slice.offset + slice.count;
        CHECK(received[i] == (inside ? output[i] : -99.0F));
      }
    }
  }
}

TEST_CASE("a rank's part of the work is its share, and all shares are the whole") {
  const ModelShape shape = test::shape_with_heads(8);
  const CountingRules rules{shape, {}, Accounting::full};
  for (const OpKind kind : {OpKind::q, OpKind::kv, OpKind::qkv, OpKind::o, OpKind::ffn,
                            OpKind::lm_head, OpKind::sweep, OpKind::append}) {
    const auto work_on = [&](Part part) {
      Operation operation = producer_of(kind, part);
      operation.positions = 6;
      const Operation* member = &operation;
      return work_of(rules, {&member, 1});
    };
    const Work whole = work_on({});
    for (const std::int64_t count : {2, 8}) {
      CAPTURE(name_of(kind), count);
      const Work share = work_on({1, static_cast<std::size_t>(count)});
      CHECK(count * share.weight_bytes == whole.weight_bytes);
      CHECK(count * share.kv_read_bytes == whole.kv_read_bytes);
      CHECK(count * share.kv_written_bytes == whole.kv_written_bytes);
      CHECK(count * share.macs == whole.macs);
      CHECK(count * share.exps == whole.exps);
      CHECK(share.launches == whole.launches);
    }
  }
}

TEST_CASE(
    "a reduce reads every sum and the residual, writes the residual, and multiplies nothing") {
  const CountingRules rules{test::shape_with_heads(8), {}, Accounting::full};
  Operation reduce = producer_of(OpKind::reduce_o, {1, 3});
  reduce.inputs = {{OpId(0), ValueKind::residual, {1, 3}}};
  for (std::size_t rank = 0; rank < 3; ++rank) {
    reduce.inputs.push_back({OpId(1 + rank), ValueKind::sum});
  }
  const Operation* member = &reduce;
  const Work work = work_of(rules, {&member, 1});
  CHECK(work.launches == 1);
  CHECK(work.activation_bytes == Bytes((3 + 1 + 1) * 32 * 4));
  CHECK(work.weight_bytes == Bytes(0));
  CHECK(work.macs == Macs(0));
}

}  // namespace qfs
