// The program. SystemC wants to be entered through its own elaboration function, which calls
// sc_main.
#include <cstdlib>
#include <systemc>

#include "sim/cli/commands.hpp"

int sc_main(int argc, char* argv[]) {
  return qfs::run_program(qfs::Arguments(argv + 1, argv + argc));
}

int main(int argc, char* argv[]) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);
  return sc_core::sc_elab_and_sim(argc, argv);
}
