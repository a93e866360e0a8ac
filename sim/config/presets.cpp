#include "sim/config/presets.hpp"

#include <fmt/format.h>

#include <set>

#include "sim/config/tree.hpp"

namespace qfs {
namespace {

namespace fs = std::filesystem;

/// The nearest folder named configs among the start's ancestors and their children; empty if there
/// is none.
fs::path nearest_configs(const fs::path& start) {
  std::error_code error;
  fs::path folder = fs::absolute(start.empty() ? fs::path(".") : start, error).lexically_normal();
  while (!error) {
    if (folder.filename() == "configs" && fs::is_directory(folder, error)) {
      return folder;
    }
    if (fs::is_directory(folder / "configs", error)) {
      return folder / "configs";
    }
    if (!folder.has_relative_path()) {
      break;
    }
    error.clear();
    folder = folder.parent_path();
  }
  return {};
}

}  // namespace

std::vector<fs::path> preset_folders(const fs::path& start) {
  std::vector<fs::path> folders;
  if (const fs::path nearest = nearest_configs(start); !nearest.empty()) {
    folders.push_back(nearest);
  }
#ifdef QFS_CONFIG_DIR
  folders.emplace_back(QFS_CONFIG_DIR);
#endif
  return folders;
}

std::vector<std::string> preset_names(PresetKind kind, const fs::path& start) {
  std::set<std::string> names;
  for (const fs::path& folder : preset_folders(start)) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder / name_of(kind), error)) {
      if (entry.path().extension() == ".yaml") {
        names.insert(entry.path().stem().string());
      }
    }
  }
  return {names.begin(), names.end()};
}

fs::path preset_file(PresetKind kind, std::string_view name, const fs::path& start) {
  if (name.empty() || name.find_first_of("/\\") != std::string_view::npos) {
    return {};
  }
  for (const fs::path& folder : preset_folders(start)) {
    fs::path file = folder / name_of(kind) / fmt::format("{}.yaml", name);
    std::error_code error;
    if (fs::is_regular_file(file, error)) {
      return file;
    }
  }
  return {};
}

std::string preset_text(std::string_view name, const fs::path& start) {
  std::string text;
  std::set<std::string> names;
  for (const auto& [kind, folder] : enum_names<PresetKind>) {
    if (const fs::path file = preset_file(kind, name, start); !file.empty()) {
      text += fmt::format("# {}\n{}", file.string(), config::read_text_file(file));
    }
    names.merge([&, kind = kind] {
      const std::vector<std::string> of_kind = preset_names(kind, start);
      return std::set<std::string>(of_kind.begin(), of_kind.end());
    }());
  }
  if (text.empty()) {
    const std::vector<std::string> legal(names.begin(), names.end());
    config::complain({"presets"}, "", fmt::format("{} is no preset", config::in_quotes(name)),
                     config::joined(legal), config::nearest_spelling(name, legal));
  }
  return text;
}

std::string init_template() {
  return R"(# A run of qfsim. Every key is explained in configs/README.md.
# Check it with `qfsim run --check FILE`, run it with `qfsim run FILE`.
name: my-run            # names the folder of results
model: qwen3-0.6b       # a preset (qfsim presets), or the path of a Hugging Face config.json

block: early_q          # standard, swapped or early_q: the order of the sub-layers
compare: [standard]     # further orders, printed beside it
arrangement: two_device # weights on one device, the KV cache on the other; or colocated

workload:
  batch: 1              # requests that move through the layers together
  context: 4608         # positions in the cache before the first token
  tokens: 4             # tokens simulated
  contexts: [1 Ki, 16 Ki, 1 Mi]   # further contexts, timed only (Ki = 1024, Mi = 1048576)

compute_device: {preset: ideal, bandwidth: 1 TB/s}  # holds the weights; TB = 10^12 bytes
cache_device: {preset: ideal, bandwidth: 1 TB/s}    # holds the KV cache
link: {preset: ideal, latency: 5 us, bandwidth: 450 GB/s}

numerics:
  mode: full            # compute every operation on real data; off: timing only
  seed: 1
  check: every_step     # compare every operation with fp64
)";
}

}  // namespace qfs
