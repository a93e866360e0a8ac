#include "sim/sweep/sweep_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "base/error.hpp"

namespace qfs {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& folder, const std::string& why) {
  throw ConfigError(fmt::format("results folder {}: {}", folder.string(), why));
}

[[noreturn]] void fail(const fs::path& file, int error) {
  throw RunError(
      fmt::format("cannot write {}: {}", file.string(), std::generic_category().message(error)));
}

bool is_store(const fs::path& file) {
  const std::string name = file.filename().string();
  return file == sweep_store(file.parent_path()) ||
         (name.starts_with("shard-") && name.ends_with(".sqlite"));
}

bool has_content(const fs::path& file, std::string_view content) {
  std::ifstream stream(file, std::ios::binary);
  const std::string found{std::istreambuf_iterator<char>(stream), {}};
  return stream.good() && found == content;
}

/// Closes a file, and takes it away again unless it was kept.
class NewFile {
 public:
  explicit NewFile(fs::path path)
      : path_(std::move(path)), file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666)) {
    if (file_ < 0) {
      fail(path_, errno);
    }
  }
  ~NewFile() {
    ::close(file_);
    if (!kept_) {
      ::unlink(path_.c_str());
    }
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view text, const fs::path& shown) {
    while (!text.empty()) {
      const ssize_t written = ::write(file_, text.data(), text.size());
      if (written < 0 && errno != EINTR) {
        fail(shown, errno);
      }
      text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
    if (::fsync(file_) != 0) {
      fail(shown, errno);
    }
  }
  void become(const fs::path& file) {
    if (::rename(path_.c_str(), file.c_str()) != 0) {
      fail(file, errno);
    }
    kept_ = true;
  }

 private:
  fs::path path_;
  int file_;
  bool kept_ = false;
};

}  // namespace

fs::path sweep_store(const fs::path& folder) { return folder / "store.sqlite"; }

void check_sweep_folder(const fs::path& folder) {
  if (folder.empty()) {
    refuse(folder, "the path is empty");
  }
  std::error_code error;
  const fs::file_status status = fs::status(folder, error);
  if (fs::is_symlink(fs::symlink_status(folder)) && !fs::exists(status)) {
    refuse(folder, "is a link to nothing");
  }
  if (!fs::exists(status)) {
    return;
  }
  if (!fs::is_directory(status)) {
    refuse(folder, "is not a folder");
  }
  fs::directory_iterator files(folder, error);
  if (error) {
    refuse(folder, "cannot be read: " + error.message());
  }
  if (!fs::is_empty(folder) && std::none_of(begin(files), end(files), [](const auto& entry) {
        return is_store(entry.path());
      })) {
    refuse(folder, "is not empty and holds no earlier sweep; name another or remove it");
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    refuse(folder, "cannot be written: " + std::generic_category().message(errno));
  }
}

void make_sweep_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    refuse(folder, "cannot be written: " + error.message());
  }
}

void write_whole(const fs::path& file, std::string_view content) {
  if (has_content(file, content)) {
    return;
  }
  const fs::path scratch =
      file.parent_path() / fmt::format(".{}-{}", file.filename().string(), ::getpid());
  NewFile written(scratch);
  written.write(content, file);
  written.become(file);
}

}  // namespace qfs
