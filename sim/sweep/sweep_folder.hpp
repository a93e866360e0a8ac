// A sweep's folder: store.sqlite (or shard-i-of-n.sqlite), sweep.yaml, results.csv, best.txt.
#pragma once

#include <filesystem>
#include <string_view>

namespace qfs {

/// Refuses a folder that holds anything but an earlier sweep, or cannot be written: ConfigError.
/// Writes nothing.
void check_sweep_folder(const std::filesystem::path& folder);

/// Makes the folder if need be; ConfigError if it cannot be.
void make_sweep_folder(const std::filesystem::path& folder);

std::filesystem::path sweep_store(const std::filesystem::path& folder);

/// The file appears with all its content or not at all, and is left alone if that is its content
/// already. RunError if it cannot be written.
void write_whole(const std::filesystem::path& file, std::string_view content);

}  // namespace qfs
