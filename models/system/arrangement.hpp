// Who holds what.
#pragma once

#include "base/enum_names.hpp"

namespace qfs {

enum class Arrangement {
  colocated,   // one device holds everything; everything in turn on one memory
  two_device,  // compute device: all static weights; cache device: the KV cache and its sweeps
};

template <>
inline constexpr EnumNames<Arrangement, 2> enum_names<Arrangement>{{
    {Arrangement::colocated, "colocated"},
    {Arrangement::two_device, "two_device"},
}};

}  // namespace qfs
