// What a device may decide for itself: which operations share a launch, and what a cache device
// stages while it is idle.
#pragma once

#include <cstddef>
#include <optional>

#include "base/enum_names.hpp"
#include "base/units.hpp"

namespace qfs {

/// Which operations of one kind, layer and shard share a launch.
enum class Gather {
  wave,     // all requests of a wave, of one step: the launch waits for the last of them
  ready,    // whatever is there, of any wave and step
  request,  // each alone
};

template <>
inline constexpr EnumNames<Gather, 3> enum_names<Gather>{{
    {Gather::wave, "wave"},
    {Gather::ready, "ready"},
    {Gather::request, "request"},
}};

/// The batching policy of a device.
struct Batching {
  Gather products = Gather::wave;  // all operations but sweeps
  Gather sweeps = Gather::wave;
  /// `ready`: a launch waits so long for more after its first operation is there, or until every
  /// request that is still decoding has joined.
  Seconds window{0};
};

enum class Watermark {
  on,    // read before the copy begins: what the block is sure to hold
  late,  // read after the copy: a race, since a row can land between
  off,   // the block counts as complete: silently wrong when it was staged too early
};

template <>
inline constexpr EnumNames<Watermark, 3> enum_names<Watermark>{{
    {Watermark::on, "on"},
    {Watermark::late, "late"},
    {Watermark::off, "off"},
}};

struct PrefetchConfig {
  std::size_t ahead = 0;         // sweeps to come of which blocks may be staged; 0: none
  std::optional<Bytes> staging;  // room for staged rows; none: unlimited
  Watermark watermark = Watermark::on;
};

/// What a device may decide for itself.
struct DevicePolicy {
  Batching batching;
  PrefetchConfig prefetch;
  Seconds append_delay{0};  // from the end of an append's write until its rows count as landed
};

}  // namespace qfs
