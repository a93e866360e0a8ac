// What is known of a device and of the kernels that were measured on it before any fit: vendors'
// figures and the kernels' published sources. And which numbers are left to be fitted, with the
// range in which they make physical sense.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/fit/robust_fit.hpp"
#include "hardware/device/cost_model.hpp"

namespace qfs {

struct DeviceFacts {
  std::string name;
  std::size_t units = 1;  // streaming multiprocessors
  BytesPerSecond peak_bandwidth{0};
  MacsPerSecond peak_mac_rate{0};  // dense, two bytes an element
  Bytes cache{0};                  // last level
  SweepTiling tiling;
  SweepTiling narrow_tiling;
  std::string kernel;                     // whose facts the tilings are
  std::vector<std::string> free_numbers;  // of a sweep, at most 12
};

/// Names of all devices that have facts.
std::vector<std::string> devices_with_facts();
/// ConfigError with the legal names and the nearest spelling if there is none.
const DeviceFacts& facts_of(const std::string& device);

/// Numbers of a product that are fitted, at most 12.
std::span<const std::string_view> free_product_numbers();

/// A number that can be fitted: its place in the cost, its range on a device.
struct Fitted {
  std::string_view name;
  std::string_view meaning;
  double (*get)(const KernelCost& cost);
  void (*set)(KernelCost& cost, double value);  // in s, B/s, MAC/s, B or a plain number
};
/// One that exists; the measuring clock's are none of a kernel's and not here.
const Fitted& fitted_number(std::string_view name);

/// Where the fit of a number starts, and its bounds; of a sweep or of a product.
FreeParameter sweep_range(const DeviceFacts& facts, std::string_view name);
FreeParameter product_range(const DeviceFacts& facts, std::string_view name, bool narrow);

/// A cost with a device's facts and nothing fitted.
KernelCost sweep_facts(const DeviceFacts& facts);
KernelCost product_facts(const DeviceFacts& facts);

}  // namespace qfs
