// The commands of qfsim. Each takes its own arguments (without program and command name) and
// returns the exit status.
#pragma once

#include <string>
#include <vector>

namespace qfs {

enum ExitStatus : int {
  exit_done = 0,
  exit_run_failed = 1,
  exit_usage = 2,           // usage or configuration
  exit_numerics_failed = 3  // the numeric check failed
};

using Arguments = std::vector<std::string>;

int init_command(const Arguments& arguments);
int run_command(const Arguments& arguments);
int sweep_command(const Arguments& arguments);
int crossover_command(const Arguments& arguments);
int sensitivity_command(const Arguments& arguments);
int estimate_command(const Arguments& arguments);
int memory_command(const Arguments& arguments);
int calibrate_command(const Arguments& arguments);
int presets_command(const Arguments& arguments);
int verify_command(const Arguments& arguments);
int report_command(const Arguments& arguments);

/// Finds the command, runs it, and turns what it throws into one line on stderr and an exit status.
int run_program(const Arguments& arguments);

}  // namespace qfs
