// Every key of a configuration, once: its name, the field that it fills, what is legal, and its
// meaning. The reader, the writer of the resolved configuration and the table in configs/README.md
// all visit these functions.
#pragma once

#include "sim/config/cost_schema.hpp"
#include "sim/config/dram_schema.hpp"
#include "sim/config/forms.hpp"
#include "sim/config/key.hpp"
#include "sim/config/presets.hpp"
#include "sim/config/run_config.hpp"

namespace qfs::config {

// Limits far beyond use, within which no product of sizes leaves 63 bits unnoticed (validate.cpp
// checks the products).
inline constexpr std::uint64_t most_width = std::uint64_t{1} << 24U;
inline constexpr std::uint64_t most_layers = 4096;
inline constexpr std::uint64_t most_batch = 65536;
inline constexpr std::uint64_t most_tokens = 4096;
inline constexpr std::uint64_t most_context = std::uint64_t{1} << 40U;
inline constexpr std::uint64_t most_devices = 1024;
inline constexpr std::uint64_t most_drawn_positions = std::uint64_t{1} << 28U;  // of split any
inline constexpr double most_operations = 4'000'000;  // of a run's graph, a few 100 B each
inline constexpr double longest_delay = 1000;         // seconds

inline constexpr Measure rate{};
inline constexpr Measure rate_or_unlimited{Measure::Zero::refused, Measure::Infinite::legal};
inline constexpr Measure positive_delay{Measure::Zero::refused, Measure::Infinite::refused,
                                        longest_delay};
inline constexpr Measure delay{Measure::Zero::legal, Measure::Infinite::refused, longest_delay};

template <class Visitor>
void describe(Visitor& visit, ModelShape& model) {
  constexpr Count width{1, most_width};
  constexpr Presence required = Presence::required;
  visit.field({"name", "what reports call the model"}, model.name, Text{});
  visit.field({"hidden", "width of the residual stream", required}, model.hidden, width);
  visit.field({"layers", "decoder layers", required}, model.layers, Count{1, most_layers});
  visit.field({"heads", "query heads; a multiple of kv_heads", required}, model.heads, width);
  visit.field({"kv_heads", "key and value heads", required}, model.kv_heads, width);
  visit.field({"head_dim", "values of a head; even; may differ from hidden / heads", required},
              model.head_dim, width);
  visit.field({"ffn", "width of the feed-forward", required}, model.ffn, width);
  visit.field({"vocab", "tokens of the vocabulary", required}, model.vocab, width);
  visit.field({"tied_embedding", "the LM head is the embedding, stored once"}, model.tied_embedding,
              Flag{});
  visit.field({"qk_norm", "RMSNorm of every query and key head (Qwen3)"}, model.qk_norm, Flag{});
  visit.field({"rope_theta", "base of the rotary embedding"}, model.rope_theta, Number{});
  visit.field({"norm_epsilon", "added to the mean square in RMSNorm"}, model.norm_epsilon,
              Number{Number::From::at_0});
}

template <class Visitor>
void describe(Visitor& visit, Workload& workload) {
  visit.field({"trace",
               "CSV file of the requests of a wave, its path from the run file's folder "
               "(traces/README.md): gives batch, context, request_contexts, tokens and "
               "request_tokens, which are not given then"},
              workload.trace, TraceFile{});
  visit.field({"batch", "requests of a wave, which move through the layers together"},
              workload.batch, Count{1, most_batch});
  visit.field({"in_flight", "waves that are decoded side by side, each with `batch` requests"},
              workload.in_flight, Count{1, most_batch});
  visit.field({"context", "cached positions of each request before the first simulated token",
               workload.trace.empty() ? Presence::required : Presence::optional},
              workload.context, Count{0, most_context});
  visit.field({"tokens", "tokens simulated for each request"}, workload.tokens,
              Count{1, most_tokens});
  visit.field({"contexts", "further contexts, each simulated for its time only"}, workload.contexts,
              ListOf<Count>{{0, most_context}});
  visit.field({"request_contexts",
               "context of each request of a wave at the main point, instead of `context` for all; "
               "`batch` of them"},
              workload.request_contexts, ListOf<Count>{{0, most_context}});
  visit.field({"request_tokens",
               "tokens of each of those requests, instead of `tokens` for all; the most of them is "
               "`tokens`"},
              workload.request_tokens, ListOf<Count>{{1, most_tokens}});
  visit.field({"lm_head",
               "multiply by the LM head at the end; without it no vocabulary product is "
               "made and each token's input is a seeded vector"},
              workload.lm_head, Flag{});
}

template <class Visitor>
void describe(Visitor& visit, DeviceConfig& device) {
  visit.field({"memory",
               "memory model: ideal is bytes / bandwidth, shared by streams in flight; stream is "
               "DRAM by its rows and refreshes; burst is DRAM command by command, exact and slow"},
              device.memory, Choice{});
  visit.preset_section(
      {"dram",
       "what its memory is made of: a preset, a file or a map of the keys below (Memory files), or "
       "none; gives the peak bandwidth and, unless given, the capacity. Needed with stream and "
       "burst"},
      device.dram, PresetKind::memory);
  visit.field({"dram_parts", "so many of them side by side, over which all is spread evenly"},
              device.dram_parts, Count{1, most_devices});
  visit.field({"kv_banks",
               "where V lies, which a sweep reads beside K: same puts it into other rows of the "
               "same banks, other half of the banks away"},
              device.kv_banks, Choice{});
  visit.field({"kv_chunk", "a sweep reads so much of K, then of V, in turn"}, device.kv_chunk,
              SizeWithin{64, std::int64_t{1} << 30});
  visit.field({"bandwidth", "peak bandwidth of its memory; not beside dram"}, device.bandwidth,
              rate);
  visit.field({"capacity", "size of its memory; what must lie there has to fit"}, device.capacity,
              Size{});
  visit.field({"mac_rate", "multiply-accumulates a second; 1 MAC = 2 FLOP"}, device.mac_rate,
              rate_or_unlimited);
  visit.field({"exp_rate", "exponentials a second"}, device.exp_rate, rate_or_unlimited);
  visit.field({"launch_overhead", "time of each launch before memory and arithmetic start"},
              device.launch_overhead, delay);
  visit.preset_section(
      {"kernels",
       "measured kernels: what launches take, whole, instead of the numbers above, which are "
       "bounds "
       "then: a preset of configs/fitted, a file or a map (qfsim calibrate), or none"},
      device.kernels, PresetKind::fitted);
  visit.field({"last_level_cache",
               "cold: those kernels find nothing of what they read there, as in a decode loop over "
               "many layers; warm: all that fits, as where one kernel runs again and again"},
              device.last_level_cache, Choice{});
}

template <class Visitor>
void describe(Visitor& visit, LinkConfig& link) {
  visit.field({"latency", "one way, after the last byte has left the port"}, link.latency, delay);
  visit.field({"bandwidth", "of one direction"}, link.bandwidth, rate_or_unlimited);
  visit.field({"message_overhead", "the port is busy this long for any message, besides its bytes"},
              link.message_overhead, delay);
  visit.field({"jitter", "added to each arrival, uniform from 0 to this; the order is kept"},
              link.jitter, delay);
  visit.field({"jitter_seed", "seed of the jitter"}, link.jitter_seed, Seed{});
}

template <class Visitor>
void describe(Visitor& visit, PrefetchConfig& prefetch) {
  visit.field({"ahead",
               "sweeps to come of which an idle cache device may copy rows into its staging "
               "buffer; 0: none. Only two_device"},
              prefetch.ahead, Count{0, most_layers});
  visit.field({"staging", "size of that buffer, on each cache device"}, prefetch.staging, Size{});
  visit.field({"watermark",
               "how many rows a staged block is sure to hold. on: those landed when its copy "
               "began; late: when it ended, a race; off: all, which is wrong where it was staged "
               "too early, and shows as failed numbers"},
              prefetch.watermark, Choice{});
}

template <class Visitor>
void describe(Visitor& visit, CacheConfig& cache) {
  visit.field({"devices", "cache devices, alike, over which every cache is split"},
              cache.split.devices, Count{1, most_devices});
  visit.field({"split",
               "heads: each has its share of the KV heads; positions: a contiguous range; any: "
               "random positions, uneven, maybe none"},
              cache.split.by, Choice{});
  visit.field({"merge", "order in which the shards' results are merged"}, cache.split.merge,
              Choice{});
  visit.field({"seed", "seed of split any"}, cache.split.seed, Seed{});
  visit.field({"ports", "shared: one port each way for all cache devices; own: one for each"},
              cache.ports, Choice{});
  visit.section({"prefetch", ""}, cache.policy.prefetch);
  visit.field({"append_delay",
               "from the end of an append's write until its rows count as landed. Only two_device"},
              cache.policy.append_delay, delay);
}

template <class Visitor>
void describe(Visitor& visit, PoolSettings& pool) {
  visit.field({"instances", "stateless compute devices; a call goes to the least loaded"},
              pool.instances, Count{1, most_devices});
  visit.field({"projections",
               "where Wq and Wo are: cache_side; pool; per_wave: in the pool if the wave is too "
               "small to pay for them beside the cache"},
              pool.projections, Choice{});
  visit.field({"batching",
               "launches of all but sweeps, on both sides: ready takes what is there, of any wave "
               "and step; wave waits for the whole wave; request takes each alone"},
              pool.batching, Choice{});
  visit.field({"sweep_batch", "the same of sweeps"}, pool.sweep_batch, Choice{});
  visit.field({"window", "how long a launch of `ready` waits for more requests"}, pool.window,
              delay);
}

template <class Visitor>
void describe(Visitor& visit, TensorParallel& parallel) {
  visit.field({"devices",
               "devices, each with its share of heads, feed-forward, vocabulary and KV; divides "
               "heads, kv_heads, ffn and vocab"},
              parallel.devices, Count{2, most_devices});
}

template <class Visitor>
void describe(Visitor& visit, SoftmaxChoice& softmax) {
  constexpr std::uint64_t most_intervals = std::uint64_t{1} << 24U;
  SoftmaxUnit& unit = softmax.unit;
  visit.field({"unit",
               "exact, or a unit with a cheap exponential, whose weights hang on the extrema of "
               "the whole row: its sweep has two phases, scores and values"},
              unit.kind, Choice{});
  visit.field({"intervals", "K: bins of the grid of min_max, fwm and resolved"}, unit.intervals,
              Count{1, most_intervals});
  visit.field({"reconstruction", "between two points of the grid, likewise"}, unit.reconstruction,
              Choice{});
  constexpr Within window{1e-6, 1e6};  // far within fp32, in which the unit computes
  visit.field({"tau", "window below the maximum, in nats, of fwm and resolved"}, unit.tau, window);
  visit.field({"calibration",
               "whose extrema the grid is laid on. history: of the cached positions, and the "
               "current token is folded in; row: its key takes part, and must be there first"},
              softmax.calibration, Choice{});
}

template <class Visitor>
void describe(Visitor& visit, AttentionMethod& attention) {
  visit.field({"form",
               "of a sweep: minimal reads K and V once; the conventional forms also make a "
               "transposed K, a copy of K and V for each query head, or n x n scores"},
              attention.form, Choice{});
  visit.field({"cache_growth", "in_place: an append moves no old row; copying: it moves all"},
              attention.growth, Choice{});
  visit.section({"softmax", ""}, attention.softmax);
  visit.field({"score_buffer",
               "room on chip for the fp32 scores between the phases of a launch; what does not fit "
               "goes through memory. Not with unit exact"},
              attention.score_buffer, Size{});
}

template <class Visitor>
void describe(Visitor& visit, Fault& inject) {
  visit.field({"fault", "a deliberate fault, to see the numeric check fail"}, inject.kind,
              Choice{});
  visit.field({"layer", "layer at fault, from 0; below the model's layers"}, inject.layer,
              Count{0, most_layers - 1});
  visit.field({"step", "token at fault, from 0; below workload.tokens"}, inject.step,
              Count{0, most_tokens - 1});
  visit.field({"operation", "operation at fault, for drop_edge and wrong_weights"},
              inject.operation, Choice{});
  visit.field({"value", "the input that it does not wait for, for drop_edge"}, inject.value,
              Choice{});
}

template <class Visitor>
void describe(Visitor& visit, Numerics& numerics) {
  visit.field({"mode", "full: every operation computes on real data; off: timing only"},
              numerics.mode, Choice{});
  visit.field({"seed", "seed of weights, initial cache and inputs"}, numerics.seed, Seed{});
  visit.field({"weight_dtype", "number format of the weight matrices; int8 has a scale per output"},
              numerics.formats.weights, Choice{});
  visit.field({"kv_dtype", "number format of the cache; int8 has a scale per row of a head"},
              numerics.formats.kv, Choice{});
  visit.field({"wire_dtype", "number format of q, k, v and o between operations and devices"},
              numerics.formats.wire, Choice{});
  visit.field({"residual_wire_dtype", "number format of the residual stream, likewise"},
              numerics.formats.residual_wire, Choice{});
  visit.field({"check", "every_step: every operation against fp64, and a reference decoder"},
              numerics.check, Choice{});
  visit.section({"inject", ""}, numerics.inject);
}

template <class Visitor>
void describe(Visitor& visit, Stalls& stalls) {
  visit.field({"probability", "that a launch, a write of cache rows or a message stands still"},
              stalls.probability, Probability{});
  visit.field({"longest", "a stall is drawn uniformly from 0 to this"}, stalls.longest, delay);
  visit.field({"seed", "seed of the stalls"}, stalls.seed, Seed{});
}

template <class Visitor>
void describe(Visitor& visit, SlowDevice& slow) {
  visit.field({"device", "its name in the tables, as in cache_device_1", Presence::required},
              slow.device, Name{});
  visit.field(
      {"factor", "divides its bandwidth and rates and lengthens its launches", Presence::required},
      slow.factor, Number{Number::From::at_1});
}

template <class Visitor>
void describe(Visitor& visit, MessageFaults& messages) {
  visit.field({"lost", "probability that a message never arrives; above 0 only with a timeout"},
              messages.lost, Probability{false});
  visit.field({"late", "probability that one that is not lost arrives later, by `delay`"},
              messages.late, Probability{false});
  visit.field({"delay", "by how much"}, messages.delay, delay);
  visit.field({"timeout",
               "a message not acknowledged so long after it left its port is sent again, the next "
               "time after twice the time"},
              messages.timeout, MaybeMeasure{"never", positive_delay});
  visit.field({"seed", "seed of the losses and delays"}, messages.seed, Seed{});
}

template <class Visitor>
void describe(Visitor& visit, InstanceFault& fault) {
  visit.field({"instance", "of the pool, from 0", Presence::required}, fault.instance,
              Count{0, most_devices - 1});
  visit.field({"at", "when it stops", Presence::required}, fault.at, delay);
  visit.field({"for", "how long it stands still; forever: it dies, only with a call_timeout"},
              fault.duration, MaybeMeasure{"forever", positive_delay});
}

template <class Visitor>
void describe(Visitor& visit, Disturbances& faults) {
  visit.section({"stalls", ""}, faults.stalls);
  visit.sections({"slow", "devices slower than configured"}, faults.slow);
  visit.section({"messages", ""}, faults.messages);
  visit.sections({"instances", "instances of a pool that stop"}, faults.instances);
  visit.field({"call_timeout",
               "of a call of the pool, from its last input on: then another instance is asked"},
              faults.call_timeout, MaybeMeasure{"never", positive_delay});
}

/// Why a section does not apply to an arrangement; null where it does.
struct Applicability {
  const char* cache_refused = nullptr;
  const char* pool_refused = nullptr;
  const char* parallel_refused = nullptr;
  const char* link_refused = nullptr;

  explicit Applicability(Arrangement arrangement) {
    const char* one_device = "given, but with arrangement colocated one device holds everything";
    if (arrangement == Arrangement::colocated) {
      cache_refused = one_device;
      link_refused = one_device;
    } else if (arrangement == Arrangement::tensor_parallel) {
      cache_refused = "given, but only two_device and pooled have cache devices";
    }
    if (arrangement != Arrangement::pooled) {
      pool_refused = "given, but only pooled has a pool";
    }
    if (arrangement != Arrangement::tensor_parallel) {
      parallel_refused = "given, but the arrangement is not tensor_parallel";
    }
  }
};

template <class Visitor>
void describe(Visitor& visit, RunConfig& run) {
  constexpr Presence required = Presence::required;
  visit.field({"name", "of the run, and of its folder of results", required}, run.name, Name{});
  visit.preset_section(
      {"model", "shape of the model: a preset, a Hugging Face config.json, or a map", required},
      run.model, PresetKind::model);
  visit.field({"block", "order of the sub-layers and read point of the query", required}, run.block,
              Choice{});
  visit.field({"compare", "further block orders, run and printed beside `block`"}, run.compare,
              ListOf<Choice>{});
  visit.field({"arrangement",
               "who holds what: colocated has one device; two_device keeps the weights on the "
               "compute device and the KV cache on cache devices; pooled gives the cache devices "
               "Wq, Wo and the request too, and calls a pool for the rest; tensor_parallel has "
               "equal devices with a part of everything",
               required},
              run.arrangement, Choice{});
  visit.field(
      {"current_token", "merge: folded in after the sweep; append_first: appended, then swept"},
      run.current_token, Choice{});
  visit.field(
      {"accounting", "bytes charged: full, or weights_and_sweep (static weights and swept KV)"},
      run.accounting, Choice{});
  visit.section({"attention", ""}, run.attention);
  visit.section({"workload", "", required}, run.workload);
  visit.field(
      {"crossovers",
       "find the contexts at which the sweep stops hiding, by simulation; off saves the time "
       "that it takes"},
      run.crossovers, Choice{});
  const Applicability applies(run.arrangement);
  visit.section({"cache", "", Presence::optional, applies.cache_refused}, run.cache);
  visit.section({"pool", "", Presence::optional, applies.pool_refused}, run.pool);
  visit.section({"tensor_parallel", "", Presence::optional, applies.parallel_refused},
                run.tensor_parallel);
  visit.preset_section(
      {"compute_device",
       "the device that holds the weights; colocated, tensor_parallel: everything", required},
      run.compute_device, PresetKind::hardware);
  visit.preset_section(
      {"cache_device", "the device that holds the KV cache; two_device and pooled only", required,
       applies.cache_refused, "needed with arrangements two_device and pooled"},
      run.cache_device, PresetKind::hardware);
  visit.preset_section({"link", "every link between two devices; not with colocated", required,
                        applies.link_refused, "needed where there is more than one device"},
                       run.link, PresetKind::link);
  visit.section({"faults", ""}, run.faults);
  visit.section({"numerics", ""}, run.numerics);
}

}  // namespace qfs::config
