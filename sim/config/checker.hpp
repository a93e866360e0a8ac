// What the checks of a whole run share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/validate.hpp"

namespace qfs::config {

struct Checker {
  const RunConfig& run;
  const Locate& locate;

  [[noreturn]] void fail(std::string_view path, const std::string& given,
                         const std::string& legal) const {
    complain(locate(path), path, given, legal);
  }

  /// The place to name for a contradiction of several keys: the first of `paths` that an argument
  /// gave, since the file was right without it; else that of `usual`.
  [[nodiscard]] Where cause(std::string_view usual, const std::vector<std::string>& paths) const {
    for (const std::string& path : paths) {
      if (Where where = locate(path); where.is_argument()) {
        return where;
      }
    }
    return locate(usual);
  }
};

/// What the arrangement cannot do.
void check_arrangement(const Checker& check);
/// How many operations, how much memory and how much time the run takes.
void check_totals(const Checker& check);
/// Whether what must lie on each device at a context fits it. `keys`: what it grows with, for the
/// place of the error.
void check_capacity(const Checker& check, std::size_t context,
                    const std::vector<std::string>& keys);

}  // namespace qfs::config
