// Measured kernels for tests: the shipped samples, and rows made by a known device.
#pragma once

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "sim/calibrate/calibrate.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {

inline std::filesystem::path sample(const std::string& kernel, const std::string& device) {
  return std::filesystem::path(test::source_dir()) / "traces" / "kernels" /
         (kernel + "-" + device + ".csv");
}

/// The first of the parts that a text lacks, with the text; nothing if it has them all.
inline std::string lacking(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    if (text.find(part) == std::string::npos) {
      return "no '" + part + "' in: " + text;
    }
  }
  return {};
}

/// 2^0 to 2^most.
inline std::int64_t power(const Random& random, std::uint64_t index, std::uint64_t most) {
  return std::int64_t{1} << random.below(index, most + 1);
}

/// Sweeps of all sizes up to 4 GB of cache; some of one byte an element if so wished.
inline std::vector<SweepWork> drawn_sweeps(std::size_t count, bool narrow) {
  const Random random(31, 0);
  std::vector<SweepWork> works;
  for (std::uint64_t i = 0; works.size() < count; i += 8) {
    SweepWork work;
    work.batch = power(random, i, 11);
    work.kv_heads = power(random, i + 1, 3);
    work.query_heads = work.kv_heads * power(random, i + 2, 4);
    work.head_dim = 128;
    work.context = 2 * power(random, i + 3, 16);
    work.element_bytes = narrow && random.below(i + 4, 2) == 0 ? 1 : 2;
    if (bytes_of(work) < Bytes(4'000'000'000)) {
      works.push_back(work);
    }
  }
  return works;
}

/// Rows that the kernel would have shown, each wrong by a factor of e^(normal x noise).
template <class Work>
std::vector<MeasuredKernel> shown_rows(const FittedKernel& kernel, const std::vector<Work>& works,
                                       double noise) {
  const Random random(32, 0);
  std::vector<MeasuredKernel> rows;
  for (const Work& work : works) {
    const Seconds time = shown_by(kernel.clock, launch_time(kernel.cost, work));
    rows.push_back({work, std::exp(noise * random.normal(rows.size())) * time});
  }
  return rows;
}

}  // namespace qfs::test
