// The arrangements of DESIGN.md 5 as the closed forms know them.
#pragma once

#include "base/enum_names.hpp"

namespace qfs {

enum class AnalyticArrangement {
  colocated,        // everything on parameters.compute
  two_device,       // static weights on parameters.compute, KV on parameters.split.devices caches
  pooled,           // the pool, parameters.compute: ffn, Wk, Wv, LM head; caches: the rest
  tensor_parallel,  // parameters.ranks devices parameters.compute, an equal slice of all on each
};

template <>
inline constexpr EnumNames<AnalyticArrangement, 4> enum_names<AnalyticArrangement>{{
    {AnalyticArrangement::colocated, "colocated"},
    {AnalyticArrangement::two_device, "two_device"},
    {AnalyticArrangement::pooled, "pooled"},
    {AnalyticArrangement::tensor_parallel, "tensor_parallel"},
}};

}  // namespace qfs
