// Bits are refused, since a slip between Gb/s and GB/s is a factor of 8 that no run would show.
#pragma once

#include <optional>
#include <string_view>

#include "sim/config/complaint.hpp"
#include "sim/config/quantity.hpp"

namespace qfs::config {

/// The complaint about a rate or a size in bits (`400 Gb/s`, `100 Gbps`, `8 Gbit`), which says how
/// many bytes they are; none if the unit is not one of bits. `amount` and `unit` are the parts of
/// `whole`.
std::optional<ValueError> complaint_of_bits(std::string_view whole, std::string_view amount,
                                            std::string_view unit, Dimension dimension);

}  // namespace qfs::config
