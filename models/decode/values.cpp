#include "decode/values.hpp"

#include <stdexcept>

namespace qfs {
namespace {

Format wire_format(const Formats& formats, ValueKind value) {
  switch (value) {
    case ValueKind::residual:
    case ValueKind::sum:
      return formats.residual_wire;
    case ValueKind::extrema:
    case ValueKind::weight:
    case ValueKind::token:
    case ValueKind::candidate:
      return Format::fp32;
    default:
      return formats.wire;
  }
}

/// `shape`: of the part that travels; `positions`: of the producer.
std::size_t value_size(const ModelShape& shape, ValueKind value, std::size_t positions) {
  switch (value) {
    case ValueKind::residual:
    case ValueKind::sum:
      return shape.hidden;
    case ValueKind::q:
    case ValueKind::attention:
      return shape.q_width();
    case ValueKind::k:
    case ValueKind::v:
      return shape.kv_width();
    case ValueKind::partial:
      return shape.q_width() + shape.heads;
    case ValueKind::extrema:
      return 2 * shape.heads;
    case ValueKind::scores:
      return shape.heads * positions;
    case ValueKind::weight:
      return shape.heads;
    case ValueKind::token:
      return 1;
    case ValueKind::candidate:
      return 2;
    case ValueKind::order:
      return 0;
  }
  throw std::logic_error("value_size: unknown value");
}

/// Where all that the operation made of a value begins in its output.
std::size_t value_begin(const ModelShape& own, OpKind kind, ValueKind value) {
  const std::size_t q_end = kind == OpKind::qkv ? own.q_width() : 0;
  const bool k_first = kind == OpKind::kv || kind == OpKind::qkv;
  if (value == ValueKind::k) {
    return q_end;
  }
  if (value == ValueKind::v) {
    return k_first ? q_end + own.kv_width() : 0;
  }
  if (value == ValueKind::scores) {
    return 2 * own.heads;
  }
  if (value == ValueKind::weight) {
    return own.q_width() + own.heads;
  }
  return 0;
}

/// A value as it travels: a part in rows of its format and, of a partial, a tail in fp32.
struct WireParts {
  Slice head;
  Slice tail;
  std::size_t row = 1;  // of the head
};

WireParts wire_parts(const ModelShape& shape, const Operation& producer, const Carried& carried) {
  const Slice all = slice_of(shape, producer, carried);
  const Slice none{all.offset + all.count, 0};
  switch (carried.value) {
    case ValueKind::residual:
    case ValueKind::sum:
      return {all, none, shape.hidden};
    case ValueKind::partial: {
      const std::size_t width = part_of(shape, carried.part).q_width();
      return {{all.offset, width}, {all.offset + width, all.count - width}, shape.head_dim};
    }
    case ValueKind::q:
    case ValueKind::attention:
    case ValueKind::k:
    case ValueKind::v:
      return {all, none, shape.head_dim};
    case ValueKind::extrema:
    case ValueKind::weight:
    case ValueKind::token:
    case ValueKind::candidate:
    case ValueKind::order:
      return {all, none, 1};
    case ValueKind::scores:
      throw std::logic_error("wire_parts: scores do not travel");
  }
  throw std::logic_error("wire_parts: unknown value");
}

}  // namespace

std::size_t output_size(const ModelShape& shape, const Operation& producer) {
  const ModelShape own = part_of(shape, producer.part);
  switch (producer.kind) {
    case OpKind::embed:
    case OpKind::o:
    case OpKind::ffn:
    case OpKind::reduce_o:
    case OpKind::reduce_ffn:
    case OpKind::hold:
      return own.hidden;
    case OpKind::q:
    case OpKind::merge:
      return own.q_width();
    case OpKind::k:
    case OpKind::v:
      return own.kv_width();
    case OpKind::kv:
    case OpKind::append:
      return 2 * own.kv_width();
    case OpKind::qkv:
      return own.q_width() + 2 * own.kv_width();
    case OpKind::sweep:
      return own.q_width() + own.heads;
    case OpKind::scores:
      return own.heads * (2 + producer.positions);
    case OpKind::values:
      return own.q_width() + own.heads * (weighs_current_token(producer) ? 3 : 1);
    case OpKind::lm_head:
      return 2;
  }
  throw std::logic_error("output_size: unknown operation");
}

Slice slice_of(const ModelShape& shape, const Operation& producer, const Carried& carried) {
  const std::size_t begin =
      value_begin(part_of(shape, producer.part), producer.kind, carried.value);
  const std::size_t count =
      value_size(part_of(shape, carried.part), carried.value, producer.positions);
  const std::size_t before = producer.part == carried.part ? 0 : carried.part.index * count;
  return {begin + before, count};
}

void round_output(const ModelShape& shape, const Formats& formats, const Operation& producer,
                  std::span<float> output) {
  switch (producer.kind) {
    case OpKind::embed:
    case OpKind::o:
    case OpKind::ffn:
    case OpKind::reduce_o:
    case OpKind::reduce_ffn:
    case OpKind::hold:
      return round_rows(formats.residual_wire, shape.hidden, output);
    case OpKind::q:
    case OpKind::k:
    case OpKind::v:
    case OpKind::kv:
    case OpKind::qkv:
    case OpKind::merge:
      return round_rows(formats.wire, shape.head_dim, output);
    case OpKind::sweep:
    case OpKind::values:
      return round_rows(formats.wire, shape.head_dim,
                        output.first(part_of(shape, producer.part).q_width()));
    case OpKind::scores:
    case OpKind::append:
    case OpKind::lm_head:
      return;
  }
  throw std::logic_error("round_output: unknown operation");
}

void encode_value(const ModelShape& shape, const Formats& formats, const Operation& producer,
                  const Carried& carried, std::span<const float> output,
                  std::vector<std::byte>& payload) {
  const WireParts parts = wire_parts(shape, producer, carried);
  encode(wire_format(formats, carried.value), output.subspan(parts.head.offset, parts.head.count),
         parts.row, payload);
  encode(Format::fp32, output.subspan(parts.tail.offset, parts.tail.count), 1, payload);
}

std::span<const std::byte> decode_value(const ModelShape& shape, const Formats& formats,
                                        const Operation& producer, const Carried& carried,
                                        std::span<const std::byte> payload,
                                        std::span<float> output) {
  const WireParts parts = wire_parts(shape, producer, carried);
  payload = decode(wire_format(formats, carried.value), payload, parts.row,
                   output.subspan(parts.head.offset, parts.head.count));
  return decode(Format::fp32, payload, 1, output.subspan(parts.tail.offset, parts.tail.count));
}

}  // namespace qfs
