// A results folder: it appears whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace qfs {

/// Refuses a folder that write_results could not write or must not replace: ConfigError, one line.
/// To be called before the run, so that nothing is computed in vain. Legal: a path where nothing is
/// yet (missing parents are made later), an empty folder, and an earlier results folder (one that
/// holds summary.json and config.yaml). Leaves nothing behind.
void check_output_folder(const std::filesystem::path& folder);

/// Writes the files (name, content) into the folder, replacing an earlier results folder. They are
/// written to a scratch folder beside it, synced and renamed; on failure nothing is left behind and
/// an earlier folder stays as it was. What else the earlier folder held (notes, figures) is kept.
/// Throws ConfigError as check_output_folder does, RunError if the writing itself fails.
void write_results(const std::filesystem::path& folder,
                   const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace qfs
