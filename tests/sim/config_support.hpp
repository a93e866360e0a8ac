// A folder of its own for each test, in which a run file finds the shipped presets.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "sim/config/load.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace qfs::test {

class ConfigFolder {
 public:
  ConfigFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "qfs-config-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
    std::filesystem::create_directory_symlink(test::source_dir() + "/configs", path_ / "configs");
  }
  ~ConfigFolder() { std::filesystem::remove_all(path_); }
  ConfigFolder(const ConfigFolder&) = delete;
  ConfigFolder& operator=(const ConfigFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

  /// What loading complains of, with this folder's path cut out; "loaded" if it does not.
  [[nodiscard]] std::string complaint(const std::filesystem::path& file,
                                      const std::vector<std::string>& overrides = {}) const {
    try {
      load_run_config(file, overrides);
      return "loaded";
    } catch (const ConfigError& error) {
      return without_path(error.what());
    }
  }

  [[nodiscard]] std::string without_path(std::string message) const {
    const std::string prefix = path_.string() + "/";
    for (std::size_t at = message.find(prefix); at != std::string::npos;
         at = message.find(prefix)) {
      message.erase(at, prefix.size());
    }
    return message;
  }

 private:
  std::filesystem::path path_;
};

/// The message is one line with this beginning and this end.
inline void check_message(const std::string& message, const std::string& begins,
                          const std::string& ends) {
  CAPTURE(message, begins, ends);
  CHECK(message.starts_with(begins));
  CHECK(message.ends_with(ends));
  CHECK(message.find('\n') == std::string::npos);
}

/// Ten lines, one key each; tests replace a line and expect its number in the message.
inline std::vector<std::string> run_lines() {
  return {"name: test",
          "model: qwen3-0.6b",
          "block: early_q",
          "compare: [standard]",
          "arrangement: two_device",
          "workload: {batch: 1, context: 4608, tokens: 4}",
          "compute_device: {preset: ideal, bandwidth: 1 TB/s}",
          "cache_device: {preset: ideal, bandwidth: 1 TB/s}",
          "link: {latency: 5 us, bandwidth: 450 GB/s}",
          "numerics: {mode: full, seed: 1}"};
}

/// The ten lines with one of them (from 1) replaced; what follows the tenth is appended.
inline std::string run_text(std::size_t line = 0, const std::string& replacement = {}) {
  std::vector<std::string> lines = run_lines();
  lines.resize(std::max(lines.size(), line));
  if (line > 0) {
    lines[line - 1] = replacement;
  }
  std::string text;
  for (const std::string& each : lines) {
    text += each + "\n";
  }
  return text;
}

}  // namespace qfs::test
