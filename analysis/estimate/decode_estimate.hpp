// What a run of decode steps does, counted without simulating it: multiply-accumulates, logical
// accesses and bytes of every operation, layer and step, with the times that the closed form and
// the roofline give them. All counts come from operation_costs.hpp through step_graph.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/arrangement.hpp"
#include "analysis/parameters.hpp"
#include "analysis/roofline.hpp"
#include "analysis/topology.hpp"

namespace qfs {

struct DecodeWork {
  std::int64_t launches = 0;
  Bytes weight_bytes;
  Bytes kv_read_bytes;
  Bytes kv_written_bytes;
  Bytes activation_bytes;
  Macs macs;
  Exps exps;
  /// Values that pass through memory, each operand and result of an operation once: bytes without
  /// their formats. What an operation keeps on chip is not among them.
  std::int64_t accesses = 0;

  [[nodiscard]] Bytes memory_bytes() const {
    return weight_bytes + kv_read_bytes + kv_written_bytes + activation_bytes;
  }
  DecodeWork& operator+=(const DecodeWork& other);
  bool operator==(const DecodeWork&) const = default;
};

/// One launch for a whole wave, or one append.
struct OperationEstimate {
  std::string name;  // q, k, v, kv, qkv, append, sweep, o, ffn, reduce_o, reduce_ffn, lm_head
  std::size_t step = 0;
  std::size_t wave = 0;
  std::size_t layer = 0;  // of the LM head: one past the last
  AnalyticDeviceRole role = AnalyticDeviceRole::compute;
  std::size_t device = 0;  // of those of the role
  DecodeWork work;
  Seconds alone;     // closed form, with the memory to itself
  Seconds roofline;  // the longest of memory and arithmetic at their peaks
  AnalyticResource bound = AnalyticResource::compute_memory;
};

/// One layer of one step of a wave, or its LM head.
struct LayerEstimate {
  std::size_t step = 0;
  std::size_t wave = 0;
  std::size_t layer = 0;
  std::vector<OperationEstimate> operations;
  DecodeWork work;
  Bytes wire_bytes;  // of the messages of what the layer made
  std::int64_t messages = 0;
  Seconds closed_form;  // from the output of the layer before, or the step's start, to its own
  /// The busiest resource for all that the layer does, its appends and messages too.
  Seconds roofline;
  AnalyticResource bound = AnalyticResource::compute_memory;
};

/// The work to bound a step grows with the steps before it.
inline constexpr std::size_t most_bounded_steps = 32;

/// One step of a wave.
struct StepEstimate {
  std::size_t step = 0;
  std::size_t wave = 0;
  std::vector<LayerEstimate> layers;  // in order; the LM head last, if there is one
  DecodeWork work;
  Bytes wire_bytes;
  std::int64_t messages = 0;
  Seconds closed_form;
  /// step_roofline's, which leaves out what may outlast the step. Of the first step, and, but for
  /// ranks without an LM head, of up to most_bounded_steps.
  std::optional<Roofline> roofline;
};

/// Whether two layers do the same on the same devices, whatever they wait for.
bool alike(const LayerEstimate& a, const LayerEstimate& b);

struct DecodeEstimate {
  std::vector<StepEstimate> steps;  // by step, then wave
  Seconds stack_time;               // closed form; wave 0's first token, without LM head
};

/// Needs what step_graph.hpp asks of the parameters.
DecodeEstimate decode_estimate(AnalyticArrangement arrangement,
                               const AnalyticParameters& parameters);

}  // namespace qfs
