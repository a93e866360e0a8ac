#include "decode/values.hpp"

#include <stdexcept>

namespace qfs {
namespace {

Format wire_format(const Formats& formats, ValueKind value) {
  switch (value) {
    case ValueKind::residual:
      return formats.residual_wire;
    case ValueKind::token:
      return Format::fp32;
    default:
      return formats.wire;
  }
}

std::size_t value_size(const ModelShape& shape, ValueKind value) {
  switch (value) {
    case ValueKind::residual:
      return shape.hidden;
    case ValueKind::q:
    case ValueKind::attention:
      return shape.q_width();
    case ValueKind::k:
    case ValueKind::v:
      return shape.kv_width();
    case ValueKind::partial:
      return shape.q_width() + shape.heads;
    case ValueKind::token:
      return 1;
    case ValueKind::order:
      return 0;
  }
  throw std::logic_error("value_size: unknown value");
}

/// A value as it travels: a part in rows of its format and, of a partial, a tail in fp32.
struct WireParts {
  Slice head;
  Slice tail;
  std::size_t row = 1;  // of the head
};

WireParts wire_parts(const ModelShape& shape, OpKind producer, ValueKind value) {
  const Slice all = slice_of(shape, producer, value);
  const Slice none{all.offset + all.count, 0};
  switch (value) {
    case ValueKind::residual:
      return {all, none, shape.hidden};
    case ValueKind::partial:
      return {{all.offset, shape.q_width()},
              {all.offset + shape.q_width(), shape.heads},
              shape.head_dim};
    case ValueKind::q:
    case ValueKind::attention:
    case ValueKind::k:
    case ValueKind::v:
      return {all, none, shape.head_dim};
    case ValueKind::token:
    case ValueKind::order:
      return {all, none, 1};
  }
  throw std::logic_error("wire_parts: unknown value");
}

}  // namespace

std::size_t output_size(const ModelShape& shape, OpKind kind) {
  switch (kind) {
    case OpKind::embed:
    case OpKind::o:
    case OpKind::ffn:
      return shape.hidden;
    case OpKind::q:
    case OpKind::merge:
      return shape.q_width();
    case OpKind::k:
    case OpKind::v:
      return shape.kv_width();
    case OpKind::kv:
    case OpKind::append:
      return 2 * shape.kv_width();
    case OpKind::qkv:
      return shape.q_width() + 2 * shape.kv_width();
    case OpKind::sweep:
      return shape.q_width() + shape.heads;
    case OpKind::lm_head:
      return 2;
  }
  throw std::logic_error("output_size: unknown operation");
}

Slice slice_of(const ModelShape& shape, OpKind kind, ValueKind value) {
  const std::size_t q_end = kind == OpKind::qkv ? shape.q_width() : 0;
  const bool k_first = kind == OpKind::kv || kind == OpKind::qkv;
  const std::size_t count = value_size(shape, value);
  if (value == ValueKind::k) {
    return {q_end, count};
  }
  if (value == ValueKind::v) {
    return {k_first ? q_end + shape.kv_width() : 0, count};
  }
  return {0, count};
}

void round_output(const ModelShape& shape, const Formats& formats, OpKind kind,
                  std::span<float> output) {
  switch (kind) {
    case OpKind::embed:
    case OpKind::o:
    case OpKind::ffn:
      return round_rows(formats.residual_wire, shape.hidden, output);
    case OpKind::q:
    case OpKind::k:
    case OpKind::v:
    case OpKind::kv:
    case OpKind::qkv:
    case OpKind::merge:
      return round_rows(formats.wire, shape.head_dim, output);
    case OpKind::sweep:
      return round_rows(formats.wire, shape.head_dim, output.first(shape.q_width()));
    case OpKind::append:
    case OpKind::lm_head:
      return;
  }
  throw std::logic_error("round_output: unknown operation");
}

void encode_value(const ModelShape& shape, const Formats& formats, OpKind producer, ValueKind value,
                  std::span<const float> output, std::vector<std::byte>& payload) {
  const WireParts parts = wire_parts(shape, producer, value);
  encode(wire_format(formats, value), output.subspan(parts.head.offset, parts.head.count),
         parts.row, payload);
  encode(Format::fp32, output.subspan(parts.tail.offset, parts.tail.count), 1, payload);
}

std::span<const std::byte> decode_value(const ModelShape& shape, const Formats& formats,
                                        OpKind producer, ValueKind value,
                                        std::span<const std::byte> payload,
                                        std::span<float> output) {
  const WireParts parts = wire_parts(shape, producer, value);
  payload = decode(wire_format(formats, value), payload, parts.row,
                   output.subspan(parts.head.offset, parts.head.count));
  return decode(Format::fp32, payload, 1, output.subspan(parts.tail.offset, parts.tail.count));
}

}  // namespace qfs
