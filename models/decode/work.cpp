#include "decode/work.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>
#include <vector>

namespace qfs {
namespace {

/// Asked for every value of a message: the whole must not cost a division.
std::size_t of_part(std::size_t whole, const Part& part) {
  return part.count == 1 ? whole : whole / part.count;
}

std::int64_t count(std::size_t n) { return static_cast<std::int64_t>(n); }

Bytes rows_of(std::size_t rows, Format format, std::size_t values) {
  return Bytes(count(rows * row_bytes(format, values)));
}

Bytes weight_bytes(const ModelShape& shape, Format format, OpKind kind) {
  switch (kind) {
    case OpKind::q:
      return q_weight_bytes(shape, format);
    case OpKind::k:
    case OpKind::v:
      return kv_weight_bytes(shape, format);
    case OpKind::kv:
      return 2 * kv_weight_bytes(shape, format);
    case OpKind::qkv:
      return q_weight_bytes(shape, format) + 2 * kv_weight_bytes(shape, format);
    case OpKind::o:
      return o_weight_bytes(shape, format);
    case OpKind::ffn:
      return ffn_weight_bytes(shape, format);
    case OpKind::lm_head:
      return lm_head_weight_bytes(shape, format);
    case OpKind::embed:
    case OpKind::append:
    case OpKind::sweep:
    case OpKind::scores:
    case OpKind::values:
    case OpKind::merge:
    case OpKind::reduce_o:
    case OpKind::reduce_ffn:
    case OpKind::hold:
      return Bytes(0);
  }
  throw std::logic_error("weight_bytes: unknown operation");
}

/// Multiply-accumulates on the weights for one request: one per weight.
Macs weight_macs(const ModelShape& shape, OpKind kind) {
  const Bytes fp32 = weight_bytes(shape, Format::fp32, kind);
  return Macs(fp32.value() / count(bytes_per_value(Format::fp32)));
}

int launches_of(OpKind kind) {
  switch (kind) {
    case OpKind::embed:
    case OpKind::append:
    case OpKind::merge:
    case OpKind::hold:
      return 0;
    case OpKind::ffn:
      return 2;
    case OpKind::q:
    case OpKind::k:
    case OpKind::v:
    case OpKind::kv:
    case OpKind::qkv:
    case OpKind::sweep:
    case OpKind::scores:
    case OpKind::values:
    case OpKind::o:
    case OpKind::reduce_o:
    case OpKind::reduce_ffn:
    case OpKind::lm_head:
      return 1;
  }
  throw std::logic_error("launches_of: unknown operation");
}

/// Values that the operation makes, besides those that its inputs name.
Bytes output_bytes(const CountingRules& rules, const Operation& operation) {
  const auto bytes = [&](ValueKind value) { return value_bytes(rules, {value, operation.part}); };
  const bool shared = operation.part.count > 1;  // with other devices
  switch (operation.kind) {
    case OpKind::q:
      return bytes(ValueKind::q);
    case OpKind::k:
      return bytes(ValueKind::k);
    case OpKind::v:
      return bytes(ValueKind::v);
    case OpKind::kv:
      return bytes(ValueKind::k) + bytes(ValueKind::v);
    case OpKind::qkv:
      return bytes(ValueKind::q) + bytes(ValueKind::k) + bytes(ValueKind::v);
    case OpKind::sweep:
      return bytes(ValueKind::partial);
    case OpKind::scores:
      return bytes(ValueKind::extrema);
    case OpKind::values:
      return bytes(ValueKind::partial) +
             (weighs_current_token(operation) ? bytes(ValueKind::weight) : Bytes(0));
    case OpKind::o:
    case OpKind::ffn:
      return bytes(shared ? ValueKind::sum : ValueKind::residual);
    case OpKind::reduce_o:
    case OpKind::reduce_ffn:
      return bytes(ValueKind::residual);
    case OpKind::lm_head:
      return bytes(shared ? ValueKind::candidate : ValueKind::token);
    case OpKind::embed:
    case OpKind::append:
    case OpKind::merge:
    case OpKind::hold:
      return Bytes(0);
  }
  throw std::logic_error("output_bytes: unknown operation");
}

/// Inputs and outputs through memory. A merge is fused into the launch of `o` and finds its
/// operands on chip (a parked result is free to read); an append's bytes are the cache rows that it
/// writes; an embedding row is not counted.
Bytes activation_bytes(const CountingRules& rules, const Operation& operation) {
  if (launches_of(operation.kind) == 0) {
    return Bytes(0);
  }
  Bytes total = output_bytes(rules, operation);
  const Edges& inputs = operation.inputs;
  for (auto edge = inputs.begin(); edge != inputs.end(); ++edge) {
    if (std::find(inputs.begin(), edge, *edge) == edge) {
      total += value_bytes(rules, carried(*edge));
    }
  }
  return total;
}

/// Bytes of whole rows of the cache that hold `values`, a number of values.
Bytes cache_bytes(const CountingRules& rules, Bytes values) {
  const std::int64_t rows = values.value() / count(rules.shape.head_dim);
  return Bytes(rows * count(row_bytes(rules.formats.kv, rules.shape.head_dim)));
}

FormShape form_shape(const ModelShape& shape, std::size_t positions) {
  return {shape.heads, shape.kv_heads, shape.head_dim, shape.head_dim, positions};
}

/// The query, o and lse of a sweep are its edges' (activation_bytes); whatever else a form moves
/// besides the cache comes on top, in fp32.
void add_sweep(const CountingRules& rules, const Operation& sweep, Work& work) {
  const ModelShape& shape = rules.shape;
  // An empty cache has no matrix of scores.
  const AttentionForm form = sweep.positions == 0 ? AttentionForm::minimal : rules.attention.form;
  const FormShape swept = form_shape(shape, sweep.positions);
  const FormTraffic moved =
      traffic(form, swept, 1);  // a byte a value, to count values of the cache
  const FormTraffic least = traffic(AttentionForm::minimal, swept, 1);
  work.kv_read_bytes += cache_bytes(rules, moved.kv_read);
  work.kv_written_bytes += cache_bytes(rules, moved.kv_written);
  work.activation_bytes += moved.activation_read - least.activation_read +
                           moved.activation_written - least.activation_written;
  const std::int64_t scores = count(query_rows(form, sweep.positions) * sweep.positions);
  work.macs += Macs(count(2 * shape.q_width()) * scores);
  work.exps += Exps(count(shape.heads) * scores);
}

/// The phases of a calibrated sweep. `row` scores the current token in the second, since its key
/// may come after the first; there is nothing to read for it.
void add_scores(const CountingRules& rules, const Operation& scores, Work& work) {
  const ModelShape& shape = rules.shape;
  work.kv_read_bytes += cache_bytes(rules, Bytes(count(shape.kv_width() * scores.positions)));
  work.macs += Macs(count(shape.q_width() * scores.positions));
}

void add_values(const CountingRules& rules, const Operation& values, Work& work) {
  const ModelShape& shape = rules.shape;
  const std::size_t keys = values.positions + (weighs_current_token(values) ? 1 : 0);
  work.kv_read_bytes += cache_bytes(rules, Bytes(count(shape.kv_width() * values.positions)));
  work.macs += Macs(count(shape.q_width() * keys));
  work.exps += Exps(count(shape.heads * exponentials(rules.attention.softmax.unit, keys)));
}

/// Of the scores of a launch, what has no room on chip between the phases: written by the first,
/// read by the second.
Bytes spilled_bytes(const CountingRules& own, std::span<const Operation* const> members) {
  const OpKind kind = members.front()->kind;
  if (!own.attention.score_buffer || (kind != OpKind::scores && kind != OpKind::values)) {
    return Bytes(0);
  }
  Bytes scores;
  for (const Operation* operation : members) {
    scores += count(own.alike) * rows_of(own.shape.heads, Format::fp32, operation->positions);
  }
  return std::max(scores - *own.attention.score_buffer, Bytes(0));
}

void add_append(const CountingRules& rules, const Operation& append, Work& work) {
  const FormTraffic moved =
      growth_traffic(rules.attention.growth, form_shape(rules.shape, append.positions), 1);
  work.kv_read_bytes += cache_bytes(rules, moved.kv_read);
  work.kv_written_bytes += cache_bytes(rules, moved.kv_written);
}

/// Of one request. `own`: of the operation's part.
void add_request(const CountingRules& own, const Operation& operation, Work& work) {
  const ModelShape& shape = own.shape;
  work.macs += weight_macs(shape, operation.kind);
  if (operation.kind == OpKind::sweep) {
    add_sweep(own, operation, work);
  } else if (operation.kind == OpKind::scores) {
    add_scores(own, operation, work);
  } else if (operation.kind == OpKind::values) {
    add_values(own, operation, work);
  } else if (operation.kind == OpKind::ffn) {
    work.exps += Exps(count(shape.ffn));
  } else if (operation.kind == OpKind::append) {
    add_append(own, operation, work);
  }
}

/// What the operation does for every request that it stands for, besides its values.
void add_member(const CountingRules& own, const Operation& operation, Work& work) {
  if (own.alike == 1) {
    add_request(own, operation, work);
    return;
  }
  Work one;
  add_request(own, operation, one);
  const std::int64_t alike = count(own.alike);
  work.kv_read_bytes += alike * one.kv_read_bytes;
  work.kv_written_bytes += alike * one.kv_written_bytes;
  work.activation_bytes += alike * one.activation_bytes;
  work.macs += alike * one.macs;
  work.exps += alike * one.exps;
}

/// Of one request.
Bytes bytes_of_one(const CountingRules& rules, const Carried& carried) {
  const ModelShape& shape = rules.shape;
  const Formats& formats = rules.formats;
  const std::size_t heads = of_part(shape.heads, carried.part);
  switch (carried.value) {
    case ValueKind::residual:
    case ValueKind::sum:
      return rows_of(1, formats.residual_wire, shape.hidden);
    case ValueKind::q:
    case ValueKind::attention:
      return rows_of(heads, formats.wire, shape.head_dim);
    case ValueKind::k:
    case ValueKind::v:
      return rows_of(of_part(shape.kv_heads, carried.part), formats.wire, shape.head_dim);
    case ValueKind::partial:
      return rows_of(heads, formats.wire, shape.head_dim) + rows_of(1, Format::fp32, heads);
    case ValueKind::extrema:
      return rows_of(2, Format::fp32, heads);
    case ValueKind::weight:
      return rows_of(1, Format::fp32, heads);
    case ValueKind::token:
      return Bytes(4);
    case ValueKind::candidate:
      return Bytes(8);
    case ValueKind::scores:  // on chip, or spilled
    case ValueKind::order:
      return Bytes(0);
  }
  throw std::logic_error("value_bytes: unknown value");
}

}  // namespace

Bytes value_bytes(const CountingRules& rules, const Carried& carried) {
  return count(rules.alike) * bytes_of_one(rules, carried);
}

bool takes_executor(OpKind kind) { return launches_of(kind) > 0; }

Work work_of(const CountingRules& rules, std::span<const Operation* const> members) {
  assert(!members.empty());
  Work work;
  const Operation& first = *members.front();
  CountingRules own = rules;
  own.shape = part_of(rules.shape, first.part);
  work.weight_bytes = weight_bytes(own.shape, rules.formats.weights, first.kind);
  work.launches = launches_of(first.kind);
  for (const Operation* operation : members) {
    add_member(own, *operation, work);
    work.activation_bytes += activation_bytes(rules, *operation);
  }
  work.activation_bytes += spilled_bytes(own, members);
  if (rules.accounting == Accounting::weights_and_sweep) {
    work.activation_bytes = Bytes(0);
    if (first.kind == OpKind::append) {
      work.kv_read_bytes = Bytes(0);
      work.kv_written_bytes = Bytes(0);
    }
  }
  return work;
}

}  // namespace qfs
