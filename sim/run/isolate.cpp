#include "sim/run/isolate.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "base/error.hpp"

namespace qfs {
namespace {

constexpr int poll_milliseconds = 200;

/// First byte of what a child writes.
enum class Outcome : char { result = 'r', config_error = 'c', run_error = 'e' };

void write_all(int to, const std::string& bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t written = write(to, bytes.data() + at, bytes.size() - at);
    if (written < 0 && errno != EINTR) {
      return;  // the parent has gone
    }
    at += static_cast<std::size_t>(std::max<ssize_t>(written, 0));
  }
}

using Task = std::function<std::string()>;

/// Runs a task and puts what came of it into bytes.
std::string outcome_of(const Task& task) {
  const auto tagged = [](Outcome outcome, const std::string& text) {
    return static_cast<char>(outcome) + text;
  };
  try {
    return tagged(Outcome::result, task());
  } catch (const ConfigError& error) {
    return tagged(Outcome::config_error, error.what());
  } catch (const std::exception& error) {
    return tagged(Outcome::run_error, error.what());
  }
}

/// What a task returned; throws what it threw.
std::string unpack(const std::string& bytes) {
  std::string content = bytes.substr(1);
  switch (static_cast<Outcome>(bytes.front())) {
    case Outcome::config_error:
      throw ConfigError(content);
    case Outcome::run_error:
      throw RunError(content);
    case Outcome::result:
      break;
  }
  return content;
}

struct Child {
  std::size_t task = 0;
  pid_t process = 0;
  int from = -1;      // pipe that its outcome comes through
  std::string bytes;  // of the outcome, so far
};

/// The children at work; stops those that are left when it goes.
class Children {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (const Child& child : running_) {
      kill(child.process, SIGKILL);
      waitpid(child.process, nullptr, 0);
      close(child.from);
    }
  }

  [[nodiscard]] std::size_t count() const { return running_.size(); }

  void start(std::size_t index, const Task& task) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) {
      throw RunError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
    std::fflush(nullptr);
    const pid_t process = fork();
    if (process < 0) {
      close(ends[0]);
      close(ends[1]);
      throw RunError(fmt::format("cannot start a process: {}", std::strerror(errno)));
    }
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // a child must not outlive who waits for it
      close(ends[0]);
      write_all(ends[1], outcome_of(task));
      _exit(0);  // not exit(): what the parent has buffered and registered is the parent's
    }
    close(ends[1]);
    running_.push_back({index, process, ends[0], {}});
  }

  /// Waits a while for outcomes; hands every complete one to `done`.
  void wait_some(const std::function<void(std::size_t, std::string)>& done) {
    std::vector<pollfd> pipes;
    for (const Child& child : running_) {
      pipes.push_back({child.from, POLLIN, 0});
    }
    ::poll(pipes.data(), pipes.size(), poll_milliseconds);
    for (std::size_t i = pipes.size(); i-- > 0;) {
      if (pipes[i].revents != 0 && !read_some(running_[i])) {
        const Child child = std::move(running_[i]);
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
        done(child.task, finish(child));
      }
    }
  }

 private:
  /// False at the end of what the child writes.
  static bool read_some(Child& child) {
    std::array<char, 65536> buffer{};
    const ssize_t count = read(child.from, buffer.data(), buffer.size());
    if (count > 0) {
      child.bytes.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return count > 0 || (count < 0 && errno == EINTR);
  }

  static std::string finish(const Child& child) {
    close(child.from);
    int status = 0;
    waitpid(child.process, &status, 0);
    if (WIFSIGNALED(status)) {
      const int signal = WTERMSIG(status);
      throw RunError(fmt::format("a simulation was ended by signal {} ({}){}", signal,
                                 strsignal(signal), signal == SIGKILL ? "; out of memory?" : ""));
    }
    if (child.bytes.empty()) {
      throw RunError(fmt::format("a simulation ended with status {} and without a result",
                                 WEXITSTATUS(status)));
    }
    return unpack(child.bytes);
  }

  std::vector<Child> running_;
};

}  // namespace

std::vector<std::string> run_in_children(const std::vector<Task>& tasks, std::size_t jobs,
                                         const std::function<void()>& poll) {
  std::vector<std::string> results(tasks.size());
  Children children;
  std::size_t started = 0;
  std::size_t finished = 0;
  while (finished < tasks.size()) {
    while (started < tasks.size() && children.count() < std::max<std::size_t>(1, jobs)) {
      children.start(started, tasks[started]);
      ++started;
    }
    children.wait_some([&](std::size_t task, std::string result) {
      results[task] = std::move(result);
      ++finished;
    });
    if (poll) {
      poll();
    }
  }
  return results;
}

std::size_t default_jobs() { return std::max(1U, std::thread::hardware_concurrency()); }

}  // namespace qfs
