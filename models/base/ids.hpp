// Typed indexes: a layer cannot be passed where a request belongs.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace qfs {

template <class Tag>
class Index {
 public:
  constexpr Index() = default;
  constexpr explicit Index(std::size_t value) : value_(static_cast<std::uint32_t>(value)) {}
  [[nodiscard]] constexpr std::size_t value() const { return value_; }
  constexpr auto operator<=>(const Index&) const = default;
  constexpr Index& operator++() {
    ++value_;
    return *this;
  }

 private:
  std::uint32_t value_ = 0;
};

using LayerId = Index<struct LayerTag>;
using StepId = Index<struct StepTag>;        // token of a request, from 0
using RequestId = Index<struct RequestTag>;  // request of the run, from 0
using OpId = Index<struct OpTag>;            // operation in a graph, in program order of its making
using RowId = Index<struct RowTag>;          // row of the table of executed operations
using DeviceId = Index<struct DeviceTag>;

}  // namespace qfs

template <class Tag>
struct std::hash<qfs::Index<Tag>> {
  std::size_t operator()(qfs::Index<Tag> index) const noexcept { return index.value(); }
};
