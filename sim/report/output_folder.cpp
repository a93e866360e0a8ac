#include "sim/report/output_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "base/error.hpp"

namespace qfs {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& folder, const std::string& why) {
  throw ConfigError(fmt::format("results folder {}: {}", folder.string(), why));
}

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void fail(const fs::path& path, int error) {
  throw RunError(fmt::format("cannot write {}: {}", path.string(), reason(error)));
}

/// Without links, dots and a slash at the end.
fs::path resolved(const fs::path& folder) {
  std::error_code error;
  fs::path path = fs::weakly_canonical(fs::absolute(folder), error);
  if (error) {
    refuse(folder, error.message());
  }
  return path.has_filename() ? path : path.parent_path();
}

bool is_results_folder(const fs::path& folder, const ResultsKind& kind) {
  return std::ranges::all_of(
      kind.marks, [&](std::string_view name) { return fs::is_regular_file(folder / name); });
}

/// A folder in use as a mount point or as somebody's working folder cannot be exchanged for
/// another.
bool is_movable(const fs::path& folder) {
  struct stat self {};
  struct stat parent {};
  return ::stat(folder.c_str(), &self) == 0 && ::stat(folder.parent_path().c_str(), &parent) == 0 &&
         self.st_dev == parent.st_dev && self.st_ino != parent.st_ino &&
         !fs::equivalent(folder, fs::current_path());
}

void check_existing(const fs::path& shown, const fs::path& folder, const ResultsKind& kind) {
  if (!fs::is_directory(folder)) {
    refuse(shown, "is not a folder");
  }
  if (!fs::is_empty(folder) && !is_results_folder(folder, kind)) {
    refuse(shown, "is not empty and holds no earlier results; name another or remove it");
  }
  if (!is_movable(folder)) {
    refuse(shown, "is the working folder or a mount point; name a folder inside it");
  }
}

/// The nearest folder above that is there.
fs::path existing_ancestor(const fs::path& shown, fs::path folder) {
  do {
    folder = folder.parent_path();
  } while (!fs::exists(folder) && folder.has_relative_path());
  if (!fs::is_directory(folder)) {
    refuse(shown, folder.string() + " is not a folder");
  }
  return folder;
}

/// A folder of our own that vanishes with everything in it.
class ScratchFolder {
 public:
  explicit ScratchFolder(const fs::path& parent) {
    for (int number = 0; path_.empty(); ++number) {
      const fs::path path = parent / fmt::format(".qfsim-{}-{}", ::getpid(), number);
      if (fs::create_directory(path)) {
        path_ = path;
      }
    }
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!left_) {
      fs::remove_all(path_, ignored);
    }
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }
  /// Does not vanish after all.
  void leave() { left_ = true; }

 private:
  fs::path path_;
  bool left_ = false;
};

/// Folders made on the way to the results; taken back unless the results arrive.
class MadeParents {
 public:
  explicit MadeParents(const fs::path& parent) {
    for (fs::path path = parent; !fs::exists(path); path = path.parent_path()) {
      made_.push_back(path);
    }
    fs::create_directories(parent);
  }
  ~MadeParents() {
    std::error_code ignored;
    for (const fs::path& path : made_) {
      fs::remove(path, ignored);
    }
  }
  MadeParents(const MadeParents&) = delete;
  MadeParents& operator=(const MadeParents&) = delete;

  void keep() { made_.clear(); }

 private:
  std::vector<fs::path> made_;  // the innermost first
};

class OpenFile {
 public:
  OpenFile(const fs::path& path, int flags)
      : path_(path), file_(::open(path.c_str(), flags, 0666)) {
    if (file_ < 0) {
      fail(path_, errno);
    }
  }
  ~OpenFile() { ::close(file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(file_, text.data(), text.size());
      if (written < 0 && errno != EINTR) {
        fail(path_, errno);
      }
      text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
    }
  }
  void sync() {
    if (::fsync(file_) != 0) {
      fail(path_, errno);
    }
  }

 private:
  fs::path path_;
  int file_;
};

void sync_folder(const fs::path& folder) { OpenFile(folder, O_RDONLY | O_DIRECTORY).sync(); }

void write_file(const fs::path& path, std::string_view content) {
  OpenFile file(path, O_WRONLY | O_CREAT | O_EXCL);
  file.write(content);
  file.sync();
}

/// Puts `written` in the place of an earlier folder; gives the path where that lies now. One stroke
/// where the file system can exchange two names; else two, the first of which is undone if the
/// second fails.
fs::path exchange(const fs::path& written, const fs::path& folder, const fs::path& aside) {
  if (::renameat2(AT_FDCWD, written.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) == 0) {
    return written;
  }
  if (errno != EINVAL && errno != ENOSYS) {
    fail(folder, errno);
  }
  fs::rename(folder, aside);
  try {
    fs::rename(written, folder);
  } catch (const fs::filesystem_error&) {
    fs::rename(aside, folder);
    throw;
  }
  return aside;
}

/// Moves back what was in the earlier folder and is not ours. What cannot be moved is left where it
/// lies.
void keep_foreign(const fs::path& earlier, const fs::path& folder, const ResultsKind& kind,
                  ScratchFolder& scratch) {
  std::vector<fs::path> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(earlier)) {
    names.push_back(entry.path().filename());
  }
  try {
    for (const fs::path& name : names) {
      const bool ours = std::ranges::find(kind.files, name.string()) != kind.files.end();
      if (!ours && !fs::exists(folder / name)) {
        fs::rename(earlier / name, folder / name);
      }
    }
  } catch (const fs::filesystem_error&) {
    scratch.leave();
    throw;
  }
}

void put_in_place(const fs::path& written, const fs::path& folder, const ResultsKind& kind,
                  ScratchFolder& scratch) {
  if (!fs::exists(folder)) {
    fs::rename(written, folder);
    return;
  }
  const fs::path earlier = exchange(written, folder, scratch.path() / "earlier");
  keep_foreign(earlier, folder, kind, scratch);
}

void write_checked(const fs::path& folder,
                   const std::vector<std::pair<std::string, std::string>>& files,
                   const ResultsKind& kind) {
  const fs::path parent = folder.parent_path();
  MadeParents parents(parent);
  ScratchFolder scratch(parent);
  const fs::path written = scratch.path() / "results";
  fs::create_directory(written);
  for (const auto& [name, content] : files) {
    write_file(written / name, content);
  }
  sync_folder(written);
  put_in_place(written, folder, kind, scratch);
  parents.keep();
  sync_folder(parent);
}

}  // namespace

void check_output_folder(const std::filesystem::path& folder, const ResultsKind& kind) {
  if (folder.empty()) {
    throw ConfigError("results folder: the path is empty");
  }
  try {
    const fs::path path = resolved(folder);
    if (fs::is_symlink(path)) {
      refuse(folder, "is a link to nothing");
    }
    if (fs::exists(path)) {
      check_existing(folder, path, kind);
    }
    const ScratchFolder probe(existing_ancestor(folder, path));
  } catch (const fs::filesystem_error& error) {
    refuse(folder, "cannot be written: " + error.code().message());
  }
}

void write_results(const std::filesystem::path& folder,
                   const std::vector<std::pair<std::string, std::string>>& files,
                   const ResultsKind& kind) {
  check_output_folder(folder, kind);
  try {
    write_checked(resolved(folder), files, kind);
  } catch (const fs::filesystem_error& error) {
    throw RunError(
        fmt::format("cannot write {}: {}", error.path1().string(), error.code().message()));
  }
}

}  // namespace qfs
