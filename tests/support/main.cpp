// The main program of every test executable. Each is a SystemC program, so that any case may build
// modules and simulate; one case is one process.
#include <cstdlib>
#include <systemc>

#define CATCH_CONFIG_RUNNER
#include "tests/support/catch.hpp"

int sc_main(int argc, char* argv[]) { return Catch::Session().run(argc, argv); }

int main(int argc, char* argv[]) {
  setenv("SYSTEMC_DISABLE_COPYRIGHT_MESSAGE", "1", 0);
  return sc_core::sc_elab_and_sim(argc, argv);
}
