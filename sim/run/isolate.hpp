// SystemC allows one simulation in a process, so every simulation runs in a child of its own. That
// also frees all its memory at once, uses every core, and lets a crash be reported instead of
// suffered.
#pragma once

#include <boost/archive/binary_iarchive.hpp>
#include <boost/archive/binary_oarchive.hpp>
#include <cstddef>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace qfs {

/// Runs the tasks in forked children, at most `jobs` at a time, and returns what they return, in
/// the order of the tasks. The children see the memory of this process as it is now. What a task
/// throws is thrown here: ConfigError as ConfigError, all else, and the death of a child, as
/// RunError; the other children are then stopped, and all stop if this process dies. `poll` is
/// called at least every 0.2 s while waiting. No threads may be running.
std::vector<std::string> run_in_children(const std::vector<std::function<std::string()>>& tasks,
                                         std::size_t jobs, const std::function<void()>& poll = {});

/// Cores of this machine.
std::size_t default_jobs();

/// The same for tasks whose result can be serialised (serialize.hpp has those of a simulation). A
/// task should reduce its result to what is wanted before it returns it.
template <class Result>
std::vector<Result> run_isolated(const std::vector<std::function<Result()>>& tasks,
                                 std::size_t jobs, const std::function<void()>& poll = {}) {
  std::vector<std::function<std::string()>> packed;
  packed.reserve(tasks.size());
  for (const std::function<Result()>& task : tasks) {
    packed.push_back([&task] {
      const Result result = task();
      std::ostringstream bytes;
      boost::archive::binary_oarchive archive(bytes, boost::archive::no_header);
      archive << result;
      return bytes.str();
    });
  }
  std::vector<Result> results;
  results.reserve(tasks.size());
  for (const std::string& bytes : run_in_children(packed, jobs, poll)) {
    std::istringstream stream(bytes);
    boost::archive::binary_iarchive archive(stream, boost::archive::no_header);
    archive >> results.emplace_back();
  }
  return results;
}

}  // namespace qfs
