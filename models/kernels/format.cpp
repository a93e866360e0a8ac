#include "kernels/format.hpp"

#include <cassert>
#include <cstring>

namespace qfs {

void encode(Format format, std::span<const float> values, std::vector<std::byte>& bytes) {
  const std::size_t width = bytes_per_value(format);
  std::size_t at = bytes.size();
  bytes.resize(at + values.size() * width);
  for (const float value : values) {
    if (format == Format::fp32) {
      std::memcpy(bytes.data() + at, &value, sizeof value);
    } else {
      const Bf16 narrow = to_bf16(value);
      std::memcpy(bytes.data() + at, &narrow, sizeof narrow);
    }
    at += width;
  }
}

void decode(Format format, std::span<const std::byte> bytes, std::span<float> values) {
  const std::size_t width = bytes_per_value(format);
  assert(bytes.size() >= values.size() * width);
  std::size_t at = 0;
  for (float& value : values) {
    if (format == Format::fp32) {
      std::memcpy(&value, bytes.data() + at, sizeof value);
    } else {
      Bf16 narrow;
      std::memcpy(&narrow, bytes.data() + at, sizeof narrow);
      value = to_float(narrow);
    }
    at += width;
  }
}

}  // namespace qfs
