// SystemC allows one simulation in a process, so every simulation runs in a child of its own. That
// also frees all its memory at once, uses every core, and lets a crash be reported instead of
// suffered.
#pragma once

#include <sys/types.h>

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace qfs {

/// How a child of ChildPool ended.
struct ChildEnd {
  enum class How {
    returned,      // `text` is the task's result
    config_error,  // `text` is what the task threw, as a ConfigError
    run_error,     // likewise, anything else
    died,          // by a signal, or without a result; `text` says how
  };
  std::uint64_t id = 0;
  How how = How::returned;
  std::string text;
};

/// Children at work side by side, each with one task. They see the memory of this process as it is
/// when they start, are killed if this process dies and when the pool goes. No threads may be
/// running when one is started.
class ChildPool {
 public:
  using Task = std::function<std::string()>;

  ChildPool() = default;
  ~ChildPool();
  ChildPool(const ChildPool&) = delete;
  ChildPool& operator=(const ChildPool&) = delete;

  [[nodiscard]] std::size_t count() const { return running_.size(); }
  /// RunError if the system has no process or pipe left.
  void start(std::uint64_t id, const Task& task);
  /// Waits until at least one has ended, or for so long; gives those that have.
  std::vector<ChildEnd> wait(std::chrono::milliseconds longest);

 private:
  struct Child {
    std::uint64_t id = 0;
    pid_t process = 0;
    int from = -1;      // pipe that its outcome comes through
    std::string bytes;  // of the outcome, so far
  };
  static bool read_some(Child& child);
  static ChildEnd finish(Child& child);
  std::vector<Child> running_;
};

/// Runs the tasks in forked children, at most `jobs` at a time, and returns what they return, in
/// the order of the tasks. The children see the memory of this process as it is now. What a task
/// throws is thrown here: ConfigError as ConfigError, all else, and the death of a child, as
/// RunError; the other children are then stopped, and all stop if this process dies. `poll` is
/// called at least every 0.2 s while waiting. No threads may be running.
std::vector<std::string> run_in_children(const std::vector<std::function<std::string()>>& tasks,
                                         std::size_t jobs, const std::function<void()>& poll = {});

/// Cores of this machine.
std::size_t default_jobs();

/// A result as bytes for a pipe between two processes of one program, and back.
template <class Result>
std::string packed(const Result& result) {
  std::ostringstream bytes;
  boost::archive::binary_oarchive archive(bytes, boost::archive::no_header);
  archive << result;
  return bytes.str();
}

template <class Result>
Result unpacked(const std::string& bytes) {
  std::istringstream stream(bytes);
  boost::archive::binary_iarchive archive(stream, boost::archive::no_header);
  Result result;
  archive >> result;
  return result;
}

/// The same for tasks whose result can be serialised (serialize.hpp has those of a simulation). A
/// task should reduce its result to what is wanted before it returns it.
template <class Result>
std::vector<Result> run_isolated(const std::vector<std::function<Result()>>& tasks,
                                 std::size_t jobs, const std::function<void()>& poll = {}) {
  std::vector<std::function<std::string()>> packing;
  packing.reserve(tasks.size());
  for (const std::function<Result()>& task : tasks) {
    packing.push_back([&task] { return packed(task()); });
  }
  std::vector<Result> results;
  results.reserve(tasks.size());
  for (const std::string& bytes : run_in_children(packing, jobs, poll)) {
    results.push_back(unpacked<Result>(bytes));
  }
  return results;
}

}  // namespace qfs
