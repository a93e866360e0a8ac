// Which bytes an operation is charged for.
#pragma once

#include "base/enum_names.hpp"

namespace qfs {

enum class Accounting {
  full,               // weights, swept KV, appended KV and activations
  weights_and_sweep,  // only static weights and swept KV, as 001 counts
};

template <>
inline constexpr EnumNames<Accounting, 2> enum_names<Accounting>{{
    {Accounting::full, "full"},
    {Accounting::weights_and_sweep, "weights_and_sweep"},
}};

}  // namespace qfs
