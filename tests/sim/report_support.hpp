// Small hand-made tables for the tests of the reporter.
#pragma once

#include <vector>

#include "sim/run/result.hpp"
#include "system/layout.hpp"

namespace qfs::test {

/// The unit of the hand-made tables: one nanosecond.
inline constexpr std::int64_t unit = 1'000'000;
inline Femtoseconds at(std::int64_t units) { return Femtoseconds(units * unit); }

enum Place : std::size_t { compute, cache, cache_writes, to_cache, to_compute };

inline std::vector<Resource> two_device_resources() {
  return {{"compute_device", ResourceKind::executor},
          {"cache_device", ResourceKind::executor},
          {"cache_device.writes", ResourceKind::writes},
          {"link.to_cache_device", ResourceKind::link},
          {"link.to_compute_device", ResourceKind::link}};
}

/// Rows in a line each: where, what, when, from what.
class TableMaker {
 public:
  TableMaker() { table_.resources = two_device_resources(); }

  Row& operation(std::size_t step, Place place, OpKind op, std::int64_t start, std::int64_t end,
                 const std::vector<std::size_t>& deps = {}) {
    Row row;
    row.op = op;
    return add(std::move(row), step, place, start, end, deps);
  }
  Row& message(std::size_t step, Place place, std::vector<ValueKind> carries, std::int64_t start,
               std::int64_t end, const std::vector<std::size_t>& deps = {}) {
    Row row;
    row.kind = RowKind::message;
    row.carries = std::move(carries);
    return add(std::move(row), step, place, start, end, deps);
  }
  [[nodiscard]] const ExecutionTable& table() const { return table_; }

 private:
  Row& add(Row row, std::size_t step, Place place, std::int64_t start, std::int64_t end,
           const std::vector<std::size_t>& deps) {
    row.step = StepId(step);
    row.members = {{RequestId(0), StepId(step)}};
    row.resource = place;
    row.ready = at(start);
    row.start = at(start);
    row.end = at(end);
    for (const std::size_t dep : deps) {
      row.deps.push_back({RowId(dep), table_.rows[dep].end});
    }
    return table_.add(std::move(row));
  }

  ExecutionTable table_;
};

/// Two steps of one layer, in early_q's order, with every kind of gap. Link: latency 5, one byte a
/// unit. Step 0 is [0, 100] with its stack until 80; step 1 has no LM head and is [100, 170]; the
/// last append ends at 180.
inline ExecutionTable two_steps() {
  TableMaker make;
  make.operation(0, compute, OpKind::embed, 0, 0);                                             // 0
  make.operation(0, compute, OpKind::q, 0, 10, {0}).work.weight_bytes = Bytes(1000);           // 1
  make.message(0, to_cache, {ValueKind::q}, 10, 17, {1}).wire_bytes = Bytes(2);                // 2
  make.operation(0, compute, OpKind::ffn, 10, 40, {0}).work.weight_bytes = Bytes(3000);        // 3
  make.operation(0, cache, OpKind::sweep, 17, 60, {2}).work.kv_read_bytes = Bytes(43000);      // 4
  make.operation(0, compute, OpKind::kv, 40, 50, {3}).work.activation_bytes = Bytes(70);       // 5
  make.message(0, to_cache, {ValueKind::k, ValueKind::v}, 50, 59, {5}).wire_bytes = Bytes(4);  // 6
  make.operation(0, cache_writes, OpKind::append, 59, 62, {6}).work.kv_written_bytes = Bytes(8);
  make.message(0, to_compute, {ValueKind::partial}, 60, 68, {4}).wire_bytes = Bytes(3);     // 8
  make.operation(0, compute, OpKind::merge, 70, 72, {1, 5, 8});                             // 9
  make.operation(0, compute, OpKind::o, 72, 80, {9}).work.macs = Macs(500);                 // 10
  make.operation(0, compute, OpKind::lm_head, 80, 100, {10}).work.launches = 1;             // 11
  make.operation(1, compute, OpKind::embed, 100, 100, {11});                                // 12
  make.operation(1, compute, OpKind::q, 100, 110, {12});                                    // 13
  make.message(1, to_cache, {ValueKind::q}, 110, 117, {13}).wire_bytes = Bytes(2);          // 14
  make.operation(0, cache_writes, OpKind::append, 112, 122);                                // 15
  make.operation(1, cache, OpKind::sweep, 125, 150, {14, 15});                              // 16
  make.message(1, to_compute, {ValueKind::partial}, 150, 158, {16}).wire_bytes = Bytes(3);  // 17
  make.operation(1, compute, OpKind::o, 158, 170, {17});                                    // 18
  make.operation(1, cache_writes, OpKind::append, 165, 180);                                // 19
  return make.table();
}

inline Layout layout_with(Arrangement arrangement, std::size_t cache_devices = 1) {
  LayoutConfig config;
  config.arrangement = arrangement;
  config.split.devices = cache_devices;
  return Layout(config);
}

inline RunConfig hand_made_config() {
  RunConfig config;
  config.name = "hand made";
  config.model = {.name = "tiny",
                  .hidden = 8,
                  .layers = 1,
                  .heads = 2,
                  .kv_heads = 1,
                  .head_dim = 4,
                  .ffn = 16,
                  .vocab = 32};
  config.compare = {BlockOrder::standard};
  config.workload.context = 4608;
  config.workload.tokens = 2;
  config.workload.contexts = {16384};
  config.link.latency = Seconds(5e-9);
  config.link.bandwidth = BytesPerSecond(1e9);  // one byte a unit
  return config;
}

inline NumericReport passed_report() {
  NumericReport report;
  OperationError worst{OpKind::sweep, LayerId(0), StepId(1), RequestId(0), 2e-3};
  report.kinds = {{OpKind::sweep, 2, 5e-3, worst}};
  report.end_to_end = {{StepId(0), RequestId(0), 1e-3, true},
                       {StepId(1), RequestId(0), 3e-3, true}};
  report.end_to_end_tolerance = 2e-2;
  report.sensitivity = {2, 0.25, 0.0625};
  return report;
}

/// Both blocks at both contexts, all with the same table; at the main context, early_q was checked.
inline RunResult hand_made_result() {
  RunResult result;
  result.config = hand_made_config();
  for (const std::size_t context : {4608, 16384}) {
    for (const BlockOrder block : {BlockOrder::early_q, BlockOrder::standard}) {
      PointResult point;
      point.block = block;
      point.context = context;
      point.table = two_steps();
      point.analytic = {Seconds(80e-9),
                        {{Seconds(100e-9), Seconds(70e-9)}},
                        AnalyticBound{Seconds(50e-9), "cache_device memory"}};
      result.points.push_back(std::move(point));
    }
  }
  result.points.front().numerics = passed_report();
  result.crossovers = {
      {CrossoverKind::latency, BlockOrder::early_q, CrossoverState::found, 5632.25, 5632},
      {CrossoverKind::latency, BlockOrder::standard, CrossoverState::exposed_at_0, 0, std::nullopt},
      {CrossoverKind::ffn, BlockOrder::early_q, CrossoverState::never, 0, std::nullopt}};
  return result;
}

}  // namespace qfs::test
