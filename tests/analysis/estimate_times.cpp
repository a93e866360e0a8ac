// Times and bounds of estimated operations, layers and steps, worked by hand: one layer of hidden
// 4, two query heads of 2 on one KV head, ffn 8, everything bf16, ten cached positions, one
// request.
#include <map>
#include <set>
#include <string>

#include "analysis/estimate/decode_estimate.hpp"
#include "tests/support/catch.hpp"

namespace qfs {
namespace {

AnalyticParameters one_layer() {
  AnalyticParameters p;
  p.shape.hidden = 4;
  p.shape.layers = 1;
  p.shape.heads = 2;
  p.shape.kv_heads = 1;
  p.shape.head_dim = 2;
  p.shape.ffn = 8;
  p.shape.vocab = 16;
  p.block = BlockOrder::standard;
  p.formats = {Format::bf16, Format::bf16, Format::bf16, Format::bf16};
  p.context = 10;
  p.compute.bandwidth = BytesPerSecond(1e9);
  p.cache.bandwidth = BytesPerSecond(2e9);
  p.cache.mac_rate = MacsPerSecond(1e9);
  return p;
}

double nanoseconds(Seconds time) { return time.value() * 1e9; }

LayerEstimate layer_of(const AnalyticParameters& p) {
  return decode_estimate(AnalyticArrangement::two_device, p).steps.front().layers.front();
}

std::map<std::string, OperationEstimate> operations_of(const AnalyticParameters& p) {
  std::map<std::string, OperationEstimate> operations;
  for (const OperationEstimate& operation : layer_of(p).operations) {
    operations[operation.name] = operation;
  }
  return operations;
}

TEST_CASE("an operation's time alone and its roofline") {
  AnalyticParameters p = one_layer();
  p.compute.launch_overhead = Seconds(1e-6);
  const auto operations = operations_of(p);
  const auto check = [&](const char* name, double alone, double roofline, AnalyticResource bound) {
    CAPTURE(name);
    CHECK(nanoseconds(operations.at(name).alone) == Approx(alone));
    CHECK(nanoseconds(operations.at(name).roofline) == Approx(roofline));
    CHECK(operations.at(name).bound == bound);
  };
  // Bytes at 1 GB/s: weights, then what is read and written.
  check("q", 1000 + 32 + 8 + 8, 48, AnalyticResource::compute_memory);
  check("kv", 1000 + 32 + 8 + 8, 48, AnalyticResource::compute_memory);
  check("o", 1000 + 32 + 8 + 8 + 8, 56, AnalyticResource::compute_memory);
  check("ffn", 2000 + 192 + 8 + 8, 208, AnalyticResource::compute_memory);
  // 80 MACs at 1 GMAC/s; its 80 + 24 bytes take 52 ns.
  check("sweep", 80, 80, AnalyticResource::cache_arithmetic);
  check("append", 4, 4, AnalyticResource::cache_memory);
  CHECK(operations.size() == 6);
}

TEST_CASE("a layer is bounded by its busiest resource") {
  const auto check = [](const AnalyticParameters& p, double time, AnalyticResource bound) {
    const LayerEstimate layer = layer_of(p);
    CHECK(nanoseconds(layer.roofline) == Approx(time));
    CHECK(layer.bound == bound);
  };
  AnalyticParameters p = one_layer();
  check(p, 48 + 48 + 56 + 208, AnalyticResource::compute_memory);
  p.cache.mac_rate = MacsPerSecond(1e8);
  check(p, 800, AnalyticResource::cache_arithmetic);
  p = one_layer();
  p.cache.bandwidth = BytesPerSecond(1e8);
  check(p, 10 * (80 + 24 + 8), AnalyticResource::cache_memory);  // with the appended row
  p = one_layer();
  p.compute.launch_overhead = Seconds(1e-6);
  check(p, 5000, AnalyticResource::compute_launch);
  p = one_layer();
  p.link_bandwidth = BytesPerSecond(1e8);
  p.link_message_overhead = Seconds(1e-6);
  check(p, 2 * 1000 + 10 * (8 + 8), AnalyticResource::link_to_cache);  // q; k and v
  p.link_message_overhead = Seconds(1e-8);
  p.link_bandwidth = BytesPerSecond(2e7);
  p.compute.bandwidth = BytesPerSecond(1e12);
  check(p, 2 * 10 + 50 * (8 + 8), AnalyticResource::link_to_cache);
}

TEST_CASE("a layer ends with its last operation") {
  AnalyticParameters p = one_layer();
  p.lm_head = true;
  const StepEstimate step = decode_estimate(AnalyticArrangement::two_device, p).steps.front();
  REQUIRE(step.layers.size() == 2);
  // q, then the sweep beside kv; o and ffn.
  CHECK(nanoseconds(step.layers[0].closed_form) == Approx(48 + 80 + 56 + 208));
  CHECK(nanoseconds(step.layers[1].closed_form) == Approx(128 + 8 + 4));
  CHECK(nanoseconds(step.closed_form) == Approx(48 + 80 + 56 + 208 + 140));
  CHECK(step.wire_bytes == Bytes(8 + 8 + 16));
  CHECK(step.messages == 3);
}

TEST_CASE("devices are numbered within their role") {
  AnalyticParameters p = one_layer();
  p.split.devices = 3;
  std::set<std::size_t> caches;
  for (const OperationEstimate& operation : layer_of(p).operations) {
    if (operation.role == AnalyticDeviceRole::cache) {
      caches.insert(operation.device);
    } else {
      CHECK(operation.device == 0);
    }
  }
  CHECK(caches == std::set<std::size_t>{0, 1, 2});
}

TEST_CASE("steps are bounded where a bound is known") {
  const auto bounded = [](const AnalyticParameters& p, AnalyticArrangement arrangement) {
    std::size_t count = 0;
    for (const StepEstimate& step : decode_estimate(arrangement, p).steps) {
      count += step.roofline ? 1 : 0;
    }
    return count;
  };
  AnalyticParameters p = one_layer();
  p.tokens = most_bounded_steps + 3;
  CHECK(bounded(p, AnalyticArrangement::colocated) == most_bounded_steps);
  p.tokens = 3;
  p.shape.kv_heads = 2;
  p.ranks = 2;
  CHECK(bounded(p, AnalyticArrangement::tensor_parallel) == 1);
  p.lm_head = true;
  CHECK(bounded(p, AnalyticArrangement::tensor_parallel) == 3);
}

}  // namespace
}  // namespace qfs
