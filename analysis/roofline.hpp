// A lower bound of one step: no resource can finish its share of the step's work faster than at its
// peak rate.
#pragma once

#include <array>
#include <cstddef>

#include "analysis/parameters.hpp"
#include "base/enum_names.hpp"

namespace qfs {

enum class AnalyticResource {
  compute_memory,
  compute_arithmetic,
  compute_launch,
  cache_memory,
  cache_arithmetic,
  cache_launch,
  link_to_cache,
  link_to_compute,
};

inline constexpr std::size_t analytic_resources = 8;

template <>
inline constexpr EnumNames<AnalyticResource, analytic_resources> enum_names<AnalyticResource>{{
    {AnalyticResource::compute_memory, "compute_device memory"},
    {AnalyticResource::compute_arithmetic, "compute_device arithmetic"},
    {AnalyticResource::compute_launch, "compute_device launches"},
    {AnalyticResource::cache_memory, "cache_device memory"},
    {AnalyticResource::cache_arithmetic, "cache_device arithmetic"},
    {AnalyticResource::cache_launch, "cache_device launches"},
    {AnalyticResource::link_to_cache, "link.to_cache_device"},
    {AnalyticResource::link_to_compute, "link.to_compute_device"},
}};

struct Roofline {
  Seconds time;                                    // the longest of busy
  AnalyticResource bound{};                        // whose; the first named above if several
  std::array<Seconds, analytic_resources> busy{};  // by AnalyticResource

  [[nodiscard]] Seconds busy_of(AnalyticResource resource) const {
    return busy[static_cast<std::size_t>(resource)];
  }
};

/// Bounds of step `token` (from 0). Counted is what the step cannot end without. With current_token
/// merge that leaves out the appends and the last layer's k, v message, which may still be under
/// way when the step ends.
Roofline two_device_roofline(const AnalyticParameters& parameters, std::size_t token);
Roofline colocated_roofline(const AnalyticParameters& parameters, std::size_t token);

}  // namespace qfs
