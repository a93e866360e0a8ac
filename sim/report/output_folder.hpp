// A results folder: it appears whole or not at all.
#pragma once

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qfs {

/// What tells an earlier folder of one command's results from anything else, and what new results
/// do away with.
struct ResultsKind {
  std::span<const std::string_view> marks;  // an earlier folder holds all of these
  std::span<const std::string_view> files;  // that the command may write
};

inline constexpr std::array<std::string_view, 2> run_marks{"summary.json", "config.yaml"};
inline constexpr std::array<std::string_view, 5> run_files{
    "summary.json", "operations.csv", "numerics.json", "timeline.json", "config.yaml"};
inline constexpr ResultsKind run_results{run_marks, run_files};

inline constexpr std::array<std::string_view, 2> verify_files{"verify.json", "total_variation.csv"};
inline constexpr ResultsKind verify_results{verify_files, verify_files};

/// Refuses a folder that write_results could not write or must not replace: ConfigError, one line.
/// To be called before the run, so that nothing is computed in vain. Legal: a path where nothing is
/// yet (missing parents are made later), an empty folder, and an earlier results folder of the same
/// kind. Leaves nothing behind.
void check_output_folder(const std::filesystem::path& folder,
                         const ResultsKind& kind = run_results);

/// Writes the files (name, content) into the folder, replacing an earlier results folder. They are
/// written to a scratch folder beside it, synced and renamed; on failure nothing is left behind and
/// an earlier folder stays as it was. What else the earlier folder held (notes, figures) is kept.
/// Throws ConfigError as check_output_folder does, RunError if the writing itself fails.
void write_results(const std::filesystem::path& folder,
                   const std::vector<std::pair<std::string, std::string>>& files,
                   const ResultsKind& kind = run_results);

}  // namespace qfs
