// A format known at run time, made a constant.
#pragma once

#include <type_traits>

#include "kernels/format.hpp"

namespace qfs {

/// Calls `call` with std::integral_constant<Format, format>.
template <class Call>
void with_format(Format format, Call call) {
  switch (format) {
    case Format::fp32:
      return call(std::integral_constant<Format, Format::fp32>());
    case Format::fp16:
      return call(std::integral_constant<Format, Format::fp16>());
    case Format::bf16:
      return call(std::integral_constant<Format, Format::bf16>());
    case Format::fp8_e4m3:
      return call(std::integral_constant<Format, Format::fp8_e4m3>());
    case Format::fp8_e5m2:
      return call(std::integral_constant<Format, Format::fp8_e5m2>());
    case Format::int8:
      return call(std::integral_constant<Format, Format::int8>());
  }
}

}  // namespace qfs
