#include "sim/config/validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/format.hpp"
#include "sim/config/quantity.hpp"

namespace qfs::config {
namespace {

// Totals are taken in floating point, where they cannot overflow.
constexpr double most_total =
    4e18;  // bytes, MACs or exponentials: below 2^62, so that sums of two fit 63 bits
constexpr double longest_run = 4500;  // seconds: half of what 63 bits of femtoseconds hold

double real(std::size_t value) { return static_cast<double>(value); }

struct Checker {
  const RunConfig& run;
  const Locate& locate;

  [[noreturn]] void fail(std::string_view path, const std::string& given,
                         const std::string& legal) const {
    complain(locate(path), path, given, legal);
  }
};

void check_shape(const Checker& check) {
  const std::string fault = shape_fault(check.run.model);
  if (!fault.empty()) {  // it begins with the name of the field
    const std::string path = "model." + fault.substr(0, fault.find(' '));
    complain(check.locate(path), "model", fault);
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

/// A fault that cannot happen would pass for a check that misses faults.
void check_strikes(const Checker& check, const Fault& inject) {
  const RunConfig& run = check.run;
  constexpr const char* path = "numerics.inject.fault";
  if (inject.kind == FaultKind::alter_in_flight && run.arrangement == Arrangement::colocated) {
    check.fail(path, "alter_in_flight, but one device sends no messages",
               "with arrangement two_device");
  }
  if (inject.kind == FaultKind::wrong_weights && run.model.layers == 1) {
    check.fail(path, "wrong_weights, but there is no other layer", "with model.layers above 1");
  }
  const bool merges = run.current_token == CurrentToken::merge;
  if (inject.kind == FaultKind::skip_position && merges &&
      run.workload.context + inject.step.value() == 0) {
    check.fail(path, "skip_position, but the sweep has no position", "with a cached position");
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
  check_strikes(check, inject);
}

// ---- what a run adds up to, for one of its contexts
// --------------------------------------------------------

std::vector<std::size_t> all_contexts(const Workload& workload) {
  std::vector<std::size_t> contexts{workload.context};
  contexts.insert(contexts.end(), workload.contexts.begin(), workload.contexts.end());
  return contexts;
}

double weight_bytes(const ModelShape& shape) {
  const double projections = 2 * (real(shape.q_width()) + real(shape.kv_width()));
  const double layer = real(shape.hidden) * (projections + 3 * real(shape.ffn));
  const double tables = (shape.tied_embedding ? 1 : 2) * real(shape.vocab) * real(shape.hidden);
  return real(weight_bytes_per_value) * (real(shape.layers) * layer + tables);
}

/// Positions in all caches of one layer at the end of the run.
double positions(const RunConfig& run, std::size_t context) {
  return (real(context) + real(run.workload.tokens)) * real(run.workload.batch);
}

double cache_bytes(const RunConfig& run, std::size_t context) {
  const double position =
      2 * real(run.model.kv_width()) * real(bytes_per_value(run.numerics.formats.kv));
  return position * real(run.model.layers) * positions(run, context);
}

double token_macs(const RunConfig& run, std::size_t context) {
  const double products = weight_bytes(run.model) / real(weight_bytes_per_value);
  const double attention =
      2 * real(run.model.q_width()) * real(run.model.layers) * positions(run, context);
  return products * real(run.workload.batch) + attention;
}

double token_exps(const RunConfig& run, std::size_t context) {
  const double activations = real(run.model.ffn) * real(run.workload.batch);
  return real(run.model.layers) * (real(run.model.heads) * positions(run, context) + activations);
}

/// Nothing at all at an unlimited rate.
double time_of(double amount, double rate) { return amount / rate; }

double token_time(const RunConfig& run, std::size_t context) {
  constexpr double launches = 8;  // of a layer and request, at most
  constexpr double messages = 4;  // likewise
  const bool alone = run.arrangement == Arrangement::colocated;
  const DeviceConfig& compute = run.compute_device;
  const DeviceConfig& cache = alone ? compute : run.cache_device;
  const double each = real(run.model.layers) * real(run.workload.batch);
  double time = time_of(weight_bytes(run.model), compute.bandwidth.value()) +
                time_of(cache_bytes(run, context), cache.bandwidth.value());
  for (const DeviceConfig* device : {&compute, &cache}) {
    time += time_of(token_macs(run, context), device->mac_rate.value()) +
            time_of(token_exps(run, context), device->exp_rate.value()) +
            each * launches * device->launch_overhead.value();
  }
  if (!alone) {
    const LinkConfig& link = run.link;
    const double message =
        link.latency.value() + link.message_overhead.value() + link.jitter.value();
    const double bytes = 4 * (2 * real(run.model.q_width()) + 2 * real(run.model.kv_width()));
    time += each * (messages * message + time_of(bytes, link.bandwidth.value()));
  }
  return time;
}

void check_totals(const Checker& check, std::size_t context) {
  const RunConfig& run = check.run;
  const double tokens = real(run.workload.tokens);
  const double largest = std::max({weight_bytes(run.model), cache_bytes(run, context),
                                   token_macs(run, context), token_exps(run, context)});
  if (largest * tokens > most_total) {
    check.fail("workload",
               fmt::format("{:.3g} bytes or operations in all at context {}", largest * tokens,
                           format_count(context)),
               fmt::format("up to {:.0e}: a smaller model, batch, context or tokens", most_total));
  }
  const double time = tokens * token_time(run, context);
  if (time > longest_run) {
    check.fail(
        "workload",
        fmt::format("could take {:.3g} s of simulated time at context {}", time,
                    format_count(context)),
        fmt::format("up to {:.0f} s, since the clock counts femtoseconds in 64 bits", longest_run));
  }
}

std::string gib(double bytes) { return fmt::format("{:.6g} GiB", std::ldexp(bytes, -30)); }

void check_fits(const Checker& check, const char* device_path, const DeviceConfig& device,
                double need, const std::string& what) {
  if (device.capacity && need > static_cast<double>(device.capacity->value())) {
    check.fail(fmt::format("{}.capacity", device_path),
               gib(static_cast<double>(device.capacity->value())),
               fmt::format("at least {} for {}", gib(need), what));
  }
}

void check_capacity(const Checker& check, std::size_t context) {
  const RunConfig& run = check.run;
  const double weights = weight_bytes(run.model);
  const double cache = cache_bytes(run, context);
  const std::string cache_text =
      fmt::format("the KV cache at context {}, batch {}, tokens {}", format_count(context),
                  run.workload.batch, run.workload.tokens);
  if (run.arrangement == Arrangement::colocated) {
    check_fits(check, "compute_device", run.compute_device, weights + cache,
               fmt::format("the weights ({}) and {} ({})", gib(weights), cache_text, gib(cache)));
    return;
  }
  check_fits(check, "compute_device", run.compute_device, weights, "the weights");
  check_fits(check, "cache_device", run.cache_device, cache, cache_text);
}

}  // namespace

void validate(const RunConfig& run, const Locate& locate) {
  const Checker check{run, locate};
  check_shape(check);
  check_compare(check);
  check_inject(check);
  for (const std::size_t context : all_contexts(run.workload)) {
    check_totals(check, context);
    check_capacity(check, context);
  }
}

}  // namespace qfs::config
