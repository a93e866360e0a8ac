// Which measured kernels a launch is: sizes by hand.
#include "hardware/device/kernel_work.hpp"

#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/shapes.hpp"

namespace qfs {
namespace {

/// Qwen3-0.6B: hidden 1024, 16 heads on 8 KV heads of 128, ffn 3072, vocabulary 151936.
CountingRules rules_of(const Formats& formats = {}) { return {test::qwen3_0_6b(), formats}; }

/// The kernels of a launch over requests with so many positions each.
std::vector<KernelWork> kernels(OpKind kind, const std::vector<std::size_t>& positions,
                                const Part& part = {}, const CountingRules& rules = rules_of()) {
  std::vector<Operation> operations(positions.size());
  std::vector<const Operation*> members;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    operations[i].kind = kind;
    operations[i].part = part;
    operations[i].positions = positions[i];
    members.push_back(&operations[i]);
  }
  return kernels_of(rules, members);
}

void check_product(const KernelWork& kernel, std::int64_t m, std::int64_t n, std::int64_t k,
                   std::int64_t element_bytes = 2) {
  const auto* product = std::get_if<ProductWork>(&kernel);
  REQUIRE(product != nullptr);
  CHECK(product->m == m);
  CHECK(product->n == n);
  CHECK(product->k == k);
  CHECK(product->element_bytes == element_bytes);
}

SweepWork sweep_of(const std::vector<KernelWork>& kernels) {
  REQUIRE(kernels.size() == 1);
  const auto* sweep = std::get_if<SweepWork>(&kernels.front());
  REQUIRE(sweep != nullptr);
  return *sweep;
}

}  // namespace

TEST_CASE("a projection is a product of its weights with one row a request") {
  const std::vector<std::size_t> three(3);
  check_product(kernels(OpKind::q, three).at(0), 3, 2048, 1024);
  check_product(kernels(OpKind::k, three).at(0), 3, 1024, 1024);
  check_product(kernels(OpKind::v, three).at(0), 3, 1024, 1024);
  check_product(kernels(OpKind::kv, three).at(0), 3, 2048, 1024);
  check_product(kernels(OpKind::qkv, three).at(0), 3, 4096, 1024);
  check_product(kernels(OpKind::o, three).at(0), 3, 1024, 2048);
  check_product(kernels(OpKind::lm_head, three).at(0), 3, 151936, 1024);
  const std::vector<KernelWork> ffn = kernels(OpKind::ffn, three);
  REQUIRE(ffn.size() == 2);
  check_product(ffn[0], 3, 6144, 1024);
  check_product(ffn[1], 3, 1024, 3072);
}

TEST_CASE("a rank's kernels have its part of heads, feed-forward and vocabulary") {
  const Part quarter{1, 4};
  check_product(kernels(OpKind::qkv, {0}, quarter).at(0), 1, 1024, 1024);
  check_product(kernels(OpKind::o, {0}, quarter).at(0), 1, 1024, 512);
  check_product(kernels(OpKind::ffn, {0}, quarter).at(1), 1, 1024, 768);
  check_product(kernels(OpKind::lm_head, {0}, quarter).at(0), 1, 37984, 1024);
  const SweepWork sweep = sweep_of(kernels(OpKind::sweep, {9}, quarter));
  CHECK(sweep.query_heads == 4);
  CHECK(sweep.kv_heads == 2);
}

TEST_CASE("a sweep counts its requests' mean context, and elements as wide as the cache's") {
  const SweepWork even = sweep_of(kernels(OpKind::sweep, {500, 500}));
  CHECK(even.batch == 2);
  CHECK(even.query_heads == 16);
  CHECK(even.kv_heads == 8);
  CHECK(even.head_dim == 128);
  CHECK(even.context == 500);
  CHECK(even.element_bytes == 2);
  CHECK(sweep_of(kernels(OpKind::sweep, {0, 5, 4000})).context == 1335);  // 4005 / 3
  CHECK(sweep_of(kernels(OpKind::sweep, {1, 2})).context == 2);           // rounded up
  const CountingRules narrow = rules_of({.kv = Format::fp8_e5m2, .weights = Format::fp8_e4m3});
  CHECK(sweep_of(kernels(OpKind::sweep, {7}, {}, narrow)).element_bytes == 1);
  check_product(kernels(OpKind::o, {0}, {}, narrow).at(0), 1, 1024, 2048, 1);
}

TEST_CASE("what needs no product is no measured kernel, and phases were never measured") {
  for (const OpKind kind : {OpKind::embed, OpKind::append, OpKind::merge, OpKind::reduce_o,
                            OpKind::reduce_ffn, OpKind::hold}) {
    CHECK(kernels(kind, {1}).empty());
  }
  CHECK_THROWS(kernels(OpKind::scores, {1}));
  CHECK_THROWS(kernels(OpKind::values, {1}));
}

TEST_CASE("a reduce costs a product's launch and its bytes") {
  DeviceCost cost;
  cost.product.emplace();
  cost.product->launch = Seconds(2e-6);
  cost.product->bandwidth = BytesPerSecond(1e9);
  Operation reduce;
  reduce.kind = OpKind::reduce_o;
  const Operation* members[] = {&reduce};
  const Bytes moved = work_of(rules_of(), members).memory_bytes();
  CHECK(moved > Bytes(0));
  CHECK(launch_time(cost, CacheState::cold, rules_of(), members).value() ==
        Approx(2e-6 + static_cast<double>(moved.value()) / 1e9));
}

}  // namespace qfs
