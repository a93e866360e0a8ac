// What can bound a step or a round of steps.
#pragma once

#include <cstddef>

#include "base/enum_names.hpp"

namespace qfs {

/// Of several devices of one role, and of several ports, the busiest.
enum class AnalyticResource {
  compute_memory,
  compute_arithmetic,
  compute_launch,
  cache_memory,
  cache_arithmetic,
  cache_launch,
  pool_memory,
  pool_arithmetic,
  pool_launch,
  rank_memory,
  rank_arithmetic,
  rank_launch,
  link_to_cache,
  link_to_compute,
  link_to_pool,
  link_to_cache_devices,
  link_to_owner,
  link_between_ranks,
  compute_executor,  // one operation at a time; counted for a round only
  cache_executor,
  pool_executor,
  rank_executor,
};

inline constexpr std::size_t analytic_resources = 22;

template <>
inline constexpr EnumNames<AnalyticResource, analytic_resources> enum_names<AnalyticResource>{{
    {AnalyticResource::compute_memory, "compute_device memory"},
    {AnalyticResource::compute_arithmetic, "compute_device arithmetic"},
    {AnalyticResource::compute_launch, "compute_device launches"},
    {AnalyticResource::cache_memory, "cache_device memory"},
    {AnalyticResource::cache_arithmetic, "cache_device arithmetic"},
    {AnalyticResource::cache_launch, "cache_device launches"},
    {AnalyticResource::pool_memory, "pool memory"},
    {AnalyticResource::pool_arithmetic, "pool arithmetic"},
    {AnalyticResource::pool_launch, "pool launches"},
    {AnalyticResource::rank_memory, "rank memory"},
    {AnalyticResource::rank_arithmetic, "rank arithmetic"},
    {AnalyticResource::rank_launch, "rank launches"},
    {AnalyticResource::link_to_cache, "link.to_cache_device"},
    {AnalyticResource::link_to_compute, "link.to_compute_device"},
    {AnalyticResource::link_to_pool, "link.to_pool"},
    {AnalyticResource::link_to_cache_devices, "link.to_cache_devices"},
    {AnalyticResource::link_to_owner, "link.to_owner"},
    {AnalyticResource::link_between_ranks, "link between ranks"},
    {AnalyticResource::compute_executor, "compute_device"},
    {AnalyticResource::cache_executor, "cache_device"},
    {AnalyticResource::pool_executor, "pool"},
    {AnalyticResource::rank_executor, "rank"},
}};

}  // namespace qfs
