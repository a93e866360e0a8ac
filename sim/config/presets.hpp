// Named model shapes, devices, links, memories and fitted costs: a file each, in a tree of
// configurations.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.hpp"

namespace qfs {

enum class PresetKind { model, hardware, link, memory, fitted };

/// The names are the folders within configs/.
template <>
inline constexpr EnumNames<PresetKind, 5> enum_names<PresetKind>{{
    {PresetKind::model, "models"},
    {PresetKind::hardware, "hardware"},
    {PresetKind::link, "links"},
    {PresetKind::memory, "memory"},
    {PresetKind::fitted, "fitted"},
}};

/// The folders in which presets are looked for, first first: the nearest `configs` at or above
/// `start` (a run file, a folder, or nothing: the working folder), then the one that the program
/// was built beside.
std::vector<std::filesystem::path> preset_folders(const std::filesystem::path& start = {});

/// Sorted, each once.
std::vector<std::string> preset_names(PresetKind kind, const std::filesystem::path& start = {});

/// The preset's file; an empty path if there is none.
std::filesystem::path preset_file(PresetKind kind, std::string_view name,
                                  const std::filesystem::path& start = {});

/// The text of every preset of that name, whatever its kind, each after a line `# FILE`.
/// ConfigError with the legal names and the nearest spelling if there is none.
std::string preset_text(std::string_view name, const std::filesystem::path& start = {});

/// A commented run file to start from, which loads as it is.
std::string init_template();

}  // namespace qfs
