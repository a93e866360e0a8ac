#include "hardware/device/kernel_work.hpp"

#include <cassert>
#include <stdexcept>

namespace qfs {
namespace {

std::int64_t count(std::size_t n) { return static_cast<std::int64_t>(n); }

SweepWork sweep_of(const CountingRules& rules, const ModelShape& own,
                   std::span<const Operation* const> members) {
  std::size_t positions = 0;
  for (const Operation* member : members) {
    positions += member->positions;
  }
  const std::size_t mean = (positions + members.size() - 1) / members.size();
  return {.batch = count(members.size() * rules.alike),
          .query_heads = count(own.heads),
          .kv_heads = count(own.kv_heads),
          .head_dim = count(own.head_dim),
          .context = count(mean),
          .element_bytes = count(bytes_per_value(rules.formats.kv))};
}

}  // namespace

std::vector<KernelWork> kernels_of(const CountingRules& rules,
                                   std::span<const Operation* const> members) {
  assert(!members.empty());
  const Operation& first = *members.front();
  const ModelShape own = part_of(rules.shape, first.part);
  const auto product = [&](std::size_t in, std::size_t out) {
    return KernelWork(ProductWork{.m = count(members.size() * rules.alike),
                                  .n = count(out),
                                  .k = count(in),
                                  .element_bytes = count(bytes_per_value(rules.formats.weights))});
  };
  switch (first.kind) {
    case OpKind::q:
      return {product(own.hidden, own.q_width())};
    case OpKind::k:
    case OpKind::v:
      return {product(own.hidden, own.kv_width())};
    case OpKind::kv:
      return {product(own.hidden, 2 * own.kv_width())};
    case OpKind::qkv:
      return {product(own.hidden, own.q_width() + 2 * own.kv_width())};
    case OpKind::o:
      return {product(own.q_width(), own.hidden)};
    case OpKind::ffn:
      return {product(own.hidden, 2 * own.ffn), product(own.ffn, own.hidden)};
    case OpKind::lm_head:
      return {product(own.hidden, own.vocab)};
    case OpKind::sweep:
      return {sweep_of(rules, own, members)};
    case OpKind::embed:
    case OpKind::append:
    case OpKind::merge:
    case OpKind::reduce_o:
    case OpKind::reduce_ffn:
    case OpKind::hold:
      return {};
    case OpKind::scores:
    case OpKind::values:
      break;
  }
  throw std::logic_error("kernels_of: no measured kernel does this");
}

Seconds launch_time(const DeviceCost& device, CacheState cache, const CountingRules& rules,
                    std::span<const Operation* const> members) {
  if (is_reduce(members.front()->kind)) {
    return copy_time(device, work_of(rules, members).memory_bytes());
  }
  Seconds time(0);
  for (const KernelWork& kernel : kernels_of(rules, members)) {
    time += launch_time(device, kernel, cache);
  }
  return time;
}

}  // namespace qfs
