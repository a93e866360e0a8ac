#include "hardware/memory/dram/address_map.hpp"

#include <bit>
#include <cstddef>
#include <stdexcept>

namespace qfs::dram {
namespace {

std::size_t count_of(const Organisation& parts, Field field) {
  switch (field) {
    case Field::channel:
      return parts.channels;
    case Field::pseudochannel:
      return parts.pseudochannels;
    case Field::rank:
      return parts.ranks;
    case Field::stack:
      return parts.stacks;
    case Field::bankgroup:
      return parts.bankgroups;
    case Field::bank:
      return parts.banks;
    case Field::column:
      return parts.bursts_of_row();
    case Field::row:
      break;
  }
  return parts.rows;
}

unsigned bits_of(const Organisation& parts, Field field) {
  const std::size_t count = count_of(parts, field);
  if (!std::has_single_bit(count)) {
    throw std::logic_error("a count of a DRAM's organisation is no power of two");
  }
  return static_cast<unsigned>(std::bit_width(count) - 1);
}

}  // namespace

AddressMap::AddressMap(const DramConfig& config) {
  const Organisation& parts = config.organisation;
  std::array<Slice, field_count> slices{};
  std::array<bool, field_count> named{};
  unsigned shift = 0;
  for (const Field field : config.controller.mapping) {
    const unsigned bits = bits_of(parts, field);
    const auto index = static_cast<std::size_t>(field);
    slices.at(index) = {shift, (std::uint64_t{1} << bits) - 1, 0};
    named.at(index) = true;
    shift += bits;
  }
  for (const bool one : named) {
    if (!one || config.controller.mapping.size() != field_count) {
      throw std::logic_error("an address mapping names each field once");
    }
  }
  // The lowest field of a bank's number last.
  constexpr std::array<Field, 5> highest_first{Field::pseudochannel, Field::rank, Field::stack,
                                               Field::bankgroup, Field::bank};
  unsigned to = 0;
  for (std::size_t i = highest_first.size(); i-- > 0;) {
    const Field field = highest_first.at(i);
    bank_slices_.at(i) = slices.at(static_cast<std::size_t>(field));
    bank_slices_.at(i).to = to;
    to += bits_of(parts, field);
  }
  row_ = slices.at(static_cast<std::size_t>(Field::row));
  const bool row_is_highest = config.controller.mapping.back() == Field::row;
  stripe_ = std::uint64_t{1} << (row_is_highest ? row_.shift : shift);
  const Slice& channel = slices.at(static_cast<std::size_t>(Field::channel));
  channel_shift_ = channel.shift;
  channel_mask_ = channel.mask;
  channel_bits_ = bits_of(parts, Field::channel);
  const Slice& column = slices.at(static_cast<std::size_t>(Field::column));
  const unsigned top = column.shift + bits_of(parts, Field::column);
  bursts_of_row_ = column.mask + 1;
  ranks_of_rows_ = std::uint64_t{1} << (channel_shift_ < top ? top - channel_bits_ : top);
}

}  // namespace qfs::dram
