// Every key of a fitted device's configuration, once: name, field, what is legal, meaning. The
// style of schema.hpp.
#pragma once

#include "hardware/device/fitted_device.hpp"
#include "sim/config/forms.hpp"
#include "sim/config/key.hpp"

namespace qfs::config {

inline constexpr std::uint64_t most_units = 100'000;
inline constexpr double longest_cost = 1;  // seconds
inline constexpr std::int64_t largest_cache = std::int64_t{1} << 40U;

template <class Visitor>
void describe(Visitor& visit, SweepTiling& tiling) {
  constexpr Count some{1, 1 << 16};
  constexpr Count any{0, 1 << 16};
  visit.field({"rows", "query heads over one KV head that share an item"}, tiling.rows, some);
  visit.field({"wide_rows", "larger groups: items of so many rows, one a unit; 0: none"},
              tiling.wide_rows, any);
  visit.field({"padded_rows", "an item's rows count as a power of two, from 8 to so many"},
              tiling.padded_rows, some);
  visit.field({"residents", "items that a unit holds at a time"}, tiling.residents, some);
  visit.field({"positions", "of a step"}, tiling.positions, some);
  visit.field({"split", "how items are cut into parts when they are fewer than the slots"},
              tiling.split, Choice{});
  visit.field({"split_residents", "slots of a unit, as that rule counts them"},
              tiling.split_residents, some);
  visit.field({"part_steps", "of a part, at least"}, tiling.part_steps, some);
  visit.field({"most_parts", "of an item"}, tiling.most_parts, some);
  visit.field({"most_planned", "sequences that are planned and split; 0: any number"},
              tiling.most_planned, any);
  visit.field({"splits_groups_only", "no split where each query head has its own KV head"},
              tiling.splits_groups_only, Flag{});
  visit.field({"combines_apart", "combining the parts is a launch of its own"},
              tiling.combines_apart, Flag{});
  visit.field({"regroups", "grouped queries of a batch are copied into groups and back"},
              tiling.regroups, Flag{});
}

template <class Visitor>
void describe_times(Visitor& visit, KernelCost& cost) {
  constexpr Measure time{Measure::Zero::legal, Measure::Infinite::refused, longest_cost};
  visit.field({"launch", "of any launch, to its first item and from its last"}, cost.launch, time);
  visit.field({"narrow_launch", "more with elements of one byte"}, cost.narrow_launch, time);
  visit.field({"further_launch", "of each kernel beside: to combine, to regroup"},
              cost.further_launch, time);
  visit.field({"part", "combining, for each part of an item beyond the first"}, cost.part, time);
  visit.field({"item", "an item of work, on a full unit"}, cost.item, time);
  visit.field({"narrow_item", "more with elements of one byte"}, cost.narrow_item, time);
  visit.field({"rows", "more for every eight rows of an item beyond the first eight"}, cost.rows,
              time);
  visit.field({"step", "`positions` of a sweep beyond the first; 64 of a product's k"}, cost.step,
              time);
  visit.field({"sequence", "planning, for each sequence of a batch"}, cost.sequence, time);
  visit.field({"result", "combining, for each query head of each sequence"}, cost.result, time);
}

template <class Visitor>
void describe(Visitor& visit, KernelCost& cost) {
  constexpr Measure rate{Measure::Zero::refused, Measure::Infinite::legal};
  visit.field({"units", "streaming multiprocessors", Presence::required}, cost.units,
              Count{1, most_units});
  visit.section({"tiling", "of a sweep over a cache with elements of two bytes"}, cost.tiling);
  visit.section({"narrow_tiling", "of one byte"}, cost.narrow_tiling);
  describe_times(visit, cost);
  visit.field({"unit_bandwidth", "what one unit loads in a step of a product"}, cost.unit_bandwidth,
              rate);
  visit.field({"unit_mac_rate", "of one unit, on tiles that it pads"}, cost.unit_mac_rate, rate);
  visit.field({"mac_rate", "of all units, on what is asked for"}, cost.mac_rate, rate);
  visit.field({"bandwidth", "of memory, reached with many bytes in flight"}, cost.bandwidth, rate);
  visit.field({"cache_bandwidth", "the same of the last-level cache"}, cost.cache_bandwidth, rate);
  visit.field({"cache", "working set that is still served from it; 0 B: none"}, cost.cache,
              SizeWithin{0, largest_cache});
  visit.field({"tall_traffic", "share more time for the bytes of a product of more than 16 rows"},
              cost.tall_traffic, Within{0, 1});
  visit.field({"serial", "share in which work, bytes and arithmetic take turns"}, cost.serial,
              Within{0, 1});
}

template <class Visitor>
void describe(Visitor& visit, MeasuringClock& clock) {
  constexpr Measure time{Measure::Zero::legal, Measure::Infinite::refused, longest_cost};
  visit.field({"tick", "of the clock that measured; 0 s: a fine one"}, clock.tick, time);
  visit.field({"phase", "of the times that it shows unchanged"}, clock.phase, time);
}

template <class Visitor>
void describe(Visitor& visit, FittedDevice& fitted) {
  visit.field({"device", "whose measured kernels these are", Presence::required}, fitted.device,
              Name{});
  visit.section({"sweep", "attention over a cache, one layer; none: ideal"}, fitted.cost.sweep);
  visit.section({"product", "weights with elements of two bytes; none: ideal"},
                fitted.cost.product);
  visit.section({"narrow_product", "of one byte; none: as product"}, fitted.cost.narrow_product);
  visit.section({"sweep_clock", "how its measurement shows times"}, fitted.sweep_clock);
}

}  // namespace qfs::config
