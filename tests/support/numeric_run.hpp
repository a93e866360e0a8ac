// Small systems with real numbers in them, of any arrangement: built, run and checked; with the
// values that they ended with.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "decode/numeric_report.hpp"
#include "sim/run/serialize.hpp"
#include "system/simulation.hpp"

namespace qfs::test {

inline constexpr Formats fp32_throughout{Format::fp32, Format::fp32, Format::fp32, Format::fp32};
inline constexpr Formats bf16_wire{Format::fp32, Format::bf16, Format::bf16, Format::fp32};

struct NumericCase {
  Arrangement arrangement = Arrangement::two_device;
  BlockOrder block = BlockOrder::early_q;
  CurrentToken current_token = CurrentToken::merge;
  Formats formats = fp32_throughout;
  CacheSplit split = {};
  Ports ports = Ports::shared;
  PoolConfig pool = {};
  std::size_t ranks = 1;
  std::size_t kv_heads = 8;
  std::vector<std::size_t> contexts = {0, 1, 37, 12};
  std::size_t wave = 2;
  std::size_t tokens = 3;
  bool lm_head = true;
  double latency_us = 2;
  double cache_bytes_per_s = 1e9;
  Fault fault = {};
};

/// One line that says which case it is.
std::string text_of(const NumericCase& numeric_case);

SystemConfig system_config(const NumericCase& numeric_case);
Inputs inputs_of(const NumericCase& numeric_case);

struct NumericRun {
  NumericReport report;
  /// What the stack gave, by request and step; of several ranks, each rank's.
  std::vector<std::vector<float>> outputs;
  std::vector<std::vector<float>> tokens;  // likewise, of the LM head: token and logit

  template <class Archive>
  void serialize(Archive& archive, unsigned /*version*/) {
    archive& report& outputs& tokens;
  }
};

/// In this process, of which it is the only simulation. `graph` has the meaning of
/// config.graph.block for the reference decoder.
NumericRun run_graph(const SystemConfig& config, Graph graph, const Inputs& inputs);
NumericRun run_numeric(const NumericCase& numeric_case);

}  // namespace qfs::test
