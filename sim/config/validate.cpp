#include "sim/config/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "decode/graph.hpp"
#include "sim/config/checker.hpp"
#include "sim/config/quantity.hpp"
#include "sim/config/system_config.hpp"
#include "system/placement.hpp"

namespace qfs::config {
namespace {

void check_shape(const Checker& check) {
  const ModelShape& model = check.run.model;
  if (model.heads % model.kv_heads != 0) {
    check.fail("model.heads", format_count(model.heads),
               fmt::format("a multiple of model.kv_heads ({})", format_count(model.kv_heads)));
  }
  if (model.head_dim % 2 != 0) {
    check.fail("model.head_dim", format_count(model.head_dim),
               "an even number, since the rotary embedding turns pairs");
  }
  if (const std::string fault = shape_fault(model); !fault.empty()) {
    complain(check.locate("model"), "model", fault);
  }
}

void check_compare(const Checker& check) {
  const std::vector<BlockOrder>& orders = check.run.compare;
  for (auto order = orders.begin(); order != orders.end(); ++order) {
    const std::string given = in_quotes(name_of(*order));
    if (*order == check.run.block) {
      check.fail("compare", given + " is the block itself", "other block orders");
    }
    if (std::find(orders.begin(), order, *order) != order) {
      check.fail("compare", given + " is given twice", "each block order once");
    }
  }
}

/// Under 001's accounting nothing but weights and swept KV is charged: what these two move besides
/// would be free.
void check_attention(const Checker& check) {
  const RunConfig& run = check.run;
  if (run.accounting == Accounting::full) {
    return;
  }
  if (run.attention.form == AttentionForm::score_matrix) {
    check.fail("attention.form",
               "score_matrix, whose matrices accounting weights_and_sweep leaves out",
               "with accounting full");
  }
  if (run.attention.growth == CacheGrowth::copying) {
    check.fail("attention.cache_growth",
               "copying, whose copies accounting weights_and_sweep leaves out",
               "with accounting full");
  }
}

void check_score_buffer(const Checker& check) {
  const RunConfig& run = check.run;
  if (!run.attention.score_buffer) {
    return;
  }
  const std::string given = format_size(*run.attention.score_buffer);
  const std::string path = "attention.score_buffer";
  if (!run.attention.softmax.is_calibrated()) {
    complain(check.cause(path, {path, "attention.softmax.unit"}), path,
             given + ", but unit exact keeps no scores",
             "unlimited with attention.softmax.unit exact");
  }
  if (run.accounting == Accounting::weights_and_sweep) {
    complain(check.cause(path, {path, "accounting"}), path,
             given + ", but accounting weights_and_sweep leaves out what it spills",
             "unlimited, or accounting full");
  }
}

/// Blocks are staged of the cache, not of what a conventional form makes of it.
void check_prefetched_form(const Checker& check) {
  const RunConfig& run = check.run;
  if (run.cache.policy.prefetch.ahead > 0 && run.attention.form != AttentionForm::minimal) {
    complain(check.cause("cache.prefetch.ahead", {"cache.prefetch.ahead", "attention.form"}),
             "cache.prefetch.ahead",
             fmt::format("{}, with attention.form {}", run.cache.policy.prefetch.ahead,
                         name_of(run.attention.form)),
             "0 with any form but minimal");
  }
}

/// What a calibrated unit cannot go with, and what only it has.
void check_softmax(const Checker& check) {
  const RunConfig& run = check.run;
  const SoftmaxChoice& softmax = run.attention.softmax;
  const std::string calibration = "attention.softmax.calibration";
  const std::string unit = "attention.softmax.unit";
  if (softmax.calibration == Calibration::row && !softmax.is_calibrated()) {
    complain(check.cause(calibration, {calibration, unit}), calibration,
             "row, but unit exact has no grid", "history with attention.softmax.unit exact");
  }
  if (softmax.calibration == Calibration::row && run.current_token == CurrentToken::append_first) {
    complain(check.cause(calibration, {calibration, "current_token"}), calibration,
             "row, but with current_token append_first the current token is a cached one",
             "history with append_first");
  }
  if (!softmax.is_calibrated()) {
    return;
  }
  const std::string given(name_of(softmax.unit.kind));
  if (run.attention.form != AttentionForm::minimal) {
    complain(check.cause("attention.form", {"attention.form", unit}), "attention.form",
             fmt::format("{}, with unit {}", name_of(run.attention.form), given),
             "minimal with any unit but exact");
  }
  if (run.cache.policy.prefetch.ahead > 0) {
    complain(check.cause("cache.prefetch.ahead", {"cache.prefetch.ahead", unit}),
             "cache.prefetch.ahead",
             fmt::format("{}, with unit {}", run.cache.policy.prefetch.ahead, given),
             "0 with any unit but exact");
  }
}

/// Kernels were measured of exact attention over caches and of products with weights of two bytes
/// or of one.
void check_kernels(const Checker& check, const std::string& path, const DeviceConfig& device) {
  if (!device.kernels) {
    return;
  }
  const RunConfig& run = check.run;
  const std::string kernels = path + ".kernels";
  const auto refuse = [&](const std::string& key, std::string_view given,
                          const std::string& legal) {
    complain(check.cause(key, {key, kernels}), key,
             fmt::format("{}, which no kernel of {} was measured with", given, kernels), legal);
  };
  const Formats& formats = run.numerics.formats;
  for (const auto& [key, format] : {std::pair("numerics.weight_dtype", formats.weights),
                                    std::pair("numerics.kv_dtype", formats.kv)}) {
    if (format == Format::fp32 || format == Format::int8) {
      refuse(key, name_of(format), "a format of 16 bits or an fp8 one with measured kernels");
    }
  }
  if (run.attention.form != AttentionForm::minimal) {
    refuse("attention.form", name_of(run.attention.form), "minimal with measured kernels");
  }
  if (run.attention.softmax.is_calibrated()) {
    refuse("attention.softmax.unit", name_of(run.attention.softmax.unit.kind),
           "exact with measured kernels");
  }
  if (run.cache.policy.prefetch.ahead > 0) {
    refuse("cache.prefetch.ahead", fmt::format("{}", run.cache.policy.prefetch.ahead),
           "0 with measured kernels");
  }
}

std::vector<std::string> names_of(std::span<const OpKind> kinds) {
  std::vector<std::string> names;
  for (const OpKind kind : kinds) {
    names.emplace_back(name_of(kind));
  }
  return names;
}

void check_wrong_weights(const Checker& check, const Fault& inject) {
  constexpr std::array weighted{OpKind::q,   OpKind::k, OpKind::v,  OpKind::kv,
                                OpKind::qkv, OpKind::o, OpKind::ffn};
  if (std::find(weighted.begin(), weighted.end(), inject.operation) == weighted.end()) {
    check.fail("numerics.inject.operation",
               fmt::format("{}, which reads no weights of a layer", name_of(inject.operation)),
               fmt::format("{} for wrong_weights", joined(names_of(weighted))));
  }
  if (check.run.model.layers == 1) {
    check.fail("numerics.inject.fault", "wrong_weights, but there is no other layer",
               "with model.layers above 1");
  }
}

/// The request whose cache is the longest: what cannot strike it can strike none.
RunConfig one_request(const RunConfig& run, const Fault& inject) {
  RunConfig one = run;
  const std::vector<std::size_t> contexts = request_contexts(run, run.workload.context);
  one.workload.context = *std::max_element(contexts.begin(), contexts.end());
  one.workload.batch = 1;
  one.workload.in_flight = 1;
  one.workload.request_contexts.clear();
  one.workload.request_tokens.clear();
  one.workload.tokens = inject.step.value() + 1;
  const bool pooled_q =
      system_config(run, run.block, run.workload.context).pool.projections == Projections::pool;
  one.pool.projections = pooled_q ? ProjectionsChoice::pool : ProjectionsChoice::cache_side;
  return one;
}

/// A fault that cannot happen would pass for a check that misses faults. Later steps are not
/// struck, so that a short graph of one request tells.
void check_strikes(const Checker& check, const Fault& inject) {
  const RunConfig& run = check.run;
  const RunConfig one = one_request(run, inject);
  std::vector<BlockOrder> orders{run.block};
  orders.insert(orders.end(), run.compare.begin(), run.compare.end());
  for (const BlockOrder order : orders) {
    const SystemConfig system = system_config(one, order, one.workload.context);
    try {
      require_strikes(make_graph(run.model, system.graph), layout_of(system), inject);
    } catch (const ConfigError& error) {
      const Where where =
          check.cause("numerics.inject.fault",
                      {"numerics.inject.operation", "numerics.inject.value",
                       "numerics.inject.layer", "numerics.inject.step", "numerics.inject.fault"});
      complain(where, "", fmt::format("{}, block {}", error.what(), name_of(order)),
               "a fault that can happen in `block` and in each of `compare`");
    }
  }
}

void check_inject(const Checker& check) {
  const Fault& inject = check.run.numerics.inject;
  if (inject.kind == FaultKind::none) {
    return;
  }
  const Numerics& numerics = check.run.numerics;
  if (numerics.mode != NumericsMode::full || numerics.check == NumericsCheck::off) {
    check.fail("numerics.inject", "a fault that nothing would see",
               "with numerics.mode full and numerics.check every_step");
  }
  if (inject.layer.value() >= check.run.model.layers) {
    check.fail("numerics.inject.layer", fmt::format("{}", inject.layer.value()),
               fmt::format("below the model's {} layers", check.run.model.layers));
  }
  if (inject.step.value() >= check.run.workload.tokens) {
    check.fail("numerics.inject.step", fmt::format("{}", inject.step.value()),
               fmt::format("below workload.tokens, {}", check.run.workload.tokens));
  }
  if (inject.kind == FaultKind::wrong_weights) {
    check_wrong_weights(check, inject);
  }
  check_strikes(check, inject);
}

}  // namespace

void validate(const RunConfig& run, const Locate& locate) {
  const Checker check{run, locate};
  check_shape(check);
  check_compare(check);
  check_attention(check);
  check_score_buffer(check);
  check_softmax(check);
  check_prefetched_form(check);
  check_kernels(check, "compute_device", run.compute_device);
  if (run.arrangement == Arrangement::two_device || run.arrangement == Arrangement::pooled) {
    check_kernels(check, "cache_device", run.cache_device);
  }
  check_arrangement(check);
  check_totals(check);
  check_inject(check);
}

}  // namespace qfs::config
