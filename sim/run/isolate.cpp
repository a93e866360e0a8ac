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

constexpr std::chrono::milliseconds poll_pause{200};

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

using How = ChildEnd::How;

/// Runs a task and puts what came of it into bytes.
std::string outcome_of(const ChildPool::Task& task) {
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

How how_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::config_error:
      return How::config_error;
    case Outcome::run_error:
      return How::run_error;
    case Outcome::result:
      break;
  }
  return How::returned;
}

/// In the child. It must not outlive who waits for it, who may have died already.
void die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(0);
  }
}

std::string result_of(ChildEnd&& end) {
  switch (end.how) {
    case How::config_error:
      throw ConfigError(end.text);
    case How::run_error:
    case How::died:
      throw RunError(end.text);
    case How::returned:
      break;
  }
  return std::move(end.text);
}

}  // namespace

ChildPool::~ChildPool() {
  for (const Child& child : running_) {
    kill(child.process, SIGKILL);
    waitpid(child.process, nullptr, 0);
    close(child.from);
  }
}

void ChildPool::start(std::uint64_t id, const Task& task) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) {
    throw RunError(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process < 0) {
    close(ends[0]);
    close(ends[1]);
    throw RunError(fmt::format("cannot start a process: {}", std::strerror(errno)));
  }
  if (process == 0) {
    die_with(parent);
    close(ends[0]);
    write_all(ends[1], outcome_of(task));
    _exit(0);  // not exit(): what the parent has buffered and registered is the parent's
  }
  close(ends[1]);
  running_.push_back({id, process, ends[0], {}});
}

std::vector<ChildEnd> ChildPool::wait(std::chrono::milliseconds longest) {
  std::vector<pollfd> pipes;
  for (const Child& child : running_) {
    pipes.push_back({child.from, POLLIN, 0});
  }
  ::poll(pipes.data(), pipes.size(), static_cast<int>(longest.count()));
  std::vector<ChildEnd> ends;
  for (std::size_t i = pipes.size(); i-- > 0;) {
    if (pipes[i].revents != 0 && !read_some(running_[i])) {
      ends.push_back(finish(running_[i]));
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return ends;
}

/// False at the end of what the child writes.
bool ChildPool::read_some(Child& child) {
  std::array<char, 65536> buffer;  // uninitialised: read() says how much of it is filled
  const ssize_t count = read(child.from, buffer.data(), buffer.size());
  if (count > 0) {
    child.bytes.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return count > 0 || (count < 0 && errno == EINTR);
}

ChildEnd ChildPool::finish(Child& child) {
  close(child.from);
  int status = 0;
  waitpid(child.process, &status, 0);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return {child.id, How::died,
            fmt::format("a simulation was ended by signal {} ({}){}", signal, strsignal(signal),
                        signal == SIGKILL ? "; out of memory?" : "")};
  }
  if (child.bytes.empty()) {
    return {
        child.id, How::died,
        fmt::format("a simulation ended with status {} and without a result", WEXITSTATUS(status))};
  }
  const How how = how_of(static_cast<Outcome>(child.bytes.front()));
  return {child.id, how, child.bytes.substr(1)};
}

std::vector<std::string> run_in_children(const std::vector<ChildPool::Task>& tasks,
                                         std::size_t jobs, const std::function<void()>& poll) {
  std::vector<std::string> results(tasks.size());
  ChildPool children;
  std::size_t started = 0;
  std::size_t finished = 0;
  while (finished < tasks.size()) {
    while (started < tasks.size() && children.count() < std::max<std::size_t>(1, jobs)) {
      children.start(started, tasks[started]);
      ++started;
    }
    for (ChildEnd& end : children.wait(poll_pause)) {
      const auto task = static_cast<std::size_t>(end.id);
      results[task] = result_of(std::move(end));
      ++finished;
    }
    if (poll) {
      poll();
    }
  }
  return results;
}

std::size_t default_jobs() { return std::max(1U, std::thread::hardware_concurrency()); }

}  // namespace qfs
